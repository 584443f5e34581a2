//! A chart's templates, parsed once ([`Program`]) and run any number of times.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use super::functions::functions;
use super::request::{ChartVersions, TemplateFilter};
use super::stack::on_large_stack;
use super::template_error::TemplateError;
use crate::chart::body::Body;
use crate::diag::Result;
use crate::parallel::both;
use crate::source::Source;
use crate::template::{ParseBuffers, Set, StackGuard, Tree};
use crate::value::Value;

/// How much of its caller's stack parsing may use, in bytes: threads have 2 MiB.
const OWN_STACK: usize = 512 << 10;
/// From this size on, two threads parse the templates: starting a thread costs as much as parsing some 20 KiB.
const SHARED_BYTES: usize = 128 << 10;

/// A chart of a release, at the top or as a subchart: the engine's view of it.
#[derive(Debug, Clone)]
pub struct ProgramUnit {
    /// Its name, or the alias in its parent: the key of its values.
    pub name: String,
    /// Its path from the root chart, as `parent/charts/child`.
    pub path: String,
    /// `.Chart`, with Go's field names.
    pub metadata: crate::value::Map,
    /// Whether it is a library chart: only its partials are used.
    pub library: bool,
    /// Its templates: paths within the chart, and texts.
    pub templates: Vec<(String, Arc<Source>)>,
    /// `.Files`.
    pub files: Vec<(Arc<str>, Body)>,
    /// The charts it uses.
    pub children: Vec<ProgramUnit>,
}

impl ProgramUnit {
    /// Drops the templates that are neither selected nor partials, whose names begin with `_`.
    pub(super) fn keep(&mut self, only: &TemplateFilter) {
        let path = &self.path;
        self.templates.retain(|(name, _)| {
            let base = name.rsplit('/').next().unwrap_or(name);
            base.starts_with('_') || only(&format!("{path}/{name}"))
        });
        self.children.iter_mut().for_each(|child| child.keep(only));
    }

    /// Replaces the versions in `.Chart`, also of the charts that it uses.
    pub(super) fn replace_versions(&mut self, versions: &ChartVersions) {
        let ChartVersions { version, app_version } = versions;
        for (field, given) in [("Version", version), ("AppVersion", app_version)] {
            if let Some(given) = given {
                self.metadata.insert(field, Value::from(given.as_str()));
            }
        }
        self.children
            .iter_mut()
            .for_each(|child| child.replace_versions(versions));
    }
}

/// A template file that is to be run.
#[derive(Debug, Clone)]
pub(super) struct RunnableTemplate {
    /// Its full name, as in `# Source:`.
    pub(super) name: Arc<str>,
    /// The index of its unit in a walk, parents first.
    pub(super) unit: usize,
}

/// Every template of a chart and its dependencies, parsed. Shared between threads.
#[derive(Debug)]
pub struct Program {
    pub(super) root: ProgramUnit,
    pub(super) set: Set,
    /// In the order in which Helm runs them: deepest folders first, names descending.
    pub(super) entries: Vec<RunnableTemplate>,
}

/// Parsed texts, by the address of their source: charts with the same text share it. The owner of this must keep the
/// sources alive.
#[derive(Debug, Default)]
pub(super) struct Parsed(Mutex<BTreeMap<usize, Known>>);

/// The name under which a text was parsed first, and its trees.
type Known = (Arc<str>, Arc<[Arc<Tree>]>);

impl Parsed {
    fn get(&self, source: &Arc<Source>) -> Option<Known> {
        let known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        known
            .get(&key(source))
            .map(|(name, trees)| (Arc::clone(name), Arc::clone(trees)))
    }

    fn keep(&self, source: &Arc<Source>, name: &Arc<str>, trees: &Arc<[Arc<Tree>]>) {
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        known.insert(key(source), (Arc::clone(name), Arc::clone(trees)));
    }
}

fn key(source: &Arc<Source>) -> usize {
    Arc::as_ptr(source).addr()
}

impl Program {
    /// Parses the templates of a chart and its dependencies.
    pub fn new(root: ProgramUnit) -> Result<Self> {
        Self::try_new(root)?.map_err(|problems| problems.iter().map(TemplateError::diagnostic).collect())
    }

    /// As [`Program::new`]; the inner errors also have Go's messages, and Helm reports the first.
    pub fn try_new(root: ProgramUnit) -> Result<std::result::Result<Self, Vec<TemplateError>>> {
        Self::with(root, &Parsed::default())
    }

    /// As [`Program::try_new`], but reuses parsed texts.
    pub(super) fn with(
        root: ProgramUnit,
        known: &Parsed,
    ) -> Result<std::result::Result<Self, Vec<TemplateError>>> {
        let mut files = Vec::new();
        collect(&root, &mut 0, &mut files);
        files.sort_by_cached_key(|(name, ..)| {
            let depth = name.bytes().filter(|byte| *byte == b'/').count();
            Reverse((depth, Arc::clone(name)))
        });
        let set = parse(&files, known)?;
        let entries = files
            .into_iter()
            .map(|(name, unit, _)| RunnableTemplate { name, unit });
        Ok(set.map(|set| Self {
            root,
            set,
            entries: entries.collect(),
        }))
    }
}

