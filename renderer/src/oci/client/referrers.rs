//! Referrers of a manifest: the referrers API of the OCI distribution specification 1.1, and the fallback tag
//! `sha256-<hex>` for registries without it.

use http::Method;
use serde_json::{Map, Value, json};

use crate::oci::client::Client;
use crate::oci::client::exchange::{Call, RequestFailure};
use crate::oci::client::image::Descriptor;
use crate::oci::client::retry::Cause;
use crate::oci::error::ClientError;
use crate::package::artifact::{Artifact, ArtifactBlob, BlobContent};
use crate::reference::{At, Digest, Tag};

const INDEX_TYPE: &str = "application/vnd.oci.image.index.v1+json";
/// The maximum size of a page of the list, in bytes: that of a manifest, since the fallback tag is one.
const MAX_PAGE: usize = 4 << 20;
/// The error code for a manifest whose blobs are missing.
const BLOB_UNSEEN: &str = "MANIFEST_BLOB_UNKNOWN";
/// The maximum number of pages.
const MAX_PAGES: usize = 100;

/// A manifest that refers to another one.
#[derive(Debug, Clone)]
pub(in crate::oci) struct Referrer {
    pub(in crate::oci) artifact_type: Option<String>,
    pub(in crate::oci) digest: Digest,
}

/// A manifest with a subject that is pushed.
pub(in crate::oci) struct Referring<'a> {
    pub(in crate::oci) bytes: &'a [u8],
    pub(in crate::oci) digest: &'a Digest,
    pub(in crate::oci) artifact_type: &'a str,
    pub(in crate::oci) subject: &'a Digest,
}

