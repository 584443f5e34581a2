//! The flags that replace the versions of a Chart.yaml.

use clap::Args;

/// In place of what Chart.yaml says.
#[derive(Args, Debug, Clone, Default)]
pub(crate) struct Versions {
    /// Give the chart this version
    #[arg(long, value_name = "VERSION")]
    pub(crate) version: Option<String>,
    /// Give the chart this appVersion
    #[arg(long, value_name = "VERSION")]
    pub(crate) app_version: Option<String>,
}

/// As [`Versions`]; an archive has its versions in it already.
#[derive(Args, Debug, Clone, Default)]
pub(crate) struct PushVersions {
    /// Give a chart folder this version
    #[arg(long, value_name = "VERSION")]
    pub(crate) version: Option<String>,
    /// Give a chart folder this appVersion
    #[arg(long, value_name = "VERSION")]
    pub(crate) app_version: Option<String>,
}
