//! Untrusted provenance files, verified with a fixed keyring: `cargo +nightly fuzz run provenance`.
#![no_main]

use std::sync::LazyLock;
use std::time::{Duration, UNIX_EPOCH};

use libfuzzer_sys::fuzz_target;
use sha2::{Digest as _, Sha256};
use solar_render::provenance::{Claim, Keyring, verify};
use solar_render::reference::Digest;

static KEYRING: LazyLock<Option<Keyring>> = LazyLock::new(|| {
    Keyring::read(include_bytes!("../../testdata/signing/provenance/keyring.gpg").to_vec()).ok()
});
static DIGEST: LazyLock<Digest> = LazyLock::new(|| {
    Digest::from_sha256(
        &Sha256::digest(include_bytes!("../../testdata/signing/provenance/demo-1.0.0.tgz")).into(),
    )
});

fuzz_target!(|bytes: &[u8]| {
    let Some(keyring) = &*KEYRING else { return };
    let claim = Claim {
        file: "demo-1.0.0.tgz",
        digest: &DIGEST,
        place: "fuzz",
        provenance: bytes,
    };
    let _ = verify(&claim, keyring, UNIX_EPOCH + Duration::from_secs(1_800_000_000));
});
