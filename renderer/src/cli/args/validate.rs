//! `validate`

use std::path::PathBuf;

use clap::{Args, ValueHint};

use super::fetch::FetchFlags;
use super::limits::LimitFlags;
use super::rendering::{HookFlags, LookupFlags, ReleaseFlags, ValueFlags};
use super::schemas::SchemaFlags;
use crate::engine::release::DEFAULT_NAME;

const VALIDATE_HELP: &str = "\
Examples:
  solar-render validate charts/shop
  solar-render validate charts --ci --kube-version 1.31 --kube-version 1.34
  solar-render validate charts/shop -f prod.yaml --crds crds/ --crds charts/prometheus-operator
  solar-render validate charts -o sarif > validate.sarif

-o also takes junit, sarif, github (annotations) and gitlab (code quality).
Exit code 1: an API server would refuse an object.";

/// `validate`
#[derive(Args, Debug)]
#[command(after_help = VALIDATE_HELP)]
pub(crate) struct ValidateArgs {
    /// Charts: folders, patterns, folders of charts, archives, configs, oci://HOST/PATH[:TAG] or oci-layout:DIR[:TAG]
    #[arg(value_name = "CHART", required = true, value_hint = ValueHint::AnyPath)]
    pub(crate) charts: Vec<String>,
    /// The version of Kubernetes; may be repeated, or several separated by commas. Without it the newest
    #[arg(long, value_name = "VERSION")]
    pub(crate) kube_version: Vec<String>,
    /// CRDs, besides the charts' own: a file, a folder of files, or a chart that has them; may be repeated
    #[arg(long, value_name = "DIR|CHART|FILE", value_hint = ValueHint::AnyPath)]
    pub(crate) crds: Vec<PathBuf>,
    /// Render each chart with each of its ci/*-values.yaml; one without such files with its own values
    #[arg(long, value_name = "BOOL", num_args = 0..=1, require_equals = true, default_value = "false", default_missing_value = "true")]
    pub(crate) ci: bool,
    /// Fail for kinds of which neither Kubernetes nor a CRD has a schema; without it they are warnings
    #[arg(long, value_name = "BOOL", num_args = 0..=1, require_equals = true, default_value = "false", default_missing_value = "true")]
    pub(crate) require_schemas: bool,
    /// Fail for warnings, too: deprecated API versions, list items with the same key
    #[arg(long, value_name = "BOOL", num_args = 0..=1, require_equals = true, default_value = "false", default_missing_value = "true")]
    pub(crate) strict: bool,
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
    /// Further API versions that the cluster serves; may be repeated, or several separated by commas
    #[arg(short = 'a', long, value_name = "GROUP/VERSION", help_heading = "Cluster")]
    pub(crate) api_versions: Vec<String>,
    #[command(flatten)]
    pub(crate) lookup: LookupFlags,
    #[command(flatten)]
    pub(crate) hooks: HookFlags,
    #[command(flatten)]
    pub(crate) limits: LimitFlags,
    #[command(flatten)]
    pub(crate) fetch: FetchFlags,
}
