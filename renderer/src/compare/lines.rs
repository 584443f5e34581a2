//! The lines of a document that differ.

use std::ops::Range;

use super::documents::Document;
use super::mask::{MaskedText, changes};
use super::{Difference, DifferenceKind, Position};

/// Every difference, and how many of our lines are the same but for what is masked.
pub(super) fn differing_lines(helm: &MaskedText<'_>, ours: &Document<'_>) -> (Vec<Difference>, usize) {
    let lines: Vec<&str> = ours.text.split('\n').collect();
    let (lines, mut masked) = helm.in_order(&lines);
    let mut found = Vec::new();
    for (theirs, own) in changes(&helm.lines, &lines) {
        let (hidden, rest) = unmasked(helm, &lines, theirs, own);
        masked += hidden;
        found.extend(
            rest.into_iter()
                .map(|(theirs, own)| difference(helm, &lines, ours, theirs, own)),
        );
    }
    (found, masked)
}

type Change = (Range<usize>, Range<usize>);

/// How many lines of a change are masked, and what is left of it.
fn unmasked(
    helm: &MaskedText<'_>,
    lines: &[&str],
    mut theirs: Range<usize>,
    mut own: Range<usize>,
) -> (usize, Vec<Change>) {
    let whole = own.len();
    let matches = |number: usize, line: usize| lines.get(line).is_some_and(|line| helm.matches(number, line));
    while !theirs.is_empty() && !own.is_empty() && matches(theirs.start, own.start) {
        (theirs.start, own.start) = (theirs.start + 1, own.start + 1);
    }
    while !theirs.is_empty() && !own.is_empty() && matches(theirs.end - 1, own.end - 1) {
        (theirs.end, own.end) = (theirs.end - 1, own.end - 1);
    }
    if theirs.is_empty() && own.is_empty() || helm.is_open(&theirs) {
        return (whole.max(1), Vec::new());
    }
    let masked = whole - own.len();
    if theirs.len() != own.len() {
        return (masked, vec![(theirs, own)]);
    }
    let mut rest: Vec<Change> = Vec::new();
    let mut hidden = masked;
    for (number, line) in theirs.zip(own) {
        if matches(number, line) {
            hidden += 1;
            continue;
        }
        match rest.last_mut() {
            Some((before, after)) if before.end == number => {
                before.end = number + 1;
                after.end = line + 1;
            }
            _ => rest.push((number..number + 1, line..line + 1)),
        }
    }
    (hidden, rest)
}

fn difference(
    helm: &MaskedText<'_>,
    lines: &[&str],
    ours: &Document<'_>,
    theirs: Range<usize>,
    own: Range<usize>,
) -> Difference {
    let first = |lines: &[&str], at: &Range<usize>| {
        lines
            .get(at.clone())
            .and_then(|lines| lines.first().copied())
            .map(str::to_owned)
    };
    let column = match (first(&helm.lines, &theirs), first(lines, &own)) {
        (Some(one), Some(other)) => one.chars().zip(other.chars()).take_while(|(a, b)| a == b).count(),
        _ => 0,
    };
    let owned = |lines: &[&str]| lines.iter().map(|&line| line.to_owned()).collect();
    Difference {
        kind: DifferenceKind::Lines,
        source: ours.source.to_owned(),
        document: ours.ordinal,
        object: ours.object(),
        helm: owned(helm.lines.get(theirs).unwrap_or_default()),
        position: Position {
            // Lines that only Helm has follow this one.
            line: if own.is_empty() {
                own.start.saturating_sub(1)
            } else {
                own.start
            },
            column,
        },
        ours: owned(lines.get(own).unwrap_or_default()),
    }
}
