//! Finds unclosed delimiters and blocks of a blueprint's template. minijinja reports them where it detects them, often
//! at the end of the text; this finds where they were opened.

use crate::source::Span;

/// Statements that require an end.
const BLOCKS: [&str; 8] = [
    "for",
    "if",
    "with",
    "filter",
    "block",
    "macro",
    "call",
    "autoescape",
];
const OPENINGS: [(&str, &str); 3] = [("<%", "%>"), ("<<", ">>"), ("<#", "#>")];

/// A mistake in the structure of a template.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Mistake<'t> {
    /// An unclosed delimiter, and its closing one.
    Delimiter(Span, &'static str),
    /// A statement without its end.
    Block(Span, &'t str),
    /// The end of a block while another one is open, or none.
    End {
        /// The statement.
        at: Span,
        /// What it ends.
        keyword: &'t str,
        /// The block that is open.
        open: Option<(Span, &'t str)>,
    },
}

/// The first such mistake in a text.
pub(super) fn mistake(text: &str) -> Option<Mistake<'_>> {
    let mut open: Vec<(Span, &str)> = Vec::new();
    let mut at = 0;
    while let Some((start, opening, closing)) = next_opening(text, at) {
        let inside = start + opening.len();
        let Some(end) = end_of(text, inside, opening, closing) else {
            return Some(Mistake::Delimiter(Span::new(start, inside), closing));
        };
        at = end + closing.len();
        if opening != "<%" {
            continue;
        }
        let span = Span::new(start, at);
        let statement = text.get(inside..end).unwrap_or("");
        let statement =
            statement.trim_matches(|char: char| char.is_whitespace() || char == '-' || char == '+');
        let keyword = statement.split(|char: char| !char.is_alphanumeric()).next();
        let keyword = keyword.unwrap_or("");
        if keyword == "raw" {
            let Some(end) = end_of_raw(text, at) else {
                return Some(Mistake::Block(span, keyword));
            };
            at = end;
        } else if BLOCKS.contains(&keyword) || keyword == "set" && !statement.contains('=') {
            open.push((span, keyword));
        } else if let Some(keyword) = keyword.strip_prefix("end").filter(|rest| !rest.is_empty()) {
            match open.pop() {
                Some((_, other)) if other == keyword => {}
                other => {
                    return Some(Mistake::End {
                        at: span,
                        keyword,
                        open: other,
                    });
                }
            }
        }
    }
    open.pop().map(|(span, keyword)| Mistake::Block(span, keyword))
}

fn next_opening(text: &str, from: usize) -> Option<(usize, &'static str, &'static str)> {
    let rest = text.get(from..)?;
    let found = OPENINGS
        .into_iter()
        .filter_map(|(opening, closing)| Some((from + rest.find(opening)?, opening, closing)));
    found.min_by_key(|(start, ..)| *start)
}

/// The position where a delimiter is closed, outside of quoted strings; `None` if another one opens before that.
fn end_of(text: &str, from: usize, opening: &str, closing: &str) -> Option<usize> {
    let rest = text.get(from..)?;
    if opening == "<#" {
        return rest.find(closing).map(|at| from + at);
    }
    let mut quote = None;
    let mut is_escaped = false;
    for (at, char) in rest.char_indices() {
        match quote {
            Some(_) if is_escaped => is_escaped = false,
            Some(_) if char == '\\' => is_escaped = true,
            Some(open) if char == open => quote = None,
            Some(_) => {}
            None if char == '"' || char == '\'' => quote = Some(char),
            None => {
                let rest = rest.get(at..).unwrap_or("");
                if rest.starts_with(closing) {
                    return Some(from + at);
                }
                if OPENINGS.iter().any(|(opening, _)| rest.starts_with(opening)) {
                    return None;
                }
            }
        }
    }
    None
}

/// The position after the end of a raw block.
fn end_of_raw(text: &str, from: usize) -> Option<usize> {
    let mut at = from;
    while let Some(start) = text.get(at..)?.find("<%").map(|found| at + found) {
        let end = text.get(start..)?.find("%>").map(|found| start + found)?;
        let statement = text.get(start + 2..end)?;
        if statement.trim_matches(|char: char| char.is_whitespace() || char == '-') == "endraw" {
            return Some(end + 2);
        }
        at = start + 2;
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(text: &str) -> String {
        let slice = |span: &Span| &text[span.start as usize..span.end as usize];
        match mistake(text) {
            None => "none".to_owned(),
            Some(Mistake::Delimiter(at, closing)) => format!("{}@{} {closing}", slice(&at), at.start),
            Some(Mistake::Block(at, keyword)) => format!("{} {keyword}", slice(&at)),
            Some(Mistake::End { at, keyword, open }) => {
                format!("{} {keyword} {:?}", slice(&at), open.map(|(at, _)| slice(&at)))
            }
        }
    }

    #[test]
    fn the_first_mistake_is_where_it_was_opened() {
        let table = [
            ("a", "none"),
            (
                "<% if a %><% for x in y %><% endfor %><% else %><% endif %>",
                "none",
            ),
            ("<% set a = 1 %><< '>>' >><# <% #>", "none"),
            ("<% raw %><% if %><< <% endraw %>", "none"),
            (
                "<%- for x in y -%>\n<% if x %><% endif %>",
                "<%- for x in y -%> for",
            ),
            ("<% if a %><% for x in y %><% endfor %>", "<% if a %> if"),
            ("a: << b\nc: << d >>", "<<@3 >>"),
            ("a: << 'b >>\n", "<<@3 >>"),
            ("<% if a\nb", "<%@0 %>"),
            ("a\n<# b", "<#@2 #>"),
            ("<% endif %>", "<% endif %> if None"),
            (
                "<% for x in y %><% endif %>",
                "<% endif %> if Some(\"<% for x in y %>\")",
            ),
            ("<% set a %>", "<% set a %> set"),
            ("<% raw %> <% endif %>", "<% raw %> raw"),
        ];
        for (text, expected) in table {
            assert_eq!(shown(text), expected, "{text}");
        }
    }
}
