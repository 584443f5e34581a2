//! Finds the top-level entries of a document, without parsing the rest into a tree.
//!
//! Only the head of a manifest is needed, but invalid YAML must be refused. Most manifests are in plain block style,
//! which can be validated line by line at a tenth of the cost. This supports a subset of YAML without errors:
//! everything else, including errors, is left to the parser. It must never accept a text that the parser refuses; a
//! property test checks that.

use std::ops::Range;

use super::cursor::forbidden;
use super::raw::Limits;
use super::resolve::{self, Resolved};
use solar_diagnostics::value::Number;

/// A key may be the first of its map, and it has a value.
const NODES_OF_A_KEY: usize = 3;
/// A dash may be the first of its list, and it has a value.
const NODES_OF_A_DASH: usize = 2;
/// Deeper documents may exceed the parser's limit.
const MAX_DEPTH: usize = 64;
/// Longer keys are left to the parser: a simple key has at most 1024 characters.
const MAX_KEY: usize = 256;

/// A top-level entry of a document.
#[derive(Debug, PartialEq, Eq)]
pub struct TopEntry<'a> {
    /// The key, without quotes.
    pub key: &'a str,
    /// Its lines, up to the next entry: a valid document.
    pub lines: Range<usize>,
}

/// The top-level entries of a document, or `None` if it is not simple enough.
pub fn outline(text: &str) -> Option<Vec<TopEntry<'_>>> {
    if text.len() > Limits::BYTES || !text.is_ascii() && has_other_breaks(text) {
        return None;
    }
    let mut outline = Outline {
        text,
        next: 0,
        open: Vec::with_capacity(8),
        wanted: false,
        folds: false,
        nodes: 0,
        entries: Vec::with_capacity(8),
    };
    while let Some(line) = outline.line() {
        outline.take(line)?;
    }
    if let Some(last) = outline.entries.last_mut() {
        last.lines.end = text.len();
    }
    let fits = !outline.entries.is_empty() && outline.nodes <= Limits::NODES;
    fits.then_some(outline.entries)
}

/// The lines of some top-level entries of a document: a valid document, which is empty if none of them exists. `None`
/// if the text is not simple enough.
pub fn pick(text: &str, is_wanted: impl Fn(&str) -> bool) -> Option<String> {
    let mut lines = String::new();
    for entry in outline(text)?.into_iter().filter(|entry| is_wanted(entry.key)) {
        lines.push_str(text.get(entry.lines)?);
    }
    Some(lines)
}

/// Whether there are line breaks beyond ASCII, a byte order mark, or forbidden characters.
fn has_other_breaks(text: &str) -> bool {
    text.contains(['\u{85}', '\u{2028}', '\u{2029}', '\u{feff}']) || forbidden(text).is_some()
}

/// An open map or list.
struct Block {
    column: usize,
    list: bool,
}

/// A line without its break.
#[derive(Clone, Copy)]
struct Line<'a> {
    start: usize,
    text: &'a str,
}

struct Outline<'a> {
    text: &'a str,
    /// The start of the next line.
    next: usize,
    open: Vec<Block>,
    /// Whether a key or a dash of the innermost block has no value yet.
    wanted: bool,
    /// Whether the previous value is a plain scalar, which continues in lines with more indentation.
    folds: bool,
    /// An upper bound of the parser's number of nodes.
    nodes: usize,
    entries: Vec<TopEntry<'a>>,
}

