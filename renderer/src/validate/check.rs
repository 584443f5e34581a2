//! A value against a type of Kubernetes' own kinds, as API servers decode it: strictly, and with null as absent.

use super::finding::{Rule, Violation};
use super::formats::{is_base64, is_quantity, is_time};
use super::kubernetes::{VersionChoice, kubernetes};
use super::path::FieldPath;
use super::types::{Definition, Field, FieldType, ListKeys, or_at};
use crate::diag::did_you_mean;
use crate::source::Span;
use crate::value::Number;
use crate::yaml::{Kind, Node};

/// How deep values are checked; YAML's own limit is reached first.
pub(super) const MAX_DEPTH: usize = 200;
/// How many allowed values a message names.
const SHOWN_VALUES: usize = 12;

/// What is checked, and what was found.
pub(super) struct Checker {
    pub(super) version: VersionChoice,
    pub(super) found: Vec<Violation>,
    depth: usize,
}

impl Checker {
    pub(super) fn new(version: VersionChoice) -> Self {
        Self {
            version,
            found: Vec::new(),
            depth: 0,
        }
    }

    /// Checks a map against a definition; `at` is where it is set.
    pub(super) fn definition(&mut self, node: &Node, number: usize, path: &FieldPath<'_>, at: Span) {
        let Some(definition) = kubernetes().definition(number, self.version) else {
            return;
        };
        if self.depth >= MAX_DEPTH {
            return;
        }
        let Kind::Map(entries) = &node.kind else {
            if !node.is_null() {
                self.wrong_type(node, "a map", path, at);
            }
            return;
        };
        self.depth += 1;
        for entry in entries {
            let below = path.key(&entry.key);
            match definition.field(&entry.key) {
                Some(field) if field.required && entry.value.is_null() => {
                    self.missing(field, path, entry.key_span)
                }
                Some(field) => self.value(&entry.value, &field.kind, &below, entry.key_span),
                None => {
                    let names = definition.fields.iter().map(|field| field.name);
                    self.found
                        .push(unknown_field(&entry.key, names, below, entry.key_span));
                }
            }
        }
        self.required(node, definition, path, at);
        self.depth -= 1;
    }

    fn required(&mut self, node: &Node, definition: &Definition, path: &FieldPath<'_>, at: Span) {
        let required = definition.fields.iter().filter(|field| field.required);
        for field in required.filter(|field| node.get(field.name).is_none()) {
            self.missing(field, path, at);
        }
    }

    fn missing(&mut self, field: &Field, path: &FieldPath<'_>, at: Span) {
        self.found.push(missing_field(field.name, path, at));
    }

    /// Checks a value; `at` is where it is set, for values without text.
    pub(super) fn value(&mut self, node: &Node, kind: &FieldType, path: &FieldPath<'_>, at: Span) {
        if node.is_null() {
            return;
        }
        match (kind, &node.kind) {
            (FieldType::Any, _)
            | (FieldType::String | FieldType::IntOrString, Kind::String(_))
            | (FieldType::Bool, Kind::Bool(_))
            | (FieldType::Float, Kind::Number(_))
            | (FieldType::Object, Kind::Map(_)) => {}
            (FieldType::Int32 | FieldType::IntOrString, Kind::Number(number)) => {
                self.integer(
                    node,
                    *number,
                    (i64::from(i32::MIN), i64::from(i32::MAX)),
                    path,
                    at,
                );
            }
            (FieldType::Int64, Kind::Number(number)) => {
                self.integer(node, *number, (i64::MIN, i64::MAX), path, at);
            }
            (FieldType::Quantity, Kind::Number(_)) => {}
            (FieldType::Quantity | FieldType::Time | FieldType::Bytes, Kind::String(text)) => {
                self.decoded(text, kind, path, or_at(node.span, at));
            }
            (FieldType::Enum(values), Kind::String(text)) => {
                if !values.contains(text) && !text.is_empty() {
                    let one = unsupported(text, values, path, or_at(node.span, at));
                    self.found.push(one);
                }
            }
            (FieldType::Map(inner), Kind::Map(entries)) => {
                for entry in entries {
                    self.value(&entry.value, inner, &path.key(&entry.key), entry.key_span);
                }
            }
            (FieldType::List { items, unique }, Kind::Seq(nodes)) => {
                self.list(nodes, items, unique, path, at)
            }
            (FieldType::Definition(number), Kind::Map(_)) => self.definition(node, *number, path, at),
            (FieldType::Either(kinds), _) => self.either(node, kinds, path, at),
            (kind, _) => self.wrong_type(node, name(kind), path, at),
        }
    }

