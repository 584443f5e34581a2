//! Upper, lower, title, camel, snake and kebab case, and other functions on single characters: as in Go's `strings`,
//! goutils 1.1.1 and xstrings 1.5.0.

use super::Context;
use crate::gotext::runes::{
    is_lower, is_name, is_number, is_punct, is_space, is_title, is_upper, to_lower, to_title, to_upper,
};
use crate::template::{Call, FuncError, Str, Val};

/// The characters with their bytes; each invalid byte is a U+FFFD. An iterator, since collecting them takes many times
/// the text's memory.
pub(super) fn runes(text: &Str) -> impl Iterator<Item = (char, &[u8])> {
    text.as_bytes().utf8_chunks().flat_map(|chunk| {
        let valid = chunk.valid();
        let characters = valid.char_indices().map(|(place, c)| {
            let bytes = valid.as_bytes().get(place..place + c.len_utf8());
            (c, bytes.unwrap_or_default())
        });
        characters.chain(chunk.invalid().chunks(1).map(|byte| ('\u{fffd}', byte)))
    })
}

pub(super) fn upper(call: &mut Call<'_, Context>) -> Result<Val, FuncError> {
    Ok(mapped(&call.str(0), to_upper))
}

pub(super) fn lower(call: &mut Call<'_, Context>) -> Result<Val, FuncError> {
    Ok(mapped(&call.str(0), to_lower))
}

fn mapped(text: &Str, map: impl Fn(char) -> char) -> Val {
    match text.as_str() {
        Some(plain) if plain.chars().all(|c| map(c) == c) => Val::Str(text.clone()),
        _ => Val::str(text.to_text().chars().map(map).collect::<String>()),
    }
}

/// Go's `strings.Title`: a word starts where something other than a letter, a digit or an
/// underscore ends; beyond ASCII only where white space ends.
pub(super) fn title(call: &mut Call<'_, Context>) -> Result<Val, FuncError> {
    let mut before = ' ';
    let parts = |c: char| {
        if c.is_ascii() {
            !c.is_ascii_alphanumeric() && c != '_'
        } else {
            is_space(c)
        }
    };
    let text = call.str(0);
    let out: String = text
        .to_text()
        .chars()
        .map(|c| {
            if parts(std::mem::replace(&mut before, c)) {
                to_title(c)
            } else {
                c
            }
        })
        .collect();
    Ok(Val::str(out))
}

pub(super) fn untitle(call: &mut Call<'_, Context>) -> Result<Val, FuncError> {
    let mut starts = true;
    let text = call.str(0);
    let out: String = text
        .to_text()
        .chars()
        .map(|c| {
            let starting = std::mem::replace(&mut starts, is_space(c));
            if starting && !is_space(c) { to_lower(c) } else { c }
        })
        .collect();
    Ok(Val::str(out))
}

pub(super) fn swapcase(call: &mut Call<'_, Context>) -> Result<Val, FuncError> {
    let mut starts = true;
    let text = call.str(0);
    let swap = |c: char| {
        if is_upper(c) || is_title(c) {
            starts = false;
            to_lower(c)
        } else if is_lower(c) {
            if std::mem::replace(&mut starts, false) {
                to_title(c)
            } else {
                to_upper(c)
            }
        } else {
            starts = is_space(c);
            c
        }
    };
    Ok(Val::str(text.to_text().chars().map(swap).collect::<String>()))
}

/// goutils treats each byte as a Latin-1 character, and so corrupts other characters.
pub(super) fn nospace(call: &mut Call<'_, Context>) -> Result<Val, FuncError> {
    let text = call.str(0);
    if !text.as_bytes().iter().any(|byte| is_space(char::from(*byte))) {
        return Ok(Val::Str(text));
    }
    let kept = latin(&text).filter(|c| !is_space(*c));
    Ok(Val::str(kept.collect::<String>()))
}

