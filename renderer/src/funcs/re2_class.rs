//! Character classes, escapes and counts of RE2's syntax.

use std::fmt::Write as _;

/// A class that matches no character.
const NOTHING: &str = r"[^\x{0}-\x{10FFFF}]";
/// A class that matches every character.
const ANYTHING: &str = r"[\x{0}-\x{10FFFF}]";

const POSIX: &[&str] = &[
    "alnum", "alpha", "ascii", "blank", "cntrl", "digit", "graph", "lower", "print", "punct", "space",
    "upper", "word", "xdigit",
];

/// Go's scripts whose names are as short as script aliases, which Go does not support.
const SHORT_SCRIPTS: &[&str] = &[
    "cham", "han", "kawi", "lao", "lisu", "mro", "newa", "nko", "thai", "toto", "vai", "yi",
];

/// Writes a literal character; a surrogate matches nothing.
pub(super) fn push_literal(out: &mut String, code: u32) {
    match char::from_u32(code) {
        None => out.push_str(NOTHING),
        Some(c) => push_char(out, c),
    }
}

fn push_char(out: &mut String, c: char) {
    if c.is_ascii_alphanumeric() || !c.is_ascii() {
        out.push(c);
    } else {
        // Writing to a String cannot fail.
        let _ = write!(out, "\\x{{{:x}}}", u32::from(c));
    }
}

/// `[…]` at the start of a text: its rewritten form, and its length.
pub(super) fn class(text: &str) -> Result<(String, usize), String> {
    let rest = |place: usize| text.get(place..).unwrap_or_default();
    let mut place = 1;
    let negated = rest(place).starts_with('^');
    place += usize::from(negated);
    let mut items = String::new();
    let mut first = true;
    while first || !rest(place).starts_with(']') {
        first = false;
        if let Some((written, length)) = posix_class(rest(place))? {
            items.push_str(&written);
            place += length;
            continue;
        }
        if let Some((written, length)) = named_class(rest(place))? {
            items.push_str(&written);
            place += length;
            continue;
        }
        let start = place;
        let (low, length) = class_char(rest(place), text)?;
        place += length;
        let mut high = low;
        let behind = rest(place).strip_prefix('-');
        if behind.is_some_and(|behind| !behind.is_empty() && !behind.starts_with(']')) {
            place += 1;
            let (end, length) = class_char(rest(place), text)?;
            place += length;
            high = end;
            if high < low {
                let range = text.get(start..place).unwrap_or_default();
                return Err(error("invalid character class range", range));
            }
        }
        push_range(&mut items, low, high);
    }
    let written = match (items.is_empty(), negated) {
        (true, true) => ANYTHING.to_owned(),
        (true, false) => NOTHING.to_owned(),
        (false, true) => format!("[^{items}]"),
        (false, false) => format!("[{items}]"),
    };
    Ok((written, place + 1))
}

/// Writes a range without surrogates, which are not characters here.
fn push_range(items: &mut String, low: u32, high: u32) {
    let low = char::from_u32(low).unwrap_or('\u{e000}');
    let high = char::from_u32(high).unwrap_or('\u{d7ff}');
    if low > high {
        return;
    }
    push_char(items, low);
    if high > low {
        items.push('-');
        push_char(items, high);
    }
}

fn class_char(text: &str, class: &str) -> Result<(u32, usize), String> {
    match text.chars().next() {
        None => Err(error("missing closing ]", class)),
        Some('\\') => escaped(text),
        Some(c) => Ok((u32::from(c), c.len_utf8())),
    }
}

/// `[:alpha:]` at the start of a text.
fn posix_class(text: &str) -> Result<Option<(String, usize)>, String> {
    let Some((name, _)) = text.strip_prefix("[:").and_then(|behind| behind.split_once(":]")) else {
        return Ok(None);
    };
    let length = name.len() + "[::]".len();
    let whole = text.get(..length).unwrap_or(text);
    if !POSIX.contains(&name.strip_prefix('^').unwrap_or(name)) {
        return Err(error("invalid character class range", whole));
    }
    Ok(Some((whole.to_owned(), length)))
}

/// `\d`, `\pN`, `\P{Greek}`, … at the start of a text: its rewritten form, valid in and out of brackets, and its
/// length.
pub(super) fn named_class(text: &str) -> Result<Option<(String, usize)>, String> {
    let Some(behind) = text.strip_prefix('\\') else {
        return Ok(None);
    };
    let perl = match behind.chars().next() {
        Some('d') => "[0-9]",
        Some('D') => "[^0-9]",
        Some('s') => r"[\t\n\f\r\x20]",
        Some('S') => r"[^\t\n\f\r\x20]",
        Some('w') => "[0-9A-Za-z_]",
        Some('W') => "[^0-9A-Za-z_]",
        Some(sign @ ('p' | 'P')) => return unicode_class(text, sign == 'P'),
        _ => return Ok(None),
    };
    Ok(Some((perl.to_owned(), 2)))
}

