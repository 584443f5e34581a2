//! What differs between two values: maps by key, lists by what identifies their items, texts by line.

use super::content::{common, fingerprint, is_same, leaves};
use super::list_keys::KeyedItems;
use super::path::{FieldPath, Step};
use super::sequence::{Alignment, align, split};
use super::text::TextDiff;
use crate::compare::pairs::Pairs;
use crate::value::{Map, Value};

/// The most pairs of items between two that are the same among which those that belong together are searched.
const MAX_SEARCHED_ITEMS: usize = 1_024;
/// How much of two items must be the same for one to be the other.
const ALIKE_PERCENT: usize = 50;

/// A change of a field or an item.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Change {
    /// Which one.
    pub path: FieldPath,
    /// What is different.
    pub kind: ChangeKind,
}

/// What is different.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum ChangeKind {
    /// Only the newer has it.
    Added(Value),
    /// Only the older has it.
    Removed(Value),
    /// It has another value.
    Replaced {
        /// The older.
        from: Value,
        /// The newer.
        to: Value,
    },
    /// A text of several lines has other lines.
    Text(TextDiff),
    /// An item stands elsewhere in its list: the path's last step says where.
    Moved,
}

/// What differs between two values.
pub(super) fn changes(from: &Value, to: &Value) -> Vec<Change> {
    let mut differ = Differ::default();
    differ.compare(from, to);
    differ.changes
}

#[derive(Default)]
struct Differ {
    path: FieldPath,
    changes: Vec<Change>,
}

/// Two lists: which items belong together, and which of those stand elsewhere.
struct PairedItems {
    pairs: Pairs,
    moved: Pairs,
    labels: Option<KeyedItems>,
}

impl Differ {
    fn compare(&mut self, from: &Value, to: &Value) {
        if is_same(from, to) {
            return;
        }
        match (from, to) {
            (Value::Map(from), Value::Map(to)) => self.maps(from, to),
            (Value::List(from), Value::List(to)) => self.lists(from, to),
            (Value::String(from), Value::String(to)) if has_lines(from) || has_lines(to) => {
                self.report(ChangeKind::Text(TextDiff::new(from, to)));
            }
            _ => self.report(ChangeKind::Replaced {
                from: from.clone(),
                to: to.clone(),
            }),
        }
    }

    fn report(&mut self, kind: ChangeKind) {
        let path = self.path.clone();
        self.changes.push(Change { path, kind });
    }

    fn below(&mut self, step: Step, work: impl FnOnce(&mut Self)) {
        self.path.0.push(step);
        work(self);
        self.path.0.pop();
    }

    fn maps(&mut self, from: &Map, to: &Map) {
        let added = to.iter().filter(|(key, _)| !from.contains_key(key));
        let mut keys: Vec<&String> = from.iter().chain(added).map(|(key, _)| key).collect();
        keys.sort_unstable();
        for key in keys {
            let step = || Step::Key(key.clone());
            match (from.get(key), to.get(key)) {
                (Some(from), Some(to)) if is_same(from, to) => {}
                (Some(from), Some(to)) => self.below(step(), |differ| differ.compare(from, to)),
                (Some(from), None) => self.below(step(), |differ| {
                    differ.report(ChangeKind::Removed(from.clone()));
                }),
                (None, Some(to)) => self.below(step(), |differ| differ.report(ChangeKind::Added(to.clone()))),
                (None, None) => {}
            }
        }
    }

