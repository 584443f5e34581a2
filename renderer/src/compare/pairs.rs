//! Which items of one list belong to which of another: by one key after the other.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

/// Which items of one list belong to which of another.
#[derive(Debug, Default)]
pub(crate) struct Pairs {
    /// By the number in the first list.
    partners: BTreeMap<usize, usize>,
    taken: BTreeSet<usize>,
}

impl Pairs {
    /// The partner of an item of the first list.
    pub(crate) fn partner(&self, number: usize) -> Option<usize> {
        self.partners.get(&number).copied()
    }

    /// Whether one of the second list has a partner.
    pub(crate) fn has_partner(&self, number: usize) -> bool {
        self.taken.contains(&number)
    }

    /// All pairs, in the order of the first list.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (usize, usize)> {
        self.partners.iter().map(|(first, second)| (*first, *second))
    }

    /// The first of the second list that stands before one that it should follow.
    pub(super) fn out_of_order(&self) -> Option<usize> {
        let order: Vec<usize> = self.partners.values().copied().collect();
        order.windows(2).find_map(|two| match two {
            [one, next] if next < one => Some(*next),
            _ => None,
        })
    }

    /// Makes two items partners that have none.
    pub(crate) fn join(&mut self, first: usize, second: usize) {
        self.partners.insert(first, second);
        self.taken.insert(second);
    }

    /// Makes those partners that have most in common, each given with the numbers of both and how much that is. The result
    /// is the same with the lists exchanged.
    pub(crate) fn join_best(&mut self, mut candidates: Vec<(usize, usize, usize)>) {
        candidates.sort_by_key(|(likeness, one, other)| {
            (std::cmp::Reverse(*likeness), *one.min(other), *one.max(other))
        });
        for (_, one, other) in candidates {
            if self.partner(one).is_none() && !self.has_partner(other) {
                self.join(one, other);
            }
        }
    }

    /// Pairs those that are alike and have no partner yet, in order.
    pub(crate) fn add<'t, T, K: Ord>(
        &mut self,
        first: &'t [T],
        second: &'t [T],
        key: impl Fn(&'t T) -> Option<K>,
    ) {
        if self.taken.len() == second.len() {
            return;
        }
        let mut free: BTreeMap<K, VecDeque<usize>> = BTreeMap::new();
        for (number, one) in second.iter().enumerate() {
            // A key may take a parse of the document.
            if self.taken.contains(&number) {
                continue;
            }
            if let Some(key) = key(one) {
                free.entry(key).or_default().push_back(number);
            }
        }
        for (number, one) in first.iter().enumerate() {
            if self.partners.contains_key(&number) {
                continue;
            }
            let partner = key(one).and_then(|key| free.get_mut(&key)?.pop_front());
            if let Some(partner) = partner {
                self.join(number, partner);
            }
        }
    }
}
