//! Writes a template's values as YAML, like the two libraries of Helm.

use std::borrow::Cow;

use super::encoded;
use super::exported;
use super::json_write::{cycle, unsupported_float};
use super::read::is_go_nil;
use crate::template::{FuncError, IntType, Kind, MAX_NESTING, MAX_TEXT_BYTES, Str, Val};
use crate::value::Number;
use crate::yaml::{self, Dialect, Options, Tree, Writer};

/// The maximum length of a key that go-yaml reads from JSON, in characters without quotes.
const LONGEST_KEY: usize = 1022;
/// Escapes make at most six characters of one byte.
const MAY_BE_LONG: usize = LONGEST_KEY / 6;

/// As `toYaml`: converted to JSON, then by go-yaml v2.
pub(super) fn plain(value: &Val) -> Result<String, FuncError> {
    text(&Plain { value, depth: 0 }, Dialect::GoYaml2)
}

/// As `toYamlPretty`: Go's values written by go-yaml v3.
pub(super) fn pretty(value: &Val) -> Result<String, FuncError> {
    text(&Pretty { value, depth: 0 }, Dialect::GoYaml3)
}

fn text<T: Tree<Error = FuncError>>(tree: &T, dialect: Dialect) -> Result<String, FuncError> {
    let options = Options {
        dialect,
        ..Options::default()
    };
    let mut text = yaml::write_tree(tree, &options)?;
    if text.ends_with('\n') {
        text.pop();
    }
    Ok(text)
}

#[derive(Clone, Copy)]
struct Plain<'a> {
    value: &'a Val,
    depth: usize,
}

impl Tree for Plain<'_> {
    type Error = FuncError;

    fn write(&self, out: &mut Writer) -> Result<(), FuncError> {
        let depth = self.depth + 1;
        match self.value {
            Val::Str(text) => match text.as_str() {
                Some(text) => out.text(&reread(text)?),
                None => out.text(&reread(&text.to_text())?),
            },
            Val::Nil | Val::Null => out.null(),
            Val::Bool(value) => out.bool(*value),
            Val::Int(value, _) => out.number(Number::Int(*value)),
            Val::Uint(value, _) => out.number(Number::Uint(*value)),
            Val::Float(value) if !value.is_finite() => {
                return Err(in_json(unsupported_float(*value)));
            }
            Val::Float(value) => out.number(Number::Float(*value)),
            Val::Complex(..) => return Err(in_json("json: unsupported type: complex128".into())),
            Val::Bytes(bytes) => out.text(&encoded(bytes)),
            _ if depth > MAX_NESTING => return Err(in_json(cycle(self.value))),
            // The call fails later because of its length.
            _ if out.len() > MAX_TEXT_BYTES => out.null(),
            value if is_go_nil(value) => out.null(),
            Val::List(list) => out.list(list.iter().map(|value| Plain { value, depth }))?,
            Val::Map(map) => {
                let entries = map.borrow();
                let mut check = Ok(());
                let plain = entries.keys().all(|key| {
                    check = check_key(key);
                    check.is_ok() && matches!(reread(key), Ok(Cow::Borrowed(_)))
                });
                check?;
                if plain {
                    let entries = entries.iter();
                    return out.map(entries.map(|(key, value)| (&**key, Plain { value, depth })));
                }
                let mut reread_entries = std::collections::BTreeMap::new();
                for (key, value) in entries.iter() {
                    reread_entries.insert(reread(key)?, value);
                }
                let entries = reread_entries.iter();
                out.map(entries.map(|(key, value)| (&**key, Plain { value, depth })))?;
            }
            Val::Object(object) => {
                let value = &object.json();
                Plain { value, depth }.write(out)?;
            }
        }
        Ok(())
    }
}

fn in_json(fault: FuncError) -> FuncError {
    FuncError::new(format!("error marshaling into JSON: {}", fault.message))
}

/// go-yaml's parser of the intermediate JSON must find the key's end.
fn check_key(key: &str) -> Result<(), FuncError> {
    if key.len() <= MAY_BE_LONG {
        return Ok(());
    }
    let length: usize = key
        .chars()
        .map(|character| match character {
            '"' | '\\' | '\n' | '\r' | '\t' | '\u{8}' | '\u{c}' => 2,
            '\0'..='\u{1f}' | '<' | '>' | '&' | '\u{2028}' | '\u{2029}' => 6,
            _ => 1,
        })
        .sum();
    if length <= LONGEST_KEY {
        Ok(())
    } else {
        Err("yaml: did not find expected ',' or '}'".into())
    }
}

