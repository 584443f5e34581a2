//! The parser: recursive descent, which finds errors in the order of Go's scanner.

use std::borrow::Cow;
use std::marker::PhantomData;
use std::ops::Range;

use crate::{Context, Error, Member, Piece};

pub(crate) struct Reader<'t, V, F> {
    bytes: &'t [u8],
    at: usize,
    /// The remaining number of values.
    values: usize,
    make: F,
    made: PhantomData<fn() -> V>,
}

impl<'t, V, F: FnMut(Piece<'t, V>, Range<usize>) -> V> Reader<'t, V, F> {
    pub(crate) fn new(bytes: &'t [u8], at: usize, values: usize, make: F) -> Self {
        Self {
            bytes,
            at,
            values,
            make,
            made: PhantomData,
        }
    }

    pub(crate) fn position(&self) -> usize {
        self.at
    }

    /// Only white space may follow.
    pub(crate) fn end(&mut self) -> Result<(), Error> {
        self.skip_blanks();
        match self.peek() {
            None => Ok(()),
            Some(byte) => Err(unexpected(byte, Context::AfterDocument)),
        }
    }

    pub(crate) fn value(&mut self, depth: usize) -> Result<V, Error> {
        let depth = depth.checked_sub(1).ok_or(Error::TooDeep)?;
        self.values = self.values.checked_sub(1).ok_or(Error::TooManyValues)?;
        let first = self.next()?;
        let start = self.at;
        let piece = match first {
            b'{' => Piece::Map(self.members(depth)?),
            b'[' => Piece::List(self.items(depth)?),
            b'"' => Piece::String(self.string()?),
            b't' => self.word("true", Piece::Bool(true))?,
            b'f' => self.word("false", Piece::Bool(false))?,
            b'n' => self.word("null", Piece::Null)?,
            b'-' | b'0'..=b'9' => Piece::Number(self.number()?),
            other => return Err(unexpected(other, Context::Value)),
        };
        Ok((self.make)(piece, start..self.at))
    }

    fn members(&mut self, depth: usize) -> Result<Vec<Member<'t, V>>, Error> {
        self.at += 1;
        let mut members = Vec::new();
        if self.next()? == b'}' {
            self.at += 1;
            return Ok(members);
        }
        loop {
            let byte = self.next()?;
            if byte != b'"' {
                return Err(unexpected(byte, Context::Key));
            }
            let start = self.at;
            let key = self.string()?;
            let key_span = start..self.at;
            let byte = self.next()?;
            if byte != b':' {
                return Err(unexpected(byte, Context::AfterKey));
            }
            self.at += 1;
            let value = self.value(depth)?;
            members.push(Member { key, key_span, value });
            let byte = self.next()?;
            self.at += 1;
            match byte {
                b',' => {}
                b'}' => return Ok(members),
                other => return Err(unexpected(other, Context::AfterMember)),
            }
        }
    }

    fn items(&mut self, depth: usize) -> Result<Vec<V>, Error> {
        self.at += 1;
        let mut items = Vec::new();
        if self.next()? == b']' {
            self.at += 1;
            return Ok(items);
        }
        loop {
            items.push(self.value(depth)?);
            let byte = self.next()?;
            self.at += 1;
            match byte {
                b',' => {}
                b']' => return Ok(items),
                other => return Err(unexpected(other, Context::AfterItem)),
            }
        }
    }

    fn word(&mut self, word: &'static str, piece: Piece<'t, V>) -> Result<Piece<'t, V>, Error> {
        for expected in word.chars() {
            let byte = self.byte_or_blank();
            if char::from(byte) != expected {
                return Err(unexpected(byte, Context::Literal { word, expected }));
            }
            self.at += 1;
        }
        Ok(piece)
    }

    fn number(&mut self) -> Result<&'t str, Error> {
        let start = self.at;
        if self.peek() == Some(b'-') {
            self.at += 1;
        }
        if self.peek() == Some(b'0') {
            self.at += 1;
        } else {
            self.digits(Context::Number)?;
        }
        if self.peek() == Some(b'.') {
            self.at += 1;
            self.digits(Context::Fraction)?;
        }
        if matches!(self.peek(), Some(b'e' | b'E')) {
            self.at += 1;
            if matches!(self.peek(), Some(b'+' | b'-')) {
                self.at += 1;
            }
            self.digits(Context::Exponent)?;
        }
        let digits = self.bytes.get(start..self.at).unwrap_or_default();
        Ok(std::str::from_utf8(digits).unwrap_or_default())
    }

    fn digits(&mut self, context: Context) -> Result<(), Error> {
        if !self.byte_or_blank().is_ascii_digit() {
            return Err(unexpected(self.byte_or_blank(), context));
        }
        while self.peek().is_some_and(|byte| byte.is_ascii_digit()) {
            self.at += 1;
        }
        Ok(())
    }

    fn string(&mut self) -> Result<Cow<'t, str>, Error> {
        self.at += 1;
        let mut out: Option<String> = None;
        loop {
            let rest = self.bytes.get(self.at..).unwrap_or_default();
            let special = |byte: &u8| matches!(byte, b'"' | b'\\' | 0..=0x1f);
            let length = rest.iter().position(special).ok_or(Error::UnexpectedEnd)?;
            let (run, after) = rest.split_at_checked(length).unwrap_or((rest, &[]));
            self.at += length + 1;
            let run = text(run);
            match after.first() {
                Some(b'"') => {
                    return Ok(match out {
                        None => run,
                        Some(out) => Cow::Owned(out + &run),
                    });
                }
                Some(b'\\') => {
                    let out = out.get_or_insert_default();
                    out.push_str(&run);
                    out.push(self.escape()?);
                }
                Some(&other) => return Err(unexpected(other, Context::String)),
                None => return Err(Error::UnexpectedEnd),
            }
        }
    }

    fn escape(&mut self) -> Result<char, Error> {
        let byte = self.byte_or_blank();
        self.at += 1;
        Ok(match byte {
            b'"' | b'\\' | b'/' => char::from(byte),
            b'b' => '\u{8}',
            b'f' => '\u{c}',
            b'n' => '\n',
            b'r' => '\r',
            b't' => '\t',
            b'u' => self.unicode_escape()?,
            other => return Err(unexpected(other, Context::Escape)),
        })
    }

    /// A surrogate pair is one character; a lone surrogate is U+FFFD.
    fn unicode_escape(&mut self) -> Result<char, Error> {
        let code = self.hex()?;
        if (0xd800..0xdc00).contains(&code) && self.bytes.get(self.at..self.at + 2) == Some(b"\\u") {
            let before = self.at;
            self.at += 2;
            let low = self.hex()?;
            if (0xdc00..0xe000).contains(&low) {
                let code = 0x10000 + ((code - 0xd800) << 10) + (low - 0xdc00);
                return Ok(char::from_u32(code).unwrap_or(char::REPLACEMENT_CHARACTER));
            }
            self.at = before;
        }
        Ok(char::from_u32(code).unwrap_or(char::REPLACEMENT_CHARACTER))
    }

    fn hex(&mut self) -> Result<u32, Error> {
        let mut code = 0;
        for _ in 0..4 {
            let byte = self.byte_or_blank();
            let digit = char::from(byte).to_digit(16);
            code = code << 4 | digit.ok_or_else(|| unexpected(byte, Context::UnicodeEscape))?;
            self.at += 1;
        }
        Ok(code)
    }

    fn peek(&self) -> Option<u8> {
        self.bytes.get(self.at).copied()
    }

    /// The current byte; at the end a space, as Go's scanner gets one to detect what is missing.
    fn byte_or_blank(&self) -> u8 {
        self.peek().unwrap_or(b' ')
    }

    fn skip_blanks(&mut self) {
        while matches!(self.peek(), Some(b' ' | b'\t' | b'\n' | b'\r')) {
            self.at += 1;
        }
    }

    /// The next byte that is not white space.
    fn next(&mut self) -> Result<u8, Error> {
        self.skip_blanks();
        self.peek().ok_or(Error::UnexpectedEnd)
    }
}

fn unexpected(byte: u8, context: Context) -> Error {
    Error::UnexpectedByte { byte, context }
}

/// Each invalid byte is one U+FFFD, as in Go; `String::from_utf8_lossy` merges several into one.
fn text(bytes: &[u8]) -> Cow<'_, str> {
    if let Ok(text) = std::str::from_utf8(bytes) {
        return Cow::Borrowed(text);
    }
    let mut out = String::new();
    for chunk in bytes.utf8_chunks() {
        out.push_str(chunk.valid());
        out.extend(chunk.invalid().iter().map(|_| char::REPLACEMENT_CHARACTER));
    }
    Cow::Owned(out)
}
