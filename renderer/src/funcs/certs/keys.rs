//! Private keys: made, read, written, and signing.

use std::sync::Arc;

use aws_lc_rs::rand::SystemRandom;
use aws_lc_rs::signature::{
    ECDSA_P256_SHA256_ASN1_SIGNING, ECDSA_P384_SHA384_ASN1_SIGNING, ECDSA_P521_SHA512_ASN1_SIGNING,
    EcdsaKeyPair, EcdsaSigningAlgorithm, Ed25519KeyPair, KeyPair as _, RSA_PKCS1_SHA256,
};
use aws_lc_rs::{agreement, digest, rsa};

use super::super::Context;
use super::der::{self, Reader};
use super::{pem, prime};
use crate::template::Fault;

pub(super) const RSA: &[u8] = &[0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01, 0x01, 0x01];
const RSA_SHA256: &[u8] = &[0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01, 0x01, 0x0b];
const EC: &[u8] = &[0x2a, 0x86, 0x48, 0xce, 0x3d, 0x02, 0x01];
const ED25519: &[u8] = &[0x2b, 0x65, 0x70];
const NULL: &[u8] = &[0x05, 0x00];

/// An elliptic curve.
pub(super) struct Curve {
    oid: &'static [u8],
    /// Of a secret and of a coordinate, in bytes.
    size: usize,
    order: &'static [u8],
    agreement: &'static agreement::Algorithm,
    signing: &'static EcdsaSigningAlgorithm,
    hash: &'static digest::Algorithm,
    /// The signature's algorithm.
    signature: &'static [u8],
}

const P256: Curve = Curve {
    oid: &[0x2a, 0x86, 0x48, 0xce, 0x3d, 0x03, 0x01, 0x07],
    size: 32,
    order: b"\xff\xff\xff\xff\x00\x00\x00\x00\xff\xff\xff\xff\xff\xff\xff\xff\xbc\xe6\xfa\xad\xa7\x17\x9e\x84\xf3\xb9\xca\xc2\xfc\x63\x25\x51",
    agreement: &agreement::ECDH_P256,
    signing: &ECDSA_P256_SHA256_ASN1_SIGNING,
    hash: &digest::SHA256,
    signature: &[0x2a, 0x86, 0x48, 0xce, 0x3d, 0x04, 0x03, 0x02],
};

const P384: Curve = Curve {
    oid: &[0x2b, 0x81, 0x04, 0x00, 0x22],
    size: 48,
    order: b"\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xc7\x63\x4d\x81\xf4\x37\x2d\xdf\x58\x1a\x0d\xb2\x48\xb0\xa7\x7a\xec\xec\x19\x6a\xcc\xc5\x29\x73",
    agreement: &agreement::ECDH_P384,
    signing: &ECDSA_P384_SHA384_ASN1_SIGNING,
    hash: &digest::SHA384,
    signature: &[0x2a, 0x86, 0x48, 0xce, 0x3d, 0x04, 0x03, 0x03],
};

const P521: Curve = Curve {
    oid: &[0x2b, 0x81, 0x04, 0x00, 0x23],
    size: 66,
    order: b"\x01\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xfa\x51\x86\x87\x83\xbf\x2f\x96\x6b\x7f\xcc\x01\x48\xf7\x09\xa5\xd0\x3b\xb5\xc9\xb8\x89\x9c\x47\xae\xbb\x6f\xb7\x1e\x91\x38\x64\x09",
    agreement: &agreement::ECDH_P521,
    signing: &ECDSA_P521_SHA512_ASN1_SIGNING,
    hash: &digest::SHA512,
    signature: &[0x2a, 0x86, 0x48, 0xce, 0x3d, 0x04, 0x03, 0x04],
};

static CURVES: [Curve; 3] = [P256, P384, P521];

/// A private key.
pub(super) enum Key {
    Rsa {
        pkcs1: Vec<u8>,
        /// Checked; none for a key that was made here, until it signs.
        pair: Option<Arc<rsa::KeyPair>>,
    },
    Ec {
        curve: &'static Curve,
        secret: Vec<u8>,
        /// The point, uncompressed.
        public: Vec<u8>,
    },
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
        let curve = &CURVES[0];
        let (secret, public) = point(context, curve)?;
        Ok(Self::Ec {
            curve,
            secret,
            public,
        })
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

