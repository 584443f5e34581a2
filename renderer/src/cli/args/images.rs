//! `images`

use clap::{Args, ValueHint};

use super::fetch::FetchFlags;
use super::limits::LimitFlags;
use super::rendering::{ClusterFlags, ReleaseFlags, ValueFlags};
use super::schemas::SchemaFlags;

/// `images`
#[derive(Args, Debug)]
pub(crate) struct ImagesArgs {
    /// A name for the release, and the chart: a folder, an archive, oci://HOST/PATH[:TAG] or oci-layout:DIR[:TAG]
    #[arg(value_name = "[NAME] CHART", required = true, value_hint = ValueHint::AnyPath)]
    pub(crate) name_and_chart: Vec<String>,
    /// Leave out hooks
    #[arg(long, value_name = "BOOL", num_args = 0..=1, require_equals = true, default_value_t = false, default_missing_value = "true")]
    pub(crate) no_hooks: bool,
    /// Leave out tests
    #[arg(long, value_name = "BOOL", num_args = 0..=1, require_equals = true, default_value_t = false, default_missing_value = "true")]
    pub(crate) skip_tests: bool,
    /// Seed randomness and use a fixed time: the same output in every run
    #[arg(long, value_name = "BOOL", num_args = 0..=1, require_equals = true, default_value_t = false, default_missing_value = "true")]
    pub(crate) frozen: bool,
    /// Skip JSON Schema validation of values
    #[arg(long, value_name = "BOOL", num_args = 0..=1, require_equals = true, default_value_t = false, default_missing_value = "true")]
    pub(crate) skip_schema_validation: bool,
    #[command(flatten)]
    pub(crate) schemas: SchemaFlags,
    #[command(flatten)]
    pub(crate) values: ValueFlags,
    #[command(flatten)]
    pub(crate) release: ReleaseFlags,
    #[command(flatten)]
    pub(crate) cluster: ClusterFlags,
    #[command(flatten)]
    pub(crate) limits: LimitFlags,
    #[command(flatten)]
    pub(crate) fetch: FetchFlags,
}
