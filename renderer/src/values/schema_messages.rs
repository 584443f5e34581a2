//! Helm's messages for violations of a schema, and its formats.

use jsonschema::ValidationError;
use jsonschema::error::{TypeKind, ValidationErrorKind as Kind};
use serde_json::Value as Json;

use crate::template::print::quote;

/// The maximum number of listed violations; the others are counted.
pub const MAX_LISTED: usize = 100;

/// The line about omitted items of a list.
pub(super) fn not_listed(count: usize, what: &str) -> String {
    format!("{count} more {what} are not listed")
}

/// The message of a violation, and its causes (the alternatives of an `anyOf`), one line each.
pub(super) fn words(error: &ValidationError<'_>, values: &Json) -> (String, Vec<String>) {
    let instance = error.instance();
    let mut causes = Vec::new();
    let text = match error.kind() {
        Kind::Type { kind } => format!("got {}, want {}", type_of(instance), wanted(kind)),
        Kind::Enum { options } => enumeration(options),
        Kind::Constant { expected_value } if is_primitive(expected_value) => {
            format!("value must be {}", display(expected_value))
        }
        Kind::Constant { .. } => "'const' failed".to_owned(),
        Kind::AnyOf { context } => {
            causes = alternatives(context, values);
            "'anyOf' failed".to_owned()
        }
        Kind::OneOfNotValid { context } => {
            causes = alternatives(context, values);
            "'oneOf' failed, none matched".to_owned()
        }
        Kind::OneOfMultipleValid { context } => {
            let valid = context.iter().enumerate().filter(|(_, errors)| errors.is_empty());
            let valid: Vec<String> = valid.map(|(index, _)| index.to_string()).take(2).collect();
            format!("'oneOf' failed, subschemas {} matched", valid.join(", "))
        }
        Kind::Not { .. } => "'not' failed".to_owned(),
        Kind::FalseSchema | Kind::AdditionalProperties { .. } => {
            let names = additional(error, values);
            if names.is_empty() {
                "false schema".to_owned()
            } else {
                format!("additional properties {} not allowed", list(&names))
            }
        }
        Kind::AdditionalItems { limit } => {
            let extra = instance.as_array().map_or(0, Vec::len).saturating_sub(*limit);
            format!("last {extra} additionalItem(s) not allowed")
        }
        Kind::Required { property } => format!("missing property {}", display(property)),
        Kind::PropertyNames { error } => {
            causes = vec![format!("at '': {}", words(error, values).0)];
            format!("invalid propertyName {}", display(error.instance()))
        }
        Kind::UniqueItems => duplicates(instance),
        Kind::Contains => "no items match contains schema".to_owned(),
        Kind::Pattern { pattern } => {
            format!("{} does not match pattern {}", display(instance), quoted(pattern))
        }
        // From our keyword for patterns.
        Kind::Custom { message, .. } => message.clone(),
        Kind::Format { format } => format!("{} is not valid {format}", display(instance)),
        other => bounds(other, instance).unwrap_or_else(|| error.to_string()),
    };
    (text, causes)
}

/// The properties that a map may not have.
pub(super) fn additional(error: &ValidationError<'_>, values: &Json) -> Vec<String> {
    match error.kind() {
        Kind::AdditionalProperties { unexpected } => unexpected.clone(),
        // The library reports additional properties this way if a schema has no others.
        Kind::FalseSchema if error.schema_path().as_str().ends_with("/additionalProperties") => {
            let map = values.pointer(error.instance_path().as_str());
            let map = map.and_then(Json::as_object);
            map.into_iter().flat_map(|map| map.keys().cloned()).collect()
        }
        _ => Vec::new(),
    }
}

