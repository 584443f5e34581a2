//! Renders diagnostics as text, in the renderer's form: what, where, why, what to do.

use solar_render::diag::{Diagnostic, Diagnostics, Severity};
use solar_render::draw::printable_but;

/// Renders all diagnostics.
pub(super) fn draw(all: &Diagnostics) -> String {
    all.iter().map(one).collect()
}

fn one(diagnostic: &Diagnostic) -> String {
    let level = match diagnostic.severity {
        Severity::Error => "error",
        Severity::Warning => "warning",
    };
    let mut text = format!("{level}: {}\n", printable(&diagnostic.message));
    if let Some(location) = &diagnostic.location {
        text.push_str(&format!(" --> {location}\n"));
    }
    for note in &diagnostic.notes {
        text.push_str(&format!("  = note: {}\n", printable(note)));
    }
    for hint in &diagnostic.hints {
        text.push_str(&format!("  = help: {}\n", printable(hint)));
    }
    text
}

/// A text on one line.
pub(super) fn line(text: &str) -> String {
    printable(&text.replace('\n', " "))
}

/// Control characters of a user's text must not reach the terminal.
fn printable(text: &str) -> String {
    printable_but(text, &['\n'])
}
