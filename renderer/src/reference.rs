//! Names of hosts, repositories, tags and files, parsed once at the border:
//! [`Digest`], [`Tag`], [`Host`], [`Repository`], [`Reference`], [`Target`], [`Locator`].
//!
//! The grammars are those of the OCI distribution specification 1.1. A value of one
//! of these types is valid; there is no other way to build one.

use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;

mod chart_naming;
mod locator;

pub use chart_naming::{WHY as WHY_CHARTS_ARE_NAMED, mismatches};
pub use locator::{ArtifactStore, At, Locator};

/// The maximum length of a repository path (`name`) that registries accept, in bytes.
pub const MAX_REPOSITORY_LENGTH: usize = 255;
/// The maximum length of a tag, in bytes.
pub const MAX_TAG_LENGTH: usize = 128;

/// `sha256:` and 64 lower-case hex digits.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Digest(String);

/// A tag: `[a-zA-Z0-9_][a-zA-Z0-9._-]{0,127}`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Tag(String);

/// A registry: `name`, `name:port`, an IPv4 address or `[IPv6]`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Host(String);

/// A registry and a path in it: `host[:port]/path`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Repository {
    host: String,
    path: String,
}

/// A repository with a tag.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Reference {
    /// The repository.
    pub repository: Repository,
    /// The tag.
    pub tag: Tag,
}

/// The target of a chart.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Target {
    /// `oci://host[:port]/path[:tag]`
    Registry {
        /// The repository, or its parent if there is no tag. Only then the path may be empty.
        base: String,
        /// An exact tag.
        tag: Option<Tag>,
    },
    /// `oci-layout:DIR[:tag]`
    Layout {
        /// The layout, or its parent if there is no tag.
        dir: PathBuf,
        /// An exact tag.
        tag: Option<Tag>,
    },
    /// `file:DIR`
    File {
        /// The folder for the archive.
        dir: PathBuf,
    },
}

/// Why a name was refused.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ReferenceError {
    /// Not `sha256:` and 64 hex digits.
    #[error("{0:?} is not a digest: expected `sha256:` and 64 lower-case hex digits")]
    Digest(String),
    /// Not a tag.
    #[error("{0:?} is not a tag: up to 128 letters, digits, `_`, `.` and `-`, not starting with `.` or `-`")]
    Tag(String),
    /// Not a host.
    #[error("{0:?} is not a registry host: expected `name`, `name:port`, an IPv4 address or `[IPv6]`")]
    Host(String),
    /// Not a repository path.
    #[error(
        "{0:?} is not a repository path: lower-case letters and digits, joined by single `.`, `_`, `__` or `-`s, in parts divided by `/`{lower}",
        lower = in_lower_case(.0)
    )]
    Path(String),
    /// A digest instead of a tag.
    #[error("{0:?} names a digest: a push needs a tag, or none at all")]
    DigestInTarget(String),
    /// A user, and possibly a password, before the host. It is not shown.
    #[error(
        "a target can't hold credentials: use --username with --password-stdin, the environment, or a credentials file"
    )]
    Credentials,
    /// Neither of the two forms.
    #[error(
        "{0:?} names no chart: expected `oci://host/path[:tag][@digest]` or `oci-layout:DIR[:tag][@digest]`"
    )]
    Locator(String),
    /// Neither of the three forms.
    #[error("{0:?} is not a target: expected `oci://host/path[:tag]`, `oci-layout:DIR[:tag]` or `file:DIR`")]
    Target(String),
}

impl Digest {
    /// The digest of a SHA-256 hash.
    pub fn from_sha256(hash: &[u8; 32]) -> Self {
        use std::fmt::Write as _;
        let mut text = String::with_capacity(71);
        text.push_str("sha256:");
        for byte in hash {
            // Writing to a String can't fail.
            let _ = write!(text, "{byte:02x}");
        }
        Self(text)
    }

    /// `sha256:…`
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The hex digits alone.
    pub fn hex(&self) -> &str {
        self.0.strip_prefix("sha256:").unwrap_or(&self.0)
    }
}

