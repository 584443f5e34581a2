//! go-yaml's messages about invalid YAML, for functions and checks that show Helm's own message.
//!
//! go-yaml counts lines up to where it detected the mistake: its scanner from 1, its parser from 0, and it omits a
//! first line. Where go-yaml has no message (our limits), the message is ours.

use crate::diag::Class;
use crate::source::{Location, Source};
use crate::template::print::quote;
use crate::value::{Number, Value};
use crate::yaml::{self, InvalidKey, Tab, YamlError, YamlErrorKind as Kind};

/// Which part of go-yaml detects the mistake, and so how it counts lines.
enum Noticed {
    /// The scanner, on this line.
    Scanner(usize),
    Parser,
    /// Without a line.
    Nowhere,
}

/// `yaml: line 6: mapping values are not allowed in this context`
pub(crate) fn go_yaml_message(error: &YamlError) -> String {
    let (noticed, text) = match error.kind() {
        Kind::NonFinite => return format!("json: unsupported value: {}", non_finite(error)),
        Kind::InvalidKey(InvalidKey::Sequence | InvalidKey::Mapping) => {
            (Noticed::Nowhere, format!("invalid map key: {}", key(error)))
        }
        Kind::UnknownAnchor(name) => (Noticed::Nowhere, format!("unknown anchor '{name}' referenced")),
        Kind::RecursiveAnchor(name) => (Noticed::Nowhere, format!("anchor '{name}' value contains itself")),
        Kind::TagMismatch { value, tag } => (
            Noticed::Nowhere,
            format!("cannot decode !!str `{value}` as a !!{tag}"),
        ),
        kind => match (of_scanner(kind), of_parser(kind), of_decoder(kind)) {
            (Some(text), ..) => (Noticed::Scanner(scanner_line(error)), text.to_owned()),
            (_, Some(text), _) => (Noticed::Parser, text),
            (.., Some(text)) => (Noticed::Nowhere, text.to_owned()),
            (None, None, None) => (Noticed::Scanner(line(error)), kind.to_string()),
        },
    };
    let shown = match noticed {
        Noticed::Scanner(1) | Noticed::Nowhere => 0,
        Noticed::Scanner(line) => line,
        Noticed::Parser => parser_line(error),
    };
    if shown == 0 {
        format!("yaml: {text}")
    } else {
        format!("yaml: line {shown}: {text}")
    }
}

/// The scanner's message: the text can't be tokenized.
fn of_scanner(kind: &Kind) -> Option<&'static str> {
    Some(match kind {
        Kind::UnexpectedColon => "mapping values are not allowed in this context",
        Kind::UnexpectedSequence => "block sequence entries are not allowed in this context",
        Kind::UnexpectedKey => "mapping keys are not allowed in this context",
        Kind::MissingColon { .. } => "could not find expected ':'",
        Kind::InvalidName(_) => "did not find expected alphabetic or numeric character",
        Kind::TabIndentation(Tab::BeforeToken) | Kind::InvalidStart(_) => {
            "found character that cannot start any token"
        }
        Kind::TabIndentation(Tab::InPlain) => "found a tab character that violates indentation",
        Kind::TabIndentation(Tab::InBlock) => "found a tab character where an indentation space is expected",
        Kind::UnclosedQuote { .. } => "found unexpected end of stream",
        Kind::DocumentInQuotes { .. } => "found unexpected document indicator",
        Kind::UnknownEscape(_) => "found unknown escape character",
        Kind::InvalidCharacterCode(_) => "found invalid Unicode character escape code",
        Kind::InvalidHexadecimal { .. } => "did not find expected hexdecimal number",
        Kind::ZeroIndentation => "found an indentation indicator equal to 0",
        Kind::TextInBlockHeader | Kind::TextAfterDirective => "did not find expected comment or line break",
        Kind::UnclosedTag => "did not find the expected '>'",
        Kind::MissingBlankAfterTag | Kind::InvalidTagPrefix => {
            "did not find expected whitespace or line break"
        }
        Kind::MissingTagName => "did not find expected tag URI",
        Kind::TagNotUtf8 => "found an incorrect leading UTF-8 octet",
        Kind::InvalidTagEscape => "did not find URI escaped octet",
        Kind::UnknownDirective => "found unknown directive name",
        Kind::MissingDirectiveName => "could not find expected directive name",
        Kind::InvalidTagHandle => "did not find expected '!'",
        Kind::MissingTagPrefix => "did not find expected whitespace",
        Kind::TooDeep { .. } => "exceeded max depth of 10000",
        _ => return None,
    })
}

/// The parser's message: the tokens don't form a document.
fn of_parser(kind: &Kind) -> Option<String> {
    let text = match kind {
        Kind::UndefinedTagHandle(_) => "found undefined tag handle",
        Kind::UnsupportedVersion(_) => "found incompatible YAML document",
        Kind::DuplicateVersion => "found duplicate %YAML directive",
        Kind::DuplicateTagHandle => "found duplicate %TAG directive",
        Kind::MissingDocumentStart | Kind::TextAfterDocument => "did not find expected <document start>",
        Kind::MissingValue | Kind::Unclosed { empty: true, .. } => "did not find expected node content",
        Kind::ExpectedItem => "did not find expected '-' indicator",
        Kind::ExpectedKey => "did not find expected key",
        Kind::Unclosed { flow, .. } | Kind::ExpectedComma(flow) => {
            return Some(format!("did not find expected ',' or '{}'", flow.closing()));
        }
        _ => return None,
    };
    Some(text.to_owned())
}

