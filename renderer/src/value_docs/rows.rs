//! The rows of the table of values: [`rows`].
//!
//! Leaves have a row: scalars, and empty lists and maps. Others have one if a comment describes them, and then what is
//! below them only if it has a comment of its own.

use std::collections::BTreeMap;

use super::comment::Description;
use super::values::{Content, Values};
use super::{Options, Order};
use crate::diag::Result;
use crate::source::Span;
use crate::value::Value;
use crate::yaml::ScalarType;

/// A row. The names are those that templates use.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Row {
    pub(super) key: String,
    pub(super) value_type: String,
    pub(super) notation_type: String,
    pub(super) auto_default: String,
    pub(super) default: String,
    pub(super) auto_description: String,
    pub(super) description: String,
    pub(super) section: String,
    pub(super) column: usize,
    pub(super) line: usize,
    pub(super) dependency: String,
    pub(super) is_global: bool,
}

/// The rows of a values file, in their order; `named` are the descriptions that comments have by key.
pub(super) fn rows(
    values: Values<'_>,
    named: &BTreeMap<String, Description>,
    options: &Options,
) -> Result<Vec<Row>> {
    let mut collector = Collector {
        values,
        named,
        rows: Vec::new(),
    };
    let root = collector.values.document.root();
    match collector.values.content(root, 0)? {
        Content::Entries(entries) => collector.entries("", entries, false, 0)?,
        _ => {
            let span = collector
                .values
                .node(root)
                .map_or(Span::default(), |node| node.span);
            return Err(collector.values.error(span, "values must be a map").into());
        }
    }
    let mut rows = collector.rows;
    if options.only_described {
        rows.retain(|row| !row.description.is_empty() || !row.auto_description.is_empty());
    }
    match options.order {
        Order::Alphanum => rows.sort_by(|a, b| a.key.cmp(&b.key)),
        Order::File => rows.sort_by_key(|row| (row.line, row.column)),
    }
    Ok(rows)
}

struct Collector<'v> {
    values: Values<'v>,
    named: &'v BTreeMap<String, Description>,
    rows: Vec<Row>,
}

/// A value with its name, where it is, and what comments say about it.
struct Described<'v> {
    key: String,
    value: usize,
    place: Span,
    own: Description,
    named: Option<&'v Description>,
}

impl Described<'_> {
    fn has_description(&self) -> bool {
        self.named.is_some() || !self.own.text.is_empty()
    }

    /// What either comment says; the one that names the key counts more.
    fn either(&self, part: fn(&Description) -> &String) -> &str {
        let named = self.named.map(|named| part(named).as_str()).unwrap_or_default();
        if named.is_empty() { part(&self.own) } else { named }
    }
}

impl<'v> Collector<'v> {
    fn entries(
        &mut self,
        path: &str,
        entries: Vec<(usize, usize)>,
        is_described: bool,
        depth: usize,
    ) -> Result<()> {
        for (key, value) in entries {
            let name = quoted(self.values.key(key));
            let path = if path.is_empty() {
                name
            } else {
                format!("{path}.{name}")
            };
            self.value(path, key, value, is_described, depth + 1)?;
        }
        Ok(())
    }

    /// A value; `owner` is what has its comment: its key, or itself if it is an item.
    fn value(
        &mut self,
        key: String,
        owner: usize,
        value: usize,
        is_described: bool,
        depth: usize,
    ) -> Result<()> {
        let node = self.values.document.node(owner);
        let described = Described {
            value,
            place: node.map_or(Span::default(), |node| node.span),
            own: node.map_or_else(Description::default, |node| Description::of_head(&node.head)),
            named: self.named.get(&key),
            key,
        };
        let has_row = described.has_description() || !is_described;
        let is_below_row = described.has_description() || is_described;
        match self.values.content(value, depth)? {
            Content::Scalar { kind, text, .. } if has_row => self.scalar(&described, kind, text)?,
            Content::Scalar { .. } => {}
            Content::Items(items) => {
                if described.has_description() || items.is_empty() && has_row {
                    self.collection(&described, "list", depth)?;
                }
                for (index, item) in items.into_iter().enumerate() {
                    let key = format!("{}[{index}]", described.key);
                    self.value(key, item, item, is_below_row, depth + 1)?;
                }
            }
            Content::Entries(entries) => {
                if described.has_description() || entries.is_empty() && has_row {
                    self.collection(&described, "object", depth)?;
                }
                self.entries(&described.key, entries, is_below_row, depth)?;
            }
        }
        Ok(())
    }

