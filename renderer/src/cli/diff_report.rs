//! What `diff` found, with the templates' lines: the source of every form in which it is printed.

use std::collections::BTreeMap;

use super::args::global::OutputFormat;
use super::context::CommandResult;
use super::diff_document::document;
use super::diff_html::page;
use super::diff_markdown::markdown;
use super::diff_sides::LoadedSide;
use super::diff_text::text;
use super::printer::Printer;
use crate::diag::Diagnostics;
use crate::diff::locate::{Locator, TemplateLine};
use crate::diff::{
    ChangeKind, ChartDiff, CommonChange, CommonChanges, FieldPath, ObjectChange, ObjectDiff, Rendering, Role,
    Side,
};
use crate::engine::{ParsedChart, RenderRequest};

/// A chart that was compared.
pub(super) struct DiffedSide {
    /// As it was named.
    pub(super) label: String,
    pub(super) name: String,
    /// Empty if there is no such chart on this side.
    pub(super) version: String,
    pub(super) app_version: String,
}

/// A file and a line in it.
#[derive(Debug, Clone)]
pub(super) struct FileLine {
    pub(super) file: String,
    pub(super) line: usize,
}

/// Where an object and its changes were printed, as far as that is known.
#[derive(Debug, Default)]
pub(super) struct ObjectLines {
    pub(super) object: Option<FileLine>,
    /// In the order of the changes.
    pub(super) changes: Vec<Option<FileLine>>,
    /// Which changes are said once for many objects, in their order.
    pub(super) is_common: Vec<bool>,
}

impl ObjectLines {
    /// Whether an object has no change but those of many others.
    pub(super) fn is_all_common(&self) -> bool {
        !self.is_common.is_empty() && self.is_common.iter().all(|is_common| *is_common)
    }
}

/// What differs between two charts.
pub(super) struct DiffReport {
    pub(super) from: DiffedSide,
    pub(super) to: DiffedSide,
    pub(super) diff: ChartDiff,
    /// What is said once for many objects.
    pub(super) common: CommonChanges,
    /// The release's namespace.
    pub(super) namespace: String,
    /// In the order of the objects.
    pub(super) lines: Vec<ObjectLines>,
    /// What else is to be known.
    pub(super) notes: Vec<String>,
    /// Whether the older side is a cluster.
    pub(super) is_cluster: bool,
}

/// A side, what it renders to, and how.
type RenderedSide<'s> = (&'s LoadedSide, &'s Rendering, &'s ParsedChart, &'s RenderRequest);

impl DiffedSide {
    fn of(side: &LoadedSide) -> Self {
        let details = &side.loaded.details;
        Self {
            label: side.label.clone(),
            name: details.name.clone(),
            version: match side.exists {
                true => details.version.clone(),
                false => String::new(),
            },
            app_version: details.app_version.clone(),
        }
    }

    /// Name and version.
    pub(super) fn title(&self) -> String {
        format!("{} {}", self.name, self.version)
    }
}

impl FileLine {
    pub(super) fn shown(&self) -> String {
        format!("{}:{}", self.file, self.line)
    }
}

/// The changes' side: what was removed is in the older chart.
fn side_of(kind: &ChangeKind) -> Side {
    match kind {
        ChangeKind::Removed(_) => Side::From,
        _ => Side::To,
    }
}

