//! Slash-separated paths, as in Go's `path` and, on Linux, `path/filepath`.

use super::Context;
use super::args::func;
use crate::template::{Call, Func, FuncError, Str, Type, Val};

fn base(call: &mut Call<'_, Context>) -> Result<Val, FuncError> {
    let text = call.str(0);
    let path = text.as_bytes();
    let Some(last) = path.iter().rposition(|byte| *byte != b'/') else {
        return Ok(Val::str(if path.is_empty() { "." } else { "/" }));
    };
    let start = slash_before(path, last + 1);
    Ok(Val::Str(text.slice(start, last + 1)))
}

/// The position after the last slash before `end`.
fn slash_before(path: &[u8], end: usize) -> usize {
    let before = path.get(..end).unwrap_or(path);
    before
        .iter()
        .rposition(|byte| *byte == b'/')
        .map_or(0, |slash| slash + 1)
}

fn dir(call: &mut Call<'_, Context>) -> Result<Val, FuncError> {
    let text = call.str(0);
    let end = slash_before(text.as_bytes(), text.len());
    Ok(Val::Str(cleaned(&text.slice(0, end))))
}

fn ext(call: &mut Call<'_, Context>) -> Result<Val, FuncError> {
    let text = call.str(0);
    let start = slash_before(text.as_bytes(), text.len());
    let name = text.as_bytes().get(start..).unwrap_or_default();
    Ok(match name.iter().rposition(|byte| *byte == b'.') {
        Some(dot) => Val::Str(text.slice(start + dot, text.len())),
        None => Val::str(""),
    })
}

fn clean(call: &mut Call<'_, Context>) -> Result<Val, FuncError> {
    Ok(Val::Str(cleaned(&call.str(0))))
}

fn is_abs(call: &mut Call<'_, Context>) -> Result<Val, FuncError> {
    Ok(Val::Bool(call.str(0).as_bytes().starts_with(b"/")))
}

/// The shortest equivalent path, without file system access.
fn cleaned(path: &Str) -> Str {
    let rooted = path.as_bytes().starts_with(b"/");
    let mut parts: Vec<&[u8]> = Vec::new();
    for part in path.as_bytes().split(|byte| *byte == b'/') {
        match part {
            b"" | b"." => {}
            b".." if parts.last().is_some_and(|last| *last != b"..") => {
                parts.pop();
            }
            b".." if rooted => {}
            part => parts.push(part),
        }
    }
    let joined = parts.join(&b'/');
    match (rooted, joined.is_empty()) {
        (true, _) => Str::from_bytes([b"/", joined.as_slice()].concat()),
        (false, true) => Str::from("."),
        (false, false) => Str::from_bytes(joined),
    }
}

use Type::String as Text;

pub(super) const TABLE: &[Func<Context>] = &[
    func("base", &[Text], "The path's last element", base),
    func("clean", &[Text], "The shortest path that means the same", clean),
    func("dir", &[Text], "The path without its last element", dir),
    func("ext", &[Text], "The file name's extension, with its dot", ext),
    func("isAbs", &[Text], "Whether the path is absolute", is_abs),
    func("osBase", &[Text], "The same as base", base),
    func("osClean", &[Text], "The same as clean", clean),
    func("osDir", &[Text], "The same as dir", dir),
    func("osExt", &[Text], "The same as ext", ext),
    func("osIsAbs", &[Text], "The same as isAbs", is_abs),
];
