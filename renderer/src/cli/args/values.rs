//! `values`

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueHint};

use super::fetch::FetchFlags;
use super::rendering::ValueFlags;

const CHECK_HELP: &str = "\
Examples:
  solar-render values check charts/shop -f prod.yaml
  solar-render values check charts --ci
  solar-render values check oci://ghcr.io/org/charts/shop -f prod.yaml --given-only
  solar-render values check charts/shop -f prod.yaml -o sarif > values.sarif

-o also takes junit, sarif, github (annotations) and gitlab (code quality).
Exit code 1: a given key is read by nothing.";

const SCHEMA_HELP: &str = "\
Examples:
  solar-render values schema charts/shop
  solar-render values schema charts/shop --write
  solar-render values schema charts --check

Exit code 1: with --check, if a chart's values.schema.json is not what would be written.";

/// `values`
#[derive(Subcommand, Debug)]
#[command(defer = true)]
pub(crate) enum ValuesCommand {
    /// Find keys that nothing in the chart reads, and values that templates read and nothing sets
    Check(Box<ValuesCheckArgs>),
    /// Make values.schema.json from values.yaml, its comments and what templates do with each value
    Schema(ValuesSchemaArgs),
}

/// `values check`
#[derive(Args, Debug)]
#[command(after_help = CHECK_HELP)]
pub(crate) struct ValuesCheckArgs {
    /// Charts: folders, patterns, folders of charts, archives, configs, oci://HOST/PATH[:TAG] or oci-layout:DIR[:TAG]
    #[arg(value_name = "CHART", required = true, value_hint = ValueHint::AnyPath)]
    pub(crate) charts: Vec<String>,
    /// Check each of a chart's ci/*-values.yaml, each below the given values; of a chart without such files those alone
    #[arg(long, value_name = "BOOL", num_args = 0..=1, require_equals = true, default_value = "false", default_missing_value = "true")]
    pub(crate) ci: bool,
    /// Check the given values alone, and leave out the chart's own values.yaml and templates
    #[arg(long, value_name = "BOOL", num_args = 0..=1, require_equals = true, default_value = "false", default_missing_value = "true")]
    pub(crate) given_only: bool,
    /// Fail for warnings, too: what is wrong with the chart itself
    #[arg(long, value_name = "BOOL", num_args = 0..=1, require_equals = true, default_value = "false", default_missing_value = "true")]
    pub(crate) strict: bool,
    #[command(flatten)]
    pub(crate) values: ValueFlags,
    #[command(flatten)]
    pub(crate) fetch: FetchFlags,
}

/// `values schema`
#[derive(Args, Debug)]
#[command(after_help = SCHEMA_HELP)]
pub(crate) struct ValuesSchemaArgs {
    /// Chart folders, patterns, or folders of charts; without --write and --check one chart, whose schema is printed
    #[arg(value_name = "CHART", required = true, value_hint = ValueHint::DirPath)]
    pub(crate) charts: Vec<PathBuf>,
    /// Write each chart's values.schema.json
    #[arg(long, value_name = "BOOL", num_args = 0..=1, require_equals = true, default_value = "false", default_missing_value = "true")]
    pub(crate) write: bool,
    /// Write nothing; fail, and show the difference, if a chart's values.schema.json is not what would be written
    #[arg(long, value_name = "BOOL", num_args = 0..=1, require_equals = true, default_value = "false", default_missing_value = "true", conflicts_with = "write")]
    pub(crate) check: bool,
}
