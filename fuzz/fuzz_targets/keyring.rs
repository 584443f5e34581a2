//! Keyrings of any form, and a known provenance file held against what they hold: `cargo +nightly fuzz run keyring`.
#![no_main]

use std::sync::LazyLock;
use std::time::{Duration, UNIX_EPOCH};

use libfuzzer_sys::fuzz_target;
use sha2::{Digest as _, Sha256};
use solar_render::provenance::{Claim, Keyring, verify};
use solar_render::reference::Digest;

static DIGEST: LazyLock<Digest> = LazyLock::new(|| {
    Digest::from_sha256(
        &Sha256::digest(include_bytes!("../../testdata/signing/provenance/demo-1.0.0.tgz")).into(),
    )
});

fuzz_target!(|bytes: &[u8]| {
    let Ok(keyring) = Keyring::read(bytes.to_vec()) else {
        return;
    };
    for provenance in [
        include_bytes!("../../testdata/signing/provenance/ed25519.prov").as_slice(),
        include_bytes!("../../testdata/signing/provenance/subkey.prov").as_slice(),
    ] {
        let claim = Claim {
            file: "demo-1.0.0.tgz",
            digest: &DIGEST,
            place: "fuzz",
            provenance,
        };
        let _ = verify(&claim, &keyring, UNIX_EPOCH + Duration::from_secs(1_800_000_000));
    }
});
