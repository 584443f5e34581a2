//! The keys themselves; certificates are compared with Helm's in `testdata/helm`.

use std::collections::BTreeSet;

use num_bigint::BigUint;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use der::Decode;

use super::keys::Key;
use super::{Certificate, Context, TABLE, pem, prime};
use crate::template::{Call, Val};
use crate::world::Fixed;

fn context(seed: Option<u64>) -> Context {
    Context::new(std::sync::Arc::new(Fixed::default()), seed, false)
}

fn call(context: &mut Context, name: &str, args: &[Val]) -> Val {
    let func = TABLE.iter().find(|func| func.name == name).expect(name);
    (func.call)(&mut Call { args, context }).expect(name)
}

/// The texts of what the functions give.
fn texts(value: &Val) -> [String; 2] {
    let Val::Object(object) = value else {
        panic!("no object")
    };
    let certificate = object
        .as_any()
        .downcast_ref::<Certificate>()
        .expect("a certificate");
    [&certificate.cert, &certificate.key].map(ToString::to_string)
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

/// The signature of a certificate in PEM, of ECDSA: r and s.
fn signature(cert: &str) -> [Vec<u8>; 2] {
    let bytes = pem::decode(cert).expect("PEM").bytes;
    let parts: Vec<der::AnyRef<'_>> = Decode::from_der(&bytes).expect("three parts");
    let bits: der::asn1::BitStringRef<'_> = parts[2].decode_as().expect("a signature");
    let numbers: Vec<der::asn1::UintRef<'_>> =
        Decode::from_der(bits.as_bytes().expect("whole bytes")).expect("two numbers");
    [0, 1].map(|index| numbers[index].as_bytes().to_vec())
}

/// The nonce once came from the seed's stream: the same for two messages, and known to everybody, which gave
/// away the key that was in the values.
#[test]
fn a_seed_does_not_give_away_a_real_key() {
    let mut real = context(None);
    let key = Key::ecdsa(&mut real).expect("a key").to_pem();
    let ca = call(
        &mut real,
        "genCAWithKey",
        &[Val::str("ca"), Val::int(1), Val::str(key)],
    );
    let ca = texts(&ca).map(|text| Val::str(STANDARD.encode(text)));
    let leaf = Val::str(Key::ecdsa(&mut real).expect("a key").to_pem());
    let mut signed = |name: &str| {
        let mut frozen = context(Some(0));
        let ca = call(&mut frozen, "buildCustomCert", &ca);
        let args = [Val::str(name), Val::Nil, Val::Nil, Val::int(1), ca, leaf.clone()];
        signature(&texts(&call(&mut frozen, "genSignedCertWithKey", &args))[0])
    };
    let [first, again, other] = ["a", "a", "b"].map(&mut signed);
    assert_eq!(first, again);
    assert_ne!(first[0], other[0]);
}
