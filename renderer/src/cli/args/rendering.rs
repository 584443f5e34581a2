//! The flags of commands that render a chart's templates: the chart, values, release, cluster.

use clap::{Args, ValueHint};

use super::limits::LimitFlags;
use super::namespace::NamespaceFlags;
use super::schemas::SchemaFlags;

/// What `template` and `images` share.
#[derive(Args, Debug)]
pub(crate) struct RenderFlags {
    /// A name for the release, and the chart: a folder, an archive, oci://HOST/PATH[:TAG] or oci-layout:DIR[:TAG]
    #[arg(value_name = "[NAME] CHART", required = true, value_hint = ValueHint::AnyPath)]
    pub(crate) name_and_chart: Vec<String>,
    /// Seed randomness and use a fixed time: the same output in every run, and so the same secrets for everybody
    #[arg(long, value_name = "BOOL", num_args = 0..=1, require_equals = true, default_value = "false", default_missing_value = "true")]
    pub(crate) frozen: bool,
    #[command(flatten)]
    pub(crate) input: RenderInputFlags,
    #[command(flatten)]
    pub(crate) lookup: LookupFlags,
    #[command(flatten)]
    pub(crate) name: ReleaseNameFlags,
    #[command(flatten)]
    pub(crate) limits: LimitFlags,
}

/// What decides on the output besides the chart and the release's name; `compare` gives it to both programs.
#[derive(Args, Debug)]
pub(crate) struct RenderInputFlags {
    /// Skip JSON Schema validation of values
    #[arg(long, value_name = "BOOL", num_args = 0..=1, require_equals = true, default_value = "false", default_missing_value = "true")]
    pub(crate) skip_schema_validation: bool,
    #[command(flatten)]
    pub(crate) schemas: SchemaFlags,
    #[command(flatten)]
    pub(crate) values: ValueFlags,
    #[command(flatten)]
    pub(crate) release: ReleaseFlags,
    #[command(flatten)]
    pub(crate) cluster: ClusterFlags,
}

/// The values.
#[derive(Args, Debug, Clone, Default)]
#[command(next_help_heading = "Values")]
pub(crate) struct ValueFlags {
    /// A file of values, `-` for standard input, or an https:// URL; may be repeated, or several separated by commas
    #[arg(short = 'f', long = "values", value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) values: Vec<String>,
    /// Set values: a.b=1,c[0]=x,d={x,y}; null removes the chart's default
    #[arg(long, value_name = "KEY=VALUE", allow_hyphen_values = true)]
    pub(crate) set: Vec<String>,
    /// Set string values: a=1 becomes "1"
    #[arg(long, value_name = "KEY=TEXT", allow_hyphen_values = true)]
    pub(crate) set_string: Vec<String>,
    /// Set JSON: a=[1,2],b={"c":1}, or a whole map in braces
    #[arg(long, value_name = "KEY=JSON", allow_hyphen_values = true)]
    pub(crate) set_json: Vec<String>,
    /// Set string values from files
    #[arg(long, value_name = "KEY=FILE", allow_hyphen_values = true)]
    pub(crate) set_file: Vec<String>,
    /// Set one string value literally, commas and all
    #[arg(long, value_name = "KEY=TEXT", allow_hyphen_values = true)]
    pub(crate) set_literal: Vec<String>,
}

/// `.Release`
#[derive(Args, Debug)]
#[command(next_help_heading = "Release")]
pub(crate) struct ReleaseFlags {
    #[command(flatten)]
    pub(crate) namespace: NamespaceFlags,
    /// Set .Release.IsUpgrade instead of .Release.IsInstall
    #[arg(long, value_name = "BOOL", num_args = 0..=1, require_equals = true, default_value = "false", default_missing_value = "true")]
    pub(crate) is_upgrade: bool,
}

/// `.Release.Name`, where it is not an argument.
#[derive(Args, Debug)]
#[command(next_help_heading = "Release")]
pub(crate) struct ReleaseNameFlags {
    /// Accepted as in Helm, where the name is `release-name` anyway
    #[arg(short = 'g', long, value_name = "BOOL", num_args = 0..=1, require_equals = true, default_value = "false", default_missing_value = "true")]
    pub(crate) generate_name: bool,
    /// A template that gives the release's name
    #[arg(long, value_name = "TEMPLATE", default_value = "")]
    pub(crate) name_template: String,
}

/// `.Capabilities`
#[derive(Args, Debug)]
#[command(next_help_heading = "Cluster")]
pub(crate) struct ClusterFlags {
    /// The cluster's version
    #[arg(long, value_name = "VERSION", default_value = "")]
    pub(crate) kube_version: String,
    /// Further API versions that the cluster serves; may be repeated, or several separated by commas
    #[arg(short = 'a', long, value_name = "GROUP/VERSION")]
    pub(crate) api_versions: Vec<String>,
}

/// What `lookup` finds.
#[derive(Args, Debug, Clone, Default)]
#[command(next_help_heading = "Cluster")]
pub(crate) struct LookupFlags {
    /// A file of the objects that `lookup` finds, as `kubectl get -o yaml` or `-o json` prints them; `-` for standard
    /// input; may be repeated. Without it there are none
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) lookup_file: Vec<String>,
}

/// Which hooks are left out.
#[derive(Args, Debug, Clone, Copy)]
#[command(next_help_heading = "Shown")]
pub(crate) struct HookFlags {
    /// Leave out hooks
    #[arg(long, value_name = "BOOL", num_args = 0..=1, require_equals = true, default_value = "false", default_missing_value = "true")]
    pub(crate) no_hooks: bool,
    /// Leave out tests
    #[arg(long, value_name = "BOOL", num_args = 0..=1, require_equals = true, default_value = "false", default_missing_value = "true")]
    pub(crate) skip_tests: bool,
}
