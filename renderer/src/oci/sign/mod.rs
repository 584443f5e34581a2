//! Signatures of charts, in cosign's formats, with a key pair in cosign's format.
//!
//! In: a manifest's digest (a tag is resolved once) and a key. The digest is signed; verification checks all signatures
//! that refer to it, and one valid signature is enough. Transparency logs and certificates are not used.

use std::sync::Arc;

use serde_json::json;

use self::signature_lookup::LookupFindings;
pub(super) use self::signature_lookup::{Shelf, check};
use crate::diag::{Class, Diagnostic, Result};
use crate::oci::client::referrers::{Referring, digest_of, suffixed};
use crate::oci::client::{AccessScope, Client};
use crate::oci::error::ClientError;
use crate::oci::failure::Failure;
use crate::oci::pull::chart_source::ChartSource;
use crate::oci::{ClientOptions, Progress};
use crate::package::artifact::Artifact;
use crate::reference::{ArtifactStore, At, Digest, Locator, Repository};
use crate::report::Outcome;
pub use crate::signing_key::{KeyError, MAX_KEY_FILE, NewPair, SigningKey, VerifyingKey};
use crate::world::World;

pub mod files;
pub(in crate::oci) mod formats;
mod signature_lookup;

const EMPTY_TYPE: &str = "application/vnd.oci.empty.v1+json";
const IMAGE_CONFIG: &str = "application/vnd.oci.image.config.v1+json";
/// The format of a signature.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum SignatureFormat {
    /// Sigstore's bundle as a referrer of the chart, as in cosign 3.
    #[default]
    Bundle,
    /// A payload and its signature under the tag `sha256-<hex>.sig`, as in cosign 1 and 2.
    Simple,
}

/// The key and format for signing.
#[derive(Debug, Clone)]
pub struct CosignSigner {
    /// The key.
    pub key: Arc<SigningKey>,
    /// The format.
    pub form: SignatureFormat,
}

/// The result of signing or verifying.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Subjected {
    /// The reference, with the requested tag or digest.
    pub reference: String,
    /// The manifest's digest, which is signed.
    pub digest: Digest,
    /// The manifest's size in bytes.
    pub size: u64,
    /// `signed`, `unchanged` (this key signed it before), or `verified`.
    pub outcome: Outcome,
}