    fn list(&mut self, nodes: &[Node], items: &FieldType, unique: &ListKeys, path: &FieldPath<'_>, at: Span) {
        for (index, node) in nodes.iter().enumerate() {
            let below = path.item(index);
            if node.is_null() {
                let message = format!("expected {}, found nothing", name(items));
                let one = Violation::error(Rule::WrongType, below, or_at(node.span, at), message);
                self.found
                    .push(one.note("a list's item that is null is one with all fields empty"));
                continue;
            }
            self.value(node, items, &below, or_at(node.span, at));
        }
        if let Some((index, keys)) = duplicate(nodes, unique) {
            let span = nodes.get(index).map_or(at, |node| or_at(node.span, at));
            let message = format!("another item of the list has the same {keys}");
            let one = Violation::warning(Rule::DuplicateItem, path.item(index), span, message);
            self.found
                .push(one.note("server-side apply, with which Helm 4 installs, refuses it"));
        }
    }

    fn either(&mut self, node: &Node, kinds: &[FieldType], path: &FieldPath<'_>, at: Span) {
        let fits = |kind: &&FieldType| {
            matches!(
                (kind, &node.kind),
                (FieldType::Bool, Kind::Bool(_))
                    | (FieldType::List { .. }, Kind::Seq(_))
                    | (FieldType::Definition(_) | FieldType::Object, Kind::Map(_))
            )
        };
        match kinds.iter().find(fits) {
            Some(kind) => self.value(node, kind, path, at),
            None => {
                let names: Vec<&str> = kinds.iter().map(name).collect();
                self.wrong_type(node, &names.join(" or "), path, at);
            }
        }
    }

    fn integer(
        &mut self,
        node: &Node,
        number: Number,
        (low, high): (i64, i64),
        path: &FieldPath<'_>,
        at: Span,
    ) {
        match whole(number) {
            None => self.wrong_type(node, "an integer", path, at),
            Some(value) if (i128::from(low)..=i128::from(high)).contains(&value) => {}
            Some(value) => {
                let bits = if high == i64::MAX { 64 } else { 32 };
                let message = format!("{value} does not fit an integer of {bits} bits");
                self.found.push(Violation::error(
                    Rule::WrongType,
                    path,
                    or_at(node.span, at),
                    message,
                ));
            }
        }
    }

    /// Checks a text that API servers decode further.
    fn decoded(&mut self, text: &str, kind: &FieldType, path: &FieldPath<'_>, span: Span) {
        let (known, what, hint) = match kind {
            FieldType::Quantity => (
                is_quantity(text.trim()),
                "a quantity",
                "as in 500m, 0.5, 128Mi or 2Gi",
            ),
            FieldType::Time => (is_time(text), "a time", "as in 2026-01-31T12:00:00Z"),
            _ => (
                is_base64(text),
                "base64",
                "encode it with b64enc, or set stringData, which takes plain text",
            ),
        };
        if known {
            return;
        }
        // What should be base64 may be a secret.
        let message = match kind {
            FieldType::Bytes => format!("the value is not {what}"),
            _ => format!("{text:?} is not {what}"),
        };
        let one = Violation::error(Rule::InvalidValue, path, span, message);
        self.found.push(one.hint(Some(hint.to_owned())));
    }

    fn wrong_type(&mut self, node: &Node, expected: &str, path: &FieldPath<'_>, at: Span) {
        self.found
            .push(wrong_type(node, expected, path, or_at(node.span, at)));
    }
}

/// An integer, if it is one: `1.0` is, as Go's YAML to JSON conversion prints it.
pub(super) fn whole(number: Number) -> Option<i128> {
    match number {
        Number::Int(value) => Some(i128::from(value)),
        Number::Uint(value) => Some(i128::from(value)),
        #[expect(
            clippy::cast_possible_truncation,
            reason = "it has no fraction and is in range"
        )]
        Number::Float(value) => (value.fract() == 0.0 && value.abs() < 1e21).then_some(value as i128),
    }
}

