//! Resolves tags: with HEAD, and with GET where HEAD alone does not prove that it is a manifest.
//!
//! A status of 200 proves nothing: login pages, default backends of ingresses and captive portals answer every request
//! with it. A manifest has a manifest's media type, and a body of that type.

use http::Method;
use serde_json::{Map, Value};
use sha2::Digest as _;
use url::Url;

use crate::oci::client::exchange::{Call, Reply, RequestFailure};
use crate::oci::client::{Client, MAX_MANIFEST};
use crate::oci::error::ClientError;
use crate::reference::{At, Digest, Tag};

/// The Accept header: manifests of all kinds.
pub(in crate::oci) const ANY_MANIFEST: &str = "application/vnd.oci.image.manifest.v1+json, application/vnd.oci.image.index.v1+json, application/vnd.docker.distribution.manifest.v2+json, application/vnd.docker.distribution.manifest.list.v2+json";

/// The media types of manifests, requested or not.
const MANIFEST_TYPES: [&str; 7] = [
    "application/vnd.oci.image.manifest.v1+json",
    "application/vnd.oci.image.index.v1+json",
    "application/vnd.oci.artifact.manifest.v1+json",
    "application/vnd.docker.distribution.manifest.v2+json",
    "application/vnd.docker.distribution.manifest.list.v2+json",
    "application/vnd.docker.distribution.manifest.v1+json",
    "application/vnd.docker.distribution.manifest.v1+prettyjws",
];
/// The maximum length of a media type in messages, in characters.
const MAX_SHOWN_TYPE: usize = 80;

/// A manifest that was read.
#[derive(Debug, Clone)]
pub(in crate::oci) struct ManifestRead {
    /// The digest of the bytes.
    pub(in crate::oci) digest: Digest,
    /// The bytes as received.
    pub(in crate::oci) bytes: Vec<u8>,
    /// Its media type.
    pub(in crate::oci) media_type: &'static str,
}

impl Client<'_> {
    /// The digest of a tag, or `None` if the tag doesn't exist.
    pub(in crate::oci) async fn head_manifest(
        &self,
        tag: &Tag,
        ours: (&Digest, u64),
    ) -> Result<Option<Digest>, ClientError> {
        self.head(tag, Some(ours)).await
    }

    /// As [`Self::head_manifest`], for callers without an own digest.
    pub(in crate::oci) async fn digest_at(&self, tag: &Tag) -> Result<Option<Digest>, ClientError> {
        self.head(tag, None).await
    }

    /// Deletes a tag or a manifest; a missing one is a success.
    pub(in crate::oci) async fn delete_manifest(&self, at: &At) -> Result<(), ClientError> {
        let url = self.url(&format!("manifests/{at}"))?;
        self.persistently(async || {
            let reply = self.exchange(&Call::new(Method::DELETE, url.clone())).await?;
            match reply.status {
                200 | 202 | 204 | 404 | 410 => Ok(()),
                _ => Err(self.unexpected(reply, "202").await),
            }
        })
        .await
    }

    async fn head(&self, tag: &Tag, ours: Option<(&Digest, u64)>) -> Result<Option<Digest>, ClientError> {
        let url = self.url(&format!("manifests/{tag}"))?;
        self.persistently(async || {
            let mut call = Call::new(Method::HEAD, url.clone());
            call.accept = Some(ANY_MANIFEST);
            let reply = self.exchange(&call).await?;
            match reply.status {
                404 => return Ok(None),
                // Some gateways don't support HEAD.
                405 | 501 => return self.find_at(&url).await.map(|found| Some(found?.digest)),
                200 => {}
                _ => return Err(self.refuse(reply).await),
            }
            let is_manifest = media_type(&reply).is_some_and(|text| is_manifest_type(&text));
            match reply.header("docker-content-digest").map(str::parse::<Digest>) {
                Some(Ok(digest)) if is_manifest => {
                    check_length(&reply, &digest, ours)?;
                    Ok(Some(digest))
                }
                Some(Err(error)) if !is_sha512(&reply) => {
                    Err(reply.protocol(format!("Docker-Content-Digest: {error}")).into())
                }
                // No digest, one of another algorithm, or no media type of a manifest.
                _ => self.get_manifest(&url).await.map(|found| Some(found.digest)),
            }
        })
        .await
    }

    /// The manifest of a tag, or `None` if the tag doesn't exist.
    pub(in crate::oci) async fn read_manifest(&self, tag: &Tag) -> Result<Option<ManifestRead>, ClientError> {
        let url = self.url(&format!("manifests/{tag}"))?;
        self.persistently(async || self.find_at(&url).await).await
    }

    async fn find_at(&self, url: &Url) -> Result<Option<ManifestRead>, RequestFailure> {
        match self.get_manifest(url).await {
            Err(RequestFailure {
                error: ClientError::Status { status: 404, .. },
                ..
            }) => Ok(None),
            other => other.map(Some),
        }
    }

    async fn get_manifest(&self, url: &Url) -> Result<ManifestRead, RequestFailure> {
        let mut call = Call::new(Method::GET, url.clone());
        call.accept = Some(ANY_MANIFEST);
        let reply = self.exchange(&call).await?;
        if reply.status != 200 {
            return Err(self.refuse(reply).await);
        }
        if reply.length() == Some(0) {
            return Err(reply.protocol("the manifest is empty".to_owned()).into());
        }
        let claimed = media_type(&reply);
        let action = reply.action();
        let bytes = self.transport.body(reply, MAX_MANIFEST).await?;
        let media_type = check_manifest(claimed.as_deref(), &bytes)
            .map_err(|message| ClientError::Protocol { action, message })?;
        Ok(ManifestRead {
            digest: Digest::from_sha256(&sha2::Sha256::digest(&bytes).into()),
            bytes,
            media_type,
        })
    }
}

