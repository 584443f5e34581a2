//! Lists.

use std::collections::BTreeSet;

use super::Context;
use super::args::{NIL_POINTER, check_items, func, items, items_or, variadic};
use super::convert::to_int64;
use super::kinds::deep_equal;
use crate::template::{Call, Func, FuncError, List, ListType, Type, Val};

fn list(call: &mut Call<'_, Context>) -> Result<Val, FuncError> {
    Ok(Val::list(call.args.to_vec()))
}

fn append(call: &mut Call<'_, Context>) -> Result<Val, FuncError> {
    let list = items_or(call.args.first().unwrap_or(&Val::Nil), "Cannot push on type")?;
    Ok(Val::list(with_one_more(&list, None, Some(call.arg(1)))?))
}

fn prepend(call: &mut Call<'_, Context>) -> Result<Val, FuncError> {
    let list = items_or(call.args.first().unwrap_or(&Val::Nil), "Cannot prepend on type")?;
    Ok(Val::list(with_one_more(&list, Some(call.arg(1)), None)?))
}

fn with_one_more(list: &[Val], before: Option<Val>, behind: Option<Val>) -> Result<Vec<Val>, FuncError> {
    check_items(list.len() + 1)?;
    let mut out = Vec::with_capacity(list.len() + 1);
    out.extend(before);
    out.extend_from_slice(list);
    out.extend(behind);
    Ok(out)
}

fn first(call: &mut Call<'_, Context>) -> Result<Val, FuncError> {
    let list = items_or(
        call.args.first().unwrap_or(&Val::Nil),
        "Cannot find first on type",
    )?;
    Ok(list.first().cloned().unwrap_or_default())
}

fn last(call: &mut Call<'_, Context>) -> Result<Val, FuncError> {
    let list = items_or(call.args.first().unwrap_or(&Val::Nil), "Cannot find last on type")?;
    Ok(list.last().cloned().unwrap_or_default())
}

fn rest(call: &mut Call<'_, Context>) -> Result<Val, FuncError> {
    let list = items_or(call.args.first().unwrap_or(&Val::Nil), "Cannot find rest on type")?;
    Ok(part_or_nil(list.get(1..)))
}

fn initial(call: &mut Call<'_, Context>) -> Result<Val, FuncError> {
    let list = items_or(
        call.args.first().unwrap_or(&Val::Nil),
        "Cannot find initial on type",
    )?;
    Ok(part_or_nil(list.split_last().map(|(_, rest)| rest)))
}

fn part_or_nil(items: Option<&[Val]>) -> Val {
    match items {
        Some(items) => Val::list(items.to_vec()),
        None => Val::List(List::nil(ListType::Any)),
    }
}

fn reverse(call: &mut Call<'_, Context>) -> Result<Val, FuncError> {
    let list = items_or(
        call.args.first().unwrap_or(&Val::Nil),
        "Cannot find reverse on type",
    )?;
    Ok(Val::list(list.iter().rev().cloned().collect()))
}

fn compact(call: &mut Call<'_, Context>) -> Result<Val, FuncError> {
    let list = items_or(call.args.first().unwrap_or(&Val::Nil), "Cannot compact on type")?;
    Ok(Val::list(
        list.iter().filter(|item| item.truth()).cloned().collect(),
    ))
}

/// The number of comparisons after which a function checks the time limit.
const COMPARED: usize = 100_000;

fn uniq(call: &mut Call<'_, Context>) -> Result<Val, FuncError> {
    let list = items_or(call.args.first().unwrap_or(&Val::Nil), "Cannot find uniq on type")?;
    let (mut texts, mut numbers) = (BTreeSet::new(), BTreeSet::new());
    let mut others: Vec<&Val> = Vec::new();
    let (mut out, mut compared) = (Vec::new(), 0);
    for item in list.iter() {
        compared += others.len();
        if compared > COMPARED {
            call.context.check_time()?;
            compared = 0;
        }
        let new = match item {
            Val::Str(text) => texts.insert(text.as_bytes()),
            Val::Int(number, kind) => numbers.insert((*number, *kind)),
            item if holds(&others, item)? => false,
            item => {
                others.push(item);
                true
            }
        };
        if new {
            out.push(item.clone());
        }
    }
    Ok(Val::list(out))
}

fn holds(list: &[&Val], item: &Val) -> Result<bool, FuncError> {
    for other in list {
        if deep_equal(item, other)? {
            return Ok(true);
        }
    }
    Ok(false)
}

