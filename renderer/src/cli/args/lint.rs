//! `lint`

use std::path::PathBuf;

use clap::{Args, ValueHint};

use super::limits::LimitFlags;
use super::namespace::NamespaceFlags;
use super::rendering::ValueFlags;
use super::schemas::SchemaFlags;

const LINT_HELP: &str = "\
Examples:
  solar-render lint charts/shop --strict
  solar-render lint charts -o sarif > lint.sarif

-o also takes junit, sarif, github (annotations) and gitlab (code quality).";

/// `lint`
#[derive(Args, Debug)]
#[command(after_help = LINT_HELP)]
pub(crate) struct LintArgs {
    /// The charts: folders, archives, or folders of charts
    #[arg(value_name = "PATH", required_unless_present = "rules", value_hint = ValueHint::AnyPath)]
    pub(crate) paths: Vec<PathBuf>,
    /// Fail on Helm's warnings, too
    #[arg(long, value_name = "BOOL", num_args = 0..=1, require_equals = true, default_value = "false", default_missing_value = "true")]
    pub(crate) strict: bool,
    /// Lint the charts in the charts' charts folders, too
    #[arg(long, value_name = "BOOL", num_args = 0..=1, require_equals = true, default_value = "false", default_missing_value = "true")]
    pub(crate) with_subcharts: bool,
    /// Skip JSON Schema validation of values
    #[arg(long, value_name = "BOOL", num_args = 0..=1, require_equals = true, default_value = "false", default_missing_value = "true")]
    pub(crate) skip_schema_validation: bool,
    #[command(flatten)]
    pub(crate) schemas: SchemaFlags,
    /// The cluster's version, for .Capabilities and for what is deprecated
    #[arg(long, value_name = "VERSION", default_value = "")]
    pub(crate) kube_version: String,
    #[command(flatten)]
    pub(crate) namespace: NamespaceFlags,
    /// Skip the check for values that no values file sets
    #[arg(long, value_name = "BOOL", num_args = 0..=1, require_equals = true, default_value = "false", default_missing_value = "true")]
    pub(crate) skip_undefined: bool,
    /// List the rules, and check nothing
    #[arg(long)]
    pub(crate) rules: bool,
    #[command(flatten)]
    pub(crate) values: ValueFlags,
    #[command(flatten)]
    pub(crate) limits: LimitFlags,
}
