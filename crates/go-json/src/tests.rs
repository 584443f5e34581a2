use proptest::prelude::*;
use serde_json::Value;

use super::*;

const LIMITS: Limits = Limits {
    depth: 50,
    values: 100,
};

fn value(bytes: &[u8]) -> Result<Value, Error> {
    read(bytes, LIMITS, |piece, _| match piece {
        Piece::Null => Value::Null,
        Piece::Bool(value) => Value::Bool(value),
        Piece::Number(digits) => serde_json::from_str(digits).unwrap_or_default(),
        Piece::String(text) => Value::String(text.into_owned()),
        Piece::List(items) => Value::Array(items),
        Piece::Map(members) => {
            let members = members.into_iter();
            Value::Object(members.map(|one| (one.key.into_owned(), one.value)).collect())
        }
    })
}

/// Messages of `json.Unmarshal` in Go 1.26.
#[test]
fn errors_are_gos() {
    for (text, byte, context) in [
        ("x", b'x', "looking for beginning of value"),
        ("{a: 1}", b'a', "looking for beginning of object key string"),
        ("{\"a\" 1}", b'1', "after object key"),
        ("{\"a\":1 2}", b'2', "after object key:value pair"),
        ("[1 2]", b'2', "after array element"),
        ("1 2", b'2', "after top-level value"),
        ("trux", b'x', "in literal true (expecting 'e')"),
        ("nul", b' ', "in literal null (expecting 'l')"),
        ("-x", b'x', "in numeric literal"),
        ("1.x", b'x', "after decimal point in numeric literal"),
        ("1ex", b'x', "in exponent of numeric literal"),
        ("\"\n\"", b'\n', "in string literal"),
        ("\"\\x\"", b'x', "in string escape code"),
        ("\"\\u00g0\"", b'g', "in \\u hexadecimal character escape"),
    ] {
        match value(text.as_bytes()) {
            Err(Error::UnexpectedByte {
                byte: found,
                context: said,
            }) => assert_eq!((found, said.to_string().as_str()), (byte, context), "{text}"),
            other => panic!("{text}: {other:?}"),
        }
    }
    for text in ["", " ", "[", "{\"a\":", "\"a", "[1,"] {
        assert_eq!(value(text.as_bytes()), Err(Error::UnexpectedEnd), "{text}");
    }
}

#[test]
fn limits_hold() {
    let deep = |depth| format!("{}{}", "[".repeat(depth), "]".repeat(depth));
    assert!(value(deep(50).as_bytes()).is_ok());
    assert_eq!(value(deep(51).as_bytes()), Err(Error::TooDeep));
    assert!(value(format!("[{}1]", "1,".repeat(98)).as_bytes()).is_ok());
    assert_eq!(
        value(format!("[{}1]", "1,".repeat(99)).as_bytes()),
        Err(Error::TooManyValues)
    );
}

#[test]
fn each_invalid_byte_becomes_a_replacement_character() {
    assert_eq!(value(b"\"a\xe2\x82b\""), Ok(Value::from("a\u{fffd}\u{fffd}b")));
    assert_eq!(
        value(br#""\ud83d\ude00 \ud83d \ude00 \/""#),
        Ok(Value::from("😀 \u{fffd} \u{fffd} /"))
    );
}

#[test]
fn spans_are_those_of_values_and_keys() {
    let text = br#" {"a": [1, "b"]} "#;
    let mut seen = Vec::new();
    read(text, LIMITS, |piece, span| {
        if let Piece::Map(members) = &piece {
            seen.extend(members.iter().map(|one| one.key_span.clone()));
        }
        seen.push(span);
    })
    .unwrap();
    let shown: Vec<&str> = seen
        .into_iter()
        .map(|span| std::str::from_utf8(&text[span]).unwrap())
        .collect();
    assert_eq!(
        shown,
        ["1", "\"b\"", "[1, \"b\"]", "\"a\"", "{\"a\": [1, \"b\"]}"]
    );
}

#[test]
fn a_prefix_ends_after_its_value() {
    let limits = Limits { depth: 5, values: 5 };
    let read = |text: &str, start| read_prefix(text.as_bytes(), start, limits, |_, _| ());
    assert_eq!(read("a=[1],b", 2), Ok(((), 5)));
    assert_eq!(read("a=", 2), Err(Error::UnexpectedEnd));
}

proptest! {
    #[test]
    fn agrees_with_another_reader(text in "[\\[\\]{}\",:0-9.eE+\\-\\\\ tfnu]{0,16}|\\PC{0,12}") {
        let other: Result<Value, _> = serde_json::from_str(&text);
        match value(text.as_bytes()) {
            // serde_json refuses lone surrogates, and numbers beyond float64.
            Err(_) => prop_assert!(other.is_err(), "{text}"),
            Ok(value) => if let Ok(other) = other {
                prop_assert_eq!(value, other);
            },
        }
    }
}
