//! Keys as cosign writes them: ECDSA P-256, the private one as PKCS#8 encrypted with scrypt and
//! NaCl's secretbox in a JSON document in a PEM block, the public one as SPKI in a PEM block.
//!
//! Source: cosign 3's `pkg/cosign/keys.go` and go-securesystemslib's `encrypted`.

use std::fmt;

use aws_lc_rs::encoding::{AsDer as _, PublicKeyX509Der};
use aws_lc_rs::rand::SystemRandom;
use aws_lc_rs::signature::{
    ECDSA_P256_SHA256_ASN1, ECDSA_P256_SHA256_ASN1_SIGNING, EcdsaKeyPair, KeyPair as _, UnparsedPublicKey,
};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use crypto_secretbox::aead::Aead as _;
use crypto_secretbox::{KeyInit as _, Nonce, XSalsa20Poly1305};
use der::asn1::ObjectIdentifier;
use pem_rfc7468::LineEnding;
use serde::{Deserialize, Serialize};
use sha2::Digest as _;
use spki::SubjectPublicKeyInfoRef;
use zeroize::Zeroizing;

use crate::diag::{Class, Diagnostic};
use crate::secret::Secret;

/// The maximum size of a key file, in bytes.
pub const MAX_KEY_FILE: usize = 64 << 10;

const PRIVATE: &str = "ENCRYPTED SIGSTORE PRIVATE KEY";
/// The PEM label of cosign 1.
const OLD_PRIVATE: &str = "ENCRYPTED COSIGN PRIVATE KEY";
const PUBLIC: &str = "PUBLIC KEY";
/// log₂ of scrypt's N in the three settings that cosign uses (r 8, p 1); others could take any time and memory.
const COSTS: [u8; 3] = [15, 16, 17];
/// The cost of new keys: cosign's own choice.
const COST: u8 = 16;
/// The cost with a random password: 256 random bits need no key stretching, so the memory of a higher cost would be
/// wasted.
const COST_OF_RANDOM: u8 = 15;
/// The number of random bytes of such a password.
const RANDOM_PASSWORD: usize = 32;
/// The size of secretbox's nonce, in bytes.
const NONCE: usize = 24;
const SALT: usize = 32;
const EC: ObjectIdentifier = ObjectIdentifier::new_unwrap("1.2.840.10045.2.1");
const P256: ObjectIdentifier = ObjectIdentifier::new_unwrap("1.2.840.10045.3.1.7");
/// The size of an uncompressed point of P-256, in bytes.
const POINT: usize = 65;

/// Why a key can't be used.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum KeyError {
    /// No PEM block of the expected kind.
    #[error("not a key in cosign's format: expected a PEM block {0:?}")]
    Pem(&'static str),
    /// A private key where a public one is expected.
    #[error("it is a private key, expected a public one")]
    Private,
    /// The document in the PEM block is invalid.
    #[error("its document is not one that cosign writes")]
    Document,
    /// Decryption failed: the two cannot be distinguished.
    #[error("its password is another one, or the file is damaged")]
    Password,
    /// It is not a P-256 key.
    #[error("it is of another kind: only ECDSA P-256 keys, as cosign generates them, are supported")]
    Kind,
    /// The system's random number generator failed.
    #[error("the system gives no random bytes")]
    Random,
}

impl KeyError {
    /// The diagnostic for the key file.
    pub fn diagnostic(self, place: &str) -> Diagnostic {
        let plain = Diagnostic::error(Class::Config, format!("the key {place} can't be used: {self}"));
        match self {
            Self::Pem(_) => plain.hint(
                "`solar-render generate-key-pair` makes a pair; `cosign import-key-pair` takes others over",
            ),
            Self::Private => plain.hint("signatures are verified with `cosign.pub`"),
            Self::Password => plain.hint("set COSIGN_PASSWORD, or use `--key-password-file`"),
            _ => plain,
        }
    }
}

/// A private key. `Debug` doesn't print it.
pub struct SigningKey {
    pair: EcdsaKeyPair,
    public: VerifyingKey,
}

/// A public key.
#[derive(Clone, PartialEq, Eq)]
pub struct VerifyingKey {
    spki: Vec<u8>,
    point: Vec<u8>,
}

/// A new pair, as files.
pub struct NewPair {
    /// `cosign.key`
    pub private: Secret,
    /// `cosign.pub`
    pub public: String,
}

