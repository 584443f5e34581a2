//! Iterates over OpenPGP packets (RFC 9580, section 4), which are parsed on demand: a keyring may have many thousands
//! of keys, of which one is needed. Pure; the `pgp` crate parses the content of packets.

use pgp::packet::{Packet, PacketHeader, PublicKey, PublicSubkey, SecretKey, SecretSubkey, Signature};
use pgp::types::{PacketLength, Tag};

/// A packet that was not parsed.
#[derive(Clone, Copy)]
pub(super) struct RawPacket<'b> {
    header: PacketHeader,
    pub(super) body: &'b [u8],
}

/// The bytes are malformed or truncated.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Damaged;

/// The packets in a byte string. Partial and indeterminate lengths only occur in message packets, which no keyring has.
#[derive(Clone, Copy)]
pub(super) struct Packets<'b>(pub(super) &'b [u8]);

impl<'b> Packets<'b> {
    fn cut(&mut self) -> Option<RawPacket<'b>> {
        let mut rest = self.0;
        let header = PacketHeader::try_from_reader(&mut rest).ok()?;
        let PacketLength::Fixed(length) = header.packet_length() else {
            return None;
        };
        let (body, rest) = rest.split_at_checked(length.try_into().ok()?)?;
        self.0 = rest;
        Some(RawPacket { header, body })
    }
}

impl<'b> Iterator for Packets<'b> {
    type Item = Result<RawPacket<'b>, Damaged>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.0.is_empty() {
            return None;
        }
        let packet = self.cut().ok_or(Damaged);
        if packet.is_err() {
            self.0 = &[];
        }
        Some(packet)
    }
}

impl RawPacket<'_> {
    pub(super) fn tag(&self) -> Tag {
        self.header.tag()
    }

    /// Whether it is a primary key, which starts a new group.
    pub(super) fn is_primary(&self) -> bool {
        matches!(self.tag(), Tag::PublicKey | Tag::SecretKey)
    }

    pub(super) fn is_subkey(&self) -> bool {
        matches!(self.tag(), Tag::PublicSubkey | Tag::SecretSubkey)
    }

    /// Parses it; `None` if it is damaged or unknown.
    pub(super) fn parse(&self) -> Option<Packet> {
        Packet::from_reader(self.header, self.body).ok()
    }

    /// The key in a key packet, with its secret part if it has one.
    pub(super) fn key(&self) -> Option<(PublicKey, Option<SecretHalf>)> {
        match self.parse()? {
            Packet::PublicKey(key) => Some((key, None)),
            Packet::PublicSubkey(key) => Some((as_primary(&key)?, None)),
            Packet::SecretKey(key) => Some((key.public_key().clone(), Some(SecretHalf::Primary(key)))),
            Packet::SecretSubkey(key) => Some((as_primary(key.public_key())?, Some(SecretHalf::Subkey(key)))),
            _ => None,
        }
    }

    /// The signature in a signature packet.
    pub(super) fn signature(&self) -> Option<Signature> {
        match self.parse()? {
            Packet::Signature(signature) => Some(signature),
            _ => None,
        }
    }
}

/// The secret part of a key.
#[derive(Clone)]
pub(super) enum SecretHalf {
    Primary(SecretKey),
    Subkey(SecretSubkey),
}

/// Subkeys are hashed and used like primary keys, so one type is enough for both.
fn as_primary(key: &PublicSubkey) -> Option<PublicKey> {
    use pgp::packet::PubKeyInner;
    use pgp::types::KeyDetails as _;

    let params = key.public_params().clone();
    let inner = PubKeyInner::new(key.version(), key.algorithm(), key.created_at(), None, params);
    PublicKey::from_inner(inner.ok()?).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packets_have_lengths_of_old_and_new_forms() {
        let long = vec![7; 300];
        let mut bytes = vec![0x98, 2, 1, 2, 0x99, 0, 1, 9, 0xc2, 0];
        bytes.extend([0xcd, 192, 108]);
        bytes.extend(&long);
        bytes.extend([0xcd, 255, 0, 0, 0, 1, 5]);
        let found: Vec<RawPacket<'_>> = Packets(&bytes).map(Result::unwrap).collect();
        let shown: Vec<(Tag, &[u8])> = found.iter().map(|one| (one.tag(), one.body)).collect();
        assert_eq!(
            shown,
            [
                (Tag::PublicKey, &[1, 2][..]),
                (Tag::PublicKey, &[9]),
                (Tag::Signature, &[]),
                (Tag::UserId, &long),
                (Tag::UserId, &[5])
            ]
        );
        assert!(found.iter().take(3).all(|one| one.parse().is_none()));
    }

    #[test]
    fn what_is_cut_short_or_of_no_length_is_refused() {
        let bad: [&[u8]; 7] = [
            b"hello",
            &[0x98],
            &[0x98, 3, 1, 2],
            &[0x9b, 1],
            &[0xcd, 224, 1],
            &[0xcd, 255, 255, 255, 255, 255],
            &[0xcd, 192],
        ];
        for bytes in bad {
            assert!(Packets(bytes).any(|one| one.is_err()), "{bytes:x?}");
            assert!(Packets(bytes).count() < 3, "{bytes:x?}");
        }
    }
}
