//! The flags of `lint` and `images`.

use std::path::PathBuf;

use clap::{Args, ValueHint};

use super::template_args::{ClusterFlags, ReleaseFlags, ValueFlags};

/// `lint`
#[derive(Args, Debug)]
pub(crate) struct Lint {
    /// The charts: folders or archives
    #[arg(value_name = "PATH", required = true, value_hint = ValueHint::AnyPath)]
    pub(crate) paths: Vec<PathBuf>,
    #[command(flatten)]
    pub(crate) values: ValueFlags,
    /// Fail on warnings of Helm's, too
    #[arg(long, value_name = "BOOL", num_args = 0..=1, require_equals = true, default_value_t = false, default_missing_value = "true")]
    pub(crate) strict: bool,
    /// Look at the charts in the charts' charts folders, too
    #[arg(long, value_name = "BOOL", num_args = 0..=1, require_equals = true, default_value_t = false, default_missing_value = "true")]
    pub(crate) with_subcharts: bool,
    /// Do not hold the values against the charts' schemas
    #[arg(long, value_name = "BOOL", num_args = 0..=1, require_equals = true, default_value_t = false, default_missing_value = "true")]
    pub(crate) skip_schema_validation: bool,
    /// The cluster's version, for .Capabilities and for what is deprecated
    #[arg(long, value_name = "VERSION", default_value = "")]
    pub(crate) kube_version: String,
    /// The release's namespace
    #[arg(short = 'n', long, value_name = "NAME", default_value = "default")]
    pub(crate) namespace: String,
    /// Do not look for values that no values file knows
    #[arg(long, value_name = "BOOL", num_args = 0..=1, require_equals = true, default_value_t = false, default_missing_value = "true")]
    pub(crate) skip_undefined: bool,
}

/// `images`
#[derive(Args, Debug)]
pub(crate) struct Images {
    /// A name for the release, and the chart: a folder, an archive, oci://HOST/PATH[:TAG] or oci-layout:DIR[:TAG]
    #[arg(value_name = "[NAME] CHART", required = true, value_hint = ValueHint::AnyPath)]
    pub(crate) name_and_chart: Vec<String>,
    #[command(flatten)]
    pub(crate) values: ValueFlags,
    #[command(flatten)]
    pub(crate) release: ReleaseFlags,
    #[command(flatten)]
    pub(crate) cluster: ClusterFlags,
    #[command(flatten)]
    pub(crate) fetch: super::fetch::Fetch,
    /// Leave out hooks
    #[arg(long, value_name = "BOOL", num_args = 0..=1, require_equals = true, default_value_t = false, default_missing_value = "true")]
    pub(crate) no_hooks: bool,
    /// Leave out tests
    #[arg(long, value_name = "BOOL", num_args = 0..=1, require_equals = true, default_value_t = false, default_missing_value = "true")]
    pub(crate) skip_tests: bool,
    /// Seed what is random and stop the clock: the same bytes in every run
    #[arg(long, value_name = "BOOL", num_args = 0..=1, require_equals = true, default_value_t = false, default_missing_value = "true")]
    pub(crate) frozen: bool,
    /// Do not hold the values against the charts' schemas
    #[arg(long, value_name = "BOOL", num_args = 0..=1, require_equals = true, default_value_t = false, default_missing_value = "true")]
    pub(crate) skip_schema_validation: bool,
}
