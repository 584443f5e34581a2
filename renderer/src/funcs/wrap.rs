//! `wrap` and `wrapWith`: break lines at a width in bytes, as goutils 1.1.1 does.

use super::Context;
use super::args::check_text;
use crate::template::{Call, FuncError, Str, Val};

/// `wrap WIDTH TEXT`: words longer than the width are kept.
pub(super) fn wrap(call: &mut Call<'_, Context>) -> Result<Val, FuncError> {
    wrapped(&call.str(1), call.int(0), b"\n", false).map(Val::Str)
}

/// `wrapWith WIDTH BREAK TEXT`: words longer than the width are split.
pub(super) fn wrap_with(call: &mut Call<'_, Context>) -> Result<Val, FuncError> {
    let line_break = call.str(1);
    let line_break = match line_break.as_bytes() {
        b"" => b"\n",
        other => other,
    };
    wrapped(&call.str(2), call.int(0), line_break, true).map(Val::Str)
}

fn wrapped(text: &Str, width: i64, line_break: &[u8], cut_words: bool) -> Result<Str, FuncError> {
    let width = usize::try_from(width.max(1)).unwrap_or(usize::MAX);
    let mut rest = text.as_bytes();
    if rest.len() <= width {
        return Ok(text.clone());
    }
    let mut out = Vec::with_capacity(rest.len());
    while rest.len() > width {
        if let Some(behind) = rest.strip_prefix(b" ") {
            rest = behind;
            continue;
        }
        let (line, behind) = line_of(rest, width, cut_words);
        out.extend_from_slice(line);
        match behind {
            Some(behind) => {
                out.extend_from_slice(line_break);
                rest = behind;
            }
            None => rest = b"",
        }
        check_text(out.len())?;
    }
    out.extend_from_slice(rest);
    Ok(Str::from_bytes(out))
}

/// The next line of a text longer than the width, and the rest after its break.
fn line_of(text: &[u8], width: usize, cut_words: bool) -> (&[u8], Option<&[u8]>) {
    let at_space = |place: usize| (text.get(..place).unwrap_or_default(), text.get(place + 1..));
    let window = text.get(..=width).unwrap_or(text);
    if let Some(place) = window.iter().rposition(|byte| *byte == b' ') {
        return at_space(place);
    }
    if cut_words {
        let (line, behind) = text.split_at_checked(width).unwrap_or((text, b""));
        return (line, Some(behind));
    }
    match text.iter().skip(width).position(|byte| *byte == b' ') {
        Some(place) => at_space(place + width),
        None => (text, None),
    }
}
