//! Which objects of two renderings are the same one: by group, kind, namespace and name; then those that have another
//! name and are alike.

use std::collections::BTreeMap;

use super::content::{common, fingerprint_without, is_same, leaves};
use super::object::Object;
use crate::compare::pairs::Pairs;
use crate::value::Value;

/// How much of two objects must be the same, in percent, for one to be the other under another name.
const RENAMED_PERCENT: usize = 60;
/// The most fields that are compared in search of objects with another name. Beyond it only those are found that are the
/// same but for their names.
const MAX_RENAME_WORK: usize = 20_000_000;

/// Pairs the objects of two renderings.
pub(super) fn pair(from: &[Object], to: &[Object]) -> Pairs {
    let mut pairs = Pairs::default();
    pairs.add(from, to, |one| Some((key(one), one.fingerprint, one.role)));
    pairs.add(from, to, |one| Some((key(one), one.role, one.source.as_ref())));
    pairs.add(from, to, |one| Some(key(one)));
    pairs.add(from, to, |one| {
        (!one.id.name.is_empty()).then(|| (type_of(one), unnamed(one)))
    });
    pair_renamed(from, to, &mut pairs);
    pairs
}

/// Documents that are no objects, and objects without a name, are those of the same template.
fn key(one: &Object) -> (&str, &str, &str, &str, &str) {
    let source = if one.id.name.is_empty() {
        one.source.as_ref()
    } else {
        ""
    };
    (one.id.group(), &one.id.kind, &one.namespace, &one.id.name, source)
}

fn type_of(one: &Object) -> (&str, &str) {
    (one.id.group(), &one.id.kind)
}

/// What is the same of objects that differ only in their names.
fn unnamed(one: &Object) -> u64 {
    fingerprint_without(&without_identity(one), &one.id.name)
}

fn without_identity(one: &Object) -> Value {
    let mut value = one.value.clone();
    if let Value::Map(map) = &mut value {
        map.remove("apiVersion");
        map.remove("kind");
        if let Some(Value::Map(metadata)) = map.get_mut("metadata") {
            metadata.remove("name");
            metadata.remove("generateName");
            metadata.remove("namespace");
        }
    }
    value
}

/// The objects of one kind that have no partner.
#[derive(Default)]
struct Candidates {
    from: Vec<(usize, Vec<u64>)>,
    to: Vec<(usize, Vec<u64>)>,
}

fn pair_renamed(from: &[Object], to: &[Object], pairs: &mut Pairs) {
    let mut kinds: BTreeMap<(&str, &str), Candidates> = BTreeMap::new();
    let is_named = |one: &Object| !one.id.name.is_empty() && !one.id.kind.is_empty();
    let parts = |one: &Object| leaves(&without_identity(one), &one.id.name);
    for (number, one) in from.iter().enumerate() {
        if pairs.partner(number).is_none() && is_named(one) {
            kinds
                .entry(type_of(one))
                .or_default()
                .from
                .push((number, parts(one)));
        }
    }
    for (number, one) in to.iter().enumerate() {
        if !pairs.has_partner(number)
            && is_named(one)
            && let Some(candidates) = kinds.get_mut(&type_of(one))
        {
            candidates.to.push((number, parts(one)));
        }
    }
    let mut work = 0_usize;
    for candidates in kinds.values() {
        work = work.saturating_add(candidates.work());
        if work > MAX_RENAME_WORK {
            return;
        }
        candidates.pair(pairs);
    }
}

impl Candidates {
    /// How many fields are compared.
    fn work(&self) -> usize {
        let fields =
            |list: &[(usize, Vec<u64>)]| list.iter().map(|(_, parts)| parts.len() + 1).sum::<usize>();
        let (older, newer) = (fields(&self.from), fields(&self.to));
        older.saturating_mul(self.to.len()) + newer.saturating_mul(self.from.len())
    }

    /// The pairs that have most in common first.
    fn pair(&self, pairs: &mut Pairs) {
        let mut found: Vec<(usize, usize, usize)> = Vec::new();
        for (one, parts) in &self.from {
            for (other, others) in &self.to {
                let percent = 200 * common(parts, others) / (parts.len() + others.len()).max(1);
                if percent >= RENAMED_PERCENT {
                    found.push((percent, *one, *other));
                }
            }
        }
        pairs.join_best(found);
    }
}

/// Whether two objects of a pair are the same: also a file of `crds/` is no template.
pub(super) fn is_unchanged(one: &Object, other: &Object) -> bool {
    one.role == other.role && is_same(&one.value, &other.value)
}
