//! Signatures of charts in registries, in cosign's formats, with a key pair in cosign's format.
//!
//! In: a manifest's digest, which a tag is resolved to once, and a key. What is signed is the
//! digest; what is verified is everything that refers to it, and one good signature is enough.
//! Transparency logs and certificates are not used.

use std::sync::Arc;

use serde::Deserialize;
use serde_json::json;

pub use self::key::{KeyError, MAX_KEY_FILE, NewPair, SigningKey, VerifyingKey};
use super::client::{Client, Subject};
use super::error::ClientError;
use super::image::MAX_SMALL;
use super::policy::Failure;
use super::referrers::{Referrer, Referring, digest_of, suffixed};
use super::{ClientOptions, Progress};
use crate::diag::{Class, Diagnostic, Result};
use crate::package::artifact::Artifact;
use crate::reference::{At, Digest, Locator, Place, Repository};
use crate::report::Outcome;
use crate::world::World;

mod form;
mod key;

const EMPTY_TYPE: &str = "application/vnd.oci.empty.v1+json";
const IMAGE_CONFIG: &str = "application/vnd.oci.image.config.v1+json";
/// The most bundles, and the most simple signatures, that are looked at.
const MAX_SIGNATURES: usize = 100;
/// The most reasons that are told.
const MAX_REASONS: usize = 5;

/// The form of a signature.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Form {
    /// Sigstore's bundle, which refers to the chart: cosign 3's.
    #[default]
    Bundle,
    /// A payload and its signature at the tag `sha256-<hex>.sig`: cosign 1's and 2's.
    Simple,
}

/// Who signs, and how.
#[derive(Debug, Clone)]
pub struct Signer {
    /// The key.
    pub key: Arc<SigningKey>,
    /// The form.
    pub form: Form,
}

/// What was signed or verified.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Subjected {
    /// Where, with the tag or digest that was asked for.
    pub reference: String,
    /// The manifest's digest: what the signature is about.
    pub digest: Digest,
    /// The manifest's size in bytes.
    pub size: u64,
    /// `signed`, `unchanged` (this key signed it before), or `verified`.
    pub outcome: Outcome,
}

/// A manifest of signatures, as far as they are looked for in it.
#[derive(Deserialize)]
struct Manifest {
    #[serde(default)]
    layers: Vec<Layer>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Layer {
    media_type: String,
    digest: String,
    size: u64,
    #[serde(default)]
    annotations: Option<std::collections::BTreeMap<String, String>>,
}

/// Signs a chart in its registry. Blocks until it is done.
///
/// # Errors
/// No chart there, or not the expected one; a registry that is not reached, or refuses.
pub fn sign(
    locator: &Locator,
    signer: &Signer,
    expected: Option<&Digest>,
    client: &ClientOptions,
    world: &dyn World,
    progress: &dyn Progress,
) -> Result<Subjected> {
    let repository = repository_of(locator)?;
    let runtime = super::runtime().map_err(Failure::from)?;
    let result = runtime.block_on(async {
        let client = Client::new(Subject::Write(repository, None), client, world, progress)?;
        let (mut subjected, bytes) = resolve(&client, locator, expected).await?;
        let subject = Target {
            repository,
            digest: &subjected.digest,
            manifest: &bytes,
        };
        subjected.outcome = subject.sign(&client, signer).await?;
        Ok(subjected)
    });
    runtime.shutdown_background();
    result.map_err(|failure: Failure| failure.into())
}

/// Verifies that a chart in a registry is signed by the key. Blocks until it is done.
///
/// # Errors
/// As [`sign`]; class [`Class::Signature`] when no signature is good.
pub fn verify(
    locator: &Locator,
    key: &VerifyingKey,
    expected: Option<&Digest>,
    client: &ClientOptions,
    world: &dyn World,
    progress: &dyn Progress,
) -> Result<Subjected> {
    let repository = repository_of(locator)?;
    let runtime = super::runtime().map_err(Failure::from)?;
    let result = runtime.block_on(async {
        let client = Client::new(Subject::Read(repository), client, world, progress)?;
        let (subjected, _) = resolve(&client, locator, expected).await?;
        check(&client, &subjected.reference, &subjected.digest, key).await?;
        Ok(subjected)
    });
    runtime.shutdown_background();
    result.map_err(|failure: Failure| failure.into())
}

fn repository_of(locator: &Locator) -> Result<&Repository> {
    match &locator.place {
        Place::Layout(_) => {
            let words = "signatures are made and verified in registries, not in layouts";
            let one = Diagnostic::error(Class::Usage, words);
            Err(one
                .hint("copy the chart to a registry first; `copy --referrers` takes its signatures along")
                .into())
        }
        Place::Registry(place) if locator.at().is_none() => {
            let one = Diagnostic::error(Class::Usage, format!("which chart of {place} is meant?"));
            Err(one
                .hint("name a tag, or better a digest: `oci://…@sha256:…`")
                .into())
        }
        Place::Registry(repository) => Ok(repository),
    }
}

/// The one time that a tag is read.
async fn resolve(
    client: &Client<'_>,
    locator: &Locator,
    expected: Option<&Digest>,
) -> std::result::Result<(Subjected, Vec<u8>), Failure> {
    let missing = || ClientError::Setup(format!("{} names no chart", locator.place));
    let at = locator.at().ok_or_else(missing)?;
    let reference = locator.place.with(&at);
    let bytes = client.manifest(&at).await?;
    let digest = digest_of(&bytes);
    if let Some(expected) = expected
        && *expected != digest
    {
        return Err(Failure::Unexpected {
            reference,
            expected: expected.clone(),
            found: digest,
        });
    }
    let size = bytes.len() as u64;
    let outcome = Outcome::Verified;
    Ok((
        Subjected {
            reference,
            digest,
            size,
            outcome,
        },
        bytes,
    ))
}

/// A manifest to be signed.
pub(super) struct Target<'a> {
    pub(super) repository: &'a Repository,
    pub(super) digest: &'a Digest,
    pub(super) manifest: &'a [u8],
}

