//! The lines of a text that differ, with some around them.

use std::ops::Range;

use similar::{Algorithm, DiffOp, capture_diff_slices};

use super::sequence::align;

/// How many lines that are the same are kept around those that are not.
const CONTEXT_LINES: usize = 3;
/// The most lines between which the shortest way from one text to the other is searched: its time grows with their square.
/// Beyond it, lines that stand in both texts in the same order count as the same.
const MAX_SEARCHED_LINES: usize = 4_000;
/// Stands behind the last line of a text without a line break, if the other has one.
const NO_LINE_BREAK: &str = "\\ no line break at the end";

/// The lines that differ between two texts.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct TextDiff {
    /// The parts that differ, from the top.
    pub hunks: Vec<Hunk>,
}

/// A part of two texts that differs.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Hunk {
    /// The first line in the older text, from 1.
    pub from_line: usize,
    /// The first line in the newer text, from 1.
    pub to_line: usize,
    /// Its lines.
    pub lines: Vec<TextLine>,
}

/// A line of a [`Hunk`].
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct TextLine {
    /// Which text has it.
    pub mark: Mark,
    /// The line, without its end.
    pub text: String,
}

/// Which of two texts has a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Mark {
    /// Both.
    Same,
    /// The older.
    Removed,
    /// The newer.
    Added,
}

impl Mark {
    /// As in a unified diff.
    pub fn sign(self) -> char {
        match self {
            Self::Same => ' ',
            Self::Removed => '-',
            Self::Added => '+',
        }
    }
}

/// A range of the older text that is replaced by one of the newer.
type Replaced = (Range<usize>, Range<usize>);

impl TextDiff {
    pub(super) fn new(from: &str, to: &str) -> Self {
        let (mut old, mut new) = (lines(from), lines(to));
        if from.ends_with('\n') != to.ends_with('\n') && !from.is_empty() && !to.is_empty() {
            let shorter = if from.ends_with('\n') { &mut new } else { &mut old };
            shorter.push(NO_LINE_BREAK);
        }
        Self {
            hunks: hunks(&old, &new, &replaced(&old, &new)),
        }
    }

    /// How many lines only one text has.
    pub fn changed_lines(&self) -> usize {
        let lines = self.hunks.iter().flat_map(|hunk| &hunk.lines);
        lines.filter(|line| line.mark != Mark::Same).count()
    }
}

/// The lines of a text without their ends.
fn lines(text: &str) -> Vec<&str> {
    let lines = text.strip_suffix('\n').unwrap_or(text).split('\n');
    lines.take_while(|_| !text.is_empty()).collect()
}

fn replaced(old: &[&str], new: &[&str]) -> Vec<Replaced> {
    let same = |(one, other): &(&&str, &&str)| one == other;
    let start = old.iter().zip(new).take_while(same).count();
    let rest = old.len().min(new.len()) - start;
    let backwards = old.iter().rev().zip(new.iter().rev());
    let end = backwards.take(rest).take_while(same).count();
    let before = old.get(start..old.len() - end).unwrap_or_default();
    let after = new.get(start..new.len() - end).unwrap_or_default();
    let moved = |(one, other): Replaced| {
        (
            one.start + start..one.end + start,
            other.start + start..other.end + start,
        )
    };
    let found = match before.len() + after.len() > MAX_SEARCHED_LINES {
        true => by_alignment(before, after),
        false => by_search(before, after),
    };
    found.into_iter().map(moved).collect()
}

fn by_search(old: &[&str], new: &[&str]) -> Vec<Replaced> {
    let operations = capture_diff_slices(Algorithm::Myers, old, new).into_iter();
    let differing = operations.filter(|operation| !matches!(operation, DiffOp::Equal { .. }));
    differing
        .map(|operation| (operation.old_range(), operation.new_range()))
        .collect()
}

fn by_alignment(old: &[&str], new: &[&str]) -> Vec<Replaced> {
    let kept = align(old, new).kept.into_iter();
    let (mut out, mut done) = (Vec::new(), (0, 0));
    for (from, to) in kept.chain([(old.len(), new.len())]) {
        if done != (from, to) {
            out.push((done.0..from, done.1..to));
        }
        done = (from + 1, to + 1);
    }
    out
}

