//! Turns rendered texts into manifests: split, parsed, sorted and printed as `helm template` 4.3.1 does.
//!
//! In: the text of each template by its full name. Out: [`Manifests`], the documents in
//! the order in which Helm installs them, followed by the hooks.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::ops::Range;
use std::sync::Arc;

use super::locate_error::RENDERED_LINES;
use super::manifest_head::Head;
use crate::chart::body::Body;
use crate::diag::{Class, Diagnostic, Diagnostics, Result};
use crate::source::{Location, Source, Span};
use crate::value::Value;
use crate::yaml;

/// The kinds in Helm's install order; others follow by name.
const INSTALL_ORDER: &[&str] = &[
    "PriorityClass",
    "Namespace",
    "NetworkPolicy",
    "ResourceQuota",
    "LimitRange",
    "PodSecurityPolicy",
    "PodDisruptionBudget",
    "ServiceAccount",
    "Secret",
    "SecretList",
    "ConfigMap",
    "StorageClass",
    "PersistentVolume",
    "PersistentVolumeClaim",
    "CustomResourceDefinition",
    "ClusterRole",
    "ClusterRoleList",
    "ClusterRoleBinding",
    "ClusterRoleBindingList",
    "Role",
    "RoleList",
    "RoleBinding",
    "RoleBindingList",
    "Service",
    "DaemonSet",
    "Pod",
    "ReplicationController",
    "ReplicaSet",
    "Deployment",
    "HorizontalPodAutoscaler",
    "StatefulSet",
    "Job",
    "CronJob",
    "IngressClass",
    "Ingress",
    "APIService",
    "MutatingWebhookConfiguration",
    "ValidatingWebhookConfiguration",
];

/// The hook events, and Helm's names for them.
const EVENTS: &[(&str, &str)] = &[
    ("pre-install", "pre-install"),
    ("post-install", "post-install"),
    ("pre-delete", "pre-delete"),
    ("post-delete", "post-delete"),
    ("pre-upgrade", "pre-upgrade"),
    ("post-upgrade", "post-upgrade"),
    ("pre-rollback", "pre-rollback"),
    ("post-rollback", "post-rollback"),
    ("test", TEST),
    ("test-success", TEST),
];

const TEST: &str = "test";

/// One document of a rendered text.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Manifest {
    /// The full name of the template it comes from.
    pub source: Arc<str>,
    /// `apiVersion`
    pub api_version: String,
    /// `kind`
    pub kind: String,
    /// `metadata.name`
    pub name: String,
    /// Its hook annotations, if it is a hook.
    pub hook: Option<Hook>,
    text: Arc<Source>,
    /// Where it begins in the template's text.
    start: usize,
    /// The line of the template's text on which it begins, from 1.
    first_line: usize,
}

/// The annotations of a hook.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Hook {
    /// When it runs.
    pub events: Vec<&'static str>,
    /// Its weight.
    pub weight: i64,
    /// When it is deleted.
    pub delete_policies: Vec<String>,
    /// When its log is shown.
    pub output_log_policies: Vec<String>,
}

/// The manifests of a chart.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct Manifests {
    /// All manifests that are not hooks, in install order.
    pub manifests: Vec<Manifest>,
    /// The hooks, in install order.
    pub hooks: Vec<Manifest>,
    /// The requested notes, if there are any.
    pub notes: Option<String>,
}

/// A CRD of a chart's `crds` folder.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Crd {
    /// Its full name, as in `# Source:`.
    pub name: String,
    /// The file's text; invalid UTF-8 is replaced by U+FFFD.
    pub body: Body,
}

/// Which manifests are printed.
#[derive(Debug, Clone, Copy, Default)]
pub struct ManifestFilter {
    /// `--no-hooks`
    pub no_hooks: bool,
    /// `--skip-tests`
    pub skip_tests: bool,
}

impl Manifest {
    /// A text that is no object.
    #[cfg(feature = "cli")]
    pub(crate) fn of_text(name: &str, text: &str) -> Self {
        Self {
            source: Arc::from(name),
            api_version: String::new(),
            kind: String::new(),
            name: String::new(),
            hook: None,
            text: Source::new(name, text),
            start: 0,
            first_line: 1,
        }
    }

    /// Its text, without leading white space.
    pub fn text(&self) -> &str {
        self.text.text()
    }

    /// Where it begins in the text that its template rendered to, in bytes.
    pub fn start(&self) -> usize {
        self.start
    }

    /// Its text, to be parsed.
    pub fn source_text(&self) -> &Arc<Source> {
        &self.text
    }

    /// The line and the column, from 1, of an offset in its text, in the text that its template rendered to.
    pub fn position(&self, offset: u32) -> (usize, usize) {
        let at = self.text.position(offset);
        (self.first_line + at.line - 1, at.column)
    }

