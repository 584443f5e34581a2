//! What differs between Helm's own runs: [`MaskedText`].

use std::collections::BTreeSet;
use std::ops::Range;

use similar::{Algorithm, DiffOp, capture_diff_slices};

/// Words of letters and digits of this many characters have the length that the chart asks for: what is shorter may be
/// a number, and what is longer a certificate, whose length varies.
const FIXED_LENGTHS: Range<usize> = 8..101;
/// Texts with more lines are not searched for lines that were moved: it could take minutes.
const MAX_DIFFED_LINES: usize = 20_000;

/// A text of Helm's first run, and what of it differs in the others.
#[derive(Debug)]
pub(super) struct MaskedText<'t> {
    pub(super) lines: Vec<&'t str>,
    masks: Vec<Mask>,
    /// Before which lines other runs have more.
    gaps: BTreeSet<usize>,
    /// The lines that are in another order in other runs.
    shuffled: Option<Range<usize>>,
}

/// What of a line is masked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Mask {
    Nothing,
    /// What is between so many bytes at its beginning and its end.
    Part {
        before: usize,
        after: usize,
        /// Whether there may be nothing.
        empty: bool,
        /// The length that it has in every run.
        length: Option<usize>,
    },
    /// All but its indentation; other runs may have more or fewer lines there.
    Whole,
}

impl<'t> MaskedText<'t> {
    /// From the text of the first run and those of the others.
    pub(super) fn new(base: &'t str, others: &[&str]) -> Self {
        let lines: Vec<&str> = base.split('\n').collect();
        let mut masked = Self {
            masks: vec![Mask::Nothing; lines.len()],
            lines,
            gaps: BTreeSet::new(),
            shuffled: None,
        };
        for other in others {
            masked.add(&other.split('\n').collect::<Vec<_>>());
        }
        masked
    }

    fn add(&mut self, other: &[&str]) {
        let changes = changes(&self.lines, other);
        let removed = changes
            .iter()
            .flat_map(|(own, _)| self.lines.get(own.clone()).unwrap_or_default());
        let added = changes
            .iter()
            .flat_map(|(_, theirs)| other.get(theirs.clone()).unwrap_or_default());
        if let (Some((first, _)), Some((last, _)), true) =
            (changes.first(), changes.last(), is_same_set(removed, added))
        {
            let known = self.shuffled.take().unwrap_or_else(|| first.clone());
            self.shuffled = Some(known.start.min(first.start)..known.end.max(last.end));
            return;
        }
        for (own, theirs) in changes {
            if own.len() == theirs.len() {
                for (number, line) in own.zip(other.get(theirs).unwrap_or_default()) {
                    self.join(number, |base| between(base, line));
                }
                continue;
            }
            self.gaps.extend([own.start, own.end]);
            for number in own {
                self.join(number, |_| Mask::Whole);
            }
        }
    }

    fn join(&mut self, number: usize, mask: impl Fn(&str) -> Mask) {
        if let (Some(line), Some(known)) = (self.lines.get(number), self.masks.get_mut(number)) {
            *known = known.with(mask(line));
        }
    }

    /// Our lines in Helm's order, where Helm has several orders; and how many were moved.
    pub(super) fn in_order<'l>(&self, lines: &[&'l str]) -> (Vec<&'l str>, usize)
    where
        't: 'l,
    {
        let mut all = lines.to_vec();
        let range = self.shuffled.clone().unwrap_or_default();
        let (Some(own), Some(helm)) = (all.get_mut(range.clone()), self.lines.get(range)) else {
            return (all, 0);
        };
        if !is_same_set(own.iter(), helm.iter()) {
            return (all, 0);
        }
        let moved = own.iter().zip(helm).filter(|(own, helm)| own != helm).count();
        own.copy_from_slice(helm);
        (all, moved)
    }

    /// Whether a line is one of Helm's but for what is masked.
    pub(super) fn matches(&self, number: usize, line: &str) -> bool {
        let (Some(base), Some(mask)) = (self.lines.get(number), self.masks.get(number)) else {
            return false;
        };
        match *mask {
            Mask::Nothing => *base == line,
            Mask::Whole => indentation(base) == indentation(line) && !line.trim().is_empty(),
            Mask::Part {
                before,
                after,
                empty,
                length,
            } => {
                let (head, tail) = (base.get(..before), base.get(base.len() - after..));
                let inner = head
                    .and_then(|head| line.strip_prefix(head))
                    .and_then(|rest| rest.strip_suffix(tail?));
                inner.is_some_and(|inner| {
                    (empty || !inner.is_empty()) && length.is_none_or(|length| inner.len() == length)
                })
            }
        }
    }

    /// Whether other runs of Helm's have other lines in place of these, in whatever number.
    pub(super) fn is_open(&self, lines: &Range<usize>) -> bool {
        let is_whole = |number: usize| self.masks.get(number) == Some(&Mask::Whole);
        if lines.is_empty() {
            let before = lines.start.checked_sub(1);
            return self.gaps.contains(&lines.start) || is_whole(lines.start) || before.is_some_and(is_whole);
        }
        lines.clone().all(is_whole)
    }
}

