//! The lines of a document that differ.

use std::borrow::Cow;
use std::ops::Range;

use super::documents::Document;
use super::mask::{Change, MaskedText, changes};
use super::{Difference, DifferenceKind, Position};

/// A document that Helm's first run prints otherwise than we do.
#[derive(Debug)]
pub(super) struct DifferingText<'t> {
    helm: MaskedText<'t>,
    ours: Vec<&'t str>,
    /// From Helm's lines to ours, whatever is masked.
    changes: Vec<Change>,
}

impl<'t> DifferingText<'t> {
    pub(super) fn new(helm: &'t str, ours: &'t str) -> Self {
        let (helm, ours) = (MaskedText::new(helm), ours.split('\n').collect::<Vec<_>>());
        Self {
            changes: changes(&helm.lines, &ours),
            helm,
            ours,
        }
    }

    /// Masks what another run of Helm's prints otherwise.
    pub(super) fn add(&mut self, other: &str) {
        self.helm.add(&other.split('\n').collect::<Vec<_>>());
    }

    /// Every difference, and how many of our lines are the same but for what is masked.
    pub(super) fn differences(&self, ours: &Document<'_>) -> (Vec<Difference>, usize) {
        let (lines, mut masked) = self.helm.in_order(&self.ours, &self.changes);
        let changes = match lines == self.ours {
            true => Cow::Borrowed(&self.changes),
            false => Cow::Owned(changes(&self.helm.lines, &lines)),
        };
        let object = ours.object();
        let mut found = Vec::new();
        for (theirs, own) in changes.iter().cloned() {
            let (hidden, rest) = unmasked(&self.helm, &lines, theirs, own);
            masked += hidden;
            found.extend(rest.into_iter().map(|(theirs, own)| Difference {
                source: ours.source.to_owned(),
                document: ours.ordinal,
                object: object.clone(),
                ..difference(&self.helm, &lines, theirs, own)
            }));
        }
        (found, masked)
    }
}

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

/// Of a document that is not named yet.
fn difference(helm: &MaskedText<'_>, lines: &[&str], theirs: Range<usize>, own: Range<usize>) -> Difference {
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
        source: String::new(),
        document: 0,
        object: String::new(),
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