    /// What is gone first, then what is there, in its order.
    fn lists(&mut self, from: &[Value], to: &[Value]) {
        let paired = match KeyedItems::of(self.path.last_key(), from, to) {
            Some(labels) => PairedItems::by_key(labels, from, to),
            None => PairedItems::by_content(from, to),
        };
        let PairedItems { pairs, moved, labels } = paired;
        let label = |from: Option<usize>, to: Option<usize>| {
            let labels = labels.as_ref()?;
            let newer = to.and_then(|to| labels.to.get(to));
            newer.or_else(|| labels.from.get(from?)).cloned()
        };
        let step = |from, to| Step::Item {
            label: label(from, to),
            from,
            to,
        };
        for (number, item) in from.iter().enumerate() {
            if pairs.partner(number).is_none() {
                self.below(step(Some(number), None), |differ| {
                    differ.report(ChangeKind::Removed(item.clone()));
                });
            }
        }
        let mut older = vec![None; to.len()];
        for (one, other) in pairs.iter() {
            if let Some(slot) = older.get_mut(other) {
                *slot = Some(one);
            }
        }
        for ((number, item), older) in to.iter().enumerate().zip(older) {
            let Some((at, before)) = older.and_then(|at| Some((at, from.get(at)?))) else {
                self.below(step(None, Some(number)), |differ| {
                    differ.report(ChangeKind::Added(item.clone()));
                });
                continue;
            };
            let has_moved = moved.partner(at).is_some();
            if !has_moved && is_same(before, item) {
                continue;
            }
            self.below(step(Some(at), Some(number)), |differ| {
                if has_moved {
                    differ.report(ChangeKind::Moved);
                }
                differ.compare(before, item);
            });
        }
    }
}

fn has_lines(text: &str) -> bool {
    text.trim_end_matches('\n').contains('\n')
}

impl PairedItems {
    fn of(Alignment { kept, moved }: Alignment) -> Self {
        let (mut pairs, mut elsewhere) = (Pairs::default(), Pairs::default());
        for (from, to) in kept.into_iter().chain(moved.iter().copied()) {
            pairs.join(from, to);
        }
        for (from, to) in moved {
            elsewhere.join(from, to);
        }
        Self {
            pairs,
            moved: elsewhere,
            labels: None,
        }
    }

    /// Items with the same key belong together; then those that are the same but for it: they have another name.
    fn by_key(labels: KeyedItems, from: &[Value], to: &[Value]) -> Self {
        let mut pairs = Pairs::default();
        let number = |items: &[String]| items.iter().cloned().enumerate().collect::<Vec<_>>();
        let (older, newer) = (number(&labels.from), number(&labels.to));
        pairs.add(&older, &newer, |(_, label)| Some(label.clone()));
        let all_paired = older.len().max(newer.len()) == pairs.iter().count();
        if !all_paired {
            let rest = |items: &[Value], is_paired: &dyn Fn(usize) -> bool| {
                let items = items.iter().enumerate();
                let prints = items.map(|(number, item)| {
                    let print = || fingerprint(&labels.rest(item));
                    (!is_paired(number)).then(print)
                });
                prints.collect::<Vec<Option<u64>>>()
            };
            let older = rest(from, &|number| pairs.partner(number).is_some());
            let newer = rest(to, &|number| pairs.has_partner(number));
            pairs.add(&older, &newer, |print| *print);
        }
        let ordered = split(pairs.iter().collect());
        Self {
            labels: Some(labels),
            ..Self::of(ordered)
        }
    }

    /// Items that are the same belong together; then those between the same ones that are alike.
    fn by_content(from: &[Value], to: &[Value]) -> Self {
        let prints = |items: &[Value]| items.iter().map(fingerprint).collect::<Vec<u64>>();
        let mut found = align(&prints(from), &prints(to));
        let really = |pair: &(usize, usize)| match (from.get(pair.0), to.get(pair.1)) {
            (Some(one), Some(other)) => is_same(one, other),
            _ => false,
        };
        found.kept.retain(really);
        found.moved.retain(really);
        let anchors = found.kept.clone();
        let mut all = Self::of(found);
        let mut done = (0, 0);
        for (one, other) in anchors.into_iter().chain([(from.len(), to.len())]) {
            let older = (done.0..one).filter(|number| all.pairs.partner(*number).is_none());
            let older: Vec<usize> = older.collect();
            let newer = (done.1..other).filter(|number| !all.pairs.has_partner(*number));
            let newer: Vec<usize> = newer.collect();
            for (one, other) in alike(&older, &newer, from, to) {
                all.pairs.join(one, other);
            }
            done = (one + 1, other + 1);
        }
        all
    }
}

