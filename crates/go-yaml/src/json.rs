//! Parses strict JSON (RFC 8259) into the same nodes.
//!
//! YAML parsers accept most JSON, but not all, and change some: they refuse characters such as U+007F, which JSON
//! allows unescaped, and fold U+0085 in a string. An API server's JSON may have such characters, so a text that is JSON
//! is parsed as JSON.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;

use solar_diagnostics::source::{Location, Source, Span};
use solar_diagnostics::value::Number;
use solar_go_json::{Member, Piece};

use super::{Document, DuplicateKey, Entry, Kind, Limits, Node};

/// The document, if the whole text is JSON within the limits; otherwise `None`, and the YAML parser reports errors. Of
/// equal keys the last wins. A lone surrogate becomes U+FFFD, as in Go.
pub fn parse_json(source: &Source, limits: &Limits) -> Option<Node> {
    let text = source.text();
    if text.len() > limits.bytes {
        return None;
    }
    solar_go_json::read(text.as_bytes(), json_limits(limits), node).ok()
}

/// As [`parse_json`], with duplicate keys.
pub fn parse_json_document(source: &Arc<Source>, limits: &Limits) -> Option<Document> {
    let text = source.text();
    if text.len() > limits.bytes {
        return None;
    }
    let mut duplicates = Vec::new();
    let make = |piece: Piece<'_, Node>, span: Range<usize>| {
        if let Piece::Map(members) = &piece {
            note_duplicates(source, members, &mut duplicates);
        }
        node(piece, span)
    };
    let root = solar_go_json::read(text.as_bytes(), json_limits(limits), make).ok()?;
    Some(Document { root, duplicates })
}

fn note_duplicates(source: &Arc<Source>, members: &[Member<'_, Node>], out: &mut Vec<DuplicateKey>) {
    let mut seen: BTreeMap<&str, Span> = BTreeMap::new();
    for member in members {
        let span = Span::new(member.key_span.start, member.key_span.end);
        if let Some(previous) = seen.insert(&member.key, span) {
            out.push(DuplicateKey {
                key: member.key.to_string(),
                location: Location::new(source, span),
                previous_line: source.position(previous.start).line,
            });
        }
    }
}

/// The JSON value that begins at a byte, and its end; the rest is ignored. `None` if there is none within the limits.
pub fn parse_json_prefix(source: &Source, start: usize, limits: &Limits) -> Option<(Node, usize)> {
    let text = source.text();
    if text.len() > limits.bytes || !text.is_char_boundary(start) {
        return None;
    }
    solar_go_json::read_prefix(text.as_bytes(), start, json_limits(limits), node).ok()
}

fn json_limits(limits: &Limits) -> solar_go_json::Limits {
    solar_go_json::Limits {
        depth: limits.depth,
        values: limits.nodes,
    }
}

fn node(piece: Piece<'_, Node>, span: Range<usize>) -> Node {
    let kind = match piece {
        Piece::Null => Kind::Null,
        Piece::Bool(value) => Kind::Bool(value),
        Piece::Number(digits) => Kind::Number(number(digits)),
        Piece::String(text) => Kind::String(text.into_owned()),
        Piece::List(items) => Kind::Seq(items),
        Piece::Map(members) => Kind::Map(entries(members)),
    };
    Node {
        span: Span::new(span.start, span.end),
        kind,
    }
}

/// Each key once, at its first position, with its last value.
fn entries(members: Vec<Member<'_, Node>>) -> Vec<Entry> {
    let mut entries: Vec<Entry> = Vec::with_capacity(members.len());
    let mut seen = BTreeMap::new();
    for member in members {
        let entry = Entry {
            key: member.key.into_owned(),
            key_span: Span::new(member.key_span.start, member.key_span.end),
            value: member.value,
        };
        let index = *seen.entry(entry.key.clone()).or_insert(entries.len());
        match entries.get_mut(index) {
            Some(earlier) => *earlier = entry,
            None => entries.push(entry),
        }
    }
    entries
}

/// An integer if the text is one and fits; else a float, infinite beyond float64.
fn number(digits: &str) -> Number {
    if let Ok(value) = digits.parse() {
        return Number::Int(value);
    }
    if let Ok(value) = digits.parse() {
        return Number::Uint(value);
    }
    Number::Float(digits.parse().unwrap_or_default())
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
