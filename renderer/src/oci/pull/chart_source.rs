//! The sources of charts, with the same interface for registries and layouts: tags, manifests, blobs.

use std::io::{self, Write};
use std::path::{Path, PathBuf};

use crate::oci::client::image::{ChartManifest, Descriptor, NamedDescriptor};
use crate::oci::client::{AccessScope, Client};
use crate::oci::failure::Failure;
use crate::oci::layout::read as layout_read;
use crate::oci::{ClientOptions, Progress};
use crate::reference::{ArtifactStore, At, Locator, Tag};
use crate::semver::{self, Constraint};
use crate::version::ChartVersion;
use crate::world::World;

/// A registry or layout, opened for reading.
pub(in crate::oci) enum ChartSource<'a> {
    Registry(Box<Client<'a>>),
    Layout(&'a PathBuf),
}

impl<'a> ChartSource<'a> {
    pub(in crate::oci) fn open(
        place: &'a ArtifactStore,
        options: &'a ClientOptions,
        world: &'a dyn World,
        progress: &'a dyn Progress,
    ) -> Result<Self, Failure> {
        Ok(match place {
            ArtifactStore::Registry(repository) => {
                let client = Client::new(AccessScope::Read(repository), options, world, progress)?;
                Self::Registry(Box::new(client))
            }
            ArtifactStore::Layout(dir) => Self::Layout(dir),
        })
    }

    /// All tags, in no particular order.
    pub(in crate::oci) async fn tags(&self) -> Result<Vec<Tag>, Failure> {
        match self {
            Self::Registry(client) => Ok(client.tags().await?),
            Self::Layout(dir) => Ok(layout_read::tags(dir)?),
        }
    }

    /// The manifest of a chart. Tags are only resolved here.
    pub(in crate::oci) async fn image(&self, at: &At, reference: &str) -> Result<ChartManifest, Failure> {
        let bytes = match self {
            Self::Registry(client) => client.manifest(at).await?,
            Self::Layout(dir) => layout_read::manifest(dir, at)?,
        };
        ChartManifest::parse(bytes).map_err(|reason| not_a_chart(reference, reason))
    }

    /// Streams a blob to the writer that `open` returns for each attempt; returns the writer that got all of it.
    pub(in crate::oci) async fn blob<W: Write>(
        &self,
        blob: &Descriptor,
        open: impl Fn() -> io::Result<W>,
    ) -> Result<W, Failure> {
        match self {
            Self::Registry(client) => client.cached_blob(blob, open).await,
            Self::Layout(dir) => layout_read::blob(dir, blob, open),
        }
    }

    /// The file in the cache with the blob, fetched if it is not there; `None` without a cache that can be written.
    pub(in crate::oci) async fn cached_file(&self, blob: &Descriptor) -> Result<Option<PathBuf>, Failure> {
        let Self::Registry(client) = self else {
            return Ok(None);
        };
        let Some(path) = client
            .options
            .cache
            .as_ref()
            .map(|cache| cache.path_of(&blob.digest))
        else {
            return Ok(None);
        };
        client.cached_blob(blob, || Ok(io::sink())).await?;
        Ok(path.is_file().then_some(path))
    }

    /// Name and version from the config blob.
    pub(in crate::oci) async fn named(
        &self,
        image: &ChartManifest,
        reference: &str,
    ) -> Result<NamedDescriptor, Failure> {
        let config = self.blob(&image.config, || Ok(Vec::new())).await?;
        NamedDescriptor::parse(&config).map_err(|reason| not_a_chart(reference, reason))
    }

    /// Resolves a locator; without tag and digest to the newest version, pre-releases only with `devel`; with a range
    /// to the newest version in it.
    pub(in crate::oci) async fn resolve(
        &self,
        locator: &Locator,
        devel: bool,
        range: Option<&Constraint>,
    ) -> Result<At, Failure> {
        if let Some(at) = locator.at() {
            return Ok(at);
        }
        let tags = self.tags().await?;
        let versions: Vec<String> = tags.iter().map(|tag| tag.as_str().replace('_', "+")).collect();
        let newest = versions
            .iter()
            .filter_map(|text| ChartVersion::parse(text))
            .filter(|version| match range {
                // Ranges follow Masterminds' rule for pre-releases.
                Some(range) => semver::Version::parse(version.as_str()).is_ok_and(|one| range.check(&one)),
                None => devel || !version.is_prerelease(),
            })
            .max();
        newest
            .and_then(|version| Tag::from_version(version.as_str()).ok())
            .map(At::Tag)
            .ok_or_else(|| Failure::NoVersion {
                place: locator.place.to_string(),
                tags: tags.len(),
            })
    }
}

pub(in crate::oci) fn not_a_chart(reference: &str, reason: String) -> Failure {
    Failure::NotAChart {
        reference: reference.to_owned(),
        reason,
    }
}

/// Creates a folder; a failure is reported with its path.
pub(in crate::oci) fn make_dir(dir: &Path) -> Result<(), Failure> {
    std::fs::create_dir_all(dir).map_err(|source| disk(dir, "made", source))
}

pub(in crate::oci) fn disk(path: &Path, action: &'static str, source: io::Error) -> Failure {
    crate::oci::FileError::Io {
        path: path.to_owned(),
        action,
        source,
    }
    .into()
}
