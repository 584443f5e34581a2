//! Data to YAML text.
//!
//! [`write()`] gives what Helm 4.3.1's `toYaml` prints: sigs.k8s.io/yaml's `Marshal`, that is
//! JSON read by go-yaml v2 and written again. Two blanks of indentation, lists not
//! indented inside maps, keys in natural order, texts quoted where YAML 1.1 would read
//! something else, folded after column 80, literal blocks for several lines.
//!
//! What is written can always be read again: `parse(write(v))` is `v`, up to
//! [`Number::canonical`]. Where Helm's way fails or loses something, and only there, the
//! text differs: see [`write()`].

use super::style::{self, Place, Style};
use super::{float, order};
use crate::value::{Number, Value};

/// After this column go-yaml breaks a text at the next blank.
const WIDTH: usize = 80;
/// The indentation of one level.
const INDENT: usize = 2;
/// The longest key that stands on one line with its value, in bytes.
const SIMPLE_KEY: usize = 128;
/// How to write.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Options {
    /// Neither `{{` nor `}}` appears in the output, so that it can stand in a Go template
    /// as it is; and it does not end in a block text, whose last line breaks the template
    /// around it might trim.
    pub template_safe: bool,
    /// Blanks before each line that is not empty.
    pub indent: usize,
}

/// What Helm's `toYaml` prints, with the line break at the end that Helm's trims.
///
/// The departures, all where Helm fails or loses data: U+007F–U+009F, U+FFFE and U+FFFF are
/// escaped in double quotes (Helm fails, and makes a space of U+0085); the key `<<` is quoted
/// (Helm writes a merge); keys above 1024 characters are written (Helm fails);
/// infinities and not-a-number, which JSON lacks and Helm refuses, become `null`.
pub fn write(value: &Value) -> String {
    write_with(value, &Options::default())
}

/// As [`write()`], with options.
pub fn write_with(value: &Value, options: &Options) -> String {
    let mut emitter = Emitter::new(options);
    emitter.node(value, Context::Root);
    if options.template_safe && emitter.ends_in_block {
        // What a template trims behind the place would be cut off the text.
        let quoted = emitter.blocks;
        emitter = Emitter {
            quoted: Some(quoted),
            ..Emitter::new(options)
        };
        emitter.node(value, Context::Root);
    }
    emitter.line();
    emitter.out
}

/// A number as Helm's `toYaml` prints it.
pub(super) fn number(number: Number) -> String {
    let Number::Float(value) = number else {
        return number.to_string();
    };
    if !value.is_finite() {
        return "null".to_owned();
    }
    // By way of its JSON form: what looks like an integer there is one afterwards.
    let json = number.to_string();
    if json == "-0" {
        return "0".to_owned();
    }
    let integral = json.bytes().all(|byte| byte.is_ascii_digit() || byte == b'-');
    if integral && (json.parse::<i64>().is_ok() || json.parse::<u64>().is_ok()) {
        return json;
    }
    float::go_g64(value)
}

/// Whether the first line does not show how far a literal block is indented.
fn needs_hint(text: &str) -> bool {
    text.starts_with(|first| first == ' ' || style::is_break(first))
}

pub(super) fn needs_brace_escapes(text: &str) -> bool {
    text.contains("{{") || text.contains("}}")
}

