//! Go's `strconv.Quote` and its kin.

use std::fmt::Write as _;

/// Whether Go prints the character as it is inside quotes: letters, marks, numbers,
/// punctuation, symbols and the ASCII blank.
pub fn is_printable(character: char) -> bool {
    if character.is_ascii() {
        return (' '..='~').contains(&character);
    }
    // Behind a letter, so that combining marks are not escaped for standing alone.
    let mut buffer = [b'a'; 5];
    let length = character
        .encode_utf8(buffer.get_mut(1..).unwrap_or_default())
        .len()
        + 1;
    let text = buffer
        .get(..length)
        .and_then(|bytes| std::str::from_utf8(bytes).ok());
    text.is_some_and(|text| text.escape_debug().nth(1) != Some('\\'))
}

/// As `strconv.Quote`.
pub fn quote(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 2);
    out.push('"');
    for character in text.chars() {
        push_quoted(character, '"', false, &mut out);
    }
    out.push('"');
    out
}

/// As `strconv.Quote` of a text that may not be UTF-8.
pub fn quote_bytes(bytes: &[u8]) -> String {
    quoted(bytes, false)
}

/// As `strconv.QuoteToASCII`.
pub fn quote_ascii(bytes: &[u8]) -> String {
    quoted(bytes, true)
}

fn quoted(bytes: &[u8], ascii: bool) -> String {
    let mut out = String::with_capacity(bytes.len() + 2);
    out.push('"');
    for chunk in bytes.utf8_chunks() {
        for character in chunk.valid().chars() {
            push_quoted(character, '"', ascii, &mut out);
        }
        for byte in chunk.invalid() {
            // Writing to a String can't fail.
            let _ = write!(out, "\\x{byte:02x}");
        }
    }
    out.push('"');
    out
}

/// As `strconv.QuoteRune`.
pub fn quote_char(character: char, ascii: bool) -> String {
    let mut out = String::from("'");
    push_quoted(character, '\'', ascii, &mut out);
    out.push('\'');
    out
}

/// Whether the text can stand between backquotes.
pub(super) fn can_backquote(bytes: &[u8]) -> bool {
    std::str::from_utf8(bytes).is_ok_and(|text| {
        text.chars()
            .all(|one| one != '\u{feff}' && one != '`' && one != '\u{7f}' && (one >= ' ' || one == '\t'))
    })
}

fn push_quoted(character: char, quote: char, ascii: bool, out: &mut String) {
    if character == quote || character == '\\' {
        out.push('\\');
        out.push(character);
        return;
    }
    if (!ascii || character.is_ascii()) && is_printable(character) {
        out.push(character);
        return;
    }
    let short = match character {
        '\u{7}' => 'a',
        '\u{8}' => 'b',
        '\u{c}' => 'f',
        '\n' => 'n',
        '\r' => 'r',
        '\t' => 't',
        '\u{b}' => 'v',
        _ => {
            let code = u32::from(character);
            // Writing to a String can't fail.
            let _ = match code {
                0..0x20 | 0x7f => write!(out, "\\x{code:02x}"),
                0x10000.. => write!(out, "\\U{code:08x}"),
                _ => write!(out, "\\u{code:04x}"),
            };
            return;
        }
    };
    out.push('\\');
    out.push(short);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_quoted_as_go_quotes_them() {
        assert_eq!(
            quote("a\"b\\\n\t\u{0}é\u{ad}\u{a0}😀\u{10ffff}"),
            "\"a\\\"b\\\\\\n\\t\\x00é\\u00ad\\u00a0😀\\U0010ffff\""
        );
        assert_eq!(quote_bytes(b"a\xffb"), "\"a\\xffb\"");
        assert_eq!(quote_ascii("é\u{7f}".as_bytes()), "\"\\u00e9\\x7f\"");
        assert_eq!(quote_char('\'', false), "'\\''");
        assert!(is_printable('\u{301}'));
        assert!(!is_printable('\u{200b}'));
    }
}
