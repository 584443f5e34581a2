//! The structural schema of a CRD's version, decoded from its YAML.
//!
//! Keywords that a structural schema can't have are ignored, as API servers refuse such CRDs. CEL
//! (`x-kubernetes-validations`) is not run.

use std::collections::BTreeMap;
use std::sync::OnceLock;

use regex::{Regex, RegexBuilder};

use super::types::ListKeys;
use crate::value::{Number, Value};
use crate::yaml::{Kind, Node};

/// The largest compiled expression of a `pattern`, in bytes; larger ones are not checked.
const MAX_PATTERN: usize = 1 << 20;

/// A schema.
#[derive(Debug, Default)]
pub(super) struct Structural {
    /// `type`
    pub(super) kind: Option<String>,
    pub(super) properties: BTreeMap<String, Structural>,
    pub(super) additional: Additional,
    pub(super) items: Option<Box<Structural>>,
    pub(super) required: Vec<String>,
    /// `x-kubernetes-preserve-unknown-fields`
    pub(super) preserves: bool,
    /// `x-kubernetes-int-or-string`
    pub(super) int_or_string: bool,
    /// `x-kubernetes-embedded-resource`
    pub(super) embedded: bool,
    pub(super) nullable: bool,
    pub(super) unique: UniqueItems,
    pub(super) values: ValueRules,
}

/// `additionalProperties`
#[derive(Debug, Default)]
pub(super) enum Additional {
    #[default]
    None,
    Any,
    Schema(Box<Structural>),
}

/// What must be unique in a list.
#[derive(Debug)]
pub(super) struct UniqueItems(pub(super) ListKeys);

impl Default for UniqueItems {
    fn default() -> Self {
        Self(ListKeys::None)
    }
}

/// What limits a value beyond its type.
#[derive(Debug, Default)]
pub(super) struct ValueRules {
    pub(super) allowed: Vec<Value>,
    pub(super) format: Option<String>,
    pub(super) pattern: Option<Pattern>,
    /// The least number, and whether it is excluded.
    pub(super) minimum: Option<(Number, bool)>,
    pub(super) maximum: Option<(Number, bool)>,
    pub(super) multiple_of: Option<f64>,
    pub(super) length: (Option<usize>, Option<usize>),
    pub(super) items: (Option<usize>, Option<usize>),
    pub(super) properties: (Option<usize>, Option<usize>),
    pub(super) unique: bool,
    pub(super) all_of: Vec<Structural>,
    pub(super) any_of: Vec<Structural>,
    pub(super) one_of: Vec<Structural>,
    pub(super) not: Option<Box<Structural>>,
}

/// An expression, compiled on first use.
#[derive(Debug)]
pub(super) struct Pattern {
    pub(super) text: String,
    compiled: OnceLock<Option<Regex>>,
}

impl Pattern {
    /// Whether it matches; one that can't be compiled matches everything.
    pub(super) fn matches(&self, text: &str) -> bool {
        let compiled = self.compiled.get_or_init(|| {
            let mut builder = RegexBuilder::new(&self.text);
            builder.size_limit(MAX_PATTERN).build().ok()
        });
        compiled.as_ref().is_none_or(|regex| regex.is_match(text))
    }
}

impl Structural {
    /// The schema of `openAPIV3Schema`; the reader of YAML limits its depth.
    pub(super) fn read(node: &Node) -> Self {
        let flag = |name: &str| matches!(node.get(name).map(|node| &node.kind), Some(Kind::Bool(true)));
        let text = |name: &str| node.get(name).and_then(Node::as_str).map(str::to_owned);
        let texts = |name: &str| {
            let items = node.get(name).map(Node::items).unwrap_or_default().iter();
            items.filter_map(Node::as_str).map(str::to_owned).collect()
        };
        let properties = node.get("properties").map(Node::entries).unwrap_or_default();
        let unique = match node.get("x-kubernetes-list-type").and_then(Node::as_str) {
            Some("set") => ListKeys::Items,
            Some("map") => ListKeys::Fields(texts("x-kubernetes-list-map-keys")),
            _ => ListKeys::None,
        };
        Self {
            kind: text("type"),
            properties: properties
                .iter()
                .map(|entry| (entry.key.clone(), Self::read(&entry.value)))
                .collect(),
            additional: match node.get("additionalProperties") {
                Some(inner) if matches!(inner.kind, Kind::Map(_)) => {
                    Additional::Schema(Box::new(Self::read(inner)))
                }
                Some(inner) if matches!(inner.kind, Kind::Bool(true)) => Additional::Any,
                _ => Additional::None,
            },
            items: node.get("items").map(|items| Box::new(Self::read(items))),
            required: texts("required"),
            preserves: flag("x-kubernetes-preserve-unknown-fields"),
            int_or_string: flag("x-kubernetes-int-or-string"),
            embedded: flag("x-kubernetes-embedded-resource"),
            nullable: flag("nullable"),
            unique: UniqueItems(unique),
            values: ValueRules::read(node),
        }
    }
}

impl ValueRules {
    fn read(node: &Node) -> Self {
        let number = |name: &str| match node.get(name).map(|node| &node.kind) {
            Some(Kind::Number(number)) => Some(*number),
            _ => None,
        };
        let flag = |name: &str| matches!(node.get(name).map(|node| &node.kind), Some(Kind::Bool(true)));
        let size = |name: &str| match number(name) {
            Some(Number::Int(value)) => usize::try_from(value).ok(),
            _ => None,
        };
        let sizes = |least: &str, most: &str| (size(least), size(most));
        let all = |name: &str| {
            let items = node.get(name).map(Node::items).unwrap_or_default().iter();
            items.map(Structural::read).collect()
        };
        let allowed = node.get("enum").map(Node::items).unwrap_or_default();
        let pattern = node.get("pattern").and_then(Node::as_str);
        Self {
            allowed: allowed.iter().map(Node::to_value).collect(),
            format: node.get("format").and_then(Node::as_str).map(str::to_owned),
            pattern: pattern.map(|text| Pattern {
                text: text.to_owned(),
                compiled: OnceLock::new(),
            }),
            minimum: number("minimum").map(|least| (least, flag("exclusiveMinimum"))),
            maximum: number("maximum").map(|most| (most, flag("exclusiveMaximum"))),
            multiple_of: number("multipleOf").map(as_float),
            length: sizes("minLength", "maxLength"),
            items: sizes("minItems", "maxItems"),
            properties: sizes("minProperties", "maxProperties"),
            unique: flag("uniqueItems"),
            all_of: all("allOf"),
            any_of: all("anyOf"),
            one_of: all("oneOf"),
            not: node.get("not").map(|not| Box::new(Structural::read(not))),
        }
    }
}

/// A number as a float, which is what limits are compared with.
pub(super) fn as_float(number: Number) -> f64 {
    #[expect(clippy::cast_precision_loss, reason = "as Go's validation compares them")]
    match number {
        Number::Int(value) => value as f64,
        Number::Uint(value) => value as f64,
        Number::Float(value) => value,
    }
}
