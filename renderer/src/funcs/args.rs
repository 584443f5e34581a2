//! Shared by the families: arguments as Go's functions see them, messages of Go's panics, and limits.

use std::borrow::Cow;

use super::Context;
use crate::template::print::sprint;
use crate::template::{Call, Func, FuncError, Kind, Str, Type, Val, memory};

/// The maximum length of a function's text, in bytes.
pub const MAX_TEXT: usize = 64 << 20;
/// The maximum length of a function's list.
pub const MAX_ITEMS: usize = 1_000_000;

/// Go's message for a nil pointer.
pub(super) const NIL_POINTER: &str = "runtime error: invalid memory address or nil pointer dereference";

/// The body of a function.
pub(super) type Body = fn(&mut Call<'_, Context>) -> Result<Val, FuncError>;

/// A row of a table.
pub(super) const fn func(
    name: &'static str,
    params: &'static [Type],
    doc: &'static str,
    call: Body,
) -> Func<Context> {
    let variadic = false;
    Func {
        name,
        params,
        variadic,
        doc,
        call,
    }
}

/// A row of a table whose last parameter repeats.
pub(super) const fn variadic(
    name: &'static str,
    params: &'static [Type],
    doc: &'static str,
    call: Body,
) -> Func<Context> {
    let variadic = true;
    Func {
        name,
        params,
        variadic,
        doc,
        call,
    }
}

/// sprig's `strval`: strings unchanged, everything else as Go prints it.
pub(super) fn strval(value: &Val) -> Str {
    match value {
        Val::Str(text) => text.clone(),
        Val::Bytes(bytes) => Str::from_bytes(bytes.to_vec()),
        Val::Object(object) => match object.string() {
            Some(text) => Str::from(text),
            None => sprint(value),
        },
        _ => sprint(value),
    }
}

/// The items, if it is a slice of any type.
pub(super) fn items(value: &Val) -> Option<Cow<'_, [Val]>> {
    match value {
        Val::List(list) => Some(Cow::Borrowed(list)),
        Val::Bytes(bytes) => Some(Cow::Owned(
            bytes
                .iter()
                .map(|byte| Val::Uint(u64::from(*byte), crate::template::UintType::Uint8))
                .collect(),
        )),
        Val::Object(object) if object.kind() == Kind::Slice => Some(Cow::Owned(
            object.fields().into_iter().map(|(_, item)| item).collect(),
        )),
        _ => None,
    }
}

/// The items, or sprig's error message, which ends with the kind.
pub(super) fn items_or<'a>(value: &'a Val, error: &str) -> Result<Cow<'a, [Val]>, FuncError> {
    match items(value) {
        Some(items) => Ok(items),
        None if value.is_nil() => Err(NIL_POINTER.into()),
        None => Err(format!("{error} {}", value.kind().name()).into()),
    }
}

/// Refuses a text that exceeds the limit.
pub(super) fn check_text(length: usize) -> Result<(), FuncError> {
    if length > MAX_TEXT {
        return Err(format!("the result would be longer than {MAX_TEXT} bytes").into());
    }
    check_memory(length)
}

/// Refuses a list that exceeds the limit.
pub(super) fn check_items(length: usize) -> Result<(), FuncError> {
    if length > MAX_ITEMS {
        return Err(format!("the result would have more than {MAX_ITEMS} items").into());
    }
    Ok(())
}

/// Refuses a result that would exceed the rendering's memory; the run then ends with its own message.
fn check_memory(bytes: usize) -> Result<(), FuncError> {
    if memory::fits(bytes) {
        return Ok(());
    }
    Err("the result would take too much memory".into())
}

/// The bytes as a text, shared if it is the whole text.
pub(super) fn part(text: &Str, part: &[u8]) -> Str {
    if part.len() == text.len() {
        text.clone()
    } else {
        Str::from_bytes(part)
    }
}
