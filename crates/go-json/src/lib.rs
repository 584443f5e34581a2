//! JSON as Go's `encoding/json` reads it: the grammar of RFC 8259, and Go's errors as values.
//!
//! In: bytes, and a function that makes the caller's values of [`Piece`]s, innermost first. Out: the outermost value,
//! or the first [`Error`]. What a number is, and which of equal keys wins, is the caller's: pieces hold the number's
//! text and every member in order. Bytes that are no UTF-8 and lone surrogates become U+FFFD, as in Go.
//!
//! Nothing here knows charts, templates or YAML.

mod error;
mod reader;

pub use error::{Context, Error};

use std::borrow::Cow;
use std::ops::Range;

use reader::Reader;

/// A value of JSON whose parts the caller has already made.
#[derive(Debug, Clone, PartialEq)]
pub enum Piece<'t, V> {
    /// `null`
    Null,
    /// `true`, `false`
    Bool(bool),
    /// The number's text, valid in JSON's grammar.
    Number(&'t str),
    /// A string, unescaped.
    String(Cow<'t, str>),
    /// An array.
    List(Vec<V>),
    /// An object's members in their order; keys may repeat.
    Map(Vec<Member<'t, V>>),
}

/// A member of an object.
#[derive(Debug, Clone, PartialEq)]
pub struct Member<'t, V> {
    /// Its name, unescaped.
    pub key: Cow<'t, str>,
    /// The name's bytes in the text, with the quotes.
    pub key_span: Range<usize>,
    /// Its value.
    pub value: V,
}

/// The limits behind [`Error::TooDeep`] and [`Error::TooManyValues`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// The maximum nesting of values.
    pub depth: usize,
    /// The maximum number of values.
    pub values: usize,
}

/// Parses a whole text. `make` is called for every value with its range in the text, without surrounding white space.
///
/// # Errors
/// The first syntax error, or the limit that is exceeded.
pub fn read<'t, V>(
    bytes: &'t [u8],
    limits: Limits,
    make: impl FnMut(Piece<'t, V>, Range<usize>) -> V,
) -> Result<V, Error> {
    let mut reader = Reader::new(bytes, 0, limits.values, make);
    let value = reader.value(limits.depth)?;
    reader.end()?;
    Ok(value)
}

/// Parses the value that begins at a byte; returns also its end; the rest is ignored.
///
/// # Errors
/// As [`read`].
pub fn read_prefix<'t, V>(
    bytes: &'t [u8],
    start: usize,
    limits: Limits,
    make: impl FnMut(Piece<'t, V>, Range<usize>) -> V,
) -> Result<(V, usize), Error> {
    let mut reader = Reader::new(bytes, start, limits.values, make);
    let value = reader.value(limits.depth)?;
    Ok((value, reader.position()))
}

#[cfg(test)]
mod tests;
