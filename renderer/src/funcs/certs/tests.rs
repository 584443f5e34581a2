//! The keys themselves; certificates are compared with Helm's in `testdata/helm`.

use std::collections::BTreeSet;
use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use der::Decode;

use super::keys::Key;
use super::{Bits, CertificatePair, Context, RsaKey, pem};
use crate::funcs::cryptographic::CERTIFICATES as TABLE;
use crate::template::{Call, Val};
use crate::world::{Fixed, System, World};

fn context(seed: Option<u64>) -> Context {
    let world: Arc<dyn World> = match seed {
        Some(_) => Arc::new(Fixed::default()),
        None => Arc::new(System),
    };
    Context::new(world, seed, false)
}

fn call(context: &mut Context, name: &str, args: &[Val]) -> Val {
    let func = TABLE.iter().find(|func| func.name == name).expect(name);
    (func.call)(&mut Call { args, context }).expect(name)
}

/// The two strings of a result.
fn texts(value: &Val) -> [String; 2] {
    let Val::Object(object) = value else {
        panic!("no object")
    };
    let certificate = object
        .as_any()
        .downcast_ref::<CertificatePair>()
        .expect("a certificate");
    [&certificate.cert, &certificate.key].map(ToString::to_string)
}

fn rsa(context: &mut Context, bits: Bits) -> String {
    let key = RsaKey::generate(context, bits).expect("a key");
    Key::Rsa(key).to_pem().expect("a text")
}

#[test]
fn generated_keys_are_all_different() {
    // More than a rendering generates itself, so that pooled keys are among them.
    let mut context = context(None);
    let keys: BTreeSet<String> = (0..8).map(|_| rsa(&mut context, Bits::B2048)).collect();
    assert_eq!(keys.len(), 8);
}

#[test]
fn a_seed_gives_the_same_keys_in_every_run() {
    let keys = |seed| {
        let mut context = context(Some(seed));
        let rsa = [(); 2].map(|()| rsa(&mut context, Bits::B2048));
        let dsa = Key::dsa(&mut context).expect("a key").to_pem().expect("a text");
        (rsa, dsa)
    };
    let (rsa, dsa) = keys(1);
    assert_ne!(rsa[0], rsa[1]);
    assert_eq!(keys(1), (rsa.clone(), dsa.clone()));
    let (others, other) = keys(2);
    assert!(others[0] != rsa[0] && other != dsa);
}

#[test]
fn keys_are_read_as_they_were_written() {
    for bits in [Bits::B2048, Bits::B4096] {
        for seed in [None, Some(7)] {
            let pem = rsa(&mut context(seed), bits);
            let key = Key::from_pem(&pem).expect("the same key");
            assert_eq!(key.to_pem().expect("a text"), pem, "{seed:?}");
            assert!(key.sign(b"text").is_ok(), "{seed:?}");
        }
    }
    for key in [Key::dsa, Key::ecdsa, Key::ed25519] {
        let pem = key(&mut context(None)).expect("a key").to_pem().expect("a text");
        let again = Key::from_pem(&pem).expect("the same key");
        assert_eq!(again.to_pem().expect("a text"), pem);
    }
    let broken = "-----BEGIN RSA PRIVATE KEY-----\nMAMCAQA=\n-----END RSA PRIVATE KEY-----\n";
    assert!(Key::from_pem(broken).is_err());
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

/// The nonce once came from the seed's stream: the same for two messages, and public, which disclosed the key in the
/// values.
#[test]
fn a_seed_does_not_disclose_a_given_key() {
    let mut real = context(None);
    let key = Key::ecdsa(&mut real).expect("a key").to_pem().expect("a text");
    let ca = call(
        &mut real,
        "genCAWithKey",
        &[Val::str("ca"), Val::int(1), Val::str(key)],
    );
    let ca = texts(&ca).map(|text| Val::str(STANDARD.encode(text)));
    let leaf = Val::str(Key::ecdsa(&mut real).expect("a key").to_pem().expect("a text"));
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
