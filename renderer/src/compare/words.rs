//! Which words of a line differ between Helm's own runs: [`LineMask`].

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use super::mask::{Change, changes};

/// Words of letters and digits of this many characters have the length that the chart asks for: what is shorter may be
/// a number, and what is longer a certificate, whose length varies.
const FIXED_LENGTHS: Range<usize> = 8..101;

/// How many tokens the reading of a clock has: a blank, `m`, `=` and the seconds.
const CLOCK_READING: usize = 4;
/// How many tokens before it the time of day is: the time, a blank, the offset, a blank and the zone.
const TIME_BEFORE_READING: usize = 5;

/// What of a line is masked, by the numbers of its tokens: words, and what stands between them.
#[derive(Debug, Clone, Default)]
pub(super) struct LineMask {
    tokens: BTreeMap<usize, Masked>,
    /// Before which tokens other runs have more.
    gaps: BTreeMap<usize, Masked>,
    /// Whether a run has other words, and not only another order of the same.
    has_new_words: bool,
}

/// What may stand there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Masked {
    /// A word, of the length that it has in every run.
    Word(Option<usize>),
    /// A word or nothing.
    Optional,
    /// Anything.
    Any,
}

impl Masked {
    /// What either masks.
    fn with(self, other: Self) -> Self {
        match (self, other) {
            (Self::Any, _) | (_, Self::Any) => Self::Any,
            (Self::Optional, _) | (_, Self::Optional) => Self::Optional,
            (Self::Word(one), Self::Word(other)) => Self::Word(one.filter(|_| one == other)),
        }
    }
}

impl LineMask {
    /// Masks what of `base` must be masked so that `other` fits.
    pub(super) fn add(&mut self, base: &str, other: &str) {
        let (base, other) = (tokens(base), tokens(other));
        if is_same_shape(&base, &other) {
            let differing = |(_, (one, other)): &(usize, (&&str, &&str))| one != other;
            let differing: Vec<_> = base.iter().zip(&other).enumerate().filter(differing).collect();
            let ones: Vec<&str> = differing.iter().map(|(_, (one, _))| **one).collect();
            let others: Vec<&str> = differing.iter().map(|(_, (_, other))| **other).collect();
            self.has_new_words |= !is_same_set(&ones, &others);
            for (number, (one, other)) in differing {
                mask(&mut self.tokens, number, Masked::Word(fixed_length(one, other)));
            }
            return;
        }
        self.has_new_words = true;
        for (own, theirs) in joined(changes(&base, &other), &base, &other) {
            let [ours, others] = [base.get(own.clone()), other.get(theirs)].map(Option::unwrap_or_default);
            let is_single = |tokens: &[&str]| matches!(tokens, [word] if is_word(word));
            match (ours, others) {
                ([one], [other]) if is_word(one) && is_word(other) => {
                    mask(
                        &mut self.tokens,
                        own.start,
                        Masked::Word(fixed_length(one, other)),
                    );
                }
                ([], added) if is_single(added) => mask(&mut self.gaps, own.start, Masked::Optional),
                ([], _) => mask(&mut self.gaps, own.start, Masked::Any),
                (removed, []) if is_single(removed) => mask(&mut self.tokens, own.start, Masked::Optional),
                _ => own.for_each(|number| mask(&mut self.tokens, number, Masked::Any)),
            }
        }
    }

    /// Whether no word of the line is the same in all runs.
    pub(super) fn is_whole(&self, base: &str) -> bool {
        let mut words = tokens(base).into_iter().enumerate();
        words.all(|(number, token)| token.trim().is_empty() || self.tokens.contains_key(&number))
    }

    /// Whether a line is `base` but for what is masked.
    pub(super) fn matches(&self, base: &str, line: &str) -> bool {
        let (base, line) = (tokens(base), tokens(line));
        self.fits(&base, &line) && (self.has_new_words || is_same_set(&base, &line))
    }

    /// Whether ` m=+0.0123` begins there, behind a time that is masked: the reading of Go's monotonic clock, which
    /// Helm prints with a time and we don't.
    fn is_clock_reading(&self, base: &[&str], number: usize) -> bool {
        let is_masked = |at: usize| self.tokens.contains_key(&at);
        let reading = base.get(number..number + CLOCK_READING);
        let is_reading = matches!(reading, Some([" ", "m", "=", seconds]) if seconds.starts_with(['+', '-']));
        let time = number.checked_sub(TIME_BEFORE_READING);
        is_reading && is_masked(number + CLOCK_READING - 1) && time.is_some_and(is_masked)
    }

