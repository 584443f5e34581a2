//! Expressions over symbols instead of characters: compiled in time that depends on the expression alone, as in Go.
//!
//! The crate compiles a class of characters into automata over the bytes of UTF-8, again for each repetition:
//! `\pL{1,300}` has 300 times some 300 states. But an expression can't distinguish characters that are in the same
//! classes. So all that it can't distinguish become one byte, in the expression and in the text that is searched; a
//! class is a few bytes then, and a character always one.

use std::collections::{BTreeMap, BTreeSet};

use ::regex::bytes;
use regex_syntax::hir::{Class, ClassBytes, ClassBytesRange, Hir, HirKind, Look};

/// The maximum number of different classes; above it the crate's own automata are used.
const MAX_CLASSES: usize = 1_000;
/// As above, for the classes times the ranges that they cut the characters into.
const MAX_COMPARED: usize = 2_000_000;
/// Ranges of characters, first and last.
type Ranges = Vec<(u32, u32)>;

const WORD: [(u32, u32); 4] = [(0x30, 0x39), (0x41, 0x5a), (0x5f, 0x5f), (0x61, 0x7a)];
const NEWLINE: [(u32, u32); 1] = [(0x0a, 0x0a)];

/// A compiled expression over symbols.
#[derive(Debug)]
pub(super) struct SymbolRegex {
    symbols: Symbols,
    pub(super) regex: bytes::Regex,
}

/// A text as symbols.
pub(super) struct SymbolText {
    pub(super) bytes: Vec<u8>,
    /// The offset of each character in the text; empty if each is one byte long.
    starts: Vec<usize>,
    /// The length of the text.
    length: usize,
}

impl SymbolText {
    /// The symbol at or after an offset of the text.
    pub(super) fn index(&self, offset: usize) -> usize {
        if self.starts.is_empty() {
            return offset;
        }
        self.starts.partition_point(|start| *start < offset)
    }

    /// A match in the text.
    pub(super) fn span(&self, (start, end): (usize, usize)) -> (usize, usize) {
        let offset = |index: usize| match self.starts.is_empty() {
            true => index,
            false => self.starts.get(index).copied().unwrap_or(self.length),
        };
        (offset(start), offset(end))
    }
}

impl SymbolRegex {
    /// Compiles an expression of the crate's syntax; `None` if it distinguishes too many characters.
    pub(super) fn compile(
        written: &str,
        nest_limit: u32,
        most_bytes: usize,
    ) -> Option<Result<Self, ::regex::Error>> {
        let parsed = regex_syntax::ParserBuilder::new()
            .nest_limit(nest_limit)
            .build()
            .parse(written)
            .ok()?;
        let symbols = Symbols::of(&parsed)?;
        let mut text = String::new();
        regex_syntax::hir::print::Printer::new()
            .print(&symbols.translate(&parsed), &mut text)
            .ok()?;
        let mut builder = bytes::RegexBuilder::new(&text);
        // A class is printed as a group.
        let built = builder
            .size_limit(most_bytes)
            .nest_limit(nest_limit.saturating_mul(2))
            .build();
        Some(built.map(|regex| Self { symbols, regex }))
    }

    pub(super) fn text(&self, text: &str) -> SymbolText {
        let starts = match text.is_ascii() {
            true => Vec::new(),
            false => text.char_indices().map(|(start, _)| start).collect(),
        };
        SymbolText {
            bytes: text.chars().map(|c| self.symbols.of_char(c)).collect(),
            starts,
            length: text.len(),
        }
    }
}

/// The symbol of each character.
#[derive(Debug)]
struct Symbols {
    /// The first character of each range, and its symbol.
    ranges: Vec<(u32, u8)>,
    ascii: [u8; 128],
}

impl Symbols {
    fn of(hir: &Hir) -> Option<Self> {
        let mut classes = BTreeSet::new();
        let looks = hir.properties().look_set();
        if looks.contains_word_unicode() || looks.contains(Look::StartCRLF) || looks.contains(Look::EndCRLF) {
            return None;
        }
        let has_words = looks.contains_word_ascii();
        let has_lines = looks.contains(Look::StartLF) || looks.contains(Look::EndLF);
        if has_words {
            classes.insert(WORD.to_vec());
        }
        if has_lines {
            classes.insert(NEWLINE.to_vec());
        }
        collect(hir, &mut classes);
        if classes.len() > MAX_CLASSES {
            return None;
        }
        let edges = classes.iter().flatten().flat_map(|(low, high)| [*low, *high + 1]);
        let edges: BTreeSet<u32> = edges.chain([0]).collect();
        let firsts: Vec<u32> = edges.into_iter().collect();
        if firsts.len().saturating_mul(classes.len()) > MAX_COMPARED {
            return None;
        }
        let kinds = kinds(&firsts, &classes)?;
        // What `\b` and `^` ask of a character they ask of its symbol.
        let is_word = |code: u32| has_words && within(&WORD, code);
        let is_newline = |code: u32| has_lines && code == u32::from(b'\n');
        let mut words = (0..=u8::MAX).filter(|byte| within(&WORD, u32::from(*byte)));
        let is_reserved = |byte: u32| is_newline(byte) || is_word(byte);
        let mut others = (0..=u8::MAX).filter(|byte| !is_reserved(u32::from(*byte)));
        let mut taken = BTreeMap::new();
        let mut ranges = Vec::with_capacity(firsts.len());
        for (first, kind) in firsts.into_iter().zip(kinds) {
            let symbol = match taken.get(&kind) {
                Some(symbol) => *symbol,
                None => {
                    let new = match (is_newline(first), is_word(first)) {
                        (true, _) => Some(b'\n'),
                        (_, true) => words.next(),
                        _ => others.next(),
                    };
                    *taken.entry(kind).or_insert(new?)
                }
            };
            ranges.push((first, symbol));
        }
        let mut symbols = Self {
            ranges,
            ascii: [0; 128],
        };
        let mut ascii = [0; 128];
        for (c, symbol) in ('\0'..).zip(&mut ascii) {
            *symbol = symbols.of_code(u32::from(c));
        }
        symbols.ascii = ascii;
        Some(symbols)
    }

