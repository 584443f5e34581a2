//! Chart repositories on web servers: the names Helm gives them (repositories.yaml), what they hold
//! (index.yaml), and in [`web`] and [`pull`](mod@pull) the archives that are fetched from there.

use std::path::{Path, PathBuf};

use serde::Deserialize;
use url::Url;

use crate::diag::{Class, Diagnostic, Result};
use crate::fsio;
use crate::oci::Secret;
use crate::oci::fetch::WebUser;
use crate::reference::Digest;
use crate::semver::{Constraint, Version};
use crate::source::Source;
use crate::world::World;
use crate::yaml;

pub(crate) mod pull;
pub(crate) mod web;

/// The largest repositories.yaml that is read, in bytes.
const MAX_FILE: usize = 4 << 20;
/// The largest index.yaml that is read, in bytes.
pub(crate) const MAX_INDEX: usize = yaml::Limits::BYTES;

/// One of the repositories that `helm repo add` keeps.
#[derive(Clone, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Known {
    pub(crate) name: String,
    pub(crate) url: String,
    #[serde(default)]
    username: String,
    #[serde(default)]
    password: String,
    #[serde(default)]
    pub(crate) ca_file: PathBuf,
    #[serde(default)]
    pub(crate) cert_file: PathBuf,
    #[serde(default)]
    pub(crate) key_file: PathBuf,
    #[serde(default, rename = "insecure_skip_tls_verify")]
    pub(crate) insecure_skip_tls_verify: bool,
}

#[derive(Deserialize)]
struct File {
    #[serde(default)]
    repositories: Option<Vec<Known>>,
}

/// A version in an index.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Entry {
    pub(crate) version: String,
    pub(crate) url: Url,
    pub(crate) digest: Option<Digest>,
}

/// An entry as it is written.
#[derive(Deserialize)]
struct Raw {
    version: String,
    #[serde(default)]
    urls: Option<Vec<String>>,
    #[serde(default)]
    digest: Option<String>,
}

impl Raw {
    fn resolved(self, base: &Url, query: Option<&str>) -> Option<Entry> {
        let reference = self.urls?.into_iter().next()?;
        let url = Url::parse(&reference).ok().or_else(|| {
            let mut url = base.join(&reference).ok()?;
            url.set_query(query);
            Some(url)
        })?;
        let digest = self.digest.and_then(|text| {
            // Helm does not look at it: one in capitals is still one.
            let text = text.trim().to_ascii_lowercase();
            let hex = text.trim_start_matches("sha256:");
            format!("sha256:{hex}").parse().ok()
        });
        Some(Entry {
            version: self.version,
            url,
            digest,
        })
    }
}

impl Known {
    pub(crate) fn user(&self) -> Option<WebUser> {
        (!self.username.is_empty()).then(|| WebUser {
            username: self.username.clone(),
            password: Secret::new(self.password.as_str()),
        })
    }

    /// Whether it needs TLS of its own.
    pub(crate) fn has_tls(&self) -> bool {
        let set = |path: &Path| !path.as_os_str().is_empty();
        set(&self.ca_file) || set(&self.cert_file) || self.insecure_skip_tls_verify
    }
}

/// Helm's repositories: `given`, else HELM_REPOSITORY_CONFIG, else where Helm has its config.
pub(crate) fn known(given: Option<&Path>, world: &dyn World) -> Result<Vec<Known>> {
    let env = |name| world.env(name).map(PathBuf::from);
    let config = || {
        env("HELM_CONFIG_HOME")
            .or_else(|| Some(env("XDG_CONFIG_HOME")?.join("helm")))
            .or_else(|| Some(world.home()?.join(".config/helm")))
    };
    let path = given.map(Path::to_owned);
    let path = path
        .or_else(|| env("HELM_REPOSITORY_CONFIG"))
        .or_else(|| Some(config()?.join("repositories.yaml")));
    let Some(path) = path.filter(|path| given.is_some() || path.exists()) else {
        return Ok(Vec::new());
    };
    let source = fsio::read_text(&path, MAX_FILE, Class::Config)?;
    let limits = yaml::Limits {
        bytes: MAX_FILE,
        ..yaml::Limits::default()
    };
    let json = yaml::parse(&source, Class::Config, &limits)?.to_value().to_json();
    // The reason could quote a password: it is not told.
    let file: File = serde_json::from_str(&json).map_err(|_| {
        let message = format!("{} is not Helm's list of repositories", path.display());
        Diagnostic::error(Class::Config, message)
    })?;
    Ok(file.repositories.unwrap_or_default())
}

/// As Helm compares the URLs of repositories: a slash at the end does not count.
pub(crate) fn same(one: &str, other: &str) -> bool {
    let plain = |text: &str| text.trim_end_matches('/').to_owned();
    plain(one) == plain(other)
}

/// Where a repository has its index.
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
    Diagnostic::error(Class::Chart, format!("{repository:?} is not a repository's URL"))
}

/// The versions of a chart in an index, newest first. Entries that can't be used are left out.
pub(crate) fn entries(index: Vec<u8>, repository: &str, chart: &str) -> Result<Vec<Entry>> {
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
    let raw = list
        .into_iter()
        .filter_map(|one| serde_json::from_value::<Raw>(one).ok());
    let mut base = base(repository)?;
    if !base.path().ends_with('/') {
        base.set_path(&format!("{}/", base.path()));
    }
    let query = base.query().map(str::to_owned);
    let usable = |raw: Raw| {
        let version = Version::parse(&raw.version).ok()?;
        Some((version, raw.resolved(&base, query.as_deref())?))
    };
    let mut all: Vec<(Version, Entry)> = raw.filter_map(usable).collect();
    all.sort_by(|a, b| b.0.precedence(&a.0));
    Ok(all.into_iter().map(|(_, entry)| entry).collect())
}

/// The newest of these versions that fits; they need no order.
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
            "entries:\n  app:\n  - {{version: 1.0.0, urls: [app-1.0.0.tgz], digest: {digest}}}\n  - {{version: 1.10.0, urls: ['https://cdn.example.com/x.tgz']}}\n  - {{version: nonsense, urls: [x]}}\n  - {{version: 1.2.0, urls: []}}\n  - {{version: v1.9.0, urls: [/top.tgz], digest: sha256:{digest}}}\n"
        );
        let found = entries(index.into_bytes(), "https://h.example.com/charts?x=1", "app").unwrap();
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
        assert!(found[0].digest.is_none() && found[1].digest.is_some() && found[2].digest.is_some());
        let url = index_url("https://h.example.com/charts/?x=1").unwrap();
        assert_eq!(url.as_str(), "https://h.example.com/charts/index.yaml?x=1");
        assert!(index_url("https://u:hunter2@h.example.com").is_err());
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
