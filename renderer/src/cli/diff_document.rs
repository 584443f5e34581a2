//! The result of `diff` as JSON.

use super::diff_report::{DiffReport, DiffedSide, FileLine, ObjectLines};
use crate::diff::{
    Change, ChangeKind, CommonChange, FieldPath, Hunk, ObjectChange, ObjectDiff, ObjectSide, Step,
};
use crate::report::difference::{
    ChangeEntry, CommonChangeEntry, DiffDocument, DiffTotal, DiffedChart, DiffedObject, HunkEntry,
    ImageChangeEntry, ObjectDiffEntry,
};
use crate::report::documents::{AnyValue, Document as _};
use crate::value::Value;

/// The document, one line.
pub(super) fn document(report: &DiffReport) -> String {
    let chart = |side: &DiffedSide| DiffedChart {
        source: side.label.clone(),
        name: side.name.clone(),
        version: side.version.clone(),
        app_version: side.app_version.clone(),
    };
    let diff = &report.diff;
    let images = diff.images.iter().map(|one| ImageChangeEntry {
        from: one.from.clone(),
        to: one.to.clone(),
    });
    DiffDocument {
        from: chart(&report.from),
        to: chart(&report.to),
        total: DiffTotal {
            added: diff.count(ObjectChange::Added),
            changed: diff.count(ObjectChange::Changed),
            renamed: diff.count(ObjectChange::Renamed),
            removed: diff.count(ObjectChange::Removed),
            unchanged: diff.unchanged,
        },
        images: images.collect(),
        notes: match report.is_cluster {
            true => report.notes.clone(),
            // Whoever reads JSON sees the roles.
            false => Vec::new(),
        },
        common: report.common().map(|(one, _)| common_entry(one)).collect(),
        objects: report
            .objects()
            .filter_map(|(one, lines)| entry(one, lines))
            .collect(),
    }
    .to_json()
}

fn common_entry(one: &CommonChange) -> CommonChangeEntry {
    CommonChangeEntry {
        path: FieldPath::of_keys(&[&one.map, &one.key]).to_string(),
        from: one.from.clone(),
        to: one.to.clone(),
        objects: one.objects,
    }
}

fn entry(one: &ObjectDiff, lines: &ObjectLines) -> Option<ObjectDiffEntry> {
    let side = one.side()?;
    let before = one.from.as_ref().filter(|_| one.to.is_some()).map(identity);
    let object = identity(side);
    let is_whole = one.from.is_none() || one.to.is_none();
    let (file, line) = location(lines.object.as_ref());
    let changes = one.changes.iter().zip(&lines.changes);
    Some(ObjectDiffEntry {
        change: one.change().as_str(),
        before: before.filter(|before| *before != object),
        object,
        content: is_whole.then(|| AnyValue(side.value.clone())),
        changes: changes
            .map(|(change, line)| change_entry(change, line.as_ref()))
            .collect(),
        file,
        line,
    })
}

fn identity(side: &ObjectSide) -> DiffedObject {
    let id = side.id.clone();
    DiffedObject {
        api_version: id.api_version,
        kind: id.kind,
        namespace: id.namespace,
        name: id.name,
        role: side.role.as_str(),
        template: side.source.to_string(),
    }
}

fn location(line: Option<&FileLine>) -> (Option<String>, Option<usize>) {
    line.map(|at| (at.file.clone(), at.line)).unzip()
}

fn change_entry(one: &Change, line: Option<&FileLine>) -> ChangeEntry {
    let some = |value: &Value| Some(AnyValue(value.clone()));
    let (change, from, to, hunks) = match &one.kind {
        ChangeKind::Added(value) => ("added", None, some(value), Vec::new()),
        ChangeKind::Removed(value) => ("removed", some(value), None, Vec::new()),
        ChangeKind::Replaced { from, to } => ("replaced", some(from), some(to), Vec::new()),
        ChangeKind::Text(text) => ("text", None, None, text.hunks.iter().map(hunk).collect()),
        ChangeKind::Moved => {
            let (from, to) = positions(one);
            ("moved", position(from), position(to), Vec::new())
        }
    };
    let (file, line) = location(line);
    ChangeEntry {
        path: one.path.to_string(),
        change,
        from,
        to,
        hunks,
        file,
        line,
    }
}

/// The positions of the item that a path ends with, from 0.
pub(super) fn positions(one: &Change) -> (Option<usize>, Option<usize>) {
    match one.path.steps().last() {
        Some(Step::Item { from, to, .. }) => (*from, *to),
        _ => (None, None),
    }
}

fn position(number: Option<usize>) -> Option<AnyValue> {
    let number = number.and_then(|number| i64::try_from(number).ok());
    number.map(|number| AnyValue(number.into()))
}

fn hunk(one: &Hunk) -> HunkEntry {
    let lines = one.lines.iter();
    HunkEntry {
        from_line: one.from_line,
        to_line: one.to_line,
        lines: lines
            .map(|line| format!("{}{}", line.mark.sign(), line.text))
            .collect(),
    }
}
