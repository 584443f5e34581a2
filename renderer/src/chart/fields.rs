//! The fields of Chart.yaml as they are stored: in the order of Helm's struct.

use crate::value::Value;

/// Fields in the order of the struct, without absent and empty ones.
pub(super) type Struct = Vec<(&'static str, Stored)>;

/// A field's content. A struct's fields keep their order, which a [`Map`] would sort.
#[derive(Clone)]
pub(super) enum Stored {
    Value(Value),
    Structs(Vec<Struct>),
}

pub(super) fn text_of(fields: &Struct, name: &str) -> String {
    value_of(fields, name)
        .and_then(Value::as_str)
        .unwrap_or_default()
        .to_owned()
}

pub(super) fn value_of<'f>(fields: &'f Struct, name: &str) -> Option<&'f Value> {
    fields.iter().find_map(|(field, stored)| match stored {
        Stored::Value(value) if *field == name => Some(value),
        _ => None,
    })
}
