//! Signs archives: a provenance file as `helm package --sign` writes it.
//!
//! In: a keyring with a secret key, the passphrase, Chart.yaml as Helm stores it, the archive's name and digest, the
//! time. Out: the file. AWS-LC makes RSA signatures, in constant time; the `pgp` crate makes the others.

use std::fmt;
use std::time::SystemTime;

use aws_lc_rs::digest::{Digest as Hashed, SHA512};
use aws_lc_rs::rsa::KeyPair;
use aws_lc_rs::signature::RSA_PKCS1_SHA512;
use pgp::composed::{ArmorOptions, CleartextSignedMessage};
use pgp::crypto::hash::HashAlgorithm;
use pgp::packet::{PublicKey, Signature, SignatureConfig, SignatureType, Subpacket, SubpacketData};
use pgp::ser::Serialize as _;
use pgp::types::{
    KeyDetails as _, Mpi, Password, PlainSecretParams, PublicParams, S2kParams, SecretParams, SignatureBytes,
    SigningKey, StringToKey, Timestamp,
};
use rsa::pkcs1::EncodeRsaPrivateKey as _;
use rsa::{BoxedUint, RsaPrivateKey};
use zeroize::Zeroizing;

use super::certificate::{Certificate, CertificateKey};
use super::packets::SecretHalf;
use super::{Keyring, SEPARATOR, Signer, hexadecimal, seconds, signature};
use crate::reference::Digest;
use crate::value::{Map, Value};
use crate::yaml;

/// The hash function: Helm's choice.
const HASH: HashAlgorithm = HashAlgorithm::Sha512;
/// The maximum number of names in a message.
const MAX_NAMES: usize = 5;

/// Errors of signing with a keyring.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SignError {
    /// No user ID of a key contains the text.
    #[error("it has no key whose name contains {0:?}")]
    NoKey(String),
    /// The user IDs of several keys contain the text.
    #[error("more than one key has a name that contains {name:?}: {}", found.join(", "))]
    Ambiguous {
        /// The text.
        name: String,
        /// The user IDs of those keys.
        found: Vec<String>,
    },
    /// Only the public key is in the keyring.
    #[error("the secret half of the key of {0} is not in it")]
    Public(String),
    /// The key can't sign.
    #[error("the key of {name} can't sign: {reason}")]
    Unusable {
        /// The user ID of the key.
        name: String,
        /// Why.
        reason: String,
    },
    /// The passphrase doesn't decrypt the key.
    #[error("the passphrase of {0} is wrong")]
    Passphrase(String),
    /// OpenPGP can't represent the signature.
    #[error("the signature could not be made: {0}")]
    Failed(String),
}

/// A secret key, possibly encrypted with a passphrase. `Debug` doesn't print it.
pub struct LockedKey {
    name: String,
    signer: Signer,
    public: PublicKey,
    secret: SecretHalf,
}

/// A decrypted secret key. `Debug` doesn't print it.
pub struct ArchiveKey {
    signer: Signer,
    public: PublicKey,
    maker: Maker,
}

/// The implementation that signs a hash.
enum Maker {
    Rsa(Box<KeyPair>),
    Other(Box<SecretHalf>, Password),
}

impl fmt::Debug for LockedKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "LockedKey({})", self.name)
    }
}

impl fmt::Debug for ArchiveKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ArchiveKey({})", self.signer.fingerprint)
    }
}

impl LockedKey {
    /// Finds the key by Helm's rule: the one with exactly this user ID, else the only one whose user ID contains it.
    /// The signing key is the primary key or, if that may not sign, a subkey.
    ///
    /// # Errors
    /// There is no such key, there are several, or it can't sign.
    pub fn find(keyring: &Keyring, name: &str, now: SystemTime) -> Result<Self, SignError> {
        let mut found = keyring.named(|one| one == name);
        if found.is_empty() {
            found = keyring.named(|one| one.contains(name));
        }
        let now = seconds(now);
        match (found.pop(), found.is_empty()) {
            (None, _) => Err(SignError::NoKey(name.to_owned())),
            (Some(one), true) => Self::of(&one, now),
            (Some(last), false) => Err(SignError::Ambiguous {
                name: name.to_owned(),
                found: found.iter().chain([&last]).take(MAX_NAMES).map(shown).collect(),
            }),
        }
    }

