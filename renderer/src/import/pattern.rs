//! Which files of a repository are imported: patterns as Hugging Face's own tools read them, by Python's `fnmatch`. `*`
//! stands for any text, also with `/`, `?` for a character, `[seq]` and `[!seq]` for one that is in a set or is not;
//! everything else stands for itself. A folder's name with `/` at its end stands for all that is in it.

use super::file_path::FilePath;
use crate::diag::{Class, Diagnostic, Result};

/// The maximum number of patterns of each kind.
pub const MAX_PATTERNS: usize = 64;
/// The maximum length of a pattern, in bytes.
pub const MAX_PATTERN: usize = 256;

/// Patterns of files that are imported, and of files that are not.
#[derive(Debug, Clone, Default)]
pub struct Patterns {
    include: Vec<Pattern>,
    exclude: Vec<Pattern>,
}

#[derive(Debug, Clone)]
struct Pattern {
    parts: Vec<Part>,
}

/// An element of a pattern.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Part {
    /// `*`
    Text,
    /// `?`
    Any,
    /// `[…]`, with its ranges; a single character is a range, too.
    Set {
        negated: bool,
        ranges: Vec<(char, char)>,
    },
    /// Itself.
    Literal(char),
}

/// What of a repository has to be listed for some patterns.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct ListScope {
    /// The folder that has all files, empty for the repository as a whole.
    pub(super) folder: String,
    /// Whether files of its folders are selected, too.
    pub(super) recursive: bool,
}

impl Patterns {
    /// Parses patterns; without any, all files are imported.
    ///
    /// # Errors
    /// Class `Usage`: too many patterns, or too long ones.
    pub fn new(include: &[String], exclude: &[String]) -> Result<Self> {
        Ok(Self {
            include: parsed(include, "--include")?,
            exclude: parsed(exclude, "--exclude")?,
        })
    }

    pub(super) fn select(&self, path: &FilePath) -> bool {
        let has = |set: &[Pattern]| set.iter().any(|pattern| pattern.matches(path.as_str()));
        (self.include.is_empty() || has(&self.include)) && !has(&self.exclude)
    }

    /// What has to be listed to find all selected files: a repository may have more than can be listed.
    pub(super) fn scope(&self) -> ListScope {
        let prefixes: Vec<String> = self.include.iter().map(Pattern::literal_prefix).collect();
        let folder = prefixes
            .iter()
            .map(|prefix| folder_of(prefix))
            .reduce(common_folder);
        let folder = folder
            .filter(|folder| FilePath::parse(folder).is_ok())
            .unwrap_or_default();
        let is_file_in_it =
            |(pattern, prefix): (&Pattern, &String)| pattern.is_literal() && folder_of(prefix) == folder;
        let mut files = self.include.iter().zip(&prefixes);
        ListScope {
            recursive: self.include.is_empty() || !files.all(is_file_in_it),
            folder: folder.to_owned(),
        }
    }
}

/// The folder in which the path, or the beginning of one, is.
fn folder_of(path: &str) -> &str {
    path.rsplit_once('/').map_or("", |(folder, _)| folder)
}

/// The deepest folder that has both.
fn common_folder<'f>(one: &'f str, other: &'f str) -> &'f str {
    let mut folder = one;
    while !folder.is_empty() && folder != other && !other.starts_with(&format!("{folder}/")) {
        folder = folder_of(folder);
    }
    folder
}

fn parsed(patterns: &[String], flag: &str) -> Result<Vec<Pattern>> {
    let wrong = |message: String| Diagnostic::error(Class::Usage, format!("{flag}: {message}"));
    if patterns.len() > MAX_PATTERNS {
        return Err(wrong(format!("more than {MAX_PATTERNS} patterns")).into());
    }
    if patterns.iter().any(|pattern| pattern.len() > MAX_PATTERN) {
        return Err(wrong(format!("a pattern is longer than {MAX_PATTERN} bytes")).into());
    }
    Ok(patterns.iter().map(|pattern| Pattern::parse(pattern)).collect())
}

