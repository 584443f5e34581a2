//! The chart that installs the operator, rendered by `solar-render`.
#![allow(
    dead_code,
    unreachable_pub,
    reason = "every test that includes it needs another part of it"
)]

use std::process::Command;

use testbed::workspace_program;

/// The chart's folder.
pub const CHART: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../charts/solar-operator");

/// `solar-render template` of a release of the chart in a namespace; values and other flags may be added.
pub fn template(release: &str, namespace: &str) -> Command {
    let mut template = Command::new(workspace_program("solar-render", "solar-render"));
    template.args(["template", release, CHART, "-n", namespace]);
    template
}
