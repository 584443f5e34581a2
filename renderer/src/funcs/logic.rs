//! Defaults and flow.

use super::Context;
use super::args::{func, variadic};
use crate::template::{Call, Func, FuncError, Type, Val};

fn default(call: &mut Call<'_, Context>) -> Result<Val, FuncError> {
    Ok(match call.args.get(1) {
        Some(given) if given.truth() => given.clone(),
        _ => call.arg(0),
    })
}

fn empty(call: &mut Call<'_, Context>) -> Result<Val, FuncError> {
    Ok(Val::Bool(!call.arg(0).truth()))
}

fn coalesce(call: &mut Call<'_, Context>) -> Result<Val, FuncError> {
    let found = call.args.iter().find(|value| value.truth());
    Ok(found.cloned().unwrap_or_default())
}

fn all(call: &mut Call<'_, Context>) -> Result<Val, FuncError> {
    Ok(Val::Bool(call.args.iter().all(Val::truth)))
}

fn any(call: &mut Call<'_, Context>) -> Result<Val, FuncError> {
    Ok(Val::Bool(call.args.iter().any(Val::truth)))
}

fn ternary(call: &mut Call<'_, Context>) -> Result<Val, FuncError> {
    Ok(call.arg(usize::from(!call.bool(2))))
}

fn fail(call: &mut Call<'_, Context>) -> Result<Val, FuncError> {
    warned(call)
}

fn required(call: &mut Call<'_, Context>) -> Result<Val, FuncError> {
    let value = call.arg(1);
    if value.is_nil() || value.as_str().is_some_and(|text| text.is_empty()) {
        return warned(call);
    }
    Ok(value)
}

fn warned(call: &Call<'_, Context>) -> Result<Val, FuncError> {
    if call.context.lint {
        return Ok(Val::str(""));
    }
    Err(FuncError::asked_for(call.str(0).to_text()))
}

fn hello(_: &mut Call<'_, Context>) -> Result<Val, FuncError> {
    Ok(Val::str("Hello!"))
}

use Type::{Any, Bool, String as Text};

pub(super) const TABLE: &[Func<Context>] = &[
    variadic("all", &[Any], "Whether no value is empty", all),
    variadic("any", &[Any], "Whether any value is not empty", any),
    variadic("coalesce", &[Any], "The first value that is not empty", coalesce),
    variadic(
        "default",
        &[Any, Any],
        "The second value, or the first when that is empty",
        default,
    ),
    func(
        "empty",
        &[Any],
        "Whether the value is the zero of its type",
        empty,
    ),
    func("fail", &[Text], "Ends the rendering with an error", fail),
    func("hello", &[], "Hello!", hello),
    func(
        "required",
        &[Text, Any],
        "The value; an error when it is nil or an empty text",
        required,
    ),
    func(
        "ternary",
        &[Any, Any, Bool],
        "The first value when true, else the second",
        ternary,
    ),
];
