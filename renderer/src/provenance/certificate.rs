//! An OpenPGP certificate of a keyring, and which of its keys may sign at a given time. Pure: the time is a parameter.

use pgp::packet::{Packet, PublicKey, Signature, SignatureType, UserAttribute, UserId};
use pgp::types::{KeyDetails as _, KeyVersion, Tag};

use super::packets::{Packets, RawPacket, SecretHalf};
use super::signature::{created, date, fits, is_by, key_end, may_sign};

/// A primary key with its user IDs, subkeys and signatures.
pub(super) struct Certificate {
    primary: CertificateKey,
    is_revoked: bool,
    /// The signatures on the primary key.
    direct: Vec<Signature>,
    users: Vec<User>,
    subkeys: Vec<Subkey>,
}

/// A primary key or a subkey.
pub(super) struct CertificateKey {
    pub(super) public: PublicKey,
    pub(super) secret: Option<SecretHalf>,
}

struct User {
    id: Identity,
    signatures: Vec<Signature>,
}

/// A user ID or user attribute.
enum Identity {
    Name(UserId),
    Attribute(UserAttribute),
}

struct Subkey {
    /// `None`: an unsupported one.
    key: Option<CertificateKey>,
    signatures: Vec<Signature>,
}

impl CertificateKey {
    /// Only version 4 is supported.
    fn read(packet: RawPacket<'_>) -> Option<Self> {
        let (public, secret) = packet.key()?;
        (public.version() == KeyVersion::V4).then_some(Self { public, secret })
    }
}

impl Certificate {
    /// Signatures belong to the packet before them; malformed ones are ignored.
    pub(super) fn read(group: &[u8]) -> Option<Self> {
        let mut packets = Packets(group).flatten();
        let first = packets.next().filter(RawPacket::is_primary)?;
        let mut all = Self {
            primary: CertificateKey::read(first)?,
            is_revoked: false,
            direct: Vec::new(),
            users: Vec::new(),
            subkeys: Vec::new(),
        };
        // Otherwise signatures on an unreadable packet would count for the one before it.
        let mut is_skipped = false;
        for packet in packets {
            if packet.is_subkey() {
                all.subkeys.push(Subkey {
                    key: CertificateKey::read(packet),
                    signatures: Vec::new(),
                });
                continue;
            }
            match packet.tag() {
                Tag::UserId | Tag::UserAttribute => {
                    let id = Identity::read(packet);
                    is_skipped = id.is_none();
                    all.users.extend(id.map(|id| User {
                        id,
                        signatures: Vec::new(),
                    }));
                }
                Tag::Signature if !is_skipped || !all.subkeys.is_empty() => {
                    all.last().extend(packet.signature());
                }
                _ => {}
            }
        }
        Some(all)
    }

    /// The signatures of the last packet.
    fn last(&mut self) -> &mut Vec<Signature> {
        match (self.subkeys.last_mut(), self.users.last_mut()) {
            (Some(subkey), _) => &mut subkey.signatures,
            (None, Some(user)) => &mut user.signatures,
            (None, None) => &mut self.direct,
        }
    }

    pub(super) fn revoked_if(mut self, is_revoked: bool) -> Self {
        self.is_revoked |= is_revoked;
        self
    }

    /// The primary key.
    pub(super) fn primary(&self) -> &PublicKey {
        &self.primary.public
    }

    /// Its user IDs that are not revoked.
    pub(super) fn names(&self, now: u64) -> Vec<String> {
        let good = self.users.iter().filter_map(|user| match &user.id {
            Identity::Name(name) => self.self_signature(user, now).map(|_| name),
            Identity::Attribute(_) => None,
        });
        good.map(|name| String::from_utf8_lossy(name.id()).into_owned())
            .collect()
    }

    /// Its first user ID, whether or not it is signed.
    pub(super) fn first_name(&self) -> Option<String> {
        self.users.iter().find_map(|user| match &user.id {
            Identity::Name(name) => Some(String::from_utf8_lossy(name.id()).into_owned()),
            Identity::Attribute(_) => None,
        })
    }

    /// The primary key, then the subkeys.
    pub(super) fn keys(&self) -> impl Iterator<Item = &CertificateKey> {
        let subkeys = self.subkeys.iter().filter_map(|one| one.key.as_ref());
        std::iter::once(&self.primary).chain(subkeys)
    }