impl Target<'_> {
    /// Signs it, unless this key has done so in this form.
    pub(super) async fn sign(
        &self,
        client: &Client<'_>,
        signer: &Signer,
    ) -> std::result::Result<Outcome, Failure> {
        let public = signer.key.public();
        let mut found = Found::new(client, self.digest, &public);
        match signer.form {
            Form::Bundle => found.look_at_bundles().await?,
            Form::Simple => found.look_at_simple().await?,
        }
        if found.good {
            return Ok(Outcome::Unchanged);
        }
        match signer.form {
            Form::Bundle => self.put_bundle(client, &signer.key).await?,
            Form::Simple => self.put_simple(client, &signer.key).await?,
        }
        Ok(Outcome::Signed)
    }

    async fn put_bundle(&self, client: &Client<'_>, key: &SigningKey) -> std::result::Result<(), Failure> {
        let bundle = form::bundle(self.digest, key).map_err(Failure::Key)?;
        let config = client.put_blob(EMPTY_TYPE, b"{}").await?;
        let layer = client.put_blob(form::BUNDLE_TYPE, &bundle).await?;
        let kind: serde_json::Value = serde_json::from_slice(self.manifest).unwrap_or_default();
        let kind = kind.get("mediaType").and_then(serde_json::Value::as_str);
        let manifest = json!({
            "schemaVersion": 2,
            "mediaType": Artifact::MANIFEST_TYPE,
            "artifactType": form::BUNDLE_TYPE,
            "config": { "mediaType": EMPTY_TYPE, "digest": config.as_str(), "size": 2 },
            "layers": [{ "mediaType": form::BUNDLE_TYPE, "digest": layer.as_str(), "size": bundle.len() }],
            "subject": {
                "mediaType": kind.unwrap_or(Artifact::MANIFEST_TYPE),
                "digest": self.digest.as_str(),
                "size": self.manifest.len(),
            },
            "annotations": {
                "dev.sigstore.bundle.content": "dsse-envelope",
                "dev.sigstore.bundle.predicateType": form::PREDICATE,
            },
        })
        .to_string()
        .into_bytes();
        let referring = Referring {
            digest: &digest_of(&manifest),
            bytes: &manifest,
            artifact_type: form::BUNDLE_TYPE,
            subject: self.digest,
        };
        Ok(client.refer(&referring).await?)
    }

    /// Beside the signatures that are there.
    async fn put_simple(&self, client: &Client<'_>, key: &SigningKey) -> std::result::Result<(), Failure> {
        let name = self.repository.to_string();
        let (payload, signature) = form::simple(self.digest, &name, key).map_err(Failure::Key)?;
        let payload_digest = client.put_blob(form::SIMPLE_TYPE, &payload).await?;
        let tag = suffixed(self.digest, ".sig")?;
        let layer = json!({
            "mediaType": form::SIMPLE_TYPE,
            "digest": payload_digest.as_str(),
            "size": payload.len(),
            "annotations": { form::SIMPLE_SIGNATURE: signature },
        });
        client
            .change_tag(&tag, Artifact::MANIFEST_TYPE, async |found| {
                with_simple(client, found, &layer).await
            })
            .await?;
        Ok(())
    }
}

/// Adds what another manifest of simple signatures has to the one at a tag.
pub(super) async fn add_simple(
    client: &Client<'_>,
    tag: &crate::reference::Tag,
    manifest: &[u8],
) -> std::result::Result<(), ClientError> {
    let manifest: serde_json::Value = serde_json::from_slice(manifest).unwrap_or_default();
    let layers = manifest.get("layers").and_then(serde_json::Value::as_array);
    for layer in layers.into_iter().flatten() {
        client
            .change_tag(tag, Artifact::MANIFEST_TYPE, async |found| {
                with_simple(client, found, layer).await
            })
            .await?;
    }
    Ok(())
}

