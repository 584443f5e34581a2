//! The messages of a program that refuses, without what they quote: values, and lines of Secrets.

use super::secrets::HIDDEN;

/// What a message may begin with.
const BEGINNINGS: [&str; 4] = ["Error: ", "error: ", "warning: ", "ended: "];
/// What stands for the lines that are left out.
const MORE: &str = "(--show-secrets shows the rest)";
/// Files of a chart, which may be named.
const FILES: [&str; 5] = [".yaml", ".yml", ".tpl", ".txt", ".json"];

/// The first line of each message and where it points to, without what is in quotes. Excerpts, notes and further lines
/// are left out.
pub fn hide_quoted(text: &str) -> String {
    let is_kept = |(number, line): &(usize, &str)| {
        *number == 0
            || BEGINNINGS.iter().any(|begin| line.starts_with(begin))
            || line.trim_start().starts_with("--> ")
    };
    let lines: Vec<&str> = text.lines().filter(|line| !line.trim().is_empty()).collect();
    let kept = lines.iter().copied().enumerate().filter(is_kept);
    let mut out: Vec<String> = kept.map(|(_, line)| without_quoted(line)).collect();
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
