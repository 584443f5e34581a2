//! Locates the chart that a command names: on disk, in a registry or a layout, or on a web server; and fetches it.

use std::path::Path;

use url::Url;

use super::args::repositories::RepositoryFlags;
use super::context::Context;
use super::progress::TerminalProgress;
use crate::diag::{Class, Diagnostic, Diagnostics, Result};
use crate::oci::fetch::WebUser;
use crate::oci::{self, ClientOptions, Credentials, PullOptions, Pulled};
use crate::reference::{ArtifactStore, Locator, Tag};
use crate::repositories::pull as web;
use crate::repositories::web::{VersionRequest, Web};
use crate::semver::Constraint;
use crate::version;

/// The maximum number of versions in a message.
const MAX_SHOWN: usize = 10;

/// The location of a chart.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum ChartLocation {
    /// A folder or an archive.
    Disk,
    /// A registry or a layout.
    Place(Locator),
    /// An archive on a web server.
    Archive(Url),
    /// A chart in a repository with this URL.
    InRepository(String, String),
    /// A chart in the repository with this name in Helm's list.
    InKnown(String, String),
}

impl ChartLocation {
    /// Parses the chart argument; as in Helm, an existing path takes precedence.
    pub(crate) fn of(chart: &str, repositories: &RepositoryFlags) -> Result<Self> {
        let usage = |message: String| Diagnostic::error(Class::Usage, message);
        let has = |schemes: &[&str]| schemes.iter().any(|scheme| chart.starts_with(scheme));
        let elsewhere = has(&["oci://", "oci-layout:", "http://", "https://"]);
        if let Some(repository) = &repositories.repo {
            if elsewhere {
                let one = usage(format!("{chart} is not the name of a chart in {repository}"));
                return Err(one.hint("leave out --repo").into());
            }
            return Ok(Self::InRepository(repository.clone(), chart.to_owned()));
        }
        if has(&["oci://", "oci-layout:"]) {
            let locator = chart
                .parse()
                .map_err(|error| usage(format!("{chart}: {error}")))?;
            return Ok(Self::Place(locator));
        }
        if elsewhere {
            let url = Url::parse(chart).map_err(|error| usage(format!("{chart}: {error}")))?;
            return Ok(Self::Archive(url));
        }
        Ok(match chart.split_once('/') {
            Some((name, rest)) if is_name(name) && is_name(rest) && !Path::new(chart).exists() => {
                Self::InKnown(name.to_owned(), rest.to_owned())
            }
            _ => Self::Disk,
        })
    }
}

fn is_name(text: &str) -> bool {
    !text.is_empty() && !text.starts_with('.') && !text.contains('/')
}

/// The flags that select a fetched chart's version.
pub(crate) struct VersionChoice<'c> {
    pub(crate) version: Option<&'c str>,
    pub(crate) repositories: &'c RepositoryFlags,
}

/// Fetches a chart that is not on disk, with these options.
pub(crate) fn pull(
    source: &ChartLocation,
    choice: &VersionChoice<'_>,
    options: PullOptions,
    client: &ClientOptions,
    context: &Context<'_>,
) -> Result<Pulled> {
    let progress = TerminalProgress::new(context.printer, "pulling");
    let pulled = match source {
        ChartLocation::Disk => Err(Diagnostic::error(Class::Internal, "this chart is on disk").into()),
        ChartLocation::Place(locator) => locate(locator, choice.version).and_then(|(locator, range)| {
            let options = PullOptions { range, ..options };
            oci::pull(&locator, &options, client, context.world, &progress)
                .map_err(|problem| no_such_version(problem, &locator, client, context, &progress))
        }),
        other => from_web(other, choice, &options, client, context, &progress),
    };
    progress.end();
    pulled
}

/// The tag may also be given as a version, but only one of them; a range selects among all tags.
fn locate(chart: &Locator, version: Option<&str>) -> Result<(Locator, Option<Constraint>)> {
    let mut locator = chart.clone();
    let Some(version) = version else {
        return Ok((locator, None));
    };
    let wrong = |message: String| Diagnostic::error(Class::Usage, message);
    if !version::is_valid(version) {
        let range = Constraint::parse(version).map_err(|error| {
            wrong(format!(
                "--version {version:?} is neither a version nor a range: {error}"
            ))
        })?;
        return match locator.at() {
            None => Ok((locator, Some(range))),
            Some(at) => Err(wrong(format!(
                "{} is exact: a range has nothing to choose there",
                chart.place.with(&at)
            ))
            .into()),
        };
    }
    let tag = Tag::from_version(version).map_err(|error| wrong(format!("--version: {error}")))?;
    match &locator.tag {
        Some(other) if *other != tag => Err(wrong(format!(
            "the tag is {:?}, but --version says {version:?}",
            other.as_str()
        ))
        .into()),
        _ => {
            locator.tag = Some(tag);
            Ok((locator, None))
        }
    }
}

