//! What a program printed as a list of documents, and which of two lists belong together.

use std::collections::BTreeMap;

use super::pairs::Pairs;
use crate::diag::Class;
use crate::engine::manifest::split;
use crate::source::Source;
use crate::value::Value;
use crate::yaml;

/// What a document begins with.
pub(super) const SOURCE: &str = "# Source: ";

/// A document.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Document<'t> {
    /// The template, as in `# Source:`.
    pub(super) source: &'t str,
    /// Its number among those of the same template, from 0.
    pub(super) ordinal: usize,
    /// Without the line of the source.
    pub(super) text: &'t str,
    /// What is between the document before it and its text: the separator, and the line of the source.
    pub(super) lead: &'t str,
}

impl Document<'_> {
    /// The data, unless it is not YAML.
    pub(super) fn value(&self) -> Option<Value> {
        let source = Source::new(self.source, self.text);
        let node = yaml::parse(&source, Class::Template, &yaml::Limits::default());
        Some(node.ok()?.into_value())
    }

    /// Kind and name.
    pub(super) fn object(&self) -> String {
        let Some(Value::Map(object)) = self.value() else {
            return String::new();
        };
        let kind = object.get("kind").and_then(Value::as_str).unwrap_or_default();
        let name = match object.get("metadata") {
            Some(Value::Map(metadata)) => metadata.get("name").and_then(Value::as_str),
            _ => None,
        };
        match name {
            Some(name) => format!("{kind} {name}"),
            None => kind.to_owned(),
        }
    }
}

/// The documents in their order. One without a `# Source:` (a file of CRDs is printed whole) has that of the one
/// before it.
pub(super) fn documents(printed: &str) -> Vec<Document<'_>> {
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    let mut last = "";
    let (mut out, mut end) = (Vec::new(), 0);
    for range in split(printed) {
        let until = range.end;
        let text = printed.get(range).unwrap_or_default();
        let (source, text) = match text
            .strip_prefix(SOURCE)
            .map(|rest| rest.split_once('\n').unwrap_or((rest, "")))
        {
            Some((source, text)) => (source, text),
            None => (last, text),
        };
        last = source;
        let count = counts.entry(source).or_default();
        out.push(Document {
            source,
            ordinal: *count,
            text,
            lead: printed.get(end..until - text.len()).unwrap_or_default(),
        });
        end = until;
        *count += 1;
    }
    out
}

/// What follows the last document.
pub(super) fn tail<'t>(printed: &'t str, documents: &[Document<'_>]) -> &'t str {
    let all = documents.iter().map(|one| one.lead.len() + one.text.len());
    printed.get(all.sum()..).unwrap_or_default()
}

/// The templates of the documents without a partner.
pub(super) fn singles<'t>(pairs: &Pairs, first: &[Document<'t>], second: &[Document<'t>]) -> Vec<&'t str> {
    let first = first.iter().enumerate();
    let first = first.filter(|(number, _)| pairs.partner(*number).is_none());
    let second = second.iter().enumerate();
    let second = second.filter(|(number, _)| !pairs.has_partner(*number));
    first.chain(second).map(|(_, one)| one.source).collect()
}

/// Pairs documents of the same template: the same text first, then the same kind and name, then in order.
pub(super) fn pairs(first: &[Document<'_>], second: &[Document<'_>]) -> Pairs {
    let mut all = Pairs::default();
    all.add(first, second, |one| Some((one.source, one.text)));
    all.add(first, second, |one| {
        let object = one.object();
        object.contains(' ').then_some((one.source, object))
    });
    all.add(first, second, |one| Some(one.source));
    all
}
