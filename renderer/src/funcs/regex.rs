//! Regular expressions of RE2's syntax.

use std::collections::BTreeMap;
use std::rc::Rc;

use super::Context;
use super::args::{check_items, check_text, func};
use super::re2::{self, Expression, Groups};
use crate::gotext::quote::backquote;
use crate::gotext::runes::is_name;
use crate::template::{Call, Func, FuncError, List, ListType, Str, Type, Val};

/// The maximum number of cached expressions.
const MAX_CACHED: usize = 256;

/// Compiled expressions by their text.
#[derive(Default)]
pub struct RegexCache(BTreeMap<Str, Rc<Compiled>>);

type Compiled = Result<Expression, String>;

impl RegexCache {
    fn get(&mut self, text: &Str) -> Rc<Compiled> {
        if let Some(found) = self.0.get(text) {
            return Rc::clone(found);
        }
        if self.0.len() >= MAX_CACHED {
            self.0.clear();
        }
        let compiled = Rc::new(re2::compile(text));
        self.0.insert(text.clone(), Rc::clone(&compiled));
        compiled
    }
}

/// A text to search in. Go treats invalid bytes as characters: they are searched as U+FFFD, and positions are mapped
/// back to them.
struct Haystack<'a> {
    text: &'a Str,
    decoded: std::borrow::Cow<'a, str>,
    /// The positions of the decoded text's bytes in the original, if it is not UTF-8.
    places: Option<Vec<usize>>,
}

impl<'a> Haystack<'a> {
    fn new(text: &'a Str) -> Self {
        let decoded = text.to_text();
        let places = text.as_str().is_none().then(|| {
            let mut places = Vec::with_capacity(decoded.len() + 1);
            let mut place = 0;
            for chunk in text.as_bytes().utf8_chunks() {
                places.extend(place..place + chunk.valid().len());
                place += chunk.valid().len();
                for _ in chunk.invalid() {
                    places.extend([place; '\u{fffd}'.len_utf8()]);
                    place += 1;
                }
            }
            places.push(place);
            places
        });
        Self {
            text,
            decoded,
            places,
        }
    }

    fn len(&self) -> usize {
        self.decoded.len()
    }

    /// The original bytes between two positions of the decoded text.
    fn part(&self, start: usize, end: usize) -> Str {
        match &self.places {
            None => self.text.slice(start, end),
            Some(places) => {
                let place = |index: usize| places.get(index).copied().unwrap_or_default();
                self.text.slice(place(start), place(end))
            }
        }
    }

    fn push(&self, out: &mut Vec<u8>, start: usize, end: usize) {
        match &self.places {
            None => out.extend_from_slice(self.decoded.as_bytes().get(start..end).unwrap_or_default()),
            Some(_) => out.extend_from_slice(self.part(start, end).as_bytes()),
        }
    }

    /// The length of the character at a position; 0 at the end.
    fn width(&self, place: usize) -> usize {
        let rest = self.decoded.get(place..).unwrap_or_default();
        rest.chars().next().map_or(0, char::len_utf8)
    }
}

/// Successive matches as in Go: an empty match directly after another one does not count.
fn matches(pattern: &Expression, text: &Haystack<'_>, most: usize) -> Result<Vec<(usize, usize)>, FuncError> {
    let mut found = Vec::new();
    let search = pattern.search(&text.decoded)?;
    let (mut place, mut last_end) = (0, None);
    while found.len() < most && place <= text.len() {
        let Some((start, end)) = search.find_at(place) else {
            break;
        };
        let mut counts = true;
        if end == place {
            counts = Some(start) != last_end;
            place += text.width(place).max(1);
        } else {
            place = end;
        }
        last_end = Some(end);
        if counts {
            check_items(found.len() + 1)?;
            found.push((start, end));
        }
    }
    Ok(found)
}

