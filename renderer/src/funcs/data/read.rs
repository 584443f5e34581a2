//! The results of Helm's `from…` functions: a map or a list of the declared type, with the error in it.

use super::json_read;
use crate::template::{List, ListType, Map, MapType, Str, Val};

/// The parsed value, and its error.
pub(super) struct ReadOutcome {
    pub(super) value: Val,
    /// The error of a part of it, or of the whole text.
    pub(super) error: Option<String>,
    /// The prefix of `encoding/json`'s message about a wrong kind.
    pub(super) prefix: &'static str,
    /// Whether null results in an empty map or list, instead of Go's nil.
    pub(super) null_is_empty: bool,
}

/// Go's nil map and nil slice: empty, and null in JSON and YAML.
const NIL_MAP: MapType = MapType::Named("map[string]interface {}");
const NIL_LIST: ListType = ListType::Named("[]interface {}");

/// Whether it is an empty map or list that is nil in Go.
pub(super) fn is_go_nil(value: &Val) -> bool {
    match value {
        Val::Map(map) => matches!(map.kind(), NIL_MAP | MapType::NilStrings) && map.is_empty(),
        Val::List(list) => list.is_nil() || list.kind() == NIL_LIST && list.is_empty(),
        _ => false,
    }
}

/// Parses a JSON text.
pub(super) fn json(text: &Str) -> ReadOutcome {
    let (value, fault) = match json_read::read(text) {
        Ok(read) => (read.value, read.fault),
        // The error is the only entry.
        Err(fault) => (Val::Map(Map::default()), Some(fault)),
    };
    ReadOutcome {
        value,
        error: fault.map(|fault| fault.message),
        prefix: "",
        null_is_empty: false,
    }
}

/// As a map[string]interface{}.
pub(super) fn map(found: ReadOutcome) -> Val {
    let ReadOutcome {
        value,
        mut error,
        prefix,
        null_is_empty,
    } = found;
    let map = match value {
        Val::Map(map) => map,
        Val::Nil | Val::Null if null_is_empty => Map::default(),
        Val::Nil | Val::Null => Map::typed(NIL_MAP),
        other => {
            let kind = json_read::kind(&other);
            error.get_or_insert_with(|| {
                format!(
                    "{prefix}json: cannot unmarshal {kind} into Go value of type map[string]interface {{}}"
                )
            });
            Map::default()
        }
    };
    if let Some(error) = error {
        map.set("Error", Val::str(error));
    }
    Val::Map(map)
}

/// As a []interface{}.
pub(super) fn list(found: ReadOutcome) -> Val {
    let error = match (found.error, &found.value) {
        (Some(error), _) => error,
        (None, Val::List(_)) => return found.value,
        (None, Val::Nil | Val::Null) if found.null_is_empty => return Val::list(Vec::new()),
        (None, Val::Nil | Val::Null) => return Val::List(List::typed(NIL_LIST, Vec::new())),
        (None, other) => format!(
            "{}json: cannot unmarshal {} into Go value of type []interface {{}}",
            found.prefix,
            json_read::kind(other)
        ),
    };
    Val::list(vec![Val::str(error)])
}