    /// Whether this key of the certificate may sign data now. `Err` is the reason why not.
    pub(super) fn may_sign(&self, key: &PublicKey, now: u64) -> Result<(), String> {
        let primary = self.primary();
        let is_revocation =
            |one: &&Signature| one.typ() == Some(SignatureType::KeyRevocation) && is_by(one, primary);
        if self.is_revoked || self.direct.iter().any(|one| is_revocation(&one)) {
            return Err("its key was revoked".to_owned());
        }
        let direct = self.direct.iter().filter(|one| {
            one.typ() == Some(SignatureType::Key) && fits(one, primary, now, |one| one.verify_key(primary))
        });
        let users = self
            .users
            .iter()
            .filter_map(|user| self.self_signature(user, now));
        let newest = direct.chain(users).max_by_key(|one| created(one));
        let newest = newest.ok_or("its key is not signed by itself")?;
        not_expired(primary, newest, now)?;
        if key.fingerprint() == primary.fingerprint() {
            return allowed(may_sign(newest, true));
        }
        let is_it = |one: &&Subkey| {
            let own = one.key.as_ref().map(|own| own.public.fingerprint());
            own == Some(key.fingerprint())
        };
        let subkeys = self.subkeys.iter().filter(is_it);
        subkeys
            .map(|subkey| self.subkey_may_sign(key, subkey, now))
            .reduce(Result::or)
            .unwrap_or_else(|| Err("its key is missing".to_owned()))
    }

    fn subkey_may_sign(&self, key: &PublicKey, subkey: &Subkey, now: u64) -> Result<(), String> {
        let primary = self.primary();
        let list = &subkey.signatures;
        if list
            .iter()
            .any(|one| one.typ() == Some(SignatureType::SubkeyRevocation) && is_by(one, primary))
        {
            return Err("its subkey was revoked".to_owned());
        }
        let binds = |one: &&Signature| {
            one.typ() == Some(SignatureType::SubkeyBinding)
                && fits(one, primary, now, |one| one.verify_subkey_binding(primary, key))
        };
        let newest = list.iter().filter(binds).max_by_key(|one| created(one));
        let newest = newest.ok_or("its subkey is not signed by its primary key")?;
        not_expired(key, newest, now)?;
        allowed(may_sign(newest, false))?;
        // Otherwise a key could claim another one's subkey.
        let back = newest.embedded_signature().filter(|back| {
            fits(back, key, now, |back| {
                back.verify_primary_key_binding(key, primary)
            })
        });
        match back {
            Some(_) => Ok(()),
            None => Err("its subkey did not sign its primary key".to_owned()),
        }
    }

    /// The newest self-signature of this user ID, unless it is revoked.
    fn self_signature<'c>(&self, user: &'c User, now: u64) -> Option<&'c Signature> {
        let primary = self.primary();
        let good = user.signatures.iter().filter(|one| {
            one.is_certification()
                && super::signature::issuer(one).is_some()
                && fits(one, primary, now, |one| user.id.verify(one, primary))
        });
        let is_taken_back = |one: &Signature| one.typ() == Some(SignatureType::CertRevocation);
        let newest = good.max_by_key(|one| (created(one), is_taken_back(one)))?;
        (!is_taken_back(newest)).then_some(newest)
    }
}

impl Identity {
    fn read(packet: RawPacket<'_>) -> Option<Self> {
        match packet.parse()? {
            Packet::UserId(id) => Some(Self::Name(id)),
            Packet::UserAttribute(attribute) => Some(Self::Attribute(attribute)),
            _ => None,
        }
    }

    fn verify(&self, signature: &Signature, key: &PublicKey) -> pgp::errors::Result<()> {
        match self {
            Self::Name(id) => signature.verify_certification(key, Tag::UserId, id),
            Self::Attribute(one) => signature.verify_certification(key, Tag::UserAttribute, one),
        }
    }
}

fn allowed(may_sign: bool) -> Result<(), String> {
    if may_sign {
        Ok(())
    } else {
        Err("its key is not one for signing data".to_owned())
    }
}

fn not_expired(key: &PublicKey, signature: &Signature, now: u64) -> Result<(), String> {
    match key_end(signature, key) {
        Some(end) if end <= now => Err(format!("its key expired on {}", date(end))),
        _ => Ok(()),
    }
}
