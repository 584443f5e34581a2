//! The same change of a label or an annotation in many objects, as that of a chart's version: said once.

use std::collections::{BTreeMap, BTreeSet};

use super::path::Step;
use super::{Change, ChangeKind, ChartDiff};
use crate::value::Value;

/// In how many objects a change must be to be said once for all of them.
const MIN_OBJECTS: usize = 3;
/// The maps whose fields are the same in many objects.
const SHARED_MAPS: [&str; 3] = ["annotations", "labels", "matchLabels"];

/// A label or an annotation that has changed from the same value to the same value in several objects.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct CommonChange {
    /// `labels` or `annotations`.
    pub map: String,
    /// Its name.
    pub key: String,
    /// The older value.
    pub from: String,
    /// The newer value.
    pub to: String,
    /// In how many objects.
    pub objects: usize,
    /// The first of them, and which of its changes it is.
    pub first: (usize, usize),
}

/// What many objects have in common, and what is left of each.
#[derive(Debug, Clone, PartialEq, Default)]
#[non_exhaustive]
pub struct CommonChanges {
    /// The changes, those of the most objects first.
    pub changes: Vec<CommonChange>,
    /// For each object, which of its changes are among them.
    pub is_common: Vec<Vec<bool>>,
}

impl CommonChanges {
    /// Finds them.
    pub fn of(diff: &ChartDiff) -> Self {
        let mut found: BTreeMap<Key<'_>, CommonChange> = BTreeMap::new();
        for (number, object) in diff.objects.iter().enumerate() {
            let mut seen: BTreeSet<Key<'_>> = BTreeSet::new();
            for (position, change) in object.changes.iter().enumerate() {
                let Some(key) = key(change) else { continue };
                let common = found.entry(key).or_insert_with(|| CommonChange {
                    map: key.0.to_owned(),
                    key: key.1.to_owned(),
                    from: key.2.to_owned(),
                    to: key.3.to_owned(),
                    objects: 0,
                    first: (number, position),
                });
                if seen.insert(key) {
                    common.objects += 1;
                }
            }
        }
        found.retain(|_, common| common.objects >= MIN_OBJECTS);
        let is_common = diff.objects.iter().map(|object| {
            let changes = object.changes.iter();
            let is_common = changes.map(|change| key(change).is_some_and(|key| found.contains_key(&key)));
            is_common.collect()
        });
        let is_common = is_common.collect();
        let mut changes: Vec<CommonChange> = found.into_values().collect();
        changes.sort_by_key(|common| std::cmp::Reverse(common.objects));
        Self { changes, is_common }
    }
}

/// The map, the key in it, the older value and the newer one. A selector's labels are labels.
type Key<'c> = (&'c str, &'c str, &'c str, &'c str);

fn key(change: &Change) -> Option<Key<'_>> {
    let ChangeKind::Replaced {
        from: Value::String(from),
        to: Value::String(to),
    } = &change.kind
    else {
        return None;
    };
    let [.., Step::Key(map), Step::Key(key)] = change.path.steps() else {
        return None;
    };
    let map = SHARED_MAPS.iter().find(|shared| *shared == map)?;
    let map = if *map == "annotations" { map } else { "labels" };
    Some((map, key, from, to))
}
