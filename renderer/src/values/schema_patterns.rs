//! The regular expressions of schemas, which are Go's, as in templates.
//!
//! The validator supports another dialect. So `pattern` is replaced by a keyword of ours, and the keys of
//! `patternProperties`, which other keywords use too, are rewritten for the validator.
//!
//! # Differences from Helm
//!
//! - `\b` in `patternProperties` of draft 7 treats all letters as word characters, not only ASCII.
//! - In draft 4, an invalid key is not an error as long as nothing refers to it.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::sync::{Arc, Mutex, PoisonError};

use jsonschema::{Keyword, ValidationError};
use percent_encoding::{NON_ALPHANUMERIC, percent_decode_str, utf8_percent_encode};
use regex_syntax::hir::{Class, Hir, HirKind, Look};
use serde_json::{Map, Value as Json};

use super::schema_messages::quoted;
use crate::funcs::re2::{self, Expression};

/// The keyword that replaces `pattern`.
pub(super) const KEYWORD: &str = "x-solar-render-pattern";
/// The maximum nesting of groups in a rewritten key.
const NEST_LIMIT: u32 = 200;

/// The expressions of a schema and those it refers to.
#[derive(Debug, Default)]
pub(super) struct Patterns {
    /// Whether the root is of draft 7, which requires its own dialect for keys.
    pub(super) is_draft_7: bool,
    all: BTreeSet<String>,
    /// The rewritten keys.
    written: BTreeMap<String, String>,
    taken: BTreeSet<String>,
    /// Those that are not expressions of Go's, and why.
    refused: BTreeMap<String, String>,
}

impl Patterns {
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
        out.push_str("[^\\x00-\u{10ffff}]");
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

/// The keyword, which compiles each expression once.
#[derive(Clone, Default)]
pub(super) struct PatternKeyword {
    compiled: Arc<Mutex<BTreeMap<String, Arc<Expression>>>>,
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
    pub(super) fn with(&self, value: &Json) -> Result<Box<MatchesPattern>, ValidationError<'static>> {
        let text = value.as_str().unwrap_or_default();
        let mut compiled = self.compiled.lock().unwrap_or_else(PoisonError::into_inner);
        let expression = match compiled.get(text) {
            Some(known) => Arc::clone(known),
            None => {
                let new = re2::compile_within(text, self.most_bytes).map_err(|reason| {
                    ValidationError::custom(format!("{} is not a regular expression: {reason}", quoted(text)))
                })?;
                Arc::clone(compiled.entry(text.to_owned()).or_insert(Arc::new(new)))
            }
        };
        Ok(Box::new(MatchesPattern(expression)))
    }
}

pub(super) struct MatchesPattern(Arc<Expression>);

impl MatchesPattern {
    fn holds(&self, instance: &Json) -> bool {
        let Json::String(text) = instance else {
            return true;
        };
        self.0.search(text).is_ok_and(|search| search.is_match())
    }
}

impl<'i> Keyword<'i> for MatchesPattern {
    fn validate(&self, instance: &'i Json) -> Result<(), ValidationError<'i>> {
        if self.holds(instance) {
            return Ok(());
        }
        let text = instance.as_str().map_or(Cow::default(), Cow::Borrowed);
        let pattern = quoted(self.0.text());
        Err(ValidationError::custom(format!(
            "{} does not match pattern {pattern}",
            quoted(&text)
        )))
    }

    fn is_valid(&self, instance: &'i Json) -> bool {
        self.holds(instance)
    }
}