    /// Follows all ways in which the tokens can be matched, at once.
    fn fits(&self, base: &[&str], line: &[&str]) -> bool {
        let mut reached = BTreeSet::from([0]);
        let mut skipped = BTreeMap::new();
        for number in 0..=base.len() {
            if self.is_clock_reading(base, number) {
                skipped.insert(number + CLOCK_READING, reached.clone());
            }
            reached.extend(skipped.remove(&number).unwrap_or_default());
            if let Some(gap) = self.gaps.get(&number) {
                reached = gap.after(&reached, line);
            }
            let Some(token) = base.get(number) else { break };
            reached = match self.tokens.get(&number) {
                Some(masked) => masked.after(&reached, line),
                None => step(&reached, line, |own| own == *token),
            };
        }
        reached.contains(&line.len())
    }
}

impl Masked {
    /// How far a line is matched with this.
    fn after(self, reached: &BTreeSet<usize>, line: &[&str]) -> BTreeSet<usize> {
        match self {
            Self::Word(length) => step(reached, line, |word| {
                is_word(word) && length.is_none_or(|length| word.len() == length)
            }),
            Self::Optional => &step(reached, line, is_word) | reached,
            Self::Any => reached
                .first()
                .map_or(0..0, |first| *first..line.len() + 1)
                .collect(),
        }
    }
}

fn step(reached: &BTreeSet<usize>, line: &[&str], fits: impl Fn(&str) -> bool) -> BTreeSet<usize> {
    let next = reached
        .iter()
        .filter(|at| line.get(**at).is_some_and(|token| fits(token)));
    next.map(|at| at + 1).collect()
}

fn mask(masks: &mut BTreeMap<usize, Masked>, number: usize, new: Masked) {
    let known = masks.entry(number).or_insert(new);
    *known = known.with(new);
}

/// Words, and each character between them; blanks are one token. `=` stands between words, but at the end of base64.
fn tokens(line: &str) -> Vec<&str> {
    let mut out = Vec::new();
    let mut rest = line;
    while let Some(first) = rest.chars().next() {
        let length = if first.is_whitespace() {
            rest.len() - rest.trim_start().len()
        } else if is_separator(rest) {
            first.len_utf8()
        } else {
            let mut ends = rest.char_indices().map(|(at, _)| at);
            ends.find(|at| rest.get(*at..).is_some_and(is_separator))
                .unwrap_or(rest.len())
        };
        let (token, after) = rest.split_at(length);
        out.push(token);
        rest = after;
    }
    out
}

/// Whether a text begins with a character that stands between words.
fn is_separator(text: &str) -> bool {
    let mut all = text.chars();
    match all.next() {
        Some('=') => all.next().is_some_and(|next| next != '=' && !is_between(next)),
        first => first.is_some_and(is_between),
    }
}

fn is_between(one: char) -> bool {
    one.is_whitespace()
        || matches!(
            one,
            '"' | '\'' | '`' | ',' | ';' | '[' | ']' | '(' | ')' | '{' | '}'
        )
}

fn is_word(token: &str) -> bool {
    !token.starts_with(is_between) && (token != "=")
}

/// Whether the same stands between the same number of words.
fn is_same_shape(one: &[&str], other: &[&str]) -> bool {
    let same = |(one, other): (&&str, &&str)| one == other || is_word(one) && is_word(other);
    one.len() == other.len() && one.iter().zip(other).all(same)
}

fn is_same_set(one: &[&str], other: &[&str]) -> bool {
    let [mut one, mut other] = [one.to_vec(), other.to_vec()];
    one.sort_unstable();
    other.sort_unstable();
    one == other
}

/// Where the number of words differs, a blank or a comma between two changes is the same by chance.
fn joined(changes: Vec<Change>, base: &[&str], other: &[&str]) -> Vec<Change> {
    let is_one = |(own, theirs): &Change| {
        let words = [base.get(own.clone()), other.get(theirs.clone())];
        words
            .iter()
            .all(|words| matches!(words, Some([word]) if is_word(word)))
    };
    let mut out: Vec<Change> = Vec::new();
    for next in changes {
        if let Some(last) = out.last_mut() {
            let between = base.get(last.0.end..next.0.start).unwrap_or_default();
            let is_same_by_chance = !between.iter().any(|token| is_word(token));
            if is_same_by_chance && !(is_one(last) && is_one(&next)) {
                *last = (last.0.start..next.0.end, last.1.start..next.1.end);
                continue;
            }
        }
        out.push(next);
    }
    out
}

/// Whether the length says something: what is all digits may be any number.
fn fixed_length(one: &str, other: &str) -> Option<usize> {
    let is_generated = |word: &str| {
        let word_only = word.trim_end_matches('=');
        FIXED_LENGTHS.contains(&word.len())
            && word_only.bytes().all(|byte| byte.is_ascii_alphanumeric())
            && word_only.bytes().any(|byte| byte.is_ascii_alphabetic())
    };
    (one.len() == other.len() && is_generated(one) && is_generated(other)).then_some(one.len())
}