    fn of_char(&self, c: char) -> u8 {
        let code = u32::from(c);
        let known = usize::try_from(code).ok().and_then(|code| self.ascii.get(code));
        known.copied().unwrap_or_else(|| self.of_code(code))
    }

    fn of_code(&self, code: u32) -> u8 {
        let behind = self.ranges.partition_point(|(first, _)| *first <= code);
        let range = behind.checked_sub(1).and_then(|index| self.ranges.get(index));
        range.map_or(0, |(_, symbol)| *symbol)
    }

    /// The symbols of a class, whose edges are edges of ranges.
    fn class(&self, class: &[(u32, u32)]) -> Hir {
        let mut found = BTreeSet::new();
        for (low, high) in class {
            let from = self.ranges.partition_point(|(first, _)| first < low);
            let ranges = self.ranges.iter().skip(from);
            found.extend(
                ranges
                    .take_while(|(first, _)| first <= high)
                    .map(|(_, symbol)| *symbol),
            );
        }
        let ranges = found
            .into_iter()
            .map(|symbol| ClassBytesRange::new(symbol, symbol));
        Hir::class(Class::Bytes(ClassBytes::new(ranges)))
    }

    fn translate(&self, hir: &Hir) -> Hir {
        match hir.kind() {
            HirKind::Empty => Hir::empty(),
            HirKind::Look(look) => Hir::look(*look),
            HirKind::Literal(literal) => {
                let text = String::from_utf8_lossy(&literal.0);
                Hir::literal(text.chars().map(|c| self.of_char(c)).collect::<Vec<u8>>())
            }
            HirKind::Class(class) => self.class(&ranges(class)),
            HirKind::Repetition(repetition) => {
                Hir::repetition(repetition.with(self.translate(&repetition.sub)))
            }
            HirKind::Capture(capture) => {
                let mut capture = capture.clone();
                capture.sub = Box::new(self.translate(&capture.sub));
                Hir::capture(capture)
            }
            HirKind::Concat(parts) => Hir::concat(parts.iter().map(|part| self.translate(part)).collect()),
            HirKind::Alternation(parts) => {
                Hir::alternation(parts.iter().map(|part| self.translate(part)).collect())
            }
        }
    }
}

/// The classes of an expression; each character of a literal is one.
fn collect(hir: &Hir, classes: &mut BTreeSet<Ranges>) {
    if classes.len() > MAX_CLASSES {
        return;
    }
    match hir.kind() {
        HirKind::Empty | HirKind::Look(_) => {}
        HirKind::Literal(literal) => {
            let text = String::from_utf8_lossy(&literal.0);
            classes.extend(text.chars().map(|c| vec![(u32::from(c), u32::from(c))]));
        }
        HirKind::Class(class) => {
            classes.insert(ranges(class));
        }
        HirKind::Repetition(repetition) => collect(&repetition.sub, classes),
        HirKind::Capture(capture) => collect(&capture.sub, classes),
        HirKind::Concat(parts) | HirKind::Alternation(parts) => {
            parts.iter().for_each(|part| collect(part, classes));
        }
    }
}

fn ranges(class: &Class) -> Ranges {
    match class {
        Class::Unicode(class) => {
            let ranges = class.iter();
            ranges
                .map(|range| (u32::from(range.start()), u32::from(range.end())))
                .collect()
        }
        Class::Bytes(class) => {
            let ranges = class.iter();
            ranges
                .map(|range| (u32::from(range.start()), u32::from(range.end())))
                .collect()
        }
    }
}

/// A number for each range, the same for those in the same classes; `None` if there are more than symbols.
fn kinds(firsts: &[u32], classes: &BTreeSet<Ranges>) -> Option<Vec<usize>> {
    let mut kinds = vec![0; firsts.len()];
    for class in classes {
        let mut known = BTreeMap::new();
        for (first, kind) in firsts.iter().zip(&mut kinds) {
            let next = known.len();
            *kind = *known.entry((*kind, within(class, *first))).or_insert(next);
        }
        if known.len() > 1 << u8::BITS {
            return None;
        }
    }
    Some(kinds)
}