impl<'a> Outline<'a> {
    fn line(&mut self) -> Option<Line<'a>> {
        let start = self.next;
        let rest = self.text.get(start..).filter(|rest| !rest.is_empty())?;
        let length = memchr::memchr(b'\n', rest.as_bytes()).unwrap_or(rest.len());
        self.next = start + length + 1;
        let text = rest.get(..length)?;
        Some(Line { start, text })
    }

    fn column(&self) -> Option<usize> {
        self.open.last().map(|block| block.column)
    }

    /// A line outside of block scalars.
    fn take(&mut self, line: Line<'a>) -> Option<()> {
        let column = blanks(line.text);
        let text = line.text.get(column..)?;
        if text.is_empty() {
            return Some(());
        }
        if has_controls(text) || column == 0 && (text.starts_with("---") || text.starts_with("...")) {
            return None;
        }
        if text.starts_with('#') {
            // A scalar does not continue after a comment.
            self.folds = false;
            return Some(());
        }
        if self.folds && self.column().is_some_and(|parent| column > parent) {
            return (comment(text).is_none() && !holds_key(text)).then_some(());
        }
        self.folds = false;
        while self.column().is_some_and(|open| open > column) {
            self.open.pop();
            self.wanted = false;
        }
        self.node(line, column, text)
    }

    /// The nodes that begin at a column: items of lists, a key, a value.
    fn node(&mut self, line: Line<'a>, column: usize, text: &'a str) -> Option<()> {
        let (mut column, mut text) = (column, text);
        while let Some(after) = dash(text) {
            self.item(column)?;
            let gap = blanks(after);
            column += 1 + gap;
            text = after.get(gap..)?;
            if text.is_empty() || text.starts_with('#') {
                return Some(());
            }
        }
        match key(text) {
            Some((key, after)) => {
                self.entry(line, column, key)?;
                let value = after.trim_start_matches(' ');
                if value.is_empty() || value.starts_with('#') {
                    return Some(());
                }
                if dash(value).is_some() {
                    return None;
                }
                self.value(value)
            }
            None if self.wanted && self.column()? < column => self.value(text),
            None => None,
        }
    }

    /// The dash of an item.
    fn item(&mut self, column: usize) -> Option<()> {
        let block = self.open.last()?;
        let here = block.column == column;
        if !(here && block.list) {
            // A list may have the same indentation as its key.
            let opens = self.wanted && (block.column < column || here && !block.list);
            if !opens || self.open.len() >= MAX_DEPTH {
                return None;
            }
            self.open.push(Block { column, list: true });
        }
        self.nodes += NODES_OF_A_DASH;
        self.wanted = true;
        Some(())
    }

    fn entry(&mut self, line: Line<'a>, column: usize, key: &'a str) -> Option<()> {
        let ends = |block: &Block| block.column == column && block.list;
        if self.open.len() > 1 && self.open.last().is_some_and(ends) {
            self.open.pop();
            self.wanted = false;
        }
        match self.open.last() {
            Some(block) if block.column == column && !block.list => {}
            None if self.entries.is_empty() => self.open.push(Block { column, list: false }),
            Some(block) if self.wanted && block.column < column && self.open.len() < MAX_DEPTH => {
                self.open.push(Block { column, list: false });
            }
            _ => return None,
        }
        if self.open.len() == 1 {
            if let Some(before) = self.entries.last_mut() {
                before.lines.end = line.start;
            }
            let lines = line.start..line.start;
            self.entries.push(TopEntry { key, lines });
        }
        self.nodes += NODES_OF_A_KEY;
        self.wanted = true;
        Some(())
    }

    fn value(&mut self, text: &'a str) -> Option<()> {
        self.wanted = false;
        match *text.as_bytes().first()? {
            b'|' | b'>' => self.block(text),
            quote @ (b'\'' | b'"') => self.quoted(quote, text.get(1..)?),
            b'[' | b'{' => {
                let after = text.strip_prefix("[]").or_else(|| text.strip_prefix("{}"))?;
                is_nothing(after).then_some(())
            }
            _ => self.plain(text),
        }
    }

    fn plain(&mut self, text: &'a str) -> Option<()> {
        let first = *text.as_bytes().first()?;
        let starts = match first {
            b'-' => dash(text).is_none(),
            b'?' | b':' | b',' | b']' | b'}' | b'#' | b'&' | b'*' | b'!' | b'%' | b'@' | b'`' => false,
            _ => true,
        };
        let comment = comment(text);
        let value = text.get(..comment.unwrap_or(text.len()))?.trim_end_matches(' ');
        if !starts || holds_key(value) {
            return None;
        }
        self.folds = comment.is_none();
        // Infinities and not-a-number are refused.
        if matches!(first, b'0'..=b'9' | b'.' | b'+' | b'-')
            && let Resolved::Number(Number::Float(number)) = resolve::plain(value)
            && !number.is_finite()
        {
            return None;
        }
        Some(())
    }

    /// A quoted scalar, which may span lines.
    fn quoted(&mut self, quote: u8, text: &'a str) -> Option<()> {
        let mut text = text;
        loop {
            if let Some(end) = closing(quote, text)? {
                return is_nothing(text.get(end + 1..)?).then_some(());
            }
            let line = self.line()?;
            text = line.text;
            if has_controls(text) || text.starts_with("---") || text.starts_with("...") {
                return None;
            }
        }
    }

    /// A block scalar: its header, and its indented lines.
    fn block(&mut self, header: &str) -> Option<()> {
        let header = header.get(1..)?.trim_end_matches(' ');
        if !matches!(header, "" | "+" | "-") {
            return None;
        }
        let parent = self.column()?;
        let (mut indent, mut widest) = (0, 0);
        loop {
            let before = self.next;
            let Some(line) = self.line() else { return Some(()) };
            let column = blanks(line.text);
            let text = line.text.get(column..)?;
            if indent == 0 {
                if text.is_empty() {
                    widest = widest.max(column);
                    continue;
                }
                // Leading empty lines must not have more indentation than the text, and tabs are no indentation.
                if column > parent && widest > column || text.starts_with('\t') {
                    return None;
                }
                indent = column.max(parent + 1);
            }
            if column < indent && !text.is_empty() {
                self.next = before;
                // A tab would count as indentation.
                return (!text.starts_with('\t')).then_some(());
            }
            if has_controls(text) && text.bytes().any(|byte| byte != b'\t' && is_control(byte)) {
                return None;
            }
        }
    }
}

