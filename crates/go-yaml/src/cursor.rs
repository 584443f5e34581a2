//! A position in a text, and the classes of its characters in YAML.
//!
//! The text has no NUL (see `forbidden`), so byte 0 represents its end.

/// A set of bytes, as a table: every byte of every text is looked up.
struct Bytes([bool; 256]);

impl Bytes {
    const fn new(ranges: &[(u8, u8)]) -> Self {
        let mut table = [false; 256];
        let mut rest = ranges;
        while let [(first, last), others @ ..] = rest {
            let mut byte = *first as usize;
            while byte <= *last as usize {
                table[byte] = true;
                byte += 1;
            }
            rest = others;
        }
        Self(table)
    }

    #[inline]
    fn has(&self, byte: u8) -> bool {
        self.0[usize::from(byte)]
    }
}

/// Bytes without a special meaning inside of scalars of any kind.
static LETTERS: Bytes = Bytes::new(&[
    (b'a', b'z'),
    (b'A', b'Z'),
    (b'-', b'9'),
    (b'_', b'_'),
    (b'$', b'&'),
    (b'(', b'+'),
    (b';', b'>'),
]);

/// Bytes that can begin a character that YAML forbids.
static SUSPICIOUS: Bytes = Bytes::new(&[
    (0, 8),
    (0xb, 0xc),
    (0xe, 0x1f),
    (0x7f, 0x7f),
    (0xc2, 0xc2),
    (0xef, 0xef),
]);

/// The end of the text.
pub(super) const END: u8 = 0;

/// The byte order mark. Elsewhere than at the start it is a character like any other.
const BOM: char = '\u{feff}';

/// A position in the text; columns count characters.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Mark {
    pub(super) offset: usize,
    pub(super) line: usize,
    pub(super) column: usize,
}

pub(super) struct Cursor<'a> {
    pub(super) text: &'a str,
    pub(super) at: Mark,
}

impl<'a> Cursor<'a> {
    /// At the start of a text, after its byte order mark if it has one.
    pub(super) fn new(text: &'a str) -> Self {
        let offset = if text.starts_with(BOM) { BOM.len_utf8() } else { 0 };
        let at = Mark {
            offset,
            ..Mark::default()
        };
        Self { text, at }
    }

    /// The byte some bytes ahead.
    #[inline]
    pub(super) fn byte(&self, ahead: usize) -> u8 {
        let index = self.at.offset + ahead;
        self.text.as_bytes().get(index).copied().unwrap_or(END)
    }

    /// The character here.
    pub(super) fn character(&self) -> Option<char> {
        self.rest().chars().next()
    }

