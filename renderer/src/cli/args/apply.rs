//! `apply`

use clap::{Args, ValueHint};

use super::fetch::FetchFlags;
use super::limits::LimitFlags;
use super::rendering::{ReleaseFlags, ValueFlags};
use super::schemas::SchemaFlags;
use crate::engine::release::DEFAULT_NAME;

const APPLY_HELP: &str = "\
Examples:
  solar-render apply charts/shop -f prod.yaml --release-name shop -n prod --dry-run
  solar-render apply charts/shop -n prod --dry-run -o markdown --exit-code > diff.md
  solar-render apply oci://ghcr.io/acme/charts/shop:1.0.0 --release-name shop -n prod --kubeconfig prod.kubeconfig

With --dry-run, -o also takes markdown (for a pull request's comment) and html (a page by itself).
Nothing is ever deleted. Hooks are not run. Exit code 10 with --dry-run --exit-code: something would change.";

/// `apply`
#[derive(Args, Debug)]
#[command(after_help = APPLY_HELP)]
pub(crate) struct ApplyArgs {
    /// The chart: a folder, an archive, a config, oci://HOST/PATH[:TAG] or oci-layout:DIR[:TAG]
    #[arg(value_name = "CHART", value_hint = ValueHint::AnyPath)]
    pub(crate) chart: String,
    /// Show what would change, as `diff` does, and change nothing
    #[arg(long, value_name = "BOOL", num_args = 0..=1, require_equals = true, default_value = "false", default_missing_value = "true")]
    pub(crate) dry_run: bool,
    /// With --dry-run: fail with exit code 10 when something would change
    #[arg(long, requires = "dry_run", value_name = "BOOL", num_args = 0..=1, require_equals = true, default_value = "false", default_missing_value = "true")]
    pub(crate) exit_code: bool,
    /// With --dry-run: show what Secrets hold; without it hashes
    #[arg(long, value_name = "BOOL", num_args = 0..=1, require_equals = true, default_value = "false", default_missing_value = "true")]
    pub(crate) show_secrets: bool,
    /// Take fields over from other field managers; without it they are conflicts
    #[arg(long, value_name = "BOOL", num_args = 0..=1, require_equals = true, default_value = "false", default_missing_value = "true")]
    pub(crate) force_conflicts: bool,
    /// Create the release's namespace if the cluster doesn't have it
    #[arg(long, value_name = "BOOL", num_args = 0..=1, require_equals = true, default_value = "false", default_missing_value = "true")]
    pub(crate) create_namespace: bool,
    /// Apply a chart that has hooks, without them; otherwise such a chart is refused
    #[arg(long, value_name = "BOOL", num_args = 0..=1, require_equals = true, default_value = "false", default_missing_value = "true")]
    pub(crate) no_hooks: bool,
    /// Skip JSON Schema validation of values
    #[arg(long, value_name = "BOOL", num_args = 0..=1, require_equals = true, default_value = "false", default_missing_value = "true")]
    pub(crate) skip_schema_validation: bool,
    #[command(flatten)]
    pub(crate) schemas: SchemaFlags,
    #[command(flatten)]
    pub(crate) values: ValueFlags,
    #[command(flatten)]
    pub(crate) release: ReleaseFlags,
    /// The release's name
    #[arg(long, value_name = "NAME", default_value = DEFAULT_NAME, help_heading = "Release")]
    pub(crate) release_name: String,
    #[command(flatten)]
    pub(crate) limits: LimitFlags,
    #[command(flatten)]
    pub(crate) fetch: FetchFlags,
}
