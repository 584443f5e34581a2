//! Parses a values file into a map, as Helm 4.3.1 reads values.yaml and `-f`.
//!
//! In: a text of any number of documents. Out: one map, the documents merged, every number a
//! float64. Null is kept: it deletes keys when charts' values are merged.

use std::ops::Range;
use std::sync::Arc;

use crate::diag::{Class, Diagnostic, Diagnostics};
use crate::source::{Location, Source, Span};
use crate::value::{Map, Number, Value};
use crate::yaml::{self, DuplicateKey, Node, YamlError};

/// Maps are merged, everything else is replaced, as Helm's `MergeMaps` does.
pub fn merge(base: &mut Map, over: Map) {
    for (key, value) in over {
        match (base.get_mut(&key), value) {
            (Some(Value::Map(below)), Value::Map(above)) => merge(below, above),
            (Some(below), above) => *below = above,
            (None, above) => {
                base.insert(key, above);
            }
        }
    }
}

/// An error of a values file; its diagnostic is of class values.
#[derive(Debug)]
#[non_exhaustive]
pub enum ValuesFileError {
    /// Text after the `---` between two documents.
    Separator(Box<Diagnostic>),
    /// A document is not YAML.
    Syntax(YamlError),
    /// A document is not a map.
    NotAMap {
        /// The value; `None` for a number beyond float64.
        found: Option<Value>,
        /// Its location.
        location: Location,
    },
}

/// Parses a values file: its documents are merged, numbers are float64.
///
/// # Errors
/// The first error, with its location.
pub fn load(source: &Arc<Source>) -> Result<Map, ValuesFileError> {
    load_noting(source, &mut Vec::new())
}

/// As [`load`], and records duplicate keys in a map of one document.
///
/// # Errors
/// As [`load`].
pub fn load_noting(source: &Arc<Source>, duplicates: &mut Vec<DuplicateKey>) -> Result<Map, ValuesFileError> {
    let mut values = Map::default();
    for range in documents(source)? {
        let start = range.start;
        let piece = match range.len() == source.text().len() {
            true => Arc::clone(source),
            false => Source::new(source.name(), source.text().get(range).unwrap_or("")),
        };
        let document = yaml::parse_document(&piece, Class::Values, &yaml::Limits::default())
            .map_err(|error| ValuesFileError::Syntax(error).within(source, start))?;
        duplicates.extend(
            document
                .duplicates
                .into_iter()
                .map(|one| one.within(source, start)),
        );
        let map = map_of(document.root, &piece).map_err(|error| error.within(source, start))?;
        merge(&mut values, map);
    }
    Ok(values)
}

fn map_of(node: Node, source: &Arc<Source>) -> Result<Map, ValuesFileError> {
    let span = node.span;
    match floats(node.into_value()) {
        Some(Value::Null) => Ok(Map::default()),
        Some(Value::Map(map)) => Ok(map),
        found => {
            let location = Location::new(source, span);
            Err(ValuesFileError::NotAMap { found, location })
        }
    }
}

impl ValuesFileError {
    /// Moves the error into the whole file, in which the document starts at `offset`.
    fn within(self, whole: &Arc<Source>, offset: usize) -> Self {
        match self {
            Self::Syntax(error) => Self::Syntax(error.within(whole, offset)),
            Self::NotAMap { found, location } => {
                let Span { start, end } = location.span;
                let span = Span::new(start as usize + offset, end as usize + offset);
                let location = Location::new(whole, span);
                Self::NotAMap { found, location }
            }
            Self::Separator(_) => self,
        }
    }
}

impl From<ValuesFileError> for Diagnostics {
    fn from(error: ValuesFileError) -> Self {
        match error {
            ValuesFileError::Separator(one) => (*one).into(),
            ValuesFileError::Syntax(error) => error.into(),
            ValuesFileError::NotAMap { found, location } => {
                let kind = found.as_ref().map_or("a number beyond float64", Value::kind);
                let message = format!("{} must hold a map, not {kind}", location.source.name());
                Diagnostic::error(Class::Values, message).at(location).into()
            }
        }
    }
}

/// The documents of a file, split at lines that begin with `---`, as Helm splits values files.
pub(crate) fn documents(source: &Arc<Source>) -> Result<Vec<Range<usize>>, ValuesFileError> {
    let text = source.text();
    let mut bounds = vec![0];
    let marks = memchr::memmem::find_iter(text.as_bytes(), "\n---").map(|found| found + 1);
    let first = text.starts_with("---").then_some(0);
    for at in first.into_iter().chain(marks) {
        let line = text.get(at..).and_then(|rest| rest.lines().next());
        if let Some(rest) = line.and_then(|line| line.strip_prefix("---")) {
            let line = line.unwrap_or_default();
            let rest = rest.trim();
            if !rest.is_empty() && !rest.starts_with('#') {
                let message = format!("invalid Yaml document separator: {rest}");
                let span = Span::new(at, at + line.trim_end().len());
                let one = Diagnostic::error(Class::Values, message).at(Location::new(source, span));
                let one = one.hint("only a comment may follow `---` in a values file");
                return Err(ValuesFileError::Separator(Box::new(one)));
            }
            bounds.push(at);
        }
    }
    bounds.push(text.len());
    let pairs = bounds.windows(2).filter_map(|pair| match pair {
        [start, end] if start < end => Some(*start..*end),
        _ => None,
    });
    Ok(pairs.collect())
}

/// Converts all numbers to float64, as in Helm; `None` if one does not fit.
pub(crate) fn floats(mut value: Value) -> Option<Value> {
    all_floats(&mut value).then_some(value)
}

/// In place: values nest as deeply as the reader allows, and each level must use little stack.
fn all_floats(value: &mut Value) -> bool {
    match value {
        Value::Number(number) => {
            let float = number.as_f64();
            *number = Number::Float(float);
            float.is_finite()
        }
        Value::List(items) => items.iter_mut().all(all_floats),
        Value::Map(map) => map.values_mut().all(all_floats),
        _ => true,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn json(map: Map) -> String {
        Value::Map(map).to_json()
    }

    #[test]
    fn documents_of_a_file_are_merged() {
        let text = "--- # a\na: {b: 1}\n---\n---\na: {c: 2}\nd: ~\n---\n# nothing\n";
        let map = load(&Source::new("t", text)).unwrap();
        assert_eq!(json(map), r#"{"a":{"b":1,"c":2},"d":null}"#);
        assert!(load(&Source::new("t", "")).unwrap().is_empty());
    }

    #[test]
    fn mistakes_in_a_later_document_have_their_line() {
        for (text, line) in [
            ("a: 1\n---\nb: [\n", 3),
            ("a: 1\n---\n- b\n", 3),
            ("a: 1\n--- b\n", 2),
        ] {
            let problem = load(&Source::new("t", text)).unwrap_err();
            let problem = Diagnostics::from(problem);
            let place = problem.iter().next().unwrap().location.clone().unwrap();
            assert!(place.position().line >= line, "{text:?} {problem}");
        }
    }
}
