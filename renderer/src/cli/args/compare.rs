//! `compare`

use std::path::PathBuf;

use clap::{Args, ValueHint};

use super::fetch::FetchFlags;
use super::rendering::RenderInputFlags;

const COMPARE_HELP: &str = "\
Examples:
  solar-render compare charts
  solar-render compare ./shop -f prod.yaml --helm /opt/helm/bin/helm
  solar-render compare oci://ghcr.io/acme/charts/shop --version 1.2.3
  solar-render compare charts -o json > compared.json

Exit code 10: something is not the same, or nothing could be compared since both programs refuse every case.";

/// `compare`
#[derive(Args, Debug)]
#[command(after_help = COMPARE_HELP)]
pub(crate) struct CompareArgs {
    /// Chart folders, archives, patterns, folders of charts, oci://HOST/PATH[:TAG], oci-layout:DIR[:TAG] or NAME/CHART.
    /// Each is rendered with its own values, and with each of its ci/*-values.yaml
    #[arg(value_name = "CHART", required = true, value_hint = ValueHint::AnyPath)]
    pub(crate) charts: Vec<PathBuf>,
    /// The Helm to compare with; else SOLAR_HELM, else `helm` on the PATH
    #[arg(long, value_name = "PATH", value_hint = ValueHint::ExecutablePath)]
    pub(crate) helm: Option<PathBuf>,
    /// Show what Secrets hold where they differ
    #[arg(long, value_name = "BOOL", num_args = 0..=1, require_equals = true, default_value = "false", default_missing_value = "true")]
    pub(crate) show_secrets: bool,
    /// The release's name
    #[arg(long, value_name = "NAME", default_value = "release-name")]
    pub(crate) name: String,
    #[command(flatten)]
    pub(crate) input: RenderInputFlags,
    #[command(flatten)]
    pub(crate) fetch: FetchFlags,
}