    pub(super) fn rest(&self) -> &'a str {
        self.text.get(self.at.offset..).unwrap_or("")
    }

    /// The text from an offset to here.
    pub(super) fn since(&self, start: usize) -> &'a str {
        self.text.get(start..self.at.offset).unwrap_or("")
    }

    /// The length of the line break some bytes ahead; 0 if there is none.
    #[inline]
    pub(super) fn break_length(&self, ahead: usize) -> usize {
        match self.byte(ahead) {
            b'\n' => 1,
            b'\r' if self.byte(ahead + 1) == b'\n' => 2,
            b'\r' => 1,
            0xc2 if self.byte(ahead + 1) == 0x85 => 2,
            0xe2 if self.byte(ahead + 1) == 0x80 && matches!(self.byte(ahead + 2), 0xa8 | 0xa9) => 3,
            _ => 0,
        }
    }

    #[inline]
    pub(super) fn is_end(&self) -> bool {
        self.byte(0) == END
    }

    #[inline]
    pub(super) fn is_break(&self) -> bool {
        self.break_length(0) > 0
    }

    /// A space or a tab.
    #[inline]
    pub(super) fn is_blank(&self, ahead: usize) -> bool {
        matches!(self.byte(ahead), b' ' | b'\t')
    }

    /// A space, a tab, a line break or the end.
    #[inline]
    pub(super) fn is_blank_or_end(&self, ahead: usize) -> bool {
        matches!(self.byte(ahead), b' ' | b'\t' | END) || self.break_length(ahead) > 0
    }

    pub(super) fn is_break_or_end(&self) -> bool {
        self.is_end() || self.is_break()
    }

    /// `---` or `...` at the start of a line.
    pub(super) fn is_document_indicator(&self) -> bool {
        self.at.column == 0
            && matches!(self.byte(0), b'-' | b'.')
            && self.byte(1) == self.byte(0)
            && self.byte(2) == self.byte(0)
            && self.is_blank_or_end(3)
    }

    /// Skips one character that is not a line break.
    #[inline]
    pub(super) fn skip(&mut self) {
        let length = match self.byte(0) {
            END => return,
            1..=0x7f => 1,
            0x80..=0xdf => 2,
            0xe0..=0xef => 3,
            _ => 4,
        };
        self.at.offset += length;
        self.at.column += 1;
    }

    /// Skips characters without a special meaning inside of a scalar.
    #[inline]
    pub(super) fn skip_letters(&mut self) {
        let bytes = self.text.as_bytes().get(self.at.offset..).unwrap_or(&[]);
        let count = bytes.iter().take_while(|byte| LETTERS.has(**byte)).count();
        self.at.offset += count;
        self.at.column += count;
    }

    /// Skips the rest of the line.
    pub(super) fn skip_line(&mut self) {
        let rest = self.rest().as_bytes();
        let length = memchr::memchr2(b'\n', b'\r', rest).unwrap_or(rest.len());
        if rest.get(..length).is_some_and(<[u8]>::is_ascii) {
            self.at.offset += length;
            self.at.column += length;
            return;
        }
        while !self.is_break_or_end() {
            self.skip();
            self.skip_letters();
        }
    }

    pub(super) fn skip_many(&mut self, count: usize) {
        for _ in 0..count {
            self.skip();
        }
    }

    pub(super) fn skip_blanks(&mut self) {
        while self.is_blank(0) {
            self.skip();
        }
    }

    /// Skips a comment, if one starts here, up to the end of its line.
    pub(super) fn skip_comment(&mut self) {
        if self.byte(0) == b'#' {
            self.skip_line();
        }
    }

    /// Consumes a line break, if one is here; returns its text in a scalar: LS and PS unchanged, all others as `\n`.
    pub(super) fn take_break(&mut self) -> &'a str {
        let length = self.break_length(0);
        let start = self.at.offset;
        if length == 0 {
            return "";
        }
        self.at.offset += length;
        self.at.line += 1;
        self.at.column = 0;
        if length == 3 { self.since(start) } else { "\n" }
    }
}

/// Letters, digits, `_` and `-`: the characters of anchors and handles.
pub(super) fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-')
}

/// The position of the first byte that may begin a forbidden character.
fn suspicious(bytes: &[u8]) -> Option<usize> {
    let clean = |[a, b, c, d, e, f, g, h]: &[u8; 8]| {
        let has = |byte: &u8| SUSPICIOUS.has(*byte);
        !(has(a) | has(b) | has(c) | has(d) | has(e) | has(f) | has(g) | has(h))
    };
    let passed = 8 * bytes
        .as_chunks()
        .0
        .iter()
        .take_while(|chunk| clean(chunk))
        .count();
    let found = bytes.get(passed..)?.iter().position(|byte| SUSPICIOUS.has(*byte));
    found.map(|found| passed + found)
}

/// The first character that YAML forbids anywhere, with its offset.
pub(super) fn forbidden(text: &str) -> Option<(usize, char)> {
    // Bytes first: nearly all texts have no byte that can begin such a character.
    let bytes = text.as_bytes();
    let mut from = 0;
    while let Some(found) = suspicious(bytes.get(from..)?) {
        let offset = from + found;
        let character = text.get(offset..)?.chars().next()?;
        let allowed = matches!(character, '\u{85}' | '\u{a0}'..='\u{fffd}');
        if !allowed {
            return Some((offset, character));
        }
        from = offset + character.len_utf8();
    }
    None
}
