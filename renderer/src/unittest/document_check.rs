//! Checks of documents as a whole, of their order, lengths and raw texts.

use super::assertion::{Assertion, Check, PathText, Pattern};
use super::check::{compared, each, each_holds, message, not, raw};
use super::compare_values::{Holds, decoded, length, order, type_name};
use super::data::written;
use super::documents::Document;
use super::outcome::Failure;
use super::select::SelectedTemplate;
use crate::value::Value;

/// Assertions that are about more than the values of one path, or about their order.
pub(super) fn of_document(check: &Check, document: &Document, negative: bool) -> Vec<Failure> {
    match check {
        Check::Type { path, name } => each(path, document, negative, |found| {
            let own = type_name(found);
            let expected = not("to be of type", negative);
            // Go's names of types are not what one would guess.
            let why = match own {
                "" => expected,
                own if negative || own == name => expected,
                own => format!("{expected}; it is of type '{own}'"),
            };
            ((own == name) == negative).then(|| compared(&why, name.clone(), written(found)))
        }),
        Check::Field { name, of } => field(document, name, of, negative),
        Check::Length {
            paths,
            count,
            mistake,
        } => lengths(paths, *count, *mistake, document, negative),
        Check::AtLeast { path, value } | Check::AtMost { path, value } => {
            let at_least = matches!(check, Check::AtLeast { .. });
            let expected = if at_least {
                "to be greater or equal"
            } else {
                "to be less or equal"
            };
            each_holds(
                path,
                document,
                negative,
                (expected, written(value)),
                |found| match order(found, value) {
                    Err(why) => Holds::Broken(why),
                    Ok(None) => Holds::Broken(format!("values of type '{}' have no order", type_name(found))),
                    // helm-unittest's notGreaterOrEqual holds for all values that can be compared, and suites rely on it.
                    Ok(Some(_)) if at_least && negative => Holds::No,
                    Ok(Some(order)) if at_least => order.is_ge().into(),
                    Ok(Some(order)) => order.is_le().into(),
                },
            )
        }
        Check::EqualRaw(wanted) => raw_check(document, negative, ("to equal", wanted), |found| {
            (*found == Value::from(wanted.as_str())).into()
        }),
        Check::RegexRaw(pattern) => {
            raw_check(
                document,
                negative,
                ("to match", &pattern.text),
                |found| match found {
                    Value::String(text) => regex_holds(text, pattern),
                    _ => regex_holds("<nil>", pattern),
                },
            )
        }
        // Those of values, of whole templates and of snapshots are checked elsewhere.
        _ => Vec::new(),
    }
}

/// `isKind` and `isAPIVersion`.
fn field(document: &Document, name: &str, of: &str, negative: bool) -> Vec<Failure> {
    let found = document
        .value
        .as_map()
        .and_then(|map| map.get(name))
        .cloned()
        .unwrap_or_default();
    let wanted = Value::from(of);
    if (found == wanted) != negative {
        return Vec::new();
    }
    vec![Failure {
        path: name.to_owned(),
        ..compared(&not("to equal", negative), written(&wanted), written(&found))
    }]
}

fn raw_check(
    document: &Document,
    negative: bool,
    (what, expected): (&str, &str),
    holds: impl Fn(&Value) -> Holds,
) -> Vec<Failure> {
    let found = raw(document);
    let failure = |what: &str| {
        compared(
            what,
            expected.to_owned(),
            found.as_str().unwrap_or("<nil>").to_owned(),
        )
    };
    match holds(&found) {
        Holds::Broken(why) => vec![failure(&why)],
        Holds::Yes if !negative => Vec::new(),
        Holds::No if negative => Vec::new(),
        _ => vec![failure(&not(what, negative))],
    }
}

fn regex_holds(text: &str, pattern: &Pattern) -> Holds {
    match &pattern.compiled {
        Ok(regex) => regex.is_match(text).into(),
        Err(why) => Holds::Broken(why.clone()),
    }
}