fn without(call: &mut Call<'_, Context>) -> Result<Val, FuncError> {
    let list = items_or(
        call.args.first().unwrap_or(&Val::Nil),
        "Cannot find without on type",
    )?;
    let omitted: Vec<&Val> = call.rest(1).iter().collect();
    let mut out = Vec::new();
    for (index, item) in list.iter().enumerate() {
        if index % COMPARED == 0 {
            call.context.check_time()?;
        }
        if !holds(&omitted, item)? {
            out.push(item.clone());
        }
    }
    Ok(Val::list(out))
}

fn has(call: &mut Call<'_, Context>) -> Result<Val, FuncError> {
    let haystack = call.arg(1);
    if haystack.is_nil() {
        return Ok(Val::Bool(false));
    }
    let list = items_or(&haystack, "Cannot find has on type")?;
    let needle = call.arg(0);
    for item in list.iter() {
        if deep_equal(&needle, item)? {
            return Ok(Val::Bool(true));
        }
    }
    Ok(Val::Bool(false))
}

fn slice(call: &mut Call<'_, Context>) -> Result<Val, FuncError> {
    let value = call.arg(0);
    let list = items_or(&value, "list should be type of slice or array but")?;
    if list.is_empty() {
        return Ok(Val::Nil);
    }
    let start = call.args.get(1).map_or(Some(0), index);
    let end = call.args.get(2).map_or(Some(list.len()), index);
    let part = start.zip(end).and_then(|(start, end)| list.get(start..end));
    let Some(part) = part else {
        return Err("reflect.Value.Slice: slice index out of bounds".into());
    };
    Ok(match &value {
        Val::Bytes(bytes) => {
            let (start, end) = (start.unwrap_or(0), end.unwrap_or(0));
            Val::Bytes(bytes.get(start..end).unwrap_or_default().into())
        }
        Val::List(whole) if part.len() == whole.len() => value.clone(),
        Val::List(whole) => Val::List(List::typed(whole.kind(), part.to_vec())),
        _ => Val::list(part.to_vec()),
    })
}

fn index(value: &Val) -> Option<usize> {
    usize::try_from(to_int64(value)).ok()
}

fn concat(call: &mut Call<'_, Context>) -> Result<Val, FuncError> {
    let mut out = Vec::new();
    for list in call.args {
        let Some(items) = items(list) else {
            if list.is_nil() {
                return Err(NIL_POINTER.into());
            }
            return Err(format!("Cannot concat type {} as list", list.kind().name()).into());
        };
        check_items(out.len() + items.len())?;
        out.extend_from_slice(&items);
    }
    Ok(if out.is_empty() {
        Val::List(List::nil(ListType::Any))
    } else {
        Val::list(out)
    })
}

/// sprig counts the chunks in floats: `floor((length - 1) / size) + 1`.
fn chunk(call: &mut Call<'_, Context>) -> Result<Val, FuncError> {
    const TOO_LONG: &str = "runtime error: makeslice: len out of range";
    let value = call.arg(1);
    let list = items_or(&value, "Cannot chunk type")?;
    let chunks = |lists: Vec<Val>| Val::List(List::typed(ListType::Named("[][]interface {}"), lists));
    match usize::try_from(call.int(0)) {
        Ok(0) => Err(TOO_LONG.into()),
        Ok(size) => Ok(chunks(
            list.chunks(size).map(|part| Val::list(part.to_vec())).collect(),
        )),
        Err(_) => {
            let size = usize::try_from(call.int(0).unsigned_abs()).unwrap_or(usize::MAX);
            match list.len() {
                1 if size > 1 => Ok(chunks(vec![Val::list(list.to_vec())])),
                length if length > 1 && length - 1 <= size => Ok(chunks(Vec::new())),
                _ => Err(TOO_LONG.into()),
            }
        }
    }
}

fn pluck(call: &mut Call<'_, Context>) -> Result<Val, FuncError> {
    let key = call.str(0);
    let key = key.to_text();
    let found = call.rest(1).iter().filter_map(|map| map.as_map()?.get(&key));
    Ok(Val::list(found.collect()))
}

fn until(call: &mut Call<'_, Context>) -> Result<Val, FuncError> {
    let count = call.int(0);
    ints(steps(0, count, if count < 0 { -1 } else { 1 })?)
}