/// Messages about limits of sizes and numbers: the actual value, and the limit.
fn bounds(kind: &Kind, instance: &Json) -> Option<String> {
    let size = match instance {
        Json::Array(items) => items.len(),
        Json::Object(entries) => entries.len(),
        Json::String(text) => text.chars().count(),
        _ => 0,
    };
    let sized = |name: &str, limit: u64| {
        let got = grouped(&size.to_string());
        Some(format!("{name}: got {got}, want {}", grouped(&limit.to_string())))
    };
    let valued = |name: &str, limit: &Json| {
        Some(format!(
            "{name}: got {}, want {}",
            number(instance),
            number(limit)
        ))
    };
    match kind {
        Kind::MinLength { limit } => sized("minLength", *limit),
        Kind::MaxLength { limit } => sized("maxLength", *limit),
        Kind::MinItems { limit } => sized("minItems", *limit),
        Kind::MaxItems { limit } => sized("maxItems", *limit),
        Kind::MinProperties { limit } => sized("minProperties", *limit),
        Kind::MaxProperties { limit } => sized("maxProperties", *limit),
        Kind::Minimum { limit } => valued("minimum", limit),
        Kind::Maximum { limit } => valued("maximum", limit),
        Kind::ExclusiveMinimum { limit } => valued("exclusiveMinimum", limit),
        Kind::ExclusiveMaximum { limit } => valued("exclusiveMaximum", limit),
        Kind::MultipleOf { multiple_of } => valued("multipleOf", &Json::from(*multiple_of)),
        _ => None,
    }
}

fn alternatives(context: &[Vec<ValidationError<'static>>], values: &Json) -> Vec<String> {
    let all = context.iter().flatten();
    let listed = all.clone().take(MAX_LISTED);
    let listed = listed.map(|error| {
        format!(
            "at {}: {}",
            quoted(error.instance_path().as_str()),
            words(error, values).0
        )
    });
    let more = all.count().saturating_sub(MAX_LISTED);
    listed
        .chain((more > 0).then(|| not_listed(more, "causes")))
        .collect()
}

fn enumeration(options: &Json) -> String {
    let options = options.as_array().map_or(&[] as &[Json], Vec::as_slice);
    let shown: Vec<String> = options.iter().map(display).collect();
    match shown.as_slice() {
        _ if !options.iter().all(is_primitive) => "'enum' failed".to_owned(),
        [one] => format!("value must be {one}"),
        many => format!("value must be one of {}", many.join(", ")),
    }
}

fn duplicates(instance: &Json) -> String {
    let items = instance.as_array().map_or(&[] as &[Json], Vec::as_slice);
    let equal = items.iter().enumerate().find_map(|(second, item)| {
        let first = items.iter().take(second).position(|other| other == item)?;
        Some((first, second))
    });
    let (first, second) = equal.unwrap_or_default();
    format!("items at {first} and {second} are equal")
}

fn wanted(kind: &TypeKind) -> String {
    match kind {
        TypeKind::Single(one) => one.to_string(),
        TypeKind::Multiple(set) => {
            let names: Vec<String> = set.iter().map(|one| one.to_string()).collect();
            names.join(" or ")
        }
    }
}

fn type_of(value: &Json) -> &'static str {
    match value {
        Json::Null => "null",
        Json::Bool(_) => "boolean",
        Json::Number(_) => "number",
        Json::String(_) => "string",
        Json::Array(_) => "array",
        Json::Object(_) => "object",
    }
}

fn is_primitive(value: &Json) -> bool {
    !matches!(value, Json::Array(_) | Json::Object(_))
}

fn display(value: &Json) -> String {
    match value {
        Json::String(text) => quoted(text),
        Json::Null => "<nil>".to_owned(),
        Json::Array(_) | Json::Object(_) => "value".to_owned(),
        other => other.to_string(),
    }
}

/// A text as Helm's validator quotes it.
pub(super) fn quoted(text: &str) -> String {
    let text = quote(text).replace("\\\"", "\"").replace('\'', "\\'");
    let inner = text.strip_prefix('"').and_then(|text| text.strip_suffix('"'));
    format!("'{}'", inner.unwrap_or(&text))
}

fn list(names: &[String]) -> String {
    let names: Vec<String> = names.iter().map(|name| quoted(name)).collect();
    names.join(", ")
}

fn number(value: &Json) -> String {
    let text = value.to_string();
    grouped(text.strip_suffix(".0").unwrap_or(&text))
}

