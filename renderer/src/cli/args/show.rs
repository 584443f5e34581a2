//! `show`

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueHint};

use super::fetch::FetchFlags;

/// `show`
#[derive(Args, Debug)]
pub(crate) struct ShowArgs {
    #[command(subcommand)]
    pub(crate) part: ShowPart,
}

/// What of a chart is shown.
#[derive(Subcommand, Debug)]
pub(crate) enum ShowPart {
    /// Everything: Chart.yaml, values, README and CRDs
    All(ChartArg),
    /// What Chart.yaml says
    Chart(ChartArg),
    /// The manifests in crds/, those of subcharts too
    Crds(ChartArg),
    /// The README
    Readme(ChartArg),
    /// The text of values.yaml
    Values(ValuesArg),
}

/// `show values`
#[derive(Args, Debug)]
#[command(after_help = "Example:\n  solar-render show values ./chart --jsonpath '{.image.repository}'")]
pub(crate) struct ValuesArg {
    /// Print what a JSONPath template of Kubernetes' gives for the values: `{.image.tag}`
    #[arg(long, value_name = "TEMPLATE", default_value = "")]
    pub(crate) jsonpath: String,
    #[command(flatten)]
    pub(crate) chart: ChartArg,
}

/// A chart.
#[derive(Args, Debug)]
#[command(after_help = "Example:\n  solar-render show chart ./chart")]
pub(crate) struct ChartArg {
    /// A chart folder, an archive, oci://HOST/PATH[:TAG] or oci-layout:DIR[:TAG]
    #[arg(value_name = "CHART", value_hint = ValueHint::AnyPath)]
    pub(crate) chart: PathBuf,
    #[command(flatten)]
    pub(crate) fetch: FetchFlags,
}
