//! The methods of `.Values` (Helm's `common.Values`), which shadow keys of the same names.

use crate::template::{FuncError, Map, MapMethod, MapType, Type, Val, print};
use crate::yaml;

/// The type's name in Go.
pub(super) const VALUES: &str = "common.Values";

pub(super) const METHODS: &[MapMethod] = &[
    MapMethod {
        name: "AsMap",
        params: &[],
        call: |map, _| Ok(Val::Map(map.as_type(MapType::Any))),
    },
    MapMethod {
        name: "YAML",
        params: &[],
        call: |map, _| Ok(Val::from(yaml::write(&Val::Map(map.clone()).to_data()?))),
    },
    MapMethod {
        name: "Table",
        params: &[Type::String],
        call: |map, args| table(map, &path(args)).map(Val::Map),
    },
    MapMethod {
        name: "PathValue",
        params: &[Type::String],
        call: |map, args| value(map, &path(args)),
    },
];

fn path(args: &[Val]) -> String {
    let path = args.first().and_then(Val::as_str);
    path.map(|path| path.to_text().into_owned()).unwrap_or_default()
}

/// The table at a dotted path.
fn table(map: &Map, path: &str) -> Result<Map, FuncError> {
    path.split('.')
        .try_fold(map.as_type(MapType::Named(VALUES)), |table, key| {
            match table.get(key) {
                Some(Val::Map(inner)) => Ok(inner.as_type(MapType::Named(VALUES))),
                _ => Err(FuncError::new(format!("{} is not a table", print::quote(key)))),
            }
        })
}

/// The value at a dotted path that is not a table.
fn value(map: &Map, path: &str) -> Result<Val, FuncError> {
    if path.is_empty() {
        return Err("YAML path cannot be empty".into());
    }
    let (tables, key) = path
        .rsplit_once('.')
        .map_or((None, path), |(tables, key)| (Some(tables), key));
    let missing = || FuncError::new(format!("{} is not a value", print::quote(key)));
    let found = match tables {
        Some(tables) => table(map, tables).map_err(|_| missing())?,
        None => map.clone(),
    };
    match found.get(key) {
        None | Some(Val::Map(_)) => Err(missing()),
        Some(value) => Ok(value),
    }
}