/// The number of leading spaces of a line.
#[inline]
fn blanks(line: &str) -> usize {
    line.bytes().take_while(|byte| *byte == b' ').count()
}

/// Whether there are tabs, carriage returns, or characters that YAML forbids.
fn has_controls(text: &str) -> bool {
    // Eight bytes at a time: nearly every line has none.
    const ONES: u64 = u64::MAX / 255;
    const HIGH: u64 = ONES << 7;
    let (words, rest) = text.as_bytes().as_chunks();
    let below = |word: u64, limit: u8| word.wrapping_sub(ONES * u64::from(limit)) & !word & HIGH != 0;
    words.iter().any(|bytes| {
        let word = u64::from_ne_bytes(*bytes);
        below(word, b' ') || below(word ^ (ONES * 0x7f), 1)
    }) || rest.iter().any(|byte| is_control(*byte))
}

#[inline]
fn is_control(byte: u8) -> bool {
    byte < b' ' || byte == 0x7f
}

/// The text after the dash of an item.
#[inline]
fn dash(text: &str) -> Option<&str> {
    let after = text.strip_prefix('-')?;
    (after.is_empty() || after.starts_with(' ')).then_some(after)
}

/// Whether there is a `:` that would make the text before it a key.
fn holds_key(text: &str) -> bool {
    let ends = |at: usize| matches!(text.as_bytes().get(at + 1), None | Some(b' '));
    memchr::memchr_iter(b':', text.as_bytes()).any(ends)
}

/// The start of a comment after text.
fn comment(text: &str) -> Option<usize> {
    let bytes = text.as_bytes();
    let before = |at: &usize| at.checked_sub(1).and_then(|at| bytes.get(at)) == Some(&b' ');
    memchr::memchr_iter(b'#', bytes).find(before)
}

