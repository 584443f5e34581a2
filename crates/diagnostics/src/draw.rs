//! Draws diagnostics for people: message, excerpt with the line, trace, notes and hints.
//!
//! Control characters of users' texts are escaped and credentials in quoted lines are masked, so the text is safe for
//! a terminal or a page.

use annotate_snippets::{AnnotationKind, Group, Level, Renderer, Snippet};

use crate::credentials::without_credentials;
use crate::diag::{Diagnostic, Diagnostics, Severity};
use crate::source::{Location, Source};

/// Lines longer than this many bytes, as in generated files, are not quoted.
const LONGEST_LINE: usize = 500;

/// How a diagnostic is drawn.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum Style {
    /// As plain text.
    #[default]
    Plain,
    /// With ANSI's escape sequences for colors, for a terminal.
    Ansi,
}

impl Diagnostic {
    /// The message with an excerpt of the text that it is about, the trace, the notes and the hints; several lines, with
    /// a final line break.
    pub fn draw(&self, style: Style) -> String {
        draw(self, style)
    }
}

impl Diagnostics {
    /// Draws all of them, with an empty line between two.
    pub fn draw(&self, style: Style) -> String {
        let drawn: Vec<String> = self.iter().map(|one| one.draw(style)).collect();
        drawn.join("\n")
    }
}

fn draw(one: &Diagnostic, style: Style) -> String {
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
            place.as_ref().map_or_else(
                || printable(what),
                |place| printable(&format!("{what} at {place}")),
            )
        })
        .collect();
    group = group.elements(trace.iter().map(|step| Level::NOTE.message(step.as_str())));
    group = group.elements(notes.iter().map(|note| Level::NOTE.message(note.as_str())));
    group = group.elements(hints.iter().map(|hint| Level::HELP.message(hint.as_str())));
    let renderer = match style {
        Style::Plain => Renderer::plain(),
        Style::Ansi => Renderer::styled(),
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
        let name = printable(source.name());
        // One line, or the first of a span over several. Masked before it is cut, which may be within a URL.
        let quoted = without_credentials(text.get(first..last).unwrap_or_default());
        match quoted.len() {
            ..=LONGEST_LINE => {
                let (start, end) = (range.start - first, range.end.min(last).max(range.start) - first);
                Self {
                    name,
                    text: quoted.into_owned(),
                    line,
                    start,
                    end,
                }
            }
            _ => {
                let from = text.floor_char_boundary(range.start.saturating_sub(40).max(first));
                let to = text.floor_char_boundary((range.start + 80).min(last));
                let quoted = quoted
                    .get(from - first..to - first)
                    .unwrap_or_default()
                    .to_owned();
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

/// Control characters of a user's text must not reach the terminal.
fn printable(text: &str) -> String {
    printable_but(text, &['\n'])
}

/// Escapes control characters, which a terminal would obey, except those in `kept`.
pub fn printable_but(text: &str, kept: &[char]) -> String {
    let harmless = |character: char| kept.contains(&character) || !character.is_control();
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
    use crate::diag::Class;
    use crate::source::Span;

    /// The excerpt of a long line begins anywhere, once also between `://` and the password.
    #[test]
    fn credentials_are_not_quoted_wherever_an_excerpt_begins() {
        let url = "https://user:sEcr3tpw@h.example/x";
        for filler in [0, 2 * LONGEST_LINE] {
            let text = format!("{url} wrong {}", "x".repeat(filler));
            let source = Source::new("values.yaml", text);
            for start in 0..url.len() + " wrong".len() {
                let location = Location::new(&source, Span::new(start, start + 1));
                let drawn = Diagnostic::error(Class::Values, "wrong")
                    .at(location)
                    .draw(Style::Plain);
                for piece in ["user", "Ecr3", "3tpw"] {
                    assert!(!drawn.contains(piece), "{drawn}");
                }
            }
        }
    }
}
