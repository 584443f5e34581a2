//! Strings: cutting, padding, searching, splitting and joining. Positions and lengths are
//! bytes, as in Go.

use super::Context;
use super::args::{MAX_ITEMS, check_items, check_text, func, items, part, strval, variadic};
use super::{case, wrap};
use crate::gotext::quote;
use crate::template::print::sprint;
use crate::template::{Call, Func, FuncError, List, ListType, Map, MapType, Str, Type, Val, memory};

fn trunc(call: &mut Call<'_, Context>) -> Result<Val, FuncError> {
    let (count, text) = (call.int(0), call.str(1));
    let length = i64::try_from(text.len()).unwrap_or(i64::MAX);
    let from_end = count.saturating_add(length);
    let cut = |count: i64| usize::try_from(count).unwrap_or(usize::MAX);
    Ok(Val::Str(if count < 0 && from_end > 0 {
        text.slice(cut(from_end), text.len())
    } else if count >= 0 && length > count {
        text.slice(0, cut(count))
    } else {
        text
    }))
}

fn substr(call: &mut Call<'_, Context>) -> Result<Val, FuncError> {
    let (start, end, text) = (call.int(0), call.int(1), call.str(2));
    let length = i64::try_from(text.len()).unwrap_or(i64::MAX);
    let bounds = if start < 0 {
        if end < 0 {
            return Err(format!("runtime error: slice bounds out of range [:{end}]").into());
        }
        if end > length {
            let message = format!("runtime error: slice bounds out of range [:{end}] with length {length}");
            return Err(message.into());
        }
        (0, end)
    } else if end < 0 || end > length {
        (start, length)
    } else {
        (start, end)
    };
    if bounds.0 > bounds.1 {
        let message = format!(
            "runtime error: slice bounds out of range [{}:{}]",
            bounds.0, bounds.1
        );
        return Err(message.into());
    }
    let place = |index: i64| usize::try_from(index).unwrap_or(0);
    Ok(Val::Str(text.slice(place(bounds.0), place(bounds.1))))
}

fn abbrev(call: &mut Call<'_, Context>) -> Result<Val, FuncError> {
    let (width, text) = (call.int(0), call.str(1));
    Ok(Val::Str(if width < 4 {
        text
    } else {
        abbreviated(&text, 0, width)
    }))
}

fn abbrevboth(call: &mut Call<'_, Context>) -> Result<Val, FuncError> {
    let (left, right, text) = (call.int(0), call.int(1), call.str(2));
    if right < 4 || left > 0 && right < 7 {
        return Ok(Val::Str(text));
    }
    Ok(Val::Str(abbreviated(&text, left, right)))
}

/// At most `width` bytes around `offset`, with dots where text is omitted.
fn abbreviated(text: &Str, offset: i64, width: i64) -> Str {
    let (Ok(width), Ok(length)) = (usize::try_from(width), i64::try_from(text.len())) else {
        return Str::default();
    };
    if text.len() <= width {
        return text.clone();
    }
    // The width without the three dots; the text is longer.
    let room = width.saturating_sub(3);
    let last = length.saturating_sub_unsigned(room as u64);
    let offset = offset.min(last);
    let bytes = text.as_bytes();
    let cut = |from: usize, to: usize| bytes.get(from..to).unwrap_or_default();
    let Some(offset) = usize::try_from(offset).ok().filter(|offset| *offset > 4) else {
        return Str::from_bytes([cut(0, room), b"..."].concat());
    };
    if offset.saturating_add(room) < text.len() {
        if room < 4 {
            return Str::from("...");
        }
        let tail = Str::from_bytes(cut(offset, text.len()));
        let tail = abbreviated(&tail, 0, i64::try_from(room).unwrap_or(0));
        return Str::from_bytes([b"...", tail.as_bytes()].concat());
    }
    Str::from_bytes([b"...", cut(text.len() - room, text.len())].concat())
}

fn trim(call: &mut Call<'_, Context>) -> Result<Val, FuncError> {
    let text = call.str(0);
    if let Some(plain) = text.as_str() {
        return Ok(Val::Str(part(&text, plain.trim().as_bytes())));
    }
    Ok(Val::Str(trimmed(&text, char::is_whitespace)))
}

