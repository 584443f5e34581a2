//! What differs between two texts, line by line.

use similar::{Algorithm, DiffOp, capture_diff_slices};

/// How many unchanged lines are shown around a difference.
const CONTEXT_LINES: usize = 3;

/// The lines behind `-` (only in the first), `+` (only in the second) or a blank; `…` for unchanged lines that are left out.
pub(super) fn line_diff(old: &str, new: &str) -> Vec<String> {
    let (old, new): (Vec<&str>, Vec<&str>) = (old.lines().collect(), new.lines().collect());
    let mut out = Vec::new();
    let mut push = |sign: char, lines: &[&str]| {
        out.extend(
            lines
                .iter()
                .map(|line| format!("{sign} {line}").trim_end().to_owned()),
        );
    };
    for op in capture_diff_slices(Algorithm::Myers, &old, &new) {
        let removed = old.get(op.old_range()).unwrap_or_default();
        let added = new.get(op.new_range()).unwrap_or_default();
        match op {
            DiffOp::Equal { .. } if removed.len() > 2 * CONTEXT_LINES => {
                push(' ', removed.get(..CONTEXT_LINES).unwrap_or_default());
                push(' ', &["…"]);
                push(
                    ' ',
                    removed.get(removed.len() - CONTEXT_LINES..).unwrap_or_default(),
                );
            }
            DiffOp::Equal { .. } => push(' ', removed),
            _ => {
                push('-', removed);
                push('+', added);
            }
        }
    }
    out
}
