//! Texts of users in the output: on one line, without control characters, which must not reach a terminal.

use solar_render::draw::printable_but;

/// A text on one line.
pub(super) fn line(text: &str) -> String {
    printable_but(&text.replace('\n', " "), &[])
}
