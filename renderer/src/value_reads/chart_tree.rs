//! The charts of a tree, all of them, with their parsed templates: [`ChartTree`].

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::GLOBAL;
use crate::chart::load::Loaded;
use crate::engine::functions;
use crate::source::Source;
use crate::template::Tree;
use crate::template::inspect::{self, Pipeline, Step, Steps, TermKind, Words};
use crate::value::{Map, Value};
use crate::values::dependencies::MAX_INSTANCES;

/// The maximum nesting of values in which texts are searched.
const MAX_NESTING: usize = super::read_tree::MAX_NESTING;
/// The largest file of a chart that is read as a template.
pub(super) const MAX_FILE: usize = 1 << 20;
/// The longest text that may be the path of a key.
pub(super) const MAX_KEY_PATH: usize = 200;
/// What marks a text as a template.
const DELIMITER: &str = "{{";

/// A chart of the tree: one that is used under two names occurs twice.
pub(super) struct ChartUnit {
    /// Its path from the root chart, as in the names of its template files.
    path: String,
    /// The keys of its values from the root's.
    pub(super) prefix: Vec<String>,
    /// The indices of the charts it uses, by their keys.
    pub(super) children: Vec<(String, usize)>,
    /// The full names of its template files that are run.
    pub(super) entries: Vec<Arc<str>>,
}

impl ChartUnit {
    /// Whether a template is a file of this chart.
    pub(super) fn has_file(&self, name: &str) -> bool {
        let inside = name.strip_prefix(self.path.as_str());
        inside.is_some_and(|inside| inside.starts_with("/templates/"))
    }
}

/// A chart with its subcharts, disabled ones included.
pub(super) struct ChartTree {
    /// Whether all charts that are declared are there.
    pub(super) is_complete: bool,
    /// Parents first.
    pub(super) units: Vec<ChartUnit>,
    /// Every template by name: all definitions, since conditions decide which one wins.
    pub(super) templates: BTreeMap<Arc<str>, Vec<Arc<Tree>>>,
    /// The templates of each text, by its address: charts with the same text share it.
    parsed: BTreeMap<usize, Option<Vec<Arc<Tree>>>>,
    /// The texts that `tpl` may run: of values, and constants of templates.
    pub(super) texts: Vec<Arc<Tree>>,
    /// The constants, and the texts in values, that may be the paths of keys.
    pub(super) key_paths: BTreeSet<String>,
    /// The texts of files that `tpl` may run.
    pub(super) file_texts: Vec<Arc<Tree>>,
    /// Values that are read for another reason: conditions and tags of dependencies.
    pub(super) touched: Vec<Vec<String>>,
    /// Values that are read with all that is below them: those of missing charts, and those in texts that are no templates.
    pub(super) whole: Vec<Vec<String>>,
    /// Values of subcharts that are imported: the path where they are seen, and their own.
    pub(super) imports: Vec<(Vec<String>, Vec<String>)>,
}

impl ChartTree {
    pub(super) fn of(chart: &Loaded, given: &[&Map]) -> Self {
        let mut tree = Self {
            is_complete: true,
            units: Vec::new(),
            templates: BTreeMap::new(),
            parsed: BTreeMap::new(),
            texts: Vec::new(),
            key_paths: BTreeSet::new(),
            file_texts: Vec::new(),
            touched: Vec::new(),
            whole: Vec::new(),
            imports: Vec::new(),
        };
        let mut texts: BTreeSet<String> = BTreeSet::new();
        tree.add(chart, chart.name(), Vec::new(), &mut texts);
        for values in given {
            texts_of(values, 0, &mut texts);
        }
        let mut found = BTreeSet::new();
        let trees = tree.templates.values().flatten();
        trees.for_each(|tree| constants(inspect::steps(tree), &mut found));
        texts.extend(found.into_iter().map(str::to_owned));
        let mut values: Vec<&Map> = given.to_vec();
        values_of(chart, &mut values);
        let is_known =
            |text: &&String| is_key_path(text) && values.iter().any(|values| has_parent(values, text));
        tree.key_paths = texts.iter().filter(is_known).cloned().collect();
        texts.retain(|text| text.contains(DELIMITER));
        for text in texts {
            match parsed("text", &text) {
                Some(trees) => tree.texts.extend(trees),
                None => tree.read_words(&text),
            }
        }
        tree
    }

    /// The top-level keys of the values of subcharts.
    pub(super) fn keys_of_subcharts(&self) -> impl Iterator<Item = &str> {
        let deeper = self.units.iter().filter(|unit| !unit.prefix.is_empty());
        deeper.filter_map(|unit| unit.prefix.first().map(String::as_str))
    }

