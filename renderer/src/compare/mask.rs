//! What differs between Helm's own runs: [`MaskedText`].

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::ops::Range;

use similar::{Algorithm, DiffOp, capture_diff_slices};

use super::words::LineMask;

/// Texts with more lines are not searched for lines that were moved: it could take minutes.
const MAX_DIFFED_LINES: usize = 20_000;
/// Lines of at least this many characters that are all one generated word are those of an encoded text, as a
/// certificate, which may have another number of lines in each run.
const ENCODED_WIDTH: usize = 60;

/// A text of Helm's first run, and what of it differs in the others.
#[derive(Debug)]
pub(super) struct MaskedText<'t> {
    pub(super) lines: Vec<&'t str>,
    masks: Vec<Mask>,
    /// Before which lines other runs have more.
    gaps: BTreeSet<usize>,
    /// The lines that are in another order in other runs; the ranges don't overlap.
    shuffled: Vec<Range<usize>>,
}

/// What of a line is masked.
#[derive(Debug, Clone)]
enum Mask {
    Nothing,
    Words(LineMask),
    /// All but its indentation; other runs may have more or fewer lines there.
    Whole,
}

/// A range of lines or words, and what is there in its stead.
pub(super) type Change = (Range<usize>, Range<usize>);

impl<'t> MaskedText<'t> {
    /// From the text of the first run, with nothing masked yet.
    pub(super) fn new(base: &'t str) -> Self {
        let lines: Vec<&str> = base.split('\n').collect();
        Self {
            masks: vec![Mask::Nothing; lines.len()],
            lines,
            gaps: BTreeSet::new(),
            shuffled: Vec::new(),
        }
    }

    /// Masks what differs in another run.
    pub(super) fn add(&mut self, other: &[&str]) {
        let changes = changes(&self.lines, other);
        let moved = Moved::new(&self.lines, other, &changes);
        for (own, theirs) in changes {
            let (start, end) = (own.start, own.end);
            let own: Vec<usize> = own.filter(|number| !moved.own.contains(number)).collect();
            let theirs: Vec<&str> = theirs
                .filter(|number| !moved.theirs.contains(number))
                .filter_map(|number| other.get(number).copied())
                .collect();
            if own.len() != theirs.len() {
                self.gaps.extend([start, end]);
                own.into_iter().for_each(|number| self.mask_whole(number));
                continue;
            }
            let is_encoded = own.len() > 1 && theirs.iter().any(|line| line.trim().len() >= ENCODED_WIDTH);
            for (number, line) in own.into_iter().zip(theirs) {
                self.mask_words(number, line, is_encoded);
            }
        }
        moved.ranges.into_iter().for_each(|range| self.shuffle(range));
    }

    fn mask_whole(&mut self, number: usize) {
        if let Some(mask) = self.masks.get_mut(number) {
            *mask = Mask::Whole;
        }
    }

    fn mask_words(&mut self, number: usize, line: &str, is_encoded: bool) {
        let (Some(base), Some(mask)) = (self.lines.get(number), self.masks.get_mut(number)) else {
            return;
        };
        let mut words = match mask {
            Mask::Nothing => LineMask::default(),
            Mask::Words(words) => std::mem::take(words),
            Mask::Whole => return,
        };
        words.add(base, line);
        *mask = match is_encoded && words.is_whole(base) {
            true => Mask::Whole,
            false => Mask::Words(words),
        };
    }

    fn shuffle(&mut self, mut range: Range<usize>) {
        self.shuffled.retain(|known| {
            let is_apart = known.end < range.start || range.end < known.start;
            if !is_apart {
                range = known.start.min(range.start)..known.end.max(range.end);
            }
            is_apart
        });
        self.shuffled.push(range);
    }

