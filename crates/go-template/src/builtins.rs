//! Go's own functions: comparison, indexing, printing, escaping.

use super::print::{display, is_printable, sprint, sprint_all, sprint_as, sprintf, sprintln};
use super::signature::{FuncError, Type};
use super::text::Str;
use super::value::{Kind, List, Map, UintType, Val};

/// One of Go's own functions.
pub(super) struct Builtin {
    pub(super) name: &'static str,
    pub(super) params: &'static [Type],
    pub(super) variadic: bool,
    /// One line: what it gives.
    pub(super) doc: &'static str,
    pub(super) call: Special,
}

/// How it is called.
#[derive(Clone, Copy)]
pub(super) enum Special {
    /// Arguments are evaluated until one decides.
    And,
    Or,
    /// No value here is a function, so it always fails; it needs the written name.
    Call,
    Plain(fn(&[Val]) -> Result<Val, FuncError>),
}

const fn plain(
    name: &'static str,
    params: &'static [Type],
    variadic: bool,
    doc: &'static str,
    call: fn(&[Val]) -> Result<Val, FuncError>,
) -> Builtin {
    Builtin {
        name,
        params,
        variadic,
        doc,
        call: Special::Plain(call),
    }
}

const ONE: &[Type] = &[Type::Value];
const TWO: &[Type] = &[Type::Value, Type::Value];
const ANYS: &[Type] = &[Type::Any];

pub(super) const BUILTINS: &[Builtin] = &[
    Builtin {
        name: "and",
        params: TWO,
        variadic: true,
        doc: "the first argument that is empty, else the last; the rest is not evaluated",
        call: Special::And,
    },
    Builtin {
        name: "or",
        params: TWO,
        variadic: true,
        doc: "the first argument that is not empty, else the last; the rest is not evaluated",
        call: Special::Or,
    },
    Builtin {
        name: "call",
        params: TWO,
        variadic: true,
        doc: "calls a value that is a function; Helm's values hold none",
        call: Special::Call,
    },
    plain("not", ONE, false, "whether the argument is empty", |args| {
        Ok(Val::Bool(!args.iter().any(Val::truth)))
    }),
    plain(
        "eq",
        TWO,
        true,
        "whether the first argument is equal to one of the others",
        |args| eq(args).map(Val::Bool),
    ),
    plain("ne", TWO, false, "whether the arguments differ", |args| {
        eq(args).map(|equal| Val::Bool(!equal))
    }),
    plain(
        "lt",
        TWO,
        false,
        "whether the first is less than the second",
        |args| lt(args).map(Val::Bool),
    ),
    plain(
        "le",
        TWO,
        false,
        "whether the first is less than the second, or equal",
        |args| le(args).map(Val::Bool),
    ),
    plain(
        "gt",
        TWO,
        false,
        "whether the first is greater than the second",
        |args| le(args).map(|le| Val::Bool(!le)),
    ),
    plain(
        "ge",
        TWO,
        false,
        "whether the first is greater than the second, or equal",
        |args| lt(args).map(|lt| Val::Bool(!lt)),
    ),
    plain(
        "index",
        TWO,
        true,
        "what lies in a list, map or text under the indexes, one after the other",
        index,
    ),
    plain(
        "slice",
        TWO,
        true,
        "a part of a text or list, from the first index to before the second",
        slice,
    ),
    plain("len", ONE, false, "how many bytes, items or keys", |args| {
        len(args).map(Val::count)
    }),
    plain(
        "print",
        ANYS,
        true,
        "the arguments as text, with blanks between those that are no texts",
        |args| Ok(Val::Str(sprint_all(args))),
    ),
    plain(
        "println",
        ANYS,
        true,
        "the arguments as text, with blanks between them and a line break",
        |args| Ok(Val::Str(sprintln(args))),
    ),
    plain(
        "printf",
        &[Type::String, Type::Any],
        true,
        "the arguments put into a format, as Go's fmt does",
        |args| {
            Ok(Val::Str(match args {
                [Val::Str(format), rest @ ..] => sprintf(format, rest),
                _ => Str::default(),
            }))
        },
    ),
    plain(
        "html",
        ANYS,
        true,
        "the arguments as text, escaped for HTML",
        |args| Ok(Val::Str(escaped(args, html))),
    ),
    plain(
        "js",
        ANYS,
        true,
        "the arguments as text, escaped for JavaScript",
        |args| Ok(Val::Str(escaped(args, js))),
    ),
    plain(
        "urlquery",
        ANYS,
        true,
        "the arguments as text, escaped for the query of a URL",
        |args| Ok(Val::Str(escaped(args, url_query))),
    ),
];

