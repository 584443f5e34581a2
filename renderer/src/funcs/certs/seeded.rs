//! Keys from given randomness, which AWS-LC does not support: RSA with a seed, and DSA.
//!
//! The output of `--frozen` depends on how the crates derive keys from random bytes, so their versions are pinned.

use chacha20::ChaCha20Rng;
use chacha20::rand_core::SeedableRng as _;
use der::Encode as _;
use der::asn1::UintRef;
use dsa::{Components, KeySize, SigningKey};
use rsa::RsaPrivateKey;
use rsa::pkcs1::EncodeRsaPrivateKey as _;
use zeroize::Zeroizing;

use super::super::Context;
use super::rsa_key::Bits;
use crate::template::FuncError;

fn failed(error: impl std::fmt::Display) -> FuncError {
    FuncError::new(format!("the key could not be made: {error}"))
}

/// An RSA key in PKCS #1's form. The context has a seed.
pub(super) fn rsa(context: &mut Context, bits: Bits) -> Result<Zeroizing<Vec<u8>>, FuncError> {
    let bits = match bits {
        Bits::B2048 => 2_048,
        Bits::B4096 => 4_096,
    };
    let seed = context.numbered_bytes("rsa")?;
    let make = || -> Result<Vec<u8>, FuncError> {
        let mut generator = ChaCha20Rng::from_seed(*seed);
        let key = RsaPrivateKey::new(&mut generator, bits).map_err(failed)?;
        Ok(key.to_pkcs1_der().map_err(failed)?.as_bytes().to_vec())
    };
    let key = context
        .seeded
        .get_or_make("rsa", &[&*seed, &bits.to_be_bytes()], make)?;
    Ok(Zeroizing::new(key))
}

/// A DSA key of 2048 and 256 bits: version, p, q, g, y, x.
pub(super) fn dsa(context: &mut Context) -> Result<Zeroizing<Vec<u8>>, FuncError> {
    let mut seed = Zeroizing::new([0; 32]);
    context.random_bytes(&mut *seed)?;
    let mut generator = ChaCha20Rng::from_seed(*seed);
    let Ok(components) =
        Components::try_generate_from_rng_with_key_size(&mut generator, KeySize::DSA_2048_256);
    let Ok(key) = SigningKey::try_generate_from_rng_with_components(&mut generator, components);
    let public = key.verifying_key();
    let components = public.components();
    let secret = Zeroizing::new(key.x().to_be_bytes());
    let numbers = [
        components.p().to_be_bytes(),
        components.q().to_be_bytes(),
        components.g().to_be_bytes(),
        public.y().to_be_bytes(),
    ];
    let parts = [&[0_u8][..]]
        .into_iter()
        .chain(numbers.iter().map(|number| &**number));
    let parts = parts.chain([&**secret]).map(UintRef::new);
    let parts: Vec<UintRef<'_>> = parts.collect::<der::Result<_>>().map_err(failed)?;
    parts.to_der().map(Zeroizing::new).map_err(failed)
}
