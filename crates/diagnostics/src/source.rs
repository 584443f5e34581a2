//! Source texts and positions in them.
//!
//! A [`Source`] is one named text that a user wrote (a config, a Chart.yaml, a
//! template). A [`Span`] is a range of bytes in one source; a [`Location`] is both
//! together and is what a diagnostic carries. Nothing here knows files or terminals.

use std::borrow::Cow;
use std::fmt;
use std::ops::Range;
use std::sync::{Arc, OnceLock};

/// One named text. Cheap to share; line starts are found on first use.
pub struct Source {
    name: String,
    text: Arc<String>,
    /// The bytes that were not UTF-8, each with the offset of the U+FFFD that replaces it.
    raw: Arc<[(usize, Vec<u8>)]>,
    lines: OnceLock<Vec<usize>>,
}

/// A half-open range of byte offsets in one source.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Span {
    /// First byte.
    pub start: u32,
    /// One past the last byte.
    pub end: u32,
}

/// A human-readable position: line and column from 1, columns in characters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Position {
    /// Line, from 1.
    pub line: usize,
    /// Column in characters, from 1.
    pub column: usize,
}

/// A span and its text.
#[derive(Clone)]
pub struct Location {
    /// The text.
    pub source: Arc<Source>,
    /// The range in it.
    pub span: Span,
}

impl Source {
    /// Names a text. `name` is shown in messages: a path as the user gave it, or `<stdin>`.
    pub fn new(name: impl Into<String>, text: impl Into<String>) -> Arc<Self> {
        Self::sharing(name.into(), Arc::new(text.into()), Arc::default())
    }

    /// Names bytes: in the text U+FFFD replaces invalid UTF-8, and [`Source::bytes`] returns the original bytes.
    pub fn of_bytes(name: impl Into<String>, bytes: Vec<u8>) -> Arc<Self> {
        let bytes = match String::from_utf8(bytes) {
            Ok(text) => return Self::new(name, text),
            Err(error) => error.into_bytes(),
        };
        let (mut text, mut raw) = (String::with_capacity(bytes.len()), Vec::new());
        for chunk in bytes.utf8_chunks() {
            text.push_str(chunk.valid());
            if !chunk.invalid().is_empty() {
                raw.push((text.len(), chunk.invalid().to_vec()));
                text.push(char::REPLACEMENT_CHARACTER);
            }
        }
        Self::sharing(name.into(), Arc::new(text), raw.into())
    }

    fn sharing(name: String, text: Arc<String>, raw: Arc<[(usize, Vec<u8>)]>) -> Arc<Self> {
        Arc::new(Self {
            name,
            text,
            raw,
            lines: OnceLock::new(),
        })
    }

    /// The same text under another name; nothing is copied.
    pub fn renamed(&self, name: impl Into<String>) -> Arc<Self> {
        Self::sharing(name.into(), Arc::clone(&self.text), Arc::clone(&self.raw))
    }

    /// The span of the first invalid UTF-8.
    pub fn not_utf8(&self) -> Option<Span> {
        let (at, _) = self.raw.first()?;
        Some(Span::new(*at, at + char::REPLACEMENT_CHARACTER.len_utf8()))
    }

