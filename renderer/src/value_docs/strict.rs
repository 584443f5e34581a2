//! Strict mode: the keys that no comment describes.
//!
//! Every key counts, also those of maps with keys of their own; items of lists don't. helm-docs has the same rule, but sees
//! only the comments that name their key.

use std::collections::BTreeMap;

use regex::Regex;

use super::comment::Description;
use super::rows::quoted;
use super::values::{Content, Values};
use crate::diag::{Class, Diagnostic, Diagnostics, Result};

/// Which keys need no description, as helm-docs writes them: `a.list.[0].b`, without quotes.
#[derive(Debug, Clone)]
pub struct Strict {
    /// Whole keys.
    pub ignored: Vec<String>,
    /// Patterns that fit a part of a key.
    pub ignored_patterns: Vec<Regex>,
}

impl Strict {
    /// Compiles the patterns.
    ///
    /// # Errors
    /// Class usage: a pattern is no regular expression.
    pub fn new(ignored: Vec<String>, patterns: &[String]) -> Result<Self> {
        let compiled = patterns.iter().map(|pattern| {
            Regex::new(pattern).map_err(|error| {
                let message = format!("{pattern:?} is no regular expression: {error}");
                Diagnostics::from(Diagnostic::error(Class::Usage, message))
            })
        });
        Ok(Self {
            ignored,
            ignored_patterns: compiled.collect::<Result<_>>()?,
        })
    }

    fn ignores(&self, key: &str) -> bool {
        self.ignored.iter().any(|one| one == key) || self.ignored_patterns.iter().any(|one| one.is_match(key))
    }
}

/// The mistakes of a values file: keys without a description.
pub(super) fn undocumented(
    values: Values<'_>,
    named: &BTreeMap<String, Description>,
    strict: &Strict,
) -> Result<Vec<Diagnostic>> {
    let mut search = Search {
        values,
        named,
        strict,
        found: Vec::new(),
    };
    let root = search.values.document.root();
    search.value(root, "", "", 0)?;
    Ok(search.found)
}

struct Search<'v> {
    values: Values<'v>,
    named: &'v BTreeMap<String, Description>,
    strict: &'v Strict,
    found: Vec<Diagnostic>,
}

impl Search<'_> {
    /// What is below a value; `plain` is its key as helm-docs writes it here, `path` as in the table.
    fn value(&mut self, id: usize, plain: &str, path: &str, depth: usize) -> Result<()> {
        let joined = |before: &str, key: &str| match before {
            "" => key.to_owned(),
            before => format!("{before}.{key}"),
        };
        match self.values.content(id, depth)? {
            Content::Scalar { .. } => {}
            Content::Items(items) => {
                for (index, item) in items.into_iter().enumerate() {
                    let plain = joined(plain, &format!("[{index}]"));
                    self.value(item, &plain, &format!("{path}[{index}]"), depth + 1)?;
                }
            }
            Content::Entries(entries) => {
                for (key, value) in entries {
                    let name = self.values.key(key);
                    let (plain, path) = (joined(plain, name), joined(path, &quoted(name)));
                    self.key(key, &plain, &path);
                    self.value(value, &plain, &path, depth + 1)?;
                }
            }
        }
        Ok(())
    }

    fn key(&mut self, id: usize, plain: &str, path: &str) {
        let Some(node) = self.values.document.node(id) else {
            return;
        };
        let is_described = self.named.contains_key(path) || !Description::of_head(&node.head).text.is_empty();
        if !is_described && !self.strict.ignores(plain) {
            let one = self.values.error(node.span, format!("{path} has no description"));
            self.found
                .push(one.hint("describe it in a comment above: `# -- TEXT`"));
        }
    }
}