pub(super) fn hex(character: char, letter: char, width: usize, out: &mut String) {
    out.push('\\');
    out.push(letter);
    let code = u32::from(character);
    for place in (0..width).rev() {
        let digit = code >> (place * 4) & 0xf;
        let digit = char::from_digit(digit, 16).unwrap_or('0');
        out.push(if letter == 'u' && width == 4 {
            digit
        } else {
            digit.to_ascii_uppercase()
        });
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Context {
    Root,
    Item,
    /// A value of a map, or a key after `? `.
    Entry,
}

struct Emitter {
    out: String,
    column: usize,
    /// The indentation of the block that is being written; none yet at the root.
    indent: Option<usize>,
    /// The last thing written separates.
    whitespace: bool,
    /// Only indentation and indicators stand on the line so far.
    indention: bool,
    margin: usize,
    template_safe: bool,
    /// How many block texts were written.
    blocks: usize,
    /// The last thing written is one.
    ends_in_block: bool,
    /// The one that is written in quotes instead, counted from 1.
    quoted: Option<usize>,
}

impl Emitter {
    fn new(options: &Options) -> Self {
        Self {
            out: String::new(),
            column: 0,
            indent: None,
            whitespace: true,
            indention: true,
            margin: options.indent,
            template_safe: options.template_safe,
            blocks: 0,
            ends_in_block: false,
            quoted: None,
        }
    }

    fn node(&mut self, value: &Value, context: Context) {
        match value {
            Value::Null => self.word("null"),
            Value::Bool(true) => self.word("true"),
            Value::Bool(false) => self.word("false"),
            Value::Number(value) => self.word(&number(*value)),
            Value::String(text) => self.text(text, Place::Value),
            Value::List(items) if items.is_empty() => self.empty("[]"),
            Value::Map(map) if map.is_empty() => self.empty("{}"),
            Value::List(items) => {
                let outer = self.indent;
                let indentless = context == Context::Entry && !self.indention;
                self.deepen(indentless, 0);
                for item in items {
                    self.line();
                    self.indicator("-", true);
                    self.node(item, Context::Item);
                }
                self.indent = outer;
            }
            Value::Map(map) => {
                let outer = self.indent;
                self.deepen(false, 0);
                for (key, item) in order::sorted(map) {
                    self.line();
                    self.key(key);
                    self.node(item, Context::Entry);
                }
                self.indent = outer;
            }
        }
    }

    fn empty(&mut self, brackets: &str) {
        self.ends_in_block = false;
        self.indicator(brackets, false);
    }

    fn key(&mut self, key: &str) {
        let traits = style::examine(key);
        if !traits.multiline && key.len() <= SIMPLE_KEY {
            self.text(key, Place::SimpleKey);
            self.put(':');
            self.whitespace = false;
            self.indention = false;
        } else {
            self.indicator("?", true);
            self.text(key, Place::LongKey);
            self.line();
            self.indicator(":", true);
        }
    }

    /// One level deeper; at the root the first level of blocks is 0 and of scalars 2.
    fn deepen(&mut self, indentless: bool, first: usize) {
        self.indent = Some(match self.indent {
            None => first,
            Some(indent) if indentless => indent,
            Some(indent) => indent + INDENT,
        });
    }

    fn word(&mut self, word: &str) {
        self.ends_in_block = false;
        self.separate();
        self.push_str(word);
        self.whitespace = false;
        self.indention = false;
    }

    fn text(&mut self, text: &str, place: Place) {
        let traits = style::examine(text);
        let style = match style::choose(text, traits, place) {
            _ if self.template_safe && needs_brace_escapes(text) => Style::Double,
            // The hint counts from the parent's indentation, and a margin hides where that is.
            Style::Literal if self.indent.is_none() && self.margin > 0 && needs_hint(text) => Style::Double,
            Style::Literal => {
                self.blocks += 1;
                if self.quoted == Some(self.blocks) {
                    Style::Double
                } else {
                    Style::Literal
                }
            }
            style => style,
        };
        self.ends_in_block = style == Style::Literal;
        let outer = self.indent;
        self.deepen(false, INDENT);
        let fold = place != Place::SimpleKey;
        match style {
            Style::Plain => {
                self.separate();
                self.folded(text, fold, Style::Plain);
            }
            Style::Single => {
                self.indicator("'", false);
                self.folded(text, fold, Style::Single);
                self.put('\'');
            }
            Style::Double => {
                self.indicator("\"", false);
                self.escaped(text, fold);
                self.put('"');
            }
            Style::Literal => self.literal(text),
        }
        if style != Style::Literal {
            self.whitespace = false;
            self.indention = false;
        }
        self.indent = outer;
    }

    /// The inside of a plain or single-quoted scalar.
    fn folded(&mut self, text: &str, fold: bool, style: Style) {
        let mut spaces = false;
        let mut breaks = false;
        let mut rest = text.chars();
        let mut first = true;
        while let Some(character) = rest.next() {
            let next = rest.as_str().bytes().next();
            if character == ' ' {
                let inner = style == Style::Plain || !first && next.is_some();
                if fold && !spaces && self.column > WIDTH && inner && next != Some(b' ') {
                    self.line();
                } else {
                    self.put(' ');
                }
                spaces = true;
            } else if style::is_break(character) {
                self.put_break(character);
                self.indention = true;
                breaks = true;
            } else {
                if breaks {
                    self.line();
                }
                if character == '\'' && style == Style::Single {
                    self.put('\'');
                }
                self.put(character);
                self.indention = false;
                spaces = false;
                breaks = false;
            }
            first = false;
        }
    }

    /// The inside of a double-quoted scalar.
    fn escaped(&mut self, text: &str, fold: bool) {
        // go-yaml looks at the first character to see whether any is a byte order mark.
        let all = text.starts_with('\u{feff}');
        let braces = self.template_safe && needs_brace_escapes(text);
        let mut spaces = false;
        let mut rest = text.chars();
        let mut first = true;
        while let Some(character) = rest.next() {
            let next = rest.as_str().bytes().next();
            if braces && matches!(character, '{' | '}') {
                self.push_str(if character == '{' { "\\x7b" } else { "\\x7d" });
                spaces = false;
            } else if all
                || !style::is_printable(character)
                || style::is_break(character)
                || matches!(character, '"' | '\\')
            {
                let before = self.out.len();
                escape(character, &mut self.out);
                self.column += self.out.len() - before;
                spaces = false;
            } else if character == ' ' {
                if fold && !spaces && self.column > WIDTH && !first && next.is_some() {
                    self.line();
                    if next == Some(b' ') {
                        self.put('\\');
                    }
                } else {
                    self.put(' ');
                }
                spaces = true;
            } else {
                self.put(character);
                spaces = false;
            }
            first = false;
        }
    }

    fn literal(&mut self, text: &str) {
        self.indicator("|", false);
        if needs_hint(text) {
            self.put('2');
        }
        let mut ends = text.chars().rev();
        match (ends.next().map(style::is_break), ends.next().map(style::is_break)) {
            (Some(true), Some(true) | None) => self.put('+'),
            (Some(true), Some(false)) => {}
            _ => self.put('-'),
        }
        self.put_break('\n');
        self.indention = true;
        self.whitespace = true;
        let mut breaks = true;
        for character in text.chars() {
            if style::is_break(character) {
                self.put_break(character);
                self.indention = true;
                breaks = true;
            } else {
                if breaks {
                    self.line();
                }
                self.put(character);
                self.indention = false;
                breaks = false;
            }
        }
    }

    /// Begins a line at the current indentation, unless that is where it stands.
    fn line(&mut self) {
        let indent = self.indent.unwrap_or(0);
        if !self.indention || self.column > indent || self.column == indent && !self.whitespace {
            self.put_break('\n');
        }
        while self.column < indent {
            self.put(' ');
        }
        self.whitespace = true;
        self.indention = true;
    }

    fn indicator(&mut self, indicator: &str, indention: bool) {
        self.separate();
        self.push_str(indicator);
        self.whitespace = false;
        self.indention &= indention;
    }

    fn separate(&mut self) {
        if !self.whitespace {
            self.put(' ');
        }
    }

    fn push_str(&mut self, text: &str) {
        for character in text.chars() {
            self.put(character);
        }
    }

    fn put(&mut self, character: char) {
        if self.column == 0 && (self.out.is_empty() || self.out.ends_with(style::is_break)) {
            self.out.extend(std::iter::repeat_n(' ', self.margin));
        }
        self.out.push(character);
        self.column += 1;
    }

    fn put_break(&mut self, character: char) {
        self.out.push(character);
        self.column = 0;
    }
}

fn escape(character: char, out: &mut String) {
    let short = match character {
        '\0' => '0',
        '\u{7}' => 'a',
        '\u{8}' => 'b',
        '\t' => 't',
        '\n' => 'n',
        '\u{b}' => 'v',
        '\u{c}' => 'f',
        '\r' => 'r',
        '\u{1b}' => 'e',
        '"' => '"',
        '\\' => '\\',
        '\u{85}' => 'N',
        '\u{a0}' => '_',
        '\u{2028}' => 'L',
        '\u{2029}' => 'P',
        other => {
            return match u32::from(other) {
                0..=0xff => hex(other, 'x', 2, out),
                0x100..=0xffff => hex_upper(other, out),
                _ => hex(other, 'U', 8, out),
            };
        }
    };
    out.push('\\');
    out.push(short);
}

fn hex_upper(character: char, out: &mut String) {
    let start = out.len();
    hex(character, 'u', 4, out);
    if let Some(digits) = out.get_mut(start + 2..) {
        digits.make_ascii_uppercase();
    }
}