/// The comparable basic types.
#[derive(Clone, Copy, PartialEq)]
enum Basic {
    Bool,
    Complex,
    Int,
    Float,
    String,
    Uint,
}

fn basic(value: &Val) -> Option<Basic> {
    Some(match value {
        Val::Bool(_) => Basic::Bool,
        Val::Complex(..) => Basic::Complex,
        Val::Int(..) => Basic::Int,
        Val::Float(_) => Basic::Float,
        Val::Str(_) => Basic::String,
        Val::Uint(..) => Basic::Uint,
        _ => return None,
    })
}

fn incompatible(a: &Val, b: &Val) -> FuncError {
    FuncError::new(format!(
        "incompatible types for comparison: {} and {}",
        a.type_name(),
        b.type_name()
    ))
}

/// Whether the first is equal to one of the others.
fn eq(args: &[Val]) -> Result<bool, FuncError> {
    let [first, rest @ ..] = args else {
        return Err("missing argument for comparison".into());
    };
    if rest.is_empty() {
        return Err("missing argument for comparison".into());
    }
    for other in rest {
        if equal(first, other)? {
            return Ok(true);
        }
    }
    Ok(false)
}

fn equal(a: &Val, b: &Val) -> Result<bool, FuncError> {
    let (kind_a, kind_b) = (basic(a), basic(b));
    if kind_a != kind_b {
        return match (a, b) {
            (Val::Int(int, _), Val::Uint(uint, _)) | (Val::Uint(uint, _), Val::Int(int, _)) => {
                Ok(u64::try_from(*int) == Ok(*uint))
            }
            _ if a.is_nil() || b.is_nil() => Ok(false),
            _ => Err(incompatible(a, b)),
        };
    }
    match (a, b) {
        (Val::Bool(a), Val::Bool(b)) => Ok(a == b),
        #[allow(clippy::float_cmp, reason = "as Go compares")]
        (Val::Float(a), Val::Float(b)) => Ok(a == b),
        #[allow(clippy::float_cmp, reason = "as Go compares")]
        (Val::Complex(a, b), Val::Complex(c, d)) => Ok(a == c && b == d),
        (Val::Int(a, _), Val::Int(b, _)) => Ok(a == b),
        (Val::Uint(a, _), Val::Uint(b, _)) => Ok(a == b),
        (Val::Str(a), Val::Str(b)) => Ok(a == b),
        _ => equal_other(a, b),
    }
}

/// Compares nils, and reports values that can't be compared.
fn equal_other(a: &Val, b: &Val) -> Result<bool, FuncError> {
    if a.is_nil() || b.is_nil() {
        return Ok(a.is_nil() && b.is_nil());
    }
    if a.kind() != b.kind() {
        let message = format!(
            "non-comparable types {}: {}, {}: {}",
            sprint_as(a, 's'),
            a.type_name(),
            b.type_name(),
            sprint(b)
        );
        return Err(message.into());
    }
    match (a, b) {
        (Val::Object(a), Val::Object(b)) if !matches!(a.kind(), Kind::Map | Kind::Slice) => {
            Ok(std::rc::Rc::ptr_eq(a, b) || a.equals(&**b))
        }
        _ => Err(format!("non-comparable type {}: {}", sprint_as(b, 's'), b.type_name()).into()),
    }
}

fn lt(args: &[Val]) -> Result<bool, FuncError> {
    let [a, b] = args else {
        return Err("missing argument for comparison".into());
    };
    let bad = || FuncError::from("invalid type for comparison");
    let (kind_a, kind_b) = (basic(a).ok_or_else(bad)?, basic(b).ok_or_else(bad)?);
    match (a, b) {
        (Val::Int(a, _), Val::Uint(b, _)) => Ok(u64::try_from(*a).is_ok_and(|a| a < *b) || *a < 0),
        (Val::Uint(a, _), Val::Int(b, _)) => Ok(u64::try_from(*b).is_ok_and(|b| *a < b)),
        _ if kind_a != kind_b => Err(incompatible(a, b)),
        (Val::Float(a), Val::Float(b)) => Ok(a < b),
        (Val::Int(a, _), Val::Int(b, _)) => Ok(a < b),
        (Val::Uint(a, _), Val::Uint(b, _)) => Ok(a < b),
        (Val::Str(a), Val::Str(b)) => Ok(a < b),
        _ => Err(bad()),
    }
}