/// A string after a round trip through JSON and go-yaml's parser, which refuses some characters and folds U+0085 as a
/// line break.
fn reread(text: &str) -> Result<Cow<'_, str>, FuncError> {
    if text.is_ascii() && !text.as_bytes().contains(&0x7f) {
        return Ok(Cow::Borrowed(text));
    }
    let mut breaks = false;
    for character in text.chars() {
        match character {
            '\u{85}' => breaks = true,
            '\u{7f}'..='\u{9f}' | '\u{fffe}' | '\u{ffff}' => {
                return Err("yaml: control characters are not allowed".into());
            }
            _ => {}
        }
    }
    if !breaks {
        return Ok(Cow::Borrowed(text));
    }
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find('\u{85}') {
        let (before, after) = rest.split_at_checked(at).unwrap_or((rest, ""));
        out.push_str(before.trim_end_matches(' '));
        let tail = after.trim_start_matches([' ', '\u{85}']);
        let gap = after.get(..after.len() - tail.len()).unwrap_or_default();
        match gap.matches('\u{85}').count() {
            1 => out.push(' '),
            more => out.extend(std::iter::repeat_n('\n', more.saturating_sub(1))),
        }
        rest = tail;
    }
    out.push_str(rest);
    Ok(Cow::Owned(out))
}

#[derive(Clone, Copy)]
struct Pretty<'a> {
    value: &'a Val,
    depth: usize,
}

impl Tree for Pretty<'_> {
    type Error = FuncError;

    fn write(&self, out: &mut Writer) -> Result<(), FuncError> {
        let depth = self.depth + 1;
        match self.value {
            Val::Nil | Val::Null => out.null(),
            Val::Bool(value) => out.bool(*value),
            Val::Int(_, IntType::Duration) => out.text(&crate::template::print::sprint(self.value).to_text()),
            Val::Int(value, _) => out.number(Number::Int(*value)),
            Val::Uint(value, _) => out.number(Number::Uint(*value)),
            Val::Float(value) => out.word(&yaml::plain_float(*value)),
            Val::Complex(..) => return Err("cannot marshal type: complex128".into()),
            Val::Str(text) => match text.as_str() {
                Some(text) => out.text(text),
                None => out.binary(&lines(text)),
            },
            Val::Bytes(bytes) => out.list(bytes.iter().map(|byte| Byte(*byte)))?,
            _ if depth > MAX_NESTING => return Err(crate::template::TooDeep.into()),
            // The call fails later because of its length.
            _ if out.len() > MAX_TEXT_BYTES => out.null(),
            Val::List(list) => out.list(list.iter().map(|value| Pretty { value, depth }))?,
            Val::Map(map) => {
                let entries = map.borrow();
                out.map(
                    entries
                        .iter()
                        .map(|(key, value)| (&**key, Pretty { value, depth })),
                )?;
            }
            Val::Object(object) => {
                if let Some(time) = super::super::dates::rfc3339(self.value) {
                    out.word(&time);
                    return Ok(());
                }
                match object.kind() {
                    Kind::Struct | Kind::Ptr => match object.json() {
                        // It implements TextMarshaler.
                        Val::Str(text) => out.text(&text.to_text()),
                        _ => self.fields(&exported(object.fields()), out)?,
                    },
                    _ => {
                        let value = &object.json();
                        Pretty { value, depth }.write(out)?;
                    }
                }
            }
        }
        Ok(())
    }
}

impl Pretty<'_> {
    /// A struct: its fields in their order, in lower case.
    fn fields(&self, fields: &[(String, Val)], out: &mut Writer) -> Result<(), FuncError> {
        let depth = self.depth + 1;
        let names: Vec<String> = fields.iter().map(|(name, _)| name.to_lowercase()).collect();
        let values = fields.iter().map(|(_, value)| Pretty { value, depth });
        out.fields(names.iter().map(String::as_str).zip(values))
    }
}

struct Byte(u8);

impl Tree for Byte {
    type Error = FuncError;

    fn write(&self, out: &mut Writer) -> Result<(), FuncError> {
        out.number(Number::Int(i64::from(self.0)));
        Ok(())
    }
}

/// Base64 in lines of 70 characters, each with a line break if there are several.
fn lines(text: &Str) -> String {
    const LINE: usize = 70;
    let base64 = encoded(text.as_bytes());
    if base64.len() < LINE {
        return base64;
    }
    let mut out = String::with_capacity(base64.len() + base64.len() / LINE + 1);
    let mut rest = base64.as_str();
    while !rest.is_empty() {
        let (line, after) = rest.split_at_checked(LINE).unwrap_or((rest, ""));
        out.push_str(line);
        out.push('\n');
        rest = after;
    }
    out
}
