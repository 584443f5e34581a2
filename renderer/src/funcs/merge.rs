//! `merge` and `mergeOverwrite`: merge maps in place as mergo 1.0.1 does.

use std::sync::Arc;

use super::Context;
use crate::template::{Call, FuncError, Kind, Map, MapType, Val, Walk};

/// Which side wins if both have a value.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Winner {
    Target,
    Source,
}

/// mergo's error for a pointer and another type.
const TYPES_DIFFER: &str = "src and dst must be of same type";

pub(super) fn must_merge(call: &mut Call<'_, Context>) -> Result<Val, FuncError> {
    merged(call, Winner::Target)
}

pub(super) fn must_merge_overwrite(call: &mut Call<'_, Context>) -> Result<Val, FuncError> {
    merged(call, Winner::Source)
}

pub(super) fn merge(call: &mut Call<'_, Context>) -> Result<Val, FuncError> {
    swallowed(merged(call, Winner::Target))
}

pub(super) fn merge_overwrite(call: &mut Call<'_, Context>) -> Result<Val, FuncError> {
    swallowed(merged(call, Winner::Source))
}

/// sprig replaces mergo's errors by an empty string.
fn swallowed(result: Result<Val, FuncError>) -> Result<Val, FuncError> {
    match result {
        Err(fault) if fault.message == TYPES_DIFFER => Ok(Val::str("")),
        other => other,
    }
}

fn merged(call: &Call<'_, Context>, winner: Winner) -> Result<Val, FuncError> {
    let target = call.map(0).unwrap_or_default();
    for source in call.rest(1).iter().filter_map(Val::as_map) {
        merge_into(&target, source, winner)?;
    }
    Ok(Val::Map(target))
}

/// Nested maps are merged with a work list, since a map can contain itself.
fn merge_into(target: &Map, source: &Map, winner: Winner) -> Result<(), FuncError> {
    let mut open = vec![(target.clone(), source.clone(), 0)];
    let mut walk = Walk::default();
    while let Some((target, source, depth)) = open.pop() {
        walk.part(depth)?;
        for (key, value) in source.entries() {
            if let Some((target, source)) = merge_entry(&target, source.kind(), key, value, winner)? {
                open.push((target, source, depth + 1));
            }
        }
    }
    Ok(())
}

/// Merges one entry; returns the maps that must still be merged.
fn merge_entry(
    target: &Map,
    from: MapType,
    key: Arc<str>,
    value: Val,
    winner: Winner,
) -> Result<Option<(Map, Map)>, FuncError> {
    if value.is_nil() {
        if winner == Winner::Source {
            store(target, from, key, Val::Nil)?;
        }
        return Ok(None);
    }
    let former = target.get(&key);
    let kept = former.as_ref().is_some_and(Val::truth) && winner == Winner::Target;
    match (&former, &value) {
        (Some(Val::Map(nested)), Val::Map(inner)) => {
            let counts = |value: &Val| winner == Winner::Source || !value.is_nil();
            if !nested.is_empty() || inner.borrow().values().any(counts) {
                return Ok(Some((nested.clone(), inner.clone())));
            }
            store(target, from, key, value)?;
        }
        (Some(Val::Object(object)), Val::Map(_))
            if object.kind() == Kind::Ptr && winner == Winner::Target =>
        {
            return Err(TYPES_DIFFER.into());
        }
        _ if kept => {}
        _ => store(target, from, key, value)?,
    }
    Ok(None)
}

/// Go refuses to put an interface{} into a map[string]string.
fn store(target: &Map, from: MapType, key: Arc<str>, value: Val) -> Result<(), FuncError> {
    if target.kind() == MapType::Strings && from != MapType::Strings {
        let message =
            "reflect.Value.SetMapIndex: value of type interface {} is not assignable to type string";
        return Err(message.into());
    }
    target.set(key, value);
    Ok(())
}
