//! Chart repositories on web servers: Helm's list of them ([`list`]), their indexes ([`index`]), and archives that are
//! fetched from them ([`web`] and [`pull`](mod@pull)).

use std::path::Path;

use serde::Deserialize;
use url::Url;

use crate::chart::metadata::Metadata;
use crate::credentials::without_credentials;
use crate::diag::{Class, Diagnostic, Result};
use crate::fsio;
use crate::reference::Digest;
use crate::semver::{Constraint, Version};
use crate::source::Source;
use crate::world::World;
use crate::yaml;

#[cfg_attr(
    not(feature = "cli"),
    allow(dead_code, reason = "the commands use more of them")
)]
pub(crate) mod helm_paths;
#[cfg_attr(
    not(feature = "cli"),
    allow(dead_code, reason = "the commands search and make indexes")
)]
pub(crate) mod index;
#[cfg_attr(not(feature = "cli"), allow(dead_code, reason = "the commands change it"))]
pub(crate) mod list;
#[cfg_attr(not(feature = "cli"), allow(dead_code, reason = "the commands pull"))]
pub(crate) mod pull;
pub(crate) mod web;

pub(crate) use list::{RepositoryEntry, RepositoryList};

/// The maximum size of index.yaml, in bytes.
pub(crate) const MAX_INDEX: usize = yaml::Limits::BYTES;
/// The maximum length of an invalid digest in messages, in characters.
const MAX_SHOWN_DIGEST: usize = 80;

/// A version in an index.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct IndexEntry {
    pub(crate) version: String,
    pub(crate) url: Url,
    /// The digest as written: see [`IndexEntry::digest`].
    digest: Option<String>,
}

/// The versions of a chart in an index.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct ChartVersions {
    /// Newest first.
    pub(crate) entries: Vec<IndexEntry>,
    /// The reasons why other entries can't be used.
    pub(crate) unusable: Vec<String>,
}

/// An entry as written.
#[derive(Deserialize)]
struct RawIndexEntry {
    version: String,
    #[serde(default)]
    urls: Option<Vec<String>>,
    #[serde(default)]
    digest: Option<String>,
}

impl RawIndexEntry {
    /// Resolves the entry's URL; `None` if it can't be fetched.
    fn resolved(self, base: &Url, query: Option<&str>) -> Option<IndexEntry> {
        let reference = self.urls?.into_iter().next()?;
        let url = Url::parse(&reference).ok().or_else(|| {
            let mut url = base.join(&reference).ok()?;
            url.set_query(query);
            Some(url)
        })?;
        Some(IndexEntry {
            version: self.version,
            url,
            digest: self.digest,
        })
    }
}

impl IndexEntry {
    /// The archive's digest, if the index has one: 64 hexadecimal digits of either case, with or without `sha256:`.
    /// Helm accepts no others.
    pub(crate) fn digest(&self) -> Result<Option<Digest>> {
        let Some(text) = self
            .digest
            .as_deref()
            .map(str::trim)
            .filter(|text| !text.is_empty())
        else {
            return Ok(None);
        };
        let lower = text.to_ascii_lowercase();
        let hex = lower.strip_prefix("sha256:").unwrap_or(&lower);
        let digest = format!("sha256:{hex}").parse().map_err(|_| {
            let shown: String = text.chars().take(MAX_SHOWN_DIGEST).collect();
            let message = format!(
                "the index has {shown:?} for the digest of version {}",
                self.version
            );
            Diagnostic::error(Class::Protocol, message)
                .note("expected the 64 hexadecimal digits of a SHA-256")
        })?;
        Ok(Some(digest))
    }
}

/// Helm's repositories: from `given`, else HELM_REPOSITORY_CONFIG, else from Helm's config folder.
pub(crate) fn known(given: Option<&Path>, world: &dyn World) -> Result<Vec<RepositoryEntry>> {
    let path = given
        .map(Path::to_owned)
        .or_else(|| helm_paths::repository_config(world));
    let Some(path) = path else {
        return Ok(Vec::new());
    };
    match RepositoryList::read(&path)? {
        Some(list) => Ok(list.repositories),
        None if given.is_some() => {
            let missing = std::io::Error::from(std::io::ErrorKind::NotFound);
            Err(fsio::cannot("read", &path, &missing, Class::Config))
        }
        None => Ok(Vec::new()),
    }
}