fn trim_all(call: &mut Call<'_, Context>) -> Result<Val, FuncError> {
    let (set, text) = (call.str(0), call.str(1));
    let set = set.to_text();
    if let Some(plain) = text.as_str() {
        let kept = plain.trim_matches(|c| set.contains(c));
        return Ok(Val::Str(part(&text, kept.as_bytes())));
    }
    Ok(Val::Str(trimmed(&text, |c| set.contains(c))))
}

/// Trims characters at both ends; an invalid byte counts as U+FFFD.
fn trimmed(text: &Str, drop: impl Fn(char) -> bool) -> Str {
    let runes: Vec<_> = case::runes(text).collect();
    let kept = |(c, _): &&(char, &[u8])| !drop(*c);
    let width = |skipped: &[(char, &[u8])]| skipped.iter().map(|(_, bytes)| bytes.len()).sum::<usize>();
    let Some(first) = runes.iter().position(|rune| kept(&rune)) else {
        return Str::default();
    };
    let last = runes.iter().rposition(|rune| kept(&rune)).unwrap_or(first);
    let start = width(runes.get(..first).unwrap_or_default());
    let end = text.len() - width(runes.get(last + 1..).unwrap_or_default());
    text.slice(start, end)
}

fn trim_prefix(call: &mut Call<'_, Context>) -> Result<Val, FuncError> {
    let (prefix, text) = (call.str(0), call.str(1));
    let rest = text.as_bytes().strip_prefix(prefix.as_bytes());
    Ok(Val::Str(part(&text, rest.unwrap_or(text.as_bytes()))))
}

fn trim_suffix(call: &mut Call<'_, Context>) -> Result<Val, FuncError> {
    let (suffix, text) = (call.str(0), call.str(1));
    let rest = text.as_bytes().strip_suffix(suffix.as_bytes());
    Ok(Val::Str(part(&text, rest.unwrap_or(text.as_bytes()))))
}

fn has_prefix(call: &mut Call<'_, Context>) -> Result<Val, FuncError> {
    let (prefix, text) = (call.str(0), call.str(1));
    Ok(Val::Bool(text.as_bytes().starts_with(prefix.as_bytes())))
}

fn has_suffix(call: &mut Call<'_, Context>) -> Result<Val, FuncError> {
    let (suffix, text) = (call.str(0), call.str(1));
    Ok(Val::Bool(text.as_bytes().ends_with(suffix.as_bytes())))
}

fn contains(call: &mut Call<'_, Context>) -> Result<Val, FuncError> {
    let (needle, text) = (call.str(0), call.str(1));
    Ok(Val::Bool(match (needle.as_str(), text.as_str()) {
        (Some(needle), Some(text)) => text.contains(needle),
        _ => find(text.as_bytes(), needle.as_bytes()).is_some(),
    }))
}

/// The first position of the bytes.
fn find(text: &[u8], needle: &[u8]) -> Option<usize> {
    if needle.is_empty() {
        return Some(0);
    }
    text.windows(needle.len()).position(|window| window == needle)
}

fn repeat(call: &mut Call<'_, Context>) -> Result<Val, FuncError> {
    let text = call.str(1);
    repeated(&text, call.int(0)).map(Val::Str)
}

fn repeated(text: &Str, count: i64) -> Result<Str, FuncError> {
    let count = usize::try_from(count).map_err(|_| "strings: negative Repeat count")?;
    check_text(text.len().saturating_mul(count))?;
    Ok(match text.as_str() {
        Some(text) => Str::from(text.repeat(count)),
        None => Str::from_bytes(text.as_bytes().repeat(count)),
    })
}

fn indent(call: &mut Call<'_, Context>) -> Result<Val, FuncError> {
    indented(call, "")
}

fn nindent(call: &mut Call<'_, Context>) -> Result<Val, FuncError> {
    indented(call, "\n")
}