    fn of(certificate: &Certificate, now: u64) -> Result<Self, SignError> {
        let name = shown(certificate);
        let secrets = certificate
            .keys()
            .filter(|key| key.secret.as_ref().is_some_and(SecretHalf::is_there));
        let may_sign = |key: &CertificateKey| match signature::unusable(&key.public) {
            Some(reason) => Err(reason.to_owned()),
            None => certificate.may_sign(&key.public, now),
        };
        let mut reason = None;
        for key in secrets {
            let Some(secret) = key.secret.clone() else {
                continue;
            };
            match may_sign(key) {
                Ok(()) => {
                    let signer = Signer {
                        names: certificate.names(now),
                        fingerprint: hexadecimal(certificate.primary().fingerprint().as_bytes()),
                    };
                    let public = key.public.clone();
                    return Ok(Self {
                        name,
                        signer,
                        public,
                        secret,
                    });
                }
                Err(why) => reason = reason.or(Some(why)),
            }
        }
        Err(match reason {
            Some(reason) => SignError::Unusable { name, reason },
            None => SignError::Public(name),
        })
    }

    /// The user ID of the key.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Whether it needs a passphrase.
    pub fn is_locked(&self) -> bool {
        self.secret.params().is_encrypted()
    }

    /// Decrypts it; a key without a passphrase accepts any.
    ///
    /// # Errors
    /// The passphrase is wrong, or the key's format is unsupported.
    pub fn unlock(self, passphrase: &str) -> Result<ArchiveKey, SignError> {
        let Self {
            name,
            signer,
            public,
            secret,
        } = self;
        let password = Password::from(passphrase);
        let opened = secret.open(&password, |params| match params {
            PlainSecretParams::RSA(key) => Ok(Some(rsa_pair(&public, &key.to_bytes()))),
            _ => Ok(None),
        });
        let unusable = |reason: &str| SignError::Unusable {
            name: name.clone(),
            reason: reason.to_owned(),
        };
        let maker = match opened {
            Ok(Some(Some(pair))) => Maker::Rsa(Box::new(pair)),
            Ok(Some(None)) => return Err(unusable("its numbers don't make an RSA key")),
            Ok(None) => Maker::Other(Box::new(secret), password),
            Err(pgp::errors::Error::Unsupported { .. } | pgp::errors::Error::Unimplemented { .. }) => {
                return Err(unusable("its secret half is in a form that is not known"));
            }
            Err(_) => return Err(SignError::Passphrase(name)),
        };
        Ok(ArchiveKey {
            signer,
            public,
            maker,
        })
    }
}

impl ArchiveKey {
    /// The user ID of the key.
    pub fn signer(&self) -> &Signer {
        &self.signer
    }

    /// The provenance file of an archive. `metadata` is Chart.yaml as Helm stores it, in JSON.
    ///
    /// # Errors
    /// The signature can't be made.
    pub fn provenance(
        &self,
        metadata: &Value,
        file: &str,
        digest: &Digest,
        now: SystemTime,
    ) -> Result<Vec<u8>, SignError> {
        let sum: Map = [(file.to_owned(), Value::from(digest.as_str()))]
            .into_iter()
            .collect();
        let sums: Map = [("files".to_owned(), Value::Map(sum))].into_iter().collect();
        let sums = yaml::write(&Value::Map(sums));
        let text = format!("{}{SEPARATOR}{sums}", yaml::write(metadata));
        let failed = |error: pgp::errors::Error| SignError::Failed(error.to_string());
        let signed = CleartextSignedMessage::new_many(&text, |text| Ok(vec![self.sign(text, now)?]));
        let signed = signed.and_then(|message| message.to_armored_bytes(ArmorOptions::default()));
        signed.map_err(failed)
    }