fn le(args: &[Val]) -> Result<bool, FuncError> {
    Ok(lt(args)? || eq(args)?)
}

/// An index, which may equal the length at the end of a slice.
fn index_arg(index: &Val, largest: usize) -> Result<usize, FuncError> {
    let number = match index {
        Val::Int(number, _) => *number,
        Val::Uint(number, _) => number.cast_signed(),
        Val::Nil | Val::Null => return Err("cannot index slice/array with nil".into()),
        other => {
            let message = format!("cannot index slice/array with type {}", other.type_name());
            return Err(message.into());
        }
    };
    usize::try_from(number)
        .ok()
        .filter(|index| *index <= largest)
        .ok_or_else(|| format!("index out of range: {number}").into())
}

/// The message of Go's panic for an index that equals the length.
fn beyond(kind: &str) -> FuncError {
    FuncError::new(format!("reflect: {kind} index out of range"))
}

fn index(args: &[Val]) -> Result<Val, FuncError> {
    let [item, indexes @ ..] = args else {
        return Err("index of untyped nil".into());
    };
    if item.is_nil() {
        return Err("index of untyped nil".into());
    }
    let mut item = item.clone();
    for index in indexes {
        item = index_one(&item, index)?;
    }
    Ok(item)
}

fn index_one(item: &Val, index: &Val) -> Result<Val, FuncError> {
    let boxed = |item: Val| if item.is_nil() { Val::Null } else { item };
    match item {
        Val::Nil | Val::Null => Err("index of nil pointer".into()),
        Val::List(list) => {
            let at = index_arg(index, list.len())?;
            list.get(at).cloned().map(boxed).ok_or_else(|| beyond("slice"))
        }
        Val::Bytes(bytes) => {
            let at = index_arg(index, bytes.len())?;
            let byte = bytes.get(at).ok_or_else(|| beyond("slice"))?;
            Ok(Val::Uint(u64::from(*byte), UintType::Uint8))
        }
        Val::Str(text) => {
            let at = index_arg(index, text.len())?;
            let byte = text.as_bytes().get(at).ok_or_else(|| beyond("string"))?;
            Ok(Val::Uint(u64::from(*byte), UintType::Uint8))
        }
        Val::Map(map) => Ok(map_item(map, &key_arg(index)?)),
        Val::Object(object) if object.kind() == Kind::Map => {
            Ok(object.field(&key_arg(index)?.to_text()).unwrap_or(Val::Null))
        }
        Val::Object(object) if object.kind() == Kind::Slice => {
            let items = object.fields();
            let at = index_arg(index, items.len())?;
            items
                .into_iter()
                .nth(at)
                .map(|(_, item)| item)
                .ok_or_else(|| beyond("slice"))
        }
        other => Err(format!("can't index item of type {}", other.pointed_type_name()).into()),
    }
}

/// A map's item; for a missing key the zero value of the map's type.
pub(super) fn map_item(map: &Map, key: &Str) -> Val {
    match map.get(&key.to_text()) {
        Some(item) if item.is_nil() => Val::Null,
        Some(item) => item,
        None => missing_item(map),
    }
}

/// The zero value of a map's items.
pub(super) fn missing_item(map: &Map) -> Val {
    if map.holds_strings() {
        Val::str("")
    } else {
        Val::Null
    }
}

fn key_arg(index: &Val) -> Result<Str, FuncError> {
    match index {
        Val::Str(key) => Ok(key.clone()),
        Val::Nil | Val::Null => Err("value is nil; should be of type string".into()),
        other => Err(format!("value has type {}; should be string", other.type_name()).into()),
    }
}

