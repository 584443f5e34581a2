//! The result of `diff` as a pull request's comment: the numbers, the images, and each object in a fold.
//!
//! GitHub and GitLab refuse long comments: what does not fit is counted, and the first lines of each object come before
//! the rest of any.

use std::fmt::Write as _;

use super::diff_lines::{
    LineKind, ShownLine, common_lines, object_details, object_lines, object_name, printable,
};
use super::diff_report::DiffReport;
use super::xml::escaped;

/// The comment is shorter than this, in bytes and so in characters: GitHub takes 65,536.
pub(super) const MAX_COMMENT: usize = 60_000;
/// What is kept for the last sentence.
const RESERVED: usize = 500;
/// The most bytes of one object's lines.
const MAX_OBJECT: usize = 10_000;
/// The most images that are listed.
const MAX_IMAGES: usize = 50;
/// The most characters of a name or a title.
const MAX_NAME: usize = 300;
/// Tools find their comment by it.
const MARK: &str = "<!-- solar-render diff -->\n";

/// The comment.
pub(super) fn markdown(report: &DiffReport) -> String {
    let mut out = head(report);
    let common = common_lines(report);
    if !common.is_empty() {
        let summary = "changed in many objects";
        out.push_str(&fold(summary, &common, MAX_OBJECT).unwrap_or_default());
    }
    // What is short comes first: it is the rest of what stands above.
    out.push_str(&others(report));
    let objects: Vec<_> = report.with_own_changes().collect();
    for (number, (one, lines)) in objects.iter().enumerate() {
        let lines = object_lines(one, lines);
        let summary = format!(
            "{} {} <sub>{}</sub>",
            one.change().as_str(),
            code(&object_name(one, &report.namespace)),
            code(&object_details(one))
        );
        let room = (MAX_COMMENT - RESERVED).saturating_sub(out.len());
        let Some(block) = fold(&summary, &lines, room.min(MAX_OBJECT)) else {
            let _ = writeln!(
                out,
                "\n{} more objects differ: `solar-render diff` prints them, and `-o html` makes a page of them.",
                objects.len() - number
            );
            break;
        };
        out.push_str(&block);
    }
    out
}

/// The names of objects with no changes but those of many objects.
fn others(report: &DiffReport) -> String {
    let others = report.all_common();
    if others.is_empty() {
        return String::new();
    }
    let mut out = format!(
        "\n<details><summary>{} objects with no other changes</summary>\n\n",
        others.len()
    );
    for (number, one) in others.iter().enumerate() {
        if out.len() > MAX_OBJECT {
            let _ = writeln!(out, "- … and {} more", others.len() - number);
            break;
        }
        let _ = writeln!(out, "- {}", code(&object_name(one, &report.namespace)));
    }
    out.push_str("\n</details>\n");
    out
}

fn head(report: &DiffReport) -> String {
    let mut out = MARK.to_owned();
    // Writing to a String can't fail.
    let _ = writeln!(out, "### {}\n", code(&report.title()));
    let _ = writeln!(
        out,
        "**{}**, {} unchanged",
        report.summary(),
        report.diff.unchanged
    );
    let images = report.images();
    if !images.is_empty() {
        out.push_str("\n| image | |\n|---|---|\n");
    }
    for (from, to) in images.iter().take(MAX_IMAGES) {
        let _ = match (from, to) {
            (Some(from), Some(to)) => writeln!(out, "| {} | → {} |", code(from), code(to)),
            (None, Some(to)) => writeln!(out, "| {} | new |", code(to)),
            (from, None) => writeln!(out, "| {} | no longer used |", code(from.unwrap_or_default())),
        };
    }
    if let Some(more) = images.len().checked_sub(MAX_IMAGES).filter(|more| *more > 0) {
        let _ = writeln!(out, "| {more} more | |");
    }
    for note in &report.notes {
        let _ = writeln!(out, "\n> {}", escaped(&printable(note)));
    }
    out
}

/// A text that Markdown and HTML leave as it is: no link, no mention, no table's border.
fn code(text: &str) -> String {
    let text: String = printable(text).chars().take(MAX_NAME).collect();
    format!("<code>{}</code>", neutral(&text))
}

/// Escapes what Markdown would read, as references to characters.
fn neutral(text: &str) -> String {
    let mut out = String::new();
    for char in escaped(text).chars() {
        match char {
            '|' | '*' | '_' | '`' | '[' | ']' | '@' | '#' | '\\' | '~' | ':' => {
                let _ = write!(out, "&#{};", u32::from(char));
            }
            char => out.push(char),
        }
    }
    out
}

/// Lines in a fold of at most `room` bytes; none if not even its head fits.
fn fold(summary: &str, lines: &[ShownLine], room: usize) -> Option<String> {
    let fence = "`".repeat(longest_run(lines).max(2) + 1);
    let mut out = format!("\n<details><summary>{summary}</summary>\n\n{fence}diff\n");
    let end = format!("{fence}\n\n</details>\n");
    let more = "! … and 1234567890 more lines\n".len();
    if out.len() + end.len() + more > room {
        return None;
    }
    for (number, line) in lines.iter().enumerate() {
        let shown = shown(line);
        if out.len() + shown.len() + end.len() + more > room {
            let _ = writeln!(out, "! … and {} more lines", lines.len() - number);
            break;
        }
        out.push_str(&shown);
    }
    out.push_str(&end);
    Some(out)
}

fn shown(line: &ShownLine) -> String {
    let ShownLine { kind, text, at } = line;
    let at = at.as_ref().map(|at| format!(" {at}")).unwrap_or_default();
    match kind {
        LineKind::Field => format!("{}{text} @@{at}\n", kind.sign()),
        _ => format!("{}{text}\n", kind.sign()),
    }
}

/// The longest run of backticks, which would end a fence of as many.
fn longest_run(lines: &[ShownLine]) -> usize {
    let texts = lines
        .iter()
        .flat_map(|line| std::iter::once(&line.text).chain(&line.at));
    let runs = texts.flat_map(|text| text.split(|char| char != '`').map(str::len));
    runs.max().unwrap_or(0)
}
