//! Where a chart is read from: [`Locator`].

use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;

use super::{Digest, ReferenceError, Repository, Tag, split_tag};

/// `oci://host/path[:tag][@digest]` or `oci-layout:DIR[:tag][@digest]`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Locator {
    /// Which repository.
    pub place: ArtifactStore,
    /// Which tag; beside a digest it is only a name.
    pub tag: Option<Tag>,
    /// Exactly which manifest.
    pub digest: Option<Digest>,
}

/// What has tags: a repository of a registry, or a layout on disk.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ArtifactStore {
    /// `oci://host/path`
    Registry(Repository),
    /// `oci-layout:DIR`
    Layout(PathBuf),
}

/// What is asked for at a place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum At {
    /// What the tag means now.
    Tag(Tag),
    /// This manifest and no other.
    Digest(Digest),
}

impl Locator {
    /// What it names, the digest first; `None` for a place alone.
    pub fn at(&self) -> Option<At> {
        let digest = self.digest.clone().map(At::Digest);
        digest.or_else(|| self.tag.clone().map(At::Tag))
    }
}

impl ArtifactStore {
    /// As in the report, with what is asked for there.
    pub fn with(&self, at: &At) -> String {
        match at {
            At::Tag(tag) => format!("{self}:{tag}"),
            At::Digest(digest) => format!("{self}@{digest}"),
        }
    }
}

impl FromStr for Locator {
    type Err = ReferenceError;
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let registry = text.strip_prefix("oci://");
        let Some(rest) = registry.or_else(|| text.strip_prefix("oci-layout:")) else {
            return Err(ReferenceError::Locator(text.to_owned()));
        };
        let (rest, digest) = match rest.rsplit_once('@') {
            // A folder's name may have the sign in it.
            Some((before, digest)) if registry.is_some() || digest.starts_with("sha") => {
                (before, Some(digest.parse()?))
            }
            _ => (rest, None),
        };
        let (name, tag) = split_tag(rest);
        let place = if registry.is_some() {
            ArtifactStore::Registry(name.parse()?)
        } else if name.is_empty() {
            return Err(ReferenceError::Locator(text.to_owned()));
        } else {
            ArtifactStore::Layout(PathBuf::from(name))
        };
        let tag = tag.map(str::parse).transpose()?;
        Ok(Self { place, tag, digest })
    }
}

impl fmt::Display for ArtifactStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Registry(repository) => repository.fmt(f),
            Self::Layout(dir) => write!(f, "oci-layout:{}", dir.display()),
        }
    }
}

impl fmt::Display for At {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Tag(tag) => tag.fmt(f),
            Self::Digest(digest) => digest.fmt(f),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn charts_are_named_by_tag_or_digest() {
        let digest = format!("sha256:{}", "a".repeat(64));
        let table = [
            ("oci://h:5000/a/b".to_owned(), "h:5000/a/b", None, None),
            ("oci://h/a:1.0.0_b".to_owned(), "h/a", Some("1.0.0_b"), None),
            (
                format!("oci://h:5000/a@{digest}"),
                "h:5000/a",
                None,
                Some(&digest),
            ),
            (format!("oci://h/a:1@{digest}"), "h/a", Some("1"), Some(&digest)),
            (
                "oci-layout:a@b/c:1".to_owned(),
                "oci-layout:a@b/c",
                Some("1"),
                None,
            ),
            (
                format!("oci-layout:d@{digest}"),
                "oci-layout:d",
                None,
                Some(&digest),
            ),
        ];
        for (text, place, tag, digest) in table {
            let locator: Locator = text.parse().unwrap();
            assert_eq!(locator.place.to_string(), place);
            assert_eq!(locator.tag.as_ref().map(Tag::as_str), tag);
            assert_eq!(
                locator.digest.as_ref().map(Digest::as_str),
                digest.map(String::as_str)
            );
        }
        for bad in [
            "",
            "h/a",
            "https://h/a",
            "oci://h",
            "oci://h/A",
            "oci://h/a:",
            "oci://h/a@",
            "oci://h/a@sha256:00",
            "oci-layout:",
            "oci-layout:d@sha512:00",
            "file:x",
        ] {
            assert!(bad.parse::<Locator>().is_err(), "{bad}");
        }
    }

    proptest::proptest! {
        #[test]
        fn no_text_makes_it_panic(text in "\\PC{0,80}") {
            let _ = format!("oci://{text}").parse::<Locator>();
            let _ = format!("oci-layout:{text}").parse::<Locator>();
        }
    }
}
