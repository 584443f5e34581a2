//! `template`

use std::path::PathBuf;

use clap::{Args, ValueHint};

use super::fetch::FetchFlags;
use super::rendering::{HookFlags, RenderFlags};

const TEMPLATE_HELP: &str = "\
Examples:
  solar-render template shop ./chart -n prod -f prod.yaml
  solar-render template shop ./chart -n prod --lookup-file objects.yaml
  solar-render template shop ./chart -f prod.yaml --frozen --watch";

/// `template`
#[derive(Args, Debug)]
#[command(after_help = TEMPLATE_HELP)]
pub(crate) struct TemplateArgs {
    /// When dependencies of a chart folder are missing, choose the newest that fit, as `dependency update` does
    #[arg(long, value_name = "BOOL", num_args = 0..=1, require_equals = true, default_value = "false", default_missing_value = "true")]
    pub(crate) dependency_update: bool,
    /// Print what was rendered even where it is not valid YAML
    #[arg(long, value_name = "BOOL", num_args = 0..=1, require_equals = true, default_value = "false", default_missing_value = "true")]
    pub(crate) debug: bool,
    /// Check the objects as `validate` does, against the schemas of --kube-version; print nothing if one is wrong
    #[arg(long, value_name = "BOOL", num_args = 0..=1, require_equals = true, default_value = "false", default_missing_value = "true")]
    pub(crate) validate: bool,
    /// Render again when the chart, a values file or an object's file changes, and print what is different; Ctrl-C ends
    #[arg(long, value_name = "BOOL", num_args = 0..=1, require_equals = true, default_value = "false", default_missing_value = "true")]
    pub(crate) watch: bool,
    /// Helm's `client` is what is always done here
    #[arg(long, hide = true, value_name = "WHERE", num_args = 0..=1, require_equals = true, default_value = "client", default_missing_value = "unset")]
    pub(crate) dry_run: String,
    // After the flags without a heading: clap would list those under the last heading.
    #[command(flatten)]
    pub(crate) rendering: RenderFlags,
    #[command(flatten)]
    pub(crate) shown: ManifestFlags,
    #[command(flatten)]
    pub(crate) fetch: FetchFlags,
}

/// What is printed, and where.
#[derive(Args, Debug)]
#[command(next_help_heading = "Shown")]
pub(crate) struct ManifestFlags {
    /// Only show the output of these templates: templates/x.yaml, or a pattern; may be repeated
    #[arg(short = 's', long, value_name = "PATH")]
    pub(crate) show_only: Vec<String>,
    /// Print the CRDs of the charts' crds folders first
    #[arg(long, value_name = "BOOL", num_args = 0..=1, require_equals = true, default_value = "false", default_missing_value = "true")]
    pub(crate) include_crds: bool,
    /// Accepted as in Helm, where --include-crds decides
    #[arg(long, value_name = "BOOL", num_args = 0..=1, require_equals = true, default_value = "false", default_missing_value = "true")]
    pub(crate) skip_crds: bool,
    #[command(flatten)]
    pub(crate) hooks: HookFlags,
    /// With -o json: the notes of subcharts, too
    #[arg(long, value_name = "BOOL", num_args = 0..=1, require_equals = true, default_value = "false", default_missing_value = "true")]
    pub(crate) render_subchart_notes: bool,
    /// Write files to this folder instead
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath, conflicts_with = "watch")]
    pub(crate) output_dir: Option<PathBuf>,
    /// With --output-dir: below a folder of the release's name
    #[arg(long, value_name = "BOOL", num_args = 0..=1, require_equals = true, default_value = "false", default_missing_value = "true")]
    pub(crate) release_name: bool,
}