/// goutils treats each byte as a Latin-1 character here too.
pub(super) fn initials(call: &mut Call<'_, Context>) -> Result<Val, FuncError> {
    let text = call.str(0);
    let mut gap = true;
    let first = latin(&text).filter(|c| {
        let starts = std::mem::replace(&mut gap, is_space(*c));
        starts && !is_space(*c)
    });
    Ok(Val::str(first.collect::<String>()))
}

fn latin(text: &Str) -> impl Iterator<Item = char> {
    text.as_bytes().iter().map(|byte| char::from(*byte))
}

fn is_connector(c: char) -> bool {
    c == '-' || c == '_' || is_space(c)
}

/// Leading connectors are kept, and of several consecutive ones all but the last.
pub(super) fn camelcase(call: &mut Call<'_, Context>) -> Result<Val, FuncError> {
    let text = call.str(0);
    let text = text.to_text();
    let Some(start) = text.find(|c| !is_connector(c)) else {
        // xstrings repeats the last of them.
        let last = text.chars().next_back();
        return Ok(Val::str(text.chars().chain(last).collect::<String>()));
    };
    let (lead, words) = text.split_at(start);
    let mut out = String::with_capacity(text.len());
    out.push_str(lead);
    let mut chars = words.chars();
    let Some(first) = chars.next() else {
        return Ok(Val::str(out));
    };
    // Whether the word so far is all upper case: then the rest is lowered.
    let mut shouting = is_upper(first);
    let mut pending = to_upper(first);
    for c in chars {
        let next = if is_connector(pending) {
            if is_connector(c) {
                out.push(pending);
                pending = c;
                continue;
            }
            shouting = is_upper(c);
            to_upper(c)
        } else {
            out.push(pending);
            shouting &= is_upper(c);
            if shouting { to_lower(c) } else { c }
        };
        pending = next;
    }
    out.push(pending);
    Ok(Val::str(out))
}

pub(super) fn snakecase(call: &mut Call<'_, Context>) -> Result<Val, FuncError> {
    Ok(Val::Str(Words::new(&call.str(0), b'_').joined()))
}

pub(super) fn kebabcase(call: &mut Call<'_, Context>) -> Result<Val, FuncError> {
    Ok(Val::Str(Words::new(&call.str(0), b'-').joined()))
}

/// The kind of a word.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Word {
    /// No word.
    None,
    Number,
    /// Upper case, then lower case, or all upper case.
    Upper,
    Letters,
    Connector,
    Punct,
    Other,
}

/// A word and its range.
struct LocatedWord(Word, std::ops::Range<usize>);

/// Splits a text into words and joins them in lower case.
struct Words<'a> {
    chars: Vec<(char, &'a [u8])>,
    place: usize,
    /// ASCII
    connector: u8,
    out: Vec<u8>,
}

/// Letters according to xstrings: all except CJK ideographs.
fn is_letter(c: char) -> bool {
    is_name(c)
        && c != '_'
        && !is_number(c)
        && !matches!(c, '\u{4e00}'..='\u{9fcc}' | '\u{3400}'..='\u{4d85}' | '\u{20000}'..='\u{2b81d}')
}

impl<'a> Words<'a> {
    fn new(text: &'a Str, connector: u8) -> Self {
        Self {
            chars: runes(text).collect(),
            place: 0,
            connector,
            out: Vec::with_capacity(text.len() + 8),
        }
    }

    fn joined(mut self) -> Str {
        let mut word = self.next();
        while self.place < self.chars.len() {
            if word.0 != Word::Connector {
                self.push(&word);
            }
            let last = std::mem::replace(&mut word, LocatedWord(Word::None, 0..0));
            word = self.next();
            match last.0 {
                Word::Number => word = self.behind_number(word),
                Word::Connector => self.push(&last),
                Word::Punct => {}
                _ if word.0 == Word::Number => word = self.number_behind_word(word),
                _ => self.connect(&word),
            }
        }
        self.push(&word);
        Str::from_bytes(self.out)
    }