/// A type for messages.
fn name(kind: &FieldType) -> &'static str {
    match kind {
        FieldType::String | FieldType::Enum(_) | FieldType::Bytes | FieldType::Time => "a string",
        FieldType::Int32 | FieldType::Int64 => "an integer",
        FieldType::Float => "a number",
        FieldType::Bool => "a boolean",
        FieldType::Quantity => "a quantity",
        FieldType::IntOrString => "an integer or a string",
        FieldType::Object | FieldType::Definition(_) | FieldType::Map(_) => "a map",
        FieldType::List { .. } => "a list",
        FieldType::Any => "a value",
        FieldType::Either(_) => "one of several types",
    }
}

pub(super) fn wrong_type(node: &Node, expected: &str, path: impl ToString, span: Span) -> Violation {
    let hint = match (&node.kind, expected) {
        (Kind::Bool(_) | Kind::Number(_), "a string") => Some("quote it: `{{ … | quote }}`"),
        (Kind::String(text), "an integer" | "a number") if text.parse::<f64>().is_ok() => {
            Some("leave out the quotes")
        }
        (Kind::String(text), "a boolean") if matches!(text.as_str(), "true" | "false") => {
            Some("leave out the quotes")
        }
        _ => None,
    };
    let found = match &node.kind {
        Kind::Number(number) if expected == "an integer" => format!("the number {number}"),
        _ => node.kind_name().to_owned(),
    };
    let message = format!("expected {expected}, found {found}");
    Violation::error(Rule::WrongType, path, span, message).hint(hint.map(str::to_owned))
}

pub(super) fn missing_field(name: &str, path: &FieldPath<'_>, span: Span) -> Violation {
    let message = format!("the required field `{name}` is missing");
    Violation::error(Rule::MissingField, path.key(name), span, message)
}

pub(super) fn unknown_field<'n>(
    key: &str,
    known: impl Iterator<Item = &'n str>,
    path: impl ToString,
    span: Span,
) -> Violation {
    let near = did_you_mean(key, known).map(|near| format!("did you mean `{near}`?"));
    Violation::error(Rule::UnknownField, path, span, "unknown field").hint(near)
}

pub(super) fn unsupported(text: &str, values: &[String], path: impl ToString, span: Span) -> Violation {
    let near = did_you_mean(text, values.iter().map(String::as_str));
    let near = near.map(|near| format!("did you mean `{near}`?"));
    let shown: Vec<&str> = values.iter().take(SHOWN_VALUES).map(String::as_str).collect();
    let more = if values.len() > SHOWN_VALUES { " …" } else { "" };
    let one = Violation::error(
        Rule::UnsupportedValue,
        path,
        span,
        format!("unsupported value {text:?}"),
    );
    one.note(format!("it can be {}{more}", shown.join(", ")))
        .hint(near)
}

/// The first item that has the keys of an earlier one, and the names of the keys.
fn duplicate(nodes: &[Node], unique: &ListKeys) -> Option<(usize, String)> {
    let keys = match unique {
        ListKeys::None => return None,
        ListKeys::Items => &[][..],
        ListKeys::Fields(keys) => keys,
    };
    let key_of = |node: &Node| -> Option<Vec<String>> {
        match unique {
            ListKeys::Items => Some(vec![node.to_value().to_json()]),
            // Without any of its keys it is wrong for another reason.
            _ if keys.iter().all(|key| node.get(key).is_none()) => None,
            _ => Some(
                keys.iter()
                    .map(|key| match (node.get(key), key.as_str()) {
                        (None, "protocol") => "\"TCP\"".to_owned(),
                        (found, _) => found.map_or(String::new(), |found| found.to_value().to_json()),
                    })
                    .collect(),
            ),
        }
    };
    let mut seen = std::collections::BTreeSet::new();
    let index = nodes
        .iter()
        .position(|node| key_of(node).is_some_and(|key| !seen.insert(key)))?;
    let names = match keys {
        [] => "value".to_owned(),
        keys => keys.join(" and "),
    };
    Some((index, names))
}
