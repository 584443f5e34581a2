//! The path of a file in an artifact: relative, with `/`, and without elements that leave the folder into which a client
//! unpacks it.

use std::fmt;

use percent_encoding::percent_decode_str;
use url::Url;

use crate::diag::{Class, Diagnostic, Result};

/// The maximum length of a path, in bytes.
const MAX_PATH: usize = 1024;

/// A safe relative path.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct FilePath(String);

impl FilePath {
    /// Checks a path. `Err` is the reason why it is refused.
    pub(super) fn parse(text: &str) -> std::result::Result<Self, &'static str> {
        if text.is_empty() {
            return Err("it is empty");
        }
        if text.len() > MAX_PATH {
            return Err("it is too long");
        }
        if text.contains('\\') || text.chars().any(char::is_control) {
            return Err("it has a backslash or a control character");
        }
        if text.split('/').any(|part| matches!(part, "" | "." | "..")) {
            return Err("it is not a relative path without `.` and `..`");
        }
        // A drive letter: on Windows the path would be absolute.
        if text.as_bytes().get(1) == Some(&b':') {
            return Err("it begins with a drive");
        }
        Ok(Self(text.to_owned()))
    }

    /// The last part of a URL's path.
    pub(super) fn of_url(url: &Url) -> Result<Self> {
        let last = url.path_segments().and_then(|mut parts| parts.next_back());
        let name = percent_decode_str(last.unwrap_or_default()).decode_utf8();
        let name = name.map_err(|_| "it is not UTF-8");
        let path = name.and_then(|name| match name.contains('/') {
            true => Err("it has a slash"),
            false => Self::parse(&name),
        });
        path.map_err(|reason| {
            let shown = format!("{}{}", url.origin().ascii_serialization(), url.path());
            Diagnostic::error(
                Class::Usage,
                format!("{shown} does not end in a file's name: {reason}"),
            )
            .into()
        })
    }

    pub(super) fn as_str(&self) -> &str {
        &self.0
    }

    /// The last element.
    pub(super) fn name(&self) -> &str {
        self.0.rsplit('/').next().unwrap_or(&self.0)
    }

    /// What follows the last dot of the name, in lower case.
    pub(super) fn extension(&self) -> String {
        let parts = self.name().rsplit_once('.');
        parts.map_or_else(String::new, |(_, extension)| extension.to_ascii_lowercase())
    }
}

impl fmt::Display for FilePath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_that_leave_the_folder_are_refused() {
        for good in ["a", "a/b.c", ".gitattributes", "a/..b", "é/ü"] {
            assert!(FilePath::parse(good).is_ok(), "{good}");
        }
        let long = "a".repeat(MAX_PATH + 1);
        let bad = [
            "", "/a", "../a", "a/../b", "a//b", "./a", "a/", "a\\b", "a\nb", "C:/a", "a/..", &long,
        ];
        for bad in bad {
            assert!(FilePath::parse(bad).is_err(), "{bad:?}");
        }
        assert!(FilePath::parse(&"a".repeat(MAX_PATH)).is_ok());
    }

    #[test]
    fn a_url_names_a_file_by_its_last_part() {
        let table = [
            ("https://h/a/b.tgz?x=1", Some("b.tgz")),
            ("https://h/a%20b.bin", Some("a b.bin")),
            ("https://h/", None),
            ("https://h/a/", None),
            ("https://h/..%2fa", None),
            ("https://h/%ff", None),
        ];
        for (url, expected) in table {
            let path = FilePath::of_url(&Url::parse(url).unwrap()).ok();
            assert_eq!(path.as_ref().map(FilePath::as_str), expected, "{url}");
        }
    }
}