impl Pattern {
    /// Every text is a pattern: a bracket that is not closed stands for itself.
    fn parse(text: &str) -> Self {
        let mut parts = Vec::new();
        let mut rest = text.chars();
        while let Some(first) = rest.next() {
            parts.push(match first {
                // More than one are as one.
                '*' if parts.last() == Some(&Part::Text) => continue,
                '*' => Part::Text,
                '?' => Part::Any,
                '[' => match set(rest.as_str()) {
                    Some((set, after)) => {
                        rest = after.chars();
                        set
                    }
                    None => Part::Literal('['),
                },
                other => Part::Literal(other),
            });
        }
        if text.ends_with('/') {
            parts.push(Part::Text);
        }
        Self { parts }
    }

    fn is_literal(&self) -> bool {
        let mut parts = self.parts.iter();
        parts.all(|part| matches!(part, Part::Literal(_)))
    }

    /// What every path begins with that it matches.
    fn literal_prefix(&self) -> String {
        let literal = |part: &Part| match part {
            Part::Literal(literal) => Some(*literal),
            Part::Text | Part::Any | Part::Set { .. } => None,
        };
        self.parts.iter().map_while(literal).collect()
    }

    /// Whether it stands for the whole text. In the worst case this takes as many steps as the product of both
    /// lengths: only the last `*` is ever extended.
    fn matches(&self, text: &str) -> bool {
        let mut parts = self.parts.as_slice();
        let mut rest = text.chars();
        let mut last_text = None;
        loop {
            let before = rest.clone();
            match (parts.split_first(), rest.next()) {
                (Some((Part::Text, after)), _) => {
                    rest = before;
                    last_text = Some((after, rest.clone()));
                    parts = after;
                    continue;
                }
                (Some((part, after)), Some(character)) if part.has(character) => {
                    parts = after;
                    continue;
                }
                (None, None) => return true,
                _ => {}
            }
            let Some((after, mut from)) = last_text.take() else {
                return false;
            };
            if from.next().is_none() {
                return false;
            }
            parts = after;
            rest = from.clone();
            last_text = Some((after, from));
        }
    }
}

impl Part {
    fn has(&self, character: char) -> bool {
        match self {
            Self::Text | Self::Any => true,
            Self::Set { negated, ranges } => {
                let mut ranges = ranges.iter();
                ranges.any(|(first, last)| (*first..=*last).contains(&character)) != *negated
            }
            Self::Literal(literal) => *literal == character,
        }
    }
}