/// The manifest of simple signatures with one more in it; `None` when it has it.
async fn with_simple(
    client: &Client<'_>,
    found: Option<Vec<u8>>,
    layer: &serde_json::Value,
) -> std::result::Result<Option<Vec<u8>>, ClientError> {
    let manifest: serde_json::Value = found.map_or_else(Default::default, |bytes| {
        serde_json::from_slice(&bytes).unwrap_or_default()
    });
    let mut layers = manifest
        .get("layers")
        .and_then(serde_json::Value::as_array)
        .cloned()
        .unwrap_or_default();
    if layers.contains(layer) {
        return Ok(None);
    }
    layers.push(layer.clone());
    let ids: Vec<&serde_json::Value> = layers.iter().filter_map(|layer| layer.get("digest")).collect();
    let config = json!({
        "architecture": "",
        "os": "",
        "config": {},
        "rootfs": { "type": "layers", "diff_ids": ids },
    })
    .to_string();
    let config_digest = client.put_blob(IMAGE_CONFIG, config.as_bytes()).await?;
    let manifest = json!({
        "schemaVersion": 2,
        "mediaType": Artifact::MANIFEST_TYPE,
        "config": { "mediaType": IMAGE_CONFIG, "digest": config_digest.as_str(), "size": config.len() },
        "layers": layers,
    });
    Ok(Some(manifest.to_string().into_bytes()))
}

/// Fails unless one signature is good.
pub(super) async fn check(
    client: &Client<'_>,
    reference: &str,
    digest: &Digest,
    key: &VerifyingKey,
) -> std::result::Result<(), Failure> {
    let mut found = Found::new(client, digest, key);
    found.look_at_bundles().await?;
    if !found.good {
        found.look_at_simple().await?;
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

/// What was found while looking for a good signature.
struct Found<'a> {
    client: &'a Client<'a>,
    digest: &'a Digest,
    key: &'a VerifyingKey,
    good: bool,
    /// Why those that are there are not good.
    reasons: Vec<String>,
}

impl<'a> Found<'a> {
    fn new(client: &'a Client<'a>, digest: &'a Digest, key: &'a VerifyingKey) -> Self {
        Self {
            client,
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

    async fn look_at_bundles(&mut self) -> std::result::Result<(), Failure> {
        let may_be = |one: &Referrer| {
            one.artifact_type
                .as_ref()
                .is_none_or(|kind| kind.starts_with(form::BUNDLE_PREFIX))
        };
        let list = self.client.referrers(self.digest).await?;
        for referrer in list.iter().filter(|one| may_be(one)).take(MAX_SIGNATURES) {
            let at = At::Digest(referrer.digest.clone());
            let Some(bytes) = self.client.find_manifest(&at).await? else {
                continue;
            };
            let is_bundle = |layer: &&Layer| layer.media_type.starts_with(form::BUNDLE_PREFIX);
            if let Some(layer) = layers(&bytes).iter().find(is_bundle) {
                let result = match self.content(layer).await? {
                    Ok(bundle) => form::check_bundle(&bundle, self.digest, self.key),
                    Err(reason) => Err(reason),
                };
                self.note(&format!("the bundle {}", referrer.digest), result);
            }
            if self.good {
                break;
            }
        }
        Ok(())
    }

    async fn look_at_simple(&mut self) -> std::result::Result<(), Failure> {
        let tag = suffixed(self.digest, ".sig")?;
        let Some(bytes) = self.client.find_manifest(&At::Tag(tag.clone())).await? else {
            return Ok(());
        };
        for layer in layers(&bytes).iter().take(MAX_SIGNATURES) {
            let annotations = layer.annotations.as_ref();
            let signature = annotations.and_then(|all| all.get(form::SIMPLE_SIGNATURE));
            let Some(signature) = signature.filter(|_| layer.media_type == form::SIMPLE_TYPE) else {
                continue;
            };
            let result = match self.content(layer).await? {
                Ok(payload) => form::check_simple(&payload, signature, self.digest, self.key),
                Err(reason) => Err(reason),
            };
            self.note(&format!("a signature at {tag}"), result);
            if self.good {
                break;
            }
        }
        Ok(())
    }

    /// A layer's bytes; the inner error when it can't be a signature.
    async fn content(
        &self,
        layer: &Layer,
    ) -> std::result::Result<std::result::Result<Vec<u8>, String>, Failure> {
        let Ok(digest) = layer.digest.parse() else {
            return Ok(Err("its layer has no digest".to_owned()));
        };
        if layer.size > MAX_SMALL {
            return Ok(Err(format!("it has {} bytes", layer.size)));
        }
        Ok(Ok(self.client.small_blob(&digest, layer.size).await?))
    }
}

/// What is no manifest has no signatures.
fn layers(bytes: &[u8]) -> Vec<Layer> {
    serde_json::from_slice(bytes).map_or_else(|_| Vec::new(), |manifest: Manifest| manifest.layers)
}
