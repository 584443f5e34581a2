//! Charts from web servers: found in a repository's index.yaml, or named by a URL.
//!
//! In: the client options, and Helm's list of repositories. Out: an archive in a file, its digest, and the provenance
//! file if requested. Credentials are only sent to the server they are for.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::path::Path;
use std::rc::Rc;

use url::Url;

use super::{ChartVersions, IndexEntry, RepositoryEntry};
use crate::chart::metadata::Metadata;
use crate::diag::{Class, Diagnostic, Diagnostics, Result};
use crate::oci::fetch::{Fetcher, WebUser};
use crate::oci::{ClientOptions, Progress, TlsOptions};
use crate::provenance::MAX_PROVENANCE;
use crate::reference::Digest;
use crate::semver::Constraint;
use crate::world::World;

/// How many versions an error lists.
const MAX_SHOWN: usize = 10;

/// How web servers are reached.
pub(crate) struct Web<'a> {
    client: &'a ClientOptions,
    world: &'a dyn World,
    progress: &'a dyn Progress,
    known: Vec<RepositoryEntry>,
    /// The credentials of the one server that is named.
    user: Option<WebUser>,
    fetcher: Fetcher<'a>,
    indexes: RefCell<Indexes>,
}

/// The versions of charts, by repository and chart.
type Indexes = BTreeMap<(String, String), Rc<ChartVersions>>;

/// The requested version of a chart.
#[derive(Debug, Clone)]
pub(crate) enum VersionRequest<'w> {
    /// The newest matching version, and the range as text.
    Newest(&'w Constraint, &'w str),
    /// This version.
    Exact(&'w str),
}

/// What to fetch, and where to save it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Order<'o> {
    /// The file for the archive.
    pub(crate) to: &'o Path,
    /// The expected digest of the archive.
    pub(crate) expected: Option<&'o Digest>,
    /// Whether to fetch the provenance file, if there is one.
    pub(crate) provenance: bool,
}

/// A fetched archive.
pub(crate) struct FetchedArchive {
    /// The archive's URL.
    pub(crate) url: Url,
    pub(crate) digest: Digest,
    pub(crate) provenance: Option<Vec<u8>>,
    /// Name and version of the chart in the index.
    pub(crate) listed: Option<(String, String)>,
}

impl<'a> Web<'a> {
    /// Reads Helm's list of repositories; makes no connections. `user` is for the one server that is named; if there
    /// may be several, the credentials in Helm's list are used.
    pub(crate) fn new(
        client: &'a ClientOptions,
        repositories: Option<&Path>,
        user: Option<WebUser>,
        world: &'a dyn World,
        progress: &'a dyn Progress,
    ) -> Result<Self> {
        Ok(Self {
            client,
            world,
            progress,
            known: super::known(repositories, world)?,
            user,
            fetcher: Fetcher::new(client, world, progress)?,
            indexes: RefCell::default(),
        })
    }

