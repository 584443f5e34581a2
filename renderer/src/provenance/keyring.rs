//! A keyring: whose keys there are, and which of them may sign today.

use super::packet::{self, Packet, packets};
use super::signature::{
    CERTIFICATIONS, DIRECT, KEY_REVOKED, PRIMARY, SUBKEY, SUBKEY_REVOKED, Signature, USER_REVOKED, date,
};
use super::{armor, key::PublicKey};

/// The largest keyring that is read, in bytes.
pub const MAX_KEYRING: usize = 64 << 20;

/// Why a file is no keyring.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum KeyringError {
    /// Neither packets, nor armor, nor a keybox.
    #[error("it is no keyring: neither OpenPGP packets, nor their text form, nor a keybox")]
    Form,
    /// Only other packets.
    #[error("there is no key in it")]
    Empty,
}

/// Public keys, as they are in a file.
#[derive(Clone)]
pub struct Keyring {
    packets: Vec<u8>,
}

impl std::fmt::Debug for Keyring {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        // It may be a ring of secret keys.
        write!(f, "Keyring({} bytes)", self.packets.len())
    }
}

/// A key with what belongs to it.
pub(super) struct Certificate<'b> {
    primary: PublicKey<'b>,
    /// About the primary key.
    direct: Vec<Signature<'b>>,
    users: Vec<User<'b>>,
    subkeys: Vec<Subkey<'b>>,
}

struct User<'b> {
    id: Packet<'b>,
    signatures: Vec<Signature<'b>>,
}

struct Subkey<'b> {
    /// `None`: one that is not known here.
    key: Option<PublicKey<'b>>,
    signatures: Vec<Signature<'b>>,
}

impl Keyring {
    /// Reads a keyring: as `gpg --export` writes it, also with `--armor`, or GnuPG's pubring.kbx.
    ///
    /// # Errors
    /// Another file, or one without keys.
    pub fn read(bytes: Vec<u8>) -> Result<Self, KeyringError> {
        let text = std::str::from_utf8(&bytes).ok();
        let packets = packet::keybox(&bytes)
            .or_else(|| armor::keys(text?))
            .unwrap_or(bytes);
        let ring = Self { packets };
        let found = packet::packets(&ring.packets).ok_or(KeyringError::Form)?;
        if found.iter().any(|one| is_primary(one.tag)) {
            Ok(ring)
        } else {
            Err(KeyringError::Empty)
        }
    }

    /// Everyone who has a key of this fingerprint, or end of one.
    pub(super) fn with(&self, issuer: &[u8]) -> Vec<Certificate<'_>> {
        let all = packets(&self.packets).unwrap_or_default();
        let revocations = revocations(&all);
        all.chunk_by(|_, next| !is_primary(next.tag))
            .filter(|group| group.iter().any(|one| is_key(one.tag) && has(one.body, issuer)))
            .filter_map(Certificate::of)
            .map(|certificate| certificate.with_revocations(&revocations))
            .collect()
    }
}

/// What revokes keys, wherever it is: GnuPG writes a revocation to a file of its own, which is then appended to the
/// keyring, behind whatever key is the last there.
fn revocations<'b>(all: &[Packet<'b>]) -> Vec<Signature<'b>> {
    let signatures = all.iter().filter(|one| one.tag == packet::SIGNATURE);
    let signatures = signatures.filter_map(|one| Signature::parse(one.body).ok());
    signatures
        .filter(|one| one.kind == KEY_REVOKED && one.issuer.is_some())
        .collect()
}

fn has(body: &[u8], issuer: &[u8]) -> bool {
    PublicKey::parse(body).is_some_and(|key| key.fingerprint.ends_with(issuer))
}

fn is_primary(tag: u8) -> bool {
    matches!(tag, packet::PUBLIC_KEY | packet::SECRET_KEY)
}

fn is_key(tag: u8) -> bool {
    is_primary(tag) || matches!(tag, packet::PUBLIC_SUBKEY | packet::SECRET_SUBKEY)
}