    /// The original bytes of a range of the text.
    pub fn bytes(&self, range: Range<usize>) -> Cow<'_, [u8]> {
        let text = self.text.as_bytes();
        let within = self.raw.iter().filter(|(at, _)| range.contains(at));
        let (mut out, mut done) = (Vec::new(), range.start);
        for (at, raw) in within {
            out.extend_from_slice(text.get(done..*at).unwrap_or_default());
            out.extend_from_slice(raw);
            done = at + char::REPLACEMENT_CHARACTER.len_utf8();
        }
        let rest = text.get(done..range.end).unwrap_or_default();
        if out.is_empty() {
            return Cow::Borrowed(rest);
        }
        out.extend_from_slice(rest);
        Cow::Owned(out)
    }

    /// The name for messages.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The whole text.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Line and column of a byte offset; offsets past the end mean the end.
    pub fn position(&self, offset: u32) -> Position {
        let offset = self.floor_char(offset as usize);
        let lines = self.line_starts();
        let index = lines.partition_point(|&start| start <= offset).saturating_sub(1);
        let start = lines.get(index).copied().unwrap_or(0);
        let column = self
            .text
            .get(start..offset)
            .map_or(0, |before| before.chars().count())
            + 1;
        Position {
            line: index + 1,
            column,
        }
    }

    /// The text of a span, cut to character boundaries.
    pub fn slice(&self, span: Span) -> &str {
        let range = self.range(span);
        self.text.get(range).unwrap_or("")
    }

    /// The byte range of a span, cut to the text and to character boundaries.
    pub fn range(&self, span: Span) -> Range<usize> {
        let start = self.floor_char(span.start as usize);
        let end = self.floor_char(span.end as usize).max(start);
        start..end
    }

    fn floor_char(&self, offset: usize) -> usize {
        self.text.floor_char_boundary(offset.min(self.text.len()))
    }

    fn line_starts(&self) -> &[usize] {
        self.lines.get_or_init(|| {
            let breaks = self.text.bytes().enumerate().filter(|(_, byte)| *byte == b'\n');
            std::iter::once(0)
                .chain(breaks.map(|(index, _)| index + 1))
                .collect()
        })
    }
}

impl fmt::Debug for Source {
    /// Only the name: a config may contain secrets, and texts are long.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Source")
            .field("name", &self.name)
            .finish_non_exhaustive()
    }
}

impl Span {
    /// Whether it is empty.
    pub fn is_empty(self) -> bool {
        self.start == self.end
    }

    /// A span from offsets; offsets beyond 4 GiB are clamped (the limits of texts are far below).
    pub fn new(start: usize, end: usize) -> Self {
        let cut = |offset: usize| u32::try_from(offset).unwrap_or(u32::MAX);
        Self {
            start: cut(start),
            end: cut(end),
        }
    }

    /// The smallest span that covers both.
    pub fn to(self, other: Self) -> Self {
        Self {
            start: self.start.min(other.start),
            end: self.end.max(other.end),
        }
    }
}

impl Location {
    /// A span in a text.
    pub fn new(source: &Arc<Source>, span: Span) -> Self {
        Self {
            source: Arc::clone(source),
            span,
        }
    }

    /// The position of its start.
    pub fn position(&self) -> Position {
        self.source.position(self.span.start)
    }
}

impl fmt::Display for Location {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Position { line, column } = self.position();
        write!(f, "{}:{line}:{column}", self.source.name())
    }
}

impl fmt::Debug for Location {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn positions_count_lines_and_characters_from_one() {
        let source = Source::new("t", "añb\ncd\n");
        let at = |offset| {
            let Position { line, column } = source.position(offset);
            (line, column)
        };
        assert_eq!(at(0), (1, 1));
        assert_eq!(at(3), (1, 3));
        assert_eq!(at(2), (1, 2), "inside a character means its start");
        assert_eq!(at(5), (2, 1));
        assert_eq!(at(8), (3, 1));
        assert_eq!(at(999), (3, 1), "past the end means the end");
    }

    #[test]
    fn bytes_that_are_not_utf8_are_kept() {
        let source = Source::of_bytes("t", b"a\xffb\xe2\x82c".to_vec());
        assert_eq!(source.text(), "a\u{fffd}b\u{fffd}c");
        assert_eq!(source.not_utf8(), Some(Span::new(1, 4)));
        assert_eq!(&*source.bytes(0..9), b"a\xffb\xe2\x82c");
        assert_eq!(&*source.renamed("u").bytes(0..4), b"a\xff");
        assert_eq!(&*source.bytes(4..5), b"b");
        let clean = Source::of_bytes("t", "a\u{fffd}".into());
        assert_eq!(
            (clean.not_utf8(), &*clean.bytes(0..4)),
            (None, "a\u{fffd}".as_bytes())
        );
    }

    #[test]
    fn a_debug_print_never_shows_the_text() {
        let source = Source::new("secret.yaml", "password: hunter2");
        assert!(!format!("{source:?}").contains("hunter2"));
    }
}