fn until_step(call: &mut Call<'_, Context>) -> Result<Val, FuncError> {
    ints(steps(call.int(0), call.int(1), call.int(2))?)
}

fn ints(numbers: Vec<i64>) -> Result<Val, FuncError> {
    let numbers = numbers.into_iter().map(Val::int).collect();
    Ok(Val::List(List::typed(ListType::Ints, numbers)))
}

/// The numbers from start to end, exclusive.
fn steps(start: i64, end: i64, step: i64) -> Result<Vec<i64>, FuncError> {
    let mut out = Vec::new();
    let mut next = Some(start);
    while let Some(number) = next {
        let within = if end < start {
            step < 0 && number > end
        } else {
            step > 0 && number < end
        };
        if !within {
            break;
        }
        check_items(out.len() + 1)?;
        out.push(number);
        next = number.checked_add(step);
    }
    Ok(out)
}

fn seq(call: &mut Call<'_, Context>) -> Result<Val, FuncError> {
    let (start, step, end) = match *call.args {
        [_] => (1, None, call.int(0)),
        [_, _] => (call.int(0), None, call.int(1)),
        [_, _, _] => (call.int(0), Some(call.int(1)), call.int(2)),
        _ => return Ok(Val::str("")),
    };
    let direction = if end < start { -1 } else { 1 };
    if end < start && step.is_some_and(|step| step > 0) {
        return Ok(Val::str(""));
    }
    let numbers = steps(start, end.wrapping_add(direction), step.unwrap_or(direction))?;
    let texts: Vec<String> = numbers.iter().map(i64::to_string).collect();
    Ok(Val::str(texts.join(" ")))
}

use Type::{Any, Dict, Int, String as Text};

pub(super) const TABLE: &[Func<Context>] = &[
    func(
        "append",
        &[Any, Any],
        "The list with one more item behind",
        append,
    ),
    func("chunk", &[Int, Any], "Lists of at most so many items", chunk),
    func("compact", &[Any], "The items that are not empty", compact),
    variadic("concat", &[Any], "All the lists' items in one", concat),
    func("first", &[Any], "The first item", first),
    func("has", &[Any, Any], "Whether the list has the item", has),
    func("initial", &[Any], "All items but the last", initial),
    func("last", &[Any], "The last item", last),
    variadic("list", &[Any], "A list of the values", list),
    func("mustAppend", &[Any, Any], "The same as append", append),
    func("mustChunk", &[Int, Any], "The same as chunk", chunk),
    func("mustCompact", &[Any], "The same as compact", compact),
    func("mustFirst", &[Any], "The same as first", first),
    func("mustHas", &[Any, Any], "The same as has", has),
    func("mustInitial", &[Any], "The same as initial", initial),
    func("mustLast", &[Any], "The same as last", last),
    func("mustPrepend", &[Any, Any], "The same as prepend", prepend),
    func("mustPush", &[Any, Any], "The same as append", append),
    func("mustRest", &[Any], "The same as rest", rest),
    func("mustReverse", &[Any], "The same as reverse", reverse),
    variadic("mustSlice", &[Any, Any], "The same as slice", slice),
    func("mustUniq", &[Any], "The same as uniq", uniq),
    variadic("mustWithout", &[Any, Any], "The same as without", without),
    variadic(
        "pluck",
        &[Text, Dict],
        "The key's values in the maps that have it",
        pluck,
    ),
    func(
        "prepend",
        &[Any, Any],
        "The list with one more item in front",
        prepend,
    ),
    func("push", &[Any, Any], "The same as append", append),
    func("rest", &[Any], "All items but the first", rest),
    func("reverse", &[Any], "The items from last to first", reverse),
    variadic(
        "seq",
        &[Int],
        "Numbers as a text, as the command seq writes them",
        seq,
    ),
    variadic(
        "slice",
        &[Any, Any],
        "The items from the first index to the second",
        slice,
    ),
    variadic("tuple", &[Any], "The same as list", list),
    func("uniq", &[Any], "Each item once", uniq),
    func(
        "until",
        &[Int],
        "The numbers from 0 on, up to but without the end",
        until,
    ),
    func(
        "untilStep",
        &[Int, Int, Int],
        "The numbers from start to end by a step",
        until_step,
    ),
    variadic(
        "without",
        &[Any, Any],
        "The list without the items named",
        without,
    ),
];
