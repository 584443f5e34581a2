//! Chooses scalar styles: which of YAML's styles represent a text unchanged, and which of them go-yaml uses.

use super::dialect::Dialect;
use super::resolve::{self, Resolved};

/// A scalar style.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Style {
    Plain,
    Single,
    Double,
    Literal,
}

/// The position of a scalar.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ScalarPosition {
    /// A key on the same line as its value.
    SimpleKey,
    /// A key after `? `.
    LongKey,
    /// A value.
    Value,
}

/// The properties of a text.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[allow(
    clippy::struct_excessive_bools,
    reason = "independent findings of one pass over the text"
)]
pub(super) struct Traits {
    /// Whether it has line breaks.
    pub(super) multiline: bool,
    plain: bool,
    single: bool,
    literal: bool,
}

/// Whether go-yaml writes the character unescaped. Characters beyond U+FFFF are escaped, so emoji become `\U0001F600`.
pub(super) fn is_printable(character: char) -> bool {
    matches!(character,
        '\n' | '\u{20}'..='\u{7e}' | '\u{a0}'..='\u{d7ff}' | '\u{e000}'..='\u{fefe}' | '\u{ff00}'..='\u{fffd}')
}

/// Whether the character is a line break in YAML 1.1.
pub(super) fn is_break(character: char) -> bool {
    matches!(character, '\n' | '\r' | '\u{85}' | '\u{2028}' | '\u{2029}')
}

/// Whether the indentation of a literal block can't be derived from its first line.
pub(super) fn needs_hint(text: &str) -> bool {
    text.starts_with(|first| first == ' ' || is_break(first))
}

/// Whether a Go template would treat a part of the text as an action.
pub(super) fn needs_brace_escapes(text: &str) -> bool {
    text.contains("{{") || text.contains("}}")
}

/// Bytes without a special meaning inside a scalar, in any context.
const EASY: [bool; 256] = {
    let mut table = [false; 256];
    let mut byte = b'!';
    while byte <= b'~' {
        table[byte as usize] = !matches!(byte, b':' | b'#');
        byte += 1;
    }
    table
};

fn is_easy_byte(byte: u8) -> bool {
    EASY.get(usize::from(byte)).copied().unwrap_or(false)
}

/// Whether any style can represent the text: a cheap check for most texts.
fn is_easy(bytes: &[u8]) -> bool {
    let (Some(first), Some(last)) = (bytes.first(), bytes.last()) else {
        return false;
    };
    let starts = match first {
        b' ' | b',' | b'[' | b']' | b'{' | b'}' | b'&' | b'*' | b'!' | b'|' | b'>' | b'\'' | b'"' | b'%'
        | b'@' | b'`' => false,
        b'?' | b'-' => bytes.get(1).is_some_and(|second| *second != b' ') && !bytes.starts_with(b"---"),
        b'.' => !bytes.starts_with(b"..."),
        _ => true,
    };
    if !starts || matches!(last, b' ' | b':') {
        return false;
    }
    let mut before = b' ';
    for &byte in bytes {
        let fits = match byte {
            b' ' => before != b':',
            b'#' => before != b' ',
            b':' => true,
            other => is_easy_byte(other),
        };
        if !fits {
            return false;
        }
        before = byte;
    }
    true
}

/// The number of leading bytes that need no escape in double quotes, except spaces.
pub(super) fn plain_run(text: &str) -> usize {
    let ends = |byte: &u8| !matches!(byte, b'!' | b'#'..=b'[' | b']'..=b'~');
    text.as_bytes().iter().position(ends).unwrap_or(text.len())
}

/// The position of the first line break, or the end.
pub(super) fn find_break(text: &str) -> usize {
    let candidate = |byte: u8| matches!(byte, b'\n' | b'\r' | 0xc2 | 0xe2);
    let mut at = 0;
    loop {
        let rest = text.as_bytes().get(at..).unwrap_or_default();
        let Some(found) = rest.iter().position(|&byte| candidate(byte)) else {
            return text.len();
        };
        at += found;
        match text.get(at..).and_then(|rest| rest.chars().next()) {
            Some(character) if !is_break(character) => at += character.len_utf8(),
            _ => return at,
        }
    }
}

