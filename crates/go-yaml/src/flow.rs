//! Writes data as one line of flow YAML, which is JSON if its keys are not very long.

use super::dialect::Dialect;
use super::style::hex;
use super::style::needs_brace_escapes;
use super::write::number;
use super::{order, style};
use solar_diagnostics::value::Value;

/// Every parser must find the `:` of a key within 1024 characters; the rest is for quotes.
const FLOW_KEY: usize = 1000;

/// One line without a line break, which YAML parsers and (except for keys above 1000 bytes) JSON parsers accept:
/// strings in double quotes, with all characters escaped that a parser refuses or folds. With `template_safe` neither
/// `{{` nor `}}` appears in it.
pub fn write_flow(value: &Value, template_safe: bool) -> String {
    let mut out = String::new();
    flow(value, template_safe, &mut out);
    out
}

fn flow(value: &Value, safe: bool, out: &mut String) {
    match value {
        Value::Null => out.push_str("null"),
        Value::Bool(true) => out.push_str("true"),
        Value::Bool(false) => out.push_str("false"),
        Value::Number(value) => out.push_str(&number(*value)),
        Value::String(text) => flow_text(text, safe, out),
        Value::List(items) => {
            out.push('[');
            for (index, item) in items.iter().enumerate() {
                out.push_str(if index == 0 { "" } else { ", " });
                flow(item, safe, out);
            }
            out.push(']');
        }
        Value::Map(map) => {
            out.push('{');
            let entries = map.iter().map(|(key, item)| (key.as_str(), item));
            let sorted = order::sorted(entries.collect(), Dialect::Readable);
            for (index, (key, item)) in sorted.into_iter().enumerate() {
                out.push_str(if index == 0 { "" } else { ", " });
                flow_key(key, safe, out);
                flow(item, safe, out);
            }
            if safe && out.ends_with('}') {
                out.push(' ');
            }
            out.push('}');
        }
    }
}

fn flow_key(key: &str, safe: bool, out: &mut String) {
    let start = out.len();
    flow_text(key, safe, out);
    if out.len() - start > FLOW_KEY {
        out.insert_str(start, "? ");
        out.push(' ');
    }
    out.push_str(": ");
}

/// JSON's escapes, which YAML shares.
fn flow_text(text: &str, safe: bool, out: &mut String) {
    let braces = safe && needs_brace_escapes(text);
    out.push('"');
    for character in text.chars() {
        match character {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            '{' | '}' if braces => hex(character, 'u', 4, out),
            '\u{2028}' | '\u{2029}' => hex(character, 'u', 4, out),
            other if style::is_printable(other) || u32::from(other) > 0xffff => out.push(other),
            other => hex(other, 'u', 4, out),
        }
    }
    out.push('"');
}