impl FromStr for Digest {
    type Err = ReferenceError;
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let hex = text.strip_prefix("sha256:").unwrap_or("");
        if hex.len() == 64 && hex.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f')) {
            Ok(Self(text.to_owned()))
        } else {
            Err(ReferenceError::Digest(text.to_owned()))
        }
    }
}

impl Tag {
    /// The tag under which Helm stores a chart version: `+` becomes `_`.
    pub fn from_version(version: &str) -> Result<Self, ReferenceError> {
        version.replace('+', "_").parse()
    }

    /// The text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for Tag {
    type Err = ReferenceError;
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let first = text
            .bytes()
            .next()
            .is_some_and(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
        let rest = text
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'.' | b'-'));
        if first && rest && text.len() <= MAX_TAG_LENGTH {
            Ok(Self(text.to_owned()))
        } else {
            Err(ReferenceError::Tag(text.to_owned()))
        }
    }
}

impl Host {
    /// The text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for Host {
    type Err = ReferenceError;
    /// With or without `oci://`; a path is refused.
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let host = text.strip_prefix("oci://").unwrap_or(text);
        let host = host.strip_suffix('/').unwrap_or(host);
        if valid_host(host) {
            Ok(Self(host.to_owned()))
        } else {
            Err(ReferenceError::Host(without_user(text)))
        }
    }
}

impl Repository {
    /// `host[:port]`
    pub fn host(&self) -> &str {
        &self.host
    }

    /// The path below the host, without slashes at its ends.
    pub fn path(&self) -> &str {
        &self.path
    }

    /// The last element of the path: a chart's name.
    pub fn name(&self) -> &str {
        self.path.rsplit('/').next().unwrap_or(&self.path)
    }
}

impl FromStr for Repository {
    type Err = ReferenceError;
    /// `host[:port]/path`, with or without `oci://`.
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let text = text.strip_prefix("oci://").unwrap_or(text);
        let (host, path) = text.split_once('/').unwrap_or((text, ""));
        if !valid_host(host) {
            return Err(ReferenceError::Host(without_user(host)));
        }
        if !valid_path(path) {
            return Err(ReferenceError::Path(path.to_owned()));
        }
        Ok(Self {
            host: host.to_owned(),
            path: path.to_owned(),
        })
    }
}

impl FromStr for Reference {
    type Err = ReferenceError;
    /// `[oci://]host[:port]/path:tag`
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let (repository, tag) = split_tag(text);
        let tag = tag.ok_or_else(|| ReferenceError::Tag(String::new()))?;
        Ok(Self {
            repository: repository.parse()?,
            tag: tag.parse()?,
        })
    }
}

impl FromStr for Target {
    type Err = ReferenceError;
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        if let Some(rest) = text.strip_prefix("oci://") {
            return parse_registry_target(rest);
        }
        if let Some(rest) = text.strip_prefix("oci-layout:") {
            // A folder has no port: the part after its last colon is a tag, even if it is numeric.
            let (dir, tag) = match rest.rsplit_once(':') {
                Some((dir, tag)) if !tag.contains('/') => (dir, Some(tag)),
                _ => (rest, None),
            };
            if dir.is_empty() {
                return Err(ReferenceError::Target(text.to_owned()));
            }
            return Ok(Self::Layout {
                dir: PathBuf::from(dir),
                tag: tag.map(str::parse).transpose()?,
            });
        }
        match text.strip_prefix("file:") {
            Some(dir) if !dir.is_empty() => {
                // file:///a/b is the same folder as file:/a/b.
                let dir = dir
                    .strip_prefix("//")
                    .filter(|rest| rest.starts_with('/'))
                    .unwrap_or(dir);
                Ok(Self::File {
                    dir: PathBuf::from(dir),
                })
            }
            _ => Err(ReferenceError::Target(text.to_owned())),
        }
    }
}