/// A new pair with a generated password.
pub struct UnattendedPair {
    /// The pair.
    pub pair: NewPair,
    /// The private key's password.
    pub password: Secret,
}

#[derive(Serialize, Deserialize)]
struct EncryptedKeyFile {
    kdf: Kdf,
    cipher: Cipher,
    ciphertext: String,
}

#[derive(Serialize, Deserialize)]
struct Kdf {
    name: String,
    params: Params,
    salt: String,
}

#[derive(Serialize, Deserialize)]
struct Params {
    #[serde(rename = "N")]
    n: u64,
    r: u32,
    p: u32,
}

#[derive(Serialize, Deserialize)]
struct Cipher {
    name: String,
    nonce: String,
}

impl SigningKey {
    /// Reads a private key file.
    ///
    /// # Errors
    /// An invalid file, a wrong password, an unsupported kind of key.
    pub fn load(text: &[u8], password: &Secret) -> Result<Self, KeyError> {
        let text = std::str::from_utf8(text).map_err(|_| KeyError::Pem(PRIVATE))?;
        let body = [PRIVATE, OLD_PRIVATE]
            .iter()
            .find_map(|label| pem_body(text, label))
            .ok_or(KeyError::Pem(PRIVATE))?;
        let document: EncryptedKeyFile = serde_json::from_slice(&body).map_err(|_| KeyError::Document)?;
        let plain = open(&document, password)?;
        Self::from_pkcs8(&plain)
    }

    fn from_pkcs8(bytes: &[u8]) -> Result<Self, KeyError> {
        let pair = EcdsaKeyPair::from_pkcs8(&ECDSA_P256_SHA256_ASN1_SIGNING, bytes);
        let pair = pair.map_err(|_| KeyError::Kind)?;
        let spki: PublicKeyX509Der<'_> = pair.public_key().as_der().map_err(|_| KeyError::Kind)?;
        let public = VerifyingKey::from_spki(spki.as_ref().to_vec())?;
        Ok(Self { pair, public })
    }

    /// Generates a new pair, with the private key encrypted by this password.
    ///
    /// # Errors
    /// Only if the system's random number generator fails.
    pub fn generate(password: &Secret) -> Result<NewPair, KeyError> {
        Self::generate_at(password, COST)
    }

    /// Generates a new pair with a random password, for a program that stores both.
    ///
    /// # Errors
    /// Only if the system's random number generator fails.
    pub fn generate_unattended() -> Result<UnattendedPair, KeyError> {
        let mut random = Zeroizing::new([0; RANDOM_PASSWORD]);
        aws_lc_rs::rand::fill(&mut *random).map_err(|_| KeyError::Random)?;
        let password = Secret::new(BASE64.encode(random.as_slice()));
        let pair = Self::generate_at(&password, COST_OF_RANDOM)?;
        Ok(UnattendedPair { pair, password })
    }

    fn generate_at(password: &Secret, cost: u8) -> Result<NewPair, KeyError> {
        let pkcs8 = EcdsaKeyPair::generate_pkcs8(&ECDSA_P256_SHA256_ASN1_SIGNING, &SystemRandom::new())
            .map_err(|_| KeyError::Random)?;
        let key = Self::from_pkcs8(pkcs8.as_ref())?;
        let (mut salt, mut nonce) = ([0; SALT], [0; NONCE]);
        aws_lc_rs::rand::fill(&mut salt).map_err(|_| KeyError::Random)?;
        aws_lc_rs::rand::fill(&mut nonce).map_err(|_| KeyError::Random)?;
        let document = seal(pkcs8.as_ref(), password, cost, (&salt, &nonce))?;
        Ok(NewPair {
            private: Secret::new(to_pem(PRIVATE, document.as_bytes())?),
            public: to_pem(PUBLIC, &key.public.spki)?,
        })
    }

    /// An ASN.1 signature of SHA-256.
    ///
    /// # Errors
    /// Only if the system's random number generator fails.
    pub fn sign(&self, message: &[u8]) -> Result<Vec<u8>, KeyError> {
        let signature = self.pair.sign(&SystemRandom::new(), message);
        Ok(signature.map_err(|_| KeyError::Random)?.as_ref().to_vec())
    }