    /// Whether it is a test.
    pub fn is_test(&self) -> bool {
        self.hook.as_ref().is_some_and(|hook| hook.events.contains(&TEST))
    }

    /// Its data; null if there are only comments.
    pub fn object(&self) -> Value {
        let node = yaml::parse(&self.text, Class::Template, &yaml::Limits::default());
        node.map(yaml::Node::into_value).unwrap_or_default()
    }

    fn print(&self, out: &mut String) {
        print(&self.source, self.text(), out);
    }

    /// An upper bound of its printed size in bytes.
    fn room(&self) -> usize {
        self.source.len() + self.text().len() + 16
    }
}

impl Manifests {
    /// Parses the texts of the templates, by full name, in any order. `chart` is the root chart's name; its notes are
    /// kept, and with `all_notes` those of its subcharts too.
    ///
    /// # Errors
    /// Class template: every document that is not YAML, or whose head has fields of wrong types, with the location in
    /// the rendered text. Helm only reports the first.
    pub fn new(chart: &str, texts: Vec<(Arc<str>, String)>, all_notes: bool) -> Result<Self> {
        let mut texts = texts;
        texts.sort_by(|(a, _), (b, _)| a.cmp(b));
        let own = format!("{chart}/templates/NOTES.txt");
        let mut notes: Vec<String> = Vec::new();
        let (mut all, mut problems) = (Self::default(), Vec::new());
        for (name, text) in texts {
            if name.ends_with("NOTES.txt") {
                if all_notes || *name == own {
                    notes.push(text);
                }
                continue;
            }
            let base = name.rsplit('/').next().unwrap_or(&name);
            if base.starts_with('_') || text.trim().is_empty() {
                continue;
            }
            let whole = Source::new(&*name, text);
            let mut counted = (0, 1);
            for range in split(whole.text()) {
                let before = whole.text().as_bytes().get(counted.0..range.start);
                let lines = memchr::memchr_iter(b'\n', before.unwrap_or_default()).count();
                counted = (range.start, counted.1 + lines);
                if let Err(problem) = all.add(&name, &whole, range, counted.1) {
                    problems.extend(problem.into_vec());
                }
            }
        }
        all.notes = (!notes.is_empty()).then(|| notes.join("\n"));
        all.manifests.sort_by(|a, b| place(&a.kind).cmp(&place(&b.kind)));
        all.hooks.sort_by(|a, b| place(&a.kind).cmp(&place(&b.kind)));
        Diagnostics::or(problems, all)
    }

    fn add(
        &mut self,
        name: &Arc<str>,
        whole: &Arc<Source>,
        range: Range<usize>,
        first_line: usize,
    ) -> Result<()> {
        let start = range.start;
        let text = if range.len() == whole.text().len() {
            Arc::clone(whole)
        } else {
            Source::new(whole.name(), whole.text().get(range).unwrap_or(""))
        };
        let head = Head::read(&text).map_err(|problem| explain(problem, name, whole, start))?;
        let mut manifest = Manifest {
            source: Arc::clone(name),
            api_version: head.api_version,
            kind: head.kind,
            name: head.name,
            hook: None,
            text,
            start,
            first_line,
        };
        let Some(events) = head.annotations.get("helm.sh/hook") else {
            self.manifests.push(manifest);
            return Ok(());
        };
        // Helm drops manifests with an unknown hook.
        let Some(events) = events.split(',').map(event).collect::<Option<Vec<_>>>() else {
            return Ok(());
        };
        let list = |name: &str| {
            let given = head.annotations.get(name).map(String::as_str);
            let given = given.map(|text| text.split(',').map(|one| one.trim().to_lowercase()));
            given.into_iter().flatten().collect()
        };
        let weight = head.annotations.get("helm.sh/hook-weight");
        manifest.hook = Some(Hook {
            events,
            weight: weight.and_then(|text| text.parse().ok()).unwrap_or(0),
            delete_policies: list("helm.sh/hook-delete-policy"),
            output_log_policies: list("helm.sh/hook-output-log-policy"),
        });
        self.hooks.push(manifest);
        Ok(())
    }

    /// The hooks that a filter selects.
    pub fn chosen_hooks(&self, choice: ManifestFilter) -> impl Iterator<Item = &Manifest> {
        let hooks = self.hooks.iter();
        hooks.filter(move |hook| !(choice.no_hooks || choice.skip_tests && hook.is_test()))
    }

    /// The output of `helm template`: CRDs, manifests, hooks.
    pub fn print(&self, crds: &[Crd], choice: ManifestFilter) -> String {
        let hooks = self.chosen_hooks(choice);
        let printed = self.manifests.iter().chain(hooks).map(Manifest::room);
        // Avoids copying large outputs as they grow.
        let mut out = String::with_capacity(printed.sum());
        for crd in crds {
            print(&crd.name, &crd.body.text(), &mut out);
        }
        for manifest in &self.manifests {
            manifest.print(&mut out);
        }
        let mut out = trimmed(out);
        out.push('\n');
        for hook in self.chosen_hooks(choice) {
            hook.print(&mut out);
        }
        out
    }
}