    /// The fetcher, which also accesses registries.
    pub(crate) fn fetcher(&self) -> &Fetcher<'a> {
        &self.fetcher
    }

    /// The repository with this name in Helm's list.
    pub(crate) fn named(&self, name: &str) -> Option<&RepositoryEntry> {
        self.known.iter().find(|known| known.name == name)
    }

    /// Fetches the archive of a chart from a repository.
    ///
    /// # Errors
    /// No such chart or version; a server that is unreachable, or refuses the request; an archive that differs from the
    /// expected or listed digest; an I/O error.
    pub(crate) fn chart(
        &self,
        repository: &str,
        name: &str,
        wanted: &VersionRequest<'_>,
        order: Order<'_>,
    ) -> Result<FetchedArchive> {
        let home = super::index_url(repository)?;
        check_scheme(&home)?;
        let known = self
            .known
            .iter()
            .find(|known| super::same(&known.url, repository));
        self.with_server(known, |fetcher| {
            let user = self.user(known);
            let versions = self.index(fetcher, repository, &home, name, user.as_ref())?;
            let entry = choose(&versions.entries, wanted)
                .ok_or_else(|| none_fits(repository, name, wanted, &versions))?;
            if entry.url.scheme() == "oci" {
                let message = format!("{repository} points to {}, a registry", entry.url);
                return Err(Diagnostic::error(Class::Refused, message)
                    .hint("name that chart by its oci:// reference instead")
                    .into());
            }
            if !matches!(entry.url.scheme(), "http" | "https") {
                let message = format!(
                    "{repository} points to {}, which is not on a web server",
                    entry.url
                );
                return Err(Diagnostic::error(Class::Refused, message).into());
            }
            // Credentials are only sent to the server that they are for.
            let user = user.filter(|_| entry.url.origin() == home.origin());
            let digest = entry.digest().map_err(|problem| in_index(problem, repository))?;
            let by_index = order.expected.is_none();
            let order = Order {
                expected: order.expected.or(digest.as_ref()),
                ..order
            };
            let got = get(fetcher, &entry.url, user.as_ref(), order).map_err(|problem| match by_index {
                true => noted(problem, "according to the repository's index.yaml"),
                false => problem,
            })?;
            Ok(FetchedArchive {
                listed: Some((name.to_owned(), entry.version.clone())),
                ..got
            })
        })
    }

    /// Fetches the text of a repository's index.yaml.
    ///
    /// # Errors
    /// A server that is unreachable, or refuses the request.
    #[cfg_attr(not(feature = "cli"), allow(dead_code, reason = "the commands keep indexes"))]
    pub(crate) fn index_text(&self, repository: &RepositoryEntry) -> Result<Vec<u8>> {
        let url = super::index_url(&repository.url)?;
        check_scheme(&url)?;
        self.with_server(Some(repository), |fetcher| {
            let user = repository.user();
            Ok(fetcher.text(&url, user.as_ref(), super::MAX_INDEX)?)
        })
    }

    /// The archive at a URL.
    ///
    /// # Errors
    /// As [`Web::chart`].
    #[cfg_attr(not(feature = "cli"), allow(dead_code, reason = "the commands pull"))]
    pub(crate) fn at(&self, url: &Url, order: Order<'_>) -> Result<FetchedArchive> {
        check_scheme(url)?;
        if !url.username().is_empty() || url.password().is_some() {
            let one = Diagnostic::error(Class::Usage, "a chart's URL can't hold credentials");
            return Err(one.hint("use `--username` with `--password-stdin`").into());
        }
        let holds = |known: &&RepositoryEntry| {
            let base = super::base(&known.url).ok();
            base.is_some_and(|base| base.origin() == url.origin() && url.path().starts_with(base.path()))
        };
        let known = self.known.iter().find(holds);
        self.with_server(known, |fetcher| {
            get(fetcher, url, self.user(known).as_ref(), order)
        })
    }

    fn user(&self, known: Option<&RepositoryEntry>) -> Option<WebUser> {
        self.user
            .clone()
            .or_else(|| known.and_then(RepositoryEntry::user))
    }

    /// Uses the repository's own certificates, if it has any.
    fn with_server<T>(
        &self,
        known: Option<&RepositoryEntry>,
        work: impl Fn(&Fetcher<'_>) -> Result<T>,
    ) -> Result<T> {
        let Some(known) = known.filter(|known| known.has_tls()) else {
            return work(&self.fetcher);
        };
        let client = with_tls(self.client, known);
        work(&Fetcher::new(&client, self.world, self.progress)?)
    }

    fn index(
        &self,
        fetcher: &Fetcher<'_>,
        repository: &str,
        url: &Url,
        chart: &str,
        user: Option<&WebUser>,
    ) -> Result<Rc<ChartVersions>> {
        let key = (repository.to_owned(), chart.to_owned());
        if let Some(versions) = self.indexes.borrow().get(&key) {
            return Ok(Rc::clone(versions));
        }
        let text = fetcher.text(url, user, super::MAX_INDEX)?;
        let versions = Rc::new(super::versions(text, repository, chart)?);
        for reason in &versions.unusable {
            self.progress
                .trace(&format!("{repository}'s index.yaml: {chart}: {reason}: skipped"));
        }
        self.indexes.borrow_mut().insert(key, Rc::clone(&versions));
        Ok(versions)
    }
}

impl FetchedArchive {
    /// The URL for messages: without the user and the query, which may contain secrets.
    pub(crate) fn shown(&self) -> String {
        let query = if self.url.query().is_some() { "?…" } else { "" };
        let origin = self.url.origin().ascii_serialization();
        format!("{origin}{}{query}", self.url.path())
    }

    /// Checks that the archive is the chart that the index lists.
    #[cfg_attr(not(feature = "cli"), allow(dead_code, reason = "the commands pull"))]
    pub(crate) fn check(&self, found: &Metadata) -> Result<()> {
        match &self.listed {
            Some(listed) => super::check_listed(&self.shown(), listed, found),
            None => Ok(()),
        }
    }

    /// The archive's file name on the server, which a provenance file lists.
    pub(crate) fn file_name(&self) -> String {
        let last = self.url.path_segments().and_then(|mut all| all.next_back());
        last.unwrap_or_default().replace("%2B", "+").replace("%2b", "+")
    }
}