    /// Signs a text whose lines end in CR LF.
    fn sign(&self, text: &str, now: SystemTime) -> pgp::errors::Result<Signature> {
        let mut config = SignatureConfig::v4(SignatureType::Text, self.public.algorithm(), HASH);
        let time = Timestamp::from_secs(u32::try_from(seconds(now)).unwrap_or(u32::MAX));
        config.hashed_subpackets = vec![
            Subpacket::regular(SubpacketData::SignatureCreationTime(time))?,
            Subpacket::regular(SubpacketData::IssuerFingerprint(self.public.fingerprint()))?,
        ];
        config.unhashed_subpackets = vec![Subpacket::regular(SubpacketData::IssuerKeyId(
            self.public.legacy_key_id(),
        ))?];
        let mut hasher = HASH.new_hasher()?;
        hasher.update(without_trailing_space(text).as_bytes());
        let length = config.hash_signature_data(&mut hasher)?;
        hasher.update(&config.trailer(length)?);
        let hash = hasher.finalize();
        let begin = *hash.first_chunk().ok_or(pgp::errors::Error::InvalidKeyLength)?;
        let bytes = match &self.maker {
            Maker::Rsa(pair) => rsa_signature(pair, &hash).ok_or(pgp::errors::Error::InvalidKeyLength)?,
            Maker::Other(key, password) => key.sign(password, &hash)?,
        };
        Signature::from_config(config, begin, bytes)
    }
}

impl SecretHalf {
    /// GnuPG writes a stub for a secret that is stored elsewhere, such as on a smartcard.
    fn is_there(&self) -> bool {
        let SecretParams::Encrypted(params) = self.params() else {
            return true;
        };
        match params.string_to_key_params() {
            S2kParams::Aead { s2k, .. }
            | S2kParams::Cfb { s2k, .. }
            | S2kParams::MalleableCfb { s2k, .. } => !matches!(s2k, StringToKey::Private { .. }),
            S2kParams::Unprotected | S2kParams::LegacyCfb { .. } => true,
        }
    }

    fn params(&self) -> &SecretParams {
        match self {
            Self::Primary(key) => key.secret_params(),
            Self::Subkey(key) => key.secret_params(),
        }
    }

    fn sign(&self, password: &Password, hash: &[u8]) -> pgp::errors::Result<SignatureBytes> {
        match self {
            Self::Primary(key) => SigningKey::sign(key, password, HASH, hash),
            Self::Subkey(key) => SigningKey::sign(key, password, HASH, hash),
        }
    }

    fn open<T>(
        &self,
        password: &Password,
        work: impl FnOnce(&PlainSecretParams) -> pgp::errors::Result<T>,
    ) -> pgp::errors::Result<T> {
        match self {
            Self::Primary(key) => key.unlock(password, |_, params| work(params))?,
            Self::Subkey(key) => key.unlock(password, |_, params| work(params))?,
        }
    }
}

/// Trailing white space of lines is not signed: readers of the file drop it.
fn without_trailing_space(text: &str) -> String {
    let lines: Vec<&str> = text
        .split("\r\n")
        .map(|line| line.trim_end_matches([' ', '\t']))
        .collect();
    lines.join("\r\n")
}

/// The name of a key in messages: its first user ID.
fn shown(certificate: &Certificate) -> String {
    let fingerprint = || hexadecimal(certificate.primary().fingerprint().as_bytes());
    certificate
        .first_name()
        .map_or_else(fingerprint, |name| format!("{name:?}"))
}

/// A key pair for AWS-LC: `numbers` are d, p, q and u of OpenPGP.
fn rsa_pair(public: &PublicKey, numbers: &(Vec<u8>, Vec<u8>, Vec<u8>, Vec<u8>)) -> Option<KeyPair> {
    let PublicParams::RSA(params) = public.public_params() else {
        return None;
    };
    let bytes = params.to_bytes().ok()?;
    let mut bytes = bytes.as_slice();
    let n = Mpi::try_from_reader(&mut bytes).ok()?;
    let e = Mpi::try_from_reader(&mut bytes).ok()?;
    let (d, p, q, _) = numbers;
    let [n, e, d, p, q] = [n.as_ref(), e.as_ref(), d, p, q].map(BoxedUint::from_be_slice_vartime);
    let key = RsaPrivateKey::from_components(n, e, d, vec![p, q]).ok()?;
    let pkcs1 = Zeroizing::new(key.to_pkcs1_der().ok()?.as_bytes().to_vec());
    KeyPair::from_der(&pkcs1).ok()
}

fn rsa_signature(pair: &KeyPair, hash: &[u8]) -> Option<SignatureBytes> {
    let hash = Hashed::import_less_safe(hash, &SHA512).ok()?;
    let mut signature = vec![0; pair.public_modulus_len()];
    pair.sign_digest(&RSA_PKCS1_SHA512, &hash, &mut signature).ok()?;
    Some(SignatureBytes::Mpis(vec![Mpi::from_slice(&signature)]))
}

#[cfg(test)]
#[path = "sign_tests.rs"]
mod tests;
