//! Texts of a chart's metadata as Helm keeps them: printable, on one line.

/// White space becomes a space, what Unicode can't print is dropped.
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
    // The standard library knows what can't be printed: it escapes that in Debug. The
    // letter in front keeps it from escaping combining marks, which it does at a start.
    let mut text = String::from("a");
    text.push(character);
    text.escape_debug().count() == 2
}
