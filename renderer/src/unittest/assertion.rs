//! The assertions: one table of their names ([`KINDS`]), and how each is decoded.

use super::decode::{index, near, selector};
use super::fields::FieldReader;
use super::path::Path;
use super::regex::GoRegex;
use super::suite::Selector;
use crate::decode::ObjectNode;
use crate::source::Span;
use crate::value::Value;
use crate::yaml::Node;

/// One assertion of a test.
#[derive(Debug)]
pub(super) struct Assertion {
    /// Its kind.
    pub(super) kind: &'static AssertionKind,
    /// `not`
    pub(super) not: bool,
    /// What is asserted.
    pub(super) check: Check,
    /// `template`
    pub(super) template: Option<String>,
    /// `documentIndex`
    pub(super) index: Option<i64>,
    /// `documentSelector`
    pub(super) selector: Option<Selector>,
    /// Where its name is in the file.
    pub(super) span: Span,
}

impl Assertion {
    /// Whether the opposite is asserted: `notEqual`, or `equal` with `not: true`.
    pub(super) fn is_negative(&self) -> bool {
        self.kind.is_negative != self.not
    }
}

/// A row of the table.
#[derive(Debug)]
pub struct AssertionKind {
    /// Its name in suites.
    pub name: &'static str,
    /// Whether it is the opposite of what its check says.
    pub is_negative: bool,
    /// Its parameters.
    pub params: &'static [&'static str],
    decode: fn(&mut FieldReader, &ObjectNode<'_>) -> Check,
}

/// What is asserted of documents.
#[derive(Debug)]
pub(super) enum Check {
    Equal {
        path: PathText,
        value: Value,
        decodes: bool,
    },
    Regex {
        path: PathText,
        pattern: Pattern,
        decodes: bool,
    },
    Contains {
        path: PathText,
        content: Value,
        count: Option<i64>,
        any: bool,
    },
    NullOrEmpty(PathText),
    Exists(PathText),
    Field {
        name: &'static str,
        of: String,
    },
    Documents {
        count: i64,
        filter_aware: bool,
    },
    ContainsDocument {
        kind: String,
        api_version: String,
        name: Option<String>,
        namespace: Option<String>,
        any: bool,
    },
    Subset {
        path: PathText,
        content: Value,
    },
    Length {
        paths: Vec<PathText>,
        count: Option<i64>,
        /// Why the parameters can't be used.
        mistake: Option<&'static str>,
    },
    Type {
        path: PathText,
        name: String,
    },
    AtLeast {
        path: PathText,
        value: Value,
    },
    AtMost {
        path: PathText,
        value: Value,
    },
    FailedTemplate {
        message: Option<String>,
        pattern: Option<Pattern>,
    },
    EqualRaw(String),
    RegexRaw(Pattern),
    Snapshot {
        path: PathText,
        matches: Option<Pattern>,
        matches_not: Option<Pattern>,
    },
    SnapshotRaw,
}

/// A path, and why it can't be used.
#[derive(Debug)]
pub(super) struct PathText {
    pub(super) text: String,
    pub(super) parsed: Result<Path, String>,
}

/// A regular expression, and why it can't be used.
#[derive(Debug)]
pub(super) struct Pattern {
    pub(super) text: String,
    pub(super) compiled: Result<GoRegex, String>,
}

/// The options that every assertion has beside its name.
const OPTIONS: [&str; 4] = ["not", "template", "documentIndex", "documentSelector"];

const fn row(
    name: &'static str,
    is_negative: bool,
    params: &'static [&'static str],
    decode: fn(&mut FieldReader, &ObjectNode<'_>) -> Check,
) -> AssertionKind {
    AssertionKind {
        name,
        is_negative,
        params,
        decode,
    }
}

const PATH: &[&str] = &["path"];
const EQUAL: &[&str] = &["path", "value", "decodeBase64"];
const REGEX: &[&str] = &["path", "pattern", "decodeBase64"];
const CONTAINS: &[&str] = &["path", "content", "count", "any"];
const SUBSET: &[&str] = &["path", "content"];
const LENGTH: &[&str] = &["path", "paths", "count"];
const ORDER: &[&str] = &["path", "value"];
const FAILED: &[&str] = &["errorMessage", "errorPattern"];

