//! Finds given values that nothing in the chart reads, if they are likely typos: the chart doesn't contain the name,
//! and values.yaml has a similar one at the same level that the templates use.
//!
//! So keys of a map that templates iterate over (environment variables, annotations) are never reported, and neither
//! are values below `global` or a subchart's name.

use std::collections::BTreeSet;

use super::{LintOptions, Linter, rules};
use crate::chart::load::Loaded;
use crate::diag::{Class, Diagnostic, did_you_mean};
use crate::value::{Map, Value};

/// The maximum depth at which given values are compared with the chart's.
const MAX_DEPTH: usize = 100;
const FOLDER: &str = "templates/";

pub(super) fn check(chart: &Loaded, options: &LintOptions, linter: &mut Linter) {
    if options.values.is_empty() {
        return;
    }
    let mut names = Names::default();
    names.read(chart, 0);
    let origins = options.places.search();
    let mut unread = Unread {
        names: &names,
        path: Vec::new(),
        found: Vec::new(),
    };
    unread.compare(&options.values, &chart.values);
    for (path, near) in unread.found {
        let message = format!("nothing in the chart reads `{}`", path.join("."));
        let one = Diagnostic::warning(Class::Values, message).hint(format!("did you mean `{near}`?"));
        let one = match origins.find(&path, &[]) {
            Some(location) => one.at(location),
            None => one,
        };
        linter.own(FOLDER, &rules::UNREAD_VALUE, one);
    }
}

/// The words of a chart and its subcharts.
#[derive(Default)]
struct Names<'c> {
    /// The words of the templates.
    in_templates: BTreeSet<&'c str>,
    /// The words of values.yaml with its comments, and of the schema.
    documented: BTreeSet<&'c str>,
    /// The keys of the values of other charts.
    charts: BTreeSet<&'c str>,
}

impl<'c> Names<'c> {
    fn read(&mut self, chart: &'c Loaded, depth: usize) {
        for template in &chart.templates {
            self.in_templates.extend(words(template.source.text()));
        }
        let values = chart.values_source.as_ref().map(|source| source.text());
        self.documented.extend(values.into_iter().flat_map(words));
        let schema = chart.schema.as_ref().map(|schema| schema.text());
        self.documented.extend(schema.into_iter().flat_map(words));
        for one in chart.details.dependencies.iter().flatten() {
            self.charts.insert(one.name.as_str());
            self.charts.insert(one.alias.as_str());
        }
        for child in &chart.dependencies {
            self.charts.insert(child.details.name.as_str());
            if depth < MAX_DEPTH {
                self.read(child, depth + 1);
            }
        }
    }
}

/// The words that may be names of values.
fn words(text: &str) -> impl Iterator<Item = &str> {
    let is_part = |char: char| char.is_alphanumeric() || char == '_' || char == '-';
    let dashed = text.split(move |char| !is_part(char));
    // `a-b` may be one name or two.
    dashed.flat_map(|word| std::iter::once(word).chain(word.split('-')))
}

struct Unread<'n> {
    names: &'n Names<'n>,
    path: Vec<String>,
    found: Vec<(Vec<String>, String)>,
}

impl Unread<'_> {
    fn compare(&mut self, given: &Map, known: &Map) {
        for (key, value) in given.iter() {
            let name = key.as_str();
            if self.path.is_empty() && (name == "global" || self.names.charts.contains(name)) {
                continue;
            }
            match (known.get(name), value) {
                (Some(Value::Map(known)), Value::Map(given)) if self.path.len() < MAX_DEPTH => {
                    self.path.push(name.to_owned());
                    self.compare(given, known);
                    self.path.pop();
                }
                (Some(_), _) => {}
                (None, _) => self.unknown(name, known),
            }
        }
    }

    fn unknown(&mut self, name: &str, known: &Map) {
        let is_named = |set: &BTreeSet<&str>| set.contains(name);
        if is_named(&self.names.in_templates) || is_named(&self.names.documented) {
            return;
        }
        let beside = known.iter().map(|(key, _)| key.as_str());
        let used = beside.filter(|key| self.names.in_templates.contains(key));
        if let Some(near) = did_you_mean(name, used) {
            let mut path = self.path.clone();
            path.push(name.to_owned());
            let near: Vec<&str> = self.path.iter().map(String::as_str).chain([near]).collect();
            self.found.push((path, near.join(".")));
        }
    }
}
