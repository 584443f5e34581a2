//! Parses a chart's manifest. Pure: independent of where it was read.

use serde::Deserialize;
use sha2::Digest as _;

use crate::package::artifact::Artifact;
use crate::reference::Digest;

/// The layer's media type in Helm 3.0 to 3.6.
const OLD_LAYER_TYPE: &str = "application/tar+gzip";
/// The media type of an index.
const INDEX_TYPE: &str = "application/vnd.oci.image.index.v1+json";
/// The maximum size of a config or provenance file, in bytes.
pub(in crate::oci) const MAX_SMALL: u64 = 4 << 20;
/// The maximum size of a layer, in bytes: a chart can't be larger even unpacked.
pub(in crate::oci) const MAX_LAYER: u64 = crate::chart::MAX_CHART_BYTES;
/// The maximum number of layers of a manifest.
const MAX_LAYERS: usize = 256;

/// A manifest with its descriptors.
#[derive(Debug, Clone)]
pub(in crate::oci) struct ChartManifest {
    /// The bytes as received.
    pub(in crate::oci) bytes: Vec<u8>,
    /// The digest of the bytes.
    pub(in crate::oci) digest: Digest,
    /// The chart's metadata.
    pub(in crate::oci) config: Descriptor,
    /// The archive, and possibly other layers.
    pub(in crate::oci) layers: Vec<Descriptor>,
}

/// A blob that a manifest refers to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::oci) struct Descriptor {
    pub(in crate::oci) media_type: String,
    pub(in crate::oci) digest: Digest,
    pub(in crate::oci) size: u64,
}

/// The name and version in a chart's config blob.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub(in crate::oci) struct NamedDescriptor {
    pub(in crate::oci) name: String,
    pub(in crate::oci) version: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct RawManifest {
    schema_version: u64,
    media_type: Option<String>,
    config: Option<RawDescriptor>,
    layers: Option<Vec<RawDescriptor>>,
    manifests: Option<serde_json::Value>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(in crate::oci) struct RawDescriptor {
    media_type: String,
    digest: String,
    size: u64,
}

impl ChartManifest {
    /// Parses a chart's manifest. `Err` is the reason why it is invalid.
    pub(in crate::oci) fn parse(bytes: Vec<u8>) -> Result<Self, String> {
        let digest = Digest::from_sha256(&sha2::Sha256::digest(&bytes).into());
        let manifest: RawManifest =
            serde_json::from_slice(&bytes).map_err(|error| format!("its manifest is not one: {error}"))?;
        if manifest.manifests.is_some() {
            return Err("it is an index of several manifests".to_owned());
        }
        let known = [None, Some(Artifact::MANIFEST_TYPE)];
        if manifest.schema_version != 2 || !known.contains(&manifest.media_type.as_deref()) {
            let kind = manifest.media_type.unwrap_or_default();
            return Err(format!(
                "its manifest is of another kind: version {}, {kind:?}",
                manifest.schema_version
            ));
        }
        let config = manifest.config.ok_or("its manifest has no config")?;
        if config.media_type != Artifact::CONFIG_TYPE {
            return Err(format!("its config is of the type {:?}", config.media_type));
        }
        let layers = manifest.layers.unwrap_or_default();
        if layers.len() > MAX_LAYERS {
            return Err(format!("its manifest has more than {MAX_LAYERS} layers"));
        }
        let config = Descriptor::of(config, MAX_SMALL)?;
        let layers = layers
            .into_iter()
            .map(|entry| {
                let limit = if entry.media_type == Artifact::PROVENANCE_TYPE {
                    MAX_SMALL
                } else {
                    MAX_LAYER
                };
                Descriptor::of(entry, limit)
            })
            .collect::<Result<_, _>>()?;
        Ok(Self {
            bytes,
            digest,
            config,
            layers,
        })
    }

    /// The archive.
    pub(in crate::oci) fn layer(&self) -> Result<&Descriptor, String> {
        let archive =
            |layer: &&Descriptor| [Artifact::LAYER_TYPE, OLD_LAYER_TYPE].contains(&layer.media_type.as_str());
        self.layers
            .iter()
            .find(archive)
            .ok_or_else(|| "its manifest has no chart archive".to_owned())
    }

    /// The provenance file.
    pub(in crate::oci) fn provenance(&self) -> Option<&Descriptor> {
        self.layers
            .iter()
            .find(|layer| layer.media_type == Artifact::PROVENANCE_TYPE)
    }
}

/// An image manifest of any kind.
pub(in crate::oci) struct AnyManifest {
    pub(in crate::oci) media_type: Option<String>,
    /// Its artifact type, or else the media type of its config.
    pub(in crate::oci) kind: String,
    /// Config and layers.
    pub(in crate::oci) blobs: Vec<Descriptor>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct RawAnyManifest {
    media_type: Option<String>,
    artifact_type: Option<String>,
    config: Option<RawDescriptor>,
    #[serde(default)]
    layers: Vec<RawDescriptor>,
    manifests: Option<serde_json::Value>,
}

impl AnyManifest {
    /// Parses a manifest whose blobs have at most `limit` bytes. `Err` is the reason why it is invalid.
    pub(in crate::oci) fn parse(bytes: &[u8], limit: u64) -> Result<Self, String> {
        let manifest: RawAnyManifest =
            serde_json::from_slice(bytes).map_err(|error| format!("it is not a manifest: {error}"))?;
        if manifest.manifests.is_some() || manifest.media_type.as_deref() == Some(INDEX_TYPE) {
            return Err("it is an index of several manifests".to_owned());
        }
        let config = manifest.config.ok_or("its manifest has no config")?;
        let kind = manifest
            .artifact_type
            .unwrap_or_else(|| config.media_type.clone());
        let blobs = std::iter::once(config).chain(manifest.layers);
        Ok(Self {
            media_type: manifest.media_type,
            kind,
            blobs: blobs
                .map(|entry| Descriptor::of(entry, limit))
                .collect::<Result<_, _>>()?,
        })
    }
}

impl Descriptor {
    pub(in crate::oci) fn of(entry: RawDescriptor, limit: u64) -> Result<Self, String> {
        let RawDescriptor {
            media_type,
            digest,
            size,
        } = entry;
        if size > limit {
            return Err(format!("a blob of its has {size} bytes, and {limit} is the most"));
        }
        let digest = digest
            .parse()
            .map_err(|error| format!("a blob of its: {error}"))?;
        Ok(Self {
            media_type,
            digest,
            size,
        })
    }
}

impl NamedDescriptor {
    /// Parses a config blob; name and version become file names, so they must be plain.
    pub(in crate::oci) fn parse(bytes: &[u8]) -> Result<Self, String> {
        let named: Self =
            serde_json::from_slice(bytes).map_err(|error| format!("its config is not a chart's: {error}"))?;
        let plain = |text: &str| {
            !text.is_empty()
                && !text.starts_with('.')
                && text.len() <= 250
                && !text.contains(['/', '\\'])
                && !text.chars().any(char::is_control)
        };
        if plain(&named.name) && plain(&named.version) {
            Ok(named)
        } else {
            Err(format!(
                "its name {:?} and version {:?} make no file name",
                named.name, named.version
            ))
        }
    }
}
