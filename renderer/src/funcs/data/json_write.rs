//! JSON as Go's `encoding/json` writes it.

use std::fmt::Write as _;

use super::encoded;
use super::read::is_go_nil;
use crate::template::{FuncError, MAX_NESTING, MAX_TEXT_BYTES, Str, Val};
use crate::value::Number;

/// The output style.
#[derive(Clone, Copy)]
pub(super) struct JsonStyle {
    /// Whether `<`, `>` and `&` are escaped.
    pub(super) html: bool,
    /// Whether each item is on its own line, indented by two spaces.
    pub(super) pretty: bool,
}

/// One line, with `<`, `>` and `&` escaped.
pub(super) const COMPACT: JsonStyle = JsonStyle {
    html: true,
    pretty: false,
};

/// The JSON text, or the error of `json.Marshal`.
pub(super) fn write(value: &Val, style: JsonStyle) -> Result<String, FuncError> {
    let mut writer = JsonWriter {
        out: String::new(),
        style,
        depth: 0,
    };
    writer.value(value)?;
    Ok(writer.out)
}

struct JsonWriter {
    out: String,
    style: JsonStyle,
    depth: usize,
}

impl JsonWriter {
    fn value(&mut self, value: &Val) -> Result<(), FuncError> {
        match value {
            Val::Nil | Val::Null => self.out.push_str("null"),
            Val::Bool(value) => self.out.push_str(if *value { "true" } else { "false" }),
            // Writing to a String can't fail.
            Val::Int(value, _) => {
                let _ = write!(self.out, "{value}");
            }
            Val::Uint(value, _) => {
                let _ = write!(self.out, "{value}");
            }
            Val::Float(value) if !value.is_finite() => return Err(unsupported_float(*value)),
            Val::Float(value) => {
                let _ = write!(self.out, "{}", Number::Float(*value));
            }
            Val::Complex(..) => return Err("json: unsupported type: complex128".into()),
            Val::Str(text) => self.text(text),
            Val::Bytes(bytes) => {
                let _ = write!(self.out, "\"{}\"", encoded(bytes));
            }
            value if is_go_nil(value) => self.out.push_str("null"),
            // The call fails later because of its length.
            Val::List(_) | Val::Map(_) if self.out.len() > MAX_TEXT_BYTES => {}
            Val::List(list) => {
                self.deeper(value)?;
                self.items('[', ']', list.iter(), |writer, item| writer.value(item))?;
            }
            Val::Map(map) => {
                self.deeper(value)?;
                let entries = map.borrow();
                self.items('{', '}', entries.iter(), |writer, (key, item)| {
                    writer.key(key);
                    writer.value(item)
                })?;
            }
            // An object's fields add no nesting level of their own.
            Val::Object(object) => match object.json_fields() {
                Some(fields) => {
                    self.deeper(value)?;
                    self.items('{', '}', fields.iter(), |writer, (key, item)| {
                        writer.key(key);
                        writer.value(item)
                    })?;
                }
                None => self.value(&object.json())?,
            },
        }
        Ok(())
    }

    fn deeper(&mut self, value: &Val) -> Result<(), FuncError> {
        self.depth += 1;
        if self.depth > MAX_NESTING {
            return Err(cycle(value));
        }
        Ok(())
    }

    fn items<T>(
        &mut self,
        open: char,
        close: char,
        items: impl Iterator<Item = T>,
        mut each: impl FnMut(&mut Self, T) -> Result<(), FuncError>,
    ) -> Result<(), FuncError> {
        self.out.push(open);
        let mut any = false;
        for item in items {
            if any {
                self.out.push(',');
            }
            any = true;
            self.line(self.depth);
            each(self, item)?;
        }
        self.depth -= 1;
        if any {
            self.line(self.depth);
        }
        self.out.push(close);
        Ok(())
    }

    fn line(&mut self, depth: usize) {
        if self.style.pretty {
            self.out.push('\n');
            self.out.extend(std::iter::repeat_n("  ", depth));
        }
    }

    fn key(&mut self, key: &str) {
        self.out.push('"');
        self.valid(key);
        self.out.push_str(if self.style.pretty { "\": " } else { "\":" });
    }

    fn text(&mut self, text: &Str) {
        self.out.push('"');
        match text.as_str() {
            Some(text) => self.valid(text),
            None => {
                for chunk in text.as_bytes().utf8_chunks() {
                    self.valid(chunk.valid());
                    self.out
                        .extend(std::iter::repeat_n("\\ufffd", chunk.invalid().len()));
                }
            }
        }
        self.out.push('"');
    }

    /// The inside of a string: runs of bytes that need no escape are copied.
    fn valid(&mut self, text: &str) {
        let html = self.style.html;
        let mut rest = text;
        loop {
            let special = |byte: u8| match byte {
                b'"' | b'\\' | 0..=0x1f => true,
                b'<' | b'>' | b'&' => html,
                // The first byte of U+2028 and U+2029.
                0xe2 => true,
                _ => false,
            };
            let Some(at) = rest.bytes().position(special) else {
                self.out.push_str(rest);
                return;
            };
            let (run, after) = rest.split_at_checked(at).unwrap_or((rest, ""));
            self.out.push_str(run);
            let Some(character) = after.chars().next() else {
                return;
            };
            self.escape(character);
            rest = after.get(character.len_utf8()..).unwrap_or_default();
        }
    }

    fn escape(&mut self, character: char) {
        let short = match character {
            '"' => "\\\"",
            '\\' => "\\\\",
            '\n' => "\\n",
            '\r' => "\\r",
            '\t' => "\\t",
            '\u{8}' => "\\b",
            '\u{c}' => "\\f",
            '\0'..='\u{1f}' | '<' | '>' | '&' | '\u{2028}' | '\u{2029}' => {
                // Writing to a String can't fail.
                let _ = write!(self.out, "\\u{:04x}", u32::from(character));
                return;
            }
            other => return self.out.push(other),
        };
        self.out.push_str(short);
    }
}

/// The error of `json.Marshal` for infinities and not-a-number.
pub(super) fn unsupported_float(value: f64) -> FuncError {
    let shown = if value.is_nan() {
        "NaN"
    } else if value > 0.0 {
        "+Inf"
    } else {
        "-Inf"
    };
    FuncError::new(format!("json: unsupported value: {shown}"))
}

/// The error of `json.Marshal` for a cyclic map. A value that only nests too deeply gets the same message; Go has no
/// limit there.
pub(super) fn cycle(value: &Val) -> FuncError {
    FuncError::new(format!(
        "json: unsupported value: encountered a cycle via {}",
        value.type_name()
    ))
}