/// Messages about a document that is well formed, or about a text before it is tokenized: without a line.
fn of_decoder(kind: &Kind) -> Option<&'static str> {
    Some(match kind {
        Kind::ForbiddenCharacter(_) => "control characters are not allowed",
        Kind::InvalidMerge => "map merge requires map or sequence of maps as the value",
        Kind::InvalidBinary => "!!binary value contains invalid base64 data",
        Kind::AliasesTooLarge { .. } | Kind::ExcessiveAliasing => "document contains excessive aliasing",
        _ => return None,
    })
}

fn line(error: &YamlError) -> usize {
    error.location().map_or(0, |location| location.position().line)
}

/// From 1.
fn scanner_line(error: &YamlError) -> usize {
    let at = |offset: u32| error.location().map_or(0, |one| one.source.position(offset).line);
    match error.kind() {
        Kind::MissingColon { noticed } => *noticed,
        Kind::UnclosedQuote { end } | Kind::DocumentInQuotes { end } => at(*end),
        _ => line(error),
    }
}

/// From 0; the end of the text is on a line of its own.
fn parser_line(error: &YamlError) -> usize {
    let Some(Location { source, span }) = error.location() else {
        return 0;
    };
    let at_end = matches!(error.kind(), Kind::Unclosed { .. }) || span.start as usize >= source.text().len();
    if at_end {
        source.text().lines().count()
    } else {
        line(error).saturating_sub(1)
    }
}

fn non_finite(error: &YamlError) -> &'static str {
    let text = error.location().map_or("", |at| at.source.slice(at.span));
    match text.to_ascii_lowercase().as_str() {
        ".nan" => "NaN",
        "-.inf" => "-Inf",
        _ => "+Inf",
    }
}

/// An invalid key in Go's `%#v` format.
fn key(error: &YamlError) -> String {
    let text = error.location().map_or("", |at| at.source.slice(at.span));
    let source = Source::new("key", text);
    let node = yaml::parse(&source, Class::Chart, &yaml::Limits::default());
    node.map_or_else(|_| text.to_owned(), |node| go_syntax(&node.into_value()))
}

/// Go's `%#v`; nesting is bounded by the YAML reader's limit.
fn go_syntax(value: &Value) -> String {
    match value {
        Value::Null => "interface {}(nil)".to_owned(),
        Value::Bool(value) => value.to_string(),
        Value::Number(Number::Float(value)) => Number::Float(*value).to_string(),
        Value::Number(number) => number.to_string(),
        Value::String(text) => quote(text),
        Value::List(items) => {
            let items: Vec<String> = items.iter().map(go_syntax).collect();
            format!("[]interface {{}}{{{}}}", items.join(", "))
        }
        Value::Map(map) => {
            let entries: Vec<String> = map
                .iter()
                .map(|(key, item)| format!("{}:{}", quote(key), go_syntax(item)))
                .collect();
            format!("map[interface {{}}]interface {{}}{{{}}}", entries.join(", "))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Where we differ from go-yaml on purpose, and why.
    const DIFFERENT: &[(&str, &str)] = &[
        ("null: a", "the value would have to be quoted, too"),
        ("~: a", "the value would have to be quoted, too"),
        ("x: {null: 1}", "the value would have to be quoted, too"),
        (
            "18446744073709551615: a",
            "the value would have to be quoted, too",
        ),
    ];

    /// `errors/golden.json` has the messages of Helm 4.3.1's `fromYaml` for each text of `errors/values.yaml`.
    #[test]
    fn each_message_is_that_of_helm() {
        let golden = concat!(env!("CARGO_MANIFEST_DIR"), "/../testdata/yaml/errors/golden.json");
        let golden = std::fs::read_to_string(golden).unwrap();
        let golden: Vec<serde_json::Value> = serde_json::from_str(&golden).unwrap();
        assert!(golden.len() > 100);
        let mut wrong = Vec::new();
        for case in &golden {
            let field = |name: &str| case.get(name).and_then(|text| text.as_str()).unwrap();
            let (text, expected) = (field("text"), field("error"));
            let source = Source::new("t", text);
            let found = match yaml::parse(&source, Class::Chart, &yaml::Limits::default()) {
                Ok(_) => "",
                Err(error) => &format!("error converting YAML to JSON: {}", go_yaml_message(&error)),
            };
            // A wrong type, which is not a syntax error.
            let expected = match expected.strip_prefix("error unmarshaling JSON: ") {
                Some(_) => "",
                None => expected,
            };
            let differs = DIFFERENT.iter().any(|(known, _)| *known == text);
            if (found == expected) == differs {
                wrong.push(format!("{text:?}: {found}, not {expected}"));
            }
        }
        assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    }
}