/// The ranges with lines around them; those that are near each other are one hunk.
fn hunks(old: &[&str], new: &[&str], replaced: &[Replaced]) -> Vec<Hunk> {
    let mut out = Vec::new();
    let near = |one: &Replaced, next: &Replaced| next.0.start - one.0.end <= 2 * CONTEXT_LINES;
    for group in replaced.chunk_by(near) {
        let (Some(first), Some(last)) = (group.first(), group.last()) else {
            continue;
        };
        let lead = first.0.start.min(CONTEXT_LINES);
        let mut hunk = Hunk {
            from_line: first.0.start - lead + 1,
            to_line: first.1.start - lead + 1,
            lines: Vec::new(),
        };
        let mut at = first.0.start - lead;
        for (one, other) in group {
            hunk.add(Mark::Same, old.get(at..one.start));
            hunk.add(Mark::Removed, old.get(one.clone()));
            hunk.add(Mark::Added, new.get(other.clone()));
            at = one.end;
        }
        let end = (last.0.end + CONTEXT_LINES).min(old.len());
        hunk.add(Mark::Same, old.get(at..end));
        out.push(hunk);
    }
    out
}

impl Hunk {
    fn add(&mut self, mark: Mark, lines: Option<&[&str]>) {
        let lines = lines.unwrap_or_default().iter();
        self.lines.extend(lines.map(|&text| TextLine {
            mark,
            text: text.to_owned(),
        }));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(from: &str, to: &str) -> String {
        let found = TextDiff::new(from, to);
        let hunks = found.hunks.iter().map(|hunk| {
            let lines = hunk
                .lines
                .iter()
                .map(|line| format!("{}{}", line.mark.sign(), line.text));
            let lines: Vec<String> = lines.collect();
            format!("{},{}: {}", hunk.from_line, hunk.to_line, lines.join("|"))
        });
        hunks.collect::<Vec<_>>().join(" // ")
    }

    #[test]
    fn lines_that_differ_have_lines_around_them() {
        assert_eq!(shown("a\nb\nc\n", "a\nx\nc\n"), "1,1:  a|-b|+x| c");
        assert_eq!(
            shown("1\n2\n3\n4\n5\n6\n7\n8\n9\n", "1\n2\n3\n4\n5\n6\n7\n8\nx\n"),
            "6,6:  6| 7| 8|-9|+x"
        );
        let long: Vec<String> = (1..30).map(|number| number.to_string()).collect();
        let (from, to) = (
            long.join("\n"),
            long.join("\n").replacen("2\n", "x\n", 1).replace("\n25\n", "\n"),
        );
        assert_eq!(
            shown(&from, &to),
            "1,1:  1|-2|+x| 3| 4| 5 // 22,22:  22| 23| 24|-25| 26| 27| 28"
        );
    }

    #[test]
    fn a_line_break_at_the_end_and_carriage_returns_count() {
        assert_eq!(shown("a\nb", "a\nb\n"), "1,1:  a| b|-\\ no line break at the end");
        assert_eq!(shown("a\nb\n", "a\nb"), "1,1:  a| b|+\\ no line break at the end");
        assert_eq!(shown("a\r\nb\n", "a\nb\n"), "1,1: -a\r|+a| b");
        assert_eq!(shown("", "a\n"), "1,1: +a");
    }

    /// Searching the shortest way between these would take minutes.
    #[test]
    fn huge_texts_are_compared_in_time_that_grows_with_their_length() {
        let text =
            |from: usize| -> String { (from..from + 60_000).map(|n| format!("{}\n", n * 7)).collect() };
        let (from, to) = (text(0), text(30_000));
        assert!(from.lines().count() > MAX_SEARCHED_LINES);
        let found = TextDiff::new(&from, &to);
        assert_eq!(found.changed_lines(), 60_000);
        let other: String = (0..60_000).map(|n| format!("{}\n", 600_000 - n)).collect();
        let found = TextDiff::new(&from, &other);
        assert!(found.changed_lines() >= 100_000, "{}", found.changed_lines());
    }

    #[test]
    fn both_ways_to_compare_give_texts_that_fit() {
        let old: Vec<String> = (0..200).map(|n| (n % 17).to_string()).collect();
        let new: Vec<String> = (0..180).map(|n| (n * 3 % 19).to_string()).collect();
        let strings = |list: &'static [String]| list.iter().map(String::as_str).collect::<Vec<_>>();
        let (old, new) = (strings(old.leak()), strings(new.leak()));
        for found in [by_search(&old, &new), by_alignment(&old, &new)] {
            let (mut made, mut at) = (Vec::new(), 0);
            for (one, other) in found {
                made.extend_from_slice(&old[at..one.start]);
                made.extend_from_slice(&new[other]);
                at = one.end;
            }
            made.extend_from_slice(&old[at..]);
            assert_eq!(made, new);
        }
    }
}