fn slice(args: &[Val]) -> Result<Val, FuncError> {
    let [item, indexes @ ..] = args else {
        return Err("slice of untyped nil".into());
    };
    if item.is_nil() {
        return Err("slice of untyped nil".into());
    }
    if indexes.len() > 3 {
        return Err(format!("too many slice indexes: {}", indexes.len()).into());
    }
    let length = match item {
        Val::Str(_) if indexes.len() == 3 => return Err("cannot 3-index slice a string".into()),
        Val::Str(text) => text.len(),
        Val::List(list) => list.len(),
        Val::Bytes(bytes) => bytes.len(),
        other => return Err(format!("can't slice item of type {}", other.type_name()).into()),
    };
    let mut bounds = [0, length, length];
    for (bound, index) in bounds.iter_mut().zip(indexes) {
        *bound = index_arg(index, length)?;
    }
    let [start, end, capacity] = bounds;
    for (low, high) in [(start, end), (end, capacity)] {
        if low > high {
            return Err(format!("invalid slice index: {low} > {high}").into());
        }
    }
    Ok(match item {
        Val::Str(text) => Val::Str(text.slice(start, end)),
        Val::List(list) => {
            let part = list.get(start..end).unwrap_or_default().to_vec();
            Val::List(List::typed(list.kind(), part))
        }
        Val::Bytes(bytes) => Val::Bytes(bytes.get(start..end).unwrap_or_default().into()),
        other => other.clone(),
    })
}

fn len(args: &[Val]) -> Result<usize, FuncError> {
    match args.first() {
        Some(Val::Str(text)) => Ok(text.len()),
        Some(Val::List(list)) => Ok(list.len()),
        Some(Val::Bytes(bytes)) => Ok(bytes.len()),
        Some(Val::Map(map)) => Ok(map.len()),
        Some(Val::Object(object)) if matches!(object.kind(), Kind::Map | Kind::Slice) => {
            Ok(object.fields().len())
        }
        Some(Val::Null) => Err("len of nil pointer".into()),
        None | Some(Val::Nil) => Err("reflect: call of reflect.Value.Type on zero Value".into()),
        Some(other) => Err(format!("len of type {}", other.pointed_type_name()).into()),
    }
}

/// The arguments as one text, as an action prints a single one.
fn escaped(args: &[Val], escape: fn(&[u8], &mut Vec<u8>)) -> Str {
    let text = match args {
        [Val::Str(text)] => text.clone(),
        [Val::Null] => Str::from("<no value>"),
        [one] => {
            let mut out = Vec::new();
            display(one, &mut out);
            Str::from_bytes(out)
        }
        many => {
            let shown: Vec<Val> = many
                .iter()
                .map(|one| {
                    if one.is_nil() {
                        Val::str("<no value>")
                    } else {
                        one.clone()
                    }
                })
                .collect();
            sprint_all(&shown)
        }
    };
    let mut out = Vec::with_capacity(text.len() + 8);
    escape(text.as_bytes(), &mut out);
    Str::from_bytes(out)
}

fn html(text: &[u8], out: &mut Vec<u8>) {
    for byte in text {
        match byte {
            0 => out.extend_from_slice("\u{fffd}".as_bytes()),
            b'"' => out.extend_from_slice(b"&#34;"),
            b'\'' => out.extend_from_slice(b"&#39;"),
            b'&' => out.extend_from_slice(b"&amp;"),
            b'<' => out.extend_from_slice(b"&lt;"),
            b'>' => out.extend_from_slice(b"&gt;"),
            other => out.push(*other),
        }
    }
}

fn js(text: &[u8], out: &mut Vec<u8>) {
    for chunk in text.utf8_chunks() {
        for character in chunk.valid().chars() {
            match character {
                '\\' | '\'' | '"' => out.extend([b'\\', u32::from(character).to_le_bytes()[0]]),
                '<' | '>' | '&' | '=' | '\0'..' ' => {
                    out.extend_from_slice(format!("\\u{:04X}", u32::from(character)).as_bytes());
                }
                _ if character.is_ascii() || is_printable(character) => {
                    out.extend_from_slice(character.encode_utf8(&mut [0; 4]).as_bytes());
                }
                _ => out.extend_from_slice(format!("\\u{:04X}", u32::from(character)).as_bytes()),
            }
        }
        // Invalid bytes count as U+FFFD, which is printed unescaped.
        out.extend_from_slice(chunk.invalid());
    }
}

fn url_query(text: &[u8], out: &mut Vec<u8>) {
    for byte in text {
        match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'_' | b'.' | b'~' => out.push(*byte),
            b' ' => out.push(b'+'),
            other => out.extend_from_slice(format!("%{other:02X}").as_bytes()),
        }
    }
}
