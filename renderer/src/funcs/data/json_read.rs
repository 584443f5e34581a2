//! JSON as Go's `encoding/json` reads it into an `interface{}`, and what it says of
//! texts that are none.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::template::{Fault, Map, MapType, Str, Val};

/// How deep lists and maps may lie in each other; Go's limit is 10,000.
const MAX_DEPTH: usize = 1_000;

/// What was read, and what was wrong with a part of it: a number beyond float64 becomes
/// nil, and the first of them is told.
pub(super) struct Read {
    pub(super) value: Val,
    pub(super) fault: Option<Fault>,
}

/// The value of a text. The error is about its syntax.
pub(super) fn read(text: &Str) -> Result<Read, Fault> {
    let mut reader = Reader {
        bytes: text.as_bytes(),
        at: 0,
        fault: None,
    };
    let value = reader.value(0)?;
    reader.blanks();
    match reader.peek() {
        None => Ok(Read {
            value,
            fault: reader.fault,
        }),
        Some(byte) => Err(invalid(byte, "after top-level value")),
    }
}

/// What Go says of the JSON's kind when another was asked for.
pub(super) fn kind(value: &Val) -> &'static str {
    match value {
        Val::Bool(_) => "bool",
        Val::Str(_) => "string",
        Val::List(_) => "array",
        Val::Map(_) => "object",
        _ => "number",
    }
}

struct Reader<'t> {
    bytes: &'t [u8],
    at: usize,
    fault: Option<Fault>,
}

fn invalid(byte: u8, place: &str) -> Fault {
    let shown = match byte {
        b'\'' => "\\'".to_owned(),
        b'"' => "\"".to_owned(),
        other => {
            let quoted = crate::template::print::quote(char::from(other).encode_utf8(&mut [0; 4]));
            quoted.trim_matches('"').to_owned()
        }
    };
    Fault::new(format!("invalid character '{shown}' {place}"))
}

fn ended() -> Fault {
    Fault::new("unexpected end of JSON input")
}