/// Compares URLs of repositories as Helm does: a trailing slash is ignored.
pub(crate) fn same(one: &str, other: &str) -> bool {
    let plain = |text: &str| text.trim_end_matches('/').to_owned();
    plain(one) == plain(other)
}

/// The URL of a repository's index.
pub(crate) fn index_url(repository: &str) -> Result<Url> {
    let mut url = base(repository)?;
    url.path_segments_mut()
        .map_err(|()| no_url(repository))?
        .pop_if_empty()
        .push("index.yaml");
    Ok(url)
}

fn base(repository: &str) -> Result<Url> {
    let url = Url::parse(repository).map_err(|_| no_url(repository))?;
    if !url.username().is_empty() || url.password().is_some() {
        let one = Diagnostic::error(Class::Chart, "a repository's URL can't hold credentials");
        return Err(one.hint("`helm repo add` keeps them in repositories.yaml").into());
    }
    Ok(url)
}

fn no_url(repository: &str) -> Diagnostic {
    let shown = without_credentials(repository);
    Diagnostic::error(Class::Chart, format!("{shown:?} is not a repository's URL"))
}

/// The versions of a chart in an index.
pub(crate) fn versions(index: Vec<u8>, repository: &str, chart: &str) -> Result<ChartVersions> {
    let name = format!("{repository}'s index.yaml");
    let source: std::sync::Arc<Source> = fsio::text_of(&name, index, Class::Protocol)?;
    let limits = yaml::Limits::default();
    let node = yaml::parse(&source, Class::Protocol, &limits)?;
    let list = node.get("entries").and_then(|entries| entries.get(chart));
    let Some(list) = list else {
        let message = format!("{repository} has no chart {chart:?}");
        return Err(Diagnostic::error(Class::Refused, message).into());
    };
    let wrong = |_| {
        Diagnostic::error(
            Class::Protocol,
            format!("{name}: the list of {chart} can't be read"),
        )
    };
    let list: Vec<serde_json::Value> = serde_json::from_str(&list.to_value().to_json()).map_err(wrong)?;
    let mut base = base(repository)?;
    if !base.path().ends_with('/') {
        base.set_path(&format!("{}/", base.path()));
    }
    let query = base.query().map(str::to_owned);
    let mut all = Vec::new();
    let mut unusable = Vec::new();
    for (number, one) in list.into_iter().enumerate() {
        match usable(one, &base, query.as_deref()) {
            Ok(entry) => all.push(entry),
            Err(reason) => unusable.push(format!("entry {}: {reason}", number + 1)),
        }
    }
    all.sort_by(|a, b| b.0.precedence(&a.0));
    Ok(ChartVersions {
        entries: all.into_iter().map(|(_, entry)| entry).collect(),
        unusable,
    })
}

/// Parses an entry, or returns why it is invalid.
fn usable(
    entry: serde_json::Value,
    base: &Url,
    query: Option<&str>,
) -> std::result::Result<(Version, IndexEntry), String> {
    let raw: RawIndexEntry = serde_json::from_value(entry).map_err(|error| error.to_string())?;
    let version = Version::parse(&raw.version).map_err(|error| format!("{:?}: {error}", raw.version))?;
    let text = raw.version.clone();
    let entry = raw
        .resolved(base, query)
        .ok_or_else(|| format!("version {text} has no URL"))?;
    Ok((version, entry))
}

/// Whether both are the same version, in different spellings.
pub(crate) fn is_version(one: &str, other: &str) -> bool {
    let parsed = Version::parse(one).ok().zip(Version::parse(other).ok());
    one == other || parsed.is_some_and(|(one, other)| one.precedence(&other).is_eq())
}

/// Checks that an archive is the chart that an index or tag lists: one of another version could be locked, and not be
/// found again.
pub(crate) fn check_listed(place: &str, listed: &(String, String), found: &Metadata) -> Result<()> {
    let (name, version) = listed;
    if *name == found.name && is_version(&found.version, version) {
        return Ok(());
    }
    let message = format!(
        "{place} holds {} {}, and is listed as {name} {version}",
        found.name, found.version
    );
    Err(Diagnostic::error(Class::Protocol, message).into())
}

