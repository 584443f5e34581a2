//! Go's quoted strings: `strconv.Quote` and `fmt`'s `%q`.

use std::fmt::Write as _;

use super::runes::is_print;

/// The bytes as a Go string literal in double quotes; bytes that are not UTF-8 as `\xff`.
pub fn quote(bytes: &[u8]) -> String {
    quoted(bytes, false)
}

/// As [`quote`], with everything beyond ASCII escaped: `strconv.QuoteToASCII`.
pub fn quote_ascii(bytes: &[u8]) -> String {
    quoted(bytes, true)
}

/// A character between single quotes: `strconv.QuoteRune`, or `QuoteRuneToASCII`.
pub fn quote_char(character: char, ascii: bool) -> String {
    let mut out = String::from("'");
    push_escaped(&mut out, character, '\'', ascii);
    out.push('\'');
    out
}

/// The text as Go's `regexp` quotes it: in back quotes if possible.
pub fn backquote(bytes: &[u8]) -> String {
    match std::str::from_utf8(bytes) {
        Ok(text) if can_backquote(bytes) => format!("`{text}`"),
        _ => quote(bytes),
    }
}

/// Whether the bytes can be written in back quotes: `strconv.CanBackquote`.
pub fn can_backquote(bytes: &[u8]) -> bool {
    let plain = |c: char| c != '`' && c != '\u{feff}' && c != '\u{7f}' && (c >= ' ' || c == '\t');
    std::str::from_utf8(bytes).is_ok_and(|text| text.chars().all(plain))
}

fn quoted(bytes: &[u8], ascii: bool) -> String {
    let mut out = String::with_capacity(bytes.len() + 2);
    out.push('"');
    for chunk in bytes.utf8_chunks() {
        for c in chunk.valid().chars() {
            push_escaped(&mut out, c, '"', ascii);
        }
        for byte in chunk.invalid() {
            push_hex(&mut out, format_args!("\\x{byte:02x}"));
        }
    }
    out.push('"');
    out
}

fn push_escaped(out: &mut String, c: char, quote: char, ascii: bool) {
    match c {
        '\\' => out.push_str("\\\\"),
        c if c == quote => {
            out.push('\\');
            out.push(c);
        }
        '\u{7}' => out.push_str("\\a"),
        '\u{8}' => out.push_str("\\b"),
        '\u{c}' => out.push_str("\\f"),
        '\n' => out.push_str("\\n"),
        '\r' => out.push_str("\\r"),
        '\t' => out.push_str("\\t"),
        '\u{b}' => out.push_str("\\v"),
        c if is_print(c) && (!ascii || c.is_ascii()) => out.push(c),
        c => {
            let code = u32::from(c);
            if c < ' ' || c == '\u{7f}' {
                push_hex(out, format_args!("\\x{code:02x}"));
            } else if code < 0x1_0000 {
                push_hex(out, format_args!("\\u{code:04x}"));
            } else {
                push_hex(out, format_args!("\\U{code:08x}"));
            }
        }
    }
}

fn push_hex(out: &mut String, text: std::fmt::Arguments<'_>) {
    // Writing to a String cannot fail.
    let _ = out.write_fmt(text);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quotes_are_gos() {
        let cases: [(&[u8], &str); 8] = [
            (b"", r#""""#),
            (b"a\"b\\c", r#""a\"b\\c""#),
            (
                b"\x00\x07\x08\x0c\n\r\t\x0b\x1f\x7f",
                r#""\x00\a\b\f\n\r\t\v\x1f\x7f""#,
            ),
            ("é世".as_bytes(), "\"é世\""),
            (b"\xff\xc3", r#""\xff\xc3""#),
            ("\u{a0}\u{200b}".as_bytes(), r#""\u00a0\u200b""#),
            ("\u{fffd}".as_bytes(), "\"\u{fffd}\""),
            ("\u{e0001}".as_bytes(), r#""\U000e0001""#),
        ];
        for (bytes, expected) in cases {
            assert_eq!(quote(bytes), expected);
        }
        assert_eq!(backquote(b"a(\t"), "`a(\t`");
        assert_eq!(backquote(b"a`"), "\"a`\"");
    }
}
