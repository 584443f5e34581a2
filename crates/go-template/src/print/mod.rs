//! Go's `fmt` for template values: `print`, `println`, `printf`, and what an action prints.
//!
//! Addresses, which `%p` prints in Go, are replaced by a fixed one.

mod format;
mod number;
mod quote;
mod verbs;

use super::text::Str;
use super::value::{Kind, Val};

pub use format::sprintf;
pub use quote::{is_printable, quote, quote_ascii, quote_bytes, quote_char};

use verbs::Printer;

/// Prints like an action: `fmt.Fprint`, with `<no value>` for no value.
pub(super) fn display(value: &Val, out: &mut Vec<u8>) {
    match value {
        Val::Str(text) => out.extend_from_slice(text.as_bytes()),
        Val::Nil => out.extend_from_slice(b"<no value>"),
        Val::Bool(true) => out.extend_from_slice(b"true"),
        Val::Bool(false) => out.extend_from_slice(b"false"),
        Val::Object(object) => match object.bare() {
            Some(text) => out.extend_from_slice(text.as_bytes()),
            None => {
                let start = out.len();
                Printer::new(out).value(value, 'v');
                // An action prints the pointer's target, fmt marks the pointer.
                if object.kind() == Kind::Ptr && out.get(start) == Some(&b'&') {
                    out.remove(start);
                }
            }
        },
        other => Printer::new(out).value(other, 'v'),
    }
}

/// `fmt.Sprint` of one value, which is its `%v`; nil is `<nil>`.
pub fn sprint(value: &Val) -> Str {
    match value {
        Val::Str(text) => text.clone(),
        other => {
            let mut out = Vec::new();
            Printer::new(&mut out).value(other, 'v');
            Str::from_bytes(out)
        }
    }
}

/// `fmt.Sprintf` of one value with a verb.
pub(super) fn sprint_as(value: &Val, verb: char) -> Str {
    let mut out = Vec::new();
    Printer::new(&mut out).value(value, verb);
    Str::from_bytes(out)
}

/// `fmt.Sprint`: spaces only between two values that are not strings.
pub fn sprint_all(values: &[Val]) -> Str {
    let mut out = Vec::new();
    let mut after_text = false;
    for (index, value) in values.iter().enumerate() {
        let is_text = matches!(value, Val::Str(_));
        if index > 0 && !is_text && !after_text {
            out.push(b' ');
        }
        Printer::new(&mut out).value(value, 'v');
        after_text = is_text;
    }
    Str::from_bytes(out)
}

/// `fmt.Sprintln`: spaces between all values, and a line break.
pub fn sprintln(values: &[Val]) -> Str {
    let mut out = Vec::new();
    for (index, value) in values.iter().enumerate() {
        if index > 0 {
            out.push(b' ');
        }
        Printer::new(&mut out).value(value, 'v');
    }
    out.push(b'\n');
    Str::from_bytes(out)
}