fn within(class: &[(u32, u32)], code: u32) -> bool {
    let behind = class.partition_point(|(low, _)| *low <= code);
    let range = behind.checked_sub(1).and_then(|index| class.get(index));
    range.is_some_and(|(_, high)| code <= *high)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const LIMIT: u32 = 100;

    fn symbols(pattern: &str) -> Option<SymbolRegex> {
        SymbolRegex::compile(pattern, LIMIT, 1 << 20).map(Result::unwrap)
    }

    /// All groups of all matches.
    fn ours(regex: &SymbolRegex, text: &str) -> Vec<Vec<Option<(usize, usize)>>> {
        let text = regex.text(text);
        let spans = |found: bytes::Captures<'_>| {
            let groups = found
                .iter()
                .map(|group| Some(text.span((group?.start(), group?.end()))));
            groups.collect()
        };
        regex.regex.captures_iter(&text.bytes).map(spans).collect()
    }

    fn theirs(pattern: &str, text: &str) -> Vec<Vec<Option<(usize, usize)>>> {
        let regex = ::regex::Regex::new(pattern).unwrap();
        let spans = |found: ::regex::Captures<'_>| {
            let groups = found.iter().map(|group| Some((group?.start(), group?.end())));
            groups.collect()
        };
        regex.captures_iter(text).map(spans).collect()
    }

    #[test]
    fn words_and_lines_are_those_of_the_text() {
        let text = "ab-\u{e9}t\u{e9} _1\nb\u{4e16}\n\n. x";
        for pattern in [
            r"(?-u:\b)",
            r"(?-u:\B)",
            r"(?m:^)b",
            r"(?m:[a-z]$)",
            r"\A|\z",
            ".",
            "(?s).",
            r"[^\n]+",
            r"\pL+",
            r"(?i)K|\x{e9}",
            "(a)|(b)|(\u{e9})",
            r"(?-u:\b)\PL*(?-u:\b)",
            "",
            "[a&&b]",
            r"(?m:^)(?-u:\B)",
        ] {
            assert_eq!(
                ours(&symbols(pattern).unwrap(), text),
                theirs(pattern, text),
                "{pattern}"
            );
        }
    }

    #[test]
    fn an_expression_with_more_classes_than_symbols_is_left_to_the_crate() {
        let pattern: String = ('\u{4e00}'..).take(255).collect();
        assert!(symbols(&pattern).is_some());
        let pattern: String = ('\u{4e00}'..).take(256).collect();
        assert!(symbols(&pattern).is_none());
        let pattern: String = ('\u{4e00}'..).take(MAX_CLASSES + 1).collect();
        assert!(symbols(&pattern).is_none());
        // Few kinds of characters, but many ranges in each class.
        let starts: String = ('\u{4e00}'..).step_by(2).take(6_000).collect();
        let classes: String = (0..200)
            .map(|extra| format!("[{starts}{}]", char::from(extra)))
            .collect();
        assert!(SymbolRegex::compile(&classes, LIMIT, 1 << 20).is_none());
    }

    /// Its automaton over bytes has 4.6 MB.
    #[test]
    fn repeated_classes_are_small() {
        let regex = SymbolRegex::compile(r"^\pL{1,300}$", LIMIT, 200_000)
            .unwrap()
            .unwrap();
        assert_eq!(ours(&regex, &"\u{e9}".repeat(300)), [[Some((0, 600))]]);
        assert!(ours(&regex, &"\u{e9}".repeat(301)).is_empty());
    }

    /// An expression from pieces.
    fn pattern() -> impl Strategy<Value = String> {
        const PIECES: &[&str] = &[
            "a",
            "b",
            "\u{e9}",
            "\u{4e16}",
            "\u{df}",
            "[a\u{e9}]",
            "[^b]",
            "[^\u{4e16}-\u{754c}]",
            r"\pL",
            r"\PL",
            ".",
            r"(?-u:\b)",
            r"(?-u:\B)",
            "(?m:^)",
            "(?m:$)",
            "(?i:k)",
            r"\n",
            "(a|\u{e9})",
            "|",
        ];
        const REPEATS: &[&str] = &["", "", "", "*", "+?", "?", "{0,2}"];
        let piece = (prop::sample::select(PIECES), prop::sample::select(REPEATS));
        let piece = piece.prop_map(|(piece, repeat)| match piece {
            "|" => piece.to_owned(),
            _ => format!("{piece}{repeat}"),
        });
        prop::collection::vec(piece, 1..6).prop_map(|pieces| pieces.concat())
    }

    proptest! {
        #[test]
        fn matches_are_the_crates(pattern in pattern(), text in "[abk\u{e9}K\u{df}\u{4e16}\u{754c} \\n_\u{212a}]{0,12}") {
            let regex = symbols(&pattern).unwrap();
            prop_assert_eq!(ours(&regex, &text), theirs(&pattern, &text), "{} in {:?}", pattern, text);
        }
    }
}