/// Every assertion. `true` marks those that assert the opposite.
pub const KINDS: &[AssertionKind] = &[
    row("equal", false, EQUAL, equal),
    row("notEqual", true, EQUAL, equal),
    row("matchRegex", false, REGEX, regex),
    row("notMatchRegex", true, REGEX, regex),
    row("contains", false, CONTAINS, contains),
    row("notContains", true, CONTAINS, contains),
    row("exists", false, PATH, exists),
    row("notExists", true, PATH, exists),
    row("isNotNull", false, PATH, exists),
    row("isNull", true, PATH, exists),
    row("isNullOrEmpty", false, PATH, null_or_empty),
    row("isNotNullOrEmpty", true, PATH, null_or_empty),
    row("isEmpty", false, PATH, null_or_empty),
    row("isNotEmpty", true, PATH, null_or_empty),
    row("isKind", false, &["of"], |reader, object| {
        field(reader, object, "kind")
    }),
    row("isAPIVersion", false, &["of"], |reader, object| {
        field(reader, object, "apiVersion")
    }),
    row("hasDocuments", false, &["count", "filterAware"], documents),
    row(
        "containsDocument",
        false,
        &["kind", "apiVersion", "name", "namespace", "any"],
        contains_document,
    ),
    row("isSubset", false, SUBSET, subset),
    row("isNotSubset", true, SUBSET, subset),
    row("lengthEqual", false, LENGTH, length),
    row("notLengthEqual", true, LENGTH, length),
    row("isType", false, &["path", "type"], is_type),
    row("isNotType", true, &["path", "type"], is_type),
    row("greaterOrEqual", false, ORDER, at_least),
    row("notGreaterOrEqual", true, ORDER, at_least),
    row("lessOrEqual", false, ORDER, at_most),
    row("notLessOrEqual", true, ORDER, at_most),
    row("failedTemplate", false, FAILED, failed_template),
    row("notFailedTemplate", true, FAILED, failed_template),
    row("equalRaw", false, &["value"], equal_raw),
    row("notEqualRaw", true, &["value"], equal_raw),
    row("matchRegexRaw", false, &["pattern"], regex_raw),
    row("notMatchRegexRaw", true, &["pattern"], regex_raw),
    row(
        "matchSnapshot",
        false,
        &["path", "matchRegex", "notMatchRegex"],
        snapshot,
    ),
    row("matchSnapshotRaw", false, &[], |_, _| Check::SnapshotRaw),
];

/// Decodes one entry of `asserts`.
pub(super) fn decode(reader: &mut FieldReader, node: &Node, path: &str) -> Option<Assertion> {
    let object = reader.object(node, path)?;
    let named = node.entries().iter().filter_map(|entry| {
        let kind = KINDS.iter().find(|kind| kind.name == entry.key)?;
        Some((kind, entry))
    });
    let named: Vec<_> = named.collect();
    let (kind, entry) = match named.as_slice() {
        [one] => *one,
        [] => {
            missing_kind(reader, node, path);
            return None;
        }
        [(one, _), (other, entry), ..] => {
            let message = format!("{path} has two assertions: `{}` and `{}`", one.name, other.name);
            reader.error_with_hint(entry.key_span, message, Some("give each its own `-`".to_owned()));
            return None;
        }
    };
    let mut known = OPTIONS.to_vec();
    known.push(kind.name);
    reader.only(&object, &known);
    let params = reader.object(&entry.value, &object.field(kind.name))?;
    reader.only(&params, kind.params);
    Some(Assertion {
        kind,
        not: reader.boolean(&object, "not").unwrap_or(false),
        check: (kind.decode)(reader, &params),
        template: reader.text_or_none(&object, "template"),
        index: index(reader, &object),
        selector: selector(reader, &object, false),
        span: entry.key_span,
    })
}

fn missing_kind(reader: &mut FieldReader, node: &Node, path: &str) {
    let unknown = node
        .entries()
        .iter()
        .find(|entry| !OPTIONS.contains(&entry.key.as_str()));
    match unknown {
        Some(entry) => {
            let message = format!("{path}: there is no assertion `{}`", entry.key);
            reader.error_with_hint(entry.key_span, message, near(&entry.key));
        }
        None => reader.error(node.span, format!("{path} has no assertion")),
    }
}

fn path_text(reader: &mut FieldReader, object: &ObjectNode<'_>) -> PathText {
    parsed(reader.text(object, "path").unwrap_or_default())
}

fn parsed(text: String) -> PathText {
    let parsed = Path::parse(&text).map_err(|error| error.to_string());
    PathText { text, parsed }
}

fn pattern(reader: &mut FieldReader, object: &ObjectNode<'_>, name: &str) -> Option<Pattern> {
    let text = reader.exact_text(object, name)?;
    let compiled = match text.is_empty() {
        true => Err(format!("expected field '{name}' to be filled")),
        false => GoRegex::new(&text),
    };
    Some(Pattern { text, compiled })
}

fn required_pattern(reader: &mut FieldReader, object: &ObjectNode<'_>) -> Pattern {
    pattern(reader, object, "pattern").unwrap_or_else(|| Pattern {
        text: String::new(),
        compiled: Err("expected field 'pattern' to be filled".to_owned()),
    })
}

/// The pattern in a map, without the white space around it; one without a text matches everything.
fn inner_pattern(reader: &mut FieldReader, object: &ObjectNode<'_>, name: &str) -> Option<Pattern> {
    let inner = reader.object_in(object, name)?;
    reader.only(&inner, &["pattern"]);
    let text = reader.exact_text(&inner, "pattern")?.trim().to_owned();
    let compiled = GoRegex::new(&text);
    (!text.is_empty()).then_some(Pattern { text, compiled })
}

