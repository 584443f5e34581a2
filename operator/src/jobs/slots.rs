//! Who may run a Job: at most so many at once, in all and in a group, fair between groups, in order within one.
//!
//! A group is a namespace (of cluster tasks: the owner's). While a slot is free, nobody waits but those of groups that
//! have as many Jobs as a group may have.

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;

use crate::runtime::Key;

/// The slots, their holders, and the waiting objects.
#[derive(Debug)]
pub struct JobSlots {
    limits: JobLimits,
    running: BTreeMap<Key, Held>,
    waiting: BTreeMap<String, BTreeSet<(Timestamp, Key)>>,
    waits: BTreeMap<Key, (String, Timestamp)>,
    /// When each group last got a slot, as a count of the slots handed out.
    served: BTreeMap<String, u64>,
    given: u64,
}

/// How many Jobs run at once.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct JobLimits {
    /// In all.
    pub all: usize,
    /// In a group; `None`: as many as in all.
    pub group: Option<usize>,
}

/// The limit that keeps somebody waiting.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReachedLimit {
    /// So many Jobs run in all.
    All(usize),
    /// So many Jobs of the group run.
    Group(usize),
}

/// A slot that is taken.
#[derive(Debug)]
struct Held {
    group: String,
    /// Whether its Job exists; otherwise it may create one.
    job: bool,
}

impl JobSlots {
    /// `limit` free slots.
    pub fn new(limits: JobLimits) -> Self {
        Self {
            limits,
            running: BTreeMap::new(),
            waiting: BTreeMap::new(),
            waits: BTreeMap::new(),
            served: BTreeMap::new(),
            given: 0,
        }
    }

    /// What those of a group wait for.
    pub fn reached_limit(&self, group: &str) -> ReachedLimit {
        match self.limits.group {
            Some(limit) if self.running_of(group) >= limit => ReachedLimit::Group(limit),
            _ => ReachedLimit::All(self.limits.all),
        }
    }

    /// The number of slots in use, and of waiting objects.
    pub fn counts(&self) -> (usize, usize) {
        (self.running.len(), self.waits.len())
    }

    /// Takes a slot, or queues the object by its creation time. Returns whether it has a slot.
    pub fn request(&mut self, key: &Key, group: &str, created: Timestamp) -> bool {
        if self.running.contains_key(key) {
            return true;
        }
        // Whoever waits while a slot is free has a group that is full.
        if self.running.len() < self.limits.all && !self.is_full(self.running_of(group)) {
            self.give(key.clone(), group.to_owned());
            return true;
        }
        self.leave_line(key);
        let line = self.waiting.entry(group.to_owned()).or_default();
        line.insert((created, key.clone()));
        self.waits.insert(key.clone(), (group.to_owned(), created));
        false
    }

    /// Records that a Job of this object runs, whether or not it had a slot.
    pub fn occupy(&mut self, key: &Key, group: &str) {
        self.leave_line(key);
        let held = Held {
            group: group.to_owned(),
            job: true,
        };
        self.running.insert(key.clone(), held);
    }

    /// The object could not create a Job now: its slot goes to the next waiting object. An existing Job keeps its slot,
    /// and a waiting object keeps its position. Returns the objects to wake.
    pub fn give_back(&mut self, key: &Key) -> Vec<Key> {
        match self.running.get(key) {
            Some(held) if !held.job => self.release(key),
            _ => Vec::new(),
        }
    }

    /// The object needs no slot any more. Returns the objects that got one and must be woken.
    pub fn release(&mut self, key: &Key) -> Vec<Key> {
        self.leave_line(key);
        self.running.remove(key);
        let mut woken = Vec::new();
        while self.running.len() < self.limits.all
            && let Some((group, key)) = self.next()
        {
            self.leave_line(&key);
            self.give(key.clone(), group);
            woken.push(key);
        }
        self.forget_idle();
        woken
    }

    /// Forgets when groups were served that neither run nor wait, so that the memory is bounded by the objects that do:
    /// anybody who may create a ClusterRenderTask names a group.
    fn forget_idle(&mut self) {
        let busy: BTreeSet<&str> = self.running.values().map(|held| held.group.as_str()).collect();
        let waiting = &self.waiting;
        self.served
            .retain(|group, _| busy.contains(group.as_str()) || waiting.contains_key(group));
    }

    /// The first of the group with the fewest Jobs that may have one more; among equals, of the one that was served
    /// longest ago.
    fn next(&self) -> Option<(String, Key)> {
        let mut busy: BTreeMap<&str, usize> = BTreeMap::new();
        for held in self.running.values() {
            *busy.entry(&held.group).or_default() += 1;
        }
        let running = |group: &str| busy.get(group).copied().unwrap_or(0);
        let rank = |group: &str| (running(group), self.served.get(group).copied().unwrap_or(0));
        let waiting = self.waiting.iter();
        let waiting = waiting.filter(|(group, _)| !self.is_full(running(group)));
        let (group, line) = waiting.min_by_key(|(group, _)| rank(group))?;
        let (_, key) = line.first()?;
        Some((group.clone(), key.clone()))
    }

    fn running_of(&self, group: &str) -> usize {
        let running = self.running.values();
        running.filter(|held| held.group == group).count()
    }

