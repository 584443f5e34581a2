//! A JSON object whose entries can be changed while all others are kept: in their order, and each value byte for byte.

use std::fmt;

use serde::Deserialize;
use serde::de::{Deserializer, MapAccess, Visitor};
use serde_json::value::RawValue;

/// The entries of an object.
#[derive(Default)]
pub(in crate::oci) struct Entries(Vec<(String, Box<RawValue>)>);

impl Entries {
    /// Parses an object. `Err` has the position and never quotes the text, which contains secrets.
    pub(in crate::oci) fn parse(text: &[u8]) -> Result<Self, String> {
        serde_json::from_slice(text)
            .map_err(|error| format!("line {}, column {}", error.line(), error.column()))
    }

    /// An entry's value as JSON; of several with that name the last, as in other readers.
    pub(in crate::oci) fn get(&self, name: &str) -> Option<&str> {
        let found = self.0.iter().rev().find(|(known, _)| known == name);
        found.map(|(_, value)| value.get())
    }

    /// All entries.
    pub(in crate::oci) fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        self.0.iter().map(|(name, value)| (name.as_str(), value.get()))
    }

    /// Sets an entry, at its position if it exists. Invalid JSON is ignored.
    pub(in crate::oci) fn put(&mut self, name: &str, json: &str) {
        let Ok(value) = RawValue::from_string(json.to_owned()) else {
            return;
        };
        match self.0.iter_mut().rev().find(|(known, _)| known == name) {
            Some(entry) => entry.1 = value,
            None => self.0.push((name.to_owned(), value)),
        }
    }

    /// Removes entries; returns whether there were any.
    pub(in crate::oci) fn remove(&mut self, is_meant: impl Fn(&str) -> bool) -> bool {
        let before = self.0.len();
        self.0.retain(|(name, _)| !is_meant(name));
        self.0.len() < before
    }

    /// Formats the object as Docker does: a tab for each level.
    pub(in crate::oci) fn to_text(&self, depth: usize) -> String {
        if self.0.is_empty() {
            return "{}".to_owned();
        }
        let indent = "\t".repeat(depth + 1);
        let lines: Vec<String> = self
            .0
            .iter()
            .map(|(name, value)| format!("{indent}{}: {}", serde_json::json!(name), value.get()))
            .collect();
        format!("{{\n{}\n{}}}", lines.join(",\n"), "\t".repeat(depth))
    }
}

impl<'de> Deserialize<'de> for Entries {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct EntriesVisitor;
        impl<'de> Visitor<'de> for EntriesVisitor {
            type Value = Entries;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }
            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Entries, A::Error> {
                let mut list = Vec::new();
                while let Some(entry) = map.next_entry()? {
                    list.push(entry);
                }
                Ok(Entries(list))
            }
        }
        deserializer.deserialize_map(EntriesVisitor)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unchanged_entries_are_kept_byte_for_byte() {
        let text = "{\"z\": 1.00, \"auths\": {\"a\" : {} },\"b\":[ 1e2 ]}";
        let mut entries = Entries::parse(text.as_bytes()).unwrap();
        entries.put("auths", "{}");
        entries.put("new", "true");
        assert_eq!(
            entries.to_text(0),
            "{\n\t\"z\": 1.00,\n\t\"auths\": {},\n\t\"b\": [ 1e2 ],\n\t\"new\": true\n}"
        );
        assert!(entries.remove(|name| name == "z"));
        assert!(!entries.remove(|name| name == "z"));
        assert_eq!(Entries::default().to_text(0), "{}");
    }

    #[test]
    fn text_that_is_no_object_is_refused_without_being_quoted() {
        for text in ["[\"hunter2\"]", "{\"a\": hunter2}", "", "{\"hunter2\""] {
            let words = Entries::parse(text.as_bytes()).err().unwrap();
            assert!(!words.contains("hunter2"), "{words}");
        }
    }
}
