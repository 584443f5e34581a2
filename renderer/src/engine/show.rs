//! `--show-only`: the manifests whose template matches a pattern.

use super::manifest::{not_found, split};
use crate::diag::Result;

/// The printed documents whose `# Source:` matches a pattern, in the patterns' order. Paths are relative to the chart,
/// as `templates/x.yaml`, and patterns are those of Go's `filepath.Match`.
///
/// # Errors
/// Class usage: a pattern that matches nothing.
pub fn show_only(printed: &str, patterns: &[String]) -> Result<String> {
    let documents: Vec<(&str, &str)> = split(printed)
        .into_iter()
        .filter_map(|range| printed.get(range))
        .filter_map(|text| Some((path_of(text)?, text)))
        .collect();
    let mut out = String::new();
    for pattern in patterns {
        let before = out.len();
        for (_, text) in documents.iter().filter(|(path, _)| matches(pattern, path)) {
            out.push_str("---\n");
            out.push_str(text);
            out.push('\n');
        }
        if out.len() == before {
            let known: Vec<&str> = documents.iter().map(|(path, _)| *path).collect();
            return Err(not_found(pattern, &known));
        }
    }
    Ok(out)
}

/// The path after the chart's name in the first `# Source:`.
fn path_of(text: &str) -> Option<&str> {
    const MARK: &str = "# Source: ";
    text.match_indices(MARK).find_map(|(at, _)| {
        let rest = text.get(at + MARK.len()..)?;
        let (chart, path) = rest.split_once('/')?;
        let line = path.split('\n').next().filter(|line| !line.is_empty())?;
        (!chart.is_empty()).then_some(line)
    })
}

/// Go's `filepath.Match`; an invalid pattern matches nothing.
fn matches(pattern: &str, path: &str) -> bool {
    let pattern: Vec<char> = pattern.chars().collect();
    let path: Vec<char> = path.chars().collect();
    let (mut at, mut here) = (0, 0);
    // The position of the last star, and how far it matches.
    let mut star: Option<(usize, usize)> = None;
    loop {
        let step = match pattern.get(at) {
            Some('*') => {
                star = Some((at + 1, here));
                at += 1;
                continue;
            }
            None if here == path.len() => return true,
            None => None,
            Some(_) => path.get(here).and_then(|&one| single(&pattern, at, one)),
        };
        match (step, star) {
            (Some(next), _) => {
                at = next;
                here += 1;
            }
            // A star matches one more character, but no slash.
            (None, Some((after, reach))) => {
                if path.get(reach).is_none_or(|&one| one == '/') {
                    return false;
                }
                star = Some((after, reach + 1));
                at = after;
                here = reach + 1;
            }
            (None, None) => return false,
        }
    }
}

/// The next position in the pattern, if the character matches at `at`.
fn single(pattern: &[char], at: usize, one: char) -> Option<usize> {
    match pattern.get(at)? {
        '?' => (one != '/').then_some(at + 1),
        '[' => class(pattern, at + 1, one),
        '\\' => (*pattern.get(at + 1)? == one).then_some(at + 2),
        literal => (*literal == one).then_some(at + 1),
    }
}

/// `[a-z]`, `[^a-z]`
fn class(pattern: &[char], mut at: usize, one: char) -> Option<usize> {
    let negated = pattern.get(at) == Some(&'^');
    at += usize::from(negated);
    let (mut fits, mut ranges) = (false, 0);
    loop {
        if pattern.get(at)? == &']' && ranges > 0 {
            break;
        }
        let (low, next) = class_character(pattern, at)?;
        let (high, next) = match pattern.get(next)? {
            '-' => class_character(pattern, next + 1)?,
            _ => (low, next),
        };
        fits |= (low..=high).contains(&one);
        ranges += 1;
        at = next;
    }
    (fits != negated).then_some(at + 1)
}

fn class_character(pattern: &[char], at: usize) -> Option<(char, usize)> {
    match pattern.get(at)? {
        '-' | ']' => None,
        '\\' => Some((*pattern.get(at + 1)?, at + 2)),
        one => Some((*one, at + 1)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Expected values come from Go's `filepath.Match`.
    #[test]
    fn patterns_are_those_of_go() {
        let cases = [
            ("templates/a.yaml", "templates/a.yaml", true),
            ("templates/*", "templates/a.yaml", true),
            ("templates/*.yaml", "templates/x/a.yaml", false),
            ("*/a.yaml", "templates/a.yaml", true),
            ("*", "a/b", false),
            ("templates/?.yaml", "templates/a.yaml", true),
            ("templates/[a-c].yaml", "templates/b.yaml", true),
            ("templates/[^a-c].yaml", "templates/b.yaml", false),
            ("templates/[]a].yaml", "templates/a.yaml", false),
            ("templates/[", "templates/[", false),
            ("templates/\\*", "templates/*", true),
            ("templates/\\*", "templates/a", false),
            ("a*b*c", "axbxbxc", true),
            ("a*b*c", "axbxbx", false),
            ("", "", true),
            ("a*", "a", true),
            ("*a*a*a*a*a*b", "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", false),
            ("[\\-x]", "-", true),
            ("[a-]", "a", false),
            ("templates/é?", "templates/éü", true),
        ];
        for (pattern, path, expected) in cases {
            assert_eq!(matches(pattern, path), expected, "{pattern} {path}");
        }
    }

    #[test]
    fn documents_are_shown_in_the_order_of_the_patterns() {
        let printed = "---\n# Source: c/templates/a.yaml\na: 1\n---\n# Source: c/templates/b.yaml\nb: 1\n";
        let patterns = ["templates/b.yaml".to_owned(), "templates/*".to_owned()];
        let b = "---\n# Source: c/templates/b.yaml\nb: 1\n\n";
        let a = "---\n# Source: c/templates/a.yaml\na: 1\n\n";
        assert_eq!(show_only(printed, &patterns).unwrap(), format!("{b}{a}{b}"));
        let problem = show_only(printed, &["templates/bb.yaml".to_owned()]).unwrap_err();
        assert!(
            problem
                .to_string()
                .contains("could not find template templates/bb.yaml in chart")
        );
        assert!(problem.iter().all(|one| one.hints.len() == 1), "{problem:?}");
    }
}