fn indented(call: &Call<'_, Context>, before: &str) -> Result<Val, FuncError> {
    let text = call.str(1);
    let spaces = usize::try_from(call.int(0)).map_err(|_| "strings: negative Repeat count")?;
    let breaks = text.as_bytes().iter().filter(|byte| **byte == b'\n').count();
    let length = spaces
        .saturating_mul(breaks + 1)
        .saturating_add(text.len() + before.len());
    check_text(length)?;
    let Some(plain) = text.as_str() else {
        let pad = vec![b' '; spaces];
        let lines: Vec<Vec<u8>> = text
            .as_bytes()
            .split(|byte| *byte == b'\n')
            .map(|line| [&pad, line].concat())
            .collect();
        return Ok(Val::Str(Str::from_bytes(
            [before.as_bytes(), &lines.join(&b'\n')].concat(),
        )));
    };
    let pad = " ".repeat(spaces);
    let mut out = String::with_capacity(length);
    out.push_str(before);
    for (index, line) in plain.split('\n').enumerate() {
        if index > 0 {
            out.push('\n');
        }
        out.push_str(&pad);
        out.push_str(line);
    }
    Ok(Val::str(out))
}

fn replace(call: &mut Call<'_, Context>) -> Result<Val, FuncError> {
    let (old, new, text) = (call.str(0), call.str(1), call.str(2));
    let growth = new.len().saturating_sub(old.len());
    if growth > 0 {
        let most = text.len() / old.len().max(1) + 1;
        // Matches are only counted if the limit could be exceeded.
        if most.saturating_mul(growth) > super::args::MAX_TEXT {
            let pieces = split_bytes(&text, &old, -1)?.len();
            check_text(pieces.saturating_mul(growth).saturating_add(text.len()))?;
        }
    }
    if let (Some(old), Some(new), Some(plain)) = (old.as_str(), new.as_str(), text.as_str()) {
        return Ok(Val::Str(if plain.contains(old) {
            Str::from(plain.replace(old, new))
        } else {
            text
        }));
    }
    let mut pieces: Vec<&[u8]> = split_bytes(&text, &old, -1)?;
    if old.is_empty() {
        pieces.insert(0, b"");
        pieces.push(b"");
    }
    Ok(Val::Str(Str::from_bytes(pieces.join(new.as_bytes()))))
}

/// Go's `strings.SplitN`: at most `most` pieces, all of them below 0; characters for an
/// empty separator.
fn split_bytes<'a>(text: &'a Str, separator: &Str, most: i64) -> Result<Vec<&'a [u8]>, FuncError> {
    let most = usize::try_from(most).unwrap_or(usize::MAX);
    let mut rest = text.as_bytes();
    let mut pieces = Vec::new();
    if separator.is_empty() {
        for (_, bytes) in case::runes(text) {
            if pieces.len() + 1 >= most {
                break;
            }
            check_items(pieces.len() + 1)?;
            pieces.push(bytes);
            rest = rest.get(bytes.len()..).unwrap_or_default();
        }
        if !rest.is_empty() && most > 0 {
            pieces.push(rest);
        }
        return Ok(pieces);
    }
    while pieces.len() + 1 < most {
        let Some(place) = find(rest, separator.as_bytes()) else {
            break;
        };
        check_items(pieces.len() + 1)?;
        pieces.push(rest.get(..place).unwrap_or_default());
        rest = rest.get(place + separator.len()..).unwrap_or_default();
    }
    if most > 0 {
        pieces.push(rest);
    }
    Ok(pieces)
}

fn split_list(call: &mut Call<'_, Context>) -> Result<Val, FuncError> {
    let (separator, text) = (call.str(0), call.str(1));
    if let (Some(plain), Some(separator)) =
        (text.as_str(), separator.as_str().filter(|text| !text.is_empty()))
    {
        let pieces: Vec<&str> = plain.split(separator).take(MAX_ITEMS + 1).collect();
        check_items(pieces.len())?;
        return Ok(Val::strings(pieces));
    }
    let pieces = split_bytes(&text, &separator, -1)?;
    Ok(Val::strings(pieces.into_iter().map(Str::copy_of)))
}

fn split(call: &mut Call<'_, Context>) -> Result<Val, FuncError> {
    let (separator, text) = (call.str(0), call.str(1));
    Ok(numbered(split_bytes(&text, &separator, -1)?))
}

fn splitn(call: &mut Call<'_, Context>) -> Result<Val, FuncError> {
    let (separator, most, text) = (call.str(0), call.int(1), call.str(2));
    Ok(numbered(split_bytes(&text, &separator, most)?))
}