/// The error that a tag doesn't exist, with the existing ones.
fn no_such_version(
    problem: Diagnostics,
    locator: &Locator,
    client: &ClientOptions,
    context: &Context<'_>,
    progress: &TerminalProgress,
) -> Diagnostics {
    let (Class::Refused, Some(tag)) = (problem.class(), &locator.tag) else {
        return problem;
    };
    // If the tags can't be listed either, the registry's own error is more useful.
    let Ok(tags) = oci::tags(&locator.place, client, context.world, progress) else {
        return problem;
    };
    if tags.is_empty() || tags.iter().any(|one| one.tag == *tag) {
        return problem;
    }
    let repository = locator.place.to_string();
    let name = repository.rsplit('/').next().unwrap_or(&repository);
    let shown: Vec<String> = tags
        .iter()
        .take(MAX_SHOWN)
        .map(|one| one.tag.to_string())
        .collect();
    let rest = if tags.len() > MAX_SHOWN { ", …" } else { "" };
    let message = format!(
        "{name} has no {}; there are {}{rest}",
        tag.as_str(),
        shown.join(", ")
    );
    let scheme = match locator.place {
        ArtifactStore::Registry(_) => "oci://",
        ArtifactStore::Layout(_) => "",
    };
    Diagnostic::error(Class::Refused, message)
        .hint(format!("`solar-render tags {scheme}{repository}` lists all"))
        .into()
}

fn from_web(
    source: &ChartLocation,
    choice: &VersionChoice<'_>,
    options: &PullOptions,
    client: &ClientOptions,
    context: &Context<'_>,
    progress: &TerminalProgress,
) -> Result<Pulled> {
    refuse_what_registries_have(options)?;
    let list = choice.repositories.known.repository_config.as_deref();
    let user = client.credentials.as_ref().and_then(web_user);
    let web = Web::new(client, list, user, context.world, progress)?;
    let now = context.world.now();
    let (repository, name) = match source {
        ChartLocation::Archive(url) => {
            if choice.version.is_some() {
                let one = Diagnostic::error(
                    Class::Usage,
                    "--version requires a chart that has several versions",
                );
                return Err(one.note(format!("{url} is one archive")).into());
            }
            return web::pull(&web::RemoteChart::Archive(url), options, &web, now);
        }
        ChartLocation::InKnown(repository, name) => {
            let known = web.named(repository).ok_or_else(|| unknown(repository, name))?;
            (known.url.as_str(), name)
        }
        ChartLocation::InRepository(repository, name) => (repository.as_str(), name),
        ChartLocation::Disk | ChartLocation::Place(_) => {
            return Err(Diagnostic::error(Class::Internal, "this chart is not on a web server").into());
        }
    };
    let range = choice
        .version
        .unwrap_or(if options.devel { ">0.0.0-0" } else { "*" });
    let constraint = Constraint::parse(range).map_err(|error| {
        let message = format!("--version {range:?} is neither a version nor a range: {error}");
        Diagnostic::error(Class::Usage, message)
    })?;
    let source = web::RemoteChart::Chart {
        repository,
        name,
        wanted: VersionRequest::Newest(&constraint, range),
    };
    web::pull(&source, options, &web, now)
}

fn unknown(repository: &str, name: &str) -> Diagnostic {
    let message = format!("{repository}/{name} is neither a path nor a chart of a repository in Helm's list");
    Diagnostic::error(Class::Usage, message).hint(format!(
        "`helm repo add {repository} URL`, or `--repo URL {name}`"
    ))
}

fn refuse_what_registries_have(options: &PullOptions) -> Result<()> {
    let given = if options.expect_digest.is_some() {
        "--expect-digest"
    } else if options.verify_by.is_some() {
        "--verify-by"
    } else {
        return Ok(());
    };
    let message = format!("{given} requires oci:// or oci-layout:");
    Err(Diagnostic::error(Class::Usage, message)
        .note("an archive of a web server has no manifest, and cosign does not sign it")
        .hint("--verify asks for a provenance file")
        .into())
}

fn web_user(credentials: &Credentials) -> Option<WebUser> {
    match credentials {
        Credentials::Basic { username, password } => Some(WebUser {
            username: username.clone(),
            password: password.clone(),
        }),
        Credentials::IdentityToken(_) | Credentials::RegistryToken(_) => None,
    }
}
