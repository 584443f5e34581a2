//! Dictionaries. Maps are shared: `set`, `unset` and the merges change them in place.

use std::collections::BTreeSet;

use super::Context;
use super::args::{check_items, func, strval, variadic};
use super::merge::{merge, merge_overwrite, must_merge, must_merge_overwrite};
use crate::template::{Call, Func, FuncError, List, Map, MapType, TooDeep, Type, Val, Walk};

fn dict(call: &mut Call<'_, Context>) -> Result<Val, FuncError> {
    let map = Map::default();
    for pair in call.args.chunks(2) {
        let [key, value] = pair else {
            let key = pair.first().map(strval).unwrap_or_default();
            map.set(key.to_arc(), Val::str(""));
            continue;
        };
        map.set(strval(key).to_arc(), value.clone());
    }
    Ok(Val::Map(map))
}

fn get(call: &mut Call<'_, Context>) -> Result<Val, FuncError> {
    let key = call.str(1);
    let found = call.map(0).and_then(|map| map.get(&key.to_text()));
    Ok(found.unwrap_or_else(|| Val::str("")))
}

fn set(call: &mut Call<'_, Context>) -> Result<Val, FuncError> {
    let Some(map) = call.map(0) else {
        return Err("assignment to entry in nil map".into());
    };
    map.set(call.str(1).to_arc(), call.arg(2));
    Ok(Val::Map(map))
}

fn unset(call: &mut Call<'_, Context>) -> Result<Val, FuncError> {
    if let Some(map) = call.map(0) {
        map.remove(&call.str(1).to_text());
    }
    Ok(call.arg(0))
}

fn has_key(call: &mut Call<'_, Context>) -> Result<Val, FuncError> {
    let key = call.str(1);
    let has = call.map(0).is_some_and(|map| map.contains(&key.to_text()));
    Ok(Val::Bool(has))
}

fn keys(call: &mut Call<'_, Context>) -> Result<Val, FuncError> {
    let mut out = Vec::new();
    for map in call.args.iter().filter_map(Val::as_map) {
        check_items(out.len() + map.len())?;
        out.extend(map.borrow().keys().map(Val::str));
    }
    Ok(Val::List(List::typed(crate::template::ListType::Strings, out)))
}

fn values(call: &mut Call<'_, Context>) -> Result<Val, FuncError> {
    let values = call.map(0).map(|map| map.borrow().values().cloned().collect());
    Ok(Val::list(values.unwrap_or_default()))
}

fn pick(call: &mut Call<'_, Context>) -> Result<Val, FuncError> {
    let out = Map::default();
    if let Some(map) = call.map(0) {
        for key in call.rest(1).iter().filter_map(Val::as_str) {
            if let Some(value) = map.get(&key.to_text()) {
                out.set(key.to_arc(), value);
            }
        }
    }
    Ok(Val::Map(out))
}

fn omit(call: &mut Call<'_, Context>) -> Result<Val, FuncError> {
    let omitted: BTreeSet<&[u8]> = call
        .rest(1)
        .iter()
        .filter_map(|key| Some(key.as_str()?.as_bytes()))
        .collect();
    let mut entries = call.map(0).map(|map| map.entries()).unwrap_or_default();
    entries.retain(|(key, _)| !omitted.contains(key.as_bytes()));
    Ok(Val::from_entries(entries))
}

fn deep_copy(call: &mut Call<'_, Context>) -> Result<Val, FuncError> {
    let value = call.arg(0);
    if value.is_nil() {
        return Err("reflect: call of reflect.Value.Type on zero Value".into());
    }
    Ok(copied(&value, &mut Walk::default(), 0)?)
}

fn copied(value: &Val, walk: &mut Walk, depth: usize) -> Result<Val, TooDeep> {
    walk.part(depth)?;
    match value {
        Val::List(list) if !list.is_nil() => copied_list(list, walk, depth),
        Val::Map(map) => copied_map(map, walk, depth),
        Val::Object(object) => Ok(super::semver::copied(object.as_ref()).unwrap_or_else(|| value.clone())),
        other => Ok(other.clone()),
    }
}

