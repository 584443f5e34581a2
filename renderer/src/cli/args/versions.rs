//! The flags that replace the versions of a Chart.yaml.

use clap::Args;

use crate::pipeline;

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

impl Versions {
    /// For the pipeline.
    pub(crate) fn given(&self) -> pipeline::Versions<'_> {
        pipeline::Versions {
            version: self.version.as_deref(),
            app_version: self.app_version.as_deref(),
        }
    }
}

impl PushVersions {
    /// For the pipeline.
    pub(crate) fn given(&self) -> pipeline::Versions<'_> {
        pipeline::Versions {
            version: self.version.as_deref(),
            app_version: self.app_version.as_deref(),
        }
    }
}
