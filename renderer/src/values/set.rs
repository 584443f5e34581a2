//! The grammar of the `--set` flags, as in Helm 4.3.1's `strvals`.
//!
//! In: the value of one flag, which is merged into existing values; errors have Helm's message, with the position in
//! the flag's value. Helm's quirks are kept: a text that ends where a name or an index could continue is not an error.

pub(crate) use crate::chart::values_file::floats;
use crate::diag::{Class, Diagnostic, Diagnostics, Result};
use crate::source::{Location, Source, Span};
use crate::template::print::{quote, quote_char};
use crate::value::{Map, Number, Value};
use crate::yaml;

/// The highest index of a list that may be set (Helm's `MaxIndex`).
pub const MAX_INDEX: i64 = 65_536;
/// The maximum nesting of dotted names (Helm's `MaxNestedNameLevel`).
pub const MAX_NAME_LEVEL: usize = 30;
/// The maximum nesting of names and indices together; Helm has no such limit.
pub const MAX_NESTING: usize = 500;
/// The maximum number of list items that indices may add, over all flags; Helm has no such limit, and
/// `a[65536][65536]…` takes a megabyte for each index there.
pub const MAX_PADDING: usize = 2_000_000;

/// Reads a file for `--set-file`.
pub type ReadFile<'r> = dyn FnMut(&str) -> Result<String> + 'r;

/// How values are interpreted.
#[non_exhaustive]
pub enum Meaning<'r> {
    /// `--set`: numbers, booleans and null are recognized.
    Typed,
    /// `--set-string`
    Text,
    /// `--set-json`
    Json,
    /// `--set-file`: a value is a path.
    File(&'r mut ReadFile<'r>),
    /// `--set-literal`: no escapes, and everything after `=` is the value.
    Literal,
}

impl Meaning<'_> {
    /// The flag it belongs to.
    pub fn flag(&self) -> &'static str {
        match self {
            Self::Typed => "--set",
            Self::Text => "--set-string",
            Self::Json => "--set-json",
            Self::File(_) => "--set-file",
            Self::Literal => "--set-literal",
        }
    }
}

/// The remaining part of [`MAX_PADDING`].
#[derive(Debug)]
pub struct PaddingBudget(usize);

impl Default for PaddingBudget {
    fn default() -> Self {
        Self(MAX_PADDING)
    }
}

/// Merges the flag's value `text` into `values`.
///
/// # Errors
/// One diagnostic of class values with a position in the text. `values` may then have a part of it.
pub fn set(text: &str, meaning: Meaning<'_>, values: &mut Map, budget: &mut PaddingBudget) -> Result<()> {
    let mut parser = Parser {
        text,
        at: 0,
        meaning,
        budget,
        nesting: 0,
    };
    loop {
        match parser.key(values, 0) {
            Ok(()) => {}
            Err(Stop::End) => return Ok(()),
            Err(stop) => return Err(parser.diagnose(stop)),
        }
    }
}

/// Why parsing stops.
enum Stop {
    /// The end of the text. In Helm, that is a success anywhere.
    End,
    /// Something is wrong with the text from an offset on.
    Wrong { message: String, from: usize },
    /// As [`Stop::Wrong`], with Go's message; the note explains it.
    Conversion {
        message: String,
        note: String,
        from: usize,
    },
    /// Something is wrong with a file.
    Told(Diagnostics),
}

type Step<T> = std::result::Result<T, Stop>;

struct Parser<'t, 'r, 'b> {
    text: &'t str,
    at: usize,
    meaning: Meaning<'r>,
    budget: &'b mut PaddingBudget,
    nesting: usize,
}