// Loops instead of iterators: they use less stack per level.
fn copied_list(list: &List, walk: &mut Walk, depth: usize) -> Result<Val, TooDeep> {
    let mut items = Vec::with_capacity(list.len());
    for item in list.iter() {
        items.push(copied(item, walk, depth + 1)?);
    }
    Ok(Val::List(List::typed(list.kind(), items)))
}

fn copied_map(map: &Map, walk: &mut Walk, depth: usize) -> Result<Val, TooDeep> {
    let copy = Map::typed(map.kind());
    for (key, value) in map.borrow().iter() {
        copy.set(std::sync::Arc::clone(key), copied(value, walk, depth + 1)?);
    }
    Ok(Val::Map(copy))
}

/// `dig KEY … DEFAULT MAP`: a failed type assertion panics in Go.
fn dig(call: &mut Call<'_, Context>) -> Result<Val, FuncError> {
    let [keys @ .., default, value] = call.args else {
        return Err("dig needs at least three arguments".into());
    };
    if keys.is_empty() {
        return Err("dig needs at least three arguments".into());
    }
    let mut map = plain_map(value)?;
    let texts: Result<Vec<_>, FuncError> = keys
        .iter()
        .map(|key| {
            let text = key.as_str().ok_or_else(|| conversion(key, "string"))?;
            Ok(text.to_text())
        })
        .collect();
    let texts = texts?;
    let Some((last, path)) = texts.split_last() else {
        return Ok(default.clone());
    };
    for key in path {
        match map.get(key) {
            Some(value) => map = plain_map(&value)?,
            None => return Ok(default.clone()),
        }
    }
    Ok(map.get(last).unwrap_or_else(|| default.clone()))
}

fn plain_map(value: &Val) -> Result<Map, FuncError> {
    match value {
        Val::Map(map) if map.kind() == MapType::Any => Ok(map.clone()),
        other => Err(conversion(other, "map[string]interface {}")),
    }
}

/// Go's message for a failed type assertion on an interface{}.
fn conversion(value: &Val, wanted: &str) -> FuncError {
    let what = if value.is_nil() { "nil" } else { value.type_name() };
    format!("interface conversion: interface {{}} is {what}, not {wanted}").into()
}

use Type::{Any, Dict, String as Text};

pub(super) const TABLE: &[Func<Context>] = &[
    func(
        "deepCopy",
        &[Any],
        "A copy that shares nothing with the value",
        deep_copy,
    ),
    variadic("dict", &[Any], "A map of keys and values in turn", dict),
    variadic(
        "dig",
        &[Any],
        "The value at a path of keys, or the default before the map",
        dig,
    ),
    func("get", &[Dict, Text], "The key's value, or an empty text", get),
    func("hasKey", &[Dict, Text], "Whether the map has the key", has_key),
    variadic("keys", &[Dict], "The maps' keys, sorted", keys),
    variadic(
        "merge",
        &[Dict, Dict],
        "The first map, filled up from the others in place",
        merge,
    ),
    variadic(
        "mergeOverwrite",
        &[Dict, Dict],
        "The first map, overwritten from the others in place",
        merge_overwrite,
    ),
    func("mustDeepCopy", &[Any], "The same as deepCopy", deep_copy),
    variadic("mustMerge", &[Dict, Dict], "The same as merge", must_merge),
    variadic(
        "mustMergeOverwrite",
        &[Dict, Dict],
        "The same as mergeOverwrite",
        must_merge_overwrite,
    ),
    variadic("omit", &[Dict, Text], "The map without the keys", omit),
    variadic("pick", &[Dict, Text], "The map with only the keys", pick),
    func(
        "set",
        &[Dict, Text, Any],
        "The map, with the key set in place",
        set,
    ),
    func(
        "unset",
        &[Dict, Text],
        "The map, with the key removed in place",
        unset,
    ),
    func("values", &[Dict], "The map's values, by key", values),
];
