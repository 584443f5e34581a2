//! The result of `diff` for people, with colors on a terminal.

use std::fmt::Write as _;

use super::diff_lines::{
    LineKind, ShownLine, common_lines, object_details, object_lines, object_name, printable,
};
use super::diff_report::DiffReport;
use crate::diff::ObjectChange;
use crate::draw::Style;

pub(super) const RED: &str = "31";
pub(super) const GREEN: &str = "32";
const YELLOW: &str = "33";
pub(super) const CYAN: &str = "36";
const BOLD: &str = "1";
const DIM: &str = "2";

/// The numbers first, then object by object.
pub(super) fn text(report: &DiffReport, style: Style) -> String {
    let paint = Paint(style == Style::Ansi);
    let mut out = String::new();
    // Writing to a String can't fail.
    let _ = writeln!(
        out,
        "{}: {}",
        paint.with(BOLD, &printable(&report.title())),
        report.total()
    );
    for (from, to) in report.images() {
        let shown = match (from, to) {
            (Some(from), Some(to)) => format!("{from} → {to}"),
            (None, Some(to)) => format!("{to} (new)"),
            (from, None) => format!("{} (no longer used)", from.unwrap_or_default()),
        };
        let _ = writeln!(out, "image {}", printable(&shown));
    }
    for note in &report.notes {
        let _ = writeln!(out, "note: {}", printable(note));
    }
    let common = common_lines(report);
    if !common.is_empty() {
        let _ = writeln!(out, "\n{}", paint.with(YELLOW, "changed in many objects"));
    }
    for line in common {
        paint.line(&line, &mut out);
    }
    for (one, lines) in report.with_own_changes() {
        let color = match one.change() {
            ObjectChange::Added => GREEN,
            ObjectChange::Removed => RED,
            ObjectChange::Changed | ObjectChange::Renamed => YELLOW,
        };
        let head = format!(
            "{} {}",
            one.change().as_str(),
            object_name(one, &report.namespace)
        );
        let details = format!("({})", object_details(one));
        let _ = writeln!(
            out,
            "\n{} {}",
            paint.with(color, &head),
            paint.with(DIM, &details)
        );
        for line in object_lines(one, lines) {
            paint.line(&line, &mut out);
        }
    }
    let others = report.all_common();
    if !others.is_empty() {
        let head = "changed in nothing but what is changed in many objects";
        let _ = writeln!(out, "\n{}", paint.with(YELLOW, head));
    }
    for one in others {
        let _ = writeln!(out, "  {}", object_name(one, &report.namespace));
    }
    out
}

/// Whether there are colors.
pub(super) struct Paint(pub(super) bool);

impl Paint {
    pub(super) fn with(&self, color: &str, text: &str) -> String {
        match self.0 {
            true => format!("\u{1b}[{color}m{text}\u{1b}[0m"),
            false => text.to_owned(),
        }
    }

    fn line(&self, line: &ShownLine, out: &mut String) {
        let ShownLine { kind, text, at } = line;
        let shown = format!("{}{text}", kind.sign());
        let shown = match kind {
            LineKind::Field => self.with(CYAN, &format!("{shown} @@")),
            LineKind::Removed => self.with(RED, &shown),
            LineKind::Added => self.with(GREEN, &shown),
            LineKind::Remark => self.with(YELLOW, &shown),
            LineKind::Same => shown,
        };
        let at = at.as_ref().map(|at| format!(" {}", self.with(DIM, at)));
        let _ = writeln!(out, "  {shown}{}", at.unwrap_or_default());
    }
}
