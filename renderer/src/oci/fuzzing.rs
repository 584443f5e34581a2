//! Entry points of the targets in `fuzz/`: parsers of untrusted files that are not public. Only built by `cargo fuzz`.

use std::path::Path;

use super::layout::read;
use super::sign::VerifyingKey;
use super::sign::formats::{check_bundle, check_simple};
use crate::reference::{At, Digest};

/// A signature of cosign's: a bundle, or a payload with a signature.
pub fn signature(bytes: &[u8], digest: &Digest, key: &VerifyingKey) {
    let _ = check_bundle(bytes, digest, key);
    let end = bytes
        .iter()
        .position(|byte| *byte == b'\n')
        .unwrap_or(bytes.len());
    let (signature, payload) = bytes.split_at(end);
    let _ = check_simple(payload, &String::from_utf8_lossy(signature), digest, key);
}

/// A layout on disk.
pub fn layout(dir: &Path, subject: &Digest) {
    for tag in read::tags(dir).unwrap_or_default() {
        let _ = read::manifest(dir, &At::Tag(tag));
    }
    let _ = read::referrers(dir, subject);
}

/// A repository's index.yaml.
pub fn index(bytes: &[u8]) {
    let _ = crate::repositories::versions(bytes.to_vec(), "https://example.com/charts", "demo");
}
