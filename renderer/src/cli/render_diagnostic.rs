//! Renders diagnostics for a terminal: excerpt, notes, hints, trace.

use annotate_snippets::{AnnotationKind, Group, Level, Renderer, Snippet};

use crate::diag::{Diagnostic, Severity};
use crate::source::{Location, Source};

/// Lines longer than this many bytes, as in generated files, are not quoted.
const LONGEST_LINE: usize = 500;

/// Renders a diagnostic, with a final line break.
pub(crate) fn render_diagnostic(one: &Diagnostic, color: bool) -> String {
    let level = match one.severity {
        Severity::Error => Level::ERROR,
        Severity::Warning => Level::WARNING,
    };
    // Some of Helm's messages already have the prefix.
    let message = one.message.strip_prefix("warning: ").unwrap_or(&one.message);
    let message = printable(message);
    let mut group = Group::with_title(level.primary_title(message.as_str()));
    let excerpt = one.location.as_ref().map(Excerpt::of);
    let label = one.label.as_deref().unwrap_or("");
    if let Some(excerpt) = &excerpt {
        let annotation = AnnotationKind::Primary
            .span(excerpt.start..excerpt.end)
            .label(label);
        let snippet = Snippet::source(excerpt.text.as_str())
            .path(excerpt.name.as_str())
            .line_start(excerpt.line);
        group = group.element(snippet.annotation(annotation));
    }
    let notes: Vec<String> = one.notes.iter().map(|note| printable(note)).collect();
    let hints: Vec<String> = one.hints.iter().map(|hint| printable(hint)).collect();
    let trace: Vec<String> = one
        .trace
        .iter()
        .map(|(what, place)| {
            place
                .as_ref()
                .map_or_else(|| what.clone(), |place| format!("{what} at {place}"))
        })
        .collect();
    group = group.elements(trace.iter().map(|step| Level::NOTE.message(step.as_str())));
    group = group.elements(notes.iter().map(|note| Level::NOTE.message(note.as_str())));
    group = group.elements(hints.iter().map(|hint| Level::HELP.message(hint.as_str())));
    let renderer = if color {
        Renderer::styled()
    } else {
        Renderer::plain()
    };
    format!("{}\n", renderer.render(&[group]))
}

/// The lines around a location; scanning the whole file would be a waste.
struct Excerpt {
    name: String,
    text: String,
    line: usize,
    start: usize,
    end: usize,
}

impl Excerpt {
    fn of(location: &Location) -> Self {
        let source: &Source = &location.source;
        let text = source.text();
        let range = source.range(location.span);
        let first = text
            .get(..range.start)
            .map_or(0, |before| before.rfind('\n').map_or(0, |at| at + 1));
        let rest = text.get(range.start..).unwrap_or("");
        let last = range.start + rest.find('\n').unwrap_or(rest.len());
        let line = source.position(location.span.start).line;
        let name = source.name().to_owned();
        // One line, or the first of a span over several.
        match text.get(first..last) {
            Some(quoted) if quoted.len() <= LONGEST_LINE => {
                let (start, end) = (range.start - first, range.end.min(last).max(range.start) - first);
                Self {
                    name,
                    text: without_credentials(quoted),
                    line,
                    start,
                    end,
                }
            }
            _ => {
                let from = text.floor_char_boundary(range.start.saturating_sub(40).max(first));
                let to = text.floor_char_boundary((range.start + 80).min(last));
                let quoted = without_credentials(text.get(from..to).unwrap_or(""));
                let (start, end) = (range.start - from, range.end.min(to).max(range.start) - from);
                Self {
                    name,
                    text: quoted,
                    line,
                    start,
                    end,
                }
            }
        }
    }
}

/// A line whose URLs show no user and password: an asterisk for each byte, so that all else stays at its offset.
fn without_credentials(line: &str) -> String {
    let mut out = String::with_capacity(line.len());
    let mut rest = line;
    while let Some(at) = rest.find("://") {
        let (before, behind) = rest.split_at(at + "://".len());
        out.push_str(before);
        let ends = |one: char| one.is_whitespace() || "/?#'\",{}[]".contains(one);
        let authority = behind.find(ends).map_or(behind, |end| behind.split_at(end).0);
        let secret = authority.rfind('@').unwrap_or_default();
        out.push_str(&"*".repeat(secret));
        rest = behind.split_at(secret).1;
    }
    out + rest
}

/// Control characters of a user's text must not reach the terminal.
fn printable(text: &str) -> String {
    let harmless = |character: char| character == '\n' || !character.is_control();
    if text.chars().all(harmless) {
        return text.to_owned();
    }
    text.chars()
        .flat_map(|one| {
            if harmless(one) {
                vec![one]
            } else {
                one.escape_default().collect()
            }
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn credentials_in_urls_are_not_quoted() {
        for (line, expected) in [
            ("a: https://u:pé@h/x@y # me@h", "a: https://*****@h/x@y # me@h"),
            (
                "{a: 'oci://u@h', b: http://h/, c: ftp://x:y@@h}",
                "{a: 'oci://*@h', b: http://h/, c: ftp://****@h}",
            ),
            ("none ://", "none ://"),
        ] {
            assert_eq!(without_credentials(line), expected);
            assert_eq!(expected.len(), line.len());
        }
    }
}