impl Client<'_> {
    /// All referrers of a manifest, from the API, or from the fallback tag if the API returns none.
    pub(in crate::oci) async fn referrers(&self, subject: &Digest) -> Result<Vec<Referrer>, ClientError> {
        match self.referrers_by_api(subject).await? {
            Some(list) if !list.is_empty() => Ok(list),
            _ => {
                let index = self.index_at(&tag_of(subject)?).await?;
                Ok(index.map_or_else(Vec::new, |index| entries(&index)))
            }
        }
    }

    /// `None` if the registry does not have the API.
    async fn referrers_by_api(&self, subject: &Digest) -> Result<Option<Vec<Referrer>>, ClientError> {
        let mut url = self.url(&format!("referrers/{subject}"))?;
        let mut all = Vec::new();
        for _ in 0..MAX_PAGES {
            let page = self
                .persistently(async || {
                    let mut call = Call::new(Method::GET, url.clone());
                    call.accept = Some(INDEX_TYPE);
                    let reply = self.exchange(&call).await?;
                    match reply.status {
                        200 if reply
                            .header("content-type")
                            .is_some_and(|kind| kind.starts_with(INDEX_TYPE)) => {}
                        200 | 400 | 404 | 405 | 406 | 410 | 501 => return Ok(None),
                        _ => return Err(self.unexpected(reply, "200").await),
                    }
                    let next = self.next_page(&reply)?;
                    let action = reply.action();
                    let body = self.transport.body(reply, MAX_PAGE).await?;
                    let index =
                        parse_index(&body).map_err(|message| ClientError::Protocol { action, message })?;
                    Ok(Some((entries(&index), next)))
                })
                .await?;
            let Some((list, next)) = page else { return Ok(None) };
            all.extend(list);
            match next {
                Some(next) => url = next,
                None => return Ok(Some(all)),
            }
        }
        Err(ClientError::Protocol {
            action: Call::new(Method::GET, url).action(),
            message: format!("the list of referrers has more than {MAX_PAGES} pages"),
        })
    }

    /// Puts a manifest that refers to another one, and makes sure that it is listed as a referrer.
    pub(in crate::oci) async fn refer(&self, referring: &Referring<'_>) -> Result<(), ClientError> {
        let at = At::Digest(referring.digest.clone());
        let known = self
            .put(&at, Artifact::MANIFEST_TYPE, referring.bytes, referring.digest)
            .await?;
        if known {
            return Ok(());
        }
        let tag = tag_of(referring.subject)?;
        self.change_tag(&tag, INDEX_TYPE, async |found| {
            let index = found.map(|bytes| read_index(&tag, &bytes)).transpose()?;
            Ok(with_entry(index.unwrap_or_else(empty_index), referring))
        })
        .await
    }

    async fn index_at(&self, tag: &Tag) -> Result<Option<Map<String, Value>>, ClientError> {
        let Some(bytes) = self.find_manifest(&At::Tag(tag.clone())).await? else {
            return Ok(None);
        };
        read_index(tag, &bytes).map(Some)
    }

    /// A manifest, or `None` if it doesn't exist.
    pub(in crate::oci) async fn find_manifest(&self, at: &At) -> Result<Option<Vec<u8>>, ClientError> {
        match self.manifest(at).await {
            Ok(bytes) => Ok(Some(bytes)),
            Err(ClientError::Status { status: 404, .. }) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// A small blob, with size and digest checked.
    pub(in crate::oci) async fn small_blob(
        &self,
        digest: &Digest,
        size: u64,
    ) -> Result<Vec<u8>, ClientError> {
        let wanted = Descriptor {
            media_type: String::new(),
            digest: digest.clone(),
            size,
        };
        self.blob(&wanted, || Ok(Vec::new())).await
    }

    /// Uploads a small blob unless it exists.
    pub(in crate::oci) async fn put_blob(
        &self,
        media_type: &'static str,
        bytes: &[u8],
    ) -> Result<Digest, ClientError> {
        let blob = ArtifactBlob {
            media_type,
            digest: digest_of(bytes),
            size: bytes.len() as u64,
            content: BlobContent::Memory(bytes.into()),
        };
        if !self.has_blob(&blob).await? {
            self.upload(&blob).await?;
        }
        Ok(blob.digest)
    }
}

pub(in crate::oci) fn digest_of(bytes: &[u8]) -> Digest {
    use sha2::Digest as _;
    Digest::from_sha256(&sha2::Sha256::digest(bytes).into())
}

fn tag_of(subject: &Digest) -> Result<Tag, ClientError> {
    suffixed(subject, "")
}

/// `sha256-<hex><suffix>`
pub(in crate::oci) fn suffixed(subject: &Digest, suffix: &str) -> Result<Tag, ClientError> {
    format!("sha256-{}{suffix}", subject.hex())
        .parse()
        .map_err(|error: crate::reference::ReferenceError| ClientError::Setup(error.to_string()))
}

fn empty_index() -> Map<String, Value> {
    Map::from_iter([
        ("schemaVersion".to_owned(), json!(2)),
        ("mediaType".to_owned(), json!(INDEX_TYPE)),
    ])
}

/// The index with one more entry; `None` if it has it already.
fn with_entry(mut index: Map<String, Value>, referring: &Referring<'_>) -> Option<Vec<u8>> {
    if entries(&index)
        .iter()
        .any(|entry| entry.digest == *referring.digest)
    {
        return None;
    }
    let entry = json!({
        "mediaType": Artifact::MANIFEST_TYPE,
        "digest": referring.digest.as_str(),
        "size": referring.bytes.len(),
        "artifactType": referring.artifact_type,
    });
    let list = index.entry("manifests").or_insert(Value::Null);
    match list {
        Value::Array(list) => list.push(entry),
        other => *other = json!([entry]),
    }
    Some(Value::Object(index).to_string().into_bytes())
}

fn read_index(tag: &Tag, bytes: &[u8]) -> Result<Map<String, Value>, ClientError> {
    parse_index(bytes).map_err(|message| ClientError::Protocol {
        action: format!("GET {tag}"),
        message,
    })
}

fn parse_index(bytes: &[u8]) -> Result<Map<String, Value>, String> {
    let index: Map<String, Value> = serde_json::from_slice(bytes)
        .map_err(|error| format!("the list of referrers is not JSON: {error}"))?;
    match index.get("manifests") {
        None | Some(Value::Null | Value::Array(_)) => Ok(index),
        Some(_) => Err("the list of referrers is not an index".to_owned()),
    }
}

/// Malformed entries are skipped.
fn entries(index: &Map<String, Value>) -> Vec<Referrer> {
    let list = index.get("manifests").and_then(Value::as_array);
    let text = |entry: &Value, name: &str| entry.get(name).and_then(Value::as_str).map(str::to_owned);
    list.into_iter()
        .flatten()
        .filter_map(|entry| {
            Some(Referrer {
                artifact_type: text(entry, "artifactType"),
                digest: text(entry, "digest")?.parse().ok()?,
            })
        })
        .collect()
}

impl Client<'_> {
    /// Puts a manifest, byte for byte; returns whether the registry reports that it processed the subject.
    pub(in crate::oci) async fn put(
        &self,
        at: &At,
        media_type: &'static str,
        bytes: &[u8],
        digest: &Digest,
    ) -> Result<bool, ClientError> {
        let url = self.url(&format!("manifests/{at}"))?;
        let bytes = bytes::Bytes::copy_from_slice(bytes);
        self.persistently(async || {
            let mut call = Call::new(Method::PUT, url.clone());
            call.content_type = Some(media_type);
            call.payload = crate::oci::client::exchange::Payload::Bytes(bytes.clone());
            let reply = self.exchange(&call).await?;
            if reply.status != 201 {
                let mut fault = self.unexpected(reply, "201").await;
                if fault.error.says(BLOB_UNSEEN) {
                    fault.cause = Some(Cause::BlobUnseen);
                }
                return Err(fault);
            }
            self.check_digest(&reply, digest)?;
            Ok::<_, RequestFailure>(reply.header("oci-subject").is_some())
        })
        .await
    }
}
