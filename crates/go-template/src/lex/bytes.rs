//! Classes of bytes and words inside an action.

use std::fmt::Write as _;

use super::token::Keyword;
use crate::gotext::runes::is_print as is_printable;

pub(super) fn keyword(word: &[u8]) -> Option<Keyword> {
    Some(match word {
        b"block" => Keyword::Block,
        b"break" => Keyword::Break,
        b"continue" => Keyword::Continue,
        b"define" => Keyword::Define,
        b"else" => Keyword::Else,
        b"end" => Keyword::End,
        b"if" => Keyword::If,
        b"nil" => Keyword::Nil,
        b"range" => Keyword::Range,
        b"template" => Keyword::Template,
        b"with" => Keyword::With,
        _ => return None,
    })
}

pub(super) fn is_alphanumeric(character: char) -> bool {
    character == '_' || character.is_alphanumeric()
}

/// Bytes that a name may begin with.
pub(super) const LETTER: u8 = 1;
/// Bytes that a name may continue with.
pub(super) const WORD: u8 = 2;
/// White space.
pub(super) const BLANK: u8 = 4;
/// Bytes that may follow a name.
pub(super) const ENDS: u8 = 8;

/// The class of each byte: it is looked up for most bytes of a template.
static CLASSES: [u8; 256] = classes();

const fn classes() -> [u8; 256] {
    let mut classes = [0; 256];
    let mut byte = 0_u8;
    while byte < 128 {
        classes[byte as usize] = match byte {
            b'_' | b'a'..=b'z' | b'A'..=b'Z' => LETTER | WORD,
            b'0'..=b'9' => WORD,
            b' ' | b'\t' | b'\r' | b'\n' => BLANK | ENDS,
            b'.' | b',' | b'|' | b':' | b')' | b'(' => ENDS,
            _ => 0,
        };
        byte += 1;
    }
    classes
}

#[inline]
pub(super) fn is(byte: u8, class: u8) -> bool {
    CLASSES[usize::from(byte)] & class != 0
}

#[inline]
pub(super) fn is_space(byte: u8) -> bool {
    is(byte, BLANK)
}

/// The number of leading white space bytes.
pub(super) fn spaces(text: &[u8]) -> usize {
    text.iter().take_while(|byte| is_space(**byte)).count()
}

pub(super) fn has_left_marker(text: &[u8]) -> bool {
    matches!(text, [b'-', blank, ..] if is_space(*blank))
}

/// Whether an action ends here, and whether it trims what follows.
#[inline]
pub(super) fn at_right_delimiter(text: &[u8]) -> Option<bool> {
    match text {
        [b'}', b'}', ..] => Some(false),
        [blank, b'-', b'}', b'}', ..] if is_space(*blank) => Some(true),
        _ => None,
    }
}

/// As Go's `%#U`.
pub(super) fn code_point(character: char) -> String {
    let mut out = format!("U+{:04X}", u32::from(character));
    if is_printable(character) {
        // Writing to a String can't fail.
        let _ = write!(out, " '{character}'");
    }
    out
}
