//! Kinds, types, equality.

use std::rc::Rc;

use super::Context;
use super::args::func;
use crate::template::{Call, Func, FuncError, List, Map, Object, TooDeep, Type, Val, Walk};

fn type_of(call: &mut Call<'_, Context>) -> Result<Val, FuncError> {
    Ok(Val::str(call.arg(0).type_name()))
}

fn type_is(call: &mut Call<'_, Context>) -> Result<Val, FuncError> {
    Ok(Val::Bool(call.str(0) == *call.arg(1).type_name()))
}

fn type_is_like(call: &mut Call<'_, Context>) -> Result<Val, FuncError> {
    let (target, value) = (call.str(0), call.arg(1));
    let name = value.type_name();
    Ok(Val::Bool(
        target == *name || name.strip_prefix('*').is_some_and(|name| target == *name),
    ))
}

fn kind_of(call: &mut Call<'_, Context>) -> Result<Val, FuncError> {
    Ok(Val::str(call.arg(0).kind().name()))
}

fn kind_is(call: &mut Call<'_, Context>) -> Result<Val, FuncError> {
    Ok(Val::Bool(call.str(0) == *call.arg(1).kind().name()))
}

fn equal(call: &mut Call<'_, Context>) -> Result<Val, FuncError> {
    Ok(Val::Bool(deep_equal(&call.arg(0), &call.arg(1))?))
}

/// The depth from which the comparison detects cycles.
const PLAIN_DEPTH: usize = 32;

/// Go's `reflect.DeepEqual`: types must match, not-a-number equals nothing, a nil slice differs from an empty one.
/// Cyclic maps are equal if nothing else differs.
pub(super) fn deep_equal(a: &Val, b: &Val) -> Result<bool, TooDeep> {
    let Some(pairs) = compare(a, b) else {
        return Ok(false);
    };
    let mut open: Vec<(Val, Val, usize)> = pairs.into_iter().map(|(a, b)| (a, b, 1)).collect();
    let mut seen: Vec<(Map, Map)> = Vec::new();
    let mut walk = Walk::default();
    while let Some((a, b, depth)) = open.pop() {
        walk.part(depth)?;
        if depth > PLAIN_DEPTH
            && let (Val::Map(a), Val::Map(b)) = (&a, &b)
        {
            if seen.iter().any(|pair| pair.0.is_same(a) && pair.1.is_same(b)) {
                continue;
            }
            seen.push((a.clone(), b.clone()));
        }
        let Some(pairs) = compare(&a, &b) else {
            return Ok(false);
        };
        open.extend(pairs.into_iter().map(|(a, b)| (a, b, depth + 1)));
    }
    Ok(true)
}

/// `None` if they differ, else the parts that must still be compared.
#[allow(clippy::float_cmp, reason = "as Go compares floats")]
fn compare(a: &Val, b: &Val) -> Option<Vec<(Val, Val)>> {
    let same = match (a, b) {
        (Val::Nil | Val::Null, Val::Nil | Val::Null) => true,
        (Val::Bool(a), Val::Bool(b)) => a == b,
        (Val::Int(a, a_type), Val::Int(b, b_type)) => a == b && a_type == b_type,
        (Val::Uint(a, a_type), Val::Uint(b, b_type)) => a == b && a_type == b_type,
        (Val::Float(a), Val::Float(b)) => a == b,
        (Val::Complex(a, ai), Val::Complex(b, bi)) => a == b && ai == bi,
        (Val::Str(a), Val::Str(b)) => a == b,
        (Val::Bytes(a), Val::Bytes(b)) => a == b,
        (Val::List(a), Val::List(b)) => return compare_lists(a, b),
        (Val::Map(a), Val::Map(b)) => return compare_maps(a, b),
        (Val::Object(a), Val::Object(b)) => return compare_objects(a, b),
        _ => false,
    };
    same.then(Vec::new)
}

fn compare_lists(a: &List, b: &List) -> Option<Vec<(Val, Val)>> {
    if a.is_same(b) {
        return Some(Vec::new());
    }
    if a.kind() != b.kind() || a.is_nil() != b.is_nil() || a.len() != b.len() {
        return None;
    }
    parts(a.iter().zip(b.iter()))
}

fn compare_maps(a: &Map, b: &Map) -> Option<Vec<(Val, Val)>> {
    if a.is_same(b) {
        return Some(Vec::new());
    }
    if a.kind() != b.kind() || a.len() != b.len() {
        return None;
    }
    let (a, b) = (a.borrow(), b.borrow());
    if !a.keys().eq(b.keys()) {
        return None;
    }
    parts(a.values().zip(b.values()))
}

fn compare_objects(a: &Rc<dyn Object>, b: &Rc<dyn Object>) -> Option<Vec<(Val, Val)>> {
    if Rc::ptr_eq(a, b) {
        return Some(Vec::new());
    }
    if a.type_name() != b.type_name() || a.string() != b.string() {
        return None;
    }
    let (a, b) = (a.fields(), b.fields());
    let names = |fields: &[(String, Val)]| fields.iter().map(|(name, _)| name.clone()).collect::<Vec<_>>();
    if names(&a) != names(&b) {
        return None;
    }
    parts(a.iter().map(|(_, a)| a).zip(b.iter().map(|(_, b)| b)))
}

/// The pairs that have parts themselves; `None` if two scalars differ.
fn parts<'a>(pairs: impl Iterator<Item = (&'a Val, &'a Val)>) -> Option<Vec<(Val, Val)>> {
    let mut out = Vec::new();
    for (a, b) in pairs {
        match (a, b) {
            (Val::List(_), Val::List(_)) | (Val::Map(_), Val::Map(_)) | (Val::Object(_), Val::Object(_)) => {
                out.push((a.clone(), b.clone()));
            }
            (a, b) => {
                compare(a, b)?;
            }
        }
    }
    Some(out)
}

use Type::{Any, String as Text};

pub(super) const TABLE: &[Func<Context>] = &[
    func(
        "deepEqual",
        &[Any, Any],
        "Whether both are the same in type and content",
        equal,
    ),
    func(
        "kindIs",
        &[Text, Any],
        "Whether the value is of the kind",
        kind_is,
    ),
    func(
        "kindOf",
        &[Any],
        "The value's kind: string, map, slice, …",
        kind_of,
    ),
    func(
        "typeIs",
        &[Text, Any],
        "Whether the value is of the type",
        type_is,
    ),
    func(
        "typeIsLike",
        &[Text, Any],
        "Whether the value is of the type or points to it",
        type_is_like,
    ),
    func("typeOf", &[Any], "The name of the value's type in Go", type_of),
];
