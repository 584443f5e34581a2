//! An object's changes as the lines of a diff, for text, Markdown and HTML.

use super::diff_document::positions;
use super::diff_report::{DiffReport, FileLine, ObjectLines};
use crate::diff::{Change, ChangeKind, FieldPath, ObjectChange, ObjectDiff, Role};
use crate::draw::printable_but;
use crate::value::Value;
use crate::yaml::{self, Dialect};

/// The most characters of a line that are shown; JSON has all of them.
pub(super) const MAX_LINE: usize = 400;
/// How many characters before the first that differs are shown of lines that are longer.
const LEAD: usize = 60;

/// What a line is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum LineKind {
    /// Which field the next lines are about.
    Field,
    Removed,
    Added,
    /// A line of a text that is the same.
    Same,
    /// A remark.
    Remark,
}

impl LineKind {
    /// What stands before a line, as GitHub's diffs have it.
    pub(super) fn sign(self) -> &'static str {
        match self {
            Self::Field => "@@ ",
            Self::Removed => "- ",
            Self::Added => "+ ",
            Self::Same => "  ",
            Self::Remark => "! ",
        }
    }
}

/// A line, without line breaks and characters that a terminal obeys.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ShownLine {
    pub(super) kind: LineKind,
    pub(super) text: String,
    /// Of a field: where it was printed.
    pub(super) at: Option<String>,
}

/// `Deployment shop`, `Deployment a → Deployment b`
pub(super) fn object_name(one: &ObjectDiff, release: &str) -> String {
    let shown = match (&one.from, &one.to, one.change()) {
        (Some(from), Some(to), ObjectChange::Renamed) => {
            format!("{} → {}", from.id.shown(release), to.id.shown(release))
        }
        (_, Some(side), _) | (Some(side), None, _) => side.id.shown(release),
        (None, None, _) => String::new(),
    };
    printable(&shown)
}

/// What else is known of an object: `apps/v1, hook, shop/templates/a.yaml`.
pub(super) fn object_details(one: &ObjectDiff) -> String {
    let Some(side) = one.side() else {
        return String::new();
    };
    let role = match side.role {
        Role::Crd => "crds folder",
        Role::Hook => "hook",
        Role::Manifest => "",
    };
    let parts = [side.id.api_version.as_str(), role, &side.source];
    let parts = parts.iter().filter(|part| !part.is_empty());
    printable(&parts.copied().collect::<Vec<_>>().join(", "))
}

pub(super) fn printable(text: &str) -> String {
    printable_but(text, &[])
}

/// The lines of what is said once for many objects.
pub(super) fn common_lines(report: &DiffReport) -> Vec<ShownLine> {
    let mut out = Vec::new();
    for (one, at) in report.common() {
        let path = FieldPath::of_keys(&[&one.map, &one.key]);
        out.push(ShownLine {
            kind: LineKind::Field,
            text: cut(&printable(&format!("{path} of {} objects", one.objects)), 0),
            at: at.map(|at| printable(&at)),
        });
        let [from, to] = [&one.from, &one.to].map(|text| Value::from(text.as_str()));
        replaced_lines(&from, &to, &mut out);
    }
    out
}

/// The lines of an object, without what is said once for many.
pub(super) fn object_lines(one: &ObjectDiff, lines: &ObjectLines) -> Vec<ShownLine> {
    let mut out = Vec::new();
    match (&one.from, &one.to) {
        (Some(from), Some(to)) => {
            if from.role != to.role {
                let text = format!("{} → {}", role(from.role), role(to.role));
                out.push(line(LineKind::Remark, &text));
            }
            let changes = one.changes.iter().zip(&lines.changes).zip(&lines.is_common);
            for ((change, at), _) in changes.filter(|(_, is_common)| !**is_common) {
                change_lines(change, at.as_ref(), &mut out);
            }
        }
        (None, Some(side)) => value_lines(LineKind::Added, &side.value, &mut out),
        (Some(side), None) => value_lines(LineKind::Removed, &side.value, &mut out),
        (None, None) => {}
    }
    out
}

