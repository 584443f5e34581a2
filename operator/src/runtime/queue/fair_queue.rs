//! A queue of keys: groups take turns, first in first out within a group.

use std::collections::{BTreeMap, VecDeque};

use crate::runtime::key::Key;

/// One queue.
#[derive(Debug, Default)]
pub(super) struct FairQueue {
    /// Groups with keys, in the order of their turns.
    turns: VecDeque<String>,
    keys: BTreeMap<String, VecDeque<Key>>,
}

impl FairQueue {
    pub(super) fn push(&mut self, group: &str, key: Key) {
        let keys = self.keys.entry(group.to_owned()).or_default();
        if keys.is_empty() {
            self.turns.push_back(group.to_owned());
        }
        keys.push_back(key);
    }

    pub(super) fn pop(&mut self) -> Option<Key> {
        let group = self.turns.pop_front()?;
        let keys = self.keys.get_mut(&group)?;
        let key = keys.pop_front();
        if keys.is_empty() {
            self.keys.remove(&group);
        } else {
            self.turns.push_back(group);
        }
        key
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::runtime::key::ObjectName;
    use crate::runtime::test_kinds::LAMPS;

    #[test]
    fn groups_take_turns() {
        let mut line = FairQueue::default();
        let key = |name: &str| LAMPS.key(ObjectName::new("", name));
        for (group, name) in [
            ("many", "m1"),
            ("many", "m2"),
            ("many", "m3"),
            ("few", "f1"),
            ("one", "o1"),
        ] {
            line.push(group, key(name));
        }
        let order: Vec<_> = std::iter::from_fn(|| line.pop()).map(|key| key.name).collect();
        assert_eq!(order, ["m1", "f1", "o1", "m2", "m3"]);
        line.push("few", key("f2"));
        assert_eq!(line.pop(), Some(key("f2")));
        assert_eq!(line.pop(), None);
    }
}
