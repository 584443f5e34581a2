//! `.helmignore`, as Helm 4.3.1 reads it (verified with `helm package`).
//!
//! Not gitignore: `**` is refused; a pattern without a slash is matched with the last element of a path, one with a
//! slash with the whole path; the first pattern that matches decides; and a pattern that starts with `!` ignores
//! everything that does
//! **not** match it. `templates/.?*` is always ignored.

use std::sync::Arc;

use crate::diag::{Class, Diagnostic, Diagnostics, Result};
use crate::source::{Location, Source, Span};

/// The rules of one `.helmignore`, with Helm's own.
#[derive(Debug, Clone)]
pub struct Ignore {
    rules: Vec<IgnoreRule>,
}

#[derive(Debug, Clone)]
struct IgnoreRule {
    pattern: Pattern,
    /// The pattern starts with `!`.
    negated: bool,
    /// The pattern ends with `/`.
    folders_only: bool,
    /// It is matched with the whole path.
    whole_path: bool,
}

/// A parsed pattern, which is matched with every path of a chart.
#[derive(Debug, Clone)]
enum Pattern {
    /// Without a wildcard.
    Name(String),
    /// `*` and a literal without slashes, for the last element of a path.
    Suffix(String),
    Glob(Vec<char>),
    /// Malformed: it matches nothing.
    Nothing,
}

impl Default for Ignore {
    fn default() -> Self {
        Self {
            rules: parse_rule("templates/.?*").into_iter().collect(),
        }
    }
}

impl Ignore {
    /// Parses a file's text; all malformed lines are reported together.
    pub fn parse(source: &Arc<Source>) -> Result<Self> {
        let mut rules = Vec::new();
        let mut problems = Vec::new();
        let mut offset = 0;
        for line in source.text().split_inclusive('\n') {
            let trimmed = line.trim_start_matches('\u{feff}').trim();
            let problem = if trimmed.starts_with('#') {
                None
            } else if trimmed.contains("**") {
                Some("`**` is not supported in .helmignore, and Helm refuses it")
            } else if check(&trimmed.chars().collect::<Vec<char>>()).is_none() {
                Some("the pattern has an unfinished `[` or a trailing `\\`")
            } else {
                None
            };
            if let Some(problem) = problem {
                let location = Location::new(source, Span::new(offset, offset + line.trim_end().len()));
                problems.push(Diagnostic::error(Class::Chart, problem).at(location));
            } else {
                rules.extend(parse_rule(trimmed));
            }
            offset += line.len();
        }
        rules.extend(Self::default().rules);
        Diagnostics::or(problems, Self { rules })
    }

    /// Whether Helm ignores the path. `path` is relative to the chart, with `/`. It is not called for paths below an
    /// ignored folder.
    pub fn ignores(&self, path: &str, is_folder: bool) -> bool {
        let name = path.rsplit('/').next().unwrap_or(path);
        for rule in &self.rules {
            let fits = || rule.matches(path, name);
            if rule.negated {
                if (rule.folders_only && !is_folder) || !fits() {
                    return true;
                }
            } else if (!rule.folders_only || is_folder) && fits() {
                return true;
            }
        }
        false
    }
}

impl IgnoreRule {
    /// `name` is the last element of the path.
    fn matches(&self, path: &str, name: &str) -> bool {
        let name = if self.whole_path { path } else { name };
        match &self.pattern {
            Pattern::Name(pattern) => name == pattern,
            Pattern::Suffix(suffix) => name.ends_with(suffix.as_str()),
            Pattern::Glob(pattern) => matches_from(name, pattern),
            Pattern::Nothing => false,
        }
    }
}

fn parse_rule(line: &str) -> Option<IgnoreRule> {
    if line.is_empty() || line.starts_with('#') {
        return None;
    }
    let (negated, line) = line.strip_prefix('!').map_or((false, line), |rest| (true, rest));
    let (folders_only, line) = line.strip_suffix('/').map_or((false, line), |rest| (true, rest));
    let (rooted, pattern) = line.strip_prefix('/').map_or((false, line), |rest| (true, rest));
    let whole_path = rooted || pattern.contains('/');
    Some(IgnoreRule {
        pattern: Pattern::parse(pattern, whole_path),
        negated,
        folders_only,
        whole_path,
    })
}

