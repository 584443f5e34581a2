//! `test`

use std::path::PathBuf;

use clap::{Args, ValueHint};

use super::limits::LimitFlags;
use super::rendering::LookupFlags;

const TEST_HELP: &str = "\
Examples:
  solar-render test charts/shop
  solar-render test charts --junit results.xml
  solar-render test charts/shop -f 'tests/**/*_test.yaml' -k ingress
  solar-render test charts/shop --update
  solar-render test charts --ci --junit results.xml
  solar-render test charts/shop --watch

-o also takes junit, sarif, github (annotations) and gitlab (code quality).
Exit code 1: a test does not pass.";

/// `test`
#[derive(Args, Debug)]
#[command(after_help = TEST_HELP)]
pub(crate) struct TestArgs {
    /// Chart folders, patterns, or folders of charts
    #[arg(value_name = "CHART", required = true, value_hint = ValueHint::DirPath)]
    pub(crate) charts: Vec<PathBuf>,
    /// Patterns of suite files, relative to the chart
    #[arg(short, long, value_name = "PATTERN", default_value = crate::unittest::SUITE_FILES)]
    pub(crate) file: Vec<String>,
    /// Run only tests whose name, or whose suite's name, contains the text
    #[arg(short = 'k', long, value_name = "TEXT")]
    pub(crate) filter: Option<String>,
    /// Write snapshots that have changed anew; look at what has changed first
    #[arg(short = 'u', long, alias = "update-snapshot")]
    pub(crate) update: bool,
    /// Also render each chart with each of its ci/*-values.yaml, or with its own values if there are none, and compare
    /// with the snapshots in ci/__snapshot__; new ones are written
    #[arg(long)]
    pub(crate) ci: bool,
    /// Run the tests again when a chart, a suite or a values file changes; Ctrl-C ends
    #[arg(long)]
    pub(crate) watch: bool,
    /// End with the first test that does not pass
    #[arg(long, alias = "fail-fast")]
    pub(crate) failfast: bool,
    /// Refuse unknown fields in suites; without it they are warnings
    #[arg(long)]
    pub(crate) strict: bool,
    /// Run the suites of subcharts in charts/, too
    #[arg(short = 's', long, value_name = "BOOL", num_args = 0..=1, require_equals = true, default_value_t = true, default_missing_value = "true", action = clap::ArgAction::Set)]
    pub(crate) with_subchart: bool,
    /// Also write the results to this file, in JUnit's format
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) junit: Option<PathBuf>,
    /// Skip JSON Schema validation of values
    #[arg(long, value_name = "BOOL", num_args = 0..=1, require_equals = true, default_value_t = false, default_missing_value = "true")]
    pub(crate) skip_schema_validation: bool,
    /// A file of values for all tests; may be repeated, or several separated by commas
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) values: Vec<String>,
    #[command(flatten)]
    pub(crate) lookup: LookupFlags,
    #[command(flatten)]
    pub(crate) limits: LimitFlags,
}
