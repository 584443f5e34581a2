//! YAML as `fromYaml` reads it: all numbers are float64.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::read::Found;
use crate::diag::{Class, Diagnostic, Diagnostics};
use crate::source::Source;
use crate::template::{Map, MapType, Str, Val};
use crate::yaml::{self, Kind, Limits, Node};

/// The value of a text's first document.
pub(super) fn read(text: &Str) -> Found {
    let (value, error) = match parse(text) {
        Ok(value) => (value, None),
        Err(message) => (
            Val::Map(Map::default()),
            Some(format!("error converting YAML to JSON: {message}")),
        ),
    };
    Found {
        value,
        error,
        prefix: "error unmarshaling JSON: while decoding JSON: ",
        null_is_empty: true,
    }
}

fn parse(text: &Str) -> Result<Val, String> {
    let Some(text) = text.as_str() else {
        let bytes = text.as_bytes();
        let start = bytes.utf8_chunks().next().map_or(0, |chunk| chunk.valid().len());
        let leads = bytes.get(start).is_none_or(|byte| !(0xc2..0xf5).contains(byte));
        let what = if leads { "leading" } else { "trailing" };
        return Err(format!("yaml: invalid {what} UTF-8 octet"));
    };
    let source = Source::new("", text);
    let node = yaml::parse(&source, Class::Template, &Limits::default());
    node.map(value).map_err(|problems| words(&problems))
}

fn value(node: Node) -> Val {
    match node.kind {
        Kind::Null => Val::Nil,
        Kind::Bool(value) => Val::Bool(value),
        Kind::Number(value) => Val::Float(value.as_f64()),
        Kind::String(text) => Val::str(text),
        Kind::Seq(items) => Val::list(items.into_iter().map(value).collect()),
        Kind::Map(entries) => {
            let entries: BTreeMap<Arc<str>, Val> = entries
                .into_iter()
                .map(|entry| (entry.key.into(), value(entry.value)))
                .collect();
            Val::Map(Map::with(MapType::Any, entries))
        }
    }
}

/// Our words for a mistake, go-yaml's, and whether those come from its scanner, whose
/// lines count from one.
const WORDS: [(&str, &str, bool); 16] = [
    (
        "a `:` can't stand here",
        "mapping values are not allowed in this context",
        true,
    ),
    (
        "a list can't start here",
        "block sequence entries are not allowed in this context",
        true,
    ),
    (
        "a `?` key can't start here",
        "mapping keys are not allowed in this context",
        true,
    ),
    (
        "the quote is never closed",
        "found unexpected end of stream",
        true,
    ),
    (
        "a value can't start with",
        "found character that cannot start any token",
        true,
    ),
    (
        "a tab can't be used as indentation",
        "found character that cannot start any token",
        true,
    ),
    ("an unknown directive", "found unknown directive name", true),
    (
        "not the name of an",
        "did not find expected alphabetic or numeric character",
        true,
    ),
    (
        "the text of a block starts on the next line",
        "did not find expected comment or line break",
        true,
    ),
    (
        "an indentation of 0 is not possible",
        "found an indentation indicator equal to 0",
        true,
    ),
    ("the character U+", "control characters are not allowed", true),
    (
        "the document has ended here",
        "did not find expected <document start>",
        false,
    ),
    (
        "a value is missing here",
        "did not find expected node content",
        false,
    ),
    (
        "an item of the list above",
        "did not find expected '-' indicator",
        false,
    ),
    ("a key of the map above", "did not find expected key", false),
    ("more than", "exceeded max depth of 10000", false),
];

/// As go-yaml says it, where the mistake is a common one.
fn words(problems: &Diagnostics) -> String {
    let Some(problem) = problems.iter().next() else {
        return "yaml: unknown problem".to_owned();
    };
    let message = problem.message.as_str();
    if let Some(name) = message.strip_prefix("unknown anchor `") {
        return format!("yaml: unknown anchor '{}' referenced", name.trim_end_matches('`'));
    }
    if message.starts_with("infinities and not-a-number") {
        return format!("json: unsupported value: {}", non_finite(problem));
    }
    if message.starts_with("`,` or `") {
        let closing = if message.contains('}') { '}' } else { ']' };
        return format!(
            "yaml: {}did not find expected ',' or '{closing}'",
            line(problem, false)
        );
    }
    if message.ends_with("is not an escape") {
        return format!("yaml: {}found unknown escape character", line(problem, true));
    }
    if message == "a key without a `:`" {
        // go-yaml sees it when it looks at the next line.
        return format!(
            "yaml: line {}: could not find expected ':'",
            line_number(problem) + 1
        );
    }
    if message.ends_with("is never closed")
        && let Some(bracket) = message.strip_prefix("the `")
        && let Some(closing) = closing(bracket)
    {
        let place = problem.location.as_ref();
        let lines = place.map_or(1, |place| place.source.text().lines().count());
        return format!("yaml: line {lines}: did not find expected ',' or '{closing}'");
    }
    if let Some((value, tag)) = message.split_once(" is not what its tag `")
        && let Some(tag) = tag.strip_suffix("` says")
    {
        return format!("yaml: cannot decode !!str {value} as a {tag}");
    }
    for (ours, theirs, scanner) in WORDS {
        if message.starts_with(ours) {
            return format!("yaml: {}{theirs}", line(problem, scanner));
        }
    }
    format!("yaml: {}{message}", line(problem, true))
}

fn non_finite(problem: &Diagnostic) -> &'static str {
    let text = problem
        .location
        .as_ref()
        .map_or("", |place| place.source.slice(place.span));
    match text.to_ascii_lowercase().as_str() {
        ".nan" => "NaN",
        "-.inf" => "-Inf",
        _ => "+Inf",
    }
}

fn closing(bracket: &str) -> Option<char> {
    match bracket.chars().next()? {
        '[' => Some(']'),
        '{' => Some('}'),
        _ => None,
    }
}

fn line_number(problem: &Diagnostic) -> usize {
    let place = problem.location.as_ref();
    place.map_or(1, |place| {
        place
            .source
            .text()
            .get(..place.span.start as usize)
            .map_or(1, |before| {
                before.bytes().filter(|byte| *byte == b'\n').count() + 1
            })
    })
}

/// go-yaml names no first line, and its parser counts lines from zero.
fn line(problem: &Diagnostic, scanner: bool) -> String {
    match line_number(problem) {
        0 | 1 => String::new(),
        line if scanner => format!("line {line}: "),
        line => format!("line {}: ", line - 1),
    }
}
