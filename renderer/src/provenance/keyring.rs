//! A keyring: the trusted keys.

use pgp::packet::{PublicKey, SignatureType};
use pgp::types::{KeyDetails as _, Tag};

use super::certificate::Certificate;
use super::packets::{Packets, RawPacket};
use super::signature::is_by;
use super::{armor, keybox};

/// The maximum size of a keyring, in bytes.
pub const MAX_KEYRING: usize = 64 << 20;
/// The maximum number of packets of one key. Keys on key servers were once flooded with third-party signatures.
const MAX_PACKETS: usize = 65_536;
/// The first bytes of a key revocation signature: version and type.
const KEY_REVOCATION: [u8; 2] = [4, 0x20];

/// Why a file is no keyring.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum KeyringError {
    /// Neither packets, nor armor, nor a keybox.
    #[error("not a keyring: expected OpenPGP packets, their text form, or a keybox")]
    Form,
    /// Only other packets.
    #[error("it contains no key")]
    Empty,
    /// A key of more than `MAX_PACKETS`.
    #[error(
        "a key in it has more than {MAX_PACKETS} packets: `--export-options export-minimal` leaves out what others signed"
    )]
    Flooded,
}

/// Keys, as they are in a file.
#[derive(Clone)]
pub struct Keyring {
    packets: Vec<u8>,
}

impl std::fmt::Debug for Keyring {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        // It may contain secret keys.
        write!(f, "Keyring({} bytes)", self.packets.len())
    }
}

impl Keyring {
    /// Reads a keyring: as `gpg --export` and `gpg --export-secret-keys` write it, also with `--armor`, or GnuPG's
    /// pubring.kbx.
    ///
    /// # Errors
    /// Not a keyring, or one without keys.
    pub fn read(bytes: Vec<u8>) -> Result<Self, KeyringError> {
        let text = std::str::from_utf8(&bytes).ok();
        let packets = if keybox::is_keybox(&bytes) {
            keybox::packets(&bytes).ok_or(KeyringError::Form)?
        } else {
            text.and_then(armor::keys).unwrap_or(bytes)
        };
        let (mut keys, mut belonging) = (0_usize, 0);
        for packet in Packets(&packets) {
            let packet = packet.map_err(|_| KeyringError::Form)?;
            if packet.is_primary() {
                (keys, belonging) = (keys + 1, 0);
            }
            belonging += 1;
            if belonging > MAX_PACKETS {
                return Err(KeyringError::Flooded);
            }
        }
        match keys {
            0 => Err(KeyringError::Empty),
            _ => Ok(Self { packets }),
        }
    }

    /// The certificates that have a key with this fingerprint, or suffix of one.
    pub(super) fn with(&self, issuer: &[u8]) -> Vec<Certificate> {
        let has = |packet: RawPacket<'_>| {
            let is_key = packet.is_primary() || packet.is_subkey();
            let key = is_key.then(|| packet.key()).flatten();
            key.is_some_and(|(key, _)| key.fingerprint().as_bytes().ends_with(issuer))
        };
        let groups = self.groups().filter(|group| Packets(group).flatten().any(has));
        groups.filter_map(|group| self.certificate(group)).collect()
    }

    /// The certificates that have a user ID matching the predicate.
    pub(super) fn named(&self, is_meant: impl Fn(&str) -> bool) -> Vec<Certificate> {
        let is_meant = |packet: RawPacket<'_>| {
            packet.tag() == Tag::UserId && is_meant(&String::from_utf8_lossy(packet.body))
        };
        let groups = self
            .groups()
            .filter(|group| Packets(group).flatten().any(is_meant));
        groups.filter_map(|group| self.certificate(group)).collect()
    }

    fn certificate(&self, group: &[u8]) -> Option<Certificate> {
        let certificate = Certificate::read(group)?;
        let is_revoked = self.revokes(certificate.primary());
        Some(certificate.revoked_if(is_revoked))
    }

    /// Groups of packets: a primary key and all packets up to the next one.
    fn groups(&self) -> impl Iterator<Item = &[u8]> {
        let mut rest = self.packets.as_slice();
        std::iter::from_fn(move || {
            let mut packets = Packets(rest);
            packets.next()?.ok()?;
            loop {
                let before = packets;
                match packets.next() {
                    Some(Ok(packet)) if !packet.is_primary() => {}
                    _ => {
                        let (group, after) = rest.split_at_checked(rest.len() - before.0.len())?;
                        rest = after;
                        return Some(group);
                    }
                }
            }
        })
    }

    /// Whether any packet revokes a key: GnuPG writes a revocation to a separate file, which is then appended to the
    /// keyring, after its last key.
    fn revokes(&self, key: &PublicKey) -> bool {
        let signatures = Packets(&self.packets)
            .flatten()
            .filter(|one| one.tag() == Tag::Signature && one.body.starts_with(&KEY_REVOCATION));
        let mut revocations = signatures.filter_map(|one| one.signature());
        revocations.any(|one| {
            one.typ() == Some(SignatureType::KeyRevocation)
                && super::signature::issuer(&one).is_some()
                && is_by(&one, key)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_with_too_many_packets_is_refused() {
        let ring = |packets: usize| {
            let mut bytes = vec![0xc6, 0];
            bytes.extend([0xcd, 0].repeat(packets - 1));
            Keyring::read(bytes)
        };
        assert_eq!(ring(MAX_PACKETS + 1).err(), Some(KeyringError::Flooded));
        let ring = ring(MAX_PACKETS).unwrap();
        assert!(ring.with(&[1; 8]).is_empty());
    }
}
