//! OpenPGP's public keys of version 4 (RFC 9580, sections 5.5 and 9), and what they verify: RSA, ECDSA on
//! NIST's curves, and Ed25519. Whether a key may be used is the keyring's business.

use aws_lc_rs::digest;
use aws_lc_rs::signature::{
    self, ED25519, EcdsaVerificationAlgorithm, RsaParameters, RsaPublicKeyComponents, UnparsedPublicKey,
};

use der::Encode as _;
use der::asn1::UintRef;

use super::packet::Reader;

/// A public key, perhaps of a packet that also holds the secret one.
#[derive(Debug, Clone)]
pub(super) struct PublicKey<'b> {
    /// The public part of the packet, which others sign.
    body: &'b [u8],
    /// In seconds of Unix time.
    pub(super) created: u32,
    pub(super) fingerprint: Vec<u8>,
    material: Material<'b>,
}

#[derive(Debug, Clone, Copy)]
enum Material<'b> {
    Rsa {
        n: &'b [u8],
        e: &'b [u8],
    },
    Ecdsa(Curve, &'b [u8]),
    /// With signatures of two numbers, as GnuPG makes them, or of 64 bytes.
    Ed25519 {
        key: &'b [u8],
        legacy: bool,
    },
    Unusable(&'static str),
}

#[derive(Debug, Clone, Copy)]
enum Curve {
    P256,
    P384,
    P521,
}

/// A hash function of OpenPGP.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Hash {
    Sha1,
    Sha256,
    Sha384,
    Sha512,
}

const P256_OID: &[u8] = &[0x2a, 0x86, 0x48, 0xce, 0x3d, 0x03, 0x01, 0x07];
const P384_OID: &[u8] = &[0x2b, 0x81, 0x04, 0x00, 0x22];
const P521_OID: &[u8] = &[0x2b, 0x81, 0x04, 0x00, 0x23];
const ED25519_OID: &[u8] = &[0x2b, 0x06, 0x01, 0x04, 0x01, 0xda, 0x47, 0x0f, 0x01];
/// The smallest modulus of RSA that is taken, in bytes.
const MIN_RSA: usize = 2048 / 8;

impl<'b> PublicKey<'b> {
    /// Reads a key packet. `None` for versions and damaged ones that can't be looked into.
    pub(super) fn parse(packet: &'b [u8]) -> Option<Self> {
        let mut reader = Reader(packet);
        if reader.u8()? != 4 {
            return None;
        }
        let created = reader.u32()?;
        let algorithm = reader.u8()?;
        let material = Material::read(algorithm, &mut reader)?;
        let body = packet.get(..packet.len() - reader.0.len())?;
        let hashed = [&framed(body)?[..], body].concat();
        let fingerprint = digest::digest(&digest::SHA1_FOR_LEGACY_USE_ONLY, &hashed);
        Some(Self {
            body,
            created,
            fingerprint: fingerprint.as_ref().to_vec(),
            material,
        })
    }

    /// As it is hashed by those who sign it.
    pub(super) fn hashed(&self) -> Vec<u8> {
        let head = framed(self.body).unwrap_or_default();
        [&head[..], self.body].concat()
    }

    /// Why the key can't verify anything here.
    pub(super) fn unusable(&self) -> Option<&'static str> {
        match self.material {
            Material::Unusable(reason) => Some(reason),
            Material::Rsa { n, .. } if significant(n).len() < MIN_RSA => {
                Some("RSA keys of less than 2,048 bits are not accepted")
            }
            _ => None,
        }
    }

    /// Whether this key made the signature, whose `values` are what follows in its packet.
    pub(super) fn verifies(&self, hash: Hash, message: &[u8], values: &[u8]) -> bool {
        self.check(hash, message, values).is_some()
    }

    fn check(&self, hash: Hash, message: &[u8], values: &[u8]) -> Option<()> {
        let mut reader = Reader(values);
        match self.material {
            Material::Rsa { n, e } => {
                let (n, e) = (significant(n), significant(e));
                let signature = padded(reader.integer()?, n.len())?;
                let key = RsaPublicKeyComponents { n, e };
                key.verify(hash.rsa(), message, &signature).ok()
            }
            Material::Ecdsa(curve, point) => {
                let numbers = [reader.integer()?, reader.integer()?].map(UintRef::new);
                let [r, s] = numbers;
                let signature = vec![r.ok()?, s.ok()?].to_der().ok()?;
                UnparsedPublicKey::new(curve.with(hash)?, point)
                    .verify(message, &signature)
                    .ok()
            }
            Material::Ed25519 { key, legacy } => {
                let signature = if legacy {
                    [padded(reader.integer()?, 32)?, padded(reader.integer()?, 32)?].concat()
                } else {
                    reader.take(64)?.to_vec()
                };
                let digest = digest::digest(hash.algorithm(), message);
                UnparsedPublicKey::new(&ED25519, key)
                    .verify(digest.as_ref(), &signature)
                    .ok()
            }
            Material::Unusable(_) => None,
        }
    }
}