    fn from_secret(curve: &'static Curve, secret: &[u8]) -> Option<Self> {
        let missing = curve.size.checked_sub(secret.len())?;
        let secret = [vec![0; missing], secret.to_vec()].concat();
        let private = agreement::PrivateKey::from_private_key(curve.agreement, &secret).ok()?;
        let public = private.compute_public_key().ok()?.as_ref().to_vec();
        Some(Self::Ec {
            curve,
            secret,
            public,
        })
    }

    /// SEC 1's form; the curve may be known from around it.
    fn from_sec1(bytes: &[u8], curve: Option<&[u8]>) -> Option<Self> {
        let mut parts = Reader(bytes).sequence()?;
        parts.integer()?;
        let secret = parts.expect(der::OCTET_STRING)?;
        let named = parts.next().filter(|found| found.tag == 0xa0);
        let named = named.and_then(|found| Reader(found.content).expect(der::OID));
        let name = curve.or(named)?;
        let curve = CURVES.iter().find(|curve| curve.oid == name)?;
        Self::from_secret(curve, secret)
    }

    fn from_pkcs8(last: &mut LastRsa, bytes: &[u8]) -> Option<Self> {
        let (algorithm, parameters, key) = pkcs8_content(bytes)?;
        match algorithm {
            RSA => Self::from_pkcs1(last, key),
            EC => Self::from_sec1(key, Reader(parameters).expect(der::OID)),
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
            "EC" => Self::from_sec1(bytes, None),
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
            Self::Ec {
                curve,
                secret,
                public,
            } => {
                let bytes = der::sequence(&[
                    &der::integer(&[1]),
                    &der::value(der::OCTET_STRING, secret),
                    &der::value(0xa0, &der::oid(curve.oid)),
                    &der::value(0xa1, &der::bits(public)),
                ]);
                pem::encode("EC PRIVATE KEY", &bytes)
            }
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
            Self::Ec { public, .. } => Some(public.clone()),
            Self::Ed25519 { pair, .. } => Some(pair.public_key().as_ref().to_vec()),
            Self::Dsa(_) => None,
        }
    }

    /// The public key with its algorithm, as it stands in a certificate.
    pub(super) fn public_info(&self) -> Option<Vec<u8>> {
        let algorithm = match self {
            Self::Rsa { .. } => der::sequence(&[&der::oid(RSA), NULL]),
            Self::Ec { curve, .. } => der::sequence(&[&der::oid(EC), &der::oid(curve.oid)]),
            Self::Ed25519 { .. } => der::sequence(&[&der::oid(ED25519)]),
            Self::Dsa(_) => return None,
        };
        Some(der::sequence(&[&algorithm, &der::bits(&self.public()?)]))
    }

    /// The algorithm of this key's signatures, as it stands in a certificate.
    pub(super) fn signature_algorithm(&self) -> Option<Vec<u8>> {
        Some(match self {
            Self::Rsa { .. } => der::sequence(&[&der::oid(RSA_SHA256), NULL]),
            Self::Ec { curve, .. } => der::sequence(&[&der::oid(curve.signature)]),
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
            Self::Ec { curve, secret, .. } if context.seed.is_some() => loop {
                let hash = digest::digest(curve.hash, message);
                let (nonce, point) = point(context, curve)?;
                let x = point.get(1..=curve.size).unwrap_or_default();
                if let Some(signature) = prime::ecdsa(curve.order, secret, &nonce, x, hash.as_ref()) {
                    return Ok(signature);
                }
            },
            Self::Ec {
                curve,
                secret,
                public,
            } => EcdsaKeyPair::from_private_key_and_public_key(curve.signing, secret, public)
                .ok()
                .and_then(|pair| pair.sign(&SystemRandom::new(), message).ok())
                .map(|signature| signature.as_ref().to_vec())
                .ok_or_else(failed),
            Self::Dsa(_) => Err(failed()),
        }
    }
}

/// A secret of a curve, and its point.
fn point(context: &mut Context, curve: &'static Curve) -> Result<(Vec<u8>, Vec<u8>), Fault> {
    loop {
        let mut secret = vec![0; curve.size];
        context.random_bytes(&mut secret)?;
        // P-521 has a bit more than its whole bytes.
        let spare = curve.order.first().map_or(0, |byte| byte.leading_zeros());
        if let Some(first) = secret.first_mut() {
            *first >>= spare;
        }
        // What is not below the order is refused.
        if let Some(Key::Ec { secret, public, .. }) = Key::from_secret(curve, &secret) {
            return Ok((secret, public));
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
