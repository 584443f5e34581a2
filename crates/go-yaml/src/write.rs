//! Writes data as YAML.
//!
//! [`write()`] returns what Helm 4.3.1's `toYaml` prints: sigs.k8s.io/yaml's `Marshal`, that is JSON parsed by go-yaml
//! v2 and written again. Two spaces of indentation, lists not indented inside maps, keys in natural order, strings
//! quoted where YAML 1.1 would parse another type, folded after column 80, literal blocks for several lines.
//!
//! The output can always be parsed again: `parse(write(v))` is `v`, up to [`Number::canonical`]. The output only
//! differs from Helm's where Helm fails or loses data: see [`write()`].
//!
//! Any tree that implements [`Tree`] can be written to a [`Writer`].

use std::convert::Infallible;
use std::fmt::Write as _;

use super::dialect::Options;
use super::emit::Emitter;
use super::style::ScalarPosition;
use super::{float, order};
use solar_diagnostics::value::{Number, Value};

/// Data that can be written.
pub trait Tree {
    /// The error.
    type Error;

    /// Writes exactly one node.
    ///
    /// # Errors
    /// If a part of it can't be represented in YAML.
    fn write(&self, out: &mut Writer) -> Result<(), Self::Error>;
}

/// Writes a [`Tree`], node by node.
pub struct Writer {
    emitter: Emitter,
    place: WritePosition,
}

/// The output of Helm's `toYaml`, with the final line break that Helm trims.
///
/// The differences, all where Helm fails or loses data: U+007F–U+009F, U+FFFE and U+FFFF are
/// escaped in double quotes (Helm fails, and makes a space of U+0085); the key `<<` is quoted
/// (Helm writes a merge); keys above 1024 characters are written (Helm fails);
/// infinities and not-a-number, which JSON lacks and Helm refuses, become `null`.
pub fn write(value: &Value) -> String {
    write_with(value, &Options::default())
}

/// As [`write()`], with options.
pub fn write_with(value: &Value, options: &Options) -> String {
    let Ok(text) = write_tree(value, options);
    text
}

/// Writes any tree.
///
/// # Errors
/// The tree's own.
pub fn write_tree<T: Tree>(tree: &T, options: &Options) -> Result<String, T::Error> {
    let mut writer = Writer::new(options);
    tree.write(&mut writer)?;
    if options.template_safe && writer.emitter.ends_in_block() {
        // A template's trim marker after the value would remove line breaks of the block.
        let quoted = writer.emitter.blocks();
        writer = Writer::new(options);
        writer.emitter.quote_block(quoted);
        tree.write(&mut writer)?;
    }
    Ok(writer.emitter.finish())
}

impl<T: Tree> Tree for &T {
    type Error = T::Error;

    fn write(&self, out: &mut Writer) -> Result<(), T::Error> {
        (*self).write(out)
    }
}

impl Tree for Value {
    type Error = Infallible;

    fn write(&self, out: &mut Writer) -> Result<(), Infallible> {
        match self {
            Self::Null => out.null(),
            Self::Bool(value) => out.bool(*value),
            Self::Number(value) => out.number(*value),
            Self::String(text) => out.text(text),
            Self::List(items) => out.list(items.iter())?,
            Self::Map(map) => out.map(map.iter().map(|(key, item)| (key.as_str(), item)))?,
        }
        Ok(())
    }
}

/// The position of the next node.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum WritePosition {
    Root,
    Item,
    /// A value of a map, or a key after `? `.
    Entry,
}

impl Writer {
    fn new(options: &Options) -> Self {
        Self {
            emitter: Emitter::new(options),
            place: WritePosition::Root,
        }
    }

    /// `null`
    pub fn null(&mut self) {
        self.emitter.word("null");
    }

    /// `true` or `false`
    pub fn bool(&mut self, value: bool) {
        self.emitter.word(if value { "true" } else { "false" });
    }

    /// A number, in its JSON form; null if JSON can't represent it.
    pub fn number(&mut self, value: Number) {
        self.emitter.begin_word();
        let start = self.emitter.out.len();
        push_number(value, &mut self.emitter.out);
        self.emitter.end_word(start);
    }

    /// A word that needs no quotes: a date, a number in a special form.
    pub fn word(&mut self, word: &str) {
        self.emitter.word(word);
    }

    /// Base64 with its tag; a block if it has several lines.
    pub fn binary(&mut self, base64: &str) {
        self.emitter.word("!!binary");
        if base64.contains('\n') {
            self.emitter.text(base64, ScalarPosition::Value);
        } else {
            self.emitter.word(base64);
        }
    }

    /// A string.
    pub fn text(&mut self, text: &str) {
        self.emitter.text(text, ScalarPosition::Value);
    }

