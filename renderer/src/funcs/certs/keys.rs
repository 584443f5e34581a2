//! Private keys: made, read, written, and signing.

use std::sync::Arc;

use ::der::asn1::ObjectIdentifier;
use aws_lc_rs::rand::SystemRandom;
use aws_lc_rs::rsa;
use aws_lc_rs::signature::{Ed25519KeyPair, KeyPair as _, RSA_PKCS1_SHA256};

use super::super::Context;
use super::der::{self, Reader};
use super::ec::EcKey;
use super::{pem, prime};
use crate::template::Fault;

pub(super) const RSA: &[u8] = &[0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01, 0x01, 0x01];
const RSA_SHA256: &[u8] = &[0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01, 0x01, 0x0b];
const EC: &[u8] = &[0x2a, 0x86, 0x48, 0xce, 0x3d, 0x02, 0x01];
const ED25519: &[u8] = &[0x2b, 0x65, 0x70];
const NULL: &[u8] = &[0x05, 0x00];

/// A private key.
pub(super) enum Key {
    Rsa {
        pkcs1: Vec<u8>,
        /// Checked; none for a key that was made here, until it signs.
        pair: Option<Arc<rsa::KeyPair>>,
    },
    Ec(EcKey),
    Ed25519 {
        seed: Vec<u8>,
        pair: Ed25519KeyPair,
    },
    /// Its own form, which signs nothing here.
    Dsa(Vec<u8>),
}

/// The RSA key that was read last. Checking one costs as much as signing with it, and a CA's key mostly
/// signs twice: the CA itself, and what it is the CA of.
#[derive(Default)]
pub(in super::super) struct LastRsa(Option<(Vec<u8>, Arc<rsa::KeyPair>)>);

impl std::fmt::Debug for LastRsa {
    /// Not the key.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("LastRsa(..)")
    }
}

impl LastRsa {
    /// The key in PKCS #1's form, checked; none for one that is wrong.
    fn read(&mut self, pkcs1: &[u8]) -> Option<Arc<rsa::KeyPair>> {
        if let Some((last, pair)) = &self.0
            && last == pkcs1
        {
            return Some(Arc::clone(pair));
        }
        let pair = Arc::new(rsa::KeyPair::from_der(pkcs1).ok()?);
        self.0 = Some((pkcs1.to_vec(), Arc::clone(&pair)));
        Some(pair)
    }
}

fn failed() -> Fault {
    Fault::new("the key could not be made")
}

impl Key {
    /// An RSA key of so many bits.
    pub(super) fn rsa(context: &mut Context, bits: u64) -> Result<Self, Fault> {
        let pkcs1 = prime::rsa(context, bits)?;
        Ok(Self::Rsa { pkcs1, pair: None })
    }

    pub(super) fn dsa(context: &mut Context) -> Result<Self, Fault> {
        prime::dsa(context).map(Self::Dsa)
    }

    pub(super) fn ecdsa(context: &mut Context) -> Result<Self, Fault> {
        EcKey::generate(context).map(Self::Ec)
    }

    pub(super) fn ed25519(context: &mut Context) -> Result<Self, Fault> {
        let mut seed = vec![0; 32];
        context.random_bytes(&mut seed)?;
        Self::from_seed(seed).ok_or_else(failed)
    }

    fn from_pkcs1(last: &mut LastRsa, pkcs1: &[u8]) -> Option<Self> {
        let pair = Some(last.read(pkcs1)?);
        let pkcs1 = pkcs1.to_vec();
        Some(Self::Rsa { pkcs1, pair })
    }

    fn from_seed(seed: Vec<u8>) -> Option<Self> {
        let pair = Ed25519KeyPair::from_seed_unchecked(&seed).ok()?;
        Some(Self::Ed25519 { seed, pair })
    }

    fn from_pkcs8(last: &mut LastRsa, bytes: &[u8]) -> Option<Self> {
        let (algorithm, parameters, key) = pkcs8_content(bytes)?;
        match algorithm {
            RSA => Self::from_pkcs1(last, key),
            EC => {
                let curve = Reader(parameters).expect(der::OID)?;
                let curve = ObjectIdentifier::from_bytes(curve).ok()?;
                EcKey::from_sec1(key, Some(curve)).map(Self::Ec)
            }
            ED25519 => Self::from_seed(Reader(key).expect(der::OCTET_STRING)?.to_vec()),
            _ => None,
        }
    }

