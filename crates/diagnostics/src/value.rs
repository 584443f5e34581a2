//! The data of charts and configs: [`Value`], [`Map`], [`Number`].
//!
//! Maps are ordered by key, as Go prints and ranges over its maps, so everything
//! derived from a value is deterministic. This is independent of YAML; JSON is only used as Go's way of printing, which
//! defines canonical numbers.

use std::collections::BTreeMap;
use std::fmt::{self, Write as _};

/// A value.
#[derive(Debug, Clone, PartialEq, Default)]
pub enum Value {
    /// `null`
    #[default]
    Null,
    /// `true`, `false`
    Bool(bool),
    /// An integer or a float.
    Number(Number),
    /// Text.
    String(String),
    /// A list.
    List(Vec<Value>),
    /// A map from text to data.
    Map(Map),
}

/// Go's numbers that YAML and JSON can represent.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Number {
    /// Fits int64.
    Int(i64),
    /// Does not fit int64 and fits uint64.
    Uint(u64),
    /// Everything else.
    Float(f64),
}

/// A map in key order (bytewise).
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Map(BTreeMap<String, Value>);

impl Value {
    /// An empty map.
    pub fn empty_map() -> Self {
        Self::Map(Map::default())
    }

    /// The string, if it is one.
    pub fn as_str(&self) -> Option<&str> {
        if let Self::String(text) = self {
            Some(text)
        } else {
            None
        }
    }

    /// The map, if it is one.
    pub fn as_map(&self) -> Option<&Map> {
        if let Self::Map(map) = self {
            Some(map)
        } else {
            None
        }
    }

    /// The name of its type, for messages.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Null => "null",
            Self::Bool(_) => "a boolean",
            Self::Number(_) => "a number",
            Self::String(_) => "a string",
            Self::List(_) => "a list",
            Self::Map(_) => "a map",
        }
    }

    /// Compact JSON as Go's `encoding/json` writes it (keys sorted; `<`, `>`, `&`,
    /// U+2028 and U+2029 escaped). Not-a-number and infinities, which JSON can't represent, become null.
    pub fn to_json(&self) -> String {
        let mut out = String::new();
        self.write_json(&mut out);
        out
    }

    /// Appends the result of [`Value::to_json`].
    pub fn write_json(&self, out: &mut String) {
        match self {
            Self::Null => out.push_str("null"),
            Self::Bool(true) => out.push_str("true"),
            Self::Bool(false) => out.push_str("false"),
            Self::Number(number) => number.write_json(out),
            Self::String(text) => write_json_string(text, out),
            Self::List(items) => {
                out.push('[');
                for (index, item) in items.iter().enumerate() {
                    if index > 0 {
                        out.push(',');
                    }
                    item.write_json(out);
                }
                out.push(']');
            }
            Self::Map(map) => {
                out.push('{');
                for (index, (key, item)) in map.iter().enumerate() {
                    if index > 0 {
                        out.push(',');
                    }
                    write_json_string(key, out);
                    out.push(':');
                    item.write_json(out);
                }
                out.push('}');
            }
        }
    }
}

/// Appends a JSON string as Go's `encoding/json` writes it (HTML characters escaped).
pub fn write_json_string(text: &str, out: &mut String) {
    out.push('"');
    for character in text.chars() {
        match character {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            '\u{8}' => out.push_str("\\b"),
            '\u{c}' => out.push_str("\\f"),
            '<' | '>' | '&' | '\u{2028}' | '\u{2029}' | '\u{0}'..='\u{1f}' => {
                // Writing to a String can't fail.
                let _ = write!(out, "\\u{:04x}", u32::from(character));
            }
            _ => out.push(character),
        }
    }
    out.push('"');
}

impl Number {
    /// The value as Helm's float64, which may lose digits.
    #[allow(clippy::cast_precision_loss, reason = "that loss is what callers ask about")]
    pub fn as_f64(self) -> f64 {
        match self {
            Self::Int(value) => value as f64,
            Self::Uint(value) => value as f64,
            Self::Float(value) => value,
        }
    }

    /// The one form of equal numbers: a float without a fraction that fits int64 is an
    /// integer, negative zero is zero. A number keeps its canonical form in a round trip through an API server.
    #[must_use]
    pub fn canonical(self) -> Self {
        match self {
            // By its printed digits, not by its bits: 2^60 as a float prints as
            // 1152921504606847000, and that is what an API server returns.
            Self::Float(value) if value.fract() == 0.0 => value
                .to_string()
                .parse()
                .map_or(self, |value: i64| Self::Int(value)),
            Self::Uint(value) => Self::Float(Self::Uint(value).as_f64()),
            other => other,
        }
    }