impl<'b> Certificate<'b> {
    /// Signatures belong to what comes before them; those that can't be read count for nothing.
    fn of(group: &[Packet<'b>]) -> Option<Self> {
        let (first, rest) = group.split_first()?;
        let mut all = Self {
            primary: PublicKey::parse(first.body)?,
            direct: Vec::new(),
            users: Vec::new(),
            subkeys: Vec::new(),
        };
        for one in rest {
            match one.tag {
                packet::USER_ID | packet::USER_ATTRIBUTE => all.users.push(User {
                    id: *one,
                    signatures: Vec::new(),
                }),
                packet::PUBLIC_SUBKEY | packet::SECRET_SUBKEY => all.subkeys.push(Subkey {
                    key: PublicKey::parse(one.body),
                    signatures: Vec::new(),
                }),
                packet::SIGNATURE => {
                    let list = match (all.subkeys.last_mut(), all.users.last_mut()) {
                        (Some(subkey), _) => &mut subkey.signatures,
                        (None, Some(user)) => &mut user.signatures,
                        (None, None) => &mut all.direct,
                    };
                    list.extend(Signature::parse(one.body));
                }
                _ => {}
            }
        }
        Some(all)
    }

    fn with_revocations(mut self, all: &[Signature<'b>]) -> Self {
        let own = all.iter().filter(|one| one.is_by(&self.primary)).cloned();
        self.direct.extend(own);
        self
    }

    /// The primary key's, which stands for all.
    pub(super) fn fingerprint(&self) -> &[u8] {
        &self.primary.fingerprint
    }

    /// The names on it that it has not taken back.
    pub(super) fn names(&self, now: u64) -> Vec<String> {
        let good = self
            .users
            .iter()
            .filter(|user| user.id.tag == packet::USER_ID && self.self_signature(user, now).is_some());
        good.map(|user| String::from_utf8_lossy(user.id.body).into_owned())
            .collect()
    }

    /// The keys of it that have this fingerprint, or end of one.
    pub(super) fn keys(&self, issuer: &[u8]) -> impl Iterator<Item = &PublicKey<'b>> {
        let subkeys = self.subkeys.iter().filter_map(|one| one.key.as_ref());
        std::iter::once(&self.primary)
            .chain(subkeys)
            .filter(move |key| key.fingerprint.ends_with(issuer))
    }

    /// Whether this key of it may sign data now. `Err` says why not.
    pub(super) fn may_sign(&self, key: &PublicKey<'_>, now: u64) -> Result<(), String> {
        let own = self.primary.hashed();
        if self
            .direct
            .iter()
            .any(|one| one.kind == KEY_REVOKED && one.is_by(&self.primary))
        {
            return Err("its key was revoked".to_owned());
        }
        let direct = self
            .direct
            .iter()
            .filter(|one| one.kind == DIRECT && one.fits(&self.primary, &own, now));
        let users = self
            .users
            .iter()
            .filter_map(|user| self.self_signature(user, now));
        let newest = direct.chain(users).max_by_key(|one| one.created);
        let newest = newest.ok_or("its key is not signed by itself")?;
        not_expired(&self.primary, newest, now)?;
        if key.fingerprint == self.primary.fingerprint {
            return allowed(newest.may_sign(true));
        }
        let subkeys = self.subkeys.iter().filter(|one| {
            one.key
                .as_ref()
                .is_some_and(|subkey| subkey.fingerprint == key.fingerprint)
        });
        subkeys
            .map(|subkey| self.subkey_may_sign(key, subkey, now))
            .reduce(Result::or)
            .unwrap_or_else(|| Err("its key is not there".to_owned()))
    }

    fn subkey_may_sign(&self, key: &PublicKey<'_>, subkey: &Subkey<'_>, now: u64) -> Result<(), String> {
        let own = [self.primary.hashed(), key.hashed()].concat();
        let list = &subkey.signatures;
        if list
            .iter()
            .any(|one| one.kind == SUBKEY_REVOKED && one.is_by(&self.primary))
        {
            return Err("its subkey was revoked".to_owned());
        }
        let newest = list
            .iter()
            .filter(|one| one.kind == SUBKEY && one.fits(&self.primary, &own, now))
            .max_by_key(|one| one.created);
        let newest = newest.ok_or("its subkey is not signed by its primary key")?;
        not_expired(key, newest, now)?;
        allowed(newest.may_sign(false))?;
        // Else anyone could take another's subkey for his own.
        let back = newest.back.and_then(|packet| Signature::parse(packet).ok());
        match back.filter(|back| back.kind == PRIMARY && back.fits(key, &own, now)) {
            Some(_) => Ok(()),
            None => Err("its subkey does not own up to its primary key".to_owned()),
        }
    }

    /// The newest by which the key calls this name its own, unless it took that back.
    fn self_signature<'c>(&self, user: &'c User<'b>, now: u64) -> Option<&'c Signature<'b>> {
        let length = u32::try_from(user.id.body.len()).ok()?.to_be_bytes();
        let mark = if user.id.tag == packet::USER_ID {
            0xb4
        } else {
            0xd1
        };
        let own = [&self.primary.hashed()[..], &[mark], &length, user.id.body].concat();
        let good: Vec<&Signature<'b>> = user
            .signatures
            .iter()
            .filter(|one| one.kind == USER_REVOKED || CERTIFICATIONS.contains(&one.kind))
            .filter(|one| one.issuer.is_some() && one.fits(&self.primary, &own, now))
            .collect();
        let newest = good
            .into_iter()
            .max_by_key(|one| (one.created, one.kind == USER_REVOKED))?;
        (newest.kind != USER_REVOKED).then_some(newest)
    }
}

fn allowed(may_sign: bool) -> Result<(), String> {
    if may_sign {
        Ok(())
    } else {
        Err("its key is not one for signing data".to_owned())
    }
}

fn not_expired(key: &PublicKey<'_>, signature: &Signature<'_>, now: u64) -> Result<(), String> {
    let end = signature.key_expires.filter(|seconds| *seconds > 0);
    match end.map(|seconds| u64::from(key.created) + u64::from(seconds)) {
        Some(end) if end <= now => Err(format!("its key expired on {}", date(end))),
        _ => Ok(()),
    }
}