/// What begins a manifest in the output of `helm template`, before its template's path.
const SOURCE: &str = "---\n# Source: ";

/// What each template has in the output of [`Manifests::print`], by its full name; several manifests of one have `---`
/// between them. What is before the first one has an empty name.
pub fn printed_by_template(output: &str) -> BTreeMap<&str, String> {
    let mut out: BTreeMap<&str, String> = BTreeMap::new();
    let mut parts = output.split(SOURCE);
    if let Some(before) = parts.next().filter(|text| !text.is_empty()) {
        out.insert("", before.to_owned());
    }
    for part in parts {
        let (name, text) = part.split_once('\n').unwrap_or((part, ""));
        let all = out.entry(name).or_default();
        if !all.is_empty() {
            all.push_str("---\n");
        }
        // A manifest has an empty line behind it unless it is the last one.
        all.push_str(text.trim_end_matches('\n'));
        all.push('\n');
    }
    out
}

/// The output of `helm template --debug` for texts that are not manifests.
pub fn print_texts(texts: &[(Arc<str>, String)]) -> String {
    let mut out = String::new();
    let shown = texts.iter().filter(|(_, text)| !text.trim().is_empty());
    for (name, text) in shown.filter(|(name, _)| !name.ends_with("NOTES.txt")) {
        print(name, text, &mut out);
    }
    let mut out = trimmed(out);
    out.push('\n');
    out
}

fn print(name: &str, text: &str, out: &mut String) {
    // Writing to a String can't fail.
    let _ = writeln!(out, "---\n# Source: {name}\n{text}");
}

/// Trims the text; it only copies if there is leading white space, since outputs are large.
fn trimmed(mut text: String) -> String {
    text.truncate(text.trim_end().len());
    if text.starts_with(char::is_whitespace) {
        return text.trim_start().to_owned();
    }
    text
}

/// The ranges of a text's documents: between lines that begin with `---`, without leading white space and without empty
/// documents. As in Helm, a `---` in a block scalar splits as well.
pub fn split(text: &str) -> Vec<Range<usize>> {
    let mut out = Vec::new();
    let mut start = text.len() - text.trim_start().len();
    let mut line = start;
    loop {
        let rest = text.get(line..).unwrap_or("");
        let mark = rest.starts_with("---");
        if mark {
            out.extend(document(text, start..line));
            let blanks = rest.get(3..).unwrap_or("");
            start = line + 3 + blanks.len() - blanks.trim_start_matches([' ', '\t']).len();
        }
        match memchr::memchr(b'\n', rest.as_bytes()) {
            Some(end) => line += end + 1,
            None => break,
        }
    }
    out.extend(document(text, start..text.len()));
    out
}

fn document(text: &str, range: Range<usize>) -> Option<Range<usize>> {
    let piece = text.get(range.clone())?.trim_start();
    (!piece.is_empty()).then(|| range.end - piece.len()..range.end)
}

/// The sort key of a kind.
fn place(kind: &str) -> (usize, &str) {
    match INSTALL_ORDER.iter().position(|known| *known == kind) {
        Some(index) => (index, ""),
        None => (INSTALL_ORDER.len(), kind),
    }
}

fn event(name: &str) -> Option<&'static str> {
    let name = name.trim().to_lowercase();
    let known = EVENTS.iter().find(|(known, _)| *known == name);
    known.map(|(_, event)| *event)
}

/// Adds Helm's message, and moves locations from the document to the whole text.
fn explain(problem: Diagnostics, name: &str, whole: &Arc<Source>, by: usize) -> Diagnostics {
    let list = problem.into_vec().into_iter().map(|mut one| {
        one.message = format!("YAML parse error on {name}: {}", one.message);
        if let Some(place) = &mut one.location {
            let Span { start, end } = place.span;
            *place = Location::new(whole, Span::new(start as usize + by, end as usize + by));
        }
        one.notes.push(RENDERED_LINES.to_owned());
        one
    });
    list.collect()
}

/// The error that no printed template matches.
pub(super) fn not_found(pattern: &str, known: &[&str]) -> Diagnostics {
    let one = Diagnostic::error(
        Class::Usage,
        format!("could not find template {pattern} in chart"),
    );
    match crate::diag::did_you_mean(pattern, known.iter().copied()) {
        Some(near) => one.hint(format!("did you mean `{near}`?")).into(),
        None => one
            .note("what renders to nothing, and what is no manifest, can't be shown")
            .into(),
    }
}
