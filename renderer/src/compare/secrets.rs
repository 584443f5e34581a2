//! Differences in Secrets, without what they hold.

use super::{Difference, DifferenceKind};

/// What stands for a value.
const HIDDEN: &str = "(hidden)";

/// Replaces the values of Secrets' lines. Whether lines are of a Secret is decided by the whole document: `texts` are
/// all that Helm and we printed, of which those of the same template count. In doubt a value is hidden.
pub fn hide_secrets(differences: &mut [Difference], texts: &[&str]) {
    for one in differences {
        let documents = texts.iter().flat_map(|text| super::documents(text));
        let mut own = documents.filter(|document| document.source == one.source);
        if own.any(|document| is_secret(document.text)) {
            let is_whole = matches!(one.kind, DifferenceKind::OnlyHelm | DifferenceKind::OnlyOurs);
            for line in one.helm.iter_mut().chain(&mut one.ours) {
                *line = without_value(line, is_whole);
            }
        }
    }
}

/// Whether it is a Secret, or a list that has one.
fn is_secret(text: &str) -> bool {
    text.match_indices("kind").any(|(at, key)| {
        let rest = text.get(at + key.len()..).unwrap_or_default();
        let rest = rest.trim_start_matches(['"', '\'']).trim_start();
        let value = rest
            .strip_prefix(':')
            .map(|rest| rest.trim_start_matches(['"', '\'', ' ', '\t', '\n', '\r']));
        let rest = value.and_then(|value| value.strip_prefix("Secret"));
        let rest = rest.map(|rest| rest.strip_prefix("List").unwrap_or(rest));
        rest.is_some_and(|rest| !rest.starts_with(|next: char| next.is_ascii_alphanumeric()))
    })
}

/// The line with its key alone. Only keys that are indented once are shown: deeper lines may belong to a text that is
/// a value itself. What a Secret says about itself is shown as far as it is at the top of the document.
fn without_value(line: &str, is_whole: bool) -> String {
    const SHOWN: [&str; 4] = ["apiVersion:", "kind:", "type:", "immutable:"];
    if line.trim().is_empty() || SHOWN.iter().any(|key| line.starts_with(key)) {
        return line.to_owned();
    }
    let blanks = line.len() - line.trim_start().len();
    let (indentation, rest) = line.split_at(blanks);
    let key = rest.split_once(':').filter(|(key, rest)| {
        let is_name = |one: char| one.is_ascii_alphanumeric() || matches!(one, '.' | '-' | '_' | '/' | '"');
        blanks <= 2 && key.chars().all(is_name) && (rest.is_empty() || rest.starts_with(' '))
    });
    match key {
        Some((key, "")) if is_whole => format!("{indentation}{key}:"),
        Some((key, _)) => format!("{indentation}{key}: {HIDDEN}"),
        None => format!("{indentation}{HIDDEN}"),
    }
}
