//! Validates names: Kubernetes' and Helm's rules as pure functions.
//!
//! Each returns the reason for a refusal, as a phrase that follows the field's name.

use crate::reference::{Digest, Repository, Tag};
use crate::version;

/// The maximum length of a Kubernetes object name, in bytes (RFC 1123 subdomain).
pub(super) const MAX_OBJECT_NAME: usize = 253;
/// The maximum length of a Kubernetes namespace, in bytes (RFC 1123 label).
pub(super) const MAX_LABEL: usize = 63;
/// The maximum length of a chart name: with a version it must fit into a file name of 255 bytes.
pub(super) const MAX_CHART_NAME: usize = 200;

/// Letters, digits, `-` and `.`, as Kubernetes requires for object names.
pub fn object_name(name: &str) -> Result<(), String> {
    if name.len() > MAX_OBJECT_NAME {
        return Err(format!(
            "is {} bytes long; Kubernetes takes {MAX_OBJECT_NAME}",
            name.len()
        ));
    }
    if name.split('.').all(is_label) {
        return Ok(());
    }
    Err("does not fit a Kubernetes object name: lower-case letters, digits, `-` and `.`, with a letter or digit at both ends of each part".into())
}

/// As [`object_name`], without dots and shorter.
pub fn namespace(name: &str) -> Result<(), String> {
    if name.len() > MAX_LABEL {
        return Err(format!(
            "is {} bytes long; Kubernetes takes {MAX_LABEL}",
            name.len()
        ));
    }
    if is_label(name) {
        return Ok(());
    }
    Err("does not fit a Kubernetes namespace: lower-case letters, digits and `-`, with a letter or digit at both ends".into())
}

/// The characters of a repository in a registry, and upper-case letters: those are accepted as in Helm, and only a
/// registry refuses them. Helm accepts other characters too, and only fails when it pushes.
pub(super) fn chart_name(name: &str) -> Result<(), String> {
    if name.len() > MAX_CHART_NAME {
        return Err(format!(
            "is {} bytes long; with a version it would not fit a file name",
            name.len()
        ));
    }
    if matches!(name, "." | "..") || name.contains(['/', '\\']) {
        return Err("is not a chart name that Helm takes: it must not be a path".into());
    }
    if name.chars().any(char::is_control) {
        return Err("holds a control character".into());
    }
    // The host is only a placeholder.
    if format!("host/{}", name.to_ascii_lowercase())
        .parse::<Repository>()
        .is_err()
    {
        return Err(format!(
            "{name:?} can't name a chart in a registry: letters and digits, with `-`, `.` or `_` between them"
        ));
    }
    Ok(())
}

/// A chart version that Helm 4.3.1 accepts.
pub(super) fn chart_version(text: &str) -> Result<(), String> {
    if version::is_valid(text) {
        return Ok(());
    }
    Err(format!(
        "{text:?} is not a version that Helm takes (SemVer, as in 1.2.3 or v0.1.0-rc.1)"
    ))
}

/// `host/path`, or `path` alone, with or without `oci://`.
pub(super) fn repository(text: &str) -> Result<(), String> {
    if text
        .chars()
        .any(|character| character.is_whitespace() || character.is_control())
    {
        return Err("holds white space".into());
    }
    let rest = text.strip_prefix("oci://").unwrap_or(text);
    if rest.is_empty() || rest.contains("://") {
        return Err(format!("{text:?} is not a repository: expected `host/path`"));
    }
    if let Some((repository, digest)) = rest.split_once('@') {
        return Err(format!(
            "{text:?} has a digest: expected `{repository}`, and `@{digest}` as the tag"
        ));
    }
    let (before, last) = rest.rsplit_once('/').unwrap_or(("", rest));
    if let Some((name, tag)) = last.split_once(':') {
        let before = if before.is_empty() {
            String::new()
        } else {
            format!("{before}/")
        };
        return Err(format!(
            "{text:?} has a tag: expected `{before}{name}`, and `{tag}` as the tag"
        ));
    }
    // The host is only a placeholder.
    let whole = if rest.contains('/') {
        rest.to_owned()
    } else {
        format!("host/{rest}")
    };
    let error = match whole.parse::<Repository>() {
        Ok(_) => return Ok(()),
        Err(error) => error,
    };
    let (host, path) = whole.split_once('/').unwrap_or_default();
    let lower = path.to_ascii_lowercase();
    if lower != path && format!("{host}/{lower}").parse::<Repository>().is_ok() {
        return Err(format!(
            "{text:?} has upper-case letters, which registries refuse"
        ));
    }
    Err(error.to_string())
}