impl Parser<'_, '_, '_> {
    fn rest(&self) -> &str {
        self.text.get(self.at..).unwrap_or("")
    }

    fn next(&mut self) -> Option<char> {
        let found = self.rest().chars().next()?;
        self.at += found.len_utf8();
        Some(found)
    }

    fn wrong<T>(&self, from: usize, message: impl Into<String>) -> Step<T> {
        let message = message.into();
        Err(Stop::Wrong { message, from })
    }

    fn literal(&self) -> bool {
        matches!(self.meaning, Meaning::Literal)
    }

    /// The characters up to one of `stops`, which is consumed; `None` at the end of the text.
    fn until(&mut self, stops: &[char]) -> (String, Option<char>) {
        let mut out = String::new();
        while let Some(found) = self.next() {
            if stops.contains(&found) {
                return (out, Some(found));
            }
            if found == '\\' && !self.literal() {
                match self.next() {
                    Some(escaped) => out.push(escaped),
                    None => break,
                }
            } else {
                out.push(found);
            }
        }
        (out, None)
    }

    /// A name with its nested names, indices and value.
    fn key(&mut self, data: &mut Map, level: usize) -> Step<()> {
        let from = self.at;
        let stops: &[char] = if self.literal() {
            &['=', '[', '.']
        } else {
            &['=', '[', ',', '.']
        };
        let (name, last) = self.until(stops);
        match last {
            None if name.is_empty() => Err(Stop::End),
            None => self.wrong(from, format!("key {} has no value", quote(&name))),
            Some('[') => self.nested(from, |parser| parser.list(data, name, level, from)),
            Some('=') => {
                let value = self.value()?;
                let ended = value.is_none();
                put(data, name, value.unwrap_or_else(|| Value::from("")));
                if ended { Err(Stop::End) } else { Ok(()) }
            }
            Some('.') => self.nested(from, |parser| parser.map(data, name, level + 1, from)),
            Some(_) => self.wrong(
                from,
                format!("key {} has no value (cannot end with ,)", quote(&name)),
            ),
        }
    }

    fn nested<T>(&mut self, from: usize, step: impl FnOnce(&mut Self) -> Step<T>) -> Step<T> {
        if self.nesting >= MAX_NESTING {
            let message = format!("names and indices nest deeper than {MAX_NESTING}");
            return self.wrong(from, message);
        }
        self.nesting += 1;
        let result = step(self);
        self.nesting -= 1;
        result
    }

    /// The part after `name.`
    fn map(&mut self, data: &mut Map, name: String, level: usize, from: usize) -> Step<()> {
        if level > MAX_NAME_LEVEL {
            let message = format!(
                "value name nested level is greater than maximum supported nested level of {MAX_NAME_LEVEL}"
            );
            return self.wrong(from, message);
        }
        let no_value = |parser: &Self| {
            let message = format!("key map {} has no value", quote(&name));
            parser.wrong(from, message)
        };
        match data.get_mut(&name) {
            Some(Value::Map(inner)) => {
                self.key(inner, level)?;
                if inner.is_empty() { no_value(self) } else { Ok(()) }
            }
            Some(other) => Err(conversion(other, "map[string]interface {}", from)),
            None => {
                let mut inner = Map::default();
                let result = self.key(&mut inner, level);
                if inner.is_empty() {
                    result?;
                    return no_value(self);
                }
                put(data, name, Value::Map(inner));
                result
            }
        }
    }

    /// The part after `name[`
    fn list(&mut self, data: &mut Map, name: String, level: usize, from: usize) -> Step<()> {
        let index = self.index()?;
        match data.get_mut(&name) {
            Some(Value::List(list)) => self.item(list, index, level),
            Some(other) => Err(conversion(other, "[]interface {}", from)),
            None => {
                let mut list = Vec::new();
                let result = self.item(&mut list, index, level);
                put(data, name, Value::List(list));
                result
            }
        }
    }

    /// The number before `]`.
    fn index(&mut self) -> Step<i64> {
        let from = self.at;
        let (digits, last) = self.until(&[']']);
        if last.is_none() {
            return Err(Stop::End);
        }
        digits.parse().or_else(|error: std::num::ParseIntError| {
            let why = match error.kind() {
                std::num::IntErrorKind::PosOverflow | std::num::IntErrorKind::NegOverflow => {
                    "value out of range"
                }
                _ => "invalid syntax",
            };
            let message = format!(
                "error parsing index: strconv.Atoi: parsing {}: {why}",
                quote(&digits)
            );
            self.wrong(from, message)
        })
    }

    /// The part after `]`.
    fn item(&mut self, list: &mut Vec<Value>, index: i64, level: usize) -> Step<()> {
        let from = self.at;
        let Ok(place) = usize::try_from(index) else {
            return self.wrong(from, format!("negative {index} index not allowed"));
        };
        let (extra, last) = self.until(&['[', '.', '=']);
        if !extra.is_empty() {
            let runes: Vec<String> = extra.chars().map(|one| quote_char(one, false)).collect();
            let message = format!("unexpected data at end of array index: [{}]", runes.join(" "));
            return self.wrong(from, message);
        }
        match last {
            None => Err(Stop::End),
            Some('=') => {
                let value = self.value()?.unwrap_or_else(|| Value::from(""));
                self.put_item(list, index, value, from)
            }
            Some('[') => self.nested(from, |parser| parser.inner_list(list, index, level, from)),
            Some(_) => {
                // Indices may be out of order: an item that is not a map yet becomes one.
                if let Some(found) = list.get_mut(place) {
                    if !matches!(found, Value::Map(_)) {
                        *found = Value::empty_map();
                    }
                    if let Value::Map(inner) = found {
                        self.nested(from, |parser| parser.key(inner, level))?;
                    }
                    return self.check_index(index, from);
                }
                let mut inner = Map::default();
                self.nested(from, |parser| parser.key(&mut inner, level))?;
                self.put_item(list, index, Value::Map(inner), from)
            }
        }
    }

    /// The part after `][`.
    fn inner_list(&mut self, list: &mut Vec<Value>, index: i64, level: usize, from: usize) -> Step<()> {
        let next = self.index()?;
        let place = usize::try_from(index).unwrap_or(usize::MAX);
        match list.get_mut(place) {
            Some(Value::List(inner)) => {
                self.item(inner, next, level)?;
                self.check_index(index, from)
            }
            None | Some(Value::Null) => {
                let mut inner = Vec::new();
                self.item(&mut inner, next, level)?;
                self.put_item(list, index, Value::List(inner), from)
            }
            Some(other) => Err(conversion(other, "[]interface {}", from)),
        }
    }

    fn check_index(&self, index: i64, from: usize) -> Step<()> {
        if index > MAX_INDEX {
            let message = format!("index of {index} is greater than maximum supported index of {MAX_INDEX}");
            return self.wrong(from, message);
        }
        Ok(())
    }

    /// Sets an item; the list grows if needed.
    fn put_item(&mut self, list: &mut Vec<Value>, index: i64, value: Value, from: usize) -> Step<()> {
        self.check_index(index, from)?;
        let place = usize::try_from(index).unwrap_or(0);
        let missing = (place + 1).saturating_sub(list.len());
        let Some(left) = self.budget.0.checked_sub(missing) else {
            let message = format!("the indices make lists of more than {MAX_PADDING} items in all");
            return self.wrong(from, message);
        };
        self.budget.0 = left;
        if missing > 0 {
            list.resize(place + 1, Value::Null);
        }
        if let Some(found) = list.get_mut(place) {
            *found = value;
        }
        Ok(())
    }

    /// The part after `=`; nothing when the text ends there.
    fn value(&mut self) -> Step<Option<Value>> {
        match self.meaning {
            Meaning::Json => self.json().map(Some),
            Meaning::Literal => {
                let value = Value::from(self.rest());
                self.at = self.text.len();
                Ok(Some(value))
            }
            _ if self.rest().is_empty() => Ok(None),
            _ if self.rest().starts_with('{') => self.braces().map(Some),
            _ => {
                let (text, _) = self.until(&[',']);
                self.scalar(text).map(Some)
            }
        }
    }

    /// `{a,b}`
    fn braces(&mut self) -> Step<Value> {
        let from = self.at;
        self.at += 1;
        let mut items = Vec::new();
        loop {
            let (text, last) = self.until(&[',', '}']);
            match last {
                None => return self.wrong(from, "list must terminate with '}'"),
                Some('}') => {
                    if self.rest().starts_with(',') {
                        self.at += 1;
                    }
                    items.push(self.scalar(text)?);
                    return Ok(Value::List(items));
                }
                Some(_) => items.push(self.scalar(text)?),
            }
        }
    }

    fn scalar(&mut self, text: String) -> Step<Value> {
        match &mut self.meaning {
            Meaning::Typed => Ok(typed(text)),
            Meaning::File(read) => read(&text).map(Value::String).map_err(|problem| {
                let flag = self.text.split('=').next().unwrap_or_default();
                let note = format!("for --set-file {flag}=…");
                Stop::Told(
                    problem
                        .iter()
                        .map(|one| one.clone().note(note.as_str()))
                        .collect(),
                )
            }),
            Meaning::Text | Meaning::Json | Meaning::Literal => Ok(Value::String(text)),
        }
    }

    /// One JSON value, and the comma and white space after it.
    fn json(&mut self) -> Step<Value> {
        if self.no_more() {
            return Ok(Value::Null);
        }
        let from = self.at;
        let source = Source::new("--set-json", self.text);
        let limits = yaml::Limits::default();
        let found = yaml::parse_json_prefix(&source, from, &limits);
        let Some((value, end)) = found.and_then(|(node, end)| Some((floats(node.into_value())?, end))) else {
            return self.wrong(from, "not JSON");
        };
        self.at = end;
        self.no_more();
        Ok(value)
    }

    /// Consumes white space, and a comma after it; returns whether the value ends here.
    fn no_more(&mut self) -> bool {
        loop {
            match self.rest().chars().next() {
                Some(',') => {
                    self.at += 1;
                    return true;
                }
                Some(blank) if blank.is_whitespace() => self.at += blank.len_utf8(),
                Some(_) => return false,
                None => return true,
            }
        }
    }

    fn diagnose(&self, stop: Stop) -> Diagnostics {
        let flag = self.meaning.flag();
        let (message, note, from) = match stop {
            Stop::Told(problem) => return problem,
            Stop::End => (String::new(), None, self.at),
            Stop::Wrong { message, from } => (message, None, from),
            Stop::Conversion { message, note, from } => (message, Some(note), from),
        };
        let source = Source::new(flag, self.text);
        let end = self.at.max(from + 1).min(self.text.len());
        let place = Location::new(&source, Span::new(from.min(end), end));
        let json = matches!(self.meaning, Meaning::Json);
        let headline = if json {
            // Helm's message has no details here.
            format!("failed parsing {flag} data {}", self.text)
        } else {
            format!("failed parsing {flag} data: {message}")
        };
        let one = Diagnostic::error(Class::Values, headline).at(place);
        let one = note.into_iter().fold(one, Diagnostic::note);
        if json { one.label(message) } else { one }.into()
    }
}

