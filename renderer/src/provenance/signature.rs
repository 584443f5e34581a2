//! OpenPGP's signatures of version 4 (RFC 9580, section 5.2): what they say of themselves, and whether
//! they fit. Pure: the time is given.

use super::key::{Hash, PublicKey};
use super::packet::Reader;

/// Over the bytes of a document, or its lines.
pub(super) const BINARY: u8 = 0x00;
pub(super) const TEXT: u8 = 0x01;
/// Over a user, by whoever was how sure.
pub(super) const CERTIFICATIONS: std::ops::RangeInclusive<u8> = 0x10..=0x13;
/// Over a subkey by its primary key, and the other way round.
pub(super) const SUBKEY: u8 = 0x18;
pub(super) const PRIMARY: u8 = 0x19;
/// Over a key itself.
pub(super) const DIRECT: u8 = 0x1f;
/// These take back.
pub(super) const KEY_REVOKED: u8 = 0x20;
pub(super) const SUBKEY_REVOKED: u8 = 0x28;
pub(super) const USER_REVOKED: u8 = 0x30;

/// In the key flags: it may sign data.
const MAY_SIGN: u8 = 0x02;
/// How far ahead a signer's clock may be, in seconds.
const MAX_SKEW: u64 = 300;

/// A signature.
#[derive(Debug, Clone, Default)]
pub(super) struct Signature<'b> {
    pub(super) kind: u8,
    hash: u8,
    /// What is hashed of itself.
    head: &'b [u8],
    values: &'b [u8],
    pub(super) created: u32,
    /// After so many seconds.
    expires: Option<u32>,
    /// Its key does, so many seconds after that was made.
    pub(super) key_expires: Option<u32>,
    flags: Option<u8>,
    /// The end of the issuer's fingerprint, or more of it.
    pub(super) issuer: Option<&'b [u8]>,
    /// A subkey's own signature over the primary key.
    pub(super) back: Option<&'b [u8]>,
    /// Something that must be understood, and is not.
    critical: Option<u8>,
}

impl<'b> Signature<'b> {
    /// Reads a signature packet. `Err` says why it is not looked at.
    pub(super) fn parse(packet: &'b [u8]) -> Result<Self, String> {
        match packet.first() {
            Some(4) => Self::parse_4(packet).ok_or_else(|| "it is damaged".to_owned()),
            Some(version) => Err(format!("it is of version {version}, and only 4 is known")),
            None => Err("it is empty".to_owned()),
        }
    }

    fn parse_4(packet: &'b [u8]) -> Option<Self> {
        let mut reader = Reader(packet);
        let (_version, kind, _algorithm, hash) = (reader.u8()?, reader.u8()?, reader.u8()?, reader.u8()?);
        let hashed = reader.counted(2)?;
        let head = packet.get(..packet.len() - reader.0.len())?;
        let unhashed = reader.counted(2)?;
        let _beginning_of_hash = reader.take(2)?;
        let mut signature = Self {
            kind,
            hash,
            head,
            values: reader.0,
            ..Self::default()
        };
        signature.read(hashed, true)?;
        signature.read(unhashed, false)?;
        Some(signature)
    }

    /// Subpackets: those that nobody signed only help to find the key, or hold signatures themselves.
    fn read(&mut self, area: &'b [u8], signed: bool) -> Option<()> {
        let mut reader = Reader(area);
        while !reader.0.is_empty() {
            let length = match reader.u8()? {
                short @ 0..=191 => u32::from(short),
                long @ 192..=254 => ((u32::from(long) - 192) << 8) + u32::from(reader.u8()?) + 192,
                255 => reader.u32()?,
            };
            let mut content = Reader(reader.take(length.try_into().ok()?)?);
            let kind = content.u8()?;
            match kind & 0x7f {
                16 => self.issuer = self.issuer.or(Some(content.0)),
                33 => self.issuer = Some(content.0.get(1..)?),
                32 => self.back = Some(content.0),
                _ if !signed => {}
                2 => self.created = content.u32()?,
                3 => self.expires = Some(content.u32()?),
                9 => self.key_expires = Some(content.u32()?),
                27 => self.flags = Some(content.0.first().copied().unwrap_or_default()),
                // They change nothing about whether the signature is good.
                4..=7 | 11 | 12 | 21..=26 | 28..=31 | 34 | 35 | 39 => {}
                other if kind & 0x80 != 0 => self.critical = Some(other),
                _ => {}
            }
        }
        Some(())
    }

    /// Whether it says that its key may sign data; `by_default` where it says nothing.
    pub(super) fn may_sign(&self, by_default: bool) -> bool {
        self.flags.map_or(by_default, |flags| flags & MAY_SIGN != 0)
    }

    pub(super) fn is_by(&self, key: &PublicKey<'_>) -> bool {
        self.issuer.is_none_or(|issuer| key.fingerprint.ends_with(issuer))
    }

    /// Checks it against what it is about, with any hash function that is known: for a keyring's own
    /// signatures SHA-1 does, since whoever can write there needs no forgery.
    pub(super) fn fits(&self, key: &PublicKey<'_>, about: &[u8], now: u64) -> bool {
        self.is_by(key) && self.check(key, about, now, false).is_ok()
    }

    /// Checks it against a message.
    pub(super) fn check_message(&self, key: &PublicKey<'_>, message: &[u8], now: u64) -> Result<(), String> {
        if !matches!(self.kind, BINARY | TEXT) {
            return Err("it is not about a text".to_owned());
        }
        if let Some(reason) = key.unusable() {
            return Err(reason.to_owned());
        }
        self.check(key, message, now, true)
    }

    fn check(&self, key: &PublicKey<'_>, about: &[u8], now: u64, strict: bool) -> Result<(), String> {
        let hash = match Hash::of(self.hash) {
            Ok(Hash::Sha1) if strict => Err("SHA-1".to_owned()),
            other => other,
        };
        let hash = hash.map_err(|name| {
            format!("it is made with {name}, which is not taken: SHA-256, SHA-384 and SHA-512 are")
        })?;
        if let Some(kind) = self.critical {
            return Err(format!(
                "it says something that must be understood: subpacket {kind}"
            ));
        }
        let length = u32::try_from(self.head.len()).unwrap_or(u32::MAX);
        let message = [about, self.head, &[4, 0xff], &length.to_be_bytes()].concat();
        if !key.verifies(hash, &message, self.values) {
            return Err("it does not fit: the text or the signature was changed".to_owned());
        }
        let created = u64::from(self.created);
        if created > now.saturating_add(MAX_SKEW) {
            return Err(format!("it is of {}, which is not yet", date(created)));
        }
        if self.created < key.created {
            return Err(format!("it is of {}, and its key is younger", date(created)));
        }
        match self.expires.filter(|seconds| *seconds > 0) {
            Some(seconds) if created + u64::from(seconds) <= now => {
                Err(format!("it expired on {}", date(created + u64::from(seconds))))
            }
            _ => Ok(()),
        }
    }
}

/// A day, for people.
pub(super) fn date(seconds: u64) -> String {
    let time = i64::try_from(seconds)
        .ok()
        .and_then(|seconds| jiff::Timestamp::from_second(seconds).ok());
    time.map_or_else(
        || format!("second {seconds}"),
        |time| time.strftime("%Y-%m-%d").to_string(),
    )
}