fn flag(reader: &mut FieldReader, object: &ObjectNode<'_>, name: &str) -> bool {
    reader.boolean(object, name).unwrap_or(false)
}

fn exact(reader: &mut FieldReader, object: &ObjectNode<'_>, name: &str) -> String {
    reader.exact_text(object, name).unwrap_or_default()
}

fn equal(reader: &mut FieldReader, object: &ObjectNode<'_>) -> Check {
    Check::Equal {
        path: path_text(reader, object),
        value: reader.value(object, "value"),
        decodes: flag(reader, object, "decodeBase64"),
    }
}

fn regex(reader: &mut FieldReader, object: &ObjectNode<'_>) -> Check {
    Check::Regex {
        path: path_text(reader, object),
        pattern: required_pattern(reader, object),
        decodes: flag(reader, object, "decodeBase64"),
    }
}

fn contains(reader: &mut FieldReader, object: &ObjectNode<'_>) -> Check {
    Check::Contains {
        path: path_text(reader, object),
        content: reader.value(object, "content"),
        count: reader.integer(object, "count"),
        any: flag(reader, object, "any"),
    }
}

fn exists(reader: &mut FieldReader, object: &ObjectNode<'_>) -> Check {
    Check::Exists(path_text(reader, object))
}

fn null_or_empty(reader: &mut FieldReader, object: &ObjectNode<'_>) -> Check {
    Check::NullOrEmpty(path_text(reader, object))
}

fn field(reader: &mut FieldReader, object: &ObjectNode<'_>, name: &'static str) -> Check {
    Check::Field {
        name,
        of: exact(reader, object, "of"),
    }
}

fn documents(reader: &mut FieldReader, object: &ObjectNode<'_>) -> Check {
    Check::Documents {
        count: reader.integer(object, "count").unwrap_or(0),
        filter_aware: flag(reader, object, "filterAware"),
    }
}

fn contains_document(reader: &mut FieldReader, object: &ObjectNode<'_>) -> Check {
    let filled = |text: &String| !text.is_empty();
    Check::ContainsDocument {
        kind: exact(reader, object, "kind"),
        api_version: exact(reader, object, "apiVersion"),
        name: reader.exact_text(object, "name").filter(filled),
        namespace: reader.exact_text(object, "namespace").filter(filled),
        any: flag(reader, object, "any"),
    }
}

fn subset(reader: &mut FieldReader, object: &ObjectNode<'_>) -> Check {
    Check::Subset {
        path: path_text(reader, object),
        content: reader.value(object, "content"),
    }
}

fn length(reader: &mut FieldReader, object: &ObjectNode<'_>) -> Check {
    let path = reader.text(object, "path").filter(|path| !path.is_empty());
    let paths = reader.texts(object, "paths");
    let count = reader.integer(object, "count");
    let has_count = count.is_some_and(|count| count >= 0);
    let mistake = match (&path, paths.is_empty(), has_count) {
        (Some(_), false, _) => Some("'paths' couldn't be used with 'path'"),
        (Some(_), true, false) => Some("'count' field must be set if 'path' is used"),
        (None, true, _) => Some("'path' or 'paths' must be set"),
        _ => None,
    };
    Check::Length {
        paths: path.into_iter().chain(paths).map(parsed).collect(),
        count,
        mistake,
    }
}

fn is_type(reader: &mut FieldReader, object: &ObjectNode<'_>) -> Check {
    Check::Type {
        path: path_text(reader, object),
        name: exact(reader, object, "type"),
    }
}

fn at_least(reader: &mut FieldReader, object: &ObjectNode<'_>) -> Check {
    Check::AtLeast {
        path: path_text(reader, object),
        value: reader.value(object, "value"),
    }
}

fn at_most(reader: &mut FieldReader, object: &ObjectNode<'_>) -> Check {
    Check::AtMost {
        path: path_text(reader, object),
        value: reader.value(object, "value"),
    }
}

fn failed_template(reader: &mut FieldReader, object: &ObjectNode<'_>) -> Check {
    Check::FailedTemplate {
        message: reader
            .exact_text(object, "errorMessage")
            .filter(|text| !text.is_empty()),
        pattern: pattern(reader, object, "errorPattern").filter(|pattern| !pattern.text.is_empty()),
    }
}

fn equal_raw(reader: &mut FieldReader, object: &ObjectNode<'_>) -> Check {
    Check::EqualRaw(exact(reader, object, "value"))
}

fn regex_raw(reader: &mut FieldReader, object: &ObjectNode<'_>) -> Check {
    Check::RegexRaw(required_pattern(reader, object))
}

fn snapshot(reader: &mut FieldReader, object: &ObjectNode<'_>) -> Check {
    Check::Snapshot {
        path: path_text(reader, object),
        matches: inner_pattern(reader, object, "matchRegex"),
        matches_not: inner_pattern(reader, object, "notMatchRegex"),
    }
}
