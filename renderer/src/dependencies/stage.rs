//! One dependency: resolved, fetched and inspected, before `charts/` is changed.

use std::fs;
use std::path::{Path, PathBuf};

use super::{Dependency, Manager, Mode, Pick, Staged};
use crate::chart::metadata::Metadata;
use crate::chart::{archive, folder};
use crate::diag::{Class, Diagnostic, Diagnostics, Result};
use crate::fsio;
use crate::package::Packer;
use crate::pipeline;
use crate::provenance::{self, Claim};
use crate::reference::{Digest, Repository, Tag};
use crate::repositories::web::{Order, VersionRequest};
use crate::repositories::{check_listed, is_version, newest};
use crate::semver::{Constraint, Version};

/// A fetched archive.
struct Fetched {
    digest: Digest,
    /// Its original file name, which the provenance file names.
    file: String,
    provenance: Option<Vec<u8>>,
    /// Its source, for messages.
    place: String,
    /// Its name and version in the registry or index.
    listed: (String, String),
}

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
        let (digest, place, listed) = if let Some(path) = repository.strip_prefix("file://") {
            let digest = self.pack(chart, path, draft, &packed, above)?;
            (digest, repository.to_owned(), None)
        } else {
            let fetched = match repository.strip_prefix("oci://") {
                Some(rest) => self.of_registry(rest, dependency, pick, &packed)?,
                None => self.of_web(repository, dependency, pick, &packed)?,
            };
            self.check_provenance(&fetched)?;
            (fetched.digest, fetched.place, Some(fetched.listed))
        };
        let reader =
            fs::File::open(&packed).map_err(|error| fsio::cannot("read", &packed, &error, Class::Io))?;
        let found = archive::inspect_reader(std::io::BufReader::new(reader), &place)?.metadata;
        check_found(dependency, pick, &found, &place)?;
        if let Some(listed) = &listed {
            check_listed(&place, listed, &found)?;
        }
        let file = format!("{}-{}.tgz", found.name, found.version);
        fs::rename(&packed, draft.join(&file))
            .map_err(|error| fsio::cannot("write", draft, &error, Class::Io))?;
        Ok(Staged {
            file: Some(file),
            locked: dependency.locked(&found.version, listed.is_some().then_some(&digest)),
            digest: Some(digest),
        })
    }

    /// Packs a local chart folder, after installing its own dependencies.
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
        let threads = crate::parallel::processors();
        let prepared = pipeline::from_folder(
            &folder,
            pipeline::VersionOverrides::default(),
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

    fn of_registry(&self, base: &str, dependency: &Dependency, pick: &Pick, to: &Path) -> Result<Fetched> {
        let wrong =
            |error: crate::reference::ReferenceError| Diagnostic::error(Class::Chart, error.to_string());
        let repository: Repository = format!("{}/{}", base.trim_end_matches('/'), dependency.name)
            .parse()
            .map_err(wrong)?;
        let fetcher = self.web.fetcher();
        let (version, expected) = match pick {
            Pick::Locked(version, expected) => (version.clone(), expected.as_ref()),
            // As in Helm, an exact version is used without listing versions.
            Pick::Newest(_) if Version::parse(&dependency.version).is_ok() => {
                (dependency.version.clone(), None)
            }
            Pick::Newest(constraint) => {
                let tags = fetcher.tags(&repository)?;
                let versions: Vec<String> = tags.iter().map(|tag| tag.as_str().replace('_', "+")).collect();
                let newest = newest(versions.iter().map(String::as_str), constraint);
                let newest = newest.ok_or_else(|| none_fits(dependency, &repository.to_string()))?;
                (newest.to_owned(), None)
            }
        };
        let file = format!("{}-{version}.tgz", dependency.name);
        let tag = Tag::from_version(&version).map_err(wrong)?;
        let place = format!("oci://{repository}:{tag}");
        let listed = (dependency.name.clone(), version);
        // The provenance file is only in the registry.
        let signed = self.reach.keyring.is_some();
        if let Some(digest) = expected.filter(|_| !signed)
            && fetcher.cached(digest, to)?
        {
            return Ok(Fetched {
                digest: digest.clone(),
                file,
                provenance: None,
                place,
                listed,
            });
        }
        let (digest, provenance) = fetcher
            .chart(&repository, &tag, expected, signed, to)
            .map_err(|failure| changed(failure.into(), expected))?;
        Ok(Fetched {
            digest,
            file,
            provenance,
            place,
            listed,
        })
    }

    fn of_web(&self, repository: &str, dependency: &Dependency, pick: &Pick, to: &Path) -> Result<Fetched> {
        let (wanted, expected) = match pick {
            Pick::Newest(constraint) => (VersionRequest::Newest(constraint, &dependency.version), None),
            Pick::Locked(version, expected) => (VersionRequest::Exact(version), expected.as_ref()),
        };
        let listed = |version: &str| (dependency.name.clone(), version.to_owned());
        let signed = self.reach.keyring.is_some();
        if let (Pick::Locked(version, _), Some(digest)) = (pick, expected.filter(|_| !signed))
            && self.web.fetcher().cached(digest, to)?
        {
            return Ok(Fetched {
                digest: digest.clone(),
                file: String::new(),
                provenance: None,
                place: format!("{} {version} of {repository}", dependency.name),
                listed: listed(version),
            });
        }
        let order = Order {
            to,
            expected,
            provenance: signed,
        };
        let got = self
            .web
            .chart(repository, &dependency.name, &wanted, order)
            .map_err(|problem| changed(problem, expected))?;
        Ok(Fetched {
            file: got.file_name(),
            place: got.shown(),
            listed: got.listed.unwrap_or_else(|| listed(&dependency.version)),
            digest: got.digest,
            provenance: got.provenance,
        })
    }

    fn check_provenance(&self, fetched: &Fetched) -> Result<()> {
        let Some(keyring) = self.reach.keyring else {
            return Ok(());
        };
        let Some(text) = &fetched.provenance else {
            return Err(provenance::missing(&fetched.file).into());
        };
        let place = format!("{}.prov", fetched.file);
        let claim = Claim {
            file: &fetched.file,
            digest: &fetched.digest,
            place: &place,
            provenance: text,
        };
        let signer = provenance::verify(&claim, keyring, self.reach.world.now())?;
        let line = format!("{} is signed by {}", fetched.file, signer.fingerprint);
        self.reach.progress.trace(&line);
        Ok(())
    }
}

