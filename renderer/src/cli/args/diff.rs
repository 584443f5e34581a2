//! `diff`

use clap::{Args, ValueHint};

use super::fetch::FetchFlags;
use super::limits::LimitFlags;
use super::rendering::{HookFlags, LookupFlags, RenderInputFlags};
use crate::engine::release::DEFAULT_NAME;

const DIFF_HELP: &str = "\
Examples:
  solar-render diff charts/shop --against main -f prod.yaml
  solar-render diff charts/shop --published oci://ghcr.io/acme/charts --exit-code
  solar-render diff oci://ghcr.io/acme/charts/shop:1.0.0 charts/shop
  solar-render diff charts/shop --from-values staging.yaml --to-values prod.yaml
  solar-render diff shop --repo https://charts.example.com --from-version 1.0.0 --to-version 1.1.0
  solar-render diff charts/shop --against origin/main -o markdown > diff.md

-o also takes markdown (for a pull request's comment) and html (a page by itself).
Both charts are rendered as with `template --frozen`. Exit code 10 with --exit-code: they differ.";

/// `diff`
#[derive(Args, Debug)]
#[command(after_help = DIFF_HELP)]
pub(crate) struct DiffArgs {
    /// The older chart and the newer one: folders, archives, configs, oci://HOST/PATH[:TAG] or oci-layout:DIR[:TAG]. One
    /// chart with --against, --published, other values or other versions
    #[arg(value_name = "CHART", num_args = 0..=2, value_hint = ValueHint::AnyPath)]
    pub(crate) charts: Vec<String>,
    /// Compare with the chart's folder as it is at this revision of its git repository: a branch, a tag, a commit
    #[arg(long, value_name = "GITREV", conflicts_with_all = ["published", "from_version", "to_version"])]
    pub(crate) against: Option<String>,
    /// Compare with the newest release there: where charts are published to, or the chart there; without a reference in
    /// --repo
    #[arg(long, value_name = "REFERENCE", num_args = 0..=1, default_missing_value = "")]
    pub(crate) published: Option<String>,
    /// Fail with exit code 10 when something differs
    #[arg(long, value_name = "BOOL", num_args = 0..=1, require_equals = true, default_value = "false", default_missing_value = "true")]
    pub(crate) exit_code: bool,
    /// Show what Secrets hold; without it hashes
    #[arg(long, value_name = "BOOL", num_args = 0..=1, require_equals = true, default_value = "false", default_missing_value = "true")]
    pub(crate) show_secrets: bool,
    #[command(flatten)]
    pub(crate) sides: SideFlags,
    #[command(flatten)]
    pub(crate) input: RenderInputFlags,
    #[command(flatten)]
    pub(crate) lookup: LookupFlags,
    /// The release's name
    #[arg(long, value_name = "NAME", default_value = DEFAULT_NAME, help_heading = "Release")]
    pub(crate) release_name: String,
    #[command(flatten)]
    pub(crate) hooks: HookFlags,
    #[command(flatten)]
    pub(crate) limits: LimitFlags,
    #[command(flatten)]
    pub(crate) fetch: FetchFlags,
}

/// What only one side has.
#[derive(Args, Debug)]
#[command(next_help_heading = "Sides")]
pub(crate) struct SideFlags {
    /// A file of values for the older side, after those of --values; may be repeated, or several separated by commas
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) from_values: Vec<String>,
    /// A file of values for the newer side, after those of --values; may be repeated, or several separated by commas
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) to_values: Vec<String>,
    /// The older side's version of a chart that has several, instead of --version
    #[arg(long, value_name = "VERSION")]
    pub(crate) from_version: Option<String>,
    /// The newer side's version of a chart that has several, instead of --version
    #[arg(long, value_name = "VERSION")]
    pub(crate) to_version: Option<String>,
}
