//! Sanitizes text of a chart's metadata as Helm does: printable, on one line.

/// White space becomes a space, unprintable characters are dropped.
pub(crate) fn printable(text: &str) -> String {
    text.chars()
        .map(|character| if character.is_whitespace() { ' ' } else { character })
        .filter(|&character| is_printable(character))
        .collect()
}

fn is_printable(character: char) -> bool {
    if character.is_ascii() {
        return !character.is_ascii_control();
    }
    // The standard library escapes unprintable characters in Debug. The leading letter keeps it from escaping combining
    // marks, which it does at the start of a text.
    let mut text = String::from("a");
    text.push(character);
    text.escape_debug().count() == 2
}
