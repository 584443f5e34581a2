//! The arguments of the commands that look into a chart.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueHint};

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
    pub(crate) fetch: super::fetch::Fetch,
}

/// `dependency list`
#[derive(Args, Debug)]
pub(crate) struct DependencyList {
    /// A chart folder or an archive
    #[arg(value_name = "CHART", value_hint = ValueHint::AnyPath, default_value = ".")]
    pub(crate) chart: PathBuf,
    /// The most characters of a column, 0 for any number
    #[arg(long, value_name = "NUMBER", default_value_t = 80)]
    pub(crate) max_col_width: usize,
}
