//! How a text can be written: which of YAML's scalar styles give it back unchanged,
//! and which of them go-yaml takes.

use super::resolve::{self, Resolved};

/// A scalar style.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Style {
    Plain,
    Single,
    Double,
    Literal,
}

/// Where a scalar goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Place {
    /// A key on one line with its value.
    SimpleKey,
    /// A key after `? `.
    LongKey,
    /// A value.
    Value,
}

/// What a text is like.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[allow(
    clippy::struct_excessive_bools,
    reason = "independent findings of one pass over the text"
)]
pub(super) struct Traits {
    /// It has line breaks.
    pub(super) multiline: bool,
    plain: bool,
    single: bool,
    literal: bool,
}

/// Whether go-yaml writes the character as it is. Characters beyond U+FFFF are not
/// among them, so that emoji come out as `\U0001F600`.
pub(super) fn is_printable(character: char) -> bool {
    matches!(character,
        '\n' | '\u{20}'..='\u{7e}' | '\u{a0}'..='\u{d7ff}' | '\u{e000}'..='\u{fefe}' | '\u{ff00}'..='\u{fffd}')
}

/// Whether YAML 1.1 takes the character for a line break.
pub(super) fn is_break(character: char) -> bool {
    matches!(character, '\n' | '\r' | '\u{85}' | '\u{2028}' | '\u{2029}')
}

/// Looks a text through once.
pub(super) fn examine(text: &str) -> Traits {
    let (Some(first), Some(last)) = (text.chars().next(), text.chars().next_back()) else {
        return Traits {
            plain: true,
            single: true,
            ..Traits::default()
        };
    };
    let mut seen = Seen::default();
    let mut indicators = text.starts_with("---") || text.starts_with("...");
    // At the start nothing counts as a break that a space could follow.
    let mut before = None;
    let mut rest = text.chars();
    while let Some(character) = rest.next() {
        let blank_follows = matches!(rest.as_str().bytes().next(), None | Some(b' ' | b'\t'));
        indicators |= match character {
            ':' => blank_follows,
            '#' => before.is_none_or(|before| before == ' ' || before == '\t' || is_break(before)),
            _ => false,
        };
        seen.special |= !is_printable(character);
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
        plain: !(indicators || edges || seen.any_break || fragile),
        single: !(seen.space_after_break || fragile),
        literal: !(last == ' ' || fragile),
    }
}

#[derive(Default)]
struct Seen {
    special: bool,
    any_break: bool,
    space_after_break: bool,
    break_after_space: bool,
}

/// The style go-yaml takes for a text.
pub(super) fn choose(text: &str, traits: Traits, place: Place) -> Style {
    let wanted = if text.contains('\n') {
        Style::Literal
    } else if resolve::plain(text) == Resolved::Text && !is_base60(text) {
        Style::Plain
    } else {
        Style::Double
    };
    match wanted {
        // A departure: go-yaml writes the key `<<` plain, and reads it back as a merge.
        Style::Plain if text == "<<" && place != Place::Value => Style::Double,
        Style::Plain if traits.plain => Style::Plain,
        Style::Plain if traits.single => Style::Single,
        Style::Literal if traits.literal && place != Place::SimpleKey => Style::Literal,
        _ => Style::Double,
    }
}

/// `[-+]?[0-9][0-9_]*(:[0-5]?[0-9])+(\.[0-9_]*)?`: numbers to other YAML 1.1 readers, so quoted.
fn is_base60(text: &str) -> bool {
    let unsigned = text.strip_prefix(['+', '-']).unwrap_or(text);
    let mut parts = unsigned.split(':');
    let digits = |part: &str| part.bytes().all(|byte| byte.is_ascii_digit() || byte == b'_');
    let Some(first) = parts.next() else { return false };
    if !first.starts_with(|digit: char| digit.is_ascii_digit()) || !digits(first) {
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