/// Replaces each match by the output of `write`.
fn replaced(
    pattern: &Expression,
    text: &Str,
    write: impl Fn(&Haystack<'_>, &Groups, &mut Vec<u8>),
) -> Result<Val, FuncError> {
    let hay = Haystack::new(text);
    let search = pattern.search(&hay.decoded)?;
    let (mut out, mut groups) = (Vec::new(), search.groups());
    let (mut done, mut place, mut hits) = (0, 0, 0_usize);
    while place <= hay.len() {
        let Some((start, end)) = search.groups_at(place, &mut groups) else {
            break;
        };
        hits += 1;
        hay.push(&mut out, done, start);
        if end > done || start == 0 {
            write(&hay, &groups, &mut out);
        }
        check_text(out.len())?;
        done = end;
        place = done.max(place + hay.width(place).max(1));
    }
    if hits == 0 {
        return Ok(Val::Str(text.clone()));
    }
    hay.push(&mut out, done, hay.len());
    Ok(Val::Str(Str::from_bytes(out)))
}

/// Go's `Expand`: `$1`, `$name`, `${name}`, `$$`; the longest name is used, and an unknown one is empty.
fn expand(template: &[u8], names: &[Option<String>], hay: &Haystack<'_>, groups: &Groups, out: &mut Vec<u8>) {
    let mut rest = template;
    while let Some(place) = rest.iter().position(|byte| *byte == b'$') {
        out.extend_from_slice(rest.get(..place).unwrap_or_default());
        rest = rest.get(place + 1..).unwrap_or_default();
        if let Some(behind) = rest.strip_prefix(b"$") {
            out.push(b'$');
            rest = behind;
            continue;
        }
        let Some((name, behind)) = reference(rest) else {
            out.push(b'$');
            continue;
        };
        rest = behind;
        let group = match group_number(name) {
            Some(number) => groups.get(number),
            None => named(names, name).find_map(|number| groups.get(number)),
        };
        if let Some((start, end)) = group {
            hay.push(out, start, end);
        }
    }
    out.extend_from_slice(rest);
}

/// The numbers of the groups with a name, which Go allows several to share.
fn named<'a>(names: &'a [Option<String>], name: &'a str) -> impl Iterator<Item = usize> + 'a {
    let numbered = names.iter().enumerate();
    numbered.filter_map(move |(number, other)| (other.as_deref() == Some(name)).then_some(number))
}

/// The name after a `$`, and the rest.
fn reference(text: &[u8]) -> Option<(&str, &[u8])> {
    let braced = text.strip_prefix(b"{");
    let inner = braced.unwrap_or(text);
    let valid = inner.utf8_chunks().next().map_or("", |chunk| chunk.valid());
    let end = valid.find(|c| !is_name(c)).unwrap_or(valid.len());
    let name = valid.get(..end).filter(|name| !name.is_empty())?;
    let behind = inner.get(end..).unwrap_or_default();
    match braced {
        Some(_) => Some((name, behind.strip_prefix(b"}")?)),
        None => Some((name, behind)),
    }
}

/// Digits without a leading zero, below Go's limit.
fn group_number(name: &str) -> Option<usize> {
    let plain = name.bytes().all(|byte| byte.is_ascii_digit());
    let number = name
        .parse()
        .ok()
        .filter(|_| plain && (name.len() == 1 || !name.starts_with('0')));
    number.filter(|number| *number < 1_000_000_000)
}

/// Whether the function returns an error, or panics as Go's `MustCompile` does.
#[derive(Clone, Copy)]
enum ReplacementStyle {
    Must,
    Panics,
}

fn with_pattern<T>(
    call: &mut Call<'_, Context>,
    style: ReplacementStyle,
    run: impl FnOnce(&Expression) -> Result<T, FuncError>,
) -> Result<T, FuncError> {
    let text = call.str(0);
    let compiled = call.context.regexes.get(&text);
    match (compiled.as_ref(), style) {
        (Ok(pattern), _) => run(pattern),
        (Err(error), ReplacementStyle::Must) => Err(error.as_str().into()),
        (Err(error), ReplacementStyle::Panics) => {
            Err(format!("regexp: Compile({}): {error}", backquote(text.as_bytes())).into())
        }
    }
}

fn is_match(call: &mut Call<'_, Context>) -> Result<Val, FuncError> {
    let text = call.str(1);
    let found = with_pattern(call, ReplacementStyle::Must, |pattern| {
        Ok(pattern.search(&text.to_text())?.is_match())
    });
    Ok(Val::Bool(found.unwrap_or(false)))
}

fn must_match(call: &mut Call<'_, Context>) -> Result<Val, FuncError> {
    let text = call.str(1);
    with_pattern(call, ReplacementStyle::Must, |pattern| {
        Ok(Val::Bool(pattern.search(&text.to_text())?.is_match()))
    })
}

fn find_with(call: &mut Call<'_, Context>, style: ReplacementStyle) -> Result<Val, FuncError> {
    let text = call.str(1);
    with_pattern(call, style, |pattern| {
        let hay = Haystack::new(&text);
        let found = pattern.search(&hay.decoded)?.find_at(0);
        Ok(match found {
            Some((start, end)) => Val::Str(hay.part(start, end)),
            None => Val::str(""),
        })
    })
}

fn find(call: &mut Call<'_, Context>) -> Result<Val, FuncError> {
    find_with(call, ReplacementStyle::Panics)
}

fn must_find(call: &mut Call<'_, Context>) -> Result<Val, FuncError> {
    find_with(call, ReplacementStyle::Must)
}

/// Below 0: no limit.
fn limit(count: i64) -> usize {
    usize::try_from(count).unwrap_or(usize::MAX)
}

fn find_all_with(call: &mut Call<'_, Context>, style: ReplacementStyle) -> Result<Val, FuncError> {
    let (text, most) = (call.str(1), limit(call.int(2)));
    with_pattern(call, style, |pattern| {
        let hay = Haystack::new(&text);
        let found = matches(pattern, &hay, most)?;
        if found.is_empty() {
            return Ok(Val::List(List::nil(ListType::Strings)));
        }
        Ok(Val::strings(
            found.into_iter().map(|(start, end)| hay.part(start, end)),
        ))
    })
}

fn find_all(call: &mut Call<'_, Context>) -> Result<Val, FuncError> {
    find_all_with(call, ReplacementStyle::Panics)
}

fn must_find_all(call: &mut Call<'_, Context>) -> Result<Val, FuncError> {
    find_all_with(call, ReplacementStyle::Must)
}

fn replace_with(call: &mut Call<'_, Context>, style: ReplacementStyle) -> Result<Val, FuncError> {
    let (text, template) = (call.str(1), call.str(2));
    with_pattern(call, style, |pattern| {
        replaced(pattern, &text, |hay, groups, out| {
            expand(template.as_bytes(), &pattern.names, hay, groups, out);
        })
    })
}

fn replace(call: &mut Call<'_, Context>) -> Result<Val, FuncError> {
    replace_with(call, ReplacementStyle::Panics)
}

fn must_replace(call: &mut Call<'_, Context>) -> Result<Val, FuncError> {
    replace_with(call, ReplacementStyle::Must)
}

fn replace_literal_with(call: &mut Call<'_, Context>, style: ReplacementStyle) -> Result<Val, FuncError> {
    let (text, new) = (call.str(1), call.str(2));
    with_pattern(call, style, |pattern| {
        replaced(pattern, &text, |_, _, out| out.extend_from_slice(new.as_bytes()))
    })
}

fn replace_literal(call: &mut Call<'_, Context>) -> Result<Val, FuncError> {
    replace_literal_with(call, ReplacementStyle::Panics)
}

fn must_replace_literal(call: &mut Call<'_, Context>) -> Result<Val, FuncError> {
    replace_literal_with(call, ReplacementStyle::Must)
}

fn split_with(call: &mut Call<'_, Context>, style: ReplacementStyle) -> Result<Val, FuncError> {
    let (expression, text, count) = (call.str(0), call.str(1), call.int(2));
    with_pattern(call, style, |pattern| {
        if count == 0 {
            return Ok(Val::List(List::nil(ListType::Strings)));
        }
        if !expression.is_empty() && text.is_empty() {
            return Ok(Val::strings([""]));
        }
        let hay = Haystack::new(&text);
        let mut pieces = Vec::new();
        let (mut start, mut end) = (0, 0);
        for (from, to) in matches(pattern, &hay, limit(count))? {
            if count > 0 && pieces.len() + 1 >= limit(count) {
                break;
            }
            end = from;
            if to != 0 {
                pieces.push(hay.part(start, from));
            }
            start = to;
        }
        if end != hay.len() {
            pieces.push(hay.part(start, hay.len()));
        }
        Ok(Val::strings(pieces))
    })
}

fn split(call: &mut Call<'_, Context>) -> Result<Val, FuncError> {
    split_with(call, ReplacementStyle::Panics)
}

fn must_split(call: &mut Call<'_, Context>) -> Result<Val, FuncError> {
    split_with(call, ReplacementStyle::Must)
}

fn quote_meta(call: &mut Call<'_, Context>) -> Result<Val, FuncError> {
    let text = call.str(0);
    let mut out = Vec::with_capacity(text.len());
    for byte in text.as_bytes() {
        if b"\\.+*?()|[]{}^$".contains(byte) {
            out.push(b'\\');
        }
        out.push(*byte);
    }
    Ok(Val::Str(Str::from_bytes(out)))
}

use Type::{Int, String as Text};

pub(super) const TABLE: &[Func<Context>] = &[
    func(
        "mustRegexFind",
        &[Text, Text],
        "As regexFind; errors are returned",
        must_find,
    ),
    func(
        "mustRegexFindAll",
        &[Text, Text, Int],
        "As regexFindAll; errors are returned",
        must_find_all,
    ),
    func(
        "mustRegexMatch",
        &[Text, Text],
        "As regexMatch; a wrong expression is an error",
        must_match,
    ),
    func(
        "mustRegexReplaceAll",
        &[Text, Text, Text],
        "As regexReplaceAll; errors are returned",
        must_replace,
    ),
    func(
        "mustRegexReplaceAllLiteral",
        &[Text, Text, Text],
        "As regexReplaceAllLiteral; errors are returned",
        must_replace_literal,
    ),
    func(
        "mustRegexSplit",
        &[Text, Text, Int],
        "As regexSplit; errors are returned",
        must_split,
    ),
    func(
        "regexFind",
        &[Text, Text],
        "The first match, or an empty text",
        find,
    ),
    func(
        "regexFindAll",
        &[Text, Text, Int],
        "The matches, at most so many",
        find_all,
    ),
    func(
        "regexMatch",
        &[Text, Text],
        "Whether the expression matches",
        is_match,
    ),
    func(
        "regexQuoteMeta",
        &[Text],
        "The text as an expression that matches it",
        quote_meta,
    ),
    func(
        "regexReplaceAll",
        &[Text, Text, Text],
        "Each match replaced; $1 and ${name} are groups",
        replace,
    ),
    func(
        "regexReplaceAllLiteral",
        &[Text, Text, Text],
        "Each match replaced by the very text",
        replace_literal,
    ),
    func(
        "regexSplit",
        &[Text, Text, Int],
        "The pieces between the matches",
        split,
    ),
];
