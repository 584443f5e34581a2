//! Every kind of key that GnuPG generates signs, or reports why not; signatures are verified.

use std::path::PathBuf;
use std::time::Duration;

use super::super::{Claim, load_keyring, verify};
use super::*;

/// 2026-01-01
const NOW: u64 = 1_767_225_600;
const PASSPHRASE: &str = "open sesame";

fn now() -> SystemTime {
    std::time::UNIX_EPOCH + Duration::from_secs(NOW)
}

fn keyring(name: &str) -> Keyring {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../testdata/signing/provenance");
    load_keyring(&folder.join(name)).unwrap()
}

fn digest() -> Digest {
    Digest::from_sha256(&[7; 32])
}

fn metadata(description: &str) -> Value {
    let fields = [
        ("name", "demo"),
        ("version", "1.0.0"),
        ("description", description),
    ];
    let fields = fields.map(|(name, value)| (name.to_owned(), Value::from(value)));
    Value::Map(fields.into_iter().collect())
}

fn signed(key: &ArchiveKey, description: &str) -> Vec<u8> {
    key.provenance(&metadata(description), "demo-1.0.0.tgz", &digest(), now())
        .unwrap()
}

fn check(provenance: &[u8], digest: &Digest) -> crate::diag::Result<Signer> {
    let claim = Claim {
        file: "demo-1.0.0.tgz",
        digest,
        place: "demo-1.0.0.tgz.prov",
        provenance,
    };
    verify(&claim, &keyring("secrets-public.gpg"), now())
}

#[test]
fn signatures_of_every_kind_of_key_are_valid_for_the_archive_alone() {
    let ring = keyring("secrets.gpg");
    for name in ["locked", "p521", "certifier", "subkey"] {
        let key = LockedKey::find(&ring, &format!("{name}@example.com"), now()).unwrap();
        assert_eq!(key.is_locked(), name == "locked");
        let key = key.unlock(PASSPHRASE).unwrap();
        let provenance = signed(&key, "a chart");
        let signer = check(&provenance, &digest()).unwrap();
        assert_eq!(&signer, key.signer(), "{name}");
        assert_eq!(signer.names, [format!("{name} <{name}@example.com>")]);
        assert!(
            check(&provenance, &Digest::from_sha256(&[8; 32])).is_err(),
            "{name}"
        );
    }
}

#[test]
fn lines_with_trailing_spaces_or_leading_dashes_are_signed_as_they_are_verified() {
    let ring = keyring("secrets.gpg");
    let key = LockedKey::find(&ring, "p521", now()).unwrap().unlock("").unwrap();
    for description in [
        "- a",
        "a  \nb\t\n- c\n",
        "-----BEGIN PGP SIGNATURE-----\n",
        "ä\r\nb ",
        "x\n...\nfiles: {}\n",
    ] {
        let provenance = signed(&key, description);
        assert!(
            check(&provenance, &digest()).is_ok(),
            "{description:?}: {}",
            String::from_utf8_lossy(&provenance)
        );
    }
}

#[test]
fn keys_that_cannot_sign_report_why() {
    let secrets = keyring("secrets.gpg");
    let public = keyring("secrets-public.gpg");
    let mut text = String::new();
    for (ring, name) in [
        (&secrets, "nobody"),
        (&secrets, "example.com"),
        (&secrets, "expired"),
        (&secrets, "revoked"),
        (&secrets, "dsa"),
        (&public, "p521"),
    ] {
        let error = LockedKey::find(ring, name, now()).unwrap_err();
        text.push_str(&format!("{name}: {error}\n"));
    }
    // The exact user ID takes precedence over those that contain it.
    assert!(LockedKey::find(&secrets, "p521 <p521@example.com>", now()).is_ok());
    let key = LockedKey::find(&secrets, "locked", now()).unwrap();
    text.push_str(&format!("locked: {}\n", key.unlock("open sesam").unwrap_err()));
    insta::assert_snapshot!(text);
}

#[test]
fn keys_are_not_printed() {
    let ring = keyring("secrets.gpg");
    for name in ["locked", "p521"] {
        let key = LockedKey::find(&ring, name, now()).unwrap();
        assert_eq!(
            format!("{key:?}"),
            format!("LockedKey(\"{name} <{name}@example.com>\")")
        );
        let key = key.unlock(PASSPHRASE).unwrap();
        assert_eq!(
            format!("{key:?}"),
            format!("ArchiveKey({})", key.signer().fingerprint)
        );
    }
}

/// With each byte of a secret keyring inverted, it signs as before, or not at all, and nothing panics.
#[test]
fn damaged_secret_keys_never_panic() {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../testdata/signing/provenance");
    let bytes = std::fs::read(folder.join("secrets.gpg")).unwrap();
    for at in (0..bytes.len()).step_by(7) {
        let mut changed = bytes.clone();
        changed[at] ^= 0x21;
        let Ok(ring) = Keyring::read(changed) else {
            continue;
        };
        for name in ["p521", "certifier", "subkey"] {
            if let Ok(key) = LockedKey::find(&ring, name, now())
                && let Ok(key) = key.unlock("")
            {
                let _ = key.provenance(&metadata("a"), "demo-1.0.0.tgz", &digest(), now());
            }
        }
    }
}