/// Which of some items belong together: as many as there are, in order; else those that are alike.
fn alike(older: &[usize], newer: &[usize], from: &[Value], to: &[Value]) -> Vec<(usize, usize)> {
    if older.len() == newer.len() {
        return older.iter().copied().zip(newer.iter().copied()).collect();
    }
    if older.len().saturating_mul(newer.len()) > MAX_SEARCHED_ITEMS {
        return Vec::new();
    }
    let mut candidates = Vec::new();
    for one in older {
        for other in newer {
            if let (Some(before), Some(after)) = (from.get(*one), to.get(*other)) {
                candidates.push((likeness(before, after), *one, *other));
            }
        }
    }
    candidates.retain(|(percent, ..)| *percent >= ALIKE_PERCENT);
    let mut pairs = Pairs::default();
    pairs.join_best(candidates);
    pairs.iter().collect()
}

/// How much two items have in common, in percent: flags with the same name, and maps and lists of which something is the
/// same, may be the same one with another content.
fn likeness(one: &Value, other: &Value) -> usize {
    match (one, other) {
        (Value::String(one), Value::String(other)) => {
            let flag = |text: &str| text.split_once('=').map(|(flag, _)| flag.to_owned());
            let is_same = flag(one).is_some_and(|name| Some(name) == flag(other));
            if is_same { 100 } else { 0 }
        }
        (Value::Map(_), Value::Map(_)) | (Value::List(_), Value::List(_)) => {
            let (one, other) = (leaves(one, ""), leaves(other, ""));
            100 * common(&one, &other) / one.len().max(other.len()).max(1)
        }
        _ => 0,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn values() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::Bool),
            (0..3_i64).prop_map(Value::from),
            prop_oneof![
                Just(""),
                Just("a"),
                Just("--x=1"),
                Just("--x=2"),
                Just("a\nb"),
                Just("a\nc\n")
            ]
            .prop_map(Value::from),
        ];
        leaf.prop_recursive(4, 40, 5, |inner| {
            let key = prop_oneof![
                Just("name"),
                Just("key"),
                Just("a.b/c"),
                Just("ports"),
                Just("env")
            ];
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..5).prop_map(Value::List),
                prop::collection::btree_map(key, inner, 0..5)
                    .prop_map(|map| Value::Map(map.into_iter().collect())),
            ]
        })
    }

    /// How many fields and items were added, removed, replaced and moved.
    fn counts(changes: &[Change]) -> [usize; 5] {
        let mut counts = [0; 5];
        for change in changes {
            let index = match change.kind {
                ChangeKind::Added(_) => 0,
                ChangeKind::Removed(_) => 1,
                ChangeKind::Replaced { .. } => 2,
                ChangeKind::Text(_) => 3,
                ChangeKind::Moved => 4,
            };
            counts[index] += 1;
        }
        counts
    }

    proptest! {
        #[test]
        fn there_are_changes_only_between_values_that_are_not_the_same(one in values(), other in values()) {
            prop_assert_eq!(changes(&one, &other).is_empty(), is_same(&one, &other));
            prop_assert!(changes(&one, &one).is_empty());
        }

        /// Of items that have moved, which are said to have stayed depends on the direction.
        #[test]
        fn what_is_added_one_way_is_removed_the_other(one in values(), other in values()) {
            let [added, removed, replaced, texts, moved] = counts(&changes(&one, &other));
            let back = counts(&changes(&other, &one));
            prop_assume!(moved == 0 && back[4] == 0);
            prop_assert_eq!(back, [removed, added, replaced, texts, 0]);
        }
    }

    /// Each of these would take minutes in quadratic time.
    #[test]
    fn huge_lists_take_time_that_grows_with_their_length() {
        let list = |items: &mut dyn Iterator<Item = String>| Value::List(items.map(Value::from).collect());
        let one = list(&mut (0..100_000).map(|number| format!("--a{number}=x")));
        let other = list(&mut (50_000..150_000).map(|number| format!("--a{number}=x")));
        assert_eq!(counts(&changes(&one, &other)), [50_000, 50_000, 0, 0, 0]);
        let other = list(&mut (0..100_001).map(|number| format!("--a{number}=y")));
        let found = counts(&changes(&one, &other));
        assert_eq!(
            (found[0], found[1]),
            (100_001, 100_000),
            "beyond the limit nothing is searched"
        );
    }
}
