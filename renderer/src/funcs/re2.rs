//! Go's regular expressions (RE2's syntax, Perl's flags) for the `regex` crate.
//!
//! The expression is parsed by Go's rules, with Go's errors, and rewritten: perl classes and word boundaries are ASCII,
//! groups only have numbers, and syntax that the crate would read differently is written explicitly.

use std::fmt::Write as _;
use std::rc::Rc;
use std::sync::OnceLock;

use ::regex::{Regex, bytes};

use super::re2_class::{self as class, error};
use super::re2_symbols::{SymbolRegex, SymbolText};
use crate::template::Str;

/// The maximum nesting of groups, as in Go.
const MAX_DEPTH: usize = 1_000;
/// The maximum number of repetitions of the innermost item, as in Go.
const MAX_REPEAT: i64 = 1_000;
/// The maximum size of a compiled expression, in bytes.
const MAX_COMPILED: usize = 64 << 20;
/// The nesting limit in the crate's way of counting.
#[allow(clippy::cast_possible_truncation, reason = "a small constant")]
const NEST_LIMIT: u32 = MAX_DEPTH as u32 * 4;

/// A compiled expression.
#[derive(Debug)]
pub(crate) struct Expression {
    /// The expression as written by the user.
    text: String,
    /// The expression for the crate.
    written: String,
    /// For ASCII texts, which most are, if it is equivalent without Unicode: compiling it takes a tenth of the time.
    ascii: Option<bytes::Regex>,
    /// For other texts, compiled on first use.
    unicode: OnceLock<Result<Wide, String>>,
    /// The names of the groups, by number.
    pub(super) names: Vec<Option<String>>,
    /// The maximum size of the compiled expression, in bytes.
    most_bytes: usize,
}

/// An expression for texts of any characters.
#[derive(Debug)]
enum Wide {
    Symbols(SymbolRegex),
    /// One that distinguishes more characters than there are symbols.
    Unicode(Regex),
}

/// An expression and the text to search: the engine is chosen once, since that reads the whole text.
pub(crate) struct RegexSearch<'e, 't> {
    engine: Engine<'e>,
    text: &'t str,
}

