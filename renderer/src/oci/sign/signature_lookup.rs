//! Looks up the signatures in a registry or layout, and checks whether one of them is valid.

use std::path::Path;

use serde::Deserialize;

use super::VerifyingKey;
use super::formats;
use crate::oci::client::Client;
use crate::oci::client::image::{Descriptor, MAX_SMALL};
use crate::oci::client::referrers::{Referrer, suffixed};
use crate::oci::failure::Failure;
use crate::oci::layout::LayoutError;
use crate::oci::layout::read as layout_read;
use crate::oci::pull::chart_source::ChartSource;
use crate::reference::{At, Digest};

/// The maximum number of bundles, and of simple signatures, that are read.
const MAX_SIGNATURES: usize = 100;
/// The maximum number of reasons in a message.
const MAX_REASONS: usize = 5;

/// The registry or layout with the signatures.
#[derive(Clone, Copy)]
pub(in crate::oci) enum Shelf<'a> {
    Registry(&'a Client<'a>),
    Layout(&'a Path),
}

/// The fields of a manifest of signatures that are read.
#[derive(Deserialize)]
struct SignatureManifest {
    #[serde(default)]
    layers: Vec<SignatureLayer>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct SignatureLayer {
    media_type: String,
    digest: String,
    size: u64,
    #[serde(default)]
    annotations: Option<std::collections::BTreeMap<String, String>>,
}

impl<'a> From<&'a ChartSource<'a>> for Shelf<'a> {
    fn from(origin: &'a ChartSource<'a>) -> Self {
        match origin {
            ChartSource::Registry(client) => Self::Registry(client),
            ChartSource::Layout(dir) => Self::Layout(dir),
        }
    }
}

impl Shelf<'_> {
    /// The referrers of a manifest that may be bundles.
    async fn referrers(self, subject: &Digest) -> std::result::Result<Vec<Digest>, Failure> {
        let may_be = |one: &Referrer| {
            one.artifact_type
                .as_ref()
                .is_none_or(|kind| kind.starts_with(formats::BUNDLE_PREFIX))
        };
        match self {
            Self::Registry(client) => {
                let list = client.referrers(subject).await?;
                Ok(list.into_iter().filter(may_be).map(|one| one.digest).collect())
            }
            Self::Layout(dir) => Ok(layout_read::referrers(dir, subject)?),
        }
    }

    /// A manifest, or `None` if it doesn't exist.
    async fn find_manifest(self, at: &At) -> std::result::Result<Option<Vec<u8>>, Failure> {
        match self {
            Self::Registry(client) => Ok(client.find_manifest(at).await?),
            Self::Layout(dir) => match layout_read::manifest(dir, at) {
                Ok(bytes) => Ok(Some(bytes)),
                Err(LayoutError::Missing { .. }) => Ok(None),
                Err(error) => Err(error.into()),
            },
        }
    }

    /// A small blob, with size and digest checked.
    async fn small_blob(self, digest: &Digest, size: u64) -> std::result::Result<Vec<u8>, Failure> {
        match self {
            Self::Registry(client) => Ok(client.small_blob(digest, size).await?),
            Self::Layout(dir) => {
                let wanted = Descriptor {
                    media_type: String::new(),
                    digest: digest.clone(),
                    size,
                };
                layout_read::blob(dir, &wanted, || Ok(Vec::new()))
            }
        }
    }
}

/// Fails unless one signature is valid.
pub(in crate::oci) async fn check(
    shelf: Shelf<'_>,
    reference: &str,
    digest: &Digest,
    key: &VerifyingKey,
) -> std::result::Result<(), Failure> {
    let mut found = LookupFindings::new(shelf, digest, key);
    found.read_bundles().await?;
    if !found.good {
        found.read_simple().await?;
    }
    if found.good {
        return Ok(());
    }
    Err(Failure::Unsigned {
        reference: reference.to_owned(),
        digest: digest.clone(),
        reasons: found.reasons,
    })
}

/// The result of searching for a valid signature.
pub(super) struct LookupFindings<'a> {
    shelf: Shelf<'a>,
    digest: &'a Digest,
    key: &'a VerifyingKey,
    pub(super) good: bool,
    /// Why the existing signatures are not valid.
    reasons: Vec<String>,
}

impl<'a> LookupFindings<'a> {
    pub(super) fn new(shelf: Shelf<'a>, digest: &'a Digest, key: &'a VerifyingKey) -> Self {
        Self {
            shelf,
            digest,
            key,
            good: false,
            reasons: Vec::new(),
        }
    }

    fn note(&mut self, place: &str, result: std::result::Result<(), String>) {
        match result {
            Ok(()) => self.good = true,
            Err(reason) if self.reasons.len() < MAX_REASONS => {
                self.reasons.push(format!("{place}: {reason}"))
            }
            Err(_) => {}
        }
    }

    pub(super) async fn read_bundles(&mut self) -> std::result::Result<(), Failure> {
        let list = self.shelf.referrers(self.digest).await?;
        for referrer in list.into_iter().take(MAX_SIGNATURES) {
            let at = At::Digest(referrer.clone());
            let Some(bytes) = self.shelf.find_manifest(&at).await? else {
                continue;
            };
            let is_bundle = |layer: &&SignatureLayer| layer.media_type.starts_with(formats::BUNDLE_PREFIX);
            if let Some(layer) = layers(&bytes).iter().find(is_bundle) {
                let result = match self.content(layer).await? {
                    Ok(bundle) => formats::check_bundle(&bundle, self.digest, self.key),
                    Err(reason) => Err(reason),
                };
                self.note(&format!("the bundle {referrer}"), result);
            }
            if self.good {
                break;
            }
        }
        Ok(())
    }

    pub(super) async fn read_simple(&mut self) -> std::result::Result<(), Failure> {
        let tag = suffixed(self.digest, ".sig")?;
        let Some(bytes) = self.shelf.find_manifest(&At::Tag(tag.clone())).await? else {
            return Ok(());
        };
        for layer in layers(&bytes).iter().take(MAX_SIGNATURES) {
            let annotations = layer.annotations.as_ref();
            let signature = annotations.and_then(|all| all.get(formats::SIMPLE_SIGNATURE));
            let Some(signature) = signature.filter(|_| layer.media_type == formats::SIMPLE_TYPE) else {
                continue;
            };
            let result = match self.content(layer).await? {
                Ok(payload) => formats::check_simple(&payload, signature, self.digest, self.key),
                Err(reason) => Err(reason),
            };
            self.note(&format!("a signature at {tag}"), result);
            if self.good {
                break;
            }
        }
        Ok(())
    }

    /// A layer's bytes; the inner error if it can't be a signature.
    async fn content(
        &self,
        layer: &SignatureLayer,
    ) -> std::result::Result<std::result::Result<Vec<u8>, String>, Failure> {
        let Ok(digest) = layer.digest.parse() else {
            return Ok(Err("its layer has no digest".to_owned()));
        };
        if layer.size > MAX_SMALL {
            return Ok(Err(format!("it has {} bytes", layer.size)));
        }
        Ok(Ok(self.shelf.small_blob(&digest, layer.size).await?))
    }
}

/// The layers of a manifest; none if it is malformed.
fn layers(bytes: &[u8]) -> Vec<SignatureLayer> {
    serde_json::from_slice(bytes).map_or_else(|_| Vec::new(), |manifest: SignatureManifest| manifest.layers)
}
