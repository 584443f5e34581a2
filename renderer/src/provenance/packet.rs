//! OpenPGP's packets cut apart (RFC 9580, section 4), also those in GnuPG's keyboxes. Pure; what is in a
//! packet is its reader's business.

/// A packet: what it is, and its content.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Packet<'b> {
    pub(super) tag: u8,
    pub(super) body: &'b [u8],
}

pub(super) const SIGNATURE: u8 = 2;
pub(super) const SECRET_KEY: u8 = 5;
pub(super) const PUBLIC_KEY: u8 = 6;
pub(super) const SECRET_SUBKEY: u8 = 7;
pub(super) const USER_ID: u8 = 13;
pub(super) const PUBLIC_SUBKEY: u8 = 14;
pub(super) const USER_ATTRIBUTE: u8 = 17;

/// What a keybox's first blob has at its eighth byte.
const KEYBOX_MAGIC: &[u8] = b"KBXf";
/// A blob that holds OpenPGP packets.
const KEYBOX_OPENPGP: u8 = 2;

/// Reads big-endian values one after the other; `None` where the bytes end.
#[derive(Debug, Clone, Copy)]
pub(super) struct Reader<'b>(pub(super) &'b [u8]);

impl<'b> Reader<'b> {
    pub(super) fn take(&mut self, length: usize) -> Option<&'b [u8]> {
        let (head, rest) = self.0.split_at_checked(length)?;
        self.0 = rest;
        Some(head)
    }

    pub(super) fn u8(&mut self) -> Option<u8> {
        self.number(1).and_then(|number| u8::try_from(number).ok())
    }

    pub(super) fn u32(&mut self) -> Option<u32> {
        self.number(4)
    }

    /// A number of `width` bytes, four at most.
    pub(super) fn number(&mut self, width: usize) -> Option<u32> {
        let bytes = self.take(width)?;
        Some(bytes.iter().fold(0, |sum, byte| sum << 8 | u32::from(*byte)))
    }

    /// As many bytes as a number of `width` bytes before them says.
    pub(super) fn counted(&mut self, width: usize) -> Option<&'b [u8]> {
        let length = self.number(width)?;
        self.take(length.try_into().ok()?)
    }

    /// A multiprecision integer: its length is in bits.
    pub(super) fn integer(&mut self) -> Option<&'b [u8]> {
        let bits = self.number(2)?;
        self.take(usize::try_from(bits.div_ceil(8)).ok()?)
    }
}

/// All packets, or `None` when the bytes are something else, or cut short.
pub(super) fn packets(bytes: &[u8]) -> Option<Vec<Packet<'_>>> {
    let mut reader = Reader(bytes);
    let mut all = Vec::new();
    while !reader.0.is_empty() {
        all.push(packet(&mut reader)?);
    }
    Some(all)
}

/// Of partial or unknown length are only packets that hold messages, which no keyring and no
/// signature does.
fn packet<'b>(reader: &mut Reader<'b>) -> Option<Packet<'b>> {
    let head = reader.u8()?;
    if head & 0x80 == 0 {
        return None;
    }
    if head & 0x40 == 0 {
        let width = match head & 3 {
            0 => 1,
            1 => 2,
            2 => 4,
            _ => return None,
        };
        let body = reader.counted(width)?;
        let tag = head >> 2 & 0x0f;
        return Some(Packet { tag, body });
    }
    let length = match reader.u8()? {
        short @ 0..=191 => u32::from(short),
        long @ 192..=223 => ((u32::from(long) - 192) << 8) + u32::from(reader.u8()?) + 192,
        255 => reader.u32()?,
        _ => return None,
    };
    let body = reader.take(length.try_into().ok()?)?;
    Some(Packet {
        tag: head & 0x3f,
        body,
    })
}

/// The packets of a keybox, `None` when it is none: what GnuPG 2.1 and later keep as pubring.kbx.
/// Source: GnuPG's `kbx/keybox-blob.c`.
pub(super) fn keybox(bytes: &[u8]) -> Option<Vec<u8>> {
    if bytes.get(8..12) != Some(KEYBOX_MAGIC) {
        return None;
    }
    let mut rest = Reader(bytes);
    let mut all = Vec::new();
    while !rest.0.is_empty() {
        let mut length = rest;
        let blob = rest.take(length.u32()?.try_into().ok()?)?;
        let mut fields = Reader(blob.get(4..)?);
        if fields.u8()? != KEYBOX_OPENPGP {
            continue;
        }
        let (_version_and_flags, offset, length) = (fields.take(3)?, fields.u32()?, fields.u32()?);
        let start = usize::try_from(offset).ok()?;
        let end = start.checked_add(length.try_into().ok()?)?;
        all.extend_from_slice(blob.get(start..end)?);
    }
    Some(all)
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
        let found = packets(&bytes).unwrap();
        let shown: Vec<(u8, &[u8])> = found.iter().map(|one| (one.tag, one.body)).collect();
        assert_eq!(
            shown,
            [
                (PUBLIC_KEY, &[1, 2][..]),
                (PUBLIC_KEY, &[9]),
                (SIGNATURE, &[]),
                (USER_ID, &long),
                (USER_ID, &[5])
            ]
        );
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
            assert_eq!(packets(bytes), None, "{bytes:x?}");
        }
    }

    #[test]
    fn a_damaged_keybox_is_refused_and_ends() {
        let mut head = vec![0, 0, 0, 32, 1, 1, 0, 2];
        head.extend(b"KBXf");
        head.resize(32, 0);
        assert_eq!(keybox(&head), Some(Vec::new()));
        for tail in [&[0u8, 0, 0, 0][..], &[0, 0, 0, 4], &[0, 0, 1, 0, 2], &[1]] {
            let bytes = [&head, tail].concat();
            assert_eq!(keybox(&bytes), None, "{tail:x?}");
        }
        let far = [
            0, 0, 0, 16, 2, 1, 0, 0, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff,
        ];
        assert_eq!(keybox(&[&head[..], &far].concat()), None);
        assert_eq!(keybox(b"KBXf"), None);
    }
}
