//! Where an artifact's files are: `https://HOST/FILE`, `hf://OWNER/NAME[@REVISION]`, `oci://HOST/PATH:TAG`.

use std::fmt;
use std::str::FromStr;

use url::Url;

use super::pattern::Patterns;
use crate::reference::{Digest, Locator};

/// The revision of a repository without one.
pub const DEFAULT_REVISION: &str = "main";
/// The maximum length of a repository's name, in bytes, as Hugging Face has it.
const MAX_REPOSITORY: usize = 96;
/// The maximum length of a revision, in bytes.
const MAX_REVISION: usize = 255;

/// The source of an artifact.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub enum Source {
    /// A file on a web server.
    Web {
        /// Its URL.
        url: Url,
        /// The digest that it must have.
        sha256: Digest,
    },
    /// A repository of models on Hugging Face, or a server with the same API.
    Hub {
        /// The repository.
        repository: HubRepository,
        /// Which of its files.
        patterns: Patterns,
    },
    /// An artifact in a registry.
    Registry(Locator),
}

/// A repository of models and a revision of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HubRepository {
    name: String,
    revision: String,
}

/// Why a repository was refused.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SourceError {
    /// The name.
    #[error("{0:?} is not a repository: expected OWNER/NAME of letters, digits, `-`, `_` and `.`")]
    Repository(String),
    /// The revision.
    #[error("{0:?} is not a revision: expected a branch, a tag or a commit")]
    Revision(String),
}

impl HubRepository {
    /// `OWNER/NAME`
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The branch, tag or commit.
    pub fn revision(&self) -> &str {
        &self.revision
    }
}

impl fmt::Display for HubRepository {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "hf://{}@{}", self.name, self.revision)
    }
}

impl FromStr for HubRepository {
    type Err = SourceError;

    /// `[hf://]OWNER/NAME[@REVISION]`
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let text = text.strip_prefix("hf://").unwrap_or(text);
        let (name, revision) = text.split_once('@').unwrap_or((text, DEFAULT_REVISION));
        if !is_repository(name) {
            return Err(SourceError::Repository(name.to_owned()));
        }
        if !is_revision(revision) {
            return Err(SourceError::Revision(revision.to_owned()));
        }
        Ok(Self {
            name: name.to_owned(),
            revision: revision.to_owned(),
        })
    }
}

/// One or two elements, as `gpt2` and `openai/whisper-tiny`.
fn is_repository(text: &str) -> bool {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.');
    let element = |part: &str| {
        !part.is_empty() && !part.starts_with(['-', '.']) && !part.contains("..") && part.bytes().all(plain)
    };
    text.len() <= MAX_REPOSITORY && text.split('/').count() <= 2 && text.split('/').all(element)
}

fn is_revision(text: &str) -> bool {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.' | b'/' | b'+');
    let element = |part: &str| !part.is_empty() && !part.starts_with(['-', '.']) && !part.contains("..");
    text.len() <= MAX_REVISION && text.bytes().all(plain) && text.split('/').all(element)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn repositories_and_revisions_are_parsed() {
        let table = [
            ("hf://a/b", Some(("a/b", "main"))),
            ("gpt2", Some(("gpt2", "main"))),
            ("hf://a/b@refs/pr/1", Some(("a/b", "refs/pr/1"))),
            ("hf://a.b/c-D_1@v1.0+x", Some(("a.b/c-D_1", "v1.0+x"))),
            ("hf://a/b/c", None),
            ("hf://a/../b", None),
            ("hf://-a/b", None),
            ("hf://a/b@", None),
            ("hf://a/b@../../x", None),
            ("hf://a/b@-x", None),
            ("hf://a/b@x y", None),
            ("hf://a/b?x", None),
            ("hf://", None),
        ];
        for (text, expected) in table {
            let parsed = text.parse::<HubRepository>().ok();
            let shown = parsed.as_ref().map(|one| (one.name(), one.revision()));
            assert_eq!(shown, expected, "{text}");
        }
        let name = |length: usize| "a".repeat(length).parse::<HubRepository>();
        assert!(name(MAX_REPOSITORY).is_ok() && name(MAX_REPOSITORY + 1).is_err());
        let revision = |length: usize| format!("a@{}", "b".repeat(length)).parse::<HubRepository>();
        assert!(revision(MAX_REVISION).is_ok() && revision(MAX_REVISION + 1).is_err());
    }
}
