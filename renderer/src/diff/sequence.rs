//! Which items of a list are the same in another one, and which of them stand elsewhere: in time that grows with the
//! number of items, not with its square.

use std::collections::{BTreeMap, VecDeque};

/// Two lists side by side.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Alignment {
    /// The pairs of the same items that are in the same order in both lists.
    pub(super) kept: Vec<(usize, usize)>,
    /// The pairs of the same items that stand elsewhere.
    pub(super) moved: Vec<(usize, usize)>,
}

/// Pairs items with the same key, the first with the first.
pub(super) fn align<K: Ord>(from: &[K], to: &[K]) -> Alignment {
    let mut free: BTreeMap<&K, VecDeque<usize>> = BTreeMap::new();
    for (number, key) in to.iter().enumerate() {
        free.entry(key).or_default().push_back(number);
    }
    let pairs = from.iter().enumerate();
    let pairs: Vec<(usize, usize)> = pairs
        .filter_map(|(number, key)| Some((number, free.get_mut(key)?.pop_front()?)))
        .collect();
    split(pairs)
}

/// Splits pairs, in the order of the first list, by whether they keep the order of the second: as few as possible have
/// moved.
pub(super) fn split(pairs: Vec<(usize, usize)>) -> Alignment {
    // The longest increasing subsequence: for each length the pair that ends one, with the pair before it.
    let mut ends: Vec<usize> = Vec::new();
    let mut before: Vec<Option<usize>> = Vec::with_capacity(pairs.len());
    let target = |index: usize| pairs.get(index).map_or(usize::MAX, |(_, to)| *to);
    for (index, (_, to)) in pairs.iter().enumerate() {
        let length = ends.partition_point(|end| target(*end) < *to);
        before.push(length.checked_sub(1).and_then(|last| ends.get(last).copied()));
        match ends.get_mut(length) {
            Some(end) => *end = index,
            None => ends.push(index),
        }
    }
    let mut stays = vec![false; pairs.len()];
    let mut current = ends.last().copied();
    while let Some(index) = current {
        if let Some(one) = stays.get_mut(index) {
            *one = true;
        }
        current = before.get(index).copied().flatten();
    }
    let marked = pairs.into_iter().zip(stays);
    let (kept, moved): (Vec<_>, Vec<_>) = marked.partition(|(_, stays)| *stays);
    let pairs = |list: Vec<((usize, usize), bool)>| list.into_iter().map(|(pair, _)| pair).collect();
    Alignment {
        kept: pairs(kept),
        moved: pairs(moved),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn aligned(from: &str, to: &str) -> (String, String) {
        let letters = |text: &str| text.chars().collect::<Vec<char>>();
        let found = align(&letters(from), &letters(to));
        let named = |pairs: &[(usize, usize)]| {
            let names = pairs.iter().filter_map(|(at, _)| from.chars().nth(*at));
            names.collect::<String>()
        };
        (named(&found.kept), named(&found.moved))
    }

    #[test]
    fn as_few_items_as_possible_have_moved() {
        for (from, to, kept, moved) in [
            ("abc", "abc", "abc", ""),
            ("abc", "cab", "ab", "c"),
            ("abcde", "xaybcz", "abc", ""),
            ("abcd", "dcba", "a", "bcd"),
            ("aab", "ab", "ab", ""),
            ("", "ab", "", ""),
            ("ab", "cd", "", ""),
        ] {
            let (stays, goes) = aligned(from, to);
            assert_eq!(stays.len(), kept.len(), "{from} {to}: {stays} {goes}");
            assert_eq!(goes.len(), moved.len(), "{from} {to}: {stays} {goes}");
        }
    }
}