/// Signs a chart in its registry. Blocks until it is done.
///
/// # Errors
/// No chart, or not the expected one; a registry that is unreachable, or refuses the request.
pub fn sign(
    locator: &Locator,
    signer: &CosignSigner,
    expected: Option<&Digest>,
    client: &ClientOptions,
    world: &dyn World,
    progress: &dyn Progress,
) -> Result<Subjected> {
    let (repository, at) = (repository_of(locator)?, named(locator)?);
    let runtime = crate::oci::runtime().map_err(Failure::from)?;
    let result = runtime.block_on(async {
        let client = Client::new(AccessScope::Write(repository, None), client, world, progress)?;
        // The tag is only resolved here.
        let bytes = client.manifest(&at).await?;
        let mut subjected = subjected(locator, &at, &bytes, expected)?;
        let subject = SignTarget {
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

/// Verifies that a chart in a registry or a layout is signed by the key. Blocks until it is done.
///
/// # Errors
/// As [`sign`]; class [`Class::Signature`] if no signature is valid.
pub fn verify(
    locator: &Locator,
    key: &VerifyingKey,
    expected: Option<&Digest>,
    client: &ClientOptions,
    world: &dyn World,
    progress: &dyn Progress,
) -> Result<Subjected> {
    let at = named(locator)?;
    let runtime = crate::oci::runtime().map_err(Failure::from)?;
    let result = runtime.block_on(async {
        let origin = ChartSource::open(&locator.place, client, world, progress)?;
        let bytes = origin.manifest(&at).await?;
        let subjected = subjected(locator, &at, &bytes, expected)?;
        check(Shelf::from(&origin), &subjected.reference, &subjected.digest, key).await?;
        Ok(subjected)
    });
    runtime.shutdown_background();
    result.map_err(|failure: Failure| failure.into())
}

/// Requires a tag or a digest.
fn named(locator: &Locator) -> Result<At> {
    locator.at().ok_or_else(|| {
        let one = Diagnostic::error(
            Class::Usage,
            format!("which chart of {} is meant?", locator.place),
        );
        let hint = match locator.place {
            ArtifactStore::Registry(_) => "name a tag, or better a digest: `oci://…@sha256:…`",
            ArtifactStore::Layout(_) => "name a tag, or better a digest: `oci-layout:DIR@sha256:…`",
        };
        one.hint(hint).into()
    })
}

fn repository_of(locator: &Locator) -> Result<&Repository> {
    match &locator.place {
        ArtifactStore::Layout(_) => {
            let words = "signatures are made in registries, not in layouts";
            let one = Diagnostic::error(Class::Usage, words);
            Err(one
                .hint("sign the chart in a registry; `copy --referrers` takes the signature along")
                .into())
        }
        ArtifactStore::Registry(repository) => Ok(repository),
    }
}

/// Describes a manifest, which must have the expected digest.
fn subjected(
    locator: &Locator,
    at: &At,
    bytes: &[u8],
    expected: Option<&Digest>,
) -> std::result::Result<Subjected, Failure> {
    let reference = locator.place.with(at);
    let digest = digest_of(bytes);
    match expected {
        Some(expected) if *expected != digest => Err(Failure::Unexpected {
            reference,
            expected: expected.clone(),
            found: digest,
        }),
        _ => Ok(Subjected {
            reference,
            digest,
            size: bytes.len() as u64,
            outcome: Outcome::Verified,
        }),
    }
}

/// A manifest to sign.
pub(super) struct SignTarget<'a> {
    pub(super) repository: &'a Repository,
    pub(super) digest: &'a Digest,
    pub(super) manifest: &'a [u8],
}

impl SignTarget<'_> {
    /// Signs it, unless it has a signature of this key in this format.
    pub(super) async fn sign(
        &self,
        client: &Client<'_>,
        signer: &CosignSigner,
    ) -> std::result::Result<Outcome, Failure> {
        let public = signer.key.public();
        let mut found = LookupFindings::new(Shelf::Registry(client), self.digest, public);
        match signer.form {
            SignatureFormat::Bundle => found.read_bundles().await?,
            SignatureFormat::Simple => found.read_simple().await?,
        }
        if found.good {
            return Ok(Outcome::Unchanged);
        }
        match signer.form {
            SignatureFormat::Bundle => self.put_bundle(client, &signer.key).await?,
            SignatureFormat::Simple => self.put_simple(client, &signer.key).await?,
        }
        Ok(Outcome::Signed)
    }

    async fn put_bundle(&self, client: &Client<'_>, key: &SigningKey) -> std::result::Result<(), Failure> {
        let bundle = formats::bundle(self.digest, key).map_err(Failure::Key)?;
        let config = client.put_blob(EMPTY_TYPE, b"{}").await?;
        let layer = client.put_blob(formats::BUNDLE_TYPE, &bundle).await?;
        let kind: serde_json::Value = serde_json::from_slice(self.manifest).unwrap_or_default();
        let kind = kind.get("mediaType").and_then(serde_json::Value::as_str);
        let manifest = json!({
            "schemaVersion": 2,
            "mediaType": Artifact::MANIFEST_TYPE,
            "artifactType": formats::BUNDLE_TYPE,
            "config": { "mediaType": EMPTY_TYPE, "digest": config.as_str(), "size": 2 },
            "layers": [{ "mediaType": formats::BUNDLE_TYPE, "digest": layer.as_str(), "size": bundle.len() }],
            "subject": {
                "mediaType": kind.unwrap_or(Artifact::MANIFEST_TYPE),
                "digest": self.digest.as_str(),
                "size": self.manifest.len(),
            },
            "annotations": {
                "dev.sigstore.bundle.content": "dsse-envelope",
                "dev.sigstore.bundle.predicateType": formats::PREDICATE,
            },
        })
        .to_string()
        .into_bytes();
        let referring = Referring {
            digest: &digest_of(&manifest),
            bytes: &manifest,
            artifact_type: formats::BUNDLE_TYPE,
            subject: self.digest,
        };
        Ok(client.refer(&referring).await?)
    }

    /// Adds a simple signature to the existing ones.
    async fn put_simple(&self, client: &Client<'_>, key: &SigningKey) -> std::result::Result<(), Failure> {
        let name = self.repository.to_string();
        let (payload, signature) = formats::simple(self.digest, &name, key).map_err(Failure::Key)?;
        let payload_digest = client.put_blob(formats::SIMPLE_TYPE, &payload).await?;
        let tag = suffixed(self.digest, ".sig")?;
        let layer = json!({
            "mediaType": formats::SIMPLE_TYPE,
            "digest": payload_digest.as_str(),
            "size": payload.len(),
            "annotations": { formats::SIMPLE_SIGNATURE: signature },
        });
        client
            .change_tag(&tag, Artifact::MANIFEST_TYPE, async |found| {
                with_simple(client, found, &layer).await
            })
            .await?;
        Ok(())
    }
}

/// Adds the entries of another manifest of simple signatures to the one under a tag.
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

/// The manifest of simple signatures with one more entry; `None` if it has it already.
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