    /// Its public key.
    pub fn public(&self) -> &VerifyingKey {
        &self.public
    }
}

impl fmt::Debug for SigningKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "SigningKey({:?})", self.public)
    }
}

impl VerifyingKey {
    /// Reads a public key file.
    ///
    /// # Errors
    /// An invalid file, an unsupported kind of key.
    pub fn load(text: &[u8]) -> Result<Self, KeyError> {
        let text = std::str::from_utf8(text).map_err(|_| KeyError::Pem(PUBLIC))?;
        let Some(spki) = pem_body(text, PUBLIC) else {
            let private = text.contains("PRIVATE KEY-----");
            return Err(if private {
                KeyError::Private
            } else {
                KeyError::Pem(PUBLIC)
            });
        };
        Self::from_spki(spki)
    }

    fn from_spki(spki: Vec<u8>) -> Result<Self, KeyError> {
        let info = SubjectPublicKeyInfoRef::try_from(spki.as_slice()).map_err(|_| KeyError::Kind)?;
        info.algorithm.assert_oids(EC, P256).map_err(|_| KeyError::Kind)?;
        let point = info.subject_public_key.as_bytes();
        let point = point
            .filter(|point| point.len() == POINT)
            .ok_or(KeyError::Kind)?
            .to_vec();
        Ok(Self { spki, point })
    }

    /// Whether this key made the signature.
    pub fn verifies(&self, message: &[u8], signature: &[u8]) -> bool {
        UnparsedPublicKey::new(&ECDSA_P256_SHA256_ASN1, &self.point)
            .verify(message, signature)
            .is_ok()
    }

    /// The key hint of bundles: the SHA-256 of the SPKI, in base64.
    pub fn hint(&self) -> String {
        BASE64.encode(sha2::Sha256::digest(&self.spki))
    }
}

impl fmt::Debug for VerifyingKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.hint())
    }
}

/// The content of a PEM block, also if its line breaks are missing, as in variables of some CI systems.
fn pem_body(text: &str, label: &str) -> Option<Vec<u8>> {
    let (_, rest) = text.split_once(&format!("-----BEGIN {label}-----"))?;
    let (body, _) = rest.split_once(&format!("-----END {label}-----"))?;
    let body: String = body
        .chars()
        .filter(|character| !character.is_whitespace())
        .collect();
    BASE64.decode(body).ok()
}

fn to_pem(label: &str, body: &[u8]) -> Result<String, KeyError> {
    pem_rfc7468::encode_string(label, LineEnding::LF, body).map_err(|_| KeyError::Document)
}

/// The encryption key, derived from the password.
fn secretbox(password: &Secret, salt: &[u8], cost: u8) -> Result<XSalsa20Poly1305, KeyError> {
    let params = scrypt::Params::new(cost, 8, 1).map_err(|_| KeyError::Document)?;
    let mut key = Zeroizing::new([0; 32]);
    scrypt::scrypt(password.expose().as_bytes(), salt, &params, &mut *key).map_err(|_| KeyError::Document)?;
    XSalsa20Poly1305::new_from_slice(&*key).map_err(|_| KeyError::Document)
}

fn open(document: &EncryptedKeyFile, password: &Secret) -> Result<Zeroizing<Vec<u8>>, KeyError> {
    let EncryptedKeyFile {
        kdf,
        cipher,
        ciphertext,
    } = document;
    let cost = COSTS
        .into_iter()
        .find(|cost| kdf.params.n == 1 << cost && (kdf.params.r, kdf.params.p) == (8, 1));
    let cost = cost.filter(|_| kdf.name == "scrypt" && cipher.name == "nacl/secretbox");
    let bytes = |text: &str| BASE64.decode(text).map_err(|_| KeyError::Document);
    let secretbox = secretbox(password, &bytes(&kdf.salt)?, cost.ok_or(KeyError::Document)?)?;
    let nonce: [u8; NONCE] = bytes(&cipher.nonce)?.try_into().map_err(|_| KeyError::Document)?;
    let plain = secretbox.decrypt(&Nonce::from(nonce), bytes(ciphertext)?.as_slice());
    plain.map(Zeroizing::new).map_err(|_| KeyError::Password)
}