impl<'b> Material<'b> {
    fn read(algorithm: u8, reader: &mut Reader<'b>) -> Option<Self> {
        Some(match algorithm {
            1..=3 => Self::Rsa {
                n: reader.integer()?,
                e: reader.integer()?,
            },
            16 => Self::after(reader, 3, "ElGamal keys don't sign")?,
            17 => Self::after(reader, 4, "DSA keys are not accepted: they are too old")?,
            18 => {
                let (_curve, _point, _derivation) =
                    (reader.counted(1)?, reader.integer()?, reader.counted(1)?);
                Self::Unusable("ECDH keys don't sign")
            }
            19 => {
                let (curve, point) = (reader.counted(1)?, reader.integer()?);
                match curve {
                    P256_OID => Self::Ecdsa(Curve::P256, point),
                    P384_OID => Self::Ecdsa(Curve::P384, point),
                    P521_OID => Self::Ecdsa(Curve::P521, point),
                    _ => Self::Unusable("of ECDSA's curves P-256, P-384 and P-521 are known"),
                }
            }
            22 => {
                let (curve, point) = (reader.counted(1)?, reader.integer()?);
                match point.strip_prefix(&[0x40]) {
                    Some(key) if curve == ED25519_OID => Self::Ed25519 { key, legacy: true },
                    _ => Self::Unusable("of EdDSA's curves Ed25519 is known"),
                }
            }
            25 => {
                reader.take(32)?;
                Self::Unusable("X25519 keys don't sign")
            }
            27 => Self::Ed25519 {
                key: reader.take(32)?,
                legacy: false,
            },
            _ => return None,
        })
    }

    fn after(reader: &mut Reader<'b>, integers: usize, reason: &'static str) -> Option<Self> {
        for _ in 0..integers {
            reader.integer()?;
        }
        Some(Self::Unusable(reason))
    }
}

impl Curve {
    fn with(self, hash: Hash) -> Option<&'static EcdsaVerificationAlgorithm> {
        Some(match (self, hash) {
            (_, Hash::Sha1) => return None,
            (Self::P256, Hash::Sha256) => &signature::ECDSA_P256_SHA256_ASN1,
            (Self::P256, Hash::Sha384) => &signature::ECDSA_P256_SHA384_ASN1,
            (Self::P256, Hash::Sha512) => &signature::ECDSA_P256_SHA512_ASN1,
            (Self::P384, Hash::Sha256) => &signature::ECDSA_P384_SHA256_ASN1,
            (Self::P384, Hash::Sha384) => &signature::ECDSA_P384_SHA384_ASN1,
            (Self::P384, Hash::Sha512) => &signature::ECDSA_P384_SHA512_ASN1,
            (Self::P521, Hash::Sha256) => &signature::ECDSA_P521_SHA256_ASN1,
            (Self::P521, Hash::Sha384) => &signature::ECDSA_P521_SHA384_ASN1,
            (Self::P521, Hash::Sha512) => &signature::ECDSA_P521_SHA512_ASN1,
        })
    }
}

impl Hash {
    /// By its number; `Err` names one that is not taken.
    pub(super) fn of(number: u8) -> Result<Self, String> {
        match number {
            2 => Ok(Self::Sha1),
            8 => Ok(Self::Sha256),
            9 => Ok(Self::Sha384),
            10 => Ok(Self::Sha512),
            1 => Err("MD5".to_owned()),
            3 => Err("RIPEMD-160".to_owned()),
            11 => Err("SHA-224".to_owned()),
            12 | 14 => Err("SHA-3".to_owned()),
            other => Err(format!("the hash function {other}")),
        }
    }

    fn algorithm(self) -> &'static digest::Algorithm {
        match self {
            Self::Sha1 => &digest::SHA1_FOR_LEGACY_USE_ONLY,
            Self::Sha256 => &digest::SHA256,
            Self::Sha384 => &digest::SHA384,
            Self::Sha512 => &digest::SHA512,
        }
    }

    fn rsa(self) -> &'static RsaParameters {
        match self {
            Self::Sha1 => &signature::RSA_PKCS1_2048_8192_SHA1_FOR_LEGACY_USE_ONLY,
            Self::Sha256 => &signature::RSA_PKCS1_2048_8192_SHA256,
            Self::Sha384 => &signature::RSA_PKCS1_2048_8192_SHA384,
            Self::Sha512 => &signature::RSA_PKCS1_2048_8192_SHA512,
        }
    }
}

/// What comes before a key's bytes when they are hashed.
fn framed(body: &[u8]) -> Option<[u8; 3]> {
    let [high, low] = u16::try_from(body.len()).ok()?.to_be_bytes();
    Some([0x99, high, low])
}

fn significant(number: &[u8]) -> &[u8] {
    let zeros = number.iter().take_while(|byte| **byte == 0).count();
    number.get(zeros..).unwrap_or_default()
}

/// A number at its full width: zeros at its front are not written.
fn padded(number: &[u8], width: usize) -> Option<Vec<u8>> {
    let number = significant(number);
    let mut out = vec![0; width.checked_sub(number.len())?];
    out.extend_from_slice(number);
    Some(out)
}
