//! `show`

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueHint};

use super::fetch::Fetch;

/// `show`
#[derive(Args, Debug)]
pub(crate) struct Show {
    #[command(subcommand)]
    pub(crate) part: Part,
}

/// What of a chart is shown.
#[derive(Subcommand, Debug)]
pub(crate) enum Part {
    /// Everything: Chart.yaml, values, README and CRDs
    All(OneChart),
    /// What Chart.yaml says
    Chart(OneChart),
    /// The manifests in crds/, those of subcharts too
    Crds(OneChart),
    /// The README
    Readme(OneChart),
    /// The text of values.yaml
    Values(OneChart),
}

/// A chart.
#[derive(Args, Debug)]
pub(crate) struct OneChart {
    /// A chart folder, an archive, oci://HOST/PATH[:TAG] or oci-layout:DIR[:TAG]
    #[arg(value_name = "CHART", value_hint = ValueHint::AnyPath)]
    pub(crate) chart: PathBuf,
    #[command(flatten)]
    pub(crate) fetch: Fetch,
}