enum Engine<'e> {
    Ascii(&'e bytes::Regex),
    Symbols(&'e bytes::Regex, Rc<SymbolText>),
    Unicode(&'e Regex),
}

/// The positions of the groups of a match.
pub(super) enum Groups {
    Ascii(bytes::CaptureLocations),
    Symbols(bytes::CaptureLocations, Rc<SymbolText>),
    Unicode(::regex::CaptureLocations),
}

impl Groups {
    /// Start and end of a group, if it is in the match; group 0 is the whole match.
    pub(super) fn get(&self, number: usize) -> Option<(usize, usize)> {
        match self {
            Self::Ascii(groups) => groups.get(number),
            Self::Symbols(groups, text) => groups.get(number).map(|found| text.span(found)),
            Self::Unicode(groups) => groups.get(number),
        }
    }
}

impl Expression {
    /// Prepares searching a text.
    pub(crate) fn search<'e, 't>(&'e self, text: &'t str) -> Result<RegexSearch<'e, 't>, &'e str> {
        let ascii = self.ascii.as_ref().filter(|_| text.is_ascii());
        let engine = match ascii {
            Some(ascii) => Engine::Ascii(ascii),
            None => match self.unicode()? {
                Wide::Symbols(symbols) => Engine::Symbols(&symbols.regex, Rc::new(symbols.text(text))),
                Wide::Unicode(regex) => Engine::Unicode(regex),
            },
        };
        Ok(RegexSearch { engine, text })
    }

    fn unicode(&self) -> Result<&Wide, &str> {
        let unicode = self.unicode.get_or_init(|| {
            let built = match SymbolRegex::compile(&self.written, NEST_LIMIT, self.most_bytes) {
                Some(built) => built.map(Wide::Symbols),
                None => {
                    let mut builder = ::regex::RegexBuilder::new(&self.written);
                    builder.size_limit(self.most_bytes).nest_limit(NEST_LIMIT);
                    builder.build().map(Wide::Unicode)
                }
            };
            built.map_err(|error| refused(&error, &self.text))
        });
        unicode.as_ref().map_err(String::as_str)
    }
}

impl RegexSearch<'_, '_> {
    pub(crate) fn is_match(&self) -> bool {
        match &self.engine {
            Engine::Ascii(regex) => regex.is_match(self.text.as_bytes()),
            Engine::Symbols(regex, text) => regex.is_match(&text.bytes),
            Engine::Unicode(regex) => regex.is_match(self.text),
        }
    }

    /// Start and end of the first match at or after an offset; the text before it counts for boundaries.
    pub(super) fn find_at(&self, offset: usize) -> Option<(usize, usize)> {
        match &self.engine {
            Engine::Ascii(regex) => regex
                .find_at(self.text.as_bytes(), offset)
                .map(|found| (found.start(), found.end())),
            Engine::Symbols(regex, text) => regex
                .find_at(&text.bytes, text.index(offset))
                .map(|found| text.span((found.start(), found.end()))),
            Engine::Unicode(regex) => regex
                .find_at(self.text, offset)
                .map(|found| (found.start(), found.end())),
        }
    }

    /// A buffer for the groups of successive matches.
    pub(super) fn groups(&self) -> Groups {
        match &self.engine {
            Engine::Ascii(regex) => Groups::Ascii(regex.capture_locations()),
            Engine::Symbols(regex, text) => Groups::Symbols(regex.capture_locations(), Rc::clone(text)),
            Engine::Unicode(regex) => Groups::Unicode(regex.capture_locations()),
        }
    }

    /// As [`RegexSearch::find_at`], with the groups, which must come from [`RegexSearch::groups`].
    pub(super) fn groups_at(&self, offset: usize, groups: &mut Groups) -> Option<(usize, usize)> {
        match (&self.engine, groups) {
            (Engine::Ascii(regex), Groups::Ascii(groups)) => regex
                .captures_read_at(groups, self.text.as_bytes(), offset)
                .map(|found| (found.start(), found.end())),
            (Engine::Symbols(regex, text), Groups::Symbols(groups, _)) => regex
                .captures_read_at(groups, &text.bytes, text.index(offset))
                .map(|found| text.span((found.start(), found.end()))),
            (Engine::Unicode(regex), Groups::Unicode(groups)) => regex
                .captures_read_at(groups, self.text, offset)
                .map(|found| (found.start(), found.end())),
            _ => None,
        }
    }
}

/// Compiles an expression; the error is Go's message.
pub(super) fn compile(text: &Str) -> Result<Expression, String> {
    let Some(plain) = text.as_str() else {
        let valid = text
            .as_bytes()
            .utf8_chunks()
            .next()
            .map_or(0, |chunk| chunk.valid().len());
        let rest = text.slice(valid, text.len());
        return Err(error("invalid UTF-8", &rest.to_text()));
    };
    compile_within(plain, MAX_COMPILED)
}

/// As [`compile`], with a bound on the compiled expression, in bytes.
pub(crate) fn compile_within(plain: &str, most_bytes: usize) -> Result<Expression, String> {
    let (written, names) = read(plain)?;
    let mut expression = Expression {
        text: plain.to_owned(),
        ascii: None,
        unicode: OnceLock::new(),
        names,
        written,
        most_bytes,
    };
    if means_the_same_to_ascii(&expression.written) {
        let mut builder = bytes::RegexBuilder::new(&expression.written);
        builder
            .unicode(false)
            .size_limit(most_bytes)
            .nest_limit(NEST_LIMIT);
        expression.ascii = builder.build().ok();
    }
    // Errors of an expression are reported before its first use.
    if expression.ascii.is_none() {
        expression.unicode().map_err(str::to_owned)?;
    }
    Ok(expression)
}

/// The expression for the `regex` crate; the error is Go's message.
pub(crate) fn written(plain: &str) -> Result<String, String> {
    read(plain).map(|(written, _)| written)
}

/// The expression for the `regex` crate, and the names of its groups.
fn read(plain: &str) -> Result<(String, Vec<Option<String>>), String> {
    let mut reader = PatternReader {
        text: plain,
        place: 0,
        out: String::with_capacity(plain.len() + 16),
        groups: vec![Group::default()],
        names: vec![None],
        repeat_from: None,
    };
    reader.read()?;
    Ok((reader.out, reader.names))
}

/// Whether the expression is equivalent for ASCII texts: it has no other characters, some of which match ASCII letters
/// with `(?i)`.
fn means_the_same_to_ascii(written: &str) -> bool {
    let in_ascii = |code: &str| {
        let digits = code.strip_prefix('{').and_then(|rest| rest.split('}').next());
        let code = digits.and_then(|digits| u32::from_str_radix(digits, 16).ok());
        code.is_some_and(|code| code < 128)
    };
    let names_others = ["\\u", "\\U", "\\p", "\\P"];
    written.is_ascii()
        && written.split("\\x").skip(1).all(in_ascii)
        && !names_others.iter().any(|escape| written.contains(escape))
}

fn refused(refusal: &::regex::Error, text: &str) -> String {
    match refusal {
        ::regex::Error::CompiledTooBig(_) => error("expression too large", text),
        _ => error("regexp/syntax: internal error", text),
    }
}

/// An item that a repetition can follow.
#[derive(Clone, Copy)]
struct Atom {
    /// Its position in the output.
    start: usize,
    end: usize,
    /// The number of repetitions in it.
    repeats: i64,
    repeated: bool,
}

/// An open group; the first one is the whole expression.
#[derive(Default)]
struct Group {
    start: usize,
    last: Option<Atom>,
    repeats: i64,
}

struct PatternReader<'a> {
    text: &'a str,
    place: usize,
    out: String,
    groups: Vec<Group>,
    names: Vec<Option<String>>,
    /// The position of the last repetition.
    repeat_from: Option<usize>,
}

