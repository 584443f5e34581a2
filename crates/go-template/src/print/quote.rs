//! Go's quoting for templates, implemented in [`crate::gotext`].

use crate::gotext;

pub use gotext::quote::{quote as quote_bytes, quote_ascii, quote_char};
pub use gotext::runes::is_print as is_printable;

pub(super) use gotext::quote::can_backquote;

/// As `strconv.Quote`.
pub fn quote(text: &str) -> String {
    quote_bytes(text.as_bytes())
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
