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
use solar_render::package::artifact::{Artifact, ArtifactBlob, BlobContent, BlobSource};
use solar_render::reference::Digest;
use solar_render::world::Fixed;
use testbed::Registry;

/// The size of the chart's one large file.
const LARGE: u64 = 200 << 20;
/// What they may add to the peak, in KiB.
const LIMIT: u64 = 16 << 10;

/// The archive of a chart with a large file, stored and not compressed, so that it is large too.
struct Chart;

impl BlobSource for Chart {
    fn write_to(&self, out: &mut dyn Write) -> io::Result<()> {
        let text = "apiVersion: v2\nname: big\nversion: 1.0.0\n";
        let gzip = flate2::write::GzEncoder::new(out, flate2::Compression::none());
        let mut archive = tar::Builder::new(gzip);
        let mut add = |path: &str, size: u64, data: &mut dyn io::Read| {
            let mut header = tar::Header::new_ustar();
            header.set_size(size);
            header.set_mode(0o644);
            archive.append_data(&mut header, path, data)
        };
        add("big/Chart.yaml", text.len() as u64, &mut text.as_bytes())?;
        add("big/data", LARGE, &mut io::Read::take(io::repeat(0), LARGE))?;
        archive.into_inner()?.finish().map(|_| ())
    }
}

/// Hashes and counts.
struct Sum(sha2::Sha256, u64);

impl Write for Sum {
    fn write(&mut self, data: &[u8]) -> io::Result<usize> {
        self.0.update(data);
        self.1 += data.len() as u64;
        Ok(data.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
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
        let mut options = PullOptions::default();
        options.destination = dir.join(number.to_string());
        let world = Fixed::default();
        let pulled = pull(&from.parse().unwrap(), &options, client, &world, &Silent).unwrap();
        assert_eq!(pulled.path.metadata().unwrap().len(), pulled.layer.1);
        assert!(pulled.layer.1 > LARGE);
    }
}

#[test]
#[ignore = "needs servers or peers: .ci/test runs it"]
fn a_chart_of_200_mib_goes_to_a_registry_and_a_layout_and_back_without_being_held() {
    let mut sum = Sum(sha2::Sha256::new(), 0);
    Chart.write_to(&mut sum).unwrap();
    let layer = ArtifactBlob {
        media_type: Artifact::LAYER_TYPE,
        digest: digest(sum.0),
        size: sum.1,
        content: BlobContent::Stream(Arc::new(Chart)),
    };
    let text = br#"{"name":"big","version":"1.0.0"}"#;
    let config = ArtifactBlob {
        media_type: Artifact::CONFIG_TYPE,
        digest: digest(sha2::Sha256::new_with_prefix(text)),
        size: text.len() as u64,
        content: BlobContent::Memory(Arc::from(text.as_slice())),
    };
    let describe = |blob: &ArtifactBlob| {
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
    let mut client = ClientOptions::default();
    client.plain_http = true;
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
