//! The head of a manifest: the few fields that Helm reads.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::diag::{Class, Diagnostic, Result};
use crate::source::{Location, Source};
use crate::yaml::{self, Entry, Kind, Node};

/// The fields that Helm reads.
#[derive(Debug, Default)]
pub(super) struct Head {
    pub(super) api_version: String,
    pub(super) kind: String,
    pub(super) name: String,
    pub(super) annotations: BTreeMap<String, String>,
}

/// The keys of the head, in lower case.
const KEYS: [&str; 3] = ["apiversion", "kind", "metadata"];

impl Head {
    /// The head of a document.
    ///
    /// # Errors
    /// The document is not YAML, or its head has fields of wrong types.
    pub(super) fn read(text: &Arc<Source>) -> Result<Self> {
        if let Some(head) = Self::read_alone(text) {
            return Ok(head);
        }
        let node = yaml::parse(text, Class::Template, &yaml::Limits::default())?;
        Self::of(&node, text)
    }

    /// As [`Head::read`], but only parses the head if the document is simple enough.
    fn read_alone(text: &Arc<Source>) -> Option<Self> {
        let is_wanted = |key: &str| KEYS.iter().any(|known| key.eq_ignore_ascii_case(known));
        let lines = yaml::pick(text.text(), is_wanted)?;
        let head = Source::new("", lines);
        let node = yaml::parse(&head, Class::Template, &yaml::Limits::default()).ok()?;
        Self::of(&node, &head).ok()
    }

    /// Decodes like Go's decoder: names in any case, null keeps the previous value, and numbers and booleans become
    /// strings.
    pub(super) fn of(node: &Node, source: &Arc<Source>) -> Result<Self> {
        let mut head = Self::default();
        let reader = HeadReader { source };
        if !node.is_null() && !matches!(node.kind, Kind::Map(_)) {
            return Err(reader.refuse(node, "value", "util.SimpleHead"));
        }
        for entry in sorted(node) {
            match entry.key.to_ascii_lowercase().as_str() {
                "apiversion" => reader.text(&entry.value, "SimpleHead.apiVersion", &mut head.api_version)?,
                "kind" => reader.text(&entry.value, "SimpleHead.kind", &mut head.kind)?,
                "metadata" => reader.metadata(&entry.value, &mut head)?,
                _ => {}
            }
        }
        Ok(head)
    }
}

/// Go decodes the keys of a map in sorted order, and of those that differ only in case the last wins.
fn sorted(node: &Node) -> Vec<&Entry> {
    let mut entries: Vec<&Entry> = node.entries().iter().collect();
    entries.sort_by(|a, b| a.key.cmp(&b.key));
    entries
}

struct HeadReader<'s> {
    source: &'s Arc<Source>,
}

impl HeadReader<'_> {
    fn metadata(&self, node: &Node, head: &mut Head) -> Result<()> {
        if !node.is_null() && !matches!(node.kind, Kind::Map(_)) {
            let wanted = "struct { Name string \"json:\\\"name\\\"\"; Annotations map[string]string \
                          \"json:\\\"annotations\\\"\" }";
            return Err(self.refuse(node, "struct field SimpleHead.metadata", wanted));
        }
        for entry in sorted(node) {
            match entry.key.to_ascii_lowercase().as_str() {
                "name" => self.text(&entry.value, ".metadata.name", &mut head.name)?,
                "annotations" => self.annotations(&entry.value, head)?,
                _ => {}
            }
        }
        Ok(())
    }

    fn annotations(&self, node: &Node, head: &mut Head) -> Result<()> {
        if node.is_null() {
            return Ok(());
        }
        if !matches!(node.kind, Kind::Map(_)) {
            return Err(self.refuse(node, "struct field .metadata.annotations", "map[string]string"));
        }
        for entry in node.entries() {
            let mut text = String::new();
            self.text(&entry.value, ".metadata.annotations", &mut text)?;
            head.annotations.insert(entry.key.clone(), text);
        }
        Ok(())
    }

    fn text(&self, node: &Node, field: &str, text: &mut String) -> Result<()> {
        match &node.kind {
            Kind::Null => {}
            Kind::String(value) => text.clone_from(value),
            Kind::Bool(value) => *text = value.to_string(),
            Kind::Number(value) => *text = value.to_string(),
            Kind::Seq(_) | Kind::Map(_) => {
                return Err(self.refuse(node, &format!("struct field {field}"), "string"));
            }
        }
        Ok(())
    }

    fn refuse(&self, node: &Node, what: &str, wanted: &str) -> crate::diag::Diagnostics {
        let found = match node.kind {
            Kind::Null => "null",
            Kind::Bool(_) => "bool",
            Kind::Number(_) => "number",
            Kind::String(_) => "string",
            Kind::Seq(_) => "array",
            Kind::Map(_) => "object",
        };
        let message = format!(
            "error unmarshaling JSON: while decoding JSON: json: cannot unmarshal {found} into Go {what} of type \
             {wanted}"
        );
        Diagnostic::error(Class::Template, message)
            .at(Location::new(self.source, node.span))
            .into()
    }
}
