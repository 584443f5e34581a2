//! TOML in the layout of BurntSushi's encoder 1.6: keys with plain values first, then tables, each in key order;
//! indented by two spaces per level.

use std::fmt::Write as _;

use super::exported;
use crate::funcs::dates;
use crate::template::print::sprint;
use crate::template::{FuncError, IntType, Kind, MAX_NESTING, MAX_TEXT_BYTES, Val, Walk};

/// Errors of the encoder.
pub(super) enum TomlFailure {
    /// An error, which `toToml` returns as its text.
    Error(String),
    /// A failure of the call.
    Panic(FuncError),
}

/// The TOML text, which is UTF-8 if the strings in it are.
pub(super) fn write(value: &Val) -> Result<Vec<u8>, TomlFailure> {
    if value.is_nil() {
        return Err(TomlFailure::Panic(
            "reflect: call of reflect.Value.Type on zero Value".into(),
        ));
    }
    let mut writer = TomlWriter {
        out: Vec::new(),
        depth: 0,
    };
    writer.encode(&mut Vec::new(), value)?;
    Ok(writer.out)
}

/// The TOML form of a value.
#[derive(Clone, Copy, PartialEq, Eq)]
enum TomlShape {
    /// Omitted.
    Nothing,
    Plain,
    Array,
    Table,
    Tables,
}

struct TomlWriter {
    out: Vec<u8>,
    depth: usize,
}

fn fail<T>(message: impl Into<String>) -> Result<T, TomlFailure> {
    Err(TomlFailure::Error(message.into()))
}

fn shape(value: &Val) -> Result<TomlShape, TomlFailure> {
    shape_at(value, &mut Walk::default(), 0)
}

fn shape_at(value: &Val, walk: &mut Walk, depth: usize) -> Result<TomlShape, TomlFailure> {
    walk.part(depth).map_err(|many| TomlFailure::Panic(many.into()))?;
    Ok(match value {
        Val::Nil | Val::Null => TomlShape::Nothing,
        Val::Complex(..) => return fail("unsupported type: complex128"),
        Val::Map(_) => TomlShape::Table,
        Val::Object(object) => match object.kind() {
            Kind::Map => TomlShape::Table,
            Kind::Struct | Kind::Ptr if text_of(value).is_none() => TomlShape::Table,
            Kind::Slice => TomlShape::Array,
            _ => TomlShape::Plain,
        },
        Val::List(items) => {
            let mut all_tables = !items.is_empty();
            for item in items.iter() {
                match shape_at(item, walk, depth + 1)? {
                    TomlShape::Nothing => return fail("toml: cannot encode array with nil element"),
                    TomlShape::Table => {}
                    _ => all_tables = false,
                }
            }
            if all_tables {
                TomlShape::Tables
            } else {
                TomlShape::Array
            }
        }
        Val::Bytes(_) => TomlShape::Array,
        _ => TomlShape::Plain,
    })
}

/// The text of a value that implements TextMarshaler; a time is written without quotes.
fn text_of(value: &Val) -> Option<(String, bool)> {
    if let Some(time) = dates::toml(value) {
        return Some((time, false));
    }
    match value {
        Val::Object(object) => match object.json() {
            Val::Str(text) => Some((text.to_text().into_owned(), true)),
            _ => None,
        },
        _ => None,
    }
}

impl TomlWriter {
    fn encode(&mut self, key: &mut Vec<String>, value: &Val) -> Result<(), TomlFailure> {
        if self.out.len() > MAX_TEXT_BYTES {
            // The call fails later because of its length.
            return Ok(());
        }
        self.depth += 1;
        if self.depth > MAX_NESTING {
            return Err(TomlFailure::Panic(crate::template::TooDeep.into()));
        }
        if let Val::Complex(..) = value {
            let key = path(key);
            return fail(format!("unsupported type for key '{key}': complex128"));
        }
        match shape(value)? {
            TomlShape::Nothing => {}
            TomlShape::Plain | TomlShape::Array => self.key_value(key, value, false)?,
            TomlShape::Tables if key.is_empty() => {
                return fail("toml: top-level values must be Go maps or structs");
            }
            TomlShape::Tables => {
                for item in value.as_list().map(|list| &**list).unwrap_or_default() {
                    self.newline();
                    self.head(key, "[[", "]]");
                    self.entries(key, item, false)?;
                }
            }
            TomlShape::Table => {
                if key.len() == 1 {
                    self.newline();
                }
                if !key.is_empty() {
                    self.head(key, "[", "]");
                }
                self.entries(key, value, false)?;
            }
        }
        self.depth -= 1;
        Ok(())
    }

    fn push(&mut self, text: &str) {
        self.out.extend_from_slice(text.as_bytes());
    }

    fn newline(&mut self) {
        if !self.out.is_empty() {
            self.out.push(b'\n');
        }
    }

    fn indent(&mut self, key: &[String]) {
        let levels = key.len().saturating_sub(1);
        self.out.extend(std::iter::repeat_n(b' ', levels * 2));
    }

    fn head(&mut self, key: &[String], open: &str, close: &str) {
        self.indent(key);
        let name = path(key);
        self.push(open);
        self.push(&name);
        self.push(close);
        self.newline();
    }