/// The set after its `[`, and what follows its `]`. A `]` that is the first character belongs to the set.
fn set(text: &str) -> Option<(Part, &str)> {
    let (negated, text) = match text.strip_prefix('!') {
        Some(rest) => (true, rest),
        None => (false, text),
    };
    let first = text.chars().next()?;
    let end = text.get(first.len_utf8()..)?.find(']')? + first.len_utf8();
    let (members, after) = (text.get(..end)?, text.get(end + 1..)?);
    let mut ranges = Vec::new();
    let mut members = members.chars();
    while let Some(first) = members.next() {
        let mut ahead = members.clone();
        let last = ahead
            .next()
            .filter(|sign| *sign == '-')
            .and_then(|_| ahead.next());
        if last.is_some() {
            members = ahead;
        }
        ranges.push((first, last.unwrap_or(first)));
    }
    Some((Part::Set { negated, ranges }, after))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(patterns: &[&str]) -> Vec<String> {
        patterns.iter().map(|text| (*text).to_owned()).collect()
    }

    #[test]
    fn files_are_selected_as_hugging_faces_tools_do() {
        let files = [
            "a.json",
            "a.bin",
            "sub/b.json",
            "sub/deep/c.bin",
            ".gitattributes",
        ];
        let table: [(&[&str], &[&str], &str); 7] = [
            (&[], &[], "a.json a.bin sub/b.json sub/deep/c.bin .gitattributes"),
            (&["*.json"], &[], "a.json sub/b.json"),
            (&["sub/"], &[], "sub/b.json sub/deep/c.bin"),
            (&[], &["*.bin", ".*"], "a.json sub/b.json"),
            (&["*.json"], &["sub/*"], "a.json"),
            (&["a.?in", "sub/b.*"], &[], "a.bin sub/b.json"),
            (&["nothing"], &[], ""),
        ];
        for (include, exclude, expected) in table {
            let patterns = Patterns::new(&texts(include), &texts(exclude)).unwrap();
            let chosen: Vec<&str> = files
                .into_iter()
                .filter(|file| patterns.select(&FilePath::parse(file).unwrap()))
                .collect();
            assert_eq!(chosen.join(" "), expected, "{include:?} {exclude:?}");
        }
    }

    #[test]
    fn patterns_that_are_too_long_or_too_many_are_refused() {
        let long = "a".repeat(MAX_PATTERN + 1);
        for bad in [vec![long], vec!["a".to_owned(); MAX_PATTERNS + 1]] {
            let error = Patterns::new(&[], &bad).unwrap_err();
            assert_eq!(error.class(), Class::Usage);
            assert!(error.to_string().starts_with("--exclude: "), "{error}");
        }
        assert!(Patterns::new(&vec!["a".to_owned(); MAX_PATTERNS], &["a".repeat(MAX_PATTERN)]).is_ok());
    }

    /// Recorded from `fnmatch.fnmatchcase` of Python 3. Braces once were alternatives, a backslash escaped, and `[^a]`
    /// was a negated set.
    #[test]
    fn a_pattern_matches_as_pythons_fnmatch_has_it() {
        let table = [
            ("a{b,c}", "ab", false),
            ("a{b,c}", "a{b,c}", true),
            ("[ab].x", "a.x", true),
            ("[!ab].x", "a.x", false),
            ("[!ab].x", "c.x", true),
            ("[", "[", true),
            ("[]", "[]", true),
            ("[]a]x", "]x", true),
            ("[^a]", "b", false),
            ("[^a]", "^", true),
            ("[a-c-e]", "d", false),
            ("[a-c-e]", "-", true),
            ("[b-a]", "a", false),
            ("[!b-a]", "z", true),
            ("a\\*b", "a\\xb", true),
            ("a\\*b", "a*b", false),
            ("[a", "[a", true),
            ("[!]", "[!]", true),
            ("*", "a/b", true),
            ("[a/]b", "/b", true),
            ("[[]x", "[x", true),
            ("[--0]", ".", true),
            ("?", "é", true),
            ("[é-ü]", "ö", true),
            ("A", "a", false),
            ("**/x", "a/x", true),
            ("**/x", "x", false),
            ("[a&&b]", "&", true),
            ("[\\]", "\\", true),
            ("[a-]", "-", true),
            ("x[-a]", "x-", true),
            ("[]-a]", "^", true),
            ("a*b*c", "a-b-b-c", true),
            ("a*b*c", "a-b-b-", false),
            ("*", "", true),
        ];
        for (pattern, text, expected) in table {
            assert_eq!(
                Pattern::parse(pattern).matches(text),
                expected,
                "{pattern} {text}"
            );
        }
    }

    #[test]
    fn the_longest_pattern_takes_few_steps_on_the_longest_path() {
        let pattern = "*a".repeat(MAX_PATTERN / 2);
        let text = format!("{}b", "a".repeat(1023));
        assert!(!Pattern::parse(&pattern).matches(&text));
    }

    #[test]
    fn what_is_listed_is_the_folder_that_has_all_included_files() {
        let table: [(&[&str], &str, bool); 12] = [
            (&[], "", true),
            (&["*.json"], "", true),
            (&["a.json", "b.json"], "", false),
            (&["sub/deep/a.json"], "sub/deep", false),
            (&["sub/a.json", "sub/b.json"], "sub", false),
            (&["sub/a.json", "sub/deep/b.json"], "sub", true),
            (&["sub/a.json", "subway/b.json"], "", true),
            (&["sub/"], "sub", true),
            (&["sub/deep/*.json", "sub/deep/x/[ab]"], "sub/deep", true),
            (&["sub/a*"], "sub", true),
            (&["sub/../a"], "", true),
            (&["/a"], "", false),
        ];
        for (include, folder, recursive) in table {
            let scope = Patterns::new(&texts(include), &texts(&["x/*"])).unwrap().scope();
            let expected = ListScope {
                folder: folder.to_owned(),
                recursive,
            };
            assert_eq!(scope, expected, "{include:?}");
        }
    }
}
