//! Compares results with Helm's for the same files, and tests malformed files.

use std::path::PathBuf;
use std::time::{Duration, UNIX_EPOCH};

use super::*;

/// Cases that Helm accepts and we refuse: weak algorithms, and a signature older than its key.
const STRICTER: [&str; 5] = ["rsa-sha1", "rsa-sha224", "dsa", "small", "before-its-key"];
/// 2026-01-01
const NOW: u64 = 1_767_225_600;

fn folder() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../testdata/signing/provenance")
}

fn read(name: &str) -> Vec<u8> {
    std::fs::read(folder().join(name)).unwrap()
}

fn check(provenance: &[u8], keyring: &Keyring, seconds: u64) -> Result<Signer> {
    use sha2::Digest as _;
    let digest = Digest::from_sha256(&sha2::Sha256::digest(read("demo-1.0.0.tgz")).into());
    let claim = Claim {
        file: "demo-1.0.0.tgz",
        digest: &digest,
        place: "demo-1.0.0.tgz.prov",
        provenance,
    };
    verify(&claim, keyring, UNIX_EPOCH + Duration::from_secs(seconds))
}

fn shown(problem: &crate::diag::Diagnostics) -> String {
    let one = problem.iter().next().unwrap();
    assert_eq!(one.class, Class::Signature);
    std::iter::once(&one.message)
        .chain(&one.notes)
        .chain(&one.hints)
        .map(|line| format!("  {line}\n"))
        .collect()
}

#[test]
fn verdicts_are_helms_except_for_weak_signatures() {
    let verdicts = String::from_utf8(read("verdicts.txt")).unwrap();
    let mut words = String::new();
    for line in verdicts.lines().filter(|line| line.contains(": ")) {
        let (case, verdict) = line.split_once(": ").unwrap();
        let (name, ring) = case.split_once(' ').unwrap();
        let keyring = load_keyring(&folder().join(ring)).unwrap();
        let ours = check(&read(&format!("{name}.prov")), &keyring, NOW);
        match (&ours, verdict.strip_prefix("good, ")) {
            (Ok(signer), Some(fingerprint)) => {
                assert_eq!(signer.fingerprint, fingerprint, "{case}");
                assert_eq!(signer.names.len(), 1, "{case}: {:?}", signer.names);
                assert!(!STRICTER.contains(&name), "{case}");
            }
            (Err(_), Some(_)) => assert!(STRICTER.contains(&name), "{case}: {ours:?}"),
            (Err(_), None) => {}
            (Ok(_), None) => panic!("{case}: Helm says {verdict}"),
        }
        if let Err(problem) = &ours {
            words.push_str(&format!("{case}\n{}", shown(problem)));
        }
    }
    insta::assert_snapshot!(words);
}

/// A revocation was once ignored after a user ID, and so everywhere except directly after its key.
#[test]
fn a_revocation_appended_to_a_keyring_counts_for_its_key_alone() {
    let revocation = read("rsa-revocation.asc");
    let rings = [
        [read("keyring.asc"), revocation.clone()].concat(),
        [revocation, read("keyring.asc")].concat(),
    ];
    for ring in rings {
        let ring = Keyring::read(ring).unwrap();
        let problem = check(&read("rsa.prov"), &ring, NOW).unwrap_err();
        assert!(
            shown(&problem).contains("its key was revoked"),
            "{}",
            shown(&problem)
        );
        assert!(check(&read("ed25519.prov"), &ring, NOW).is_ok());
    }
    let ring = Keyring::read(read("keyring.asc")).unwrap();
    assert!(check(&read("rsa.prov"), &ring, NOW).is_ok());
}

#[test]
fn the_time_decides_over_keys_and_signatures() {
    let keyring = load_keyring(&folder().join("keyring.gpg")).unwrap();
    let signed = 1_704_153_600;
    for name in ["expired", "oldsubkey"] {
        let text = read(&format!("{name}.prov"));
        assert!(check(&text, &keyring, signed + 60).is_ok(), "{name}");
        assert!(check(&text, &keyring, NOW).is_err(), "{name}");
        // A clock that is five minutes slow is tolerated, one that is a day slow is not.
        assert!(check(&text, &keyring, signed - 299).is_ok(), "{name}");
        assert!(check(&text, &keyring, signed - 86_000).is_err(), "{name}");
    }
}

/// With each single byte of keyring and file inverted, and with truncated files: no change of signed content is
/// accepted, and nothing panics.
#[test]
fn damaged_bytes_never_pass_for_another_signer_and_never_panic() {
    let keyring = read("keyring.gpg");
    let provenance = read("subkey.prov");
    let good = check(&provenance, &Keyring::read(keyring.clone()).unwrap(), NOW).unwrap();
    for at in 0..keyring.len() {
        let mut changed = keyring.clone();
        changed[at] ^= if at % 2 == 0 { 0x01 } else { 0x80 };
        if let Ok(ring) = Keyring::read(changed)
            && let Ok(signer) = check(&provenance, &ring, NOW)
        {
            assert_eq!(signer.fingerprint, good.fingerprint, "byte {at}");
        }
        if at % 5 == 0
            && let Ok(ring) = Keyring::read(keyring[..at].to_vec())
        {
            let _ = check(&provenance, &ring, NOW);
        }
    }
    let ring = Keyring::read(keyring).unwrap();
    let start = provenance
        .windows(11)
        .position(|bytes| bytes == b"apiVersion:")
        .unwrap();
    let end = provenance
        .windows(23)
        .position(|bytes| bytes == b"-----BEGIN PGP SIGNATUR")
        .unwrap();
    for at in 0..provenance.len() {
        let mut changed = provenance.clone();
        changed[at] ^= 0x01;
        let passed = check(&changed, &ring, NOW).is_ok();
        assert!(!passed || !(start..end - 1).contains(&at), "byte {at}");
        let _ = check(&provenance[..at], &ring, NOW);
    }
}

#[test]
fn files_that_are_no_keyring_are_refused() {
    for (bytes, expected) in [
        (&b"hello"[..], KeyringError::Form),
        (b"", KeyringError::Empty),
        (&[0xcd, 1, b'x'], KeyringError::Empty),
        (&read("rsa.prov"), KeyringError::Form),
    ] {
        assert_eq!(Keyring::read(bytes.to_vec()).err(), Some(expected), "{bytes:?}");
    }
    let missing = load_keyring(&folder().join("none.gpg")).unwrap_err();
    assert!(missing.iter().next().unwrap().hints[0].contains("gpg --export"));
}
