//! The regular expressions of schemas, which are Go's, as in templates.
//!
//! The validator supports another dialect. So `pattern` is replaced by a keyword of ours, and the keys of
//! `patternProperties`, which other keywords use too, are rewritten for the validator. A key that would take it long to
//! compile becomes the list of those names in the values that match.
//!
//! # Differences from Helm
//!
//! - `\b` in `patternProperties` of draft 7 treats all letters as word characters, not only ASCII.
//! - In draft 4, an invalid key is not an error as long as nothing refers to it.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use jsonschema::{Keyword, ValidationError};
use percent_encoding::{NON_ALPHANUMERIC, percent_decode_str, utf8_percent_encode};
use regex_syntax::hir::{Class, Hir, HirKind, Look};
use serde_json::{Map, Value as Json};

use super::schema_bounds::MAX_ONE_PATTERN;
use super::schema_messages::quoted;
use crate::funcs::re2::{self, Expression};
use crate::value::{Map as ValueMap, Value};

/// The keyword that replaces `pattern`.
pub(super) const KEYWORD: &str = "x-solar-render-pattern";
/// An expression that matches nothing.
const NOTHING: &str = "[^\\x00-\u{10ffff}]";
/// The maximum nesting of groups in a rewritten key.
const NEST_LIMIT: u32 = 200;

/// The maximum number of ranges of characters, counted for each repetition, in a key that the validator compiles.
const MAX_RANGES: u64 = 20_000;

/// The expressions of a schema and those it refers to.
#[derive(Debug)]
pub(super) struct Patterns<'v> {
    /// The values that are checked.
    values: &'v ValueMap,
    /// Whether the root is of draft 7, which requires its own dialect for keys.
    pub(super) is_draft_7: bool,
    all: BTreeSet<String>,
    /// The rewritten keys.
    written: BTreeMap<String, String>,
    taken: BTreeSet<String>,
    /// Those that are not expressions of Go's, and why.
    refused: BTreeMap<String, String>,
}

impl<'v> Patterns<'v> {
    pub(super) fn new(values: &'v ValueMap) -> Self {
        Self {
            values,
            is_draft_7: false,
            all: BTreeSet::new(),
            written: BTreeMap::new(),
            taken: BTreeSet::new(),
            refused: BTreeMap::new(),
        }
    }

    pub(super) fn count(&self) -> usize {
        self.all.len()
    }

    /// Those that are not expressions of Go's, and why.
    pub(super) fn refused(&self) -> &BTreeMap<String, String> {
        &self.refused
    }

    /// The original key of the schema.
    pub(super) fn original<'p>(&'p self, written: &'p str) -> &'p str {
        let mut pairs = self.written.iter();
        pairs
            .find(|(_, other)| *other == written)
            .map_or(written, |(original, _)| original)
    }

    /// Rewrites the expressions of one schema for the validator.
    pub(super) fn replace(&mut self, schema: &mut Map<String, Json>) {
        if let Some(Json::String(pattern)) = schema.get("pattern") {
            self.all.insert(pattern.clone());
            if !is_plain(pattern) {
                self.check(pattern);
                if let Some(pattern) = schema.remove("pattern") {
                    schema.insert(KEYWORD.to_owned(), pattern);
                }
            }
        }
        if let Some(Json::Object(keys)) = schema.get_mut("patternProperties") {
            let old = std::mem::take(keys);
            *keys = old
                .into_iter()
                .map(|(key, schema)| (self.key(key), schema))
                .collect();
        }
    }

    fn key(&mut self, key: String) -> String {
        self.all.insert(key.clone());
        if let Some(written) = self.written.get(&key) {
            return written.clone();
        }
        let mut written = if is_plain(&key) {
            Some(key.clone())
        } else {
            self.rewritten(&key)
        };
        // Equivalent keys must remain distinct.
        while let Some(text) = written.as_mut().filter(|text| self.taken.contains(*text)) {
            text.insert_str(0, "(?:)");
        }
        let written = written.unwrap_or_else(|| key.clone());
        self.taken.insert(written.clone());
        self.written.insert(key, written.clone());
        written
    }

    fn rewritten(&mut self, key: &str) -> Option<String> {
        let read = self.check(key)?;
        let parsed = regex_syntax::ParserBuilder::new()
            .nest_limit(NEST_LIMIT)
            .build()
            .parse(&read);
        match parsed {
            Ok(hir) if count_ranges(&hir) > MAX_RANGES => match self.matching_names(key) {
                Ok(names) => Some(names),
                Err(reason) => {
                    self.refused.insert(key.to_owned(), reason);
                    None
                }
            },
            Ok(hir) => {
                let mut out = String::new();
                write_hir(&hir, self.is_draft_7, &mut out);
                Some(out)
            }
            Err(error) => {
                let reason = error.to_string();
                let reason = reason.lines().last().unwrap_or_default().to_owned();
                self.refused.insert(key.to_owned(), reason);
                None
            }
        }
    }