    /// The first key of a PEM text, with sprig's words for what is wrong with it.
    pub(super) fn from_pem(context: &mut Context, text: &str) -> Result<Self, String> {
        let block = pem::decode(text).ok_or("no PEM data in input")?;
        let bytes = &block.bytes;
        if block.label == "PRIVATE KEY" {
            return Self::from_pkcs8(&mut context.last_rsa, bytes)
                .ok_or_else(|| "decoding PEM as PKCS#8: x509: failed to parse private key".to_owned());
        }
        let Some(kind) = block.label.strip_suffix(" PRIVATE KEY") else {
            return Err(format!(
                "no private key data in PEM block of type {}",
                block.label
            ));
        };
        let key = match kind {
            "RSA" => Self::from_pkcs1(&mut context.last_rsa, bytes),
            "EC" => EcKey::from_sec1(bytes, None).map(Self::Ec),
            "DSA" => Reader(bytes).sequence().map(|_| Self::Dsa(bytes.clone())),
            _ => return Err(format!("invalid private key type {}", block.label)),
        };
        key.ok_or_else(|| format!("parsing {kind} private key from PEM: the key is malformed"))
    }

    /// As sprig writes it.
    pub(super) fn to_pem(&self) -> String {
        match self {
            Self::Rsa { pkcs1, .. } => pem::encode("RSA PRIVATE KEY", pkcs1),
            Self::Dsa(bytes) => pem::encode("DSA PRIVATE KEY", bytes),
            Self::Ec(key) => pem::encode("EC PRIVATE KEY", &key.to_sec1().unwrap_or_default()),
            Self::Ed25519 { seed, .. } => {
                let inner = der::value(der::OCTET_STRING, seed);
                let bytes = der::sequence(&[
                    &der::integer(&[]),
                    &der::sequence(&[&der::oid(ED25519)]),
                    &der::value(der::OCTET_STRING, &inner),
                ]);
                pem::encode("PRIVATE KEY", &bytes)
            }
        }
    }

    /// The public key's bits, as they stand in a certificate.
    pub(super) fn public(&self) -> Option<Vec<u8>> {
        match self {
            Self::Rsa { pkcs1, .. } => {
                let mut parts = Reader(pkcs1).sequence()?;
                parts.integer()?;
                let modulus = der::integer(parts.integer()?);
                Some(der::sequence(&[&modulus, &der::integer(parts.integer()?)]))
            }
            Self::Ec(key) => Some(key.public.clone()),
            Self::Ed25519 { pair, .. } => Some(pair.public_key().as_ref().to_vec()),
            Self::Dsa(_) => None,
        }
    }

    /// The public key with its algorithm, as it stands in a certificate.
    pub(super) fn public_info(&self) -> Option<Vec<u8>> {
        let algorithm = match self {
            Self::Rsa { .. } => der::sequence(&[&der::oid(RSA), NULL]),
            Self::Ec(key) => der::sequence(&[&der::oid(EC), &der::oid(key.curve.oid.as_bytes())]),
            Self::Ed25519 { .. } => der::sequence(&[&der::oid(ED25519)]),
            Self::Dsa(_) => return None,
        };
        Some(der::sequence(&[&algorithm, &der::bits(&self.public()?)]))
    }

    /// The algorithm of this key's signatures, as it stands in a certificate.
    pub(super) fn signature_algorithm(&self) -> Option<Vec<u8>> {
        Some(match self {
            Self::Rsa { .. } => der::sequence(&[&der::oid(RSA_SHA256), NULL]),
            Self::Ec(key) => der::sequence(&[&der::oid(key.curve.signature.as_bytes())]),
            Self::Ed25519 { .. } => der::sequence(&[&der::oid(ED25519)]),
            Self::Dsa(_) => return None,
        })
    }

    /// A signature.
    pub(super) fn sign(&self, context: &mut Context, message: &[u8]) -> Result<Vec<u8>, Fault> {
        let failed = || Fault::new("the signature could not be made");
        match self {
            Self::Rsa { pkcs1, pair } => {
                let pair = pair.clone().or_else(|| context.last_rsa.read(pkcs1));
                let pair = pair.ok_or_else(failed)?;
                let mut out = vec![0; pair.public_modulus_len()];
                pair.sign(&RSA_PKCS1_SHA256, &SystemRandom::new(), message, &mut out)
                    .map_err(|_| failed())?;
                Ok(out)
            }
            Self::Ed25519 { pair, .. } => Ok(pair.sign(message).as_ref().to_vec()),
            Self::Ec(key) => key.sign(message).ok_or_else(failed),
            Self::Dsa(_) => Err(failed()),
        }
    }
}

/// The algorithm, its parameters and the key of PKCS #8's form.
fn pkcs8_content(bytes: &[u8]) -> Option<(&[u8], &[u8], &[u8])> {
    let mut parts = Reader(bytes).sequence()?;
    parts.expect(der::INTEGER)?;
    let mut algorithm = parts.sequence()?;
    let name = algorithm.expect(der::OID)?;
    Some((name, algorithm.0, parts.expect(der::OCTET_STRING)?))
}