fn unicode_class(text: &str, negated: bool) -> Result<Option<(String, usize)>, String> {
    let invalid = |part: &str| error("invalid character class range", part);
    let behind = text.get(2..).unwrap_or_default();
    let (name, length) = match behind.chars().next() {
        // Go treats it as an escape of `p`, which is invalid.
        None => return Ok(None),
        Some('{') => {
            let end = behind.find('}').ok_or_else(|| invalid(text))?;
            (behind.get(1..end).unwrap_or_default(), end + 3)
        }
        Some(c) => (behind.get(..c.len_utf8()).unwrap_or_default(), c.len_utf8() + 2),
    };
    let (name, negated) = match name.strip_prefix('^') {
        Some(name) => (name, !negated),
        None => (name, negated),
    };
    match written_class(name, negated) {
        Some(written) => Ok(Some((written, length))),
        None => Err(invalid(text.get(..length).unwrap_or(text))),
    }
}

/// Categories, scripts, and the three names that are neither. Go ignores case, underscores,
/// hyphens and spaces in names.
fn written_class(name: &str, negated: bool) -> Option<String> {
    let plain: String = name
        .chars()
        .filter(|c| !matches!(c, '_' | '-' | ' '))
        .map(|c| c.to_ascii_lowercase())
        .collect();
    let sign = if negated { 'P' } else { 'p' };
    match plain.as_str() {
        "any" => return Some(if negated { NOTHING } else { ANYTHING }.to_owned()),
        "ascii" => return Some(if negated { r"[^\x00-\x7f]" } else { r"[\x00-\x7f]" }.to_owned()),
        "assigned" => return Some(format!("\\{}{{gc=Cn}}", if negated { 'p' } else { 'P' })),
        "cs" | "surrogate" => return Some(if negated { ANYTHING } else { NOTHING }.to_owned()),
        _ => {}
    }
    if plain.is_empty() || !plain.bytes().all(|byte| byte.is_ascii_alphanumeric()) || plain.starts_with("is")
    {
        return None;
    }
    let known = |property: &str| {
        let class = format!("\\{sign}{{{property}={plain}}}");
        ::regex::Regex::new(&class).is_ok().then_some(class)
    };
    known("gc").or_else(|| {
        let script = plain.len() > 4 || SHORT_SCRIPTS.contains(&plain.as_str());
        let aliases = ["katakanaorhiragana", "unknown"];
        (script && !aliases.contains(&plain.as_str())).then(|| known("sc"))?
    })
}

/// An escaped character at the start of a text, and the length of the escape.
pub(super) fn escaped(text: &str) -> Result<(u32, usize), String> {
    let mut chars = text.char_indices().skip(1);
    let Some((_, c)) = chars.next() else {
        return Err(error("trailing backslash at end of expression", ""));
    };
    let octal = |place: usize| {
        text.as_bytes()
            .get(place)
            .filter(|byte| (b'0'..=b'7').contains(byte))
    };
    let code = match c {
        'a' => 7,
        'f' => 12,
        'n' => 10,
        'r' => 13,
        't' => 9,
        'v' => 11,
        'x' => return hexadecimal(text),
        '0'..='7' if c == '0' || octal(2).is_some() => {
            let digits: Vec<&u8> = (1..4).map_while(octal).collect();
            let code = digits
                .iter()
                .fold(0, |code, digit| code * 8 + u32::from(**digit - b'0'));
            return Ok((code, 1 + digits.len()));
        }
        c if c.is_ascii() && !c.is_ascii_alphanumeric() => u32::from(c),
        c => {
            let part = text.get(..1 + c.len_utf8()).unwrap_or(text);
            return Err(error("invalid escape sequence", part));
        }
    };
    Ok((code, 2))
}

/// `\x7f`, `\x{10FFFF}`
fn hexadecimal(text: &str) -> Result<(u32, usize), String> {
    let invalid = |end: usize| Err(error("invalid escape sequence", text.get(..end).unwrap_or(text)));
    let mut code = 0;
    let mut digits = 0;
    let braced = text.get(2..).is_some_and(|behind| behind.starts_with('{'));
    for (place, c) in text.char_indices().skip(if braced { 3 } else { 2 }) {
        let end = place + c.len_utf8();
        if braced && c == '}' {
            return if digits > 0 { Ok((code, end)) } else { invalid(end) };
        }
        digits += 1;
        match c.to_digit(16) {
            Some(digit) => code = code * 16 + digit,
            None if braced || digits == 2 => return invalid(end),
            // Go reads the second digit before it refuses the first.
            None => code = u32::MAX / 32,
        }
        if braced && code > u32::from(char::MAX) {
            return invalid(end);
        }
        if !braced && digits == 2 {
            return if code <= 0xff {
                Ok((code, end))
            } else {
                invalid(end)
            };
        }
    }
    invalid(text.len())
}

/// `{2}`, `{2,}` or `{2,3}` at the start of a text: the counts, and the length. Counts that are too large are clamped.
pub(super) fn counts(text: &str) -> Option<(i64, Option<i64>, usize)> {
    let inner = text.strip_prefix('{')?;
    let end = inner.find('}')?;
    let inner = inner.get(..end)?;
    let (least, most) = match inner.split_once(',') {
        None => (number(inner)?, Some(number(inner)?)),
        Some((least, "")) => (number(least)?, None),
        Some((least, most)) => (number(least)?, Some(number(most)?)),
    };
    Some((least, most, end + 2))
}

/// Decimal, without leading zeros.
fn number(text: &str) -> Option<i64> {
    let digits = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    if !digits || text.len() > 1 && text.starts_with('0') {
        return None;
    }
    Some(text.parse().unwrap_or(i64::MAX))
}

/// Go's error for a part of the expression.
pub(super) fn error(code: &str, part: &str) -> String {
    format!("error parsing regexp: {code}: `{part}`")
}