    fn add(
        &mut self,
        chart: &Loaded,
        path: &str,
        prefix: Vec<String>,
        texts: &mut BTreeSet<String>,
    ) -> usize {
        let index = self.units.len();
        self.units.push(ChartUnit {
            path: path.to_owned(),
            prefix: prefix.clone(),
            children: Vec::new(),
            entries: Vec::new(),
        });
        texts_of(&chart.values, 0, texts);
        let entries = self.add_templates(chart, path, &prefix);
        self.add_files(chart);
        let mut children = Vec::new();
        for (key, child) in self.used_by(chart, &prefix) {
            let below = joined(&prefix, &key);
            if self.units.len() >= MAX_INSTANCES {
                self.whole.push(below);
                continue;
            }
            let path = format!("{path}/charts/{key}");
            let child = self.add(child, &path, below, texts);
            children.push((key, child));
        }
        if let Some(unit) = self.units.get_mut(index) {
            unit.entries = entries;
            unit.children = children;
        }
        index
    }

    /// The charts that a chart uses, by the keys of their values.
    fn used_by<'c>(&mut self, chart: &'c Loaded, prefix: &[String]) -> Vec<(String, &'c Loaded)> {
        let declared = chart.details.dependencies();
        let mut out: Vec<(String, &Loaded)> = Vec::new();
        for one in declared {
            let key = one.key().to_owned();
            let found = chart.dependencies.iter().filter(|child| child.name() == one.name);
            let before = out.len();
            out.extend(found.map(|child| (key.clone(), &**child)));
            if out.len() == before {
                self.is_complete = false;
                self.whole.push(joined(prefix, &key));
            }
            for path in one
                .condition
                .split(',')
                .map(str::trim)
                .filter(|path| !path.is_empty())
            {
                let keys = path.split('.').map(str::to_owned);
                self.touched.push(prefix.iter().cloned().chain(keys).collect());
            }
            for tag in &one.tags {
                self.touched.push(vec!["tags".to_owned(), tag.clone()]);
            }
            for import in &one.imports {
                let keys = |path: &str| -> Vec<String> {
                    let keys = path.split('.').filter(|key| !key.is_empty());
                    keys.map(str::to_owned).collect()
                };
                let seen = prefix.iter().cloned().chain(keys(&import.parent)).collect();
                let own = prefix
                    .iter()
                    .cloned()
                    .chain([key.clone()])
                    .chain(keys(&import.child));
                self.imports.push((seen, own.collect()));
            }
        }
        let undeclared = chart
            .dependencies
            .iter()
            .filter(|child| declared.iter().all(|one| one.name != child.name()));
        out.extend(undeclared.map(|child| (child.name().to_owned(), &**child)));
        out
    }

    fn add_templates(&mut self, chart: &Loaded, path: &str, prefix: &[String]) -> Vec<Arc<str>> {
        let mut entries = Vec::new();
        for template in &chart.templates {
            let is_partial = template
                .name
                .rsplit('/')
                .next()
                .is_some_and(|base| base.starts_with('_'));
            if chart.details.is_library() && !is_partial {
                continue;
            }
            let name: Arc<str> = format!("{path}/{}", template.name).into();
            if !self.add_template(&name, &template.source) {
                // What it reads is unknown.
                self.whole.push(prefix.to_vec());
                continue;
            }
            if !is_partial {
                entries.push(name);
            }
        }
        entries
    }

    /// Whether it can be parsed.
    fn add_template(&mut self, name: &Arc<str>, text: &Arc<Source>) -> bool {
        let address = Arc::as_ptr(text).addr();
        if let Some(known) = self.parsed.get(&address) {
            // Its definitions are known.
            let Some(main) = known.as_ref().and_then(|trees| trees.last()) else {
                return false;
            };
            let main = Arc::clone(main);
            self.templates.entry(Arc::clone(name)).or_default().push(main);
            return true;
        }
        let trees = functions().parse(name, &text.renamed(&**name)).ok();
        for tree in trees.iter().flatten() {
            self.templates
                .entry(Arc::clone(&tree.name))
                .or_default()
                .push(Arc::clone(tree));
        }
        let is_readable = trees.is_some();
        self.parsed.insert(address, trees);
        is_readable
    }

    fn add_files(&mut self, chart: &Loaded) {
        for (name, body) in &chart.files {
            if name.ends_with(".gotmpl") || name.ends_with(".md") {
                // helm-docs reads them.
                continue;
            }
            let bytes = body.bytes();
            if bytes.len() > MAX_FILE {
                continue;
            }
            let Ok(text) = std::str::from_utf8(bytes) else {
                continue;
            };
            if !text.contains(DELIMITER) || !text.contains(".Values") {
                continue;
            }
            match parsed(name, text) {
                Some(trees) => self.file_texts.extend(trees),
                None => self.read_words(text),
            }
        }
    }

    /// Marks every `.Values.a.b` of a text that is no template as read, for all charts.
    fn read_words(&mut self, text: &str) {
        for after in text.split(".Values.").skip(1) {
            let is_of_path = |one: char| one.is_alphanumeric() || matches!(one, '_' | '.' | '-');
            let path = after.split(|one| !is_of_path(one)).next().unwrap_or("");
            let keys: Vec<String> = path
                .split('.')
                .filter(|key| !key.is_empty())
                .map(str::to_owned)
                .collect();
            let all = self.units.iter();
            let paths: Vec<Vec<String>> = all
                .map(|unit| [unit.prefix.clone(), keys.clone()].concat())
                .collect();
            self.whole.extend(paths);
        }
    }

    /// A path of a chart's globals, as the charts above it have it; the path itself first.
    pub(super) fn global_aliases<'p>(&self, path: &[&'p str]) -> Vec<Vec<&'p str>> {
        let mut out = vec![path.to_vec()];
        let Some(at) = path.iter().position(|key| *key == GLOBAL).filter(|at| *at > 0) else {
            return out;
        };
        let (prefix, rest) = path.split_at(at);
        if self
            .units
            .iter()
            .any(|unit| unit.prefix.iter().map(String::as_str).eq(prefix.iter().copied()))
        {
            out.extend((0..at).map(|above| path.iter().take(above).chain(rest).copied().collect()));
        }
        out
    }
}

