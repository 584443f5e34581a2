//! The known values: those that are set, and those that comments or the schema mention.

use std::borrow::Cow;
use std::collections::BTreeSet;

use crate::chart::load::Loaded;
use crate::value::{Map, Value};
use crate::yaml;

/// Names of keys, mostly borrowed from a text.
type Names<'v> = BTreeSet<Cow<'v, str>>;

/// The known values of a chart.
pub(super) struct Known<'v> {
    /// The chart's name in the templates' paths.
    pub(super) chart: String,
    values: &'v Map,
    /// The content of values.yaml, including nulls, which rendering removes from the values.
    defaults: &'v Map,
    /// Keys that comments and the schema name, at any level.
    named: Names<'v>,
    /// Top-level keys that belong to subcharts.
    foreign: BTreeSet<String>,
}

impl<'v> Known<'v> {
    pub(super) fn of(chart: &'v Loaded, values: &'v Map) -> Self {
        let mut named = Names::new();
        if let Some(source) = &chart.values_source {
            for line in source.text().lines() {
                comment(line, &mut named);
            }
        }
        if let Some(schema) = &chart.schema
            && let Ok(schema) = serde_json::from_str(schema.text())
        {
            properties(&schema, 0, &mut named);
        }
        let declared = chart.details.dependencies().iter();
        let mut foreign: BTreeSet<String> = declared
            .flat_map(|one| [one.name.clone(), one.key().to_owned()])
            .collect();
        foreign.extend(chart.dependencies.iter().map(|one| one.name().to_owned()));
        foreign.insert("tags".to_owned());
        Self {
            chart: chart.name().to_owned(),
            values,
            defaults: &chart.values,
            named,
            foreign,
        }
    }

    /// The first unknown key of a path; `None` if all are known, or may be.
    pub(super) fn missing(&self, path: &[&str]) -> Option<usize> {
        let first = path.first()?;
        let mut map = self.values;
        for (at, key) in path.iter().enumerate() {
            match map.get(key) {
                Some(Value::Map(inner)) if !inner.is_empty() => map = inner,
                Some(_) => return None,
                None if has(self.defaults, path.get(..=at)?) => return None,
                None => {
                    // Any value may be given below a foreign key, and below `global`.
                    let given = self.foreign.contains(*first) || (*first == "global" && at > 0);
                    return (!given && !self.named.contains(*key)).then_some(at);
                }
            }
        }
        None
    }
}

fn has(mut map: &Map, path: &[&str]) -> bool {
    let Some((last, parents)) = path.split_last() else {
        return true;
    };
    for key in parents {
        let Some(Value::Map(inner)) = map.get(key) else {
            return false;
        };
        map = inner;
    }
    map.contains_key(last)
}

/// The keys that a comment names: `# key: value`, `# - key:`, and every part of `a.b.c`.
fn comment<'l>(line: &'l str, named: &mut Names<'l>) {
    let Some(at) = line.find('#') else { return };
    let text = line.get(at..).unwrap_or("");
    let is_of_key = |one: char| one.is_alphanumeric() || matches!(one, '_' | '-' | '.' | '[' | ']' | '/');
    let mut start = 0;
    for (end, character) in text.char_indices().chain([(text.len(), ' ')]) {
        if is_of_key(character) {
            continue;
        }
        let word = text.get(start..end).unwrap_or("").trim_matches(['.', '-']);
        start = end + character.len_utf8();
        if word.is_empty() || (character != ':' && !word.contains('.')) {
            continue;
        }
        named.insert(Cow::Borrowed(word));
        let parts = word.split(['.', '[', ']']).filter(|part| !part.is_empty());
        named.extend(parts.map(Cow::Borrowed));
    }
}

/// Every property's name.
fn properties(schema: &serde_json::Value, depth: usize, named: &mut Names<'_>) {
    if depth > yaml::Limits::DEPTH {
        return;
    }
    match schema {
        serde_json::Value::Object(map) => {
            if let Some(serde_json::Value::Object(inner)) = map.get("properties") {
                named.extend(inner.keys().cloned().map(Cow::Owned));
            }
            for value in map.values() {
                properties(value, depth + 1, named);
            }
        }
        serde_json::Value::Array(items) => {
            for item in items {
                properties(item, depth + 1, named);
            }
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comments_name_keys() {
        let mut named = Names::new();
        for line in [
            "# key: value",
            "#   - name: x",
            "a: 1 # see other.part",
            "## @param image.tag [string] the tag",
            "# server.extraArgs -- more",
            "no comment: x",
            "# plain words only",
        ] {
            comment(line, &mut named);
        }
        let known: Vec<&str> = named.iter().map(|name| &**name).collect();
        for wanted in [
            "key",
            "name",
            "other",
            "part",
            "image",
            "tag",
            "server",
            "extraArgs",
        ] {
            assert!(known.contains(&wanted), "{wanted} in {known:?}");
        }
        assert!(!known.contains(&"comment") && !known.contains(&"words"));
    }
}