impl Pattern {
    fn parse(text: &str, whole_path: bool) -> Self {
        const WILD: [char; 4] = ['*', '?', '[', '\\'];
        if !text.contains(WILD) {
            return Self::Name(text.to_owned());
        }
        if let Some(suffix) = text.strip_prefix('*')
            && !suffix.contains(WILD)
            && !whole_path
        {
            return Self::Suffix(suffix.to_owned());
        }
        let pattern: Vec<char> = text.chars().collect();
        match check(&pattern) {
            Some(()) => Self::Glob(pattern),
            None => Self::Nothing,
        }
    }
}

/// Go's `filepath.Match` with a pattern that was checked: `*`, `?`, `[a-z]`, `[^a]`, `\x`; no wildcard matches
/// `/`. Linear backtracking: only the last `*` can usefully take more.
fn matches_from(name: &str, pattern: &[char]) -> bool {
    let (mut rest, mut at_pattern) = (name, 0);
    let mut retry: Option<(&str, usize)> = None;
    loop {
        let mut after = rest.chars();
        let step = match (pattern.get(at_pattern), after.next()) {
            (None, None) => return true,
            (Some('*'), _) => {
                retry = Some((rest, at_pattern + 1));
                Some((rest, at_pattern + 1))
            }
            (Some(_), Some(character)) => {
                one(pattern, at_pattern, character).map(|next| (after.as_str(), next))
            }
            _ => None,
        };
        (rest, at_pattern) = match (step, retry) {
            (Some(next), _) => next,
            (None, Some((from, after_star))) => {
                let mut taken = from.chars();
                if taken.next().is_none_or(|character| character == '/') {
                    return false;
                }
                retry = Some((taken.as_str(), after_star));
                (taken.as_str(), after_star)
            }
            (None, None) => return false,
        };
    }
}

/// The next position in the pattern, if its element at `at` matches the character.
fn one(pattern: &[char], at: usize, character: char) -> Option<usize> {
    match pattern.get(at)? {
        '?' => (character != '/').then_some(at + 1),
        '[' => {
            let (takes, next) = class(pattern, at + 1, character)?;
            (takes && character != '/').then_some(next)
        }
        '\\' => (*pattern.get(at + 1)? == character).then_some(at + 2),
        literal => (*literal == character).then_some(at + 1),
    }
}

/// A class after its `[`: whether it matches the character, and where it ends.
fn class(pattern: &[char], mut at: usize, character: char) -> Option<(bool, usize)> {
    let negated = pattern.get(at) == Some(&'^');
    at += usize::from(negated);
    let mut found = false;
    let mut ranges = 0;
    loop {
        if pattern.get(at) == Some(&']') && ranges > 0 {
            return Some((found != negated, at + 1));
        }
        let (low, next) = class_character(pattern, at)?;
        let (high, next) = match pattern.get(next) {
            Some('-') => class_character(pattern, next + 1)?,
            _ => (low, next),
        };
        found |= (low..=high).contains(&character);
        at = next;
        ranges += 1;
    }
}

/// A character of a class and the position after it: `-` and `]` require a backslash, and the class must continue.
fn class_character(pattern: &[char], at: usize) -> Option<(char, usize)> {
    let (character, next) = match pattern.get(at)? {
        '-' | ']' => return None,
        '\\' => (*pattern.get(at + 1)?, at + 2),
        character => (*character, at + 1),
    };
    pattern.get(next).map(|_| (character, next))
}