    /// Our lines in Helm's order, where Helm has several orders; and how many were moved. `changes` are those from Helm's
    /// lines to ours.
    pub(super) fn in_order<'l>(&self, lines: &[&'l str], changes: &[Change]) -> (Vec<&'l str>, usize) {
        let mut all = lines.to_vec();
        let mut moved = 0;
        for range in &self.shuffled {
            let Some((start, aligned)) = self.best_aligned(range, &all, changes) else {
                continue;
            };
            for (line, own) in all.iter_mut().skip(start).zip(aligned.lines) {
                moved += usize::from(own.is_matched && *line != own.text);
                *line = own.text;
            }
        }
        (all, moved)
    }

    /// Those of our lines that are most like a range of Helm's: with as many as possible that fit, and as few as possible
    /// that don't.
    fn best_aligned<'l>(
        &self,
        range: &Range<usize>,
        lines: &[&'l str],
        changes: &[Change],
    ) -> Option<(usize, AlignedLines<'l>)> {
        let mut best: Option<(usize, AlignedLines<'l>)> = None;
        for own in self.windows(range, lines.len(), changes) {
            let Some(window) = lines.get(own.clone()) else {
                continue;
            };
            let aligned = self.align(range, window);
            let rank = |one: &AlignedLines<'_>| (one.matched, std::cmp::Reverse(one.lines.len()));
            let is_better = best.as_ref().is_none_or(|(_, best)| rank(&aligned) > rank(best));
            if aligned.matched > 0 && is_better {
                best = Some((own.start, aligned));
            }
        }
        best
    }

    /// Where a range of lines may be in ours: behind the line before it, ahead of the one after it, and between both.
    fn windows(&self, range: &Range<usize>, count: usize, changes: &[Change]) -> [Range<usize>; 3] {
        let is_same = |number: &usize| {
            let next = changes.partition_point(|(own, _)| own.start <= *number);
            let last = next.checked_sub(1).and_then(|last| changes.get(last));
            last.is_none_or(|(own, _)| !own.contains(number))
        };
        let position = |number: usize| {
            let before = changes.iter().rev().find(|(own, _)| own.end <= number);
            before.map_or(number, |(own, theirs)| theirs.end + (number - own.end))
        };
        let before = (0..range.start).rev().find(is_same);
        let first = before.map_or(range.start, |line| position(line) + (range.start - line));
        let after = (range.end..self.lines.len()).find(is_same);
        let end = after.map_or(count, position);
        let end = end.saturating_sub(after.unwrap_or(self.lines.len()) - range.end);
        [
            first..first + range.len(),
            end.saturating_sub(range.len())..end,
            first..end.max(first),
        ]
    }

    /// Our lines in the order of Helm's. Those that fit none of Helm's, even with a mask, are where one of Helm's has
    /// none that fits, or at the end.
    fn align<'l>(&self, range: &Range<usize>, own: &[&'l str]) -> AlignedLines<'l> {
        let mut free: BTreeMap<&str, VecDeque<usize>> = BTreeMap::new();
        for (at, line) in own.iter().enumerate() {
            free.entry(line).or_default().push_back(at);
        }
        let mut take = |line: &&str| free.get_mut(*line)?.pop_front();
        let theirs = self.lines.get(range.clone()).unwrap_or_default();
        let mut partners: Vec<Option<usize>> = theirs.iter().map(&mut take).collect();
        let mut left: BTreeSet<usize> = free.into_values().flatten().collect();
        for (partner, number) in partners.iter_mut().zip(range.clone()) {
            if partner.is_some() || matches!(self.masks.get(number), Some(Mask::Nothing)) {
                continue;
            }
            let fits = |at: &usize| own.get(*at).is_some_and(|line| self.matches(number, line));
            *partner = left.iter().copied().find(fits);
            partner.map(|at| left.remove(&at));
        }
        let matched = partners.iter().flatten().count();
        let mut left = left.into_iter();
        let mut order: Vec<(usize, bool)> = Vec::with_capacity(own.len());
        for partner in partners {
            let next = partner.map(|at| (at, true));
            order.extend(next.or_else(|| Some((left.next()?, false))));
        }
        order.extend(left.map(|at| (at, false)));
        let lines = order.into_iter().filter_map(|(at, is_matched)| {
            let text = own.get(at)?;
            Some(AlignedLine { text, is_matched })
        });
        AlignedLines {
            lines: lines.collect(),
            matched,
        }
    }

    /// Whether a line is one of Helm's but for what is masked.
    pub(super) fn matches(&self, number: usize, line: &str) -> bool {
        let (Some(base), Some(mask)) = (self.lines.get(number), self.masks.get(number)) else {
            return false;
        };
        match mask {
            Mask::Nothing => *base == line,
            Mask::Whole => indentation(base) == indentation(line) && !line.trim().is_empty(),
            Mask::Words(words) => words.matches(base, line),
        }
    }

    /// Whether other runs of Helm's have other lines in place of these, in whatever number.
    pub(super) fn is_open(&self, lines: &Range<usize>) -> bool {
        let is_whole = |number: usize| matches!(self.masks.get(number), Some(Mask::Whole));
        if lines.is_empty() {
            let before = lines.start.checked_sub(1);
            return self.gaps.contains(&lines.start) || is_whole(lines.start) || before.is_some_and(is_whole);
        }
        lines.clone().all(is_whole)
    }
}

/// Our lines in the order of Helm's.
struct AlignedLines<'l> {
    lines: Vec<AlignedLine<'l>>,
    /// How many lines of Helm's have one that fits.
    matched: usize,
}

struct AlignedLine<'l> {
    text: &'l str,
    is_matched: bool,
}

/// The lines that another run has, too, but elsewhere.
#[derive(Debug, Default)]
struct Moved {
    own: BTreeSet<usize>,
    theirs: BTreeSet<usize>,
    /// Of our lines, from the first to the last change that a line was moved between.
    ranges: Vec<Range<usize>>,
}

impl Moved {
    fn new(lines: &[&str], other: &[&str], changes: &[Change]) -> Self {
        let mut moved = Self::default();
        let mut free: BTreeMap<&str, VecDeque<(usize, &Range<usize>)>> = BTreeMap::new();
        for (own, _) in changes {
            for number in own.clone() {
                let line = lines.get(number).filter(|line| !line.trim().is_empty());
                if let Some(line) = line {
                    free.entry(line).or_default().push_back((number, own));
                }
            }
        }
        for (own, theirs) in changes {
            for number in theirs.clone() {
                let found = other.get(number).and_then(|line| free.get_mut(line)?.pop_front());
                let Some((from, range)) = found else { continue };
                moved.own.insert(from);
                moved.theirs.insert(number);
                moved
                    .ranges
                    .push(own.start.min(range.start)..own.end.max(range.end));
            }
        }
        moved
    }
}

/// The ranges that are not the same.
pub(super) fn changes(one: &[&str], other: &[&str]) -> Vec<Change> {
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
    let mut out: Vec<Change> = Vec::new();
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

fn indentation(line: &str) -> usize {
    line.len() - line.trim_start().len()
}
