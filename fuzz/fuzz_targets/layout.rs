//! The index and a manifest of a layout on disk: `cargo +nightly fuzz run layout`.
//!
//! The text is index.json; what stands behind a line `---` is stored as the blob of the subject.
#![no_main]

use std::fs;
use std::sync::LazyLock;

use libfuzzer_sys::fuzz_target;
use sha2::{Digest as _, Sha256};
use solar_render::oci::fuzzing;
use solar_render::reference::Digest;
use tempfile::TempDir;

static FOLDER: LazyLock<Option<TempDir>> = LazyLock::new(|| {
    let folder = TempDir::with_prefix_in("solar-fuzz-", "/dev/shm").ok()?;
    fs::create_dir_all(folder.path().join("blobs/sha256")).ok()?;
    fs::write(
        folder.path().join("oci-layout"),
        r#"{"imageLayoutVersion":"1.0.0"}"#,
    )
    .ok()?;
    Some(folder)
});
static SUBJECT: LazyLock<Digest> = LazyLock::new(|| Digest::from_sha256(&Sha256::digest(b"demo").into()));

fuzz_target!(|text: &str| {
    let Some(folder) = &*FOLDER else { return };
    let (index, blob) = text.split_once("\n---\n").unwrap_or((text, "{}"));
    let blobs = folder.path().join("blobs/sha256");
    if fs::write(folder.path().join("index.json"), index).is_ok()
        && fs::write(blobs.join(SUBJECT.hex()), blob).is_ok()
    {
        fuzzing::layout(folder.path(), &SUBJECT);
    }
});