/// Full name, unit, text.
type TextFile = (Arc<str>, usize, Arc<Source>);

/// Parses all texts, and returns all parse errors.
fn parse(files: &[TextFile], known: &Parsed) -> Result<std::result::Result<Set, Vec<TemplateError>>> {
    let mut parses = match parse_each(files, known) {
        Some(parses) => parses,
        None => on_large_stack(|| rest(files, &AtomicUsize::new(0), known, &StackGuard::unlimited()))?
            .unwrap_or_default(),
    };
    // Later definitions win, and errors are reported in order.
    parses.sort_by_key(|(place, _)| *place);
    let (mut set, mut problems) = (Set::default(), Vec::new());
    for (_, parse) in parses {
        match parse {
            Ok(trees) => trees.into_iter().for_each(|tree| set.add(tree)),
            Err(problem) => problems.push(problem),
        }
    }
    Ok(if problems.is_empty() {
        Ok(set)
    } else {
        Err(problems)
    })
}

/// The total size of all texts.
fn bytes(files: &[TextFile]) -> usize {
    files.iter().map(|(.., source)| source.text().len()).sum()
}

/// A text's index, and its definitions or its error.
type Parse = (usize, std::result::Result<Vec<Arc<Tree>>, TemplateError>);

/// Parses the texts, in any order. `None` if one nests too deeply for this stack: only such rare texts use threads of
/// their own, since trees that are parsed on this thread are allocated in its arena.
fn parse_each(files: &[TextFile], known: &Parsed) -> Option<Vec<Parse>> {
    let next = AtomicUsize::new(0);
    let some = || rest(files, &next, known, &StackGuard::of(OWN_STACK));
    if bytes(files) < SHARED_BYTES {
        return some();
    }
    let (mut parses, others) = both(some, some);
    parses.as_mut()?.append(&mut others?);
    parses
}

/// Parses the texts that the other thread doesn't take. `None` if the stack was exhausted.
fn rest(files: &[TextFile], next: &AtomicUsize, known: &Parsed, stack: &StackGuard) -> Option<Vec<Parse>> {
    let (mut parses, buffers) = (Vec::new(), ParseBuffers::default());
    loop {
        let place = next.fetch_add(1, Ordering::Relaxed);
        let Some((name, _, source)) = files.get(place) else {
            return Some(parses);
        };
        parses.push((place, trees(name, source, known, (stack, &buffers))));
        if stack.was_exhausted() {
            return None;
        }
    }
}

/// The definitions of a text; the text itself has the name that Helm uses in its errors.
fn trees(
    name: &Arc<str>,
    source: &Arc<Source>,
    known: &Parsed,
    (stack, buffers): (&StackGuard, &ParseBuffers),
) -> std::result::Result<Vec<Arc<Tree>>, TemplateError> {
    let own = source.renamed(&**name);
    if let Some((first, trees)) = known.get(source) {
        return Ok(trees
            .iter()
            .map(|tree| renamed(tree, &first, name, &own))
            .collect());
    }
    let trees = functions()
        .parse_within(name, &own, stack, buffers)
        .map_err(TemplateError::Parse)?;
    known.keep(source, name, &trees.as_slice().into());
    Ok(trees)
}

impl Program {
    /// The template with a name; for a file its full name, as in `# Source:`.
    pub fn template(&self, name: &str) -> Option<&Arc<Tree>> {
        self.set.get(name)
    }

    /// The full names of the root chart's files that are run.
    pub fn own_templates(&self) -> impl Iterator<Item = &Arc<str>> {
        let partial = |name: &str| name.rsplit('/').next().is_some_and(|base| base.starts_with('_'));
        let own = self
            .entries
            .iter()
            .filter(move |entry| entry.unit == 0 && !partial(&entry.name));
        own.map(|entry| &entry.name)
    }
}

fn renamed(tree: &Arc<Tree>, first: &Arc<str>, name: &Arc<str>, source: &Arc<Source>) -> Arc<Tree> {
    if first == name {
        return Arc::clone(tree);
    }
    let name = if tree.name == *first { name } else { &tree.name };
    Arc::new(tree.in_source(name, source))
}

/// Units in the order of a walk.
fn collect(unit: &ProgramUnit, next: &mut usize, out: &mut Vec<TextFile>) {
    let own = *next;
    *next += 1;
    for (path, source) in &unit.templates {
        let base = path.rsplit('/').next().unwrap_or(path);
        if unit.library && !base.starts_with('_') {
            continue;
        }
        out.push((format!("{}/{path}", unit.path).into(), own, Arc::clone(source)));
    }
    for child in &unit.children {
        collect(child, next, out);
    }
}