/// A dependency without a repository is a folder in `charts/`.
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
            "charts/{} has version {}, expected {}",
            dependency.name, found.version, dependency.version
        );
        return Err(Diagnostic::error(Class::Chart, message).into());
    }
    Ok(Staged {
        file: None,
        // As in Helm: the range, not the version found.
        locked: dependency.locked(&dependency.version, None),
        digest: None,
    })
}

/// Checks that the archive is the requested chart.
fn check_found(dependency: &Dependency, pick: &Pick, found: &Metadata, place: &str) -> Result<()> {
    let Metadata { name, version, .. } = found;
    if *name != dependency.name {
        let message = format!("{place} holds the chart {name:?}, expected {:?}", dependency.name);
        return Err(Diagnostic::error(Class::Chart, message).into());
    }
    let parsed = Version::parse(version).ok();
    let fits = match pick {
        Pick::Newest(constraint) => parsed.is_some_and(|version| constraint.check(&version)),
        Pick::Locked(wanted, _) if dependency.repository.starts_with("file://") => {
            *wanted == *version
                || Constraint::parse(wanted)
                    .ok()
                    .zip(parsed)
                    .is_some_and(|(constraint, version)| constraint.check(&version))
        }
        Pick::Locked(wanted, _) => is_version(version, wanted),
    };
    if fits {
        return Ok(());
    }
    let message = format!("{place} has version {version}, expected {}", dependency.version);
    Err(Diagnostic::error(Class::Chart, message).into())
}

fn none_fits(dependency: &Dependency, place: &str) -> Diagnostic {
    let message = format!(
        "{place} has no version of {} that fits {:?}",
        dependency.name, dependency.version
    );
    Diagnostic::error(Class::Refused, message).note("pre-releases match only ranges that name one (^1.2.0-0)")
}

/// Reports an archive that differs from the lock's.
fn changed(problem: Diagnostics, expected: Option<&Digest>) -> Diagnostics {
    let list = problem.into_vec().into_iter();
    list.map(|one| match (one.class, expected) {
        (Class::Digest, Some(_)) => one
            .note("the lock holds the archive to a digest, and its version has other bytes now")
            .hint("if that is meant, `dependency update` takes it over"),
        _ => one,
    })
    .collect()
}
