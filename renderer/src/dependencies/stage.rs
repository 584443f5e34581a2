//! One dependency found, fetched and looked into, before anything is put in place.

use std::fs;
use std::path::{Path, PathBuf};
use std::rc::Rc;

use super::repositories::{self, Entry, Known};
use super::{Dependency, Manager, Mode, Pick, Staged, place};
use crate::chart::{archive, folder};
use crate::diag::{Class, Diagnostic, Diagnostics, Result};
use crate::fsio;
use crate::oci::Failure;
use crate::oci::fetch::Fetcher;
use crate::package::Packer;
use crate::pipeline;
use crate::reference::{Digest, Repository, Tag};
use crate::semver::{Constraint, Version};

impl Manager<'_> {
    /// A dependency as an archive in `draft`.
    pub(super) fn stage(
        &self,
        chart: &Path,
        dependency: &Dependency,
        pick: &Pick,
        draft: &Path,
        above: &mut Vec<PathBuf>,
    ) -> Result<Staged> {
        let repository = dependency.repository.as_str();
        if repository.is_empty() {
            return local(chart, dependency, pick);
        }
        let packed = draft.join("part");
        let (digest, lockable) = if let Some(path) = repository.strip_prefix("file://") {
            (self.pack(chart, path, draft, &packed, above)?, false)
        } else if let Some(rest) = repository.strip_prefix("oci://") {
            (self.of_registry(rest, dependency, pick, &packed)?, true)
        } else {
            (self.of_web(repository, dependency, pick, &packed)?, true)
        };
        let found = archive::inspect(&packed)?.metadata;
        check_found(dependency, pick, (&found.name, &found.version))?;
        let file = format!("{}-{}.tgz", found.name, found.version);
        fs::rename(&packed, draft.join(&file))
            .map_err(|error| fsio::cannot("write", draft, &error, Class::Io))?;
        Ok(Staged {
            file: Some(file),
            locked: dependency.locked(&found.version, lockable.then_some(&digest)),
            digest: Some(digest),
        })
    }

    /// A chart folder beside this one, with its own dependencies in place.
    fn pack(
        &self,
        chart: &Path,
        path: &str,
        draft: &Path,
        to: &Path,
        above: &mut Vec<PathBuf>,
    ) -> Result<Digest> {
        let folder = chart.join(path);
        self.chart(&folder, Mode::Build, above)?;
        let stamp = pipeline::stamp(self.reach.world)?;
        let threads = std::thread::available_parallelism().map_or(1, usize::from);
        let prepared = pipeline::from_folder(
            &folder,
            pipeline::Versions::default(),
            stamp,
            &mut Packer::new(threads),
        )?;
        let artifact = prepared.artifact;
        let missing = || Diagnostic::error(Class::Internal, "the chart has no archive");
        let digest = artifact.layer().ok_or_else(missing)?.digest.clone();
        let into = draft.join("packed");
        crate::oci::push(
            &artifact,
            &crate::oci::Destination::File { path: into.clone() },
            &crate::oci::PushOptions {
                if_exists: crate::oci::IfExists::Replace,
                ..crate::oci::PushOptions::default()
            },
            self.reach.client,
            self.reach.world,
            self.reach.progress,
        )?;
        fs::rename(&into, to).map_err(|error| fsio::cannot("write", to, &error, Class::Io))?;
        Ok(digest)
    }

    fn of_registry(&self, base: &str, dependency: &Dependency, pick: &Pick, to: &Path) -> Result<Digest> {
        let wrong =
            |error: crate::reference::ReferenceError| Diagnostic::error(Class::Chart, error.to_string());
        let repository: Repository = format!("{}/{}", base.trim_end_matches('/'), dependency.name)
            .parse()
            .map_err(wrong)?;
        let (version, expected) = match pick {
            Pick::Locked(version, expected) => (version.clone(), expected.clone()),
            // As in Helm, one exact version is not looked for.
            Pick::Newest(_) if Version::parse(&dependency.version).is_ok() => {
                (dependency.version.clone(), None)
            }
            Pick::Newest(constraint) => {
                let tags = self.fetcher.tags(&repository)?;
                let versions: Vec<String> = tags.iter().map(|tag| tag.as_str().replace('_', "+")).collect();
                let newest = repositories::newest(versions.iter().map(String::as_str), constraint);
                (
                    newest
                        .ok_or_else(|| none_fits(dependency, &repository.to_string()))?
                        .to_owned(),
                    None,
                )
            }
        };
        if let Some(digest) = &expected
            && self.fetcher.cached(digest, to)?
        {
            return Ok(digest.clone());
        }
        let tag = Tag::from_version(&version).map_err(wrong)?;
        self.fetcher
            .chart(&repository, &tag, expected.as_ref(), to)
            .map_err(|failure| changed(failure, expected.as_ref()))
    }

    fn of_web(&self, repository: &str, dependency: &Dependency, pick: &Pick, to: &Path) -> Result<Digest> {
        let known = self
            .known
            .iter()
            .find(|known| repositories::same(&known.url, repository));
        if let Pick::Locked(_, Some(digest)) = pick
            && self.fetcher.cached(digest, to)?
        {
            return Ok(digest.clone());
        }
        let own;
        let fetcher = match known.filter(|known| known.has_tls()) {
            Some(known) => {
                own = place::with_tls(self.reach.client, known);
                &Fetcher::new(&own, self.reach.world, self.reach.progress)?
            }
            None => &self.fetcher,
        };
        let home = repositories::index_url(repository)?;
        if !matches!(home.scheme(), "http" | "https") {
            let message = format!("the repository {repository:?} is of a kind that is not known");
            return Err(Diagnostic::error(Class::Chart, message)
                .hint("oci://, https://, http://, file:// and @NAME are")
                .into());
        }
        let user = known.and_then(Known::user);
        let entries = self.index(fetcher, repository, &home, dependency, user.as_ref())?;
        let (entry, expected) = match pick {
            Pick::Newest(constraint) => {
                let newest = repositories::newest(entries.iter().map(|one| one.version.as_str()), constraint);
                (
                    entries.iter().find(|one| Some(one.version.as_str()) == newest),
                    None,
                )
            }
            Pick::Locked(version, expected) => {
                let wanted = Version::parse(version).ok();
                let is_it = |one: &&Entry| {
                    one.version == *version
                        || Version::parse(&one.version)
                            .ok()
                            .zip(wanted.as_ref())
                            .is_some_and(|(one, wanted)| one.precedence(wanted).is_eq())
                };
                (entries.iter().find(is_it), expected.clone())
            }
        };
        let entry = entry.ok_or_else(|| none_fits(dependency, repository))?;
        // Credentials stay with the server that they are for.
        let user = user.filter(|_| entry.url.origin() == home.origin());
        if entry.url.scheme() == "oci" {
            let message = format!("{repository} points to {}, a registry", entry.url);
            return Err(Diagnostic::error(Class::Refused, message)
                .hint("name the registry as the dependency's repository")
                .into());
        }
        let held = expected.as_ref().or(entry.digest.as_ref());
        fetcher
            .archive(&entry.url, user.as_ref(), held, to)
            .map_err(|failure| changed(failure, expected.as_ref()))
    }

    fn index(
        &self,
        fetcher: &Fetcher<'_>,
        repository: &str,
        url: &reqwest::Url,
        dependency: &Dependency,
        user: Option<&crate::oci::fetch::WebUser>,
    ) -> Result<Rc<Vec<Entry>>> {
        let key = (repository.to_owned(), dependency.name.clone());
        if let Some(entries) = self.indexes.borrow().get(&key) {
            return Ok(Rc::clone(entries));
        }
        let text = fetcher.text(url, user, repositories::MAX_INDEX)?;
        let entries = Rc::new(repositories::entries(text, repository, &dependency.name)?);
        self.indexes.borrow_mut().insert(key, Rc::clone(&entries));
        Ok(entries)
    }
}