    /// A number includes the lower case letters after it: `2xx` is one word.
    fn behind_number(&mut self, mut word: LocatedWord) -> LocatedWord {
        while matches!(word.0, Word::Letters | Word::Number) {
            self.push(&word);
            word = self.next();
        }
        if word.0 != Word::None {
            self.connect(&word);
        }
        word
    }

    /// A number belongs to the word before it (`bld4_floor`), except before lower case
    /// letters (`http_2xx`).
    fn number_behind_word(&mut self, number: LocatedWord) -> LocatedWord {
        if self.place >= self.chars.len() {
            return number;
        }
        let word = self.next();
        if word.0 != Word::Letters {
            self.push(&number);
            self.connect(&word);
            return word;
        }
        self.out.push(self.connector);
        self.push(&number);
        self.behind_number(word)
    }

    /// The connector, before a word that needs one.
    fn connect(&mut self, word: &LocatedWord) {
        if !matches!(word.0, Word::Connector | Word::Punct) {
            self.out.push(self.connector);
        }
    }

    fn push(&mut self, word: &LocatedWord) {
        let cased = matches!(word.0, Word::Upper | Word::Connector);
        for (c, bytes) in self.chars.get(word.1.clone()).unwrap_or_default() {
            if cased && is_connector(*c) {
                self.out.push(self.connector);
            } else if cased && is_upper(*c) {
                let lower = to_lower(*c);
                self.out
                    .extend_from_slice(lower.encode_utf8(&mut [0; 4]).as_bytes());
            } else {
                self.out.extend_from_slice(bytes);
            }
        }
    }

    fn next(&mut self) -> LocatedWord {
        let start = self.place;
        let (first, size) = self.peek('\u{fffd}');
        self.place += size;
        let kind = if first == '\u{fffd}' {
            Word::None
        } else if is_connector(first) {
            self.take(first, is_connector);
            Word::Connector
        } else if is_punct(first) {
            self.take(first, is_punct);
            Word::Punct
        } else if is_upper(first) {
            self.take_upper(first);
            Word::Upper
        } else if is_letter(first) {
            self.take(first, |c| is_letter(c) && !is_upper(c));
            Word::Letters
        } else if is_number(first) {
            self.take(first, is_number);
            Word::Number
        } else {
            self.take(first, |c| {
                !(is_connector(c) || is_letter(c) || is_number(c) || is_punct(c))
            });
            Word::Other
        };
        LocatedWord(kind, start..self.place)
    }

    /// `HTTPServer` is `HTTP` and `Server`; `Server` is one word.
    fn take_upper(&mut self, first: char) {
        if self.place >= self.chars.len() {
            return;
        }
        let (second, mut size) = self.peek(first);
        if !is_upper(second) {
            if is_letter(second) {
                self.place += size;
                self.take(second, |c| is_letter(c) && !is_upper(c));
            }
            return;
        }
        self.place += size;
        while self.place < self.chars.len() {
            let (c, next) = self.peek(second);
            if !is_upper(c) {
                if is_letter(c) {
                    self.place -= size;
                }
                return;
            }
            size = next;
            self.place += size;
        }
    }

    fn take(&mut self, mut last: char, belongs: impl Fn(char) -> bool) {
        while self.place < self.chars.len() {
            let (c, size) = self.peek(last);
            if !belongs(c) {
                return;
            }
            last = c;
            self.place += size;
        }
    }

    /// The next character that is not U+FFFD, else the previous one; and the length.
    fn peek(&self, before: char) -> (char, usize) {
        let rest = self.chars.get(self.place..).unwrap_or_default();
        match rest.iter().position(|(c, _)| *c != '\u{fffd}') {
            Some(skipped) => (rest.get(skipped).map_or(before, |(c, _)| *c), skipped + 1),
            None => (before, rest.len()),
        }
    }
}
