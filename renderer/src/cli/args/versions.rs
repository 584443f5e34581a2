//! The flags that replace the versions of a Chart.yaml.

use clap::Args;

use crate::{pipeline, version};

/// Versions that replace those of Chart.yaml.
#[derive(Args, Debug, Clone, Default)]
pub(crate) struct VersionFlags {
    /// Give the chart this version
    #[arg(long, value_name = "VERSION", value_parser = semantic_version)]
    pub(crate) version: Option<String>,
    /// Give the chart this appVersion
    #[arg(long, value_name = "VERSION")]
    pub(crate) app_version: Option<String>,
}

/// As [`VersionFlags`]; only for folders, since an archive has its versions.
#[derive(Args, Debug, Clone, Default)]
pub(crate) struct PushVersionFlags {
    /// Give a chart folder this version
    #[arg(long, value_name = "VERSION", value_parser = semantic_version)]
    pub(crate) version: Option<String>,
    /// Give a chart folder this appVersion
    #[arg(long, value_name = "VERSION")]
    pub(crate) app_version: Option<String>,
}

impl VersionFlags {
    /// The overrides for the pipeline.
    pub(crate) fn given(&self) -> pipeline::VersionOverrides<'_> {
        pipeline::VersionOverrides {
            version: self.version.as_deref(),
            app_version: self.app_version.as_deref(),
        }
    }
}

impl PushVersionFlags {
    /// The overrides for the pipeline.
    pub(crate) fn given(&self) -> pipeline::VersionOverrides<'_> {
        pipeline::VersionOverrides {
            version: self.version.as_deref(),
            app_version: self.app_version.as_deref(),
        }
    }
}

/// An empty version counts as absent, as in Helm.
fn semantic_version(text: &str) -> Result<String, &'static str> {
    if text.is_empty() || version::is_valid(text) {
        return Ok(text.to_owned());
    }
    Err("expected SemVer, as in 1.2.3 or v0.1.0-rc.1")
}