/// A map[string]string with the keys `_0`, `_1`, …
fn numbered(pieces: Vec<&[u8]>) -> Val {
    let entries = pieces
        .into_iter()
        .enumerate()
        .map(|(index, piece)| (format!("_{index}").into(), Val::Str(Str::copy_of(piece))))
        .collect();
    Val::Map(Map::with(MapType::Strings, entries))
}

fn plural(call: &mut Call<'_, Context>) -> Result<Val, FuncError> {
    Ok(Val::Str(if call.int(2) == 1 {
        call.str(0)
    } else {
        call.str(1)
    }))
}

fn quote_all(call: &mut Call<'_, Context>) -> Result<Val, FuncError> {
    Ok(Val::Str(joined(call, |value| {
        quote::quote(strval(value).as_bytes()).into_bytes()
    })?))
}

fn squote_all(call: &mut Call<'_, Context>) -> Result<Val, FuncError> {
    Ok(Val::Str(joined(call, |value| {
        [b"'", sprint(value).as_bytes(), b"'"].concat()
    })?))
}

/// The arguments that are not nil, separated by spaces.
fn joined(call: &Call<'_, Context>, show: impl Fn(&Val) -> Vec<u8>) -> Result<Str, FuncError> {
    let mut out = Vec::new();
    for (index, value) in call.args.iter().filter(|value| !value.is_nil()).enumerate() {
        if index > 0 {
            out.push(b' ');
        }
        out.extend_from_slice(&show(value));
        check_text(out.len())?;
    }
    Ok(Str::from_bytes(out))
}

fn cat(call: &mut Call<'_, Context>) -> Result<Val, FuncError> {
    let values = call.args.iter().filter(|value| !value.is_nil());
    let shown: Vec<Str> = values.map(sprint).collect();
    Ok(Val::Str(join_texts(&shown, &Str::from(" "))?))
}

fn join_texts(texts: &[Str], separator: &Str) -> Result<Str, FuncError> {
    let separators = separator.len().saturating_mul(texts.len());
    check_text(
        texts
            .iter()
            .map(Str::len)
            .sum::<usize>()
            .saturating_add(separators),
    )?;
    let plain: Option<Vec<&str>> = texts.iter().map(Str::as_str).collect();
    Ok(match (plain, separator.as_str()) {
        (Some(texts), Some(separator)) => Str::from(texts.join(separator)),
        _ => {
            let texts: Vec<&[u8]> = texts.iter().map(Str::as_bytes).collect();
            Str::from_bytes(texts.join(separator.as_bytes()))
        }
    })
}

/// sprig's `strslice`: the items that are not nil as strings; a single value counts as a list.
pub(super) fn texts(value: &Val) -> Vec<Str> {
    match items(value) {
        Some(items) => {
            let items = items.iter().filter(|item| !item.is_nil());
            // Each may be long: the run ends if they exceed the memory limit.
            items.map(strval).take_while(|_| memory::fits(0)).collect()
        }
        None if value.is_nil() => Vec::new(),
        None => vec![strval(value)],
    }
}

fn to_strings(call: &mut Call<'_, Context>) -> Result<Val, FuncError> {
    let value = call.arg(0);
    match &value {
        Val::List(list) if list.kind() == ListType::Strings => Ok(value),
        value => Ok(Val::strings(texts(value))),
    }
}

fn join(call: &mut Call<'_, Context>) -> Result<Val, FuncError> {
    let texts = texts(&call.arg(1));
    Ok(Val::Str(join_texts(&texts, &call.str(0))?))
}

fn sort_alpha(call: &mut Call<'_, Context>) -> Result<Val, FuncError> {
    let value = call.arg(0);
    if items(&value).is_none() {
        return Ok(Val::strings([strval(&value)]));
    }
    if let Val::List(list) = &value
        && list.is_nil()
        && list.kind() == ListType::Strings
    {
        return Ok(Val::List(List::nil(ListType::Strings)));
    }
    let mut texts = texts(&value);
    check_items(texts.len())?;
    texts.sort_unstable();
    Ok(Val::strings(texts))
}

