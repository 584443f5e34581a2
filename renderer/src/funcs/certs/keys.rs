//! Private keys: generating, parsing, encoding and signing.

use aws_lc_rs::signature::{Ed25519KeyPair, KeyPair as _};
use der::asn1::{Any, BitString, ObjectIdentifier, OctetStringRef, UintRef};
use der::{Decode as _, Encode as _};
use pkcs8::PrivateKeyInfoRef;
use spki::{AlgorithmIdentifierOwned, AlgorithmIdentifierRef, SubjectPublicKeyInfoOwned};
use zeroize::Zeroizing;

use super::super::Context;
use super::ec::EcKey;
use super::rsa_key::RsaKey;
use super::{pem, seeded};
use crate::template::FuncError;

const RSA: ObjectIdentifier = ObjectIdentifier::new_unwrap("1.2.840.113549.1.1.1");
const RSA_SHA256: ObjectIdentifier = ObjectIdentifier::new_unwrap("1.2.840.113549.1.1.11");
const EC: ObjectIdentifier = ObjectIdentifier::new_unwrap("1.2.840.10045.2.1");
const ED25519: ObjectIdentifier = ObjectIdentifier::new_unwrap("1.3.101.112");

/// A private key.
pub(super) enum Key {
    Rsa(RsaKey),
    Ec(EcKey),
    Ed25519 {
        seed: Zeroizing<Vec<u8>>,
        pair: Ed25519KeyPair,
    },
    /// In OpenSSL's format; it can't sign here.
    Dsa(Zeroizing<Vec<u8>>),
}

impl Key {
    pub(super) fn dsa(context: &mut Context) -> Result<Self, FuncError> {
        seeded::dsa(context).map(Self::Dsa)
    }

    pub(super) fn ecdsa(context: &mut Context) -> Result<Self, FuncError> {
        EcKey::generate(context).map(Self::Ec)
    }

    pub(super) fn ed25519(context: &mut Context) -> Result<Self, FuncError> {
        let mut seed = Zeroizing::new(vec![0; 32]);
        context.random_bytes(&mut seed)?;
        Self::from_seed(seed).ok_or_else(|| "the key could not be made".into())
    }

    fn from_seed(seed: Zeroizing<Vec<u8>>) -> Option<Self> {
        let pair = Ed25519KeyPair::from_seed_unchecked(&seed).ok()?;
        Some(Self::Ed25519 { seed, pair })
    }

    fn from_pkcs8(bytes: &[u8]) -> Option<Self> {
        let info = PrivateKeyInfoRef::try_from(bytes).ok()?;
        let key = info.private_key.as_bytes();
        match info.algorithm.oid {
            RSA => RsaKey::from_pkcs1(key).map(Self::Rsa),
            EC => EcKey::from_sec1(key, Some(info.algorithm.parameters_oid().ok()?)).map(Self::Ec),
            ED25519 => {
                let seed = <&OctetStringRef>::from_der(key).ok()?;
                Self::from_seed(Zeroizing::new(seed.as_bytes().to_vec()))
            }
            _ => None,
        }
    }

    fn from_dsa(bytes: &Zeroizing<Vec<u8>>) -> Option<Self> {
        // Version, p, q, g, y, x.
        let numbers: Vec<UintRef<'_>> = Vec::from_der(bytes).ok()?;
        (numbers.len() == 6).then(|| Self::Dsa(bytes.clone()))
    }

