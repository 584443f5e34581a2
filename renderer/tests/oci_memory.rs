//! How much memory a push and a pull take; alone in its process, because that is what is measured.
#![cfg(target_os = "linux")]
#![allow(
    clippy::unwrap_used,
    reason = "clippy.toml allows it in tests, and does not see helpers of an integration test as such"
)]

use std::io::{self, Write};
use std::path::Path;
use std::sync::Arc;

use sha2::Digest as _;
use solar_render::oci::{ClientOptions, PullOptions, PushOptions, Silent, pull, push, resolve};
use solar_render::package::artifact::{Artifact, Blob, BlobSource, Content};
use solar_render::reference::Digest;
use solar_render::world::Fixed;
use testbed::Registry;

const PIECE: usize = 1 << 20;
const PIECES: usize = 200;
/// What they may add to the peak, in KiB.
const LIMIT: u64 = 16 << 10;

struct Zeros;

impl BlobSource for Zeros {
    fn write_to(&self, out: &mut dyn Write) -> io::Result<()> {
        let piece = vec![0; PIECE];
        (0..PIECES).try_for_each(|_| out.write_all(&piece))
    }
}

fn digest(hash: sha2::Sha256) -> Digest {
    Digest::from_sha256(&hash.finalize().into())
}

/// The process's peak, in KiB.
fn peak() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find(|line| line.starts_with("VmHWM:")).unwrap();
    line.split_whitespace().nth(1).unwrap().parse().unwrap()
}

/// Pulls it from both places.
fn fetch(registry: &Registry, dir: &Path, client: &ClientOptions) {
    for (number, from) in [
        format!("oci://{}/big", registry.host()),
        format!("oci-layout:{}/big", dir.display()),
    ]
    .iter()
    .enumerate()
    {
        let options = PullOptions {
            destination: dir.join(number.to_string()),
            ..PullOptions::default()
        };
        let world = Fixed::default();
        let pulled = pull(&from.parse().unwrap(), &options, client, &world, &Silent).unwrap();
        assert_eq!(pulled.path.metadata().unwrap().len(), (PIECE * PIECES) as u64);
    }
}

#[test]
fn a_chart_of_200_mib_goes_to_a_registry_and_a_layout_and_back_without_being_held() {
    let mut hash = sha2::Sha256::new();
    let piece = vec![0; PIECE];
    (0..PIECES).for_each(|_| hash.update(&piece));
    let layer = Blob {
        media_type: Artifact::LAYER_TYPE,
        digest: digest(hash),
        size: (PIECE * PIECES) as u64,
        content: Content::Stream(Arc::new(Zeros)),
    };
    let text = br#"{"name":"big","version":"1.0.0"}"#;
    let config = Blob {
        media_type: Artifact::CONFIG_TYPE,
        digest: digest(sha2::Sha256::new_with_prefix(text)),
        size: text.len() as u64,
        content: Content::Memory(Arc::from(text.as_slice())),
    };
    let describe = |blob: &Blob| {
        let (kind, digest) = (blob.media_type, blob.digest.as_str());
        serde_json::json!({"mediaType": kind, "digest": digest, "size": blob.size})
    };
    let manifest = serde_json::json!({
        "schemaVersion": 2, "config": describe(&config), "layers": [describe(&layer)],
    })
    .to_string();
    let artifact = Artifact {
        name: "big".to_owned(),
        version: "1.0.0".to_owned(),
        digest: digest(sha2::Sha256::new_with_prefix(&manifest)),
        manifest: manifest.into_bytes(),
        blobs: vec![config, layer],
    };
    let registry = Registry::start();
    let dir = tempfile::tempdir().unwrap();
    let client = ClientOptions {
        plain_http: true,
        ..ClientOptions::default()
    };
    let before = peak();
    for target in [
        format!("oci://{}", registry.host()),
        format!("oci-layout:{}", dir.path().display()),
    ] {
        let destination = resolve(&target.parse().unwrap(), &artifact, false).unwrap();
        let options = PushOptions::default();
        let world = Fixed::default();
        push(&artifact, &destination, &options, &client, &world, &Silent).unwrap();
    }
    assert_eq!(registry.crane_digest("big:1.0.0"), artifact.digest.as_str());
    fetch(&registry, dir.path(), &client);
    let added = peak() - before;
    assert!(added < LIMIT, "{added} KiB more");
    println!("{added} KiB more than {before}");
}
