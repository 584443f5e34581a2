//! What go-yaml says of a text that is no YAML, told from our own diagnosis of it.
//!
//! go-yaml counts lines from the place where it noticed: its scanner from 1, its parser from
//! 0, and it leaves a first line out.

use crate::diag::Diagnostics;
use crate::source::{Location, Span};
use crate::value::{Number, Value};
use crate::yaml;

/// Which half of go-yaml notices, what it says, and where.
enum Noticed {
    Scanner(&'static str),
    /// At the end of the text.
    End(&'static str),
    /// On the line after.
    Next(&'static str),
    Parser(&'static str),
    /// By the parser at the end of the text, unless a value was due there.
    Unclosed(&'static str),
}

const WORDS: &[(&str, Noticed)] = &[
    (
        "a `:` can't stand here",
        Noticed::Scanner("mapping values are not allowed in this context"),
    ),
    (
        "a list can't start here",
        Noticed::Scanner("block sequence entries are not allowed in this context"),
    ),
    (
        "a `?` key can't start here",
        Noticed::Scanner("mapping keys are not allowed in this context"),
    ),
    (
        "a key without a `:`",
        Noticed::Next("could not find expected ':'"),
    ),
    (
        "a tab can't be used as indentation",
        Noticed::Scanner("found a tab character that violates indentation"),
    ),
    (
        "a value can't start with",
        Noticed::Scanner("found character that cannot start any token"),
    ),
    (
        "the quote is never closed",
        Noticed::End("found unexpected end of stream"),
    ),
    (
        "is not an escape",
        Noticed::Scanner("found unknown escape character"),
    ),
    (
        "this escape takes",
        Noticed::Scanner("did not find expected hexdecimal number"),
    ),
    (
        "the text of a block starts on the next line",
        Noticed::Scanner("did not find expected comment or line break"),
    ),
    (
        "a key of the map above is expected here",
        Noticed::Parser("did not find expected key"),
    ),
    (
        "an item of the list above starts with",
        Noticed::Parser("did not find expected '-' indicator"),
    ),
    (
        "the `[` is never closed",
        Noticed::Unclosed("did not find expected ',' or ']'"),
    ),
    (
        "the `{` is never closed",
        Noticed::Unclosed("did not find expected ',' or '}'"),
    ),
    (
        "`,` or `]` is expected here",
        Noticed::Parser("did not find expected ',' or ']'"),
    ),
    (
        "`,` or `}` is expected here",
        Noticed::Parser("did not find expected ',' or '}'"),
    ),
    (
        "a value is missing here",
        Noticed::Parser("did not find expected node content"),
    ),
    (
        "the document has ended here",
        Noticed::Parser("did not find expected <document start>"),
    ),
];

/// `yaml: line 6: mapping values are not allowed in this context`; in our words where go-yaml's
/// are not known.
pub(super) fn of_yaml(problem: &Diagnostics) -> String {
    let Some(one) = problem.iter().next() else {
        return String::new();
    };
    if let Some(name) = one
        .message
        .strip_prefix("unknown anchor `")
        .and_then(|rest| rest.strip_suffix('`'))
    {
        return format!("yaml: unknown anchor '{name}' referenced");
    }
    let line = |location: &Location| location.position().line;
    let here = one.location.as_ref().map_or(0, line);
    if let (true, Some(location)) = (one.message.ends_with(" can't be a key"), &one.location)
        && let Some(key) = key(location)
    {
        return format!("yaml: invalid map key: {key}");
    }
    let known = WORDS.iter().find(|(ours, _)| one.message.contains(ours));
    let Some((_, noticed)) = known else {
        return format!("yaml: line {here}: {}", one.message);
    };
    let end = one
        .location
        .as_ref()
        .map_or(0, |location| line(&at_end(location)));
    let (shown, words) = match noticed {
        Noticed::Scanner(words) => (if here > 1 { here } else { 0 }, words),
        Noticed::End(words) => (if end > 1 { end } else { 0 }, words),
        Noticed::Next(words) => ((here + 1).min(end), words),
        Noticed::Parser(words) => (here.saturating_sub(1), words),
        Noticed::Unclosed(words) => {
            let text = one
                .location
                .as_ref()
                .map_or("", |location| location.source.text());
            let due = text.trim_end().ends_with(['[', '{', ',']);
            let words = if due {
                &"did not find expected node content"
            } else {
                words
            };
            (end.saturating_sub(1), words)
        }
    };
    if shown == 0 {
        format!("yaml: {words}")
    } else {
        format!("yaml: line {shown}: {words}")
    }
}

fn at_end(location: &Location) -> Location {
    let length = location.source.text().len();
    Location::new(&location.source, Span::new(length, length))
}

/// A key that is none as Go's `%#v` shows it.
fn key(location: &Location) -> Option<String> {
    let text = location.source.slice(location.span);
    let source = crate::source::Source::new("key", text);
    let node = yaml::parse(&source, crate::diag::Class::Chart, &yaml::Limits::default()).ok()?;
    Some(go_syntax(&node.to_value(), "interface {}"))
}

/// Go's `%#v`; nesting is bounded by the YAML reader's limit.
fn go_syntax(value: &Value, null: &str) -> String {
    match value {
        Value::Null => format!("{null}(nil)"),
        Value::Bool(value) => value.to_string(),
        Value::Number(Number::Float(value)) => Number::Float(*value).to_string(),
        Value::Number(number) => number.to_string(),
        Value::String(text) => crate::template::print::quote(text),
        Value::List(items) => {
            let items: Vec<String> = items.iter().map(|item| go_syntax(item, null)).collect();
            format!("[]interface {{}}{{{}}}", items.join(", "))
        }
        Value::Map(map) => {
            let entries: Vec<String> = map
                .iter()
                .map(|(key, item)| {
                    format!("{}:{}", crate::template::print::quote(key), go_syntax(item, null))
                })
                .collect();
            format!("map[interface {{}}]interface {{}}{{{}}}", entries.join(", "))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::diag::Class;
    use crate::source::Source;

    /// Recorded from Helm 4.3.1.
    const CASES: &[(&str, &str)] = &[
        ("a: b: c", "yaml: mapping values are not allowed in this context"),
        (
            "a: 1\n  b: 1\n",
            "yaml: line 2: mapping values are not allowed in this context",
        ),
        (
            "x: 1\na:\n  - b\n  c: 1\n",
            "yaml: line 3: did not find expected '-' indicator",
        ),
        (
            "x: 1\na: \"b\nc: 1\n",
            "yaml: line 4: found unexpected end of stream",
        ),
        (
            "x: 1\na: [b\nc: 1\n",
            "yaml: line 2: did not find expected ',' or ']'",
        ),
        (
            "x: 1\n\ta: 1\n",
            "yaml: line 2: found a tab character that violates indentation",
        ),
        ("x: 1\na\nb: 1\n", "yaml: line 3: could not find expected ':'"),
        (
            "x: 1\na: @b\n",
            "yaml: line 2: found character that cannot start any token",
        ),
        ("x: 1\na: *b\n", "yaml: unknown anchor 'b' referenced"),
        (
            "x: 1\na: |\n  x\n b: 1\n",
            "yaml: line 3: did not find expected key",
        ),
        (
            "x:\n  y:\n    a: 1\n   b: 2\n",
            "yaml: line 3: did not find expected key",
        ),
        (
            "x: 1\ny: - a\n",
            "yaml: line 2: block sequence entries are not allowed in this context",
        ),
        (
            "x: 1\ny: \"\\q\"\n",
            "yaml: line 2: found unknown escape character",
        ),
        ("a: [\n", "yaml: line 1: did not find expected node content"),
        (
            "kind: {{ .Values.a }}\n",
            "yaml: invalid map key: map[interface {}]interface {}{\".Values.a\":interface {}(nil)}",
        ),
    ];

    #[test]
    fn go_yamls_words_are_found() {
        let mut wrong = Vec::new();
        for &(text, expected) in CASES {
            let source = Source::new("t", text);
            let found = match yaml::parse(&source, Class::Chart, &yaml::Limits::default()) {
                Ok(_) => "fine".to_owned(),
                Err(problem) => of_yaml(&problem),
            };
            if found != expected {
                wrong.push(format!("{text:?}: {found}, not {expected}"));
            }
        }
        assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    }
}
