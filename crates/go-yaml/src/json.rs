//! JSON, strictly (RFC 8259), to the same nodes.
//!
//! YAML readers take most JSON, but not all of it, and not all as it is meant: they refuse
//! U+007F and its kin, which JSON may hold raw, and fold U+0085 in a text. An API server's
//! JSON holds such characters, so a text that is JSON is read as JSON.

use super::{Entry, Kind, Limits, Node};
use solar_diagnostics::source::{Source, Span};
use solar_diagnostics::value::Number;

/// The document, when the whole text is JSON within the limits; else nothing, and a YAML
/// reader may say what is wrong. Of equal keys the last wins. A lone surrogate becomes
/// U+FFFD, as Go has it.
pub fn parse_json(source: &Source, limits: &Limits) -> Option<Node> {
    let text = source.text();
    if text.len() > limits.bytes {
        return None;
    }
    let mut reader = Reader {
        text,
        bytes: text.as_bytes(),
        at: 0,
        nodes: limits.nodes,
    };
    let node = reader.value(limits.depth)?;
    reader.blanks();
    (reader.at == text.len()).then_some(node)
}

/// The JSON value that begins at a byte, and the byte behind it; whatever follows is not looked
/// at. Nothing when there is none within the limits.
pub fn parse_json_prefix(source: &Source, start: usize, limits: &Limits) -> Option<(Node, usize)> {
    let text = source.text();
    if text.len() > limits.bytes || !text.is_char_boundary(start) {
        return None;
    }
    let mut reader = Reader {
        text,
        bytes: text.as_bytes(),
        at: start,
        nodes: limits.nodes,
    };
    let node = reader.value(limits.depth)?;
    Some((node, reader.at))
}