/// One without a repository lies in `charts/` as a folder.
fn local(chart: &Path, dependency: &Dependency, pick: &Pick) -> Result<Staged> {
    let found = folder::chart_yaml(&chart.join("charts").join(&dependency.name))?;
    let constraint = match pick {
        Pick::Newest(constraint) => constraint.clone(),
        Pick::Locked(version, _) => Constraint::parse(version)
            .map_err(|error| Diagnostic::error(Class::Chart, format!("{version:?}: {error}")))?,
    };
    let fits = Version::parse(&found.version).is_ok_and(|version| constraint.check(&version));
    if !fits {
        let message = format!(
            "charts/{} has version {}, wanted is {}",
            dependency.name, found.version, dependency.version
        );
        return Err(Diagnostic::error(Class::Chart, message).into());
    }
    Ok(Staged {
        file: None,
        // As Helm has it: the range, not the version found.
        locked: dependency.locked(&dependency.version, None),
        digest: None,
    })
}

/// Whether the archive is the chart that was asked for.
fn check_found(dependency: &Dependency, pick: &Pick, (name, version): (&str, &str)) -> Result<()> {
    if name != dependency.name {
        let message = format!(
            "the archive holds the chart {name:?}, wanted is {:?}",
            dependency.name
        );
        return Err(Diagnostic::error(Class::Chart, message).into());
    }
    let parsed = Version::parse(version).ok();
    let fits = match pick {
        Pick::Newest(constraint) => parsed.is_some_and(|version| constraint.check(&version)),
        Pick::Locked(wanted, _) if dependency.repository.starts_with("file://") => {
            wanted == version
                || Constraint::parse(wanted)
                    .ok()
                    .zip(parsed)
                    .is_some_and(|(constraint, version)| constraint.check(&version))
        }
        Pick::Locked(wanted, _) => parsed
            .zip(Version::parse(wanted).ok())
            .is_some_and(|(one, other)| one.precedence(&other).is_eq()),
    };
    if fits {
        return Ok(());
    }
    let message = format!(
        "the archive has version {version}, wanted is {}",
        dependency.version
    );
    Err(Diagnostic::error(Class::Chart, message).into())
}

fn none_fits(dependency: &Dependency, place: &str) -> Diagnostic {
    let message = format!(
        "{place} has no version of {} that fits {:?}",
        dependency.name, dependency.version
    );
    Diagnostic::error(Class::Refused, message)
        .note("versions before a release fit only a range that names one")
}

/// Another archive than the lock's: said so.
fn changed(failure: Failure, expected: Option<&Digest>) -> Diagnostics {
    let one = failure.diagnostic();
    match (failure, expected) {
        (Failure::Unexpected { .. }, Some(_)) => one
            .note("the lock holds the archive to a digest, and its version has other bytes now")
            .hint("if that is meant, `dependency update` takes it over")
            .into(),
        (Failure::Unexpected { .. }, None) => one.note("so says the repository's index.yaml").into(),
        _ => one.into(),
    }
}