/// The newest of these versions that matches; in any order.
pub(crate) fn newest<'v>(
    versions: impl Iterator<Item = &'v str>,
    constraint: &Constraint,
) -> Option<&'v str> {
    versions
        .filter_map(|text| Some((Version::parse(text).ok()?, text)))
        .filter(|(version, _)| constraint.check(version))
        .max_by(|a, b| a.0.precedence(&b.0))
        .map(|(_, text)| text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_index_gives_versions_newest_first_with_whole_urls() {
        let digest = "a".repeat(64);
        let index = format!(
            "entries:\n  app:\n  - {{version: 1.0.0, urls: [app-1.0.0.tgz], digest: {digest}}}\n  - {{version: 1.10.0, urls: ['https://cdn.example.com/x.tgz']}}\n  - {{version: nonsense, urls: [x]}}\n  - {{version: 1.2.0, urls: []}}\n  - {{version: v1.9.0, urls: [/top.tgz], digest: sha256:{digest}}}\n  - {{version: 3, urls: [x]}}\n  -\n"
        );
        let found = versions(index.into_bytes(), "https://h.example.com/charts?x=1", "app").unwrap();
        let begins = [
            "entry 3: \"nonsense\"",
            "entry 4: version 1.2.0 has no URL",
            "entry 6: ",
            "entry 7: ",
        ];
        assert_eq!(found.unusable.len(), begins.len());
        for (reason, begin) in found.unusable.iter().zip(begins) {
            assert!(reason.starts_with(begin), "{reason}");
        }
        let found = found.entries;
        let shown: Vec<_> = found
            .iter()
            .map(|one| (one.version.as_str(), one.url.as_str()))
            .collect();
        assert_eq!(
            shown,
            [
                ("1.10.0", "https://cdn.example.com/x.tgz"),
                ("v1.9.0", "https://h.example.com/top.tgz?x=1"),
                ("1.0.0", "https://h.example.com/charts/app-1.0.0.tgz?x=1"),
            ]
        );
        let digests = found.iter().map(|one| one.digest().unwrap().is_some());
        assert_eq!(digests.collect::<Vec<_>>(), [false, true, true]);
        let url = index_url("https://h.example.com/charts/?x=1").unwrap();
        assert_eq!(url.as_str(), "https://h.example.com/charts/index.yaml?x=1");
        assert!(index_url("https://u:hunter2@h.example.com").is_err());
    }

    /// Invalid digests once counted as missing, and the archive was not checked.
    #[test]
    fn a_digest_is_64_hexadecimal_digits_or_the_entry_is_refused() {
        let hex = "0123456789abcdefABCDEF0123456789abcdef0123456789abcdef0123456789";
        let entry = |digest: &str| IndexEntry {
            version: "1.0.0".to_owned(),
            url: Url::parse("https://h/x").unwrap(),
            digest: Some(digest.to_owned()),
        };
        for good in [hex.to_owned(), format!("sha256:{hex}"), format!("SHA256:{hex}")] {
            let digest = entry(&good).digest().unwrap().unwrap();
            assert_eq!(digest.hex(), hex.to_ascii_lowercase());
        }
        assert_eq!(entry("").digest().unwrap(), None);
        for bad in [
            &hex[1..],
            &format!("{hex}0"),
            &format!("sha512:{hex}"),
            &format!("sha256:sha256:{hex}"),
            "latest",
        ] {
            let problem = entry(bad).digest().unwrap_err();
            assert_eq!(problem.class(), Class::Protocol, "{bad}");
        }
    }

    #[test]
    fn the_newest_version_that_fits_is_taken() {
        let versions = ["1.0.0", "1.10.0", "1.9.0", "2.0.0", "1.11.0-rc.1", "latest"];
        for (range, expected) in [
            ("^1", Some("1.10.0")),
            ("<1.10", Some("1.9.0")),
            (">=1.10.1-0 <2", Some("1.11.0-rc.1")),
            ("3", None),
        ] {
            let constraint = Constraint::parse(range).unwrap();
            assert_eq!(newest(versions.into_iter(), &constraint), expected, "{range}");
        }
    }
}