    /// An expression of the names in the values that match the key.
    fn matching_names(&self, key: &str) -> Result<String, String> {
        let expression = re2::compile_within(key, MAX_ONE_PATTERN)?;
        let mut names = BTreeSet::new();
        collect_names(self.values, &mut names);
        let mut out = String::new();
        for name in names {
            if !expression.search(name)?.is_match() {
                continue;
            }
            out.push_str(if out.is_empty() { "^(?:" } else { "|" });
            name.chars().for_each(|c| write_char(c, &mut out));
        }
        Ok(match out.is_empty() {
            true => NOTHING.to_owned(),
            false => out + ")$",
        })
    }

    /// The expression for the `regex` crate.
    fn check(&mut self, pattern: &str) -> Option<String> {
        match re2::written(pattern) {
            Ok(written) => Some(written),
            Err(reason) => {
                self.refused.insert(pattern.to_owned(), reason);
                None
            }
        }
    }

    /// Updates references into `patternProperties` to the rewritten keys.
    pub(super) fn redirect(&self, root: &mut Json, keywords: &[&str]) {
        if self.written.iter().all(|(key, written)| key == written) {
            return;
        }
        let mut left = vec![root];
        while let Some(next) = left.pop() {
            match next {
                Json::Object(entries) => {
                    for (name, value) in entries {
                        match value {
                            Json::String(text) if keywords.contains(&name.as_str()) => {
                                self.redirect_one(text)
                            }
                            other => left.push(other),
                        }
                    }
                }
                Json::Array(items) => left.extend(items),
                _ => {}
            }
        }
    }

    fn redirect_one(&self, reference: &mut String) {
        const BEFORE: &str = "/patternProperties/";
        let Some((front, back)) = reference.split_once(BEFORE) else {
            return;
        };
        let (key, behind) = back.find('/').map_or((back, ""), |at| back.split_at(at));
        let decoded = percent_decode_str(key)
            .decode_utf8_lossy()
            .replace("~1", "/")
            .replace("~0", "~");
        if let Some(written) = self.written.get(&decoded) {
            let written = written.replace('~', "~0").replace('/', "~1");
            let written = utf8_percent_encode(&written, NON_ALPHANUMERIC);
            *reference = format!("{front}{BEFORE}{written}{behind}");
        }
    }
}

/// Whether both dialects agree: only letters, digits and `-_/`, between `^` and `$`.
fn is_plain(pattern: &str) -> bool {
    let inner = pattern.strip_prefix('^').unwrap_or(pattern);
    let inner = inner.strip_suffix('$').unwrap_or(inner);
    inner
        .bytes()
        .all(|byte| byte.is_ascii_alphanumeric() || b"-_/".contains(&byte))
}

fn count_ranges(hir: &Hir) -> u64 {
    match hir.kind() {
        HirKind::Empty | HirKind::Look(_) | HirKind::Literal(_) => 1,
        HirKind::Class(Class::Unicode(class)) => u64::try_from(class.ranges().len()).unwrap_or(u64::MAX),
        HirKind::Class(Class::Bytes(_)) => 1,
        HirKind::Repetition(repetition) => {
            let times = u64::from(repetition.max.unwrap_or(repetition.min).max(1));
            count_ranges(&repetition.sub).saturating_mul(times)
        }
        HirKind::Capture(capture) => count_ranges(&capture.sub),
        HirKind::Concat(parts) | HirKind::Alternation(parts) => {
            let counts = parts.iter().map(count_ranges);
            counts.fold(0, u64::saturating_add)
        }
    }
}

/// The names of all values.
fn collect_names<'v>(values: &'v ValueMap, names: &mut BTreeSet<&'v str>) {
    for (name, value) in values {
        names.insert(name);
        collect_names_below(value, names);
    }
}