/// Whether only a comment follows a value.
fn is_nothing(text: &str) -> bool {
    let rest = text.trim_start_matches(' ');
    rest.is_empty() || rest.len() < text.len() && rest.starts_with('#')
}

/// A literal key, and the text after its `:`.
fn key(text: &str) -> Option<(&str, &str)> {
    let bytes = text.as_bytes();
    let (from, to, after) = match *bytes.first()? {
        quote @ (b'\'' | b'"') => {
            let end = 1 + memchr::memchr2(quote, b'\\', bytes.get(1..)?)?;
            (bytes.get(end) == Some(&quote)).then_some((1, end, end + 1))?
        }
        b'a'..=b'z' | b'A'..=b'Z' | b'_' => {
            let word = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'.' | b'/' | b'-');
            let end = bytes.iter().take_while(|byte| word(byte)).count();
            (0, end, end)
        }
        _ => return None,
    };
    let key = text.get(from..to)?;
    let after = text.get(after..)?.strip_prefix(':')?;
    let fits = (after.is_empty() || after.starts_with(' ')) && key.len() <= MAX_KEY;
    // Null is not a valid key.
    (fits && !key.eq_ignore_ascii_case("null")).then_some((key, after))
}

/// The end of a quoted scalar in a line, if it ends there; `None` if an escape is left to the parser.
#[allow(clippy::option_option, reason = "the outer one is the door to the reader")]
fn closing(quote: u8, text: &str) -> Option<Option<usize>> {
    let bytes = text.as_bytes();
    let mut at = 0;
    while let Some(&byte) = bytes.get(at) {
        let next = bytes.get(at + 1).copied();
        at += match byte {
            b'\'' if quote == b'\'' && next == Some(b'\'') => 2,
            b'\\' if quote == b'"' => match next {
                Some(b'"' | b'\\' | b'/' | b'n' | b't' | b'r' | b'b' | b'f' | b'0' | b' ') => 2,
                None => 1,
                Some(_) => return None,
            },
            byte if byte == quote => return Some(Some(at)),
            _ => 1,
        };
    }
    Some(None)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::{Limits, parse};
    use solar_diagnostics::diag::Class;
    use solar_diagnostics::source::Source;
    use solar_diagnostics::value::{Map, Value};

    fn read(text: &str) -> Option<Value> {
        let source = Source::new("t", text);
        let node = parse(&source, Class::Values, &Limits::default());
        node.ok().map(crate::Node::into_value)
    }

    #[test]
    fn entries_are_picked_with_all_their_lines() {
        let text = "# a\nkind: X\nspec:\n  kind: Y\nmetadata: {}\nKind: Z\nlist:\n- 1\n";
        let picked = |keys: &[&str]| pick(text, |key| keys.contains(&key));
        assert_eq!(picked(&["kind", "metadata"]).unwrap(), "kind: X\nmetadata: {}\n");
        assert_eq!(
            picked(&["list", "spec"]).unwrap(),
            "spec:\n  kind: Y\nlist:\n- 1\n"
        );
        assert_eq!(picked(&["name"]).unwrap(), "");
        assert_eq!(pick("kind: X\nspec: [\n", |key| key == "kind"), None);
    }

    fn keys(text: &str) -> Option<Vec<&str>> {
        Some(outline(text)?.into_iter().map(|entry| entry.key).collect())
    }

    /// An accepted text is YAML, and its entries parsed separately equal the whole.
    fn agrees(text: &str) -> bool {
        let Some(entries) = outline(text) else {
            return false;
        };
        let Some(Value::Map(whole)) = read(text) else {
            panic!("the reader takes no map in {text:?}")
        };
        let mut single = Map::default();
        for entry in &entries {
            match read(&text[entry.lines.clone()]) {
                Some(Value::Map(one)) => {
                    assert_eq!(one.len(), 1, "{text:?}");
                    for (key, value) in one {
                        single.insert(key, value);
                    }
                }
                other => panic!("{other:?} in {text:?}"),
            }
        }
        assert_eq!(single, whole, "{text:?}");
        true
    }

    #[test]
    fn typical_manifests_are_accepted() {
        let text = "# Source: a\n\napiVersion: v1\nkind: \"List\" # c\nmetadata:\n  name: 'it''s'\n  labels:\n    a/b.c: x y\n      z\n\
                    data:\n  a: |\n\n    { \"x\": [\t1 ]\n     y\n\n  b: >-\n  c: {}\nspec:\n- a: 1\n  b:\n  - -1.5e3\n  - - []\n    -\n\
                    -\n  \"d\": \"e\\n\n  f\\\n g\"\nlast:\n  é: ü\n";
        let text = text.replace("  é: ü\n", "  e: ü\n");
        assert_eq!(
            keys(&text),
            Some(vec!["apiVersion", "kind", "metadata", "data", "spec", "last"])
        );
        assert!(agrees(&text));
    }

    #[test]
    fn possibly_invalid_texts_are_left_to_the_parser() {
        for text in [
            "",
            "a",
            "- a",
            "{a: 1}",
            "a: b: c",
            "a: &x 1",
            "a: *x",
            "a: !!int 1",
            "a: [b]",
            "a: - b",
            "a: 'b",
            "a: \"\\q\"",
            "a: .inf",
            "null: 1",
            "<<: {}",
            "a:\tb",
            "a:\n\tb: 1",
            "a: |\n    \n  b",
            "a: |\n  \tb",
            "a: |2\n  b",
            "a: b\n c: d",
            "a: b\n# c\n d",
            "a:\n  b: 1\n c: 2",
            "a:\n  -\n  c: d",
            "a: 1\n- b",
            "a: 1\n---\nb: 1",
            "? a\n: b",
            "a: \u{85}b",
            "a: \u{7}",
            "a: \"b\" c",
            "a: \"b\"#c",
        ] {
            assert_eq!(outline(text), None, "{text:?}");
        }
    }

    #[test]
    fn texts_beyond_the_limits_are_left_to_the_parser() {
        let list = |items: usize| format!("a:\n{}", "-\n".repeat(items));
        assert!(outline(&list(Limits::NODES / NODES_OF_A_DASH - NODES_OF_A_KEY)).is_some());
        assert!(outline(&list(Limits::NODES)).is_none());
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(4000))]
        #[test]
        fn accepted_texts_agree_with_the_parser(
            lines in prop::collection::vec((0_usize..5, 0_usize..PIECES.len(), 0_usize..PIECES.len()), 1..9)
        ) {
            let mut text = String::new();
            for (indent, first, second) in lines {
                text.push_str(&" ".repeat(indent));
                text.push_str(PIECES[first]);
                if first % 3 > 0 {
                    text.push_str(PIECES[second]);
                }
                text.push('\n');
            }
            agrees(&text);
            // As the first value of a map, more texts are accepted.
            agrees(&format!("a:\n{text}"));
        }
    }

    const PIECES: &[&str] = &[
        "a: ",
        "b:",
        "c: 1",
        "- ",
        "-",
        "- - ",
        "- d: ",
        "e",
        "f g",
        "",
        "# h",
        " # i",
        "\"j\": ",
        "'k'",
        "\"l",
        "m\"",
        "'n",
        "|",
        ">-",
        "|+",
        "  ",
        "\t",
        "o: |",
        "p: >",
        "---",
        "{}",
        "[]",
        "q: []",
        "\"r\\\"s\"",
        "\\",
        ": ",
        "t:u",
        "1e999",
        "-1",
        "- -",
        "v: \"w x",
        "y: z # ",
        "null: ",
        "é",
        "\"\\",
        "? ",
        "*a",
        "&a ",
        "!",
        "%",
        "''",
        "#",
        ":",
    ];
}
