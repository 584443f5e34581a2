//! GnuPG's keyboxes: the format of pubring.kbx since GnuPG 2.1. Pure.
//!
//! Source: GnuPG's `kbx/keybox-blob.c`.

/// The magic of a keybox's first blob, at its eighth byte.
const MAGIC: &[u8] = b"KBXf";
/// A blob that holds OpenPGP packets.
const OPENPGP: u8 = 2;

/// Whether the file has the magic of a keybox.
pub(super) fn is_keybox(bytes: &[u8]) -> bool {
    bytes.get(8..12) == Some(MAGIC)
}

/// The OpenPGP packets in a keybox, `None` if it is damaged.
pub(super) fn packets(mut bytes: &[u8]) -> Option<Vec<u8>> {
    let mut all = Vec::new();
    while !bytes.is_empty() {
        // The length includes its own field.
        let (blob, rest) = bytes.split_at_checked(number(bytes, 0)?)?;
        if *blob.get(4)? == OPENPGP {
            let (start, length) = (number(blob, 8)?, number(blob, 12)?);
            all.extend_from_slice(blob.get(start..start.checked_add(length)?)?);
        }
        bytes = rest;
    }
    Some(all)
}

fn number(bytes: &[u8], at: usize) -> Option<usize> {
    let four = bytes.get(at..)?.first_chunk()?;
    usize::try_from(u32::from_be_bytes(*four)).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_damaged_keybox_is_refused_and_ends() {
        let mut head = vec![0, 0, 0, 32, 1, 1, 0, 2];
        head.extend(b"KBXf");
        head.resize(32, 0);
        assert!(is_keybox(&head));
        assert_eq!(packets(&head), Some(Vec::new()));
        for tail in [&[0u8, 0, 0, 0][..], &[0, 0, 0, 4], &[0, 0, 1, 0, 2], &[1]] {
            let bytes = [&head, tail].concat();
            assert_eq!(packets(&bytes), None, "{tail:x?}");
        }
        let far = [
            0, 0, 0, 16, 2, 1, 0, 0, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff,
        ];
        assert_eq!(packets(&[&head[..], &far].concat()), None);
        assert!(!is_keybox(b"KBXf"));
    }
}