/// Whether a text may be the path of a key: `auth.password`. Keys at the top are rarely computed, and any word may be one.
fn is_key_path(text: &str) -> bool {
    let is_of_key = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.');
    text.len() <= MAX_KEY_PATH && text.contains('.') && text.bytes().all(is_of_key)
}

/// The values of a chart and of its subcharts.
fn values_of<'c>(chart: &'c Loaded, out: &mut Vec<&'c Map>) {
    out.push(&chart.values);
    chart.dependencies.iter().for_each(|child| values_of(child, out));
}

/// Whether values have the map in which a path's last key would be.
fn has_parent(values: &Map, path: &str) -> bool {
    let above = path.rsplit_once('.').map_or("", |(above, _)| above);
    let mut map = values;
    above.split('.').all(|key| match map.get(key) {
        Some(Value::Map(inner)) => {
            map = inner;
            true
        }
        _ => false,
    })
}

fn joined(prefix: &[String], key: &str) -> Vec<String> {
    prefix.iter().cloned().chain([key.to_owned()]).collect()
}

fn parsed(name: &str, text: &str) -> Option<Vec<Arc<Tree>>> {
    functions().parse(&name.into(), &Source::new(name, text)).ok()
}

/// The texts in values that are templates, or may be paths of keys.
fn texts_of(values: &Map, depth: usize, out: &mut BTreeSet<String>) {
    values.iter().for_each(|(_, value)| text_of(value, depth, out));
}

fn text_of(value: &Value, depth: usize, out: &mut BTreeSet<String>) {
    if depth > MAX_NESTING {
        return;
    }
    match value {
        Value::String(text) if text.contains(DELIMITER) || is_key_path(text) => {
            out.insert(text.to_string());
        }
        Value::Map(map) => texts_of(map, depth + 1, out),
        Value::List(items) => items.iter().for_each(|item| text_of(item, depth + 1, out)),
        _ => {}
    }
}

/// The constants of a template that are templates themselves, or may be paths of keys.
fn constants<'t>(steps: Steps<'t>, out: &mut BTreeSet<&'t str>) {
    for step in steps {
        match step {
            Step::Action(pipeline) => constants_in(pipeline, out),
            Step::Branch(branch) => {
                constants_in(branch.condition, out);
                constants(branch.body, out);
                constants(branch.otherwise, out);
            }
            Step::Template { argument, .. } => argument.into_iter().for_each(|one| constants_in(one, out)),
        }
    }
}

fn constants_in<'t>(pipeline: Pipeline<'t>, out: &mut BTreeSet<&'t str>) {
    pipeline.commands().for_each(|words| constants_of(words, out));
}

fn constants_of<'t>(words: Words<'t>, out: &mut BTreeSet<&'t str>) {
    for term in words {
        match term.kind {
            TermKind::Text(text) if text.contains(DELIMITER) || is_key_path(text) => {
                out.insert(text);
            }
            TermKind::Pipeline(inner) => constants_in(inner, out),
            TermKind::Chain { inner, .. } => constants_of(inner, out),
            _ => {}
        }
    }
}