impl<'a> PatternReader<'a> {
    fn rest(&self) -> &'a str {
        self.text.get(self.place..).unwrap_or_default()
    }

    fn group(&mut self) -> &mut Group {
        if self.groups.is_empty() {
            self.groups.push(Group::default());
        }
        let last = self.groups.len() - 1;
        &mut self.groups[last]
    }

    /// Writes one item that can be repeated.
    fn atom(&mut self, text: &str) {
        let start = self.out.len();
        self.out.push_str(text);
        self.finish_atom(start, 1);
    }

    fn finish_atom(&mut self, start: usize, repeats: i64) {
        let atom = Atom {
            start,
            end: self.out.len(),
            repeats,
            repeated: false,
        };
        let group = self.group();
        group.repeats = group.repeats.max(repeats);
        group.last = Some(atom);
    }

    fn literal(&mut self, code: u32) {
        let start = self.out.len();
        class::push_literal(&mut self.out, code);
        self.finish_atom(start, 1);
    }

    fn read(&mut self) -> Result<(), String> {
        while let Some(c) = self.rest().chars().next() {
            let repeat_from = self.repeat_from.take();
            match c {
                '(' => self.open()?,
                ')' => self.close()?,
                '|' => {
                    self.place += 1;
                    self.out.push('|');
                    self.group().last = None;
                }
                '^' | '$' | '.' => {
                    self.place += 1;
                    self.atom(c.encode_utf8(&mut [0; 4]));
                }
                '[' => {
                    let (written, length) = class::class(self.rest())?;
                    self.place += length;
                    self.atom(&written);
                }
                '*' | '+' | '?' => self.repeat(repeat_from, 1, 1)?,
                '{' => self.counted(repeat_from)?,
                '\\' => self.escape()?,
                c => {
                    self.place += c.len_utf8();
                    self.literal(u32::from(c));
                }
            }
        }
        if self.groups.len() > 1 {
            return Err(error("missing closing )", self.text));
        }
        Ok(())
    }

    fn open(&mut self) -> Result<(), String> {
        if self.groups.len() > MAX_DEPTH {
            return Err(error("expression nests too deeply", self.text));
        }
        let start = self.out.len();
        if self.rest().starts_with("(?") {
            if !self.flags()? {
                return Ok(());
            }
        } else {
            self.place += 1;
            self.names.push(None);
            self.out.push('(');
        }
        self.groups.push(Group {
            start,
            ..Group::default()
        });
        Ok(())
    }

    fn close(&mut self) -> Result<(), String> {
        if self.groups.len() < 2 {
            return Err(error("unexpected )", self.text));
        }
        let Some(group) = self.groups.pop() else {
            return Ok(());
        };
        self.place += 1;
        self.out.push(')');
        self.finish_atom(group.start, group.repeats.max(1));
        Ok(())
    }

    /// Parses after `(?`: a named group, flags for a group, or flags for the rest. Returns whether a group was opened.
    fn flags(&mut self) -> Result<bool, String> {
        let rest = self.rest();
        let named = rest
            .strip_prefix("(?P<")
            .or_else(|| rest.strip_prefix("(?<"))
            .filter(|behind| !behind.is_empty());
        if let Some(behind) = named {
            return self.named(rest, behind).map(|()| true);
        }
        let (mut on, mut off) = (String::new(), String::new());
        let (mut negated, mut seen) = (false, false);
        for (place, c) in rest.char_indices().skip(2) {
            match c {
                'i' | 'm' | 's' | 'U' => {
                    seen = true;
                    let flags = if negated { &mut off } else { &mut on };
                    if !flags.contains(c) {
                        flags.push(c);
                    }
                }
                '-' if !negated => (negated, seen) = (true, false),
                ':' | ')' if !negated || seen => {
                    self.place += place + 1;
                    on.retain(|c| !off.contains(c));
                    self.write_flags(&on, &off, c == ':');
                    return Ok(c == ':');
                }
                c => {
                    let part = rest.get(..place + c.len_utf8()).unwrap_or(rest);
                    return Err(error("invalid or unsupported Perl syntax", part));
                }
            }
        }
        Err(error("invalid or unsupported Perl syntax", rest))
    }

    fn write_flags(&mut self, on: &str, off: &str, group: bool) {
        if on.is_empty() && off.is_empty() && !group {
            return;
        }
        let minus = if off.is_empty() { "" } else { "-" };
        let end = if group { ':' } else { ')' };
        // Writing to a String cannot fail.
        let _ = write!(self.out, "(?{on}{minus}{off}{end}");
    }

    fn named(&mut self, rest: &str, behind: &str) -> Result<(), String> {
        let Some(end) = behind.find('>') else {
            return Err(error("invalid named capture", rest));
        };
        let name = behind.get(..end).unwrap_or_default();
        let length = rest.len() - behind.len() + end + 1;
        if name.is_empty()
            || !name
                .bytes()
                .all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
        {
            return Err(error("invalid named capture", rest.get(..length).unwrap_or(rest)));
        }
        self.place += length;
        self.names.push(Some(name.to_owned()));
        self.out.push('(');
        Ok(())
    }

    /// `{2}`, `{2,}`, `{2,3}`; anything else is a literal brace.
    fn counted(&mut self, repeat_from: Option<usize>) -> Result<(), String> {
        let Some((least, most, length)) = class::counts(self.rest()) else {
            self.place += 1;
            self.literal(u32::from('{'));
            return Ok(());
        };
        let part = self.rest().get(..length).unwrap_or_default();
        let high = most.unwrap_or(least);
        if least > MAX_REPEAT || high > MAX_REPEAT || high < least {
            return Err(error("invalid repeat count", part));
        }
        let factor = match most {
            Some(0) => 0,
            most => most.unwrap_or(least).max(1),
        };
        self.repeat(repeat_from, length, factor)
    }

    /// A repetition operator of this length, and its maximum count.
    fn repeat(&mut self, repeat_from: Option<usize>, length: usize, factor: i64) -> Result<(), String> {
        let start = self.place;
        let lazy = self
            .rest()
            .get(length..)
            .is_some_and(|behind| behind.starts_with('?'));
        let end = start + length + usize::from(lazy);
        let part = |from: usize| self.text.get(from..end).unwrap_or_default();
        if let Some(from) = repeat_from {
            return Err(error("invalid nested repetition operator", part(from)));
        }
        let op = part(start);
        let Some(mut atom) = self.group().last else {
            return Err(error("missing argument to repetition operator", op));
        };
        atom.repeats = atom.repeats.saturating_mul(factor);
        if factor > 1 && atom.repeats > MAX_REPEAT {
            return Err(error("invalid repeat count", op));
        }
        // Flags may follow it, which don't count.
        if atom.repeated {
            self.out.insert_str(atom.start, "(?:");
            atom.end += "(?:".len();
            self.out.insert(atom.end, ')');
            atom.end += 1;
        }
        self.out.insert_str(atom.end, op);
        atom.end += op.len();
        atom.repeated = true;
        let group = self.group();
        group.repeats = group.repeats.max(atom.repeats);
        group.last = Some(atom);
        self.place = end;
        self.repeat_from = Some(start);
        Ok(())
    }

    fn escape(&mut self) -> Result<(), String> {
        let rest = self.rest();
        let simple = match rest.as_bytes().get(1) {
            Some(b'A') => r"\A",
            Some(b'z') => r"\z",
            Some(b'b') => r"(?-u:\b)",
            Some(b'B') => r"(?-u:\B)",
            Some(b'C') => return Err(error("invalid escape sequence", r"\C")),
            Some(b'Q') => {
                self.quoted(rest.get(2..).unwrap_or_default());
                return Ok(());
            }
            _ => "",
        };
        if !simple.is_empty() {
            self.place += 2;
            self.atom(simple);
            return Ok(());
        }
        if let Some((written, length)) = class::named_class(rest)? {
            self.place += length;
            self.atom(&written);
            return Ok(());
        }
        let (code, length) = class::escaped(rest)?;
        self.place += length;
        self.literal(code);
        Ok(())
    }

    /// `\Q…\E`, or to the end.
    fn quoted(&mut self, behind: &str) {
        let (text, closed) = match behind.split_once("\\E") {
            Some((text, _)) => (text, 2),
            None => (behind, 0),
        };
        for c in text.chars() {
            self.literal(u32::from(c));
        }
        self.place += 2 + text.len() + closed;
    }
}
