//! The lower half of writing: nodes to characters, with columns, quotes and folds.

use super::dialect::{Dialect, Options};
use super::style::{self, ScalarPosition, Style};
use super::style::{needs_brace_escapes, needs_hint};

/// After this column go-yaml breaks a text at the next space.
const WIDTH: usize = 80;
/// The indentation of one level.
const INDENT: usize = 2;
/// The maximum length of a key on the same line as its value, in bytes.
const SIMPLE_KEY: usize = 128;

const BLANKS: &str = "                                                                ";

pub(super) struct Emitter {
    pub(super) out: String,
    pub(super) dialect: Dialect,
    column: usize,
    /// The indentation of the current block; `None` at the root.
    indent: Option<usize>,
    /// Whether the last output was a separator.
    whitespace: bool,
    /// Whether the line only has indentation and indicators so far.
    indention: bool,
    margin: usize,
    template_safe: bool,
    /// The number of block scalars written.
    blocks: usize,
    /// Whether the last output was a block scalar.
    ends_in_block: bool,
    /// The block scalar that is written in quotes instead, counted from 1.
    quoted: Option<usize>,
}

/// The indentation around a collection.
pub(super) struct Outer(Option<usize>);

impl Emitter {
    pub(super) fn new(options: &Options) -> Self {
        Self {
            out: String::new(),
            dialect: options.dialect,
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

    pub(super) fn ends_in_block(&self) -> bool {
        self.ends_in_block
    }

    pub(super) fn blocks(&self) -> usize {
        self.blocks
    }

    pub(super) fn quote_block(&mut self, number: usize) {
        self.quoted = Some(number);
    }

    pub(super) fn finish(mut self) -> String {
        self.line();
        self.out
    }

    pub(super) fn open_list(&mut self, in_map: bool) -> Outer {
        let outer = Outer(self.indent);
        let indentless = in_map && !self.indention && self.dialect != Dialect::GoYaml3;
        self.deepen(indentless, 0);
        outer
    }

    pub(super) fn open_map(&mut self) -> Outer {
        let outer = Outer(self.indent);
        self.deepen(false, 0);
        outer
    }

    pub(super) fn close(&mut self, outer: Outer) {
        self.indent = outer.0;
    }

    pub(super) fn item(&mut self) {
        self.line();
        self.indicator("-", true);
    }

    pub(super) fn empty(&mut self, brackets: &str) {
        self.ends_in_block = false;
        self.indicator(brackets, false);
    }

    pub(super) fn key(&mut self, key: &str) {
        self.line();
        let traits = style::examine(key, self.dialect);
        if !traits.multiline && key.len() <= SIMPLE_KEY {
            self.styled(key, traits, ScalarPosition::SimpleKey);
            self.put_ascii(":");
            self.whitespace = false;
            self.indention = false;
        } else {
            self.indicator("?", true);
            self.styled(key, traits, ScalarPosition::LongKey);
            self.line();
            self.indicator(":", true);
        }
    }

    /// A key that needs no quotes: a number.
    pub(super) fn plain_key(&mut self, key: &str) {
        self.line();
        self.word(key);
        self.put_ascii(":");
        self.whitespace = false;
        self.indention = false;
    }

    /// Increases the indentation; at the root the first level of blocks is 0 and of scalars 2.
    fn deepen(&mut self, indentless: bool, first: usize) {
        self.indent = Some(match self.indent {
            None => first,
            Some(indent) if indentless => indent,
            Some(indent) => indent + INDENT,
        });
    }

    pub(super) fn begin_word(&mut self) {
        self.ends_in_block = false;
        self.separate();
        self.start();
    }

    /// Ends a word of ASCII that was written from `start` on.
    pub(super) fn end_word(&mut self, start: usize) {
        self.column += self.out.len() - start;
        self.whitespace = false;
        self.indention = false;
    }

    pub(super) fn word(&mut self, word: &str) {
        self.begin_word();
        let start = self.out.len();
        self.out.push_str(word);
        self.end_word(start);
    }

    pub(super) fn text(&mut self, text: &str, place: ScalarPosition) {
        self.styled(text, style::examine(text, self.dialect), place);
    }

    fn style(&mut self, text: &str, traits: style::Traits, place: ScalarPosition) -> Style {
        let style = style::choose(text, traits, place, self.dialect);
        if self.template_safe && needs_brace_escapes(text) {
            return Style::Double;
        }
        if style != Style::Literal {
            return style;
        }
        // The hint is relative to the parent's indentation, which a margin hides.
        if self.indent.is_none() && self.margin > 0 && needs_hint(text) {
            return Style::Double;
        }
        self.blocks += 1;
        if self.quoted == Some(self.blocks) {
            Style::Double
        } else {
            Style::Literal
        }
    }

    fn styled(&mut self, text: &str, traits: style::Traits, place: ScalarPosition) {
        let style = self.style(text, traits, place);
        self.ends_in_block = style == Style::Literal;
        let outer = self.indent;
        self.deepen(false, INDENT);
        let fold = place != ScalarPosition::SimpleKey && self.dialect != Dialect::GoYaml3;
        match style {
            Style::Plain => {
                self.separate();
                self.folded(text, traits, fold, Style::Plain);
            }
            Style::Single => {
                self.indicator("'", false);
                self.folded(text, traits, fold, Style::Single);
                self.put_ascii("'");
            }
            Style::Double => {
                self.indicator("\"", false);
                self.escaped(text, fold);
                self.put_ascii("\"");
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
    fn folded(&mut self, text: &str, traits: style::Traits, fold: bool, style: Style) {
        if traits.multiline {
            return self.folded_lines(text, fold, style);
        }
        let mut rest = text;
        let mut first = true;
        let mut spaces = false;
        // There are at least as many bytes as columns, except for quotes, which are doubled.
        let widest = if style == Style::Single { 2 } else { 1 };
        while fold && self.column + rest.len() * widest > WIDTH {
            let Some(at) = rest.find(' ') else { break };
            let (word, after) = rest.split_at(at);
            rest = after.get(1..).unwrap_or_default();
            if !word.is_empty() {
                self.run(word, style);
                spaces = false;
            }
            first &= word.is_empty();
            let inner = style == Style::Plain || !first && !rest.is_empty();
            if !spaces && self.column > WIDTH && inner && !rest.starts_with(' ') {
                self.line();
            } else {
                self.put_ascii(" ");
            }
            spaces = true;
            first = false;
        }
        self.run(rest, style);
    }

    /// A part without line breaks.
    fn run(&mut self, text: &str, style: Style) {
        if text.is_empty() {
            return;
        }
        if style == Style::Single && text.contains('\'') {
            self.put_text(&text.replace('\'', "''"));
        } else {
            self.put_text(text);
        }
        self.indention = false;
    }

    /// As [`Emitter::folded`], for texts with line breaks that no literal block can hold.
    fn folded_lines(&mut self, text: &str, fold: bool, style: Style) {
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
        // go-yaml only checks the first character for a byte order mark.
        let all = text.starts_with('\u{feff}');
        let braces = self.template_safe && needs_brace_escapes(text);
        let mut spaces = false;
        let mut rest = text;
        let mut first = true;
        while let Some(character) = rest.chars().next() {
            let plain = if all || braces { 0 } else { style::plain_run(rest) };
            if plain > 0 {
                let (run, after) = rest.split_at_checked(plain).unwrap_or((rest, ""));
                self.put_ascii(run);
                rest = after;
                (spaces, first) = (false, false);
                continue;
            }
            rest = rest.get(character.len_utf8()..).unwrap_or_default();
            let next = rest.bytes().next();
            if braces && matches!(character, '{' | '}') {
                self.put_ascii(if character == '{' { "\\x7b" } else { "\\x7d" });
                spaces = false;
            } else if all || must_escape(character) {
                let before = self.out.len();
                style::escape(character, &mut self.out);
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
        let mut rest = text;
        while !rest.is_empty() {
            let end = style::find_break(rest);
            let (line, after) = rest.split_at_checked(end).unwrap_or((rest, ""));
            if !line.is_empty() {
                self.line();
                self.put_text(line);
                self.indention = false;
            }
            rest = after;
            if let Some(character) = rest.chars().next() {
                self.put_break(character);
                self.indention = true;
                rest = rest.get(character.len_utf8()..).unwrap_or_default();
            }
        }
    }

    /// Begins a line at the current indentation, unless it is there already.
    fn line(&mut self) {
        let indent = self.indent.unwrap_or(0);
        if !self.indention || self.column > indent || self.column == indent && !self.whitespace {
            self.put_break('\n');
        }
        while self.column < indent {
            let count = (indent - self.column).min(BLANKS.len());
            self.put_ascii(BLANKS.get(..count).unwrap_or(" "));
        }
        self.whitespace = true;
        self.indention = true;
    }

    fn indicator(&mut self, indicator: &str, indention: bool) {
        self.separate();
        self.put_ascii(indicator);
        self.whitespace = false;
        self.indention &= indention;
    }

    fn separate(&mut self) {
        if !self.whitespace {
            self.put_ascii(" ");
        }
    }

    /// Writes the margin at the start of a line.
    fn start(&mut self) {
        if self.margin > 0 && self.column == 0 && (self.out.is_empty() || self.out.ends_with(style::is_break))
        {
            self.out.extend(std::iter::repeat_n(' ', self.margin));
        }
    }

    fn put_ascii(&mut self, text: &str) {
        self.start();
        self.out.push_str(text);
        self.column += text.len();
    }

    fn put_text(&mut self, text: &str) {
        self.start();
        self.out.push_str(text);
        self.column += if text.is_ascii() {
            text.len()
        } else {
            text.chars().count()
        };
    }

    fn put(&mut self, character: char) {
        self.start();
        self.out.push(character);
        self.column += 1;
    }

    fn put_break(&mut self, character: char) {
        self.out.push(character);
        self.column = 0;
    }
}

fn must_escape(character: char) -> bool {
    !style::is_printable(character) || style::is_break(character) || matches!(character, '"' | '\\')
}
