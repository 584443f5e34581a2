//! How much memory the header of a file of weights takes; alone in its process, because that is what is measured.
#![cfg(target_os = "linux")]
#![allow(
    clippy::unwrap_used,
    reason = "clippy.toml allows it in tests, and does not see helpers of an integration test as such"
)]

use std::fs::File;
use std::io::{BufWriter, Write as _};
use std::path::Path;

use sha2::Digest as _;
use solar_render::import::{self, Format, ImportRequest, Source};
use solar_render::oci::{self, Silent};
use solar_render::pipeline::Observer;
use solar_render::reference::Digest;
use solar_render::report::Report;
use solar_render::world::Fixed;

/// The length of the largest header that is read.
const HEADER: usize = 8 << 20;
/// What an import may add to the peak, in KiB.
const LIMIT: u64 = 12 << 10;

struct Nobody;

impl Observer for Nobody {
    fn sending(&self, _report: &Report) {}

    fn progress(&self) -> &dyn oci::Progress {
        &Silent
    }
}

/// The process's peak, in KiB.
fn peak() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find(|line| line.starts_with("VmHWM:")).unwrap();
    let number = line.split_whitespace().nth(1).unwrap();
    number.parse().unwrap()
}

/// Imports a file that is in the working folder already. Nothing large is held here.
fn import(folder: &Path, first: &str, filler: &str, last: &str, length: usize) {
    let work = folder.join("work/solar-render-import");
    std::fs::create_dir_all(&work).unwrap();
    let written = work.join("written");
    let mut file = BufWriter::new(File::create(&written).unwrap());
    let mut hash = sha2::Sha256::new();
    let mut add = |bytes: &[u8]| {
        hash.update(bytes);
        file.write_all(bytes).unwrap();
    };
    let count = (length - first.len() - last.len()) / filler.len();
    let length = first.len() + count * filler.len() + last.len();
    add(&(length as u64).to_le_bytes());
    add(first.as_bytes());
    (0..count).for_each(|_| add(filler.as_bytes()));
    add(last.as_bytes());
    file.flush().unwrap();
    let digest = Digest::from_sha256(&hash.finalize().into());
    std::fs::rename(&written, work.join(format!("sha256-{}", digest.hex()))).unwrap();
    let source = Source::Web {
        url: "http://127.0.0.1:1/model.safetensors".parse().unwrap(),
        sha256: digest,
    };
    let target = format!("oci-layout:{}:latest", folder.join("out").display())
        .parse()
        .unwrap();
    let request = ImportRequest::new(source, Format::ModelPack, target, folder.join("work"));
    let delivered = import::run(&request, &Fixed::default(), &Nobody);
    assert!(delivered.report.digest.is_some());
}

/// Of a shape of as many sizes as fit, each was held; of a name, two copies were.
#[test]
fn the_largest_header_takes_little_memory() {
    // What a first import needs.
    let folder = tempfile::tempdir().unwrap();
    import(folder.path(), "{\"a\":{\"shape\":[1", ",1", "]}}", 1000);
    let before = peak();
    for (first, filler, last) in [
        ("{\"a\":{\"shape\":[1", ",1", "]}}"),
        ("{\"", "n", "\":{\"shape\":[1]}}"),
    ] {
        let folder = tempfile::tempdir().unwrap();
        import(folder.path(), first, filler, last, HEADER);
    }
    let added = peak() - before;
    assert!(added < LIMIT, "{added} KiB more");
    println!("{added} KiB more than {before}");
}
