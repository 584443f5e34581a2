//! Who may run a Job: at most so many at once, fair between groups, in order within one.
//!
//! A group is a namespace (of cluster tasks: the owner's). While somebody waits, no slot is free.

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;

use crate::runtime::Key;

/// The slots, who has them, and who waits.
#[derive(Debug)]
pub struct JobSlots {
    limit: usize,
    running: BTreeMap<Key, Held>,
    waiting: BTreeMap<String, BTreeSet<(Timestamp, Key)>>,
    waits: BTreeMap<Key, (String, Timestamp)>,
    /// When each group was last given a slot, in slots given.
    served: BTreeMap<String, u64>,
    given: u64,
}

/// A slot that is taken.
#[derive(Debug)]
struct Held {
    group: String,
    /// Its Job is there; else it may make one.
    job: bool,
}

impl JobSlots {
    /// So many, none of them taken.
    pub fn new(limit: usize) -> Self {
        Self {
            limit,
            running: BTreeMap::new(),
            waiting: BTreeMap::new(),
            waits: BTreeMap::new(),
            served: BTreeMap::new(),
            given: 0,
        }
    }

    /// How many there are.
    pub fn limit(&self) -> usize {
        self.limit
    }

    /// How many are taken, and how many tasks wait.
    pub fn counts(&self) -> (usize, usize) {
        (self.running.len(), self.waits.len())
    }

    /// Takes a slot, or gets in line by the time the task was made.
    pub fn request(&mut self, key: &Key, group: &str, created: Timestamp) -> bool {
        if self.running.contains_key(key) {
            return true;
        }
        if self.running.len() < self.limit && self.waits.is_empty() {
            self.give(key.clone(), group.to_owned());
            return true;
        }
        self.leave_line(key);
        let line = self.waiting.entry(group.to_owned()).or_default();
        line.insert((created, key.clone()));
        self.waits.insert(key.clone(), (group.to_owned(), created));
        false
    }

    /// A Job of this task runs, with a slot or without.
    pub fn occupy(&mut self, key: &Key, group: Option<&str>) {
        self.leave_line(key);
        let held = self.running.entry(key.clone()).or_insert_with(|| Held {
            group: String::new(),
            job: true,
        });
        held.job = true;
        if let Some(group) = group {
            group.clone_into(&mut held.group);
        }
    }

    /// The task could not make a Job now: the next in line needn't wait for it. A Job that is there keeps its slot, and
    /// who is in line stays there. Gives back those who must be woken.
    pub fn give_back(&mut self, key: &Key) -> Vec<Key> {
        match self.running.get(key) {
            Some(held) if !held.job => self.release(key),
            _ => Vec::new(),
        }
    }

    /// The task needs none any more. Gives back those who have one now and must be woken.
    pub fn release(&mut self, key: &Key) -> Vec<Key> {
        self.leave_line(key);
        self.running.remove(key);
        let mut woken = Vec::new();
        while self.running.len() < self.limit
            && let Some((group, key)) = self.next()
        {
            self.leave_line(&key);
            self.give(key.clone(), group);
            woken.push(key);
        }
        woken
    }

    /// The first of the group with the fewest Jobs; among equals, of the one that was served longest ago.
    fn next(&self) -> Option<(String, Key)> {
        let mut busy: BTreeMap<&str, usize> = BTreeMap::new();
        for held in self.running.values() {
            *busy.entry(&held.group).or_default() += 1;
        }
        let rank = |group: &str| {
            let running = busy.get(group).copied().unwrap_or(0);
            (running, self.served.get(group).copied().unwrap_or(0))
        };
        let (group, line) = self.waiting.iter().min_by_key(|(group, _)| rank(group))?;
        let (_, key) = line.first()?;
        Some((group.clone(), key.clone()))
    }

    fn give(&mut self, key: Key, group: String) {
        self.given += 1;
        self.served.insert(group.clone(), self.given);
        self.running.insert(key, Held { group, job: false });
    }

    fn leave_line(&mut self, key: &Key) {
        let Some((group, created)) = self.waits.remove(key) else {
            return;
        };
        if let Some(line) = self.waiting.get_mut(&group) {
            line.remove(&(created, key.clone()));
            if line.is_empty() {
                self.waiting.remove(&group);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::api::Scope;
    use crate::runtime::ObjectName;

    fn key(namespace: &str, number: i64) -> Key {
        let name = format!("t{number:04}");
        Scope::Namespaced.id().key(ObjectName::new(namespace, &name))
    }

    fn ask(slots: &mut JobSlots, namespace: &str, number: i64) -> bool {
        let created = Timestamp::from_second(number).expect("a time");
        slots.request(&key(namespace, number), namespace, created)
    }

    #[test]
    fn first_come_first_served_within_a_namespace() {
        let mut slots = JobSlots::new(1);
        assert!(ask(&mut slots, "a", 9));
        for number in [3, 1, 2] {
            assert!(!ask(&mut slots, "a", number));
        }
        let mut order = Vec::new();
        let mut last = key("a", 9);
        while let [next] = slots.release(&last).as_slice() {
            order.push(next.name.clone());
            last = next.clone();
        }
        assert_eq!(order, ["t0001", "t0002", "t0003"]);
        assert_eq!(slots.counts(), (0, 0));
    }

    #[test]
    fn a_namespace_with_many_tasks_does_not_starve_one_with_few() {
        let mut slots = JobSlots::new(2);
        for number in 0..1000 {
            ask(&mut slots, "many", number);
        }
        for number in 2000..2003 {
            ask(&mut slots, "few", number);
        }
        let mut running = vec![key("many", 0), key("many", 1)];
        let mut served = Vec::new();
        for _ in 0..6 {
            let next = slots.release(&running.remove(0));
            served.extend(next.iter().map(|key| key.namespace.clone()));
            running.extend(next);
        }
        assert_eq!(served, ["few", "many", "few", "many", "few", "many"]);
    }

    #[test]
    fn who_has_a_slot_keeps_it_and_who_runs_anyway_is_counted() {
        let mut slots = JobSlots::new(1);
        assert!(ask(&mut slots, "a", 1) && ask(&mut slots, "a", 1));
        slots.occupy(&key("b", 2), None);
        assert_eq!(slots.counts(), (2, 0));
        assert!(!ask(&mut slots, "a", 3));
        assert!(slots.release(&key("a", 1)).is_empty(), "one is still too many");
        assert_eq!(slots.release(&key("b", 2)), [key("a", 3)]);
    }

    /// A task whose look failed when its turn had come once kept the slot from those behind it.
    #[test]
    fn a_turn_that_comes_to_nothing_is_the_next_ones_and_a_job_keeps_its_slot() {
        let mut slots = JobSlots::new(1);
        for number in 1..=3 {
            ask(&mut slots, "a", number);
        }
        assert!(slots.give_back(&key("a", 3)).is_empty(), "it is in line");
        assert_eq!(slots.give_back(&key("a", 1)), [key("a", 2)]);
        slots.occupy(&key("a", 2), Some("a"));
        assert!(slots.give_back(&key("a", 2)).is_empty());
        assert_eq!(slots.counts(), (1, 1));
        assert_eq!(slots.release(&key("a", 2)), [key("a", 3)]);
    }

    #[test]
    fn asking_twice_is_waiting_once() {
        let mut slots = JobSlots::new(1);
        ask(&mut slots, "a", 1);
        ask(&mut slots, "a", 2);
        ask(&mut slots, "a", 2);
        assert_eq!(slots.counts(), (1, 1));
        slots.release(&key("a", 2));
        assert_eq!(slots.counts(), (1, 0), "a deleted task leaves the line");
    }
}