fn parse_registry_target(rest: &str) -> Result<Target, ReferenceError> {
    if rest.split('/').next().is_some_and(|host| host.contains('@')) {
        return Err(ReferenceError::Credentials);
    }
    if rest.contains('@') {
        return Err(ReferenceError::DigestInTarget(rest.to_owned()));
    }
    let (base, tag) = split_tag(rest);
    let base = if tag.is_none() {
        base.trim_end_matches('/')
    } else {
        base
    };
    let (host, path) = base.split_once('/').unwrap_or((base, ""));
    if !valid_host(host) {
        return Err(ReferenceError::Host(without_user(host)));
    }
    if !(valid_path(path) || path.is_empty() && tag.is_none()) {
        return Err(ReferenceError::Path(path.to_owned()));
    }
    Ok(Target::Registry {
        base: base.to_owned(),
        tag: tag.map(str::parse).transpose()?,
    })
}

/// Splits at the last `:` unless that one belongs to a port or a folder's name.
fn split_tag(text: &str) -> (&str, Option<&str>) {
    match text.rsplit_once(':') {
        Some((before, tag)) if !tag.contains('/') && (before.contains('/') || !is_port(tag)) => {
            (before, Some(tag))
        }
        _ => (text, None),
    }
}

fn is_port(text: &str) -> bool {
    text.parse::<u16>().is_ok()
}

fn valid_host(host: &str) -> bool {
    let (name, port) = match host.strip_prefix('[') {
        Some(rest) => match rest.split_once(']') {
            Some((address, "")) => (address, None),
            Some((address, port)) => (address, port.strip_prefix(':').or(Some(""))),
            None => return false,
        },
        None => match host.split_once(':') {
            Some((name, port)) => (name, Some(port)),
            None => (host, None),
        },
    };
    let port_fits = port.is_none_or(is_port);
    if host.starts_with('[') {
        return port_fits && name.parse::<std::net::Ipv6Addr>().is_ok();
    }
    let label = |label: &str| {
        !label.is_empty()
            && label.len() <= 63
            && label
                .bytes()
                .all(|byte| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_')
            && !label.starts_with('-')
            && !label.ends_with('-')
    };
    port_fits && name.len() <= 253 && name.split('.').all(label)
}

/// What follows the error of a path that is valid but for its case, as an owner's name on GitHub.
fn in_lower_case(path: &str) -> String {
    let lower = path.to_ascii_lowercase();
    match lower != path && valid_path(&lower) {
        true => format!("; in lower case it is one: {lower}"),
        false => String::new(),
    }
}

fn valid_path(path: &str) -> bool {
    path.len() <= MAX_REPOSITORY_LENGTH && path.split('/').all(valid_path_part)
}

/// `[a-z0-9]+((\.|_|__|-+)[a-z0-9]+)*`
fn valid_path_part(part: &str) -> bool {
    let mut separator = String::new();
    let mut seen_word = false;
    for character in part.chars() {
        if matches!(character, 'a'..='z' | '0'..='9') {
            let joins = match separator.as_str() {
                "" => true,
                "." | "_" | "__" => seen_word,
                dashes => seen_word && dashes.bytes().all(|byte| byte == b'-'),
            };
            if !joins {
                return false;
            }
            separator.clear();
            seen_word = true;
        } else if matches!(character, '.' | '_' | '-') {
            separator.push(character);
        } else {
            return false;
        }
    }
    seen_word && separator.is_empty()
}

impl fmt::Display for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Debug for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Display for Tag {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Display for Host {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Display for Repository {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.host, self.path)
    }
}

impl fmt::Display for Reference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.repository, self.tag)
    }
}