/// As [`repository`], where Flux pulls from.
pub(super) fn pulled_repository(text: &str) -> Result<(), String> {
    repository(text)?;
    if text.strip_prefix("oci://").unwrap_or(text).contains('/') {
        return Ok(());
    }
    Err(format!("{text:?} names no registry: expected `host/path`"))
}

/// A registry tag, or `@` and a digest.
pub(super) fn release_tag(text: &str) -> Result<(), String> {
    let checked = match text.strip_prefix('@') {
        Some(digest) => digest.parse::<Digest>().map(|_| ()),
        None => text.parse::<Tag>().map(|_| ()),
    };
    checked.map_err(|error| error.to_string())
}

/// A value for Flux's `ref.semver`: a version or a range of versions.
pub(super) fn version_range(text: &str) -> Result<(), String> {
    let fits = |character: char| character.is_ascii_alphanumeric() || ".+-_*^~<>=!,| ".contains(character);
    if text.chars().all(fits)
        && text
            .chars()
            .any(|character| character.is_ascii_alphanumeric() || character == '*')
    {
        return Ok(());
    }
    Err(format!("{text:?} is not a version or a range of versions"))
}

fn is_label(label: &str) -> bool {
    let word = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
    !label.is_empty()
        && label.bytes().all(|byte| word(byte) || byte == b'-')
        && label.bytes().next().is_some_and(word)
        && label.bytes().last().is_some_and(word)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn object_names_are_checked_as_kubernetes_does() {
        for good in ["a", "a-b", "a.b", "1", &"x".repeat(253)] {
            assert!(object_name(good).is_ok(), "{good}");
        }
        for bad in [
            "",
            "A",
            "a_b",
            "-a",
            "a-",
            "a.",
            ".a",
            "a..b",
            "a.-b",
            "é",
            "a b",
            &"x".repeat(254),
        ] {
            assert!(object_name(bad).is_err(), "{bad}");
        }
    }

    /// Once only a registry, or Flux, refused them.
    #[test]
    fn a_repository_is_one_that_registries_take() {
        for good in ["h/p", "oci://h/p", "h:5000/a/b__c", "[::1]:5000/a", "H.example/p"] {
            assert_eq!(pulled_repository(good), Ok(()), "{good}");
        }
        assert_eq!(repository("nginx"), Ok(()));
        for (bad, reason) in [
            (
                "h/p:1.2",
                "\"h/p:1.2\" has a tag: expected `h/p`, and `1.2` as the tag",
            ),
            (
                "nginx:1",
                "\"nginx:1\" has a tag: expected `nginx`, and `1` as the tag",
            ),
            (
                "h:5000/p@sha256:1",
                "\"h:5000/p@sha256:1\" has a digest: expected `h:5000/p`, and `@sha256:1` as the tag",
            ),
            (
                "h/Shop",
                "\"h/Shop\" has upper-case letters, which registries refuse",
            ),
            ("nginx", "\"nginx\" names no registry: expected `host/path`"),
            (
                "oci://nginx",
                "\"oci://nginx\" names no registry: expected `host/path`",
            ),
            ("h//p", "\"/p\" is not a repository path"),
            ("h/", "\"\" is not a repository path"),
            ("-/p", "\"-\" is not a registry host"),
        ] {
            let found = pulled_repository(bad).unwrap_err();
            assert!(found.starts_with(reason), "{bad}: {found}");
        }
    }

    #[test]
    fn a_charts_name_is_one_that_a_registry_takes() {
        for good in ["shop-frontend", "a.b_c", "a--b", "1", "Shop"] {
            assert!(chart_name(good).is_ok(), "{good}");
        }
        for bad in [
            "..",
            "a/b",
            "a\tb",
            "a\u{feff}b",
            "\u{feff}a",
            "a\u{ad}b",
            "a\u{a0}b",
            "Shop Frontend!",
            "Größe",
            "-a",
            "a-",
            "",
        ] {
            assert!(chart_name(bad).is_err(), "{bad:?}");
        }
    }

    #[test]
    fn tags_are_tags_or_digests() {
        for good in [
            "1.0.0",
            "v1",
            "yes",
            "0777",
            "1e3",
            &format!("@sha256:{}", "0".repeat(64)),
        ] {
            assert!(release_tag(good).is_ok(), "{good}");
        }
        for bad in [
            "a b",
            "@sha256:12",
            "@",
            "1.0.0+b",
            "-x",
            "{{ x }}",
            &"x".repeat(129),
        ] {
            assert!(release_tag(bad).is_err(), "{bad}");
        }
        for good in ["1.0.0", ">=1.0.0 <2", "~1.2 || ^3", "*", "v0.0.1+b"] {
            assert!(version_range(good).is_ok(), "{good}");
        }
        for bad in ["", " ", "{{", "a\nb", "@sha256:00"] {
            assert!(version_range(bad).is_err(), "{bad}");
        }
    }
}