fn collect_names_below<'v>(value: &'v Value, names: &mut BTreeSet<&'v str>) {
    match value {
        Value::Map(values) => collect_names(values, names),
        Value::List(items) => items.iter().for_each(|item| collect_names_below(item, names)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

/// Writes an expression that is valid JavaScript and has the original meaning in the `regex` crate.
fn write_hir(hir: &Hir, is_draft_7: bool, out: &mut String) {
    match hir.kind() {
        HirKind::Empty => out.push_str("(?:)"),
        HirKind::Literal(literal) => {
            for c in String::from_utf8_lossy(&literal.0).chars() {
                write_char(c, out);
            }
        }
        HirKind::Class(class) => write_class(class, out),
        HirKind::Look(look) => out.push_str(match look {
            Look::Start => "^",
            Look::End => "$",
            Look::StartLF | Look::StartCRLF => "(?m:^)",
            Look::EndLF | Look::EndCRLF => "(?m:$)",
            Look::WordAsciiNegate | Look::WordUnicodeNegate if is_draft_7 => r"\B",
            Look::WordAsciiNegate | Look::WordUnicodeNegate => r"(?-u:\B)",
            _ if is_draft_7 => r"\b",
            _ => r"(?-u:\b)",
        }),
        HirKind::Repetition(repetition) => {
            out.push_str("(?:");
            write_hir(&repetition.sub, is_draft_7, out);
            // Writing to a String cannot fail.
            let _ = write!(out, "){{{}", repetition.min);
            match repetition.max {
                Some(most) if most == repetition.min => out.push('}'),
                Some(most) => {
                    let _ = write!(out, ",{most}}}");
                }
                None => out.push_str(",}"),
            }
        }
        HirKind::Capture(capture) => write_hir(&capture.sub, is_draft_7, out),
        HirKind::Concat(parts) => parts.iter().for_each(|part| write_hir(part, is_draft_7, out)),
        HirKind::Alternation(branches) => {
            out.push_str("(?:");
            for (number, branch) in branches.iter().enumerate() {
                if number > 0 {
                    out.push('|');
                }
                write_hir(branch, is_draft_7, out);
            }
            out.push(')');
        }
    }
}

fn write_class(class: &Class, out: &mut String) {
    let ranges: Vec<(char, char)> = match class {
        Class::Unicode(class) => class.iter().map(|range| (range.start(), range.end())).collect(),
        Class::Bytes(class) => class
            .iter()
            .map(|range| (char::from(range.start()), char::from(range.end())))
            .collect(),
    };
    if ranges.is_empty() {
        out.push_str(NOTHING);
        return;
    }
    out.push('[');
    for (low, high) in ranges {
        write_char(low, out);
        if low < high {
            out.push('-');
            write_char(high, out);
        }
    }
    out.push(']');
}

fn write_char(c: char, out: &mut String) {
    if c.is_ascii() && !c.is_ascii_alphanumeric() {
        // Writing to a String cannot fail.
        let _ = write!(out, "\\x{:02x}", u32::from(c));
    } else {
        out.push(c);
    }
}

/// The keyword, which compiles each expression once, when a value is matched.
#[derive(Clone, Default)]
pub(super) struct PatternKeyword {
    known: Arc<Mutex<BTreeMap<String, Arc<Pattern>>>>,
    most_bytes: usize,
}

impl PatternKeyword {
    pub(super) fn new(most_bytes: usize) -> Self {
        Self {
            most_bytes,
            ..Self::default()
        }
    }

    /// The keyword with the value that a schema has for it.
    pub(super) fn with(&self, value: &Json) -> MatchesPattern {
        let text = value.as_str().unwrap_or_default();
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        let pattern = known.entry(text.to_owned()).or_insert_with(|| {
            Arc::new(Pattern {
                text: text.to_owned(),
                most_bytes: self.most_bytes,
                compiled: OnceLock::new(),
            })
        });
        MatchesPattern(Arc::clone(pattern))
    }
}

/// An expression, which is Go's as [`Patterns`] has checked.
struct Pattern {
    text: String,
    most_bytes: usize,
    compiled: OnceLock<Result<Expression, String>>,
}

impl Pattern {
    /// Whether the text matches; the error says why the expression can't be compiled.
    fn is_match(&self, text: &str) -> Result<bool, &str> {
        let compile = || re2::compile_within(&self.text, self.most_bytes);
        let compiled = self
            .compiled
            .get_or_init(compile)
            .as_ref()
            .map_err(String::as_str)?;
        Ok(compiled.search(text)?.is_match())
    }
}

pub(super) struct MatchesPattern(Arc<Pattern>);

impl<'i> Keyword<'i> for MatchesPattern {
    fn validate(&self, instance: &'i Json) -> Result<(), ValidationError<'i>> {
        let Json::String(text) = instance else {
            return Ok(());
        };
        let pattern = quoted(&self.0.text);
        Err(ValidationError::custom(match self.0.is_match(text) {
            Ok(true) => return Ok(()),
            Ok(false) => format!("{} does not match pattern {pattern}", quoted(text)),
            Err(reason) => format!("{pattern} is not a regular expression: {reason}"),
        }))
    }

    fn is_valid(&self, instance: &'i Json) -> bool {
        let Json::String(text) = instance else {
            return true;
        };
        self.0.is_match(text).unwrap_or(false)
    }
}