impl Reader<'_> {
    fn peek(&self) -> Option<u8> {
        self.bytes.get(self.at).copied()
    }

    fn blanks(&mut self) {
        while matches!(self.peek(), Some(b' ' | b'\t' | b'\n' | b'\r')) {
            self.at += 1;
        }
    }

    /// The next byte that is not blank.
    fn next(&mut self) -> Result<u8, Fault> {
        self.blanks();
        self.peek().ok_or_else(ended)
    }

    fn value(&mut self, depth: usize) -> Result<Val, Fault> {
        if depth > MAX_DEPTH {
            return Err("exceeded max depth".into());
        }
        match self.next()? {
            b'{' => self.map(depth + 1),
            b'[' => self.list(depth + 1),
            b'"' => self.string().map(Val::Str),
            b't' => self.word("true", Val::Bool(true)),
            b'f' => self.word("false", Val::Bool(false)),
            b'n' => self.word("null", Val::Nil),
            b'-' | b'0'..=b'9' => self.number(),
            other => Err(invalid(other, "looking for beginning of value")),
        }
    }

    fn map(&mut self, depth: usize) -> Result<Val, Fault> {
        self.at += 1;
        let mut entries: BTreeMap<Arc<str>, Val> = BTreeMap::new();
        if self.next()? == b'}' {
            self.at += 1;
            return Ok(Val::Map(Map::with(MapType::Any, entries)));
        }
        loop {
            let byte = self.next()?;
            if byte != b'"' {
                return Err(invalid(byte, "looking for beginning of object key string"));
            }
            let key = self.string()?.to_arc();
            let byte = self.next()?;
            if byte != b':' {
                return Err(invalid(byte, "after object key"));
            }
            self.at += 1;
            let item = self.value(depth)?;
            entries.insert(key, item);
            let byte = self.next()?;
            self.at += 1;
            match byte {
                b',' => {}
                b'}' => return Ok(Val::Map(Map::with(MapType::Any, entries))),
                other => return Err(invalid(other, "after object key:value pair")),
            }
        }
    }

    fn list(&mut self, depth: usize) -> Result<Val, Fault> {
        self.at += 1;
        let mut items = Vec::new();
        if self.next()? == b']' {
            self.at += 1;
            return Ok(Val::list(items));
        }
        loop {
            items.push(self.value(depth)?);
            let byte = self.next()?;
            self.at += 1;
            match byte {
                b',' => {}
                b']' => return Ok(Val::list(items)),
                other => return Err(invalid(other, "after array element")),
            }
        }
    }

    /// The byte here; at the end Go's scanner is given a blank to see what is missing.
    fn byte_or_blank(&self) -> u8 {
        self.peek().unwrap_or(b' ')
    }

    fn word(&mut self, word: &str, value: Val) -> Result<Val, Fault> {
        for expected in word.chars() {
            let byte = self.byte_or_blank();
            if char::from(byte) != expected {
                let place = format!("in literal {word} (expecting '{expected}')");
                return Err(invalid(byte, &place));
            }
            self.at += 1;
        }
        Ok(value)
    }

    fn digits(&mut self, place: &str) -> Result<(), Fault> {
        if !self.byte_or_blank().is_ascii_digit() {
            return Err(invalid(self.byte_or_blank(), place));
        }
        while self.peek().is_some_and(|byte| byte.is_ascii_digit()) {
            self.at += 1;
        }
        Ok(())
    }

    fn number(&mut self) -> Result<Val, Fault> {
        let start = self.at;
        if self.peek() == Some(b'-') {
            self.at += 1;
        }
        if self.peek() == Some(b'0') {
            self.at += 1;
        } else {
            self.digits("in numeric literal")?;
        }
        if self.peek() == Some(b'.') {
            self.at += 1;
            self.digits("after decimal point in numeric literal")?;
        }
        if matches!(self.peek(), Some(b'e' | b'E')) {
            self.at += 1;
            if matches!(self.peek(), Some(b'+' | b'-')) {
                self.at += 1;
            }
            self.digits("in exponent of numeric literal")?;
        }
        let digits = self.bytes.get(start..self.at).unwrap_or_default();
        let digits = std::str::from_utf8(digits).unwrap_or_default();
        match digits.parse::<f64>() {
            Ok(value) if value.is_finite() => Ok(Val::Float(value)),
            _ => {
                let message = format!("json: cannot unmarshal number {digits} into Go value of type float64");
                self.fault.get_or_insert_with(|| Fault::new(message));
                Ok(Val::Nil)
            }
        }
    }

    fn string(&mut self) -> Result<Str, Fault> {
        self.at += 1;
        let mut out: Option<String> = None;
        loop {
            let rest = self.bytes.get(self.at..).unwrap_or_default();
            let special = |byte: &u8| matches!(byte, b'"' | b'\\' | 0..=0x1f);
            let length = rest.iter().position(special).ok_or_else(ended)?;
            let (run, after) = rest.split_at_checked(length).unwrap_or((rest, &[]));
            let run = Str::from_bytes(run);
            self.at += length + 1;
            match after.first() {
                Some(b'"') => {
                    return Ok(match out {
                        None if run.as_str().is_some() => run,
                        None => Str::from(run.to_arc()),
                        Some(out) => Str::from(out + &run.to_text()),
                    });
                }
                Some(b'\\') => {
                    let out = out.get_or_insert_default();
                    out.push_str(&run.to_text());
                    out.push(self.escape()?);
                }
                Some(&other) => return Err(invalid(other, "in string literal")),
                None => return Err(ended()),
            }
        }
    }

    fn escape(&mut self) -> Result<char, Fault> {
        let byte = self.byte_or_blank();
        self.at += 1;
        Ok(match byte {
            b'"' | b'\\' | b'/' => char::from(byte),
            b'b' => '\u{8}',
            b'f' => '\u{c}',
            b'n' => '\n',
            b'r' => '\r',
            b't' => '\t',
            b'u' => {
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
                char::from_u32(code).unwrap_or(char::REPLACEMENT_CHARACTER)
            }
            other => return Err(invalid(other, "in string escape code")),
        })
    }

    fn hex(&mut self) -> Result<u32, Fault> {
        let mut code = 0;
        for _ in 0..4 {
            let byte = self.byte_or_blank();
            let digit = char::from(byte)
                .to_digit(16)
                .ok_or_else(|| invalid(byte, "in \\u hexadecimal character escape"))?;
            self.at += 1;
            code = code << 4 | digit;
        }
        Ok(code)
    }
}
