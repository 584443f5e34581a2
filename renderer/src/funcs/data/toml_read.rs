//! TOML as BurntSushi's decoder 1.6 reads it into a map[string]interface{}.

use std::collections::BTreeMap;
use std::sync::Arc;

use toml_edit::{Datetime, Document, Item, Offset, Table, Value};

use crate::funcs::dates::{self, Civil};
use crate::template::{List, ListType, Map, MapType, Str, Val};

/// The map, or the error message.
pub(super) fn read(text: &Str) -> Result<Val, String> {
    let text = text.as_str().ok_or_else(|| "toml: invalid UTF-8".to_owned())?;
    let document = Document::parse(text).map_err(|error| {
        let at = error.span().map_or(text.len(), |span| span.start);
        let before = text.as_bytes().get(..at).unwrap_or_default();
        let line = 1 + before.iter().filter(|byte| **byte == b'\n').count();
        let message = error.message().lines().collect::<Vec<_>>().join("; ");
        format!("toml: line {line}: {message}")
    })?;
    Ok(table(document.as_table()))
}

/// The parser limits the nesting of tables and arrays.
fn table(table: &Table) -> Val {
    let entries: BTreeMap<Arc<str>, Val> = table
        .iter()
        .filter_map(|(key, found)| Some((key.into(), item(found)?)))
        .collect();
    Val::Map(Map::with(MapType::Any, entries))
}

fn item(item: &Item) -> Option<Val> {
    Some(match item {
        Item::None => return None,
        Item::Value(found) => value(found),
        Item::Table(found) => table(found),
        Item::ArrayOfTables(found) => {
            let tables = found.iter().map(table).collect();
            Val::List(List::typed(ListType::Maps, tables))
        }
    })
}

fn value(value: &Value) -> Val {
    match value {
        Value::String(text) => Val::str(text.value().as_str()),
        Value::Integer(number) => Val::int64(*number.value()),
        Value::Float(number) => Val::Float(*number.value()),
        Value::Boolean(found) => Val::Bool(*found.value()),
        Value::Datetime(time) => datetime(time.value()),
        Value::Array(items) => Val::list(items.iter().map(self::value).collect()),
        Value::InlineTable(table) => {
            let entries: BTreeMap<Arc<str>, Val> = table
                .iter()
                .map(|(key, found)| (key.into(), self::value(found)))
                .collect();
            Val::Map(Map::with(MapType::Any, entries))
        }
    }
}

fn datetime(time: &Datetime) -> Val {
    let mut civil = Civil::default();
    if let Some(date) = time.date {
        civil.year = i64::from(date.year);
        civil.month = i64::from(date.month);
        civil.day = i64::from(date.day);
    }
    if let Some(time) = time.time {
        civil.hour = i64::from(time.hour);
        civil.minute = i64::from(time.minute);
        civil.second = i64::from(time.second.unwrap_or(0));
        civil.nanosecond = time.nanosecond.unwrap_or(0);
    }
    let zone = match (time.offset, time.date, time.time) {
        (Some(Offset::Z), ..) => return dates::utc(&civil),
        (Some(Offset::Custom { minutes: 0 }), ..) => return dates::utc(&civil),
        (Some(Offset::Custom { minutes }), ..) => return dates::offset(&civil, i64::from(minutes) * 60),
        (None, Some(_), Some(_)) => dates::TOML_DATETIME,
        (None, Some(_), None) => dates::TOML_DATE,
        (None, None, _) => dates::TOML_TIME,
    };
    dates::named(&civil, zone)
}