fn role(role: Role) -> &'static str {
    match role {
        Role::Crd => "a file of a crds folder",
        Role::Manifest => "an object of the release",
        Role::Hook => "a hook",
    }
}

fn change_lines(one: &Change, at: Option<&FileLine>, out: &mut Vec<ShownLine>) {
    let path = one.path.to_string();
    let path = if path.is_empty() {
        "(all of it)".to_owned()
    } else {
        path
    };
    let at = at.map(|at| printable(&at.shown()));
    let field = |text: String, at: Option<String>| ShownLine {
        kind: LineKind::Field,
        text: cut(&printable(&text), 0),
        at,
    };
    if let ChangeKind::Text(text) = &one.kind {
        for (number, hunk) in text.hunks.iter().enumerate() {
            let head = format!("{path}, line {}", hunk.to_line);
            out.push(field(head, at.clone().filter(|_| number == 0)));
            for one in &hunk.lines {
                let kind = match one.mark {
                    crate::diff::Mark::Same => LineKind::Same,
                    crate::diff::Mark::Removed => LineKind::Removed,
                    crate::diff::Mark::Added => LineKind::Added,
                };
                out.push(line(kind, &one.text));
            }
        }
        return;
    }
    out.push(field(path, at));
    match &one.kind {
        ChangeKind::Added(value) => value_lines(LineKind::Added, value, out),
        ChangeKind::Removed(value) => value_lines(LineKind::Removed, value, out),
        ChangeKind::Replaced { from, to } => replaced_lines(from, to, out),
        ChangeKind::Moved => {
            let (from, to) = positions(one);
            let [from, to] = [from, to].map(|number| number.unwrap_or_default());
            out.push(line(
                LineKind::Remark,
                &format!("moved from position {from} to {to}"),
            ));
        }
        ChangeKind::Text(_) => {}
    }
}

fn line(kind: LineKind, text: &str) -> ShownLine {
    line_from(kind, text, 0)
}

fn line_from(kind: LineKind, text: &str, start: usize) -> ShownLine {
    ShownLine {
        kind,
        text: cut(&printable_but(text, &['\t']), start),
        at: None,
    }
}

/// At most [`MAX_LINE`] characters, from a character on.
fn cut(text: &str, start: usize) -> String {
    if text.len() <= MAX_LINE {
        return text.to_owned();
    }
    let count = text.chars().count();
    if count <= MAX_LINE {
        return text.to_owned();
    }
    let start = start.min(count - MAX_LINE);
    let shown: String = text.chars().skip(start).take(MAX_LINE).collect();
    let rest = count - start - MAX_LINE;
    let before = if start > 0 { "…" } else { "" };
    match rest {
        0 => format!("{before}{shown}"),
        rest => format!("{before}{shown}… ({rest} more characters)"),
    }
}

/// YAML in which long lines are not folded.
fn written(value: &Value) -> String {
    let options = yaml::Options {
        dialect: Dialect::GoYaml3,
        ..yaml::Options::default()
    };
    yaml::write_with(value, &options)
}

fn value_lines(kind: LineKind, value: &Value, out: &mut Vec<ShownLine>) {
    out.extend(written(value).lines().map(|text| line(kind, text)));
}

/// Of long lines, what is near the first character that differs.
fn replaced_lines(from: &Value, to: &Value, out: &mut Vec<ShownLine>) {
    let (older, newer) = (written(from), written(to));
    let is_one_line = |text: &str| text.lines().count() == 1;
    let start = match is_one_line(&older) && is_one_line(&newer) {
        true => {
            let both = older.chars().zip(newer.chars());
            both.take_while(|(one, other)| one == other)
                .count()
                .saturating_sub(LEAD)
        }
        false => 0,
    };
    out.extend(
        older
            .lines()
            .map(|text| line_from(LineKind::Removed, text, start)),
    );
    out.extend(newer.lines().map(|text| line_from(LineKind::Added, text, start)));
}
