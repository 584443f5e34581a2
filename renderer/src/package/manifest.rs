//! The OCI manifest of a chart, as `helm push` of Helm 4.3.1 writes it: no `mediaType` of
//! its own, annotations from Chart.yaml in key order, Go's JSON escapes.

use std::sync::Arc;

use sha2::{Digest as _, Sha256};

use super::artifact::{Artifact, ArtifactBlob, BlobContent};
use crate::chart::metadata::Metadata;
use crate::diag::{Class, Diagnostic, Result};
use crate::reference::Digest;
use crate::value::{Value, write_json_string};

/// Creates an artifact from metadata and archive. `created` is in seconds since 1970.
pub(super) fn artifact(
    metadata: &Metadata,
    layer: ArtifactBlob,
    provenance: Option<Vec<u8>>,
    created: Option<u64>,
) -> Result<Artifact> {
    let mut annotations = metadata.annotations.clone();
    if let Some(seconds) = created {
        let time = i64::try_from(seconds)
            .ok()
            .and_then(|seconds| jiff::Timestamp::from_second(seconds).ok());
        let time = time.ok_or_else(|| Diagnostic::error(Class::Usage, "the time is beyond the year 9999"))?;
        // In Helm, a chart's own annotation takes precedence.
        let key = "org.opencontainers.image.created";
        if !annotations.contains_key(key) {
            annotations.insert(key, Value::String(time.to_string()));
        }
    }
    let mut layers = vec![layer];
    layers.extend(provenance.map(|bytes| in_memory(Artifact::PROVENANCE_TYPE, bytes)));
    // Helm's order.
    layers.sort_by(|one, other| one.digest.as_str().cmp(other.digest.as_str()));
    let mut blobs = vec![in_memory(Artifact::CONFIG_TYPE, metadata.config.clone())];
    blobs.append(&mut layers);
    let manifest = manifest(&blobs, &Value::Map(annotations)).into_bytes();
    let digest = Digest::from_sha256(&Sha256::digest(&manifest).into());
    Ok(Artifact {
        name: metadata.name.clone(),
        version: metadata.version.clone(),
        manifest,
        digest,
        blobs,
    })
}

fn in_memory(media_type: &'static str, bytes: Vec<u8>) -> ArtifactBlob {
    let digest = Digest::from_sha256(&Sha256::digest(&bytes).into());
    ArtifactBlob {
        media_type,
        digest,
        size: bytes.len() as u64,
        content: BlobContent::Memory(Arc::from(bytes)),
    }
}

fn manifest(blobs: &[ArtifactBlob], annotations: &Value) -> String {
    let mut out = String::from(r#"{"schemaVersion":2,"config":"#);
    for (index, blob) in blobs.iter().enumerate() {
        match index {
            0 => {}
            1 => out.push_str(r#","layers":["#),
            _ => out.push(','),
        }
        write_descriptor(blob, &mut out);
    }
    out.push_str(r#"],"annotations":"#);
    annotations.write_json(&mut out);
    out.push('}');
    out
}

fn write_descriptor(blob: &ArtifactBlob, out: &mut String) {
    out.push_str(r#"{"mediaType":"#);
    write_json_string(blob.media_type, out);
    out.push_str(&format!(r#","digest":"{}","size":{}}}"#, blob.digest, blob.size));
}
