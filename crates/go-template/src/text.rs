//! [`Str`]: Go's string, which is bytes that are usually UTF-8.

use std::borrow::{Borrow, Cow};
use std::cmp::Ordering;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

use super::memory::{Counted, SMALL_TEXT};

/// An immutable text. Cheap to clone. Invalid UTF-8 is kept: a text that was cut inside a character, or decoded from
/// base64, is printed unchanged.
#[derive(Clone)]
pub struct Str(Repr);

#[derive(Clone)]
enum Repr {
    /// A string of at most [`SMALL_TEXT`] bytes.
    Text(Arc<str>),
    Long(Arc<Counted<str>>),
    /// Never valid UTF-8.
    Bytes(Arc<Counted<[u8]>>),
}

impl Str {
    /// From bytes of any kind.
    pub fn from_bytes(bytes: impl Into<Vec<u8>>) -> Self {
        match String::from_utf8(bytes.into()) {
            Ok(text) => Self::from(text),
            Err(error) => Self::not_text(error.into_bytes().into()),
        }
    }

    /// A copy of bytes of any kind.
    pub fn copy_of(bytes: &[u8]) -> Self {
        match std::str::from_utf8(bytes) {
            Ok(text) => Self::from(text),
            Err(_) => Self::not_text(bytes.into()),
        }
    }

    fn not_text(bytes: Box<[u8]>) -> Self {
        Self(Repr::Bytes(Arc::new(Counted::new(bytes))))
    }

    fn long(text: Box<str>) -> Self {
        Self(Repr::Long(Arc::new(Counted::new(text))))
    }

    /// The bytes.
    pub fn as_bytes(&self) -> &[u8] {
        match &self.0 {
            Repr::Text(text) => text.as_bytes(),
            Repr::Long(text) => text.as_bytes(),
            Repr::Bytes(bytes) => bytes,
        }
    }

    /// The text, if it is UTF-8.
    pub fn as_str(&self) -> Option<&str> {
        match &self.0 {
            Repr::Text(text) => Some(text),
            Repr::Long(text) => Some(text),
            Repr::Bytes(_) => None,
        }
    }

    /// The text, with U+FFFD for each byte that is not UTF-8, as Go reads runes.
    pub fn to_text(&self) -> Cow<'_, str> {
        match &self.0 {
            Repr::Text(text) => Cow::Borrowed(text),
            Repr::Long(text) => Cow::Borrowed(text),
            Repr::Bytes(bytes) => Cow::Owned(decode(bytes)),
        }
    }

    /// The text as a shared string, with U+FFFD as in [`Str::to_text`].
    pub fn to_arc(&self) -> Arc<str> {
        match &self.0 {
            Repr::Text(text) => Arc::clone(text),
            Repr::Long(text) => Arc::from(&***text),
            Repr::Bytes(bytes) => decode(bytes).into(),
        }
    }

    /// The length in bytes.
    pub fn len(&self) -> usize {
        self.as_bytes().len()
    }

    /// Whether it has no bytes.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// A slice by bytes, clamped to its length; it may be cut inside a character.
    #[must_use]
    pub fn slice(&self, start: usize, end: usize) -> Self {
        let end = end.min(self.len());
        let start = start.min(end);
        match self.as_str().and_then(|text| text.get(start..end)) {
            Some(part) => Self::from(part),
            None => Self::from_bytes(self.as_bytes().get(start..end).unwrap_or_default()),
        }
    }
}

fn decode(bytes: &[u8]) -> String {
    let mut out = String::with_capacity(bytes.len());
    for chunk in bytes.utf8_chunks() {
        out.push_str(chunk.valid());
        out.extend(std::iter::repeat_n('\u{fffd}', chunk.invalid().len()));
    }
    out
}

impl Default for Str {
    fn default() -> Self {
        Self::from("")
    }
}

impl From<&str> for Str {
    #[inline]
    fn from(text: &str) -> Self {
        if text.len() > SMALL_TEXT {
            return Self::long(text.into());
        }
        Self(Repr::Text(text.into()))
    }
}

impl From<String> for Str {
    fn from(text: String) -> Self {
        if text.len() > SMALL_TEXT {
            return Self::long(text.into());
        }
        Self(Repr::Text(text.into()))
    }
}

impl From<Arc<str>> for Str {
    fn from(text: Arc<str>) -> Self {
        Self::from(&text)
    }
}

impl From<&Arc<str>> for Str {
    fn from(text: &Arc<str>) -> Self {
        if text.len() > SMALL_TEXT {
            return Self::from(&**text);
        }
        Self(Repr::Text(Arc::clone(text)))
    }
}

impl From<char> for Str {
    fn from(text: char) -> Self {
        Self::from(text.encode_utf8(&mut [0; 4]) as &str)
    }
}

impl PartialEq for Str {
    fn eq(&self, other: &Self) -> bool {
        self.as_bytes() == other.as_bytes()
    }
}

impl Eq for Str {}

impl PartialEq<str> for Str {
    fn eq(&self, other: &str) -> bool {
        self.as_bytes() == other.as_bytes()
    }
}

impl PartialEq<&str> for Str {
    fn eq(&self, other: &&str) -> bool {
        self.as_bytes() == other.as_bytes()
    }
}

impl Ord for Str {
    fn cmp(&self, other: &Self) -> Ordering {
        self.as_bytes().cmp(other.as_bytes())
    }
}

impl PartialOrd for Str {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Hash for Str {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.as_bytes().hash(state);
    }
}

impl Borrow<[u8]> for Str {
    fn borrow(&self) -> &[u8] {
        self.as_bytes()
    }
}

impl fmt::Display for Str {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.to_text())
    }
}

impl fmt::Debug for Str {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.to_text(), f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_cut_inside_a_character_keeps_its_bytes() {
        let cut = Str::from("aé").slice(0, 2);
        assert_eq!(cut.as_bytes(), b"a\xc3");
        assert_eq!(cut.as_str(), None);
        assert_eq!(cut.to_text(), "a\u{fffd}");
        assert_eq!(Str::from("aé").slice(1, 9), "é");
        assert_eq!(Str::from("abc").slice(5, 2), "");
    }

    #[test]
    fn each_invalid_byte_is_one_replacement_character() {
        assert_eq!(
            Str::from_bytes(*b"\xe2\x82x\xff").to_text(),
            "\u{fffd}\u{fffd}x\u{fffd}"
        );
    }
}