pub(super) fn matches(value: &Value, pattern: &Pattern, decodes: bool) -> Holds {
    if let Err(why) = &pattern.compiled {
        return Holds::Broken(why.clone());
    }
    match value {
        Value::String(text) if decodes => match decoded(text) {
            Ok(text) => regex_holds(&text, pattern),
            Err(why) => Holds::Broken(why),
        },
        Value::String(text) => regex_holds(text, pattern),
        _ => Holds::Broken("is not a string".to_owned()),
    }
}

/// The text at a path of a document; empty if there is none.
fn text_at(value: &Value, path: &[&str]) -> String {
    let found = path.iter().try_fold(value, |value, key| value.as_map()?.get(key));
    found.and_then(Value::as_str).unwrap_or_default().to_owned()
}

/// Whether a document may be of this kind: one without a kind may be any.
fn may_be(value: &Value, key: &str, expected: &str) -> bool {
    let found = value
        .as_map()
        .and_then(|map| map.get(key))
        .and_then(Value::as_str);
    found.is_none_or(|found| found == expected)
}

pub(super) fn contains_document(assertion: &Assertion, template: &SelectedTemplate<'_>) -> Vec<Failure> {
    let Check::ContainsDocument {
        kind,
        api_version,
        name,
        namespace,
        any,
    } = &assertion.check
    else {
        return Vec::new();
    };
    let fits = |document: &Document| {
        let value = &document.value;
        let is = |expected: &Option<String>, key: &str| {
            expected
                .as_ref()
                .is_none_or(|expected| text_at(value, &["metadata", key]) == *expected)
        };
        may_be(value, "kind", kind)
            && may_be(value, "apiVersion", api_version)
            && is(name, "name")
            && is(namespace, "namespace")
    };
    let mut documents = template.documents.iter().map(|(_, document)| fits(document));
    let holds = match any {
        true => documents.any(|fits| fits),
        false => !template.documents.is_empty() && documents.all(|fits| fits),
    };
    if holds != assertion.is_negative() {
        return Vec::new();
    }
    let of = |wanted: &Option<String>, key: &str| {
        wanted
            .as_ref()
            .map_or(String::new(), |wanted| format!("{key}: {wanted}\n"))
    };
    let expected = format!(
        "kind: {kind}\napiVersion: {api_version}\n{}{}",
        of(name, "name"),
        of(namespace, "namespace")
    );
    let found = template.documents.iter().map(|(_, document)| {
        let value = &document.value;
        format!(
            "{} {}\n",
            text_at(value, &["kind"]),
            text_at(value, &["metadata", "name"])
        )
    });
    let what = match (any, assertion.is_negative()) {
        (true, false) => "expected a document with",
        (true, true) => "expected no document with",
        (false, false) => "expected only documents with",
        (false, true) => "expected another document than those with",
    };
    vec![compared(what, expected, found.collect())]
}

fn lengths(
    paths: &[PathText],
    count: Option<i64>,
    mistake: Option<&str>,
    document: &Document,
    negative: bool,
) -> Vec<Failure> {
    if let Some(mistake) = mistake {
        return vec![message(mistake)];
    }
    let mut found = Vec::new();
    let mut problems = Vec::new();
    for path in paths {
        let mut last = 0;
        problems.extend(each(path, document, negative, |value| {
            last = length(value);
            match count {
                None if !matches!(value, Value::List(_)) => Some(message("is not a list")),
                Some(count) if (last == count) == negative => Some(compared(
                    &not("so many items", negative),
                    count.to_string(),
                    last.to_string(),
                )),
                _ => None,
            }
        }));
        if !found.iter().any(|(known, _)| *known == &path.text) {
            found.push((&path.text, last));
        }
    }
    if problems.is_empty() {
        problems.extend(same_lengths(&mut found, negative));
    }
    problems
}

/// Several lists must have as many items as the first of them, in the order of their paths.
fn same_lengths(found: &mut [(&String, i64)], negative: bool) -> Option<Failure> {
    found.sort();
    let (_, first) = found.first()?;
    let mut others = found.iter().skip(1);
    others.any(|(_, other)| (other == first) == negative).then(|| {
        let counts: Vec<String> = found.iter().map(|(_, count)| count.to_string()).collect();
        compared(
            &not("lists of the same length", negative),
            String::new(),
            counts.join(", "),
        )
    })
}
