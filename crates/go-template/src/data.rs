//! Conversion between plain data ([`solar_diagnostics::value`]) and template values.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use super::limits::{MAX_NESTING, MAX_PARTS};
use super::memory;
use super::value::{IntType, List, Map, Val};
use solar_diagnostics::value::{self as data, Number};

/// Counts the parts of a walk over a value, and its depth.
#[derive(Debug, Default)]
pub struct Walk {
    parts: usize,
    bytes: usize,
}

impl Walk {
    /// Counts a part at this depth.
    ///
    /// # Errors
    /// It is too deep, or there are too many parts.
    pub fn part(&mut self, depth: usize) -> Result<(), TooDeep> {
        self.parts += 1;
        if depth > MAX_NESTING || self.parts > MAX_PARTS {
            return Err(TooDeep);
        }
        Ok(())
    }

    /// Counts a copied text: a text in many lists is copied as often.
    ///
    /// # Errors
    /// The copies take too much memory.
    fn copy(&mut self, bytes: usize) -> Result<(), TooDeep> {
        self.bytes += bytes;
        if memory::fits(self.bytes) {
            Ok(())
        } else {
            Err(TooDeep)
        }
    }
}

/// Values nest too deeply, are cyclic, or have too many parts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TooDeep;

impl From<TooDeep> for super::FuncError {
    fn from(_: TooDeep) -> Self {
        Self::new(format!(
            "the value is nested more than {MAX_NESTING} deep, holds itself, or has more than {MAX_PARTS} parts"
        ))
    }
}

impl Val {
    /// A template value from plain data: integers are int64 (or uint64), as with Helm's `--set`, and floats float64, as
    /// all numbers of a values file.
    pub fn from_data(value: &data::Value) -> Self {
        match value {
            data::Value::Null => Self::Nil,
            data::Value::Bool(value) => Self::Bool(*value),
            data::Value::Number(Number::Int(value)) => Self::int64(*value),
            data::Value::Number(Number::Uint(value)) => Self::Uint(*value, super::UintType::Uint64),
            data::Value::Number(Number::Float(value)) => Self::Float(*value),
            data::Value::String(text) => Self::str(text.as_str()),
            data::Value::List(items) => Self::list(items.iter().map(Self::from_data).collect()),
            data::Value::Map(map) => Self::Map(Map::from_data(map)),
        }
    }

    /// The result of Go's `encoding/json`, as plain data: bytes are base64, times and other objects use their own JSON.
    /// Invalid UTF-8 becomes U+FFFD.
    pub fn to_data(&self) -> Result<data::Value, TooDeep> {
        self.data_at(&mut Walk::default(), 0)
    }

    fn data_at(&self, walk: &mut Walk, depth: usize) -> Result<data::Value, TooDeep> {
        walk.part(depth)?;
        Ok(match self {
            Self::Nil | Self::Null => data::Value::Null,
            Self::Bool(value) => data::Value::Bool(*value),
            Self::Int(value, _) => data::Value::Number(Number::Int(*value)),
            Self::Uint(value, _) => {
                data::Value::Number(i64::try_from(*value).map_or(Number::Uint(*value), Number::Int))
            }
            Self::Float(value) => data::Value::Number(Number::Float(*value)),
            Self::Complex(..) => data::Value::Null,
            Self::Str(text) => {
                walk.copy(text.len())?;
                data::Value::String(text.to_text().into_owned())
            }
            Self::Bytes(bytes) => data::Value::String(STANDARD.encode(&**bytes)),
            Self::List(list) if list.is_nil() => data::Value::Null,
            Self::List(list) => list_at(list, walk, depth)?,
            Self::Map(map) if map.kind() == super::MapType::NilStrings && map.is_empty() => data::Value::Null,
            Self::Map(map) => map_at(map, walk, depth)?,
            Self::Object(object) => object.json().data_at(walk, depth + 1)?,
        })
    }

    /// Whether it is an integer of any signed type.
    pub fn as_int(&self) -> Option<(i64, IntType)> {
        match self {
            Self::Int(value, kind) => Some((*value, *kind)),
            _ => None,
        }
    }
}

// Loops instead of iterators: they use less stack per level.
fn list_at(list: &List, walk: &mut Walk, depth: usize) -> Result<data::Value, TooDeep> {
    let mut items = Vec::with_capacity(list.len());
    for item in list.iter() {
        items.push(item.data_at(walk, depth + 1)?);
    }
    Ok(data::Value::List(items))
}

fn map_at(map: &Map, walk: &mut Walk, depth: usize) -> Result<data::Value, TooDeep> {
    let mut entries = Vec::with_capacity(map.len());
    for (key, item) in map.borrow().iter() {
        entries.push((key.to_string(), item.data_at(walk, depth + 1)?));
    }
    Ok(data::Value::Map(entries.into_iter().collect()))
}

impl Map {
    /// A map of plain data.
    pub fn from_data(map: &data::Map) -> Self {
        map.iter()
            .map(|(key, value)| (key.as_str(), Val::from_data(value)))
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_are_base64() {
        let cases: [(&[u8], &str); 4] = [(b"", ""), (b"f", "Zg=="), (b"fo", "Zm8="), (b"foo", "Zm9v")];
        for (bytes, expected) in cases {
            let value = Val::Bytes(bytes.into()).to_data();
            assert_eq!(value, Ok(data::Value::from(expected)));
        }
    }

    #[test]
    fn a_cyclic_map_is_no_data() {
        let done = std::thread::Builder::new()
            .stack_size(crate::STACK_BYTES)
            .spawn(|| {
                let map = Map::default();
                map.set("self", Val::Map(map.clone()));
                let data = Val::Map(map.clone()).to_data();
                map.remove("self");
                data
            });
        assert_eq!(done.unwrap().join().unwrap(), Err(TooDeep));
    }
}