struct Reader<'t> {
    text: &'t str,
    bytes: &'t [u8],
    at: usize,
    /// How many more nodes may come.
    nodes: usize,
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

    /// Takes a byte that must be there, with blanks before it.
    fn require(&mut self, byte: u8) -> Option<()> {
        self.blanks();
        self.take(byte).then_some(())
    }

    fn take(&mut self, byte: u8) -> bool {
        let found = self.peek() == Some(byte);
        self.at += usize::from(found);
        found
    }

    fn value(&mut self, depth: usize) -> Option<Node> {
        self.nodes = self.nodes.checked_sub(1)?;
        let deeper = depth.checked_sub(1)?;
        self.blanks();
        let start = self.at;
        let kind = match self.peek()? {
            b'{' => Kind::Map(self.entries(deeper)?),
            b'[' => Kind::Seq(self.items(deeper)?),
            b'"' => Kind::String(self.string()?),
            b't' => self.word("true", Kind::Bool(true))?,
            b'f' => self.word("false", Kind::Bool(false))?,
            b'n' => self.word("null", Kind::Null)?,
            _ => Kind::Number(self.number()?),
        };
        Some(Node {
            span: Span::new(start, self.at),
            kind,
        })
    }

    fn word(&mut self, word: &str, kind: Kind) -> Option<Kind> {
        let found = self.text.get(self.at..)?.starts_with(word);
        self.at += word.len();
        found.then_some(kind)
    }

    fn entries(&mut self, depth: usize) -> Option<Vec<Entry>> {
        self.require(b'{')?;
        let mut entries: Vec<Entry> = Vec::new();
        let mut seen = std::collections::BTreeMap::new();
        self.blanks();
        if self.take(b'}') {
            return Some(entries);
        }
        loop {
            self.blanks();
            let start = self.at;
            let key = self.string()?;
            let key_span = Span::new(start, self.at);
            self.require(b':')?;
            let entry = Entry {
                key: key.clone(),
                key_span,
                value: self.value(depth)?,
            };
            match seen.get(&key) {
                Some(&index) => *entries.get_mut(index)? = entry,
                None => {
                    seen.insert(key, entries.len());
                    entries.push(entry);
                }
            }
            self.blanks();
            if !self.take(b',') {
                self.require(b'}')?;
                return Some(entries);
            }
        }
    }

    fn items(&mut self, depth: usize) -> Option<Vec<Node>> {
        self.require(b'[')?;
        let mut items = Vec::new();
        self.blanks();
        if self.take(b']') {
            return Some(items);
        }
        loop {
            items.push(self.value(depth)?);
            self.blanks();
            if !self.take(b',') {
                self.require(b']')?;
                return Some(items);
            }
        }
    }

    fn string(&mut self) -> Option<String> {
        self.require(b'"')?;
        let mut out = String::new();
        loop {
            let start = self.at;
            while !matches!(self.peek()?, b'"' | b'\\' | 0..=0x1f) {
                self.at += 1;
            }
            out.push_str(self.text.get(start..self.at)?);
            match self.peek()? {
                b'"' => {
                    self.at += 1;
                    return Some(out);
                }
                b'\\' => {
                    self.at += 1;
                    out.push(self.escape()?);
                }
                _ => return None,
            }
        }
    }

    fn escape(&mut self) -> Option<char> {
        let escape = self.peek()?;
        self.at += 1;
        Some(match escape {
            b'"' | b'\\' | b'/' => char::from(escape),
            b'b' => '\u{8}',
            b'f' => '\u{c}',
            b'n' => '\n',
            b'r' => '\r',
            b't' => '\t',
            b'u' => {
                let high = self.hex()?;
                let after = self.at;
                if (0xd800..0xdc00).contains(&high) && self.take(b'\\') && self.take(b'u') {
                    let low = self.hex()?;
                    if (0xdc00..0xe000).contains(&low) {
                        return char::from_u32(0x10000 + ((high - 0xd800) << 10) + (low - 0xdc00));
                    }
                }
                if (0xd800..0xe000).contains(&high) {
                    self.at = after;
                }
                char::from_u32(high).unwrap_or(char::REPLACEMENT_CHARACTER)
            }
            _ => return None,
        })
    }

    fn hex(&mut self) -> Option<u32> {
        let digits = self.text.get(self.at..self.at + 4)?;
        self.at += 4;
        // from_str_radix would take a sign.
        let hex = digits.bytes().all(|byte| byte.is_ascii_hexdigit());
        if hex {
            u32::from_str_radix(digits, 16).ok()
        } else {
            None
        }
    }

    fn digits(&mut self) -> Option<()> {
        let start = self.at;
        while self.peek().is_some_and(|byte| byte.is_ascii_digit()) {
            self.at += 1;
        }
        (self.at > start).then_some(())
    }

    fn number(&mut self) -> Option<Number> {
        let start = self.at;
        self.take(b'-');
        if !self.take(b'0') {
            self.digits()?;
        }
        let mut is_integer = true;
        if self.take(b'.') {
            is_integer = false;
            self.digits()?;
        }
        if self.take(b'e') || self.take(b'E') {
            is_integer = false;
            let _sign = self.take(b'+') || self.take(b'-');
            self.digits()?;
        }
        let text = self.text.get(start..self.at)?;
        if is_integer {
            if let Ok(value) = text.parse() {
                return Some(Number::Int(value));
            }
            if let Ok(value) = text.parse() {
                return Some(Number::Uint(value));
            }
        }
        text.parse().ok().map(Number::Float)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use solar_diagnostics::value::Value;

    fn read(text: &str) -> Option<Value> {
        parse_json(&Source::new("t", text), &Limits::default()).map(Node::into_value)
    }

    #[test]
    fn what_is_not_json_is_left_to_yaml() {
        for text in [
            "",
            "a: b",
            "{a: b}",
            "[1,]",
            "{\"a\":1,}",
            "01",
            "1.",
            ".5",
            "+1",
            "-",
            "\"\n\"",
            "\"\\x41\"",
            "tru",
            "{} {}",
            "'a'",
            "\"\\u00g0\"",
            "\"\\u+123\"",
            "{\"a\" 1}",
            "[",
            "\u{feff}{}",
            "NaN",
        ] {
            assert_eq!(read(text), None, "{text}");
        }
    }

    #[test]
    fn characters_that_yaml_refuses_or_folds_are_kept() {
        assert_eq!(
            read("\"a\u{7f}\u{85}\u{ffff}\""),
            Some(Value::from("a\u{7f}\u{85}\u{ffff}"))
        );
        assert_eq!(
            read(r#""\ud83d\ude00 \ud83d \ude00 \/""#),
            Some(Value::from("😀 \u{fffd} \u{fffd} /"))
        );
    }

    #[test]
    fn limits_hold() {
        let deep = |depth| format!("{}{}", "[".repeat(depth), "]".repeat(depth));
        let limits = Limits {
            depth: 50,
            nodes: 100,
            ..Limits::default()
        };
        assert!(parse_json(&Source::new("t", deep(50)), &limits).is_some());
        assert!(parse_json(&Source::new("t", deep(51)), &limits).is_none());
        assert!(parse_json(&Source::new("t", format!("[{}1]", "1,".repeat(98))), &limits).is_some());
        assert!(parse_json(&Source::new("t", format!("[{}1]", "1,".repeat(99))), &limits).is_none());
    }

    proptest! {
        #[test]
        fn agrees_with_another_reader(text in "[\\[\\]{}\",:0-9.eE+\\-\\\\ tfnu]{0,16}|\\PC{0,12}") {
            let other: Result<serde_json::Value, _> = serde_json::from_str(&text);
            match read(&text) {
                // serde_json refuses lone surrogates, and numbers beyond float64.
                None => prop_assert!(other.is_err(), "{text}"),
                Some(value) => if let Ok(other) = other {
                    let back: serde_json::Value = serde_json::from_str(&value.to_json()).unwrap();
                    prop_assert_eq!(back.to_string().replace(".0", ""), other.to_string().replace(".0", ""));
                },
            }
        }
    }
}
