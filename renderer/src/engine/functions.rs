//! The functions that need the engine: `include`, `tpl`, and `lookup` in given objects.

use std::collections::BTreeSet;
use std::sync::{Arc, OnceLock};

use super::values_methods::{METHODS, VALUES};
use crate::funcs::{Context, FAMILIES, WORK};
use crate::template::{
    Call, EngineFunc, Failure, Func, FuncError, Functions, ParseError, Run, Signature, Str, Type, Val, print,
};

/// The maximum nesting of includes of the same name, as in Helm.
pub const MAX_INCLUDES: usize = 1_000;
/// The name of Helm's root template, and of every text that `tpl` runs.
pub(super) const ROOT: &str = "gotpl";
/// What Go prints for a missing value, and Helm removes from every output.
const NO_VALUE: &[u8] = b"<no value>";

/// `include` and `tpl`.
const ENGINE_TABLE: &[EngineFunc<Context>] = &[
    EngineFunc {
        name: "include",
        params: &[Type::String, Type::Any],
        doc: "what a named template prints when it is run with the value as its dot",
        call: include,
    },
    EngineFunc {
        name: "tpl",
        params: &[Type::String, Type::Any],
        doc: "what a text prints when it is run as a template with the value as its dot",
        call: tpl,
    },
];

/// `lookup`.
const LOOKUP_TABLE: &[Func<Context>] = &[Func {
    name: "lookup",
    params: &[Type::String, Type::String, Type::String, Type::String],
    variadic: false,
    doc: "an object of the cluster; there is none here, so an empty map, unless --lookup-file, a test or `apply` provides objects",
    call: lookup,
}];

/// Every function that Helm's templates can call.
pub fn functions() -> &'static Functions<Context> {
    static FUNCTIONS: OnceLock<Functions<Context>> = OnceLock::new();
    FUNCTIONS.get_or_init(|| {
        let tables = FAMILIES.iter().map(|(_, table)| *table);
        let native = tables
            .chain([LOOKUP_TABLE])
            .fold(Functions::new(), Functions::with);
        let all = native.with_engine(ENGINE_TABLE);
        all.with_work(WORK).with_map_methods(VALUES, METHODS)
    })
}

/// Every function, by family.
pub fn families() -> Vec<(&'static str, Vec<Signature>)> {
    let all = functions();
    let tables = FAMILIES.iter().copied().chain([("Cluster", LOOKUP_TABLE)]);
    let mut named: BTreeSet<&str> = BTreeSet::new();
    let mut families: Vec<(&'static str, Vec<Signature>)> = Vec::new();
    let engine = ENGINE_TABLE.iter().map(|func| func.name).collect();
    let lists = tables.map(|(family, table)| (family, table.iter().map(|func| func.name).collect()));
    for (family, names) in [("Templates", engine)]
        .into_iter()
        .chain(lists.collect::<Vec<(_, Vec<_>)>>())
    {
        named.extend(names.iter().copied());
        families.push((
            family,
            names.iter().filter_map(|name| all.signature(name)).collect(),
        ));
    }
    let own = all.names().filter(|name| !named.contains(name));
    families.insert(
        0,
        ("Go's own", own.filter_map(|name| all.signature(name)).collect()),
    );
    families
}

fn include(run: &mut Run<'_, Context>, args: &[Val]) -> Result<Val, Failure> {
    let [Val::Str(name), dot] = args else {
        return Ok(Val::default());
    };
    let name = name.to_arc();
    let count = run.context.includes.entry(Arc::clone(&name)).or_insert(0);
    if *count > MAX_INCLUDES {
        let message =
            format!("rendering template has a nested reference name: {name}: unable to execute template");
        return Err(Failure::Fault(FuncError::new(message)));
    }
    *count += 1;
    let printed = run.include(&name, dot.clone());
    if let Some(count) = run.context.includes.get_mut(&name) {
        *count -= 1;
    }
    printed.map(Val::Str)
}

fn tpl(run: &mut Run<'_, Context>, args: &[Val]) -> Result<Val, Failure> {
    let [Val::Str(text), dot] = args else {
        return Ok(Val::default());
    };
    // Most values that charts pass to `tpl` have no actions.
    if memchr::memmem::find(text.as_bytes(), b"{{").is_none() {
        return Ok(Val::Str(cleaned(text.as_bytes().to_vec())));
    }
    let ran = run.with_text(&Arc::from(ROOT), text, |run, tree| run.execute(tree, dot.clone()));
    match ran {
        Ok(Ok(bytes)) => Ok(Val::Str(cleaned(bytes))),
        Ok(Err(error)) => Err(Failure::Nested {
            prefix: format!(
                "error during tpl function execution for {}: ",
                print::quote_bytes(text.as_bytes())
            ),
            error,
        }),
        Err(error) => Err(Failure::Fault(cannot_parse(text, &error))),
    }
}

fn cannot_parse(text: &Str, error: &ParseError) -> FuncError {
    FuncError::new(format!(
        "cannot parse template {}: template: {ROOT}:{}: {}",
        print::quote_bytes(text.as_bytes()),
        error.line,
        error.message
    ))
}

fn cleaned(bytes: Vec<u8>) -> Str {
    Str::from_bytes(without_no_value(bytes))
}

/// Removes Go's text for a missing value, as Helm does.
pub(super) fn without_no_value(bytes: Vec<u8>) -> Vec<u8> {
    let Some(first) = find(&bytes, 0) else {
        return bytes;
    };
    let mut out = Vec::with_capacity(bytes.len());
    let (mut start, mut next) = (0, Some(first));
    while let Some(at) = next {
        out.extend_from_slice(bytes.get(start..at).unwrap_or_default());
        start = at + NO_VALUE.len();
        next = find(&bytes, start);
    }
    out.extend_from_slice(bytes.get(start..).unwrap_or_default());
    out
}

fn find(bytes: &[u8], from: usize) -> Option<usize> {
    let found = memchr::memmem::find(bytes.get(from..)?, NO_VALUE)?;
    Some(from + found)
}

fn lookup(call: &mut Call<'_, Context>) -> Result<Val, FuncError> {
    let [api_version, kind, namespace, name] = [0, 1, 2, 3].map(|index| call.str(index));
    let found = call.context.cluster.find(
        &api_version.to_text(),
        &kind.to_text(),
        &namespace.to_text(),
        &name.to_text(),
    );
    let found = found.map_err(FuncError::new)?;
    Ok(Val::Map(crate::template::Map::from_data(&found)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_function_with_a_work_entry_exists() {
        for (name, _) in WORK {
            assert!(functions().signature(name).is_some(), "{name}");
        }
    }

    #[test]
    fn no_value_is_removed_everywhere() {
        let cases = [
            ("", ""),
            ("a<no value>b", "ab"),
            ("<no value><no value>", ""),
            ("<<no value>no value>", "<no value>"),
        ];
        for (text, expected) in cases {
            assert_eq!(without_no_value(text.as_bytes().to_vec()), expected.as_bytes());
        }
    }
}