fn to_string(call: &mut Call<'_, Context>) -> Result<Val, FuncError> {
    Ok(Val::Str(call.args.first().map(strval).unwrap_or_default()))
}

use Type::{Any, Int, String as Text};

pub(super) const TABLE: &[Func<Context>] = &[
    func(
        "abbrev",
        &[Int, Text],
        "The text cut to a width, with dots",
        abbrev,
    ),
    func(
        "abbrevboth",
        &[Int, Int, Text],
        "The text cut on both sides, with dots",
        abbrevboth,
    ),
    func("camelcase", &[Text], "snake_case to PascalCase", case::camelcase),
    variadic(
        "cat",
        &[Any],
        "The values with spaces between; nil is left out",
        cat,
    ),
    func(
        "contains",
        &[Text, Text],
        "Whether the second text holds the first",
        contains,
    ),
    func(
        "hasPrefix",
        &[Text, Text],
        "Whether the second text starts with the first",
        has_prefix,
    ),
    func(
        "hasSuffix",
        &[Text, Text],
        "Whether the second text ends with the first",
        has_suffix,
    ),
    func(
        "indent",
        &[Int, Text],
        "Each line behind that many spaces",
        indent,
    ),
    func(
        "initials",
        &[Text],
        "The first letters of the words",
        case::initials,
    ),
    func("join", &[Text, Any], "The items with the separator between", join),
    func(
        "kebabcase",
        &[Text],
        "The words in lower case with hyphens between",
        case::kebabcase,
    ),
    func("lower", &[Text], "In lower case", case::lower),
    func(
        "nindent",
        &[Int, Text],
        "A new line, then each line behind that many spaces",
        nindent,
    ),
    func("nospace", &[Text], "Without white space", case::nospace),
    func(
        "plural",
        &[Text, Text, Int],
        "The first text for 1, else the second",
        plural,
    ),
    variadic(
        "quote",
        &[Any],
        "The values in double quotes; nil is left out",
        quote_all,
    ),
    func("repeat", &[Int, Text], "The text that many times", repeat),
    func(
        "replace",
        &[Text, Text, Text],
        "The third text with the second for each first",
        replace,
    ),
    func(
        "snakecase",
        &[Text],
        "The words in lower case with underscores between",
        case::snakecase,
    ),
    func("sortAlpha", &[Any], "The items as texts, sorted", sort_alpha),
    func(
        "split",
        &[Text, Text],
        "The pieces between separators, as a map with _0, _1, …",
        split,
    ),
    func(
        "splitList",
        &[Text, Text],
        "The pieces between separators, as a list",
        split_list,
    ),
    func(
        "splitn",
        &[Text, Int, Text],
        "As split, with at most so many pieces",
        splitn,
    ),
    variadic(
        "squote",
        &[Any],
        "The values in single quotes; nil is left out",
        squote_all,
    ),
    func(
        "substr",
        &[Int, Int, Text],
        "The bytes from the first place to the second",
        substr,
    ),
    func(
        "swapcase",
        &[Text],
        "Upper case for lower and the other way round",
        case::swapcase,
    ),
    func("title", &[Text], "Each word with a capital", case::title),
    func("toString", &[Any], "The value as text", to_string),
    func("toStrings", &[Any], "The items as texts", to_strings),
    func("trim", &[Text], "Without white space at both ends", trim),
    func(
        "trimAll",
        &[Text, Text],
        "The second text without the first one's characters at both ends",
        trim_all,
    ),
    func(
        "trimPrefix",
        &[Text, Text],
        "The second text without the first in front",
        trim_prefix,
    ),
    func(
        "trimSuffix",
        &[Text, Text],
        "The second text without the first behind",
        trim_suffix,
    ),
    func("trimall", &[Text, Text], "The same as trimAll", trim_all),
    func("trunc", &[Int, Text], "The first bytes, below 0 the last", trunc),
    func("untitle", &[Text], "Each word without its capital", case::untitle),
    func("upper", &[Text], "In upper case", case::upper),
    func(
        "wrap",
        &[Int, Text],
        "Lines broken at spaces to a width",
        wrap::wrap,
    ),
    func(
        "wrapWith",
        &[Int, Text, Text],
        "Lines broken to a width with a text between",
        wrap::wrap_with,
    ),
];
