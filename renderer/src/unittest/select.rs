//! Which documents an assertion is about: its template, `documentIndex` and `documentSelector`.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::assertion::Assertion;
use super::documents::Document;
use super::suite::{Selector, TestCase};

/// The documents of a template that are selected.
#[derive(Debug)]
pub(super) struct SelectedTemplate<'d> {
    /// The template, by full name.
    pub(super) name: &'d str,
    /// How many documents it has.
    pub(super) total: usize,
    /// The documents with their positions.
    pub(super) documents: Vec<(usize, &'d Document)>,
}

/// What is selected.
#[derive(Debug)]
pub(super) enum Selection<'d> {
    /// Templates; one without documents rendered to nothing.
    Templates(Vec<SelectedTemplate<'d>>),
    /// The assertion has nothing to be about, and that is fine.
    Nothing,
}

/// The selector of an assertion, or else of its test; and whether it is the test's.
fn selector<'s>(test: &'s TestCase, assertion: &'s Assertion) -> Option<(&'s Selector, bool)> {
    let own = assertion.selector.as_ref().map(|selector| (selector, false));
    own.or_else(|| test.selector.as_ref().map(|selector| (selector, true)))
}

/// Selects documents.
///
/// # Errors
/// helm-unittest's messages: a template is not there, or no document is selected, or too many.
pub(super) fn select<'d>(
    test: &TestCase,
    assertion: &Assertion,
    names: &'d BTreeSet<String>,
    rendered: &'d BTreeMap<Arc<str>, Vec<Document>>,
) -> Result<Selection<'d>, Vec<String>> {
    let (mut found, mut missing) = (Vec::new(), Vec::new());
    for name in names {
        match rendered.get(name.as_str()) {
            Some(documents) => found.push(SelectedTemplate {
                name,
                total: documents.len(),
                documents: documents.iter().enumerate().collect(),
            }),
            None => missing.push(not_selected(name)),
        }
    }
    if !missing.is_empty() {
        return Err(missing);
    }
    if let Some((selector, of_test)) = selector(test, assertion) {
        return by_selector(found, selector, of_test).map_err(|message| vec![message]);
    }
    if let Some(index) = test.index.or(assertion.index).filter(|index| *index != -1) {
        for template in &mut found {
            template
                .documents
                .retain(|(number, _)| i64::try_from(*number) == Ok(index));
            if template.documents.is_empty() {
                return Err(vec![format!("document index {index} is out of range")]);
            }
        }
    }
    Ok(Selection::Templates(found))
}

/// The message for a template that has no output.
pub(super) fn not_selected(name: &str) -> String {
    format!("template \"{name}\" not exists or not selected in test suite")
}

fn by_selector<'d>(
    mut found: Vec<SelectedTemplate<'d>>,
    selector: &Selector,
    of_test: bool,
) -> Result<Selection<'d>, String> {
    for template in &mut found {
        let mut chosen = Vec::new();
        for (number, document) in template.documents.drain(..) {
            if selector.selects(document)? {
                chosen.push((number, document));
            }
        }
        template.documents = chosen;
    }
    found.retain(|template| !template.documents.is_empty());
    let count: usize = found.iter().map(|template| template.documents.len()).sum();
    match count {
        0 if selector.skips_empty && of_test => Ok(Selection::Nothing),
        0 if selector.skips_empty => Ok(Selection::Templates(vec![SelectedTemplate {
            name: "",
            total: 0,
            documents: Vec::new(),
        }])),
        0 => Err("document not found".to_owned()),
        2.. if !selector.matches_many => Err("multiple indexes found".to_owned()),
        _ => Ok(Selection::Templates(found)),
    }
}

impl Selector {
    fn selects(&self, document: &Document) -> Result<bool, String> {
        let path = self.path.as_ref().map_err(Clone::clone)?;
        let found = path.find(&document.value).map_err(|error| error.to_string())?;
        Ok(match &self.value {
            Some(wanted) => found.iter().any(|value| **value == *wanted),
            None => !found.is_empty(),
        })
    }
}