impl DiffReport {
    pub(super) fn new(diff: ChartDiff, from: RenderedSide<'_>, to: RenderedSide<'_>) -> Self {
        let needs_older = |one: &&ObjectDiff| {
            let mut changes = one.changes.iter();
            one.to.is_none() || changes.any(|change| side_of(&change.kind) == Side::From)
        };
        let older = diff.objects.iter().filter(needs_older);
        let older = older.filter_map(|one| one.from.as_ref());
        let mut older = SideLines {
            locator: Locator::new(Side::From, &from.1.documents, older, from.2, from.3),
            side: from.0,
            files: BTreeMap::new(),
        };
        let newer = diff.objects.iter().filter_map(|one| one.to.as_ref());
        let mut newer = SideLines {
            locator: Locator::new(Side::To, &to.1.documents, newer, to.2, to.3),
            side: to.0,
            files: BTreeMap::new(),
        };
        let mut line = |one: &ObjectDiff, side: Side, path: &FieldPath| match side {
            Side::From => older.line(one.from.as_ref()?, path),
            Side::To => newer.line(one.to.as_ref()?, path),
        };
        let common = CommonChanges::of(&diff);
        let lines = diff
            .objects
            .iter()
            .zip(&common.is_common)
            .map(|(one, is_common)| {
                let side = if one.to.is_some() { Side::To } else { Side::From };
                ObjectLines {
                    object: line(one, side, &FieldPath::default()),
                    changes: one
                        .changes
                        .iter()
                        .map(|change| line(one, side_of(&change.kind), &change.path))
                        .collect(),
                    is_common: is_common.clone(),
                }
            });
        Self {
            lines: lines.collect(),
            namespace: to.3.release.namespace.clone(),
            notes: crds(&diff).into_iter().collect(),
            is_cluster: false,
            common,
            from: DiffedSide::of(from.0),
            to: DiffedSide::of(to.0),
            diff,
        }
    }

    /// What would change in a cluster, whose objects are the older side. The objects of `diff` say of which document of
    /// the chart's rendering they are.
    pub(super) fn of_cluster(
        diff: ChartDiff,
        cluster: String,
        chart: RenderedSide<'_>,
        notes: Vec<String>,
    ) -> Self {
        let objects = diff.objects.iter().filter_map(|one| one.to.as_ref());
        let mut lines = SideLines {
            locator: Locator::new(Side::To, &chart.1.documents, objects, chart.2, chart.3),
            side: chart.0,
            files: BTreeMap::new(),
        };
        let common = CommonChanges::of(&diff);
        let objects = diff.objects.iter().zip(&common.is_common);
        let objects = objects.map(|(one, is_common)| {
            let mut line = |path: &FieldPath| lines.nearest_line(one.to.as_ref()?, path);
            ObjectLines {
                object: line(&FieldPath::default()),
                changes: one.changes.iter().map(|change| line(&change.path)).collect(),
                is_common: is_common.clone(),
            }
        });
        let to = DiffedSide::of(chart.0);
        Self {
            lines: objects.collect(),
            namespace: chart.3.release.namespace.clone(),
            common,
            from: DiffedSide {
                label: cluster,
                name: to.name.clone(),
                version: String::new(),
                app_version: String::new(),
            },
            to,
            diff,
            notes,
            is_cluster: true,
        }
    }

    /// The objects with the lines that printed them.
    pub(super) fn objects(&self) -> impl Iterator<Item = (&ObjectDiff, &ObjectLines)> {
        self.diff.objects.iter().zip(&self.lines)
    }

    /// What is said once for many objects, and where the first of them was printed.
    pub(super) fn common(&self) -> impl Iterator<Item = (&CommonChange, Option<String>)> {
        self.common.changes.iter().map(|common| {
            let (object, change) = common.first;
            let lines = self.lines.get(object);
            let at = lines.and_then(|lines| lines.changes.get(change)?.as_ref());
            (common, at.map(FileLine::shown))
        })
    }

    /// The objects that have no change but those of many others.
    pub(super) fn all_common(&self) -> Vec<&ObjectDiff> {
        let objects = self.objects().filter(|(_, lines)| lines.is_all_common());
        objects.map(|(one, _)| one).collect()
    }

    /// The other objects that are not the same.
    pub(super) fn with_own_changes(&self) -> impl Iterator<Item = (&ObjectDiff, &ObjectLines)> {
        self.objects().filter(|(_, lines)| !lines.is_all_common())
    }

