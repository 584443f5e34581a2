//! The messages of a program that refuses, without what they quote: values, and lines of Secrets.

use super::secrets::HIDDEN;

/// What a message may begin with.
const BEGINNINGS: [&str; 3] = ["Error: ", "error: ", "ended: "];
/// What a warning begins with, Helm's or ours: it names the values that it ignores.
const WARNINGS: [&str; 3] = ["warning: ", "WARNING: ", "level="];
/// What Go and Sprig print ahead of a value without quotes, up to the end of the line.
const AHEAD_OF_VALUES: [&str; 2] = ["can't iterate over ", "error parsing ip: "];
/// What is ahead of and behind a number that may be a value.
const AROUND_NUMBERS: [(&str, &str); 2] = [("got ", ", want"), ("cannot unmarshal number ", " into")];
/// What stands for the lines that are left out.
const MORE: &str = "(--show-secrets shows the rest)";
/// Files of a chart, which may be named.
const FILES: [&str; 5] = [".yaml", ".yml", ".tpl", ".txt", ".json"];

/// The first line of each error and where it points to, without what is in quotes or known to be a value. Warnings,
/// excerpts, notes and further lines are left out.
pub fn hide_quoted(text: &str) -> String {
    let is_kept = |(number, line): &(usize, &str)| {
        *number == 0 && !WARNINGS.iter().any(|begin| line.starts_with(begin))
            || BEGINNINGS.iter().any(|begin| line.starts_with(begin))
            || line.trim_start().starts_with("--> ")
    };
    let lines: Vec<&str> = text.lines().filter(|line| !line.trim().is_empty()).collect();
    let kept = lines.iter().copied().enumerate().filter(is_kept);
    let mut out: Vec<String> = kept
        .map(|(_, line)| without_numbers(without_unquoted(without_quoted(line))))
        .collect();
    if out.len() < lines.len() {
        out.push(MORE.to_owned());
    }
    out.join("\n")
}

/// A quote that isn't closed hides all that follows it.
fn without_quoted(line: &str) -> String {
    let (mut out, mut rest) = (String::new(), line);
    while let Some((at, quote)) = opening(rest) {
        let (before, quoted) = rest.split_at(at);
        let quoted = quoted.get(1..).unwrap_or_default();
        out.push_str(before);
        out.push(quote);
        let Some(end) = closing(quoted, quote) else {
            out.push_str(HIDDEN);
            return out;
        };
        let (inner, after) = quoted.split_at(end);
        let is_pointer = before.ends_with("at ") && inner.starts_with('/');
        let is_shown = is_pointer || is_harmless(inner);
        out.push_str(if is_shown { inner } else { HIDDEN });
        out.push(quote);
        rest = after.get(1..).unwrap_or_default();
    }
    out.push_str(rest);
    out
}

/// Hides the rest of a line behind what precedes a value, and behind the start of a map that Go printed.
fn without_unquoted(mut line: String) -> String {
    let values = AHEAD_OF_VALUES.iter();
    let values = values.filter_map(|ahead| line.find(ahead).map(|at| at + ahead.len()));
    // The other maps are types: `map[string]interface {}`.
    let maps = line.match_indices("map[").map(|(at, _)| at);
    let maps = maps.filter(|at| !line.split_at(*at).1.starts_with("map[string]"));
    if let Some(first) = values.chain(maps).min() {
        line.truncate(first);
        line.push_str(HIDDEN);
    }
    line
}

fn without_numbers(line: String) -> String {
    AROUND_NUMBERS.iter().fold(line, |line, (ahead, behind)| {
        let mut pieces = line.split(ahead);
        let mut out = pieces.next().unwrap_or_default().to_owned();
        for piece in pieces {
            let rest = piece.trim_start_matches(|one: char| one.is_ascii_digit() || "+-.eE".contains(one));
            let is_number = rest.len() < piece.len() && rest.starts_with(behind);
            out.push_str(ahead);
            out.push_str(if is_number { HIDDEN } else { "" });
            out.push_str(if is_number { rest } else { piece });
        }
        out
    })
}

/// The first quote; an apostrophe within a word doesn't count.
fn opening(text: &str) -> Option<(usize, char)> {
    let mut before = ' ';
    text.char_indices().find(|(_, one)| {
        let is_quote = matches!(one, '"' | '`') || *one == '\'' && !before.is_alphanumeric();
        before = *one;
        is_quote
    })
}

fn closing(text: &str, quote: char) -> Option<usize> {
    let mut is_escaped = false;
    let mut all = text.char_indices();
    let found = all.find(|(at, one)| {
        let next = text
            .get(at + one.len_utf8()..)
            .and_then(|rest| rest.chars().next());
        let is_within = quote == '\'' && next.is_some_and(char::is_alphanumeric);
        let ends = *one == quote && !is_escaped && !is_within;
        is_escaped = *one == '\\' && quote == '"' && !is_escaped;
        ends
    });
    found.map(|(at, _)| at)
}

/// A file of the chart, or punctuation.
fn is_harmless(quoted: &str) -> bool {
    let is_file = FILES.iter().any(|end| quoted.ends_with(end)) && !quoted.contains([' ', ':', '@']);
    is_file || !quoted.chars().any(char::is_alphanumeric)
}
