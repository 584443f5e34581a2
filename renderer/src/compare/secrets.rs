//! Differences in Secrets, without what they hold.

use std::collections::{BTreeMap, BTreeSet};

use super::documents::Document;
use super::{Difference, DifferenceKind, documents};
use crate::value::Value;

/// What stands for a value.
pub(super) const HIDDEN: &str = "(hidden)";

/// Replaces the values of Secrets' lines. Whether lines are of a Secret is decided by the whole document: `texts` are
/// those that the lines are of, Helm's and ours, of which the documents of the same template count. In doubt a value is
/// hidden.
pub fn hide_secrets(differences: &mut [Difference], texts: &[&str]) {
    let texts: BTreeSet<&str> = texts.iter().copied().collect();
    let mut templates: BTreeMap<&str, Vec<Document<'_>>> = BTreeMap::new();
    for document in texts.into_iter().flat_map(documents) {
        templates.entry(document.source).or_default().push(document);
    }
    let mut known: BTreeMap<String, Option<BTreeSet<String>>> = BTreeMap::new();
    for one in differences {
        let own = templates.get(&*one.source).map(Vec::as_slice).unwrap_or_default();
        let keys = known
            .entry(one.source.clone())
            .or_insert_with(|| secret_keys(own));
        let (Some(keys), true) = (keys, one.kind != DifferenceKind::Blanks) else {
            continue;
        };
        let is_whole = matches!(one.kind, DifferenceKind::OnlyHelm | DifferenceKind::OnlyOurs);
        for line in one.helm.iter_mut().chain(&mut one.ours) {
            *line = without_value(line, keys, is_whole);
        }
    }
}

/// If one of a template's documents is a Secret, the keys of all of them.
fn secret_keys(documents: &[Document<'_>]) -> Option<BTreeSet<String>> {
    let (mut keys, mut found) = (BTreeSet::new(), false);
    for document in documents {
        found |= names_secret(document.text);
        match document.value() {
            Some(value) => found |= collect(&value, &mut keys),
            None => found |= may_be_secret(document.text),
        }
    }
    found.then_some(keys)
}

/// Adds all keys; returns whether there is a Secret, however deep.
fn collect(value: &Value, keys: &mut BTreeSet<String>) -> bool {
    let mut found = false;
    match value {
        Value::Map(map) => {
            for (key, value) in map.iter() {
                let kind = value.as_str().filter(|_| key == "kind");
                found |= matches!(kind.map(str::trim), Some("Secret" | "SecretList"));
                found |= collect(value, keys);
                keys.insert(key.clone());
            }
        }
        Value::List(list) => {
            for value in list {
                found |= collect(value, keys);
            }
        }
        _ => {}
    }
    found
}

/// Of what can't be read: whether it mentions a Secret, or an escaped text, behind a `kind`.
fn may_be_secret(text: &str) -> bool {
    let rest = text.split_once("kind").map(|(_, rest)| rest);
    rest.is_some_and(|rest| rest.contains("Secret") || rest.contains('\\'))
}

/// Whether `kind: Secret` stands in it: also within a text, and before another `kind` of the same object.
pub(crate) fn names_secret(text: &str) -> bool {
    text.match_indices("kind").any(|(at, key)| {
        let rest = text.get(at + key.len()..).unwrap_or_default();
        let rest = rest.trim_start_matches(['"', '\'']).trim_start();
        let value = rest
            .strip_prefix(':')
            .map(|rest| rest.trim_start_matches(['"', '\'', ' ', '\t', '\n', '\r']));
        let rest = value.and_then(|value| value.strip_prefix("Secret"));
        let rest = rest.map(|rest| rest.strip_prefix("List").unwrap_or(rest));
        rest.is_some_and(|rest| !rest.starts_with(|next: char| next.is_ascii_alphanumeric()))
    })
}

/// The line with its key alone, if it begins with one of the known keys. Only keys that are indented once are shown:
/// deeper lines may belong to a text that is a value itself. What a Secret says about itself is shown as far as it is
/// at the top of the document and one word.
fn without_value(line: &str, keys: &BTreeSet<String>, is_whole: bool) -> String {
    const SHOWN: [&str; 4] = ["apiVersion", "kind", "type", "immutable"];
    let is_word = |text: &str| {
        let mut all = text.trim_end().chars();
        all.all(|one| one.is_ascii_alphanumeric() || matches!(one, '.' | '-' | '/'))
    };
    let about = line.split_once(": ").filter(|(key, _)| SHOWN.contains(key));
    if line.trim().is_empty() || about.is_some_and(|(_, value)| is_word(value)) {
        return line.to_owned();
    }
    let blanks = line.len() - line.trim_start().len();
    let (indentation, rest) = line.split_at(blanks);
    let key = rest.split_once(':').filter(|(key, rest)| {
        let bare = key
            .strip_prefix('"')
            .and_then(|key| key.strip_suffix('"'))
            .unwrap_or(key);
        blanks <= 2 && keys.contains(bare) && (rest.is_empty() || rest.starts_with(' '))
    });
    match key {
        Some((key, "")) if is_whole => format!("{indentation}{key}:"),
        Some((key, _)) => format!("{indentation}{key}: {HIDDEN}"),
        None => format!("{indentation}{HIDDEN}"),
    }
}
