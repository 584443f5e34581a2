//! JSON to YAML: in plain style for the CRDs, and with every string and key quoted for tasks, where no YAML reader may
//! take `yes`, `1e3` or `0777` for another type.

use serde_json::Value as Json;
use solar_render::value::{Map, Number, Value};

/// Appends a document, as Helm's `toYaml` writes it.
pub fn write(value: &Json, out: &mut String) {
    let text = solar_render::yaml::write(&convert(value));
    out.push_str(&text);
    if !text.ends_with('\n') {
        out.push('\n');
    }
}

/// A document in block style in which every string and every key is in double quotes.
pub fn write_quoted(value: &Json) -> String {
    let mut out = String::new();
    quoted(value, 0, &mut out);
    if !out.ends_with('\n') {
        out.push('\n');
    }
    out
}

/// Writes a value; for a map or list, the caller has written the first line's indentation.
fn quoted(value: &Json, depth: usize, out: &mut String) {
    let indent = |out: &mut String| out.push_str(&"  ".repeat(depth));
    match value {
        Json::Object(map) if !map.is_empty() => {
            for (index, (key, inner)) in map.iter().enumerate() {
                if index > 0 {
                    indent(out);
                }
                out.push_str(&text(key));
                out.push(':');
                below(inner, depth, out);
            }
        }
        Json::Array(list) if !list.is_empty() => {
            for (index, inner) in list.iter().enumerate() {
                if index > 0 {
                    indent(out);
                }
                out.push_str("- ");
                quoted(inner, depth + 1, out);
            }
        }
        Json::String(scalar) => {
            out.push_str(&text(scalar));
            out.push('\n');
        }
        scalar => {
            out.push_str(&scalar.to_string());
            out.push('\n');
        }
    }
}

/// Writes a string in double quotes that JSON and YAML both read: characters that YAML doesn't allow unescaped, or
/// folds as line breaks, are escaped.
fn text(text: &str) -> String {
    let json = Json::from(text).to_string();
    if !json.contains(is_special) {
        return json;
    }
    let mut out = String::new();
    for one in json.chars() {
        if is_special(one) {
            out.push_str(&format!("\\u{:04x}", u32::from(one)));
        } else {
            out.push(one);
        }
    }
    out
}

/// Whether YAML doesn't allow a character unescaped, or breaks the line at it.
pub(crate) fn is_special(character: char) -> bool {
    let is_special = matches!(
        character,
        '\u{2028}' | '\u{2029}' | '\u{feff}' | '\u{fffe}' | '\u{ffff}'
    );
    character.is_control() || is_special
}

fn below(inner: &Json, depth: usize, out: &mut String) {
    let is_block = match inner {
        Json::Object(map) => !map.is_empty(),
        Json::Array(list) => !list.is_empty(),
        _ => false,
    };
    if is_block {
        out.push('\n');
        out.push_str(&"  ".repeat(depth + 1));
    } else {
        out.push(' ');
    }
    quoted(inner, depth + 1, out);
}

pub(crate) fn convert(value: &Json) -> Value {
    match value {
        Json::Null => Value::Null,
        Json::Bool(value) => Value::Bool(*value),
        Json::String(text) => Value::String(text.clone()),
        Json::Number(number) => Value::Number(convert_number(number)),
        Json::Array(list) => Value::List(list.iter().map(convert).collect()),
        Json::Object(map) => {
            let map: Map = map
                .iter()
                .map(|(key, inner)| (key.as_str(), convert(inner)))
                .collect();
            Value::Map(map)
        }
    }
}

fn convert_number(number: &serde_json::Number) -> Number {
    match (number.as_i64(), number.as_u64()) {
        (Some(integer), _) => Number::Int(integer),
        (None, Some(integer)) => Number::Uint(integer),
        (None, None) => Number::Float(number.as_f64().unwrap_or_default()).canonical(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn every_string_and_key_is_quoted() {
        let value = json!({
            "yes": "no", "n": 1, "f": 0.5, "e": {}, "l": ["1e3", {"0777": "a\nb"}, [true, []]],
            "m": {"k": null},
        });
        let text = write_quoted(&value);
        let expected = r#""e": {}
"f": 0.5
"l":
  - "1e3"
  - "0777": "a\nb"
  - - true
    - []
"m":
  "k": null
"n": 1
"yes": "no"
"#;
        assert_eq!(text, expected);
    }

    /// kubectl once rejected a task whose values contained one of them.
    #[test]
    fn characters_that_yaml_does_not_allow_are_escaped() {
        let odd = "a\u{7f}b\u{85}c\u{feff}d\u{2028}e\u{ffff}f\u{1f600}\u{0}\t\"\\é";
        let text = write_quoted(&json!({odd: odd}));
        let quoted = r#""a\u007fb\u0085c\ufeffd\u2028e\ufffff😀\u0000\t\"\\é""#;
        assert_eq!(text, format!("{quoted}: {quoted}\n"));
        let read: Json = serde_json::from_str(quoted).expect("JSON");
        assert_eq!(read, odd);
    }
}