    /// A map's entries, or a struct's fields: plain ones before tables.
    fn entries(&mut self, key: &mut Vec<String>, value: &Val, inline: bool) -> Result<(), TomlFailure> {
        let entries: Vec<(String, Val)> = match value {
            Val::Map(map) => map
                .entries()
                .into_iter()
                .map(|(key, item)| (key.to_string(), item))
                .collect(),
            Val::Object(object) => exported(object.fields()),
            _ => Vec::new(),
        };
        let is_struct = matches!(value, Val::Object(object) if object.kind() != Kind::Map);
        let (mut direct, mut tables) = (Vec::new(), Vec::new());
        for (index, entry) in entries.iter().enumerate() {
            match shape(&entry.1)? {
                TomlShape::Table | TomlShape::Tables => tables.push((index, entry)),
                _ => direct.push((index, entry)),
            }
        }
        if inline {
            self.push("{");
        }
        let counts = [direct.len(), tables.len()];
        let more = [!tables.is_empty(), false];
        for ((group, count), more) in [direct, tables].into_iter().zip(counts).zip(more) {
            for (place, (index, (name, item))) in group.into_iter().enumerate() {
                if item.is_nil() {
                    continue;
                }
                if !inline {
                    key.push(name.clone());
                    self.encode(key, item)?;
                    key.pop();
                    continue;
                }
                self.key_value(std::slice::from_ref(name), item, true)?;
                let last = if is_struct {
                    index + 1 == entries.len()
                } else {
                    !more && place + 1 == count
                };
                if !last {
                    self.push(", ");
                }
            }
        }
        if inline {
            self.push("}");
        }
        Ok(())
    }

    fn key_value(&mut self, key: &[String], value: &Val, inline: bool) -> Result<(), TomlFailure> {
        let Some(name) = key.last() else {
            return self.element(value);
        };
        self.indent(key);
        let name = quoted_key(name);
        self.push(&name);
        self.push(" = ");
        self.element(value)?;
        if !inline {
            self.newline();
        }
        Ok(())
    }

    fn element(&mut self, value: &Val) -> Result<(), TomlFailure> {
        if self.out.len() > MAX_TEXT_BYTES {
            return Ok(());
        }
        self.depth += 1;
        if self.depth > MAX_NESTING {
            return Err(TomlFailure::Panic(crate::template::TooDeep.into()));
        }
        match value {
            Val::Nil | Val::Null => return fail("toml: cannot encode array with nil element"),
            Val::Complex(..) => return fail("unexpected type: complex128"),
            Val::Bool(value) => self.push(if *value { "true" } else { "false" }),
            Val::Int(_, IntType::Duration) => {
                let text = sprint(value);
                self.quoted(text.as_bytes());
            }
            Val::Int(value, _) => self.push(&value.to_string()),
            Val::Uint(value, _) => self.push(&value.to_string()),
            Val::Float(value) => {
                let text = float(*value);
                self.push(&text);
            }
            Val::Str(text) => self.quoted(text.as_bytes()),
            Val::Bytes(bytes) => {
                let numbers: Vec<String> = bytes.iter().map(u8::to_string).collect();
                self.push(&format!("[{}]", numbers.join(", ")));
            }
            Val::List(items) => self.array(items)?,
            Val::Map(_) => self.entries(&mut Vec::new(), value, true)?,
            Val::Object(object) => match text_of(value) {
                Some((text, true)) => self.quoted(text.as_bytes()),
                Some((text, false)) => self.push(&text),
                None if object.kind() == Kind::Slice => {
                    let items: Vec<Val> = object.fields().into_iter().map(|(_, item)| item).collect();
                    self.array(&items)?;
                }
                None => self.entries(&mut Vec::new(), value, true)?,
            },
        }
        self.depth -= 1;
        Ok(())
    }

    fn array(&mut self, items: &[Val]) -> Result<(), TomlFailure> {
        self.push("[");
        for (index, item) in items.iter().enumerate() {
            if index > 0 {
                self.push(", ");
            }
            self.element(item)?;
        }
        self.push("]");
        Ok(())
    }

    fn quoted(&mut self, text: &[u8]) {
        self.out.push(b'"');
        for &byte in text {
            match byte {
                b'"' => self.push("\\\""),
                b'\\' => self.push("\\\\"),
                8 => self.push("\\b"),
                b'\t' => self.push("\\t"),
                b'\n' => self.push("\\n"),
                12 => self.push("\\f"),
                b'\r' => self.push("\\r"),
                0..=0x1f | 0x7f => self.push(&format!("\\u{byte:04x}")),
                other => self.out.push(other),
            }
        }
        self.out.push(b'"');
    }
}

fn quoted_key(key: &str) -> String {
    let bare = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-');
    if !key.is_empty() && key.bytes().all(bare) {
        return key.to_owned();
    }
    let mut writer = TomlWriter {
        out: Vec::new(),
        depth: 0,
    };
    writer.quoted(key.as_bytes());
    String::from_utf8_lossy(&writer.out).into_owned()
}

fn path(key: &[String]) -> String {
    let mut out = String::new();
    for (index, part) in key.iter().enumerate() {
        // Writing to a String can't fail.
        let _ = write!(out, "{}{}", if index == 0 { "" } else { "." }, quoted_key(part));
    }
    out
}

/// Go's `%g` with a fraction or an exponent.
fn float(value: f64) -> String {
    if value.is_nan() {
        let sign = if value.is_sign_negative() { "-" } else { "" };
        return format!("{sign}nan");
    }
    if value.is_infinite() {
        return if value > 0.0 { "inf" } else { "-inf" }.to_owned();
    }
    let text = crate::yaml::plain_float(value);
    if text.contains(['e', '.']) {
        text
    } else {
        text + ".0"
    }
}
