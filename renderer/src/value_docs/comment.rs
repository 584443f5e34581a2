//! What a comment says about a key, in helm-docs' forms: [`Description`].
//!
//! A comment in front of a key begins with `# -- text`; one anywhere in the file names its key: `# image.tag -- text`. What
//! follows goes on with the text, except for lines with an `@default`, `@notationType`, `@section` or `@raw`.

use std::collections::BTreeMap;

/// What begins a description in front of a key.
const MARK: &str = "# --";
/// What leaves a key and all below it out, wherever it stands in its comment.
const IGNORE: &str = "@ignore";

/// What a comment says.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Description {
    pub(super) text: String,
    pub(super) default: String,
    pub(super) section: String,
    pub(super) value_type: String,
    pub(super) notation: String,
}

impl Description {
    /// That of the comment in front of a key or an item; none if it names a key.
    pub(super) fn of_head(head: &str) -> Self {
        let lines: Vec<&str> = head.split('\n').collect();
        let first = lines.iter().rposition(|line| line.starts_with(MARK));
        match first.and_then(|first| Some((split(lines.get(first)?)?, lines.get(first + 1..)?))) {
            Some((("", text), rest)) => Self::of_lines(text, rest),
            _ => Self::default(),
        }
    }

    fn of_lines(first: &str, rest: &[&str]) -> Self {
        let mut out = Self::default();
        let text = match typed(first) {
            Some((value_type, text)) => {
                value_type.clone_into(&mut out.value_type);
                text
            }
            None => first,
        };
        text.clone_into(&mut out.text);
        let mut is_raw = false;
        for line in rest {
            let line = line.trim_start();
            if is_annotation(line, "@raw").is_some() {
                is_raw = true;
            } else if let Some(default) = line.strip_prefix("# @default -- ") {
                default.clone_into(&mut out.default);
            } else if let Some(notation) = notation(line) {
                notation.clone_into(&mut out.notation);
            } else if let Some(section) = line.strip_prefix("# @section -- ") {
                section.clone_into(&mut out.section);
            } else if let Some(more) = line.strip_prefix('#') {
                out.text.push(if is_raw { '\n' } else { ' ' });
                out.text
                    .push_str(more.strip_prefix(char::is_whitespace).unwrap_or(more));
            }
        }
        out
    }
}

/// Whether a comment leaves its key out.
pub(super) fn is_ignored(head: &str) -> bool {
    head.contains(IGNORE)
}

/// The descriptions of comments that name their key, by these keys. The last one of a key counts.
pub(super) fn by_key(text: &str) -> BTreeMap<String, Description> {
    let mut all = BTreeMap::new();
    let mut comment: Vec<&str> = Vec::new();
    for line in text.lines() {
        if comment.is_empty() {
            if split(line).is_some_and(|(key, _)| !key.is_empty()) {
                comment.push(line);
            }
        } else if line.trim_start().starts_with('#') {
            comment.push(line);
        } else {
            all.extend(described(&comment));
            comment.clear();
        }
    }
    // helm-docs forgets a comment that ends with the file.
    all
}

/// Key and description of a comment; a line with the mark begins it anew, without a key.
fn described(comment: &[&str]) -> Option<(String, Description)> {
    let first = comment
        .iter()
        .rposition(|line| line.starts_with(MARK))
        .unwrap_or(0);
    let (key, text) = split(comment.get(first)?)?;
    let rest = comment.get(first + 1..).unwrap_or_default();
    (!key.is_empty()).then(|| (key.to_owned(), Description::of_lines(text, rest)))
}

/// Key and text of a comment's first line: `# key -- text`; the last ` --` counts.
fn split(line: &str) -> Option<(&str, &str)> {
    let content = line.trim_start().strip_prefix('#')?;
    let is_mark = |at: &usize| {
        let (before, after) = (content.get(..*at), content.get(*at..));
        after.is_some_and(|after| after.starts_with("--"))
            && before.is_some_and(|text| text.ends_with(char::is_whitespace))
    };
    let at = (0..content.len()).rev().find(is_mark)?;
    let (key, text) = content.split_at(at);
    Some((key.trim(), text.strip_prefix("--")?.trim_start()))
}

/// `(type) text`.
fn typed(text: &str) -> Option<(&str, &str)> {
    let (value_type, rest) = text.strip_prefix('(')?.split_once(')')?;
    (!value_type.is_empty()).then(|| (value_type, rest.trim_start()))
}

/// What follows an annotation, which stands behind one or more blanks.
fn is_annotation<'l>(line: &'l str, name: &str) -> Option<&'l str> {
    let content = line.strip_prefix('#')?;
    let annotation = content.trim_start();
    (annotation.len() < content.len()).then(|| annotation.strip_prefix(name))?
}

fn notation(line: &str) -> Option<&str> {
    let rest = is_annotation(line, "@notationType")?;
    let dashes = rest.trim_start();
    let value = dashes.strip_prefix("--")?;
    let text = value.trim_start();
    (dashes.len() < rest.len() && text.len() < value.len()).then_some(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(head: &str) -> String {
        Description::of_head(head).text
    }

    #[test]
    fn the_last_line_with_the_mark_begins_the_description() {
        assert_eq!(text("# -- a\n# b\n#c\n#  d"), "a b c  d");
        assert_eq!(text("# -- a\n# -- b"), "b");
        assert_eq!(text("# a\n# -- b"), "b");
        assert_eq!(text("# -- a -- b"), "");
        assert_eq!(text("#-- a"), "");
        assert_eq!(text("# key -- a"), "");
    }

    #[test]
    fn annotations_are_not_part_of_it() {
        let all = Description::of_head(
            "# -- (tpl/map) a\n# @default -- d | e\n# @section -- S\n# @notationType -- yaml\n# b\n# @raw\n#  c",
        );
        let expected = Description {
            text: "a b\n c".to_owned(),
            default: "d | e".to_owned(),
            section: "S".to_owned(),
            value_type: "tpl/map".to_owned(),
            notation: "yaml".to_owned(),
        };
        assert_eq!(all, expected);
    }

    #[test]
    fn a_comment_may_name_its_key() {
        let all = by_key("# a.b -- one\n# two\nx: 1\n  # \"c d\".e -- (t) three\n\n# f -- four\n");
        let texts: Vec<(&str, &str)> = all
            .iter()
            .map(|(key, one)| (key.as_str(), one.text.as_str()))
            .collect();
        assert_eq!(texts, [("\"c d\".e", "three"), ("a.b", "one two")]);
    }
}