fn get(fetcher: &Fetcher<'_>, url: &Url, user: Option<&WebUser>, order: Order<'_>) -> Result<FetchedArchive> {
    // Before the archive: an unsigned one need not be fetched.
    let provenance = if order.provenance {
        beside(fetcher, url, user)?
    } else {
        None
    };
    let digest = match order.expected {
        Some(digest) if fetcher.cached(digest, order.to)? => digest.clone(),
        expected => fetcher.archive(url, user, expected, order.to)?,
    };
    Ok(FetchedArchive {
        url: url.clone(),
        digest,
        provenance,
        listed: None,
    })
}

/// Fetches the provenance file of an archive; `None` if the server has none.
fn beside(fetcher: &Fetcher<'_>, url: &Url, user: Option<&WebUser>) -> Result<Option<Vec<u8>>> {
    let mut url = url.clone();
    url.set_path(&format!("{}.prov", url.path()));
    match fetcher.text(&url, user, MAX_PROVENANCE) {
        Ok(text) => Ok(Some(text)),
        Err(failure) if failure.is_missing() => Ok(None),
        Err(failure) => Err(failure.into()),
    }
}

fn check_scheme(url: &Url) -> Result<()> {
    if matches!(url.scheme(), "http" | "https") {
        return Ok(());
    }
    let message = format!("{:?} is not the URL of a web server", url.as_str());
    let one = Diagnostic::error(Class::Chart, message);
    Err(one
        .hint("supported are oci://, https://, http://, file:// and @NAME")
        .into())
}

fn choose<'e>(entries: &'e [IndexEntry], wanted: &VersionRequest<'_>) -> Option<&'e IndexEntry> {
    match wanted {
        VersionRequest::Newest(constraint, _) => {
            let newest = super::newest(entries.iter().map(|one| one.version.as_str()), constraint);
            entries.iter().find(|one| Some(one.version.as_str()) == newest)
        }
        VersionRequest::Exact(version) => entries
            .iter()
            .find(|one| super::is_version(&one.version, version)),
    }
}

fn in_index(problem: Diagnostics, repository: &str) -> Diagnostics {
    let list = problem.into_vec().into_iter();
    list.map(|one| one.note(format!("in {repository}'s index.yaml")))
        .collect()
}

fn none_fits(
    repository: &str,
    name: &str,
    wanted: &VersionRequest<'_>,
    versions: &ChartVersions,
) -> Diagnostic {
    let message = match wanted {
        VersionRequest::Newest(_, range) => {
            format!("{repository} has no version of {name} that fits {range:?}")
        }
        VersionRequest::Exact(version) => format!("{repository} has no version {version} of {name}"),
    };
    let all = &versions.entries;
    let shown: Vec<&str> = all
        .iter()
        .take(MAX_SHOWN)
        .map(|one| one.version.as_str())
        .collect();
    let rest = if all.len() > MAX_SHOWN { ", …" } else { "" };
    let there = match shown.is_empty() {
        true => String::new(),
        false => format!("; there are {}{rest}", shown.join(", ")),
    };
    let one = Diagnostic::error(Class::Refused, format!("{message}{there}"));
    let has_pre_releases = all.iter().any(|one| one.version.contains('-'));
    let one = match wanted {
        VersionRequest::Newest(..) if has_pre_releases => {
            one.note("pre-releases match only ranges that name one (^1.2.0-0)")
        }
        _ => one,
    };
    let unusable = &versions.unusable;
    match unusable.as_slice() {
        [] => one,
        [reason] => one.note(format!("an entry of its index can't be used: {reason}")),
        [first, ..] => one.note(format!(
            "{} entries of its index can't be used; {first}",
            unusable.len()
        )),
    }
}

fn noted(problem: Diagnostics, note: &str) -> Diagnostics {
    let list = problem.into_vec().into_iter();
    list.map(|one| match one.class {
        Class::Digest => one.note(note),
        _ => one,
    })
    .collect()
}

/// The client options with the certificates that Helm's list has for a repository.
fn with_tls(client: &ClientOptions, known: &RepositoryEntry) -> ClientOptions {
    let path = |path: &Path| (!path.as_os_str().is_empty()).then(|| path.to_owned());
    ClientOptions {
        tls: TlsOptions {
            ca_file: path(&known.ca_file).or_else(|| client.tls.ca_file.clone()),
            insecure_skip_verify: known.insecure_skip_tls_verify || client.tls.insecure_skip_verify,
            cert_file: path(&known.cert_file).or_else(|| client.tls.cert_file.clone()),
            key_file: path(&known.key_file).or_else(|| client.tls.key_file.clone()),
        },
        ..client.clone()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_in_a_url_are_not_shown() {
        let got = FetchedArchive {
            url: Url::parse("https://me:s3cret@h.example/a-1.0.0.tgz?token=s3cret").unwrap(),
            digest: Digest::from_sha256(&[0; 32]),
            provenance: None,
            listed: None,
        };
        assert_eq!(got.shown(), "https://h.example/a-1.0.0.tgz?…");
    }
}
