//! The tags of a repository or layout, sorted by version.

use crate::oci::failure::Failure;
use crate::oci::pull::chart_source::ChartSource;
use crate::oci::{ClientOptions, Progress};
use crate::reference::{ArtifactStore, Tag};
use crate::version::ChartVersion;
use crate::world::World;

/// A tag.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Listed {
    /// The tag as in the registry.
    pub tag: Tag,
    /// The chart's version, with `+` for `_`. `None` for other tags.
    pub version: Option<String>,
}

impl Listed {
    fn parsed(&self) -> Option<ChartVersion<'_>> {
        self.version.as_deref().and_then(ChartVersion::parse)
    }
}

/// All tags: versions, newest first, then the others by name. Blocks until it is done.
///
/// # Errors
/// A registry that is unreachable, refuses the request, or is inconsistent; a missing layout.
pub fn tags(
    place: &ArtifactStore,
    client: &ClientOptions,
    world: &dyn World,
    progress: &dyn Progress,
) -> Result<Vec<Listed>, Failure> {
    let runtime = crate::oci::runtime()?;
    let tags = runtime.block_on(async {
        let origin = ChartSource::open(place, client, world, progress)?;
        origin.tags().await
    });
    runtime.shutdown_background();
    Ok(ordered(tags?))
}

fn ordered(tags: Vec<Tag>) -> Vec<Listed> {
    let mut list: Vec<Listed> = tags
        .into_iter()
        .map(|tag| {
            let version = tag.as_str().replace('_', "+");
            let version = ChartVersion::parse(&version).is_some().then_some(version);
            Listed { tag, version }
        })
        .collect();
    list.sort_by(|a, b| {
        let (newer, older) = (b.parsed(), a.parsed());
        newer.cmp(&older).then_with(|| a.tag.cmp(&b.tag))
    });
    // A registry may list a tag twice during a push.
    list.dedup();
    list
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_come_first_and_newest_first() {
        let tags = [
            "b",
            "1.0.0",
            "1.10.0",
            "a",
            "1.2.0",
            "2.0.0-rc.1",
            "1.0.0",
            "1.10.0_b.1",
            "v3",
            "1_x_y",
        ];
        let tags = tags.iter().map(|tag| tag.parse().unwrap()).collect();
        let list = ordered(tags);
        let shown: Vec<_> = list
            .iter()
            .map(|one| one.version.as_deref().unwrap_or(one.tag.as_str()))
            .collect();
        let expected = [
            "v3",
            "2.0.0-rc.1",
            "1.10.0+b.1",
            "1.10.0",
            "1.2.0",
            "1.0.0",
            "1_x_y",
            "a",
            "b",
        ];
        assert_eq!(shown, expected);
    }
}
