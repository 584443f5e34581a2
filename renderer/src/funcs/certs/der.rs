//! DER (X.690), as much of it as keys and certificates need.

pub(crate) const INTEGER: u8 = 0x02;
pub(super) const BIT_STRING: u8 = 0x03;
pub(super) const OCTET_STRING: u8 = 0x04;
pub(super) const OID: u8 = 0x06;
pub(super) const SEQUENCE: u8 = 0x30;
pub(super) const SET: u8 = 0x31;

/// A value with its tag and length.
pub(super) fn value(tag: u8, content: &[u8]) -> Vec<u8> {
    let mut out = vec![tag];
    let length = content.len();
    match u8::try_from(length) {
        Ok(short @ 0..=0x7f) => out.push(short),
        _ => {
            let bytes = length.to_be_bytes();
            let zeros = bytes.iter().take_while(|byte| **byte == 0).count();
            out.push(0x80 | u8::try_from(bytes.len() - zeros).unwrap_or(0));
            out.extend_from_slice(bytes.get(zeros..).unwrap_or_default());
        }
    }
    out.extend_from_slice(content);
    out
}

pub(crate) fn sequence(parts: &[&[u8]]) -> Vec<u8> {
    value(SEQUENCE, &parts.concat())
}

/// A number that is not negative, of big-endian bytes.
pub(crate) fn integer(bytes: &[u8]) -> Vec<u8> {
    let zeros = bytes.iter().take_while(|byte| **byte == 0).count();
    let digits = bytes.get(zeros..).unwrap_or_default();
    let sign: &[u8] = match digits.first() {
        Some(0..=0x7f) => &[],
        _ => &[0],
    };
    value(INTEGER, &[sign, digits].concat())
}

/// Whole bytes as a bit string.
pub(super) fn bits(bytes: &[u8]) -> Vec<u8> {
    value(BIT_STRING, &[&[0], bytes].concat())
}

pub(super) fn oid(content: &[u8]) -> Vec<u8> {
    value(OID, content)
}

/// Reads one value after the other.
#[derive(Clone, Copy)]
pub(crate) struct Reader<'d>(pub(crate) &'d [u8]);

/// A value that was read.
#[derive(Clone, Copy)]
pub(crate) struct Found<'d> {
    pub(crate) tag: u8,
    pub(crate) content: &'d [u8],
    /// With tag and length.
    pub(crate) whole: &'d [u8],
}

impl<'d> Reader<'d> {
    pub(crate) fn next(&mut self) -> Option<Found<'d>> {
        let (tag, first) = (*self.0.first()?, *self.0.get(1)?);
        let (length, head) = if first < 0x80 {
            (usize::from(first), 2)
        } else {
            let count = usize::from(first & 0x7f);
            if count == 0 || count > 4 {
                return None;
            }
            let digits = self.0.get(2..2 + count)?;
            let length = digits
                .iter()
                .fold(0, |length, digit| length << 8 | usize::from(*digit));
            (length, 2 + count)
        };
        let end = head.checked_add(length)?;
        let found = Found {
            tag,
            content: self.0.get(head..end)?,
            whole: self.0.get(..end)?,
        };
        self.0 = self.0.get(end..)?;
        Some(found)
    }

    pub(super) fn expect(&mut self, tag: u8) -> Option<&'d [u8]> {
        self.next()
            .filter(|found| found.tag == tag)
            .map(|found| found.content)
    }

    /// The inside of the sequence that comes next.
    pub(crate) fn sequence(&mut self) -> Option<Self> {
        self.expect(SEQUENCE).map(Self)
    }

    /// The digits of a number that is not negative.
    pub(crate) fn integer(&mut self) -> Option<&'d [u8]> {
        let content = self.expect(INTEGER)?;
        match content {
            [] => None,
            [0, rest @ ..] => Some(rest),
            [first, ..] if *first >= 0x80 => None,
            _ => Some(content),
        }
    }
}