    /// Whether a group with so many Jobs may have no more.
    fn is_full(&self, running: usize) -> bool {
        self.limits.group.is_some_and(|limit| running >= limit)
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

    fn slots(all: usize, group: Option<usize>) -> JobSlots {
        JobSlots::new(JobLimits { all, group })
    }

    /// A ClusterRenderTask names its group freely.
    #[test]
    fn idle_groups_are_forgotten() {
        let mut slots = slots(1, None);
        for number in 0..100 {
            let namespace = format!("n{number}");
            assert!(ask(&mut slots, &namespace, number));
            slots.release(&key(&namespace, number));
        }
        assert_eq!(slots.served, BTreeMap::new());
        assert!(ask(&mut slots, "a", 1) && !ask(&mut slots, "b", 2));
        slots.release(&key("a", 1));
        assert_eq!(slots.served.keys().collect::<Vec<_>>(), ["b"]);
    }

    fn ask(slots: &mut JobSlots, namespace: &str, number: i64) -> bool {
        let created = Timestamp::from_second(number).expect("a time");
        slots.request(&key(namespace, number), namespace, created)
    }

    #[test]
    fn first_come_first_served_within_a_namespace() {
        let mut slots = slots(1, None);
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
        let mut slots = slots(2, None);
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
    fn a_namespace_has_no_more_jobs_than_its_limit_and_others_go_on() {
        let mut slots = slots(4, Some(2));
        assert!(ask(&mut slots, "a", 1) && ask(&mut slots, "a", 2));
        assert!(!ask(&mut slots, "a", 3));
        assert_eq!(slots.reached_limit("a"), ReachedLimit::Group(2));
        // Slots are free, but not for the one that waits.
        assert!(ask(&mut slots, "b", 4) && ask(&mut slots, "c", 5));
        assert!(!ask(&mut slots, "b", 6));
        assert_eq!(slots.reached_limit("b"), ReachedLimit::All(4));
        assert_eq!(
            slots.release(&key("c", 5)),
            [key("b", 6)],
            "a has as many as it may"
        );
        assert!(!ask(&mut slots, "c", 7));
        assert_eq!(
            slots.release(&key("a", 1)),
            [key("c", 7)],
            "fair between those that may"
        );
        assert_eq!(slots.release(&key("b", 4)), [key("a", 3)]);
        assert_eq!(slots.counts(), (4, 0));
    }

    /// Jobs that a restarted operator finds count for their namespaces.
    #[test]
    fn jobs_that_run_already_count_for_their_namespace() {
        let mut slots = slots(4, Some(1));
        slots.occupy(&key("a", 1), "a");
        assert!(!ask(&mut slots, "a", 2) && ask(&mut slots, "b", 3));
        assert_eq!(slots.release(&key("a", 1)), [key("a", 2)]);
    }

    proptest::proptest! {
        #[test]
        fn limits_hold_and_no_slot_stays_free_for_somebody_who_may_have_it(
            steps in proptest::collection::vec((0_i64..40, 0_usize..4, proptest::bool::ANY), 1..200),
            all in 1_usize..6,
            group in proptest::option::of(1_usize..4),
        ) {
            let mut slots = slots(all, group);
            for (number, namespace, asks) in steps {
                let namespace = ["a", "b", "c", "d"][namespace];
                if asks {
                    ask(&mut slots, namespace, number);
                } else {
                    slots.release(&key(namespace, number));
                }
                proptest::prop_assert!(slots.running.len() <= all);
                for namespace in ["a", "b", "c", "d"] {
                    let running = slots.running_of(namespace);
                    let limit = group.unwrap_or(all);
                    proptest::prop_assert!(running <= limit);
                    let may = running < limit && slots.running.len() < all;
                    proptest::prop_assert!(!may || !slots.waiting.contains_key(namespace));
                }
            }
        }
    }

    #[test]
    fn a_slot_is_kept_and_jobs_without_one_are_counted() {
        let mut slots = slots(1, None);
        assert!(ask(&mut slots, "a", 1) && ask(&mut slots, "a", 1));
        slots.occupy(&key("b", 2), "b");
        assert_eq!(slots.counts(), (2, 0));
        assert!(!ask(&mut slots, "a", 3));
        assert!(slots.release(&key("a", 1)).is_empty(), "one is still too many");
        assert_eq!(slots.release(&key("b", 2)), [key("a", 3)]);
    }

    /// A task whose reconcile failed when it had a slot once kept the slot from those behind it.
    #[test]
    fn an_unused_slot_goes_to_the_next_and_a_job_keeps_its_slot() {
        let mut slots = slots(1, None);
        for number in 1..=3 {
            ask(&mut slots, "a", number);
        }
        assert!(slots.give_back(&key("a", 3)).is_empty(), "it is in line");
        assert_eq!(slots.give_back(&key("a", 1)), [key("a", 2)]);
        slots.occupy(&key("a", 2), "a");
        assert!(slots.give_back(&key("a", 2)).is_empty());
        assert_eq!(slots.counts(), (1, 1));
        assert_eq!(slots.release(&key("a", 2)), [key("a", 3)]);
    }

    #[test]
    fn requesting_twice_is_waiting_once() {
        let mut slots = slots(1, None);
        ask(&mut slots, "a", 1);
        ask(&mut slots, "a", 2);
        ask(&mut slots, "a", 2);
        assert_eq!(slots.counts(), (1, 1));
        slots.release(&key("a", 2));
        assert_eq!(slots.counts(), (1, 0), "a deleted task leaves the line");
    }
}