fn check_length(reply: &Reply, digest: &Digest, ours: Option<(&Digest, u64)>) -> Result<(), ClientError> {
    let Some((ours, size)) = ours else { return Ok(()) };
    // 0: proxies strip the length of a body that they don't forward.
    let length = reply.length().filter(|length| ![0, size].contains(length));
    match length {
        Some(length) if digest == ours => {
            let message = format!("the registry reports {digest} with {length} bytes, which has {size}");
            Err(reply.protocol(message))
        }
        _ => Ok(()),
    }
}

/// The Content-Type without its parameters, in lower case.
fn media_type(reply: &Reply) -> Option<String> {
    let text = reply.header("content-type")?;
    let plain = text.split(';').next().unwrap_or_default().trim();
    Some(plain.to_ascii_lowercase())
}

fn is_manifest_type(text: &str) -> bool {
    MANIFEST_TYPES.contains(&text)
}

/// The media type of a manifest's body, which must equal the claimed one. `Err` is the reason why it is not a manifest.
fn check_manifest(claimed: Option<&str>, bytes: &[u8]) -> Result<&'static str, String> {
    let not_one = |what: &str| {
        format!(
            "the registry answered 200 with {what}, which is not a manifest: a login page, a proxy or an ingress may have answered in its place"
        )
    };
    if let Some(claimed) = claimed.filter(|text| !is_manifest_type(text)) {
        let shown: String = claimed.chars().take(MAX_SHOWN_TYPE).collect();
        return Err(not_one(&format!("the media type {shown:?}")));
    }
    let manifest: Map<String, Value> =
        serde_json::from_slice(bytes).map_err(|_| not_one("a body that is not a JSON object"))?;
    let own = manifest.get("mediaType").and_then(Value::as_str);
    let kind = match (claimed, own) {
        (Some(claimed), Some(own)) if claimed != own => {
            let shown: String = own.chars().take(MAX_SHOWN_TYPE).collect();
            return Err(not_one(&format!(
                "the media type {claimed:?} and a body of the type {shown:?}"
            )));
        }
        (Some(kind), _) | (None, Some(kind)) => kind,
        (None, None) => return Err(not_one("no media type")),
    };
    let kind = MANIFEST_TYPES
        .into_iter()
        .find(|known| *known == kind)
        .ok_or_else(|| not_one("a body of an unknown media type"))?;
    let has_list = |name: &str| manifest.get(name).is_some_and(Value::is_array);
    let is_whole = if kind.ends_with("index.v1+json") || kind.ends_with("list.v2+json") {
        has_list("manifests")
    } else if kind.contains("manifest.v1+") && kind.contains("docker") {
        has_list("fsLayers")
    } else if kind.contains("artifact") {
        true
    } else {
        has_list("layers") && manifest.get("config").is_some_and(Value::is_object)
    };
    if is_whole {
        Ok(kind)
    } else {
        Err(not_one(&format!("{kind:?} and a body that is none")))
    }
}

fn is_sha512(reply: &Reply) -> bool {
    reply
        .header("docker-content-digest")
        .is_some_and(|text| text.starts_with("sha512:"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_body_of_its_media_type_is_a_manifest() {
        const OCI: &str = "application/vnd.oci.image.manifest.v1+json";
        const INDEX: &str = "application/vnd.oci.image.index.v1+json";
        let typed = format!(r#"{{"schemaVersion":2,"mediaType":"{OCI}","config":{{}},"layers":[]}}"#);
        let plain = r#"{"schemaVersion":2,"config":{},"layers":[]}"#;
        let index = r#"{"schemaVersion":2,"manifests":[]}"#;
        let table = [
            (Some(OCI), typed.as_str(), true),
            (Some(OCI), plain, true),
            (None, typed.as_str(), true),
            (Some(INDEX), index, true),
            (
                Some("application/vnd.docker.distribution.manifest.v1+prettyjws"),
                r#"{"schemaVersion":1,"fsLayers":[]}"#,
                true,
            ),
            (None, plain, false),
            (Some(INDEX), plain, false),
            (Some(INDEX), typed.as_str(), false),
            (Some(OCI), index, false),
            (Some(OCI), "<html>", false),
            (Some(OCI), "[]", false),
            (Some(OCI), "{}", false),
            (Some("text/html"), typed.as_str(), false),
            (Some("application/json"), plain, false),
        ];
        for (claimed, body, expected) in table {
            let checked = check_manifest(claimed, body.as_bytes());
            assert_eq!(checked.is_ok(), expected, "{claimed:?} {body}: {checked:?}");
        }
    }
}