    /// Whether the number, read as a float64 and printed again as JSON, has the same digits.
    pub fn survives_float64(self) -> bool {
        match self {
            Self::Float(value) => value.is_finite(),
            exact => exact.to_string() == Self::Float(exact.as_f64()).to_string(),
        }
    }

    fn write_json(self, out: &mut String) {
        match self {
            Self::Float(value) if !value.is_finite() => out.push_str("null"),
            // Writing to a String can't fail.
            other => {
                let _ = write!(out, "{other}");
            }
        }
    }
}

impl fmt::Display for Number {
    /// As Go's `encoding/json`: shortest digits; an exponent below 1e-6 and from 1e21 on.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::Int(value) => write!(f, "{value}"),
            Self::Uint(value) => write!(f, "{value}"),
            Self::Float(value) => {
                let size = value.abs();
                if size != 0.0 && size.is_finite() && !(1e-6..1e21).contains(&size) {
                    let text = scientific(value);
                    let (digits, exponent) = text.split_once('e').unwrap_or((&text, "0"));
                    match exponent.strip_prefix('-') {
                        Some(exponent) => write!(f, "{digits}e-{exponent}"),
                        None => write!(f, "{digits}e+{exponent}"),
                    }
                } else if value.fract() != 0.0 && value.is_finite() {
                    f.write_str(&positional(&scientific(value)))
                } else {
                    write!(f, "{value}")
                }
            }
        }
    }
}

/// The shortest digits that represent the float, as `1.25e-7`. Of two that are equally near Go uses the even one and
/// Rust the larger one: 725230567716187.25 is …187.2 in Go.
pub fn scientific(value: f64) -> String {
    // Enough digits to recognise that a five followed by zeros is the exact end of the number.
    const EXACT: usize = 60;
    let shortest = format!("{value:e}");
    let Some((digits, exponent)) = shortest.split_once('e') else {
        return shortest;
    };
    let count = digits.bytes().filter(u8::is_ascii_digit).count();
    let odd = digits.bytes().last().is_some_and(|digit| digit % 2 == 1);
    if count < 15 || !odd {
        return shortest;
    }
    let exact = format!("{value:.EXACT$e}");
    let Some((head, tail)) = exact.split_at_checked(digits.len()) else {
        return shortest;
    };
    let tie = tail.starts_with('5')
        && tail.split_once('e').is_some_and(|(zeros, same)| {
            same == exponent && zeros.bytes().skip(1).all(|digit| digit == b'0')
        });
    let even = format!("{head}e{exponent}");
    if tie && even.parse() == Ok(value) {
        even
    } else {
        shortest
    }
}

/// `1.25e-3` as `0.00125`.
pub fn positional(scientific: &str) -> String {
    let (mantissa, exponent) = scientific.split_once('e').unwrap_or((scientific, "0"));
    let (sign, mantissa) = match mantissa.strip_prefix('-') {
        Some(mantissa) => ("-", mantissa),
        None => ("", mantissa),
    };
    let digits: String = mantissa.chars().filter(char::is_ascii_digit).collect();
    let point = exponent.parse::<i32>().unwrap_or(0) + 1;
    match usize::try_from(point) {
        Ok(point) if point > 0 && point < digits.len() => {
            let (whole, fraction) = digits.split_at_checked(point).unwrap_or((&digits, ""));
            format!("{sign}{whole}.{fraction}")
        }
        Ok(point) if point > 0 => format!("{sign}{digits}{}", "0".repeat(point - digits.len())),
        _ => format!("{sign}0.{}{digits}", "0".repeat(point.unsigned_abs() as usize)),
    }
}

impl Map {
    /// The value of a key.
    pub fn get(&self, key: &str) -> Option<&Value> {
        self.0.get(key)
    }

    /// The value of a key, mutable.
    pub fn get_mut(&mut self, key: &str) -> Option<&mut Value> {
        self.0.get_mut(key)
    }

    /// The values, mutable, in key order.
    pub fn values_mut(&mut self) -> impl Iterator<Item = &mut Value> {
        self.0.values_mut()
    }

    /// Sets a key; returns the former value, if any.
    pub fn insert(&mut self, key: impl Into<String>, value: Value) -> Option<Value> {
        self.0.insert(key.into(), value)
    }