/// Sets a value; an empty name is ignored.
fn put(data: &mut Map, name: String, value: Value) {
    if !name.is_empty() {
        data.insert(name, value);
    }
}

/// Converts a text as `--set` does.
fn typed(text: String) -> Value {
    if is_word(&text, "true") {
        return Value::Bool(true);
    }
    if is_word(&text, "false") {
        return Value::Bool(false);
    }
    if is_word(&text, "null") {
        return Value::Null;
    }
    if text == "0" {
        return Value::Number(Number::Int(0));
    }
    if !text.starts_with('0')
        && let Ok(number) = text.parse()
    {
        return Value::Number(Number::Int(number));
    }
    Value::String(text)
}

/// Go's `EqualFold`: the long s folds to s.
fn is_word(text: &str, word: &str) -> bool {
    text.len() <= 2 * word.len() && text.replace('\u{17f}', "s").eq_ignore_ascii_case(word)
}

/// The panic that Helm catches if a name leads through a value that is not a map or list.
fn conversion(found: &Value, wanted: &str, from: usize) -> Stop {
    let (found, ours) = match found {
        Value::Null => ("nil", "null"),
        Value::Bool(_) => ("bool", "a boolean"),
        Value::Number(Number::Float(_)) => ("float64", "a number"),
        Value::Number(_) => ("int64", "a number"),
        Value::String(_) => ("string", "a text"),
        Value::List(_) => ("[]interface {}", "a list"),
        Value::Map(_) => ("map[string]interface {}", "a map"),
    };
    let needed = if wanted.starts_with('[') {
        "a list"
    } else {
        "a map"
    };
    Stop::Conversion {
        message: format!(
            "unable to parse key: interface conversion: interface {{}} is {found}, not {wanted}"
        ),
        note: format!(
            "the name leads into {needed}, but a flag or a file before this one has set {ours} there"
        ),
        from,
    }
}
