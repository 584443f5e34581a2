//! Keys of cosign's, and signatures held against a known one: `cargo +nightly fuzz run cosign`.
#![no_main]

use std::sync::LazyLock;

use libfuzzer_sys::fuzz_target;
use sha2::{Digest as _, Sha256};
use solar_render::oci::{VerifyingKey, fuzzing};
use solar_render::reference::Digest;

static KEY: LazyLock<Option<VerifyingKey>> =
    LazyLock::new(|| VerifyingKey::load(include_bytes!("../../testdata/signing/cosign.pub")).ok());
static DIGEST: LazyLock<Digest> = LazyLock::new(|| Digest::from_sha256(&Sha256::digest(b"demo").into()));

fuzz_target!(|bytes: &[u8]| {
    let own = VerifyingKey::load(bytes).ok();
    if let Some(key) = own.as_ref().or(KEY.as_ref()) {
        fuzzing::signature(bytes, &DIGEST, key);
    }
});