/// A number with commas between thousands, as Go's English printer formats it.
fn grouped(text: &str) -> String {
    let (sign, digits) = text.strip_prefix('-').map_or(("", text), |digits| ("-", digits));
    let (whole, rest) = digits.find('.').map_or((digits, ""), |at| digits.split_at(at));
    if !whole.bytes().all(|byte| byte.is_ascii_digit()) {
        return text.to_owned();
    }
    let mut out = String::from(sign);
    for (index, digit) in whole.chars().enumerate() {
        if index > 0 && (whole.len() - index).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out + rest
}

/// As Helm's validator checks `format: uuid`.
pub(super) fn is_uuid(text: &str) -> bool {
    let groups: Vec<&str> = text.split('-').collect();
    let sizes = [8, 4, 4, 4, 12];
    let fits = |(group, size): (&&str, usize)| {
        group.len() == size && group.bytes().all(|byte| byte.is_ascii_hexdigit())
    };
    groups.len() == sizes.len() && groups.iter().zip(sizes).all(fits)
}

/// As Helm's validator checks `format: duration`: ISO 8601.
pub(super) fn is_duration(text: &str) -> bool {
    let Some(rest) = text.strip_prefix('P').filter(|rest| !rest.is_empty()) else {
        return false;
    };
    if let Some(weeks) = rest.strip_suffix('W') {
        return !weeks.is_empty() && weeks.bytes().all(|byte| byte.is_ascii_digit());
    }
    let mut parts = rest.split('T');
    let date = parts.next().unwrap_or_default();
    let time = parts.next();
    let in_order = |part: &str, units: &str| {
        let mut units = units.chars();
        part.split_inclusive(|one: char| !one.is_ascii_digit())
            .all(|piece| {
                let digits = piece.trim_end_matches(|one: char| !one.is_ascii_digit());
                let unit = piece.get(digits.len()..).and_then(|unit| unit.chars().next());
                !digits.is_empty() && unit.is_some_and(|unit| units.any(|one| one == unit))
            })
    };
    parts.next().is_none()
        && in_order(date, "YMD")
        && time.is_none_or(|time| !time.is_empty() && in_order(time, "HMS"))
}

/// As Helm's validator checks `format: semver`.
pub(super) fn is_semver(text: &str) -> bool {
    let is_name = |name: &str| {
        !name.is_empty()
            && name
                .bytes()
                .all(|byte| byte.is_ascii_alphanumeric() || byte == b'-')
    };
    let is_number = |digits: &str| {
        !digits.is_empty()
            && digits.bytes().all(|byte| byte.is_ascii_digit())
            && (digits.len() == 1 || !digits.starts_with('0'))
    };
    let (text, build) = text.split_once('+').map_or((text, None), |(a, b)| (a, Some(b)));
    let (core, pre) = text.split_once('-').map_or((text, None), |(a, b)| (a, Some(b)));
    let is_pre =
        |name: &str| is_name(name) && (is_number(name) || !name.bytes().all(|byte| byte.is_ascii_digit()));
    build.is_none_or(|build| build.split('.').all(is_name))
        && pre.is_none_or(|pre| pre.split('.').all(is_pre))
        && core.split('.').count() == 3
        && core.split('.').all(is_number)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn formats_are_those_of_helms_validator() {
        for good in ["P1Y2M3DT4H5M6S", "PT1M", "P3W", "P1D"] {
            assert!(is_duration(good), "{good}");
        }
        for bad in [
            "",
            "P",
            "1D",
            "PT",
            "P1",
            "P1M1Y",
            "PW",
            "P1DT",
            "P1DT1HT1M",
            "PD",
            "P1H",
        ] {
            assert!(!is_duration(bad), "{bad}");
        }
        for good in ["1.2.3", "0.0.0-a.1+b.01", "1.0.0--"] {
            assert!(is_semver(good), "{good}");
        }
        for bad in [
            "1.2",
            "01.2.3",
            "1.2.3-",
            "1.2.3-01",
            "1.2.3+",
            "v1.2.3",
            "1.2.3-a_b",
        ] {
            assert!(!is_semver(bad), "{bad}");
        }
        assert!(is_uuid("123e4567-E89B-12d3-a456-426614174000"));
        assert!(!is_uuid("123e4567e89b12d3a456426614174000"));
    }

    #[test]
    fn numbers_are_grouped_in_the_english_way() {
        for (text, expected) in [("1", "1"), ("1000", "1,000"), ("-1234567.5", "-1,234,567.5")] {
            assert_eq!(grouped(text), expected);
        }
    }
}
