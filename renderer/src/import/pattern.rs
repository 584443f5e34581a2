//! Which files of a repository are imported: patterns as Hugging Face's own tools read them, where `*` also matches `/`
//! and a folder's name with `/` at its end stands for all that is in it.

use globset::{GlobBuilder, GlobSet, GlobSetBuilder};

use super::file_path::FilePath;
use crate::diag::{Class, Diagnostic, Result};

/// The maximum number of patterns of each kind.
pub const MAX_PATTERNS: usize = 64;
/// The maximum length of a pattern, in bytes.
pub const MAX_PATTERN: usize = 256;

/// Patterns of files that are imported, and of files that are not.
#[derive(Debug, Clone, Default)]
pub struct Patterns {
    include: Option<GlobSet>,
    exclude: Option<GlobSet>,
}

impl Patterns {
    /// Parses patterns; without any, all files are imported.
    ///
    /// # Errors
    /// Class `Usage`: an invalid pattern, too many, or too long ones.
    pub fn new(include: &[String], exclude: &[String]) -> Result<Self> {
        Ok(Self {
            include: set(include, "--include")?,
            exclude: set(exclude, "--exclude")?,
        })
    }

    pub(super) fn select(&self, path: &FilePath) -> bool {
        let has = |set: &Option<GlobSet>| set.as_ref().map(|set| set.is_match(path.as_str()));
        has(&self.include).unwrap_or(true) && !has(&self.exclude).unwrap_or(false)
    }
}

fn set(patterns: &[String], flag: &str) -> Result<Option<GlobSet>> {
    let wrong = |message: String| Diagnostic::error(Class::Usage, format!("{flag}: {message}"));
    if patterns.is_empty() {
        return Ok(None);
    }
    if patterns.len() > MAX_PATTERNS {
        return Err(wrong(format!("more than {MAX_PATTERNS} patterns")).into());
    }
    let mut set = GlobSetBuilder::new();
    for pattern in patterns {
        if pattern.len() > MAX_PATTERN {
            return Err(wrong(format!("a pattern is longer than {MAX_PATTERN} bytes")).into());
        }
        let whole = match pattern.ends_with('/') {
            true => format!("{pattern}*"),
            false => pattern.clone(),
        };
        let glob = GlobBuilder::new(&whole).backslash_escape(true).build();
        set.add(glob.map_err(|error| wrong(format!("{pattern:?} is no pattern: {}", error.kind())))?);
    }
    let set = set.build();
    Ok(Some(set.map_err(|error| {
        wrong(format!("the patterns can't be used: {error}"))
    })?))
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
    fn what_is_no_pattern_too_long_or_too_many_is_refused() {
        let long = "a".repeat(MAX_PATTERN + 1);
        for bad in [
            vec!["[".to_owned()],
            vec![long],
            vec!["a".to_owned(); MAX_PATTERNS + 1],
        ] {
            let error = Patterns::new(&[], &bad).unwrap_err();
            assert_eq!(error.class(), Class::Usage);
            assert!(error.to_string().starts_with("--exclude: "), "{error}");
        }
        assert!(Patterns::new(&vec!["a".to_owned(); MAX_PATTERNS], &["a".repeat(MAX_PATTERN)]).is_ok());
    }
}