    /// The first key of a PEM text, or sprig's error message.
    pub(super) fn from_pem(text: &str) -> Result<Self, String> {
        let block = pem::decode(text).ok_or("no PEM data in input")?;
        let bytes = &block.bytes;
        if block.label == "PRIVATE KEY" {
            return Self::from_pkcs8(bytes)
                .ok_or_else(|| "decoding PEM as PKCS#8: x509: failed to parse private key".to_owned());
        }
        let Some(kind) = block.label.strip_suffix(" PRIVATE KEY") else {
            return Err(format!(
                "no private key data in PEM block of type {}",
                block.label
            ));
        };
        let key = match kind {
            "RSA" => RsaKey::from_pkcs1(bytes).map(Self::Rsa),
            "EC" => EcKey::from_sec1(bytes, None).map(Self::Ec),
            "DSA" => Self::from_dsa(bytes),
            _ => return Err(format!("invalid private key type {}", block.label)),
        };
        key.ok_or_else(|| format!("parsing {kind} private key from PEM: the key is malformed"))
    }

    /// The key in PEM, as sprig writes it.
    pub(super) fn to_pem(&self) -> Result<String, FuncError> {
        match self {
            Self::Rsa(key) => pem::encode("RSA PRIVATE KEY", key.pkcs1()),
            Self::Dsa(bytes) => pem::encode("DSA PRIVATE KEY", bytes),
            Self::Ec(key) => pem::encode("EC PRIVATE KEY", &key.to_sec1().map_err(unwritable)?),
            Self::Ed25519 { seed, .. } => {
                let bytes = ed25519_pkcs8(seed).map_err(unwritable)?;
                pem::encode("PRIVATE KEY", &bytes)
            }
        }
    }

    /// The public key for a certificate; `None` for DSA.
    pub(super) fn public_info(&self) -> Option<der::Result<SubjectPublicKeyInfoOwned>> {
        let (algorithm, bits) = match self {
            Self::Rsa(key) => (with_null(RSA), key.public()),
            Self::Ec(key) => {
                let curve = Any::from(key.curve.oid);
                (algorithm(EC, Some(curve)), key.public.as_slice())
            }
            Self::Ed25519 { pair, .. } => (algorithm(ED25519, None), pair.public_key().as_ref()),
            Self::Dsa(_) => return None,
        };
        Some(
            BitString::from_bytes(bits).map(|subject_public_key| SubjectPublicKeyInfoOwned {
                algorithm,
                subject_public_key,
            }),
        )
    }

    /// The algorithm of this key's signatures, as a certificate names it.
    pub(super) fn signature_algorithm(&self) -> Option<AlgorithmIdentifierOwned> {
        match self {
            Self::Rsa(_) => Some(with_null(RSA_SHA256)),
            Self::Ec(key) => Some(algorithm(key.curve.signature, None)),
            Self::Ed25519 { .. } => Some(algorithm(ED25519, None)),
            Self::Dsa(_) => None,
        }
    }

    /// A deterministic signature of a message.
    pub(super) fn sign(&self, message: &[u8]) -> Result<Vec<u8>, FuncError> {
        let signature = match self {
            Self::Rsa(key) => key.sign(message),
            Self::Ed25519 { pair, .. } => Some(pair.sign(message).as_ref().to_vec()),
            Self::Ec(key) => key.sign(message),
            Self::Dsa(_) => None,
        };
        signature.ok_or_else(|| "the signature could not be made".into())
    }
}

fn algorithm(oid: ObjectIdentifier, parameters: Option<Any>) -> AlgorithmIdentifierOwned {
    AlgorithmIdentifierOwned { oid, parameters }
}

fn with_null(oid: ObjectIdentifier) -> AlgorithmIdentifierOwned {
    algorithm(oid, Some(Any::null()))
}

fn ed25519_pkcs8(seed: &[u8]) -> der::Result<Zeroizing<Vec<u8>>> {
    let inner = Zeroizing::new(OctetStringRef::new(seed)?.to_der()?);
    let algorithm = AlgorithmIdentifierRef {
        oid: ED25519,
        parameters: None,
    };
    let info = PrivateKeyInfoRef::new(algorithm, OctetStringRef::new(&inner)?);
    info.to_der().map(Zeroizing::new)
}

fn unwritable(error: der::Error) -> FuncError {
    FuncError::new(format!("the key could not be written: {error}"))
}