fn check(pattern: &[char]) -> Option<()> {
    let mut at = 0;
    while let Some(character) = pattern.get(at) {
        at = match character {
            '[' => class(pattern, at + 1, '\0')?.1,
            '\\' => {
                pattern.get(at + 1)?;
                at + 2
            }
            _ => at + 1,
        };
    }
    Some(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// As in Go, the whole pattern is checked even if the name can't match any more.
    fn matches(name: &str, pattern: &str) -> Option<bool> {
        let held = |whole_path| {
            let rule = IgnoreRule {
                pattern: Pattern::parse(pattern, whole_path),
                negated: false,
                folders_only: false,
                whole_path,
            };
            (!matches!(rule.pattern, Pattern::Nothing)).then(|| rule.matches(name, name))
        };
        let whole = held(true);
        if !name.contains('/') {
            assert_eq!(whole, held(false), "{name:?} {pattern:?}");
        }
        whole
    }

    fn ignore(text: &str) -> Ignore {
        Ignore::parse(&Source::new(".helmignore", text)).unwrap()
    }

    /// The paths that `helm package` of Helm 4.3.1 ignored.
    #[test]
    fn paths_are_ignored_as_in_helm() {
        let rules = ignore("*.txt\n/root.md\ndir/\nsub/*.bak\n #c\n\\#x\ncharts/d\n");
        for (path, is_folder, expected) in [
            ("a.txt", false, true),
            ("x/keep.txt", false, true),
            ("root.md", false, true),
            ("d/root.md", false, false),
            ("dir", true, true),
            ("x/dir", true, true),
            ("dir", false, false),
            ("sub/a.bak", false, true),
            ("q/sub/a.bak", false, false),
            ("#x", false, true),
            ("charts/d", true, true),
            ("templates/.hidden", false, true),
            ("templates/.d", true, true),
            ("templates/_h.tpl", false, false),
            (".helmignore", false, false),
        ] {
            assert_eq!(rules.ignores(path, is_folder), expected, "{path}");
        }
    }

    #[test]
    fn a_negated_rule_ignores_all_that_does_not_match() {
        let rules = ignore("!keep.txt\n");
        assert!(!rules.ignores("keep.txt", false));
        assert!(
            rules.ignores("Chart.yaml", false),
            "as Helm does; see the module's documentation"
        );
    }

    #[test]
    fn broken_lines_are_reported_together() {
        let source = Source::new(".helmignore", "ok\n**/a\n[x\n");
        let problems = Ignore::parse(&source).unwrap_err();
        let lines: Vec<String> = problems.iter().map(ToString::to_string).collect();
        assert_eq!(lines.len(), 2);
        assert!(
            lines[0].starts_with(".helmignore:2:1:") && lines[1].starts_with(".helmignore:3:1:"),
            "{lines:?}"
        );
    }

    /// Expected results are those of Go 1.26's `filepath.Match`.
    #[test]
    fn globs_match_as_in_go() {
        for (pattern, name, expected) in [
            ("abc", "abc", Some(true)),
            ("*", "abc", Some(true)),
            ("*c", "abc", Some(true)),
            ("a*", "a", Some(true)),
            ("a*", "ab/c", Some(false)),
            ("a*/b", "abc/b", Some(true)),
            ("a*b*c*d*e*/f", "axbxcxdxe/f", Some(true)),
            ("a*b?c*x", "abxbbxdbxebxczzx", Some(true)),
            ("ab[c]", "abc", Some(true)),
            ("ab[^c]", "abc", Some(false)),
            ("ab[b-d]", "abc", Some(true)),
            ("[^a]", "/", Some(false)),
            ("a\\*b", "a*b", Some(true)),
            ("[\\]a]", "]", Some(true)),
            ("[-]", "-", None),
            ("[]a]", "]", None),
            ("[x-]", "x", None),
            ("[", "a", None),
            ("[^", "a", None),
            ("a[", "b", None),
            ("\\", "a", None),
            ("*x", "xxx", Some(true)),
            ("a?b", "a☺b", Some(true)),
            ("", "", Some(true)),
            ("", "a", Some(false)),
        ] {
            assert_eq!(matches(name, pattern), expected, "{pattern} {name}");
        }
    }

    proptest! {
        #[test]
        fn never_panics_and_ends(pattern in "[ab*?\\[\\]^/\\\\-]{0,24}", name in "[ab/-]{0,40}") {
            let _ = matches(&name, &pattern);
        }
    }
}