    fn scalar(&mut self, described: &Described<'_>, kind: ScalarType, text: &str) -> Result<()> {
        let inferred = match kind {
            ScalarType::Null => return self.null(described),
            ScalarType::Bool(_) => "bool",
            ScalarType::Int(_) => "int",
            ScalarType::Float(_) => "float",
            ScalarType::Timestamp | ScalarType::Text => "string",
            ScalarType::Merge | ScalarType::Other => {
                let one = self
                    .values
                    .error(described.place, format!("{} has a tag of its own", described.key));
                return Err(one.hint("only the types of YAML's core can be documented").into());
            }
        };
        let value = self.values.scalar(described.value, kind, text)?;
        self.push(described, inferred, &value);
        Ok(())
    }

    fn collection(&mut self, described: &Described<'_>, inferred: &str, depth: usize) -> Result<()> {
        let value = self.values.data(described.value, depth)?;
        self.push(described, inferred, &value);
        Ok(())
    }

    /// A value that is not set: all that is known of it are its comments.
    fn null(&mut self, described: &Described<'_>) -> Result<()> {
        let mut row = self.row(described);
        row.value_type = or(described.either(|one| &one.value_type), "string");
        row.notation_type.clone_from(&described.own.notation);
        described.either(|one| &one.text).clone_into(&mut row.description);
        if row.default.is_empty() && row.auto_default.is_empty() {
            "`nil`".clone_into(&mut row.default);
        }
        self.rows.push(row);
        Ok(())
    }

    fn push(&mut self, described: &Described<'_>, inferred: &str, value: &Value) {
        let mut row = self.row(described);
        let notation = &described.own.notation;
        row.notation_type.clone_from(notation);
        row.value_type = or(described.either(|one| &one.value_type), &or(notation, inferred));
        if row.default.is_empty() && row.auto_default.is_empty() {
            row.default = match (notation.as_str(), value) {
                ("", value) => format!("`{}`", without_html_escapes(&value.to_json())),
                (_, Value::String(text)) => text.clone(),
                ("yaml", value) => crate::yaml::write(value),
                (_, Value::List(_) | Value::Map(_)) => String::new(),
                (_, value) => value.to_json(),
            };
        }
        self.rows.push(row);
    }

    fn row(&self, described: &Described<'_>) -> Row {
        let named = described.named.cloned().unwrap_or_default();
        let position = self.values.source.position(described.place.start);
        Row {
            key: described.key.clone(),
            default: named.default,
            description: named.text,
            auto_default: described.own.default.clone(),
            auto_description: described.own.text.clone(),
            section: described.either(|one| &one.section).to_owned(),
            line: position.line,
            column: position.column,
            ..Row::default()
        }
    }
}

fn or(text: &str, other: &str) -> String {
    if text.is_empty() { other } else { text }.to_owned()
}

/// A key in a path: in quotes if it would not be one key without.
pub(super) fn quoted(key: &str) -> String {
    if key.contains(['.', ' ']) {
        format!("\"{key}\"")
    } else {
        key.to_owned()
    }
}

/// JSON with `<`, `>` and `&` as they are.
fn without_html_escapes(json: &str) -> String {
    let mut out = String::with_capacity(json.len());
    let mut rest = json;
    while let Some(at) = rest.find('\\') {
        let (before, escape) = rest.split_at(at);
        out.push_str(before);
        let (text, length) = match escape.get(..6) {
            Some("\\u003c") => ("<", 6),
            Some("\\u003e") => (">", 6),
            Some("\\u0026") => ("&", 6),
            _ => (escape.get(..2).unwrap_or(escape), 2),
        };
        out.push_str(text);
        rest = escape.get(length..).unwrap_or("");
    }
    out + rest
}
