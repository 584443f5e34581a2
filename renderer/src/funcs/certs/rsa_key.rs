//! RSA keys in PKCS #1's form, from AWS-LC, or with a seed from the `rsa` crate.

use aws_lc_rs::encoding::{AsDer as _, Pkcs8V1Der};
use aws_lc_rs::rand::SystemRandom;
use aws_lc_rs::rsa::{KeyPair, KeySize};
use aws_lc_rs::signature::{KeyPair as _, RSA_PKCS1_SHA256};
use pkcs8::PrivateKeyInfoRef;
use zeroize::Zeroizing;

use super::super::Context;
use super::seeded;
use crate::template::FuncError;

/// The length of a key.
#[derive(Clone, Copy)]
pub(super) enum Bits {
    /// A certificate's.
    B2048,
    /// `genPrivateKey`'s.
    B4096,
}

/// A private key.
pub(super) struct RsaKey {
    pkcs1: Zeroizing<Vec<u8>>,
    pair: KeyPair,
}

impl RsaKey {
    /// Keys for certificates come from the [`KeyPool`](super::key_pool::KeyPool).
    pub(super) fn generate(context: &mut Context, bits: Bits) -> Result<Self, FuncError> {
        let key = match (context.seed, bits) {
            (None, Bits::B2048) => context.key_pool.take(),
            (None, Bits::B4096) => Self::random(bits),
            (Some(_), _) => Self::from_pkcs1(&seeded::rsa(context, bits)?),
        };
        key.ok_or_else(|| "the key could not be made".into())
    }

    /// A key from the system's randomness.
    pub(super) fn random(bits: Bits) -> Option<Self> {
        let size = match bits {
            Bits::B2048 => KeySize::Rsa2048,
            Bits::B4096 => KeySize::Rsa4096,
        };
        let pair = KeyPair::generate(size).ok()?;
        let pkcs8: Pkcs8V1Der<'_> = pair.as_der().ok()?;
        let info = PrivateKeyInfoRef::try_from(pkcs8.as_ref()).ok()?;
        let pkcs1 = Zeroizing::new(info.private_key.as_bytes().to_vec());
        Some(Self { pkcs1, pair })
    }

    /// Parses a key; `None` if it is malformed or inconsistent.
    pub(super) fn from_pkcs1(bytes: &[u8]) -> Option<Self> {
        let pair = KeyPair::from_der(bytes).ok()?;
        Some(Self {
            pkcs1: Zeroizing::new(bytes.to_vec()),
            pair,
        })
    }

    pub(super) fn pkcs1(&self) -> &[u8] {
        &self.pkcs1
    }

    /// The public key in PKCS #1's form.
    pub(super) fn public(&self) -> &[u8] {
        self.pair.public_key().as_ref()
    }

    /// PKCS #1's signature of SHA-256.
    pub(super) fn sign(&self, message: &[u8]) -> Option<Vec<u8>> {
        let mut out = vec![0; self.pair.public_modulus_len()];
        let signed = self
            .pair
            .sign(&RSA_PKCS1_SHA256, &SystemRandom::new(), message, &mut out);
        signed.is_ok().then_some(out)
    }
}
