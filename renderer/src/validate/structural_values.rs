//! The limits of values in CRDs: enums, patterns, formats, ranges, and their combinations.

use super::check::unsupported;
use super::finding::{Rule, Violation};
use super::formats::has_format;
use super::path::FieldPath;
use super::structural::{Structural, ValueRules, as_float};
use super::structural_check::is_of_type;
use crate::source::Span;
use crate::value::Number;
use crate::yaml::{Kind, Node};

/// Checks what limits a value beyond its type. Formats of numbers are those that API servers check.
pub(super) fn check_values(
    node: &Node,
    schema: &Structural,
    path: &FieldPath<'_>,
    span: Span,
    found: &mut Vec<Violation>,
) {
    let rules = &schema.values;
    let mut report = |message: String| found.push(Violation::error(Rule::InvalidValue, path, span, message));
    match &node.kind {
        Kind::String(text) => of_text(text, rules, &mut report),
        Kind::Number(number) => of_number(*number, rules, &mut report),
        Kind::Seq(items) => {
            size("items", items.len(), rules.items, &mut report);
            let values: Vec<String> = items.iter().map(|item| item.to_value().to_json()).collect();
            let is_again =
                |(index, value): (usize, &String)| values.iter().take(index).any(|one| one == value);
            if rules.unique && values.iter().enumerate().any(is_again) {
                report("the items are not unique".to_owned());
            }
        }
        Kind::Map(entries) => size("fields", entries.len(), rules.properties, &mut report),
        Kind::Null | Kind::Bool(_) => {}
    }
    if rules.any_of.iter().all(|one| !fits(node, one)) && !rules.any_of.is_empty() {
        report("the value fits none of the schemas of anyOf".to_owned());
    }
    if !rules.one_of.is_empty() {
        match rules.one_of.iter().filter(|one| fits(node, one)).count() {
            1 => {}
            0 => report("the value fits none of the schemas of oneOf".to_owned()),
            _ => report("the value fits several schemas of oneOf".to_owned()),
        }
    }
    if rules.not.as_ref().is_some_and(|not| fits(node, not)) {
        report("the value fits the schema of not".to_owned());
    }
    for one in &rules.all_of {
        parts(node, one, path, span, found);
    }
    let value = node.to_value();
    if !rules.allowed.is_empty() && !rules.allowed.contains(&value) {
        let texts: Vec<String> = rules
            .allowed
            .iter()
            .map(|value| value.as_str().map_or_else(|| value.to_json(), str::to_owned))
            .collect();
        let text = value.as_str().map_or_else(|| value.to_json(), str::to_owned);
        found.push(unsupported(&text, &texts, path, span));
    }
}

/// A schema of `allOf` and its like, where no field is unknown.
fn parts(node: &Node, schema: &Structural, path: &FieldPath<'_>, span: Span, found: &mut Vec<Violation>) {
    if !is_of_type(node, schema) {
        let message = "the value has not the type of a schema of allOf";
        found.push(Violation::error(Rule::WrongType, path, span, message));
        return;
    }
    check_values(node, schema, path, span, found);
    for name in schema
        .required
        .iter()
        .filter(|_| matches!(node.kind, Kind::Map(_)))
    {
        if node.get(name).is_none_or(Node::is_null) {
            found.push(super::check::missing_field(name, path, span));
        }
    }
    for entry in node.entries().iter().filter(|entry| !entry.value.is_null()) {
        if let Some(inner) = schema.properties.get(&entry.key) {
            parts(
                &entry.value,
                inner,
                &path.key(&entry.key),
                entry.value.span,
                found,
            );
        }
    }
    if let Some(inner) = &schema.items {
        for (index, item) in node.items().iter().enumerate() {
            parts(item, inner, &path.item(index), item.span, found);
        }
    }
}

fn fits(node: &Node, schema: &Structural) -> bool {
    let mut found = Vec::new();
    parts(node, schema, &FieldPath::Root, node.span, &mut found);
    found.is_empty()
}

fn of_text(text: &str, rules: &ValueRules, report: &mut impl FnMut(String)) {
    size("characters", text.chars().count(), rules.length, report);
    if let Some(pattern) = rules.pattern.as_ref().filter(|pattern| !pattern.matches(text)) {
        report(format!("{text:?} does not match the pattern {:?}", pattern.text));
    }
    if let Some(format) = rules.format.as_ref().filter(|format| !has_format(format, text)) {
        report(format!("{text:?} has not the format {format}"));
    }
}

fn of_number(number: Number, rules: &ValueRules, report: &mut impl FnMut(String)) {
    let value = as_float(number);
    if let Some((least, exclusive)) = rules.minimum {
        let limit = as_float(least);
        if value < limit || exclusive && value <= limit {
            let than = if exclusive { "more than" } else { "at least" };
            report(format!("{number} is not {than} {least}"));
        }
    }
    if let Some((most, exclusive)) = rules.maximum {
        let limit = as_float(most);
        if value > limit || exclusive && value >= limit {
            let than = if exclusive { "less than" } else { "at most" };
            report(format!("{number} is not {than} {most}"));
        }
    }
    if let Some(step) = rules.multiple_of.filter(|step| *step != 0.0)
        && (value / step).fract() != 0.0
    {
        report(format!("{number} is not a multiple of {step}"));
    }
    if rules.format.as_deref() == Some("int32") && !(-2_147_483_648.0..=2_147_483_647.0).contains(&value) {
        report(format!("{number} does not fit an integer of 32 bits"));
    }
}

fn size(
    what: &str,
    count: usize,
    (least, most): (Option<usize>, Option<usize>),
    report: &mut impl FnMut(String),
) {
    if let Some(least) = least.filter(|least| count < *least) {
        report(format!("it has {count} {what}, and {least} are the least"));
    }
    if let Some(most) = most.filter(|most| count > *most) {
        report(format!("it has {count} {what}, and {most} are the most"));
    }
}
