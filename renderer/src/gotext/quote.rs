//! Go's quoted strings: `strconv.Quote` and `fmt`'s `%q`.

use std::fmt::Write as _;

use super::runes::is_print;

/// The bytes as a Go string literal in double quotes; bytes that are not UTF-8 as `\xff`.
pub fn quote(bytes: &[u8]) -> String {
    let mut out = String::with_capacity(bytes.len() + 2);
    out.push('"');
    for chunk in bytes.utf8_chunks() {
        for c in chunk.valid().chars() {
            push_escaped(&mut out, c);
        }
        for byte in chunk.invalid() {
            push_hex(&mut out, format_args!("\\x{byte:02x}"));
        }
    }
    out.push('"');
    out
}

/// The text as Go's `regexp` quotes it: between back quotes where that says it all.
pub fn backquote(bytes: &[u8]) -> String {
    let plain = |c: char| c != '`' && c != '\u{feff}' && c != '\u{7f}' && (c >= ' ' || c == '\t');
    match std::str::from_utf8(bytes) {
        Ok(text) if text.chars().all(plain) => format!("`{text}`"),
        _ => quote(bytes),
    }
}

fn push_escaped(out: &mut String, c: char) {
    match c {
        '"' => out.push_str("\\\""),
        '\\' => out.push_str("\\\\"),
        '\u{7}' => out.push_str("\\a"),
        '\u{8}' => out.push_str("\\b"),
        '\u{c}' => out.push_str("\\f"),
        '\n' => out.push_str("\\n"),
        '\r' => out.push_str("\\r"),
        '\t' => out.push_str("\\t"),
        '\u{b}' => out.push_str("\\v"),
        c if is_print(c) => out.push(c),
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