fn seal(
    plain: &[u8],
    password: &Secret,
    cost: u8,
    (salt, nonce): (&[u8], &[u8; NONCE]),
) -> Result<String, KeyError> {
    let secretbox = secretbox(password, salt, cost)?;
    let sealed = secretbox.encrypt(&Nonce::from(*nonce), plain);
    let document = EncryptedKeyFile {
        kdf: Kdf {
            name: "scrypt".to_owned(),
            params: Params {
                n: 1 << cost,
                r: 8,
                p: 1,
            },
            salt: BASE64.encode(salt),
        },
        cipher: Cipher {
            name: "nacl/secretbox".to_owned(),
            nonce: BASE64.encode(nonce),
        },
        ciphertext: BASE64.encode(sealed.map_err(|_| KeyError::Document)?),
    };
    serde_json::to_string(&document).map_err(|_| KeyError::Document)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Made by `cosign generate-key-pair` 3.1.3 with the password `pw`.
    const COSIGNS: &str = include_str!("../../testdata/signing/cosign.key");
    const COSIGNS_PUBLIC: &str = include_str!("../../testdata/signing/cosign.pub");

    #[test]
    fn cosigns_key_is_read_and_signs_for_its_public_half() {
        let key = SigningKey::load(COSIGNS.as_bytes(), &Secret::new("pw")).unwrap();
        let public = VerifyingKey::load(COSIGNS_PUBLIC.as_bytes()).unwrap();
        assert_eq!(*key.public(), public);
        assert_eq!(public.hint(), "i1ySySOnesdzIRATylthfuuYxy1SQfhRnlukm4qBR70=");
        let signature = key.sign(b"message").unwrap();
        assert!(public.verifies(b"message", &signature));
        assert!(!public.verifies(b"massage", &signature));
        let wrong = SigningKey::load(COSIGNS.as_bytes(), &Secret::new("no")).unwrap_err();
        assert_eq!(wrong, KeyError::Password);
    }

    #[test]
    fn a_new_pair_can_be_loaded_and_prints_no_secret() {
        let password = Secret::new("hunter2");
        let pair = SigningKey::generate(&password).unwrap();
        let key = SigningKey::load(pair.private.expose().as_bytes(), &password).unwrap();
        assert_eq!(*key.public(), VerifyingKey::load(pair.public.as_bytes()).unwrap());
        assert!(pair.private.expose().lines().all(|line| line.len() <= 64));
        assert!(!format!("{key:?}{:?}", pair.private).contains("PRIVATE"));
    }

    #[test]
    fn an_unattended_pair_has_a_generated_password() {
        let [one, other] = [(), ()].map(|()| SigningKey::generate_unattended().unwrap());
        assert!(one.password != other.password && one.password.expose().len() == 44);
        let private = one.pair.private.expose().as_bytes();
        let key = SigningKey::load(private, &one.password).unwrap();
        let public = VerifyingKey::load(one.pair.public.as_bytes()).unwrap();
        assert_eq!(*key.public(), public);
        assert_eq!(
            SigningKey::load(private, &other.password).unwrap_err(),
            KeyError::Password
        );
    }

    #[test]
    fn other_files_are_refused_with_the_reason() {
        let none = Secret::default();
        let costly = COSIGNS.replace("\n", "");
        assert_eq!(VerifyingKey::load(COSIGNS.as_bytes()), Err(KeyError::Private));
        assert_eq!(VerifyingKey::load(b"x"), Err(KeyError::Pem(PUBLIC)));
        assert_eq!(
            SigningKey::load(b"\xff", &none).unwrap_err(),
            KeyError::Pem(PRIVATE)
        );
        assert_eq!(
            SigningKey::load(COSIGNS_PUBLIC.as_bytes(), &none).unwrap_err(),
            KeyError::Pem(PRIVATE)
        );
        assert!(SigningKey::load(costly.as_bytes(), &Secret::new("pw")).is_ok());
        let document = |n: u64| {
            format!(
                r#"{{"kdf":{{"name":"scrypt","params":{{"N":{n},"r":8,"p":1}},"salt":""}},"cipher":{{"name":"nacl/secretbox","nonce":""}},"ciphertext":""}}"#
            )
        };
        for n in [0, 1 << 30, u64::MAX] {
            let text = to_pem(PRIVATE, document(n).as_bytes()).unwrap();
            assert_eq!(
                SigningKey::load(text.as_bytes(), &none).unwrap_err(),
                KeyError::Document
            );
        }
    }
}