/// A host for messages, without the user part, which may contain a password.
fn without_user(host: &str) -> String {
    match host.rsplit_once('@') {
        Some((_, host)) => format!("…@{host}"),
        None => host.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_path_that_is_wrong_in_its_case_alone_is_offered_in_lower_case() {
        let problem = |target: &str| target.parse::<Target>().unwrap_err().to_string();
        let text = problem("oci://ghcr.io/Acme/Charts");
        assert!(text.ends_with("; in lower case it is one: acme/charts"), "{text}");
        let text = problem("oci://ghcr.io/Acme//Charts");
        assert!(text.ends_with("divided by `/`"), "{text}");
    }

    #[test]
    fn targets_are_told_apart() {
        let registry = |base: &str, tag: Option<&str>| Target::Registry {
            base: base.into(),
            tag: tag.map(|tag| Tag(tag.into())),
        };
        let layout = |dir: &str, tag: Option<&str>| Target::Layout {
            dir: dir.into(),
            tag: tag.map(|tag| Tag(tag.into())),
        };
        let cases = [
            (
                "oci://ghcr.io/org/app:1.0.0",
                registry("ghcr.io/org/app", Some("1.0.0")),
            ),
            ("oci://localhost:5000", registry("localhost:5000", None)),
            ("oci://localhost:5000/", registry("localhost:5000", None)),
            ("oci://localhost:5000/a/b/", registry("localhost:5000/a/b", None)),
            ("oci://[::1]:5000/a", registry("[::1]:5000/a", None)),
            ("oci-layout:out", layout("out", None)),
            ("oci-layout:/tmp/x:1.2", layout("/tmp/x", Some("1.2"))),
            ("oci-layout:./a:b/c", layout("./a:b/c", None)),
            ("oci-layout:x:9", layout("x", Some("9"))),
            ("file:/tmp/x", Target::File { dir: "/tmp/x".into() }),
            ("file:///tmp/x", Target::File { dir: "/tmp/x".into() }),
            ("file:out", Target::File { dir: "out".into() }),
        ];
        for (text, expected) in cases {
            assert_eq!(text.parse::<Target>().as_ref(), Ok(&expected), "{text}");
        }
    }

    #[test]
    fn invalid_targets_are_refused() {
        let long = format!("oci://h/{}:1", "a".repeat(256));
        for text in [
            "",
            "x",
            "http://h/p",
            "oci://",
            "oci:///p",
            "oci://h:1:2/p",
            "oci://h/P:1",
            "oci://h/a//b:1",
            "oci://h/a_-b:1",
            "oci://h/a:",
            "oci://h/a:.x",
            "oci://h/a@sha256:00",
            "oci://u:p@h/a",
            "oci://h h/a",
            "oci-layout:",
            "oci-layout:d:.",
            "file:",
            "oci://h/a..b:1",
            "oci://-h/a",
            "oci://h:99999/a",
            "oci://[::1/a",
            long.as_str(),
        ] {
            assert!(text.parse::<Target>().is_err(), "{text}");
        }
    }

    #[test]
    fn a_password_in_front_of_a_host_is_not_shown() {
        let error = "me:s3cret@h.example".parse::<Host>().unwrap_err().to_string();
        assert!(
            !error.contains("s3cret") && error.contains("@h.example"),
            "{error}"
        );
        let error = "me:s3cret@h.example/a/b:1"
            .parse::<Reference>()
            .unwrap_err()
            .to_string();
        assert!(!error.contains("s3cret"), "{error}");
    }

    #[test]
    fn a_version_becomes_the_tag_that_helm_uses() {
        assert_eq!(
            Tag::from_version("1.0.0+build.5").map(|tag| tag.to_string()),
            Ok("1.0.0_build.5".into())
        );
    }

    #[test]
    fn digests_are_lower_case_sha256() {
        let hex = "a".repeat(64);
        assert!(format!("sha256:{hex}").parse::<Digest>().is_ok());
        for bad in [
            hex.clone(),
            format!("sha512:{hex}"),
            format!("sha256:{}", hex.to_uppercase()),
            "sha256:".into(),
        ] {
            assert!(bad.parse::<Digest>().is_err(), "{bad}");
        }
    }

    proptest! {
        #[test]
        fn parsers_never_panic(text in "\\PC{0,80}") {
            let _ = text.parse::<Target>();
            let _ = text.parse::<Reference>();
            let _ = text.parse::<Digest>();
            let _ = text.parse::<Tag>();
            let _ = format!("oci://{text}").parse::<Target>();
            let _ = format!("oci-layout:{text}").parse::<Target>();
        }

        #[test]
        fn a_reference_prints_as_it_was_read(text in "[a-z]{1,8}(:[1-9][0-9]{0,3})?/[a-z0-9]{1,5}(/[a-z0-9]{1,5}){0,3}:[a-zA-Z0-9_][a-zA-Z0-9._-]{0,20}") {
            let reference: Reference = text.parse().unwrap();
            prop_assert_eq!(reference.to_string(), text);
        }
    }
}