    /// Removes a key.
    pub fn remove(&mut self, key: &str) -> Option<Value> {
        self.0.remove(key)
    }

    /// The entries, in key order.
    pub fn iter(&self) -> std::collections::btree_map::Iter<'_, String, Value> {
        self.0.iter()
    }

    /// The number of keys.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether there is no key.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether it has the key.
    pub fn contains_key(&self, key: &str) -> bool {
        self.0.contains_key(key)
    }
}

impl<'a> IntoIterator for &'a Map {
    type Item = (&'a String, &'a Value);
    type IntoIter = std::collections::btree_map::Iter<'a, String, Value>;
    fn into_iter(self) -> Self::IntoIter {
        self.0.iter()
    }
}

impl IntoIterator for Map {
    type Item = (String, Value);
    type IntoIter = std::collections::btree_map::IntoIter<String, Value>;
    fn into_iter(self) -> Self::IntoIter {
        self.0.into_iter()
    }
}

impl<K: Into<String>> FromIterator<(K, Value)> for Map {
    fn from_iter<T: IntoIterator<Item = (K, Value)>>(iter: T) -> Self {
        Self(iter.into_iter().map(|(key, value)| (key.into(), value)).collect())
    }
}

impl From<&str> for Value {
    fn from(text: &str) -> Self {
        Self::String(text.to_owned())
    }
}

impl From<String> for Value {
    fn from(text: String) -> Self {
        Self::String(text)
    }
}

impl From<bool> for Value {
    fn from(value: bool) -> Self {
        Self::Bool(value)
    }
}

impl From<i64> for Value {
    fn from(value: i64) -> Self {
        Self::Number(Number::Int(value))
    }
}

impl From<Map> for Value {
    fn from(map: Map) -> Self {
        Self::Map(map)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Expected texts come from Go 1.26's `json.Marshal`.
    #[test]
    fn numbers_print_as_go_prints_them() {
        let cases = [
            (1e20, "100000000000000000000"),
            (1e21, "1e+21"),
            (1.5e300, "1.5e+300"),
            (0.1, "0.1"),
            (1e-6, "0.000001"),
            (1e-7, "1e-7"),
            (-2.5e-9, "-2.5e-9"),
            (5e-324, "5e-324"),
            (0.0, "0"),
            (f64::from_bits(0x4304_9CBF_32F3_AADA), "725230567716187.2"),
            (-0.001_25, "-0.00125"),
            (123.5, "123.5"),
        ];
        for (value, expected) in cases {
            assert_eq!(Number::Float(value).to_string(), expected);
        }
    }

    #[test]
    fn equal_numbers_have_one_canonical_form() {
        assert_eq!(Number::Float(1.0).canonical(), Number::Int(1));
        assert_eq!(Number::Float(-0.0).canonical(), Number::Int(0));
        assert_eq!(
            Number::Float(1e18).canonical(),
            Number::Int(1_000_000_000_000_000_000)
        );
        assert_eq!(
            Number::Float(9_223_372_036_854_775_808.0).canonical(),
            Number::Float(9_223_372_036_854_775_808.0)
        );
        assert_eq!(
            Number::Float(1_152_921_504_606_846_976.0).canonical(),
            Number::Int(1_152_921_504_606_847_000)
        );
        assert_eq!(
            Number::Uint(u64::MAX).canonical(),
            Number::Float(18_446_744_073_709_551_615.0)
        );
        assert_eq!(Number::Float(0.5).canonical(), Number::Float(0.5));
    }

    #[test]
    fn a_number_survives_float64_when_its_digits_do() {
        assert!(Number::Int(9_007_199_254_740_992).survives_float64());
        assert!(!Number::Int(9_007_199_254_740_993).survives_float64());
        assert!(
            !Number::Int(1 << 60).survives_float64(),
            "printed as 1152921504606847000"
        );
        assert!(Number::Int(1_000_000_000_000_000_000).survives_float64());
    }

    #[test]
    fn strings_are_escaped_as_go_escapes_them() {
        let mut out = String::new();
        write_json_string("a\"\\\n\t\u{1}<&>\u{2028}é😀\u{7f}", &mut out);
        assert_eq!(
            out,
            "\"a\\\"\\\\\\n\\t\\u0001\\u003c\\u0026\\u003e\\u2028é😀\u{7f}\""
        );
    }
}