/// Examines a text in one pass.
pub(super) fn examine(text: &str, dialect: Dialect) -> Traits {
    if is_easy(text.as_bytes()) {
        return Traits {
            multiline: false,
            plain: true,
            single: true,
            literal: true,
        };
    }
    let (Some(first), Some(last)) = (text.chars().next(), text.chars().next_back()) else {
        return Traits {
            plain: true,
            single: true,
            ..Traits::default()
        };
    };
    let mut seen = Seen::default();
    let mut indicators = text.starts_with("---") || text.starts_with("...");
    // At the start, no preceding line break.
    let mut before = None;
    let mut rest = text.chars();
    while let Some(character) = rest.next() {
        let blank_follows = matches!(rest.as_str().bytes().next(), None | Some(b' ' | b'\t'));
        indicators |= match character {
            ':' => blank_follows,
            '#' => before.is_none_or(|before| before == ' ' || before == '\t' || is_break(before)),
            _ => false,
        };
        if character == '\t' && dialect == Dialect::GoYaml3 {
            seen.tab = true;
        } else {
            seen.special |= !is_printable(character);
        }
        seen.any_break |= is_break(character);
        seen.space_after_break |= character == ' ' && before.is_some_and(is_break);
        seen.break_after_space |= is_break(character) && before == Some(' ');
        before = Some(character);
    }
    let blank_second = matches!(text.as_bytes().get(1), None | Some(b' ' | b'\t'));
    indicators |= match first {
        '#' | ',' | '[' | ']' | '{' | '}' | '&' | '*' | '!' | '|' | '>' | '\'' | '"' | '%' | '@' | '`' => {
            true
        }
        '?' | '-' => blank_second,
        _ => false,
    };
    let edges = [first, last]
        .into_iter()
        .any(|edge| edge == ' ' || is_break(edge));
    let fragile = seen.break_after_space || seen.special;
    Traits {
        multiline: seen.any_break,
        plain: !(indicators || edges || seen.any_break || fragile || seen.tab),
        single: !(seen.space_after_break || fragile || seen.tab),
        literal: !(last == ' ' || fragile),
    }
}

#[derive(Default)]
#[allow(
    clippy::struct_excessive_bools,
    reason = "independent findings of one pass over the text"
)]
struct Seen {
    special: bool,
    tab: bool,
    any_break: bool,
    space_after_break: bool,
    break_after_space: bool,
}

/// The style that go-yaml uses for a text.
pub(super) fn choose(text: &str, traits: Traits, place: ScalarPosition, dialect: Dialect) -> Style {
    let wanted = if traits.multiline && text.contains('\n') {
        Style::Literal
    } else if resolve::plain(text) == Resolved::Text && !is_base60(text) {
        Style::Plain
    } else {
        Style::Double
    };
    match wanted {
        // A difference: go-yaml writes the key `<<` plain, and parses it as a merge.
        Style::Plain if text == "<<" && place != ScalarPosition::Value && dialect == Dialect::Readable => {
            Style::Double
        }
        Style::Plain if traits.plain => Style::Plain,
        Style::Plain if traits.single => Style::Single,
        Style::Literal if traits.literal && place != ScalarPosition::SimpleKey => Style::Literal,
        _ => Style::Double,
    }
}

/// Appends a character's escape in double quotes.
pub(super) fn escape(character: char, out: &mut String) {
    let short = match character {
        '\0' => '0',
        '\u{7}' => 'a',
        '\u{8}' => 'b',
        '\t' => 't',
        '\n' => 'n',
        '\u{b}' => 'v',
        '\u{c}' => 'f',
        '\r' => 'r',
        '\u{1b}' => 'e',
        '"' => '"',
        '\\' => '\\',
        '\u{85}' => 'N',
        '\u{a0}' => '_',
        '\u{2028}' => 'L',
        '\u{2029}' => 'P',
        other => {
            return match u32::from(other) {
                0..=0xff => hex(other, 'x', 2, out),
                0x100..=0xffff => hex_upper(other, out),
                _ => hex(other, 'U', 8, out),
            };
        }
    };
    out.push('\\');
    out.push(short);
}

fn hex_upper(character: char, out: &mut String) {
    let start = out.len();
    hex(character, 'u', 4, out);
    if let Some(digits) = out.get_mut(start + 2..) {
        digits.make_ascii_uppercase();
    }
}

pub(super) fn hex(character: char, letter: char, width: usize, out: &mut String) {
    out.push('\\');
    out.push(letter);
    let code = u32::from(character);
    for place in (0..width).rev() {
        let digit = code >> (place * 4) & 0xf;
        let digit = char::from_digit(digit, 16).unwrap_or('0');
        out.push(if letter == 'u' && width == 4 {
            digit
        } else {
            digit.to_ascii_uppercase()
        });
    }
}

/// `[-+]?[0-9][0-9_]*(:[0-5]?[0-9])+(\.[0-9_]*)?`: numbers to other YAML 1.1 readers, so quoted.
fn is_base60(text: &str) -> bool {
    let unsigned = text.strip_prefix(['+', '-']).unwrap_or(text);
    if !unsigned.starts_with(|digit: char| digit.is_ascii_digit()) {
        return false;
    }
    let mut parts = unsigned.split(':');
    let digits = |part: &str| part.bytes().all(|byte| byte.is_ascii_digit() || byte == b'_');
    let Some(first) = parts.next() else { return false };
    if !digits(first) {
        return false;
    }
    let mut parts = parts.peekable();
    let mut any = false;
    while let Some(part) = parts.next() {
        any = true;
        let part = if parts.peek().is_none() {
            let (whole, fraction) = part.split_once('.').unwrap_or((part, ""));
            if !digits(fraction) {
                return false;
            }
            whole
        } else {
            part
        };
        let fits = match part.as_bytes() {
            [digit] => digit.is_ascii_digit(),
            [tens, digit] => (b'0'..=b'5').contains(tens) && digit.is_ascii_digit(),
            _ => false,
        };
        if !fits {
            return false;
        }
    }
    any
}