    /// The number of bytes written.
    pub fn len(&self) -> usize {
        self.emitter.out.len()
    }

    /// Whether nothing was written.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// A list.
    ///
    /// # Errors
    /// An item's.
    pub fn list<T: Tree>(&mut self, items: impl Iterator<Item = T>) -> Result<(), T::Error> {
        let mut items = items.peekable();
        if items.peek().is_none() {
            self.emitter.empty("[]");
            return Ok(());
        }
        let outer = self.emitter.open_list(self.place == WritePosition::Entry);
        for item in items {
            self.emitter.item();
            self.place = WritePosition::Item;
            item.write(self)?;
        }
        self.emitter.close(outer);
        Ok(())
    }

    /// A map, with keys in any order, which are written in go-yaml's order.
    ///
    /// # Errors
    /// A value's.
    pub fn map<'a, T: Tree + Copy>(
        &mut self,
        entries: impl Iterator<Item = (&'a str, T)> + Clone,
    ) -> Result<(), T::Error> {
        let dialect = self.emitter.dialect;
        let mut keys = entries.clone().map(|(key, _)| key);
        let Some(mut before) = keys.next() else {
            self.emitter.empty("{}");
            return Ok(());
        };
        let outer = self.emitter.open_map();
        // With digits the comparison is not transitive, so comparing neighbours is not enough.
        let digits = |key: &str| key.bytes().any(|byte| byte.is_ascii_digit());
        let sorted = !digits(before)
            && keys.all(|key| {
                let fits = !digits(key) && order::compare(before, key, dialect).is_le();
                before = key;
                fits
            });
        if sorted {
            for (key, item) in entries {
                self.entry(key, &item)?;
            }
        } else {
            for (key, item) in order::sorted(entries.collect(), dialect) {
                self.entry(key, &item)?;
            }
        }
        self.emitter.close(outer);
        Ok(())
    }

    /// A map whose keys are already in the output order.
    ///
    /// # Errors
    /// A value's.
    pub fn fields<'a, T: Tree>(
        &mut self,
        entries: impl Iterator<Item = (&'a str, T)>,
    ) -> Result<(), T::Error> {
        let mut entries = entries.peekable();
        if entries.peek().is_none() {
            self.emitter.empty("{}");
            return Ok(());
        }
        let outer = self.emitter.open_map();
        for (key, item) in entries {
            self.entry(key, &item)?;
        }
        self.emitter.close(outer);
        Ok(())
    }

    /// A map whose keys are integers, in their order.
    ///
    /// # Errors
    /// A value's.
    pub fn numbered<T: Tree>(&mut self, entries: impl Iterator<Item = (u32, T)>) -> Result<(), T::Error> {
        let mut entries = entries.peekable();
        if entries.peek().is_none() {
            self.emitter.empty("{}");
            return Ok(());
        }
        let outer = self.emitter.open_map();
        for (key, item) in entries {
            self.emitter.plain_key(&key.to_string());
            self.place = WritePosition::Entry;
            item.write(self)?;
        }
        self.emitter.close(outer);
        Ok(())
    }

    fn entry<T: Tree>(&mut self, key: &str, item: &T) -> Result<(), T::Error> {
        self.emitter.key(key);
        self.place = WritePosition::Entry;
        item.write(self)
    }
}

/// A number as Helm's `toYaml` prints it.
pub(super) fn number(number: Number) -> String {
    let mut out = String::new();
    push_number(number, &mut out);
    out
}

/// Integers up to here are exact in a float64 and print the same way everywhere.
const EXACT: f64 = 9_007_199_254_740_992.0;

fn push_number(number: Number, out: &mut String) {
    let Number::Float(value) = number else {
        // Writing to a String can't fail.
        let _ = write!(out, "{number}");
        return;
    };
    if !value.is_finite() {
        out.push_str("null");
        return;
    }
    if value.fract() == 0.0 && value.abs() < EXACT {
        #[allow(clippy::cast_possible_truncation, reason = "it is whole and below 2^53")]
        let whole = value as i64;
        let _ = write!(out, "{whole}");
        return;
    }
    // Through its JSON form: a number that looks like an integer there becomes one.
    let json = number.to_string();
    let integral = json.bytes().all(|byte| byte.is_ascii_digit() || byte == b'-');
    if integral && (json.parse::<i64>().is_ok() || json.parse::<u64>().is_ok()) {
        out.push_str(&json);
    } else {
        out.push_str(&float::go_g64(value));
    }
}

/// A float as go-yaml v3 prints it, without JSON.
pub fn plain_float(value: f64) -> String {
    float::go_g64(value)
}