impl Mask {
    /// What either masks.
    fn with(self, other: Self) -> Self {
        match (self, other) {
            (Self::Nothing, one) | (one, Self::Nothing) => one,
            (Self::Whole, _) | (_, Self::Whole) => Self::Whole,
            (
                Self::Part {
                    before: a,
                    after: b,
                    empty: c,
                    length: d,
                },
                Self::Part {
                    before,
                    after,
                    empty,
                    length,
                },
            ) => Self::Part {
                before: a.min(before),
                after: b.min(after),
                empty: c || empty,
                // Of another part it says nothing.
                length: length.filter(|_| d == length && (a, b) == (before, after)),
            },
        }
    }
}

/// The ranges that are not the same.
pub(super) fn changes(one: &[&str], other: &[&str]) -> Vec<(Range<usize>, Range<usize>)> {
    if one.len().max(other.len()) > MAX_DIFFED_LINES {
        let same = |(one, other): &(&&str, &&str)| one == other;
        let start = one.iter().zip(other).take_while(same).count();
        let rest = one.len().min(other.len()) - start;
        let end = one
            .iter()
            .rev()
            .zip(other.iter().rev())
            .take(rest)
            .take_while(same)
            .count();
        return vec![(start..one.len() - end, start..other.len() - end)];
    }
    let operations = capture_diff_slices(Algorithm::Myers, one, other);
    let mut out: Vec<(Range<usize>, Range<usize>)> = Vec::new();
    for operation in operations {
        if matches!(operation, DiffOp::Equal { .. }) {
            continue;
        }
        let (old, new) = (operation.old_range(), operation.new_range());
        match out.last_mut() {
            Some((before, after)) if before.end == old.start && after.end == new.start => {
                before.end = old.end;
                after.end = new.end;
            }
            _ => out.push((old, new)),
        }
    }
    out
}

/// What of a line must be masked so that another fits.
fn between(base: &str, other: &str) -> Mask {
    if base == other {
        return Mask::Nothing;
    }
    let same = |(one, other): &(char, char)| one == other;
    let length = |(one, _): (char, char)| one.len_utf8();
    let before: usize = base.chars().zip(other.chars()).take_while(same).map(length).sum();
    // Back to where the word begins.
    let is_begin = |one: char| one.is_whitespace() || matches!(one, '"' | '\'' | '`' | ',' | '=');
    let head = base.get(..before).unwrap_or_default();
    let before = head.char_indices().rev().find(|(_, one)| is_begin(*one));
    let before = before.map_or(0, |(at, one)| at + one.len_utf8());
    let (rest, other_rest) = (base.get(before..), other.get(before..));
    let (rest, other_rest) = (rest.unwrap_or_default(), other_rest.unwrap_or_default());
    let after: usize = rest
        .chars()
        .rev()
        .zip(other_rest.chars().rev())
        .take_while(same)
        .map(length)
        .sum();
    // On to where the word ends.
    let tail = rest.get(rest.len() - after..).unwrap_or_default();
    let is_end = |one: char| one.is_whitespace() || matches!(one, '"' | '\'' | '`' | ',');
    let after = tail.find(is_end).map_or(0, |at| tail.len() - at);
    if base.get(..before).unwrap_or_default().trim().is_empty() && after == 0 {
        return Mask::Whole;
    }
    let inner = rest.get(..rest.len() - after).unwrap_or_default();
    let other_inner = other_rest.get(..other_rest.len() - after).unwrap_or_default();
    let is_fixed = inner.len() == other_inner.len() && is_generated(inner) && is_generated(other_inner);
    Mask::Part {
        before,
        after,
        empty: inner.is_empty() || other_inner.is_empty(),
        length: is_fixed.then_some(inner.len()),
    }
}

/// Whether its length says something: what is all digits may be any number.
fn is_generated(word: &str) -> bool {
    let word_only = word.trim_end_matches('=');
    FIXED_LENGTHS.contains(&word.len())
        && word_only.bytes().all(|byte| byte.is_ascii_alphanumeric())
        && word_only.bytes().any(|byte| byte.is_ascii_alphabetic())
}

fn indentation(line: &str) -> usize {
    line.len() - line.trim_start().len()
}

/// Whether they are the same lines in any order.
fn is_same_set<'l>(one: impl Iterator<Item = &'l &'l str>, other: impl Iterator<Item = &'l &'l str>) -> bool {
    let (mut one, mut other): (Vec<_>, Vec<_>) = (one.collect(), other.collect());
    one.sort_unstable();
    other.sort_unstable();
    one == other
}
