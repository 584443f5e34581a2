//! XML's characters, for JUnit's files.

/// A text as an attribute, with its quotes.
pub(crate) fn attribute(text: &str) -> String {
    format!("\"{}\"", escaped(text).replace('\n', "&#10;"))
}

/// XML's own characters are escaped; those that XML does not allow are replaced.
pub(crate) fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for char in text.chars() {
        match char {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\n' | '\t' => out.push(char),
            char if char < ' ' || matches!(char, '\u{fffe}' | '\u{ffff}') => out.push('\u{fffd}'),
            char => out.push(char),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_xml_does_not_allow_is_escaped_or_replaced() {
        assert_eq!(
            attribute("a<b>&\"\n\u{1}"),
            "\"a&lt;b&gt;&amp;&quot;&#10;\u{fffd}\""
        );
    }
}
