//! The keys themselves; certificates are compared with Helm's in `testdata/helm`.

use std::collections::BTreeSet;

use num_bigint::BigUint;

use super::keys::Key;
use super::{Context, prime};
use crate::world::System;

fn context(seed: Option<u64>) -> Context {
    Context::new(std::sync::Arc::new(System), seed, false)
}

#[test]
fn keys_made_one_after_another_are_all_different() {
    // More than a rendering makes alone, so that primes made ahead are among them.
    let mut context = context(None);
    let keys: BTreeSet<Vec<u8>> = (0..8)
        .map(|_| prime::rsa(&mut context, 2_048).expect("a key"))
        .collect();
    assert_eq!(keys.len(), 8);
}

#[test]
fn the_private_exponent_is_the_inverse() {
    let exponent = BigUint::from(65_537_u32);
    let mut order = BigUint::from(1_000_003_u32);
    for _ in 0..40 {
        order = &order * &order % ((BigUint::from(1_u32) << 2_048_u32) - 1_u32) + 1_u32;
        assert_eq!(prime::private_exponent(&order), exponent.modinv(&order));
    }
    assert_eq!(prime::private_exponent(&(order * exponent)), None);
}

#[test]
fn a_seed_gives_the_same_keys_whatever_the_processor_does() {
    let keys = |seed| {
        let mut context = context(Some(seed));
        [1_024, 2_048, 2_048, 2_048].map(|bits| prime::rsa(&mut context, bits).expect("a key"))
    };
    assert_eq!(keys(1), keys(1));
    assert_ne!(keys(1), keys(2));
}

#[test]
fn a_library_takes_the_keys() {
    for bits in [2_048, 4_096] {
        for seed in [None, Some(7)] {
            let mut context = context(seed);
            let pem = Key::rsa(&mut context, bits).expect("a key").to_pem();
            let key = Key::from_pem(&mut context, &pem).expect("the same key");
            assert_eq!(key.to_pem(), pem, "{bits} {seed:?}");
            assert!(key.sign(&mut context, b"text").is_ok(), "{bits} {seed:?}");
        }
    }
}

#[test]
fn a_key_that_was_read_before_is_not_taken_for_another() {
    let mut context = context(None);
    let keys = [(); 2].map(|()| Key::rsa(&mut context, 2_048).expect("a key"));
    let signatures = keys.map(|key| {
        // Read between the two: it is not the last one any more.
        let first = key.sign(&mut context, b"text").expect("a signature");
        let other = Key::rsa(&mut context, 2_048).expect("a key").to_pem();
        Key::from_pem(&mut context, &other).expect("the other");
        assert_eq!(key.sign(&mut context, b"text").expect("a signature"), first);
        first
    });
    assert_ne!(signatures[0], signatures[1]);
    let broken = "-----BEGIN RSA PRIVATE KEY-----\nMAMCAQA=\n-----END RSA PRIVATE KEY-----\n";
    assert!(Key::from_pem(&mut context, broken).is_err());
}