    /// `shop 1.0.0 → 1.1.0`
    pub(super) fn title(&self) -> String {
        match (
            self.from.name == self.to.name,
            self.from.version == self.to.version,
        ) {
            _ if self.is_cluster => format!("{} in {}", self.to.title(), self.from.label),
            (true, false) if self.from.version.is_empty() => format!("{} (new)", self.to.title()),
            (true, true) => self.from.title(),
            (true, false) => format!("{} → {}", self.from.title(), self.to.version),
            (false, _) => format!("{} → {}", self.from.title(), self.to.title()),
        }
    }

    /// `1 added, 2 changed`
    pub(super) fn summary(&self) -> String {
        let changes = [
            ObjectChange::Added,
            ObjectChange::Changed,
            ObjectChange::Renamed,
            ObjectChange::Removed,
        ];
        let counts = changes.map(|change| (self.diff.count(change), change.as_str()));
        let parts = counts.iter().filter(|(count, _)| *count > 0);
        let parts: Vec<String> = parts.map(|(count, what)| format!("{count} {what}")).collect();
        match parts.is_empty() {
            true => "no differences".to_owned(),
            false => parts.join(", "),
        }
    }

    /// The numbers of all objects.
    pub(super) fn total(&self) -> String {
        format!("{}, {} unchanged", self.summary(), self.diff.unchanged)
    }

    /// `nginx:1 → nginx:2`, a line each.
    pub(super) fn images(&self) -> Vec<(Option<&str>, Option<&str>)> {
        let images = self.diff.images.iter();
        images
            .map(|one| (one.from.as_deref(), one.to.as_deref()))
            .collect()
    }

    /// For machines.
    pub(super) fn json(&self) -> String {
        document(self)
    }

    /// The command's result.
    pub(super) fn findings(&self, printer: &Printer, problem: Option<Diagnostics>) -> CommandResult {
        CommandResult::Findings {
            json: match printer.wants_json() {
                true => self.json(),
                false => String::new(),
            },
            text: self.formatted(printer),
            problem,
        }
    }

    /// In the form that standard output gets.
    pub(super) fn formatted(&self, printer: &Printer) -> String {
        match printer.format() {
            OutputFormat::Markdown => markdown(self),
            OutputFormat::Html => page(self),
            _ => text(self, printer.output_style()),
        }
    }
}

/// A sentence about files of `crds/`, if one differs.
fn crds(diff: &ChartDiff) -> Option<String> {
    let is_crd = |one: &&ObjectDiff| {
        let sides = one.from.iter().chain(&one.to);
        sides.into_iter().any(|side| side.role == Role::Crd)
    };
    let what = match diff.objects.iter().filter(is_crd).count() {
        0 => return None,
        1 => "1 CRD of a crds folder differs".to_owned(),
        count => format!("{count} CRDs of crds folders differ"),
    };
    Some(format!("{what}: `helm upgrade` leaves such CRDs as they are"))
}

/// Finds lines of one side, in files where there are some.
struct SideLines<'l> {
    locator: Locator<'l>,
    side: &'l LoadedSide,
    files: BTreeMap<String, String>,
}

impl SideLines<'_> {
    fn line(&mut self, object: &crate::diff::ObjectSide, path: &FieldPath) -> Option<FileLine> {
        let found = self.locator.line(object, path)?;
        Some(self.in_file(found))
    }

    fn nearest_line(&mut self, object: &crate::diff::ObjectSide, path: &FieldPath) -> Option<FileLine> {
        let found = self.locator.nearest_line(object, path)?;
        Some(self.in_file(found))
    }

    fn in_file(&mut self, TemplateLine { template, line, .. }: TemplateLine) -> FileLine {
        let root = &self.side.root;
        let file = self.files.entry(template).or_insert_with_key(|template| {
            let below = template.split_once('/').map(|(_, below)| below);
            let path = root.as_ref().zip(below).map(|(root, below)| root.join(below));
            match path.filter(|path| path.is_file()) {
                Some(path) => path.display().to_string(),
                None => template.clone(),
            }
        });
        FileLine {
            file: file.clone(),
            line,
        }
    }
}
