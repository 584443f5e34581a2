//! The two charts that `diff` compares, and how they are named.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::args::diff::DiffArgs;
use super::args::fetch::FetchFlags;
use super::args::repositories::RepositoryFlags;
use super::chart_location::ChartLocation;
use super::context::Context;
use super::fetch::load_from;
use super::git_revision::chart_at;
use super::wrong_kind::is_archive;
use crate::chart::load::{Loaded, load_files};
use crate::diag::{Class, Diagnostic, Diagnostics, Result};
use crate::parallel::both;
use crate::reference::{ArtifactStore, Locator};

/// A chart, and where it is from.
pub(crate) struct LoadedSide {
    pub(crate) loaded: Arc<Loaded>,
    /// As it was named, with the revision or version: `charts/shop at main`.
    pub(crate) label: String,
    /// Its folder, if it is on disk as it was compared.
    pub(crate) root: Option<PathBuf>,
    /// Whether there is such a chart. One that a revision does not have is empty.
    pub(crate) exists: bool,
}

fn usage(message: impl Into<String>) -> Diagnostic {
    Diagnostic::error(Class::Usage, message)
}

/// What is compared with what.
#[derive(Clone, Copy)]
pub(crate) enum Comparison<'a> {
    /// Two charts.
    Charts(&'a str, &'a str),
    /// A chart with its folder at a revision.
    Revision(&'a str, &'a str),
    /// A chart with its newest release; where it is published, if that is given.
    Release(&'a str, &'a str),
    /// Two versions of a chart.
    Versions(&'a str),
    /// A chart with itself, with other values.
    Values(&'a str),
}

impl<'a> Comparison<'a> {
    /// What the command line asks for.
    ///
    /// # Errors
    /// Class usage: there is nothing to compare, or too much.
    pub(crate) fn of(args: &'a DiffArgs) -> Result<Self> {
        let flags = &args.sides;
        let mut charts: Vec<&str> = args.charts.iter().map(String::as_str).collect();
        let mut published = args.published.as_deref();
        // `diff --published ./shop`: the chart was taken for the flag's value.
        if let ([], Some(chart)) = (charts.as_slice(), published)
            && !chart.is_empty()
            && !is_reference(chart)
        {
            charts.push(chart);
            published = Some("");
        }
        let has_values = !flags.from_values.is_empty() || !flags.to_values.is_empty();
        let has_versions = flags.from_version.is_some() || flags.to_version.is_some();
        match (charts.as_slice(), args.against.as_deref(), published) {
            ([chart], Some(revision), _) => Ok(Self::Revision(chart, revision)),
            ([chart], None, Some(reference)) => Ok(Self::Release(chart, reference)),
            ([chart], None, None) if has_versions => Ok(Self::Versions(chart)),
            ([chart], None, None) if has_values => Ok(Self::Values(chart)),
            ([from, to], None, None) => Ok(Self::Charts(from, to)),
            ([chart], None, None) => Err(usage(format!("there is nothing to compare {chart} with"))
                .hint(
                    "name a second chart, or a revision with --against, or --published, or other values with \
                     --to-values",
                )
                .into()),
            ([_, other, ..], Some(_), _) => Err(one_chart("--against", other)),
            ([_, other, ..], _, Some(_)) => Err(one_chart("--published", other)),
            _ => Err(usage("no chart is given")
                .hint("`solar-render diff OLD NEW`, or `solar-render diff CHART --against main`")
                .into()),
        }
    }

    /// The older side and the newer one.
    pub(crate) fn sides(self, args: &DiffArgs, context: &Context<'_>) -> Result<[LoadedSide; 2]> {
        let flags = &args.sides;
        let (from_version, to_version) = (flags.from_version.as_deref(), flags.to_version.as_deref());
        match self {
            Self::Revision(chart, revision) => against(chart, revision, args, context),
            Self::Release(chart, reference) => with_published(chart, reference, args, context),
            Self::Versions(chart) => pair(
                || named(chart, from_version, &args.fetch, context),
                || named(chart, to_version, &args.fetch, context),
            ),
            Self::Charts(from, to) => pair(
                || named(from, from_version, &args.fetch, context),
                || named(to, to_version, &args.fetch, context),
            ),
            Self::Values(chart) => {
                let one = named(chart, None, &args.fetch, context)?;
                let other = LoadedSide {
                    loaded: Arc::clone(&one.loaded),
                    label: one.label.clone(),
                    root: one.root.clone(),
                    exists: true,
                };
                Ok([
                    one.with_values(&flags.from_values),
                    other.with_values(&flags.to_values),
                ])
            }
        }
    }
}

fn one_chart(flag: &str, other: &str) -> Diagnostics {
    usage(format!("{flag} compares one chart, and {other} is a second")).into()
}

/// Both at once; the mistakes of both.
fn pair(
    from: impl Fn() -> Result<LoadedSide> + Sync,
    to: impl FnOnce() -> Result<LoadedSide>,
) -> Result<[LoadedSide; 2]> {
    match both(from, to) {
        (Ok(from), Ok(to)) => Ok([from, to]),
        (Err(problem), Err(other)) => Err(without_repetition(problem, other)),
        (Err(problem), _) | (_, Err(problem)) => Err(problem),
    }
}

/// What is wrong with both sides. A chart that is compared with itself is wrong once.
pub(crate) fn without_repetition(problem: Diagnostics, other: Diagnostics) -> Diagnostics {
    let text = |one: &Diagnostic| {
        (
            one.message.clone(),
            one.location.as_ref().map(ToString::to_string),
        )
    };
    let known: Vec<_> = problem.iter().map(text).collect();
    let rest = other.into_vec().into_iter();
    let rest = rest.filter(|one| !known.contains(&text(one)));
    problem.iter().cloned().chain(rest).collect()
}

impl LoadedSide {
    fn with_values(mut self, files: &[String]) -> Self {
        if !files.is_empty() {
            self.label = format!("{} with {}", self.label, files.join(", "));
        }
        self
    }
}

/// A chart that is named by a path, a reference, a URL or its name in a repository.
pub(crate) fn named(
    chart: &str,
    version: Option<&str>,
    fetch: &FetchFlags,
    context: &Context<'_>,
) -> Result<LoadedSide> {
    let source = location(chart, &fetch.repositories)?;
    if let (Some(version), ChartLocation::Disk) = (version, &source) {
        return Err(usage(format!("{chart} is on disk, and has no other version {version}"))
            .hint("--from-version and --to-version choose versions of a chart in a registry or a repository")
            .into());
    }
    let version = version.or(fetch.version.as_deref());
    let loaded = load_from(&source, Path::new(chart), version, fetch, context)?;
    let is_folder = source == ChartLocation::Disk && Path::new(chart).is_dir();
    let label = match source {
        ChartLocation::Disk => chart.to_owned(),
        _ if version.is_some() => format!("{chart} {}", loaded.details.version),
        _ => chart.to_owned(),
    };
    Ok(LoadedSide {
        loaded,
        label,
        root: is_folder.then(|| PathBuf::from(chart)),
        exists: true,
    })
}

/// As for other commands; with `--repo` a path is still one, if it doesn't read as a chart's name.
fn location(chart: &str, repositories: &RepositoryFlags) -> Result<ChartLocation> {
    let is_path = chart.contains('/') || chart.starts_with('.') || is_archive(Path::new(chart));
    match repositories.repo.is_some() && is_path && Path::new(chart).exists() {
        true => Ok(ChartLocation::Disk),
        false => ChartLocation::of(chart, repositories),
    }
}

/// A chart on disk, for flags that compare it with another state of itself.
fn on_disk(chart: &str, flag: &str, args: &DiffArgs, context: &Context<'_>) -> Result<LoadedSide> {
    let repositories = RepositoryFlags {
        repo: None,
        ..args.fetch.repositories.clone()
    };
    let source = ChartLocation::of(chart, &repositories)?;
    if source != ChartLocation::Disk {
        return Err(usage(format!(
            "{flag} compares a chart on disk, and {chart} is elsewhere"
        ))
        .hint("name both charts: `solar-render diff OLD NEW`")
        .into());
    }
    let loaded = load_from(&source, Path::new(chart), None, &args.fetch, context)?;
    Ok(LoadedSide {
        loaded,
        label: chart.to_owned(),
        root: Path::new(chart).is_dir().then(|| PathBuf::from(chart)),
        exists: true,
    })
}

fn against(chart: &str, revision: &str, args: &DiffArgs, context: &Context<'_>) -> Result<[LoadedSide; 2]> {
    let folder = Path::new(chart);
    if folder.is_file() {
        return Err(usage(format!(
            "--against compares a chart's folder, and {chart} is a file"
        ))
        .into());
    }
    let to = on_disk(chart, "--against", args, context)?;
    let older = chart_at(folder, revision, &to.loaded, context)?;
    if older.is_none() {
        let message = format!("{chart} does not exist at {revision}: all of it is new");
        let one = Diagnostic::warning(Class::Usage, message);
        context.printer.warn(
            &one.hint("a chart that was moved is compared as two folders: `git worktree add ../old REV`"),
        );
    }
    let from = LoadedSide {
        exists: older.is_some(),
        loaded: older.map_or_else(|| empty(to.loaded.name()), Ok)?,
        label: format!("{chart} at {revision}"),
        root: None,
    };
    Ok([from, to])
}

/// A chart that renders to nothing.
fn empty(name: &str) -> Result<Arc<Loaded>> {
    let chart = serde_json::json!({"apiVersion": "v2", "name": name, "version": "0.0.0"});
    load_files(vec![("Chart.yaml".to_owned(), chart.to_string().into_bytes())])
}

fn is_reference(text: &str) -> bool {
    text.starts_with("oci://") || text.starts_with("oci-layout:")
}

/// Compares with the newest release: at a reference, or in the repository of `--repo`.
fn with_published(
    chart: &str,
    reference: &str,
    args: &DiffArgs,
    context: &Context<'_>,
) -> Result<[LoadedSide; 2]> {
    let to = on_disk(chart, "--published", args, context)?;
    let name = to.loaded.name();
    let (source, shown) = match (reference, &args.fetch.repositories.repo) {
        ("", Some(repository)) => (
            ChartLocation::InRepository(repository.clone(), name.to_owned()),
            format!("{name} of {repository}"),
        ),
        ("", None) => {
            return Err(usage("--published doesn't say where the chart is published")
                .hint(format!(
                    "`--published oci://HOST/PATH`, where {name} is below it, or `--published --repo URL`"
                ))
                .into());
        }
        (reference, None) if is_reference(reference) => {
            let locator = published_at(reference, name)?;
            let shown = match &locator.place {
                ArtifactStore::Registry(repository) => format!("oci://{repository}"),
                ArtifactStore::Layout(_) => reference.to_owned(),
            };
            (ChartLocation::Place(locator), shown)
        }
        (_, Some(_)) => {
            return Err(usage("--published takes a reference or --repo, not both").into());
        }
        (reference, None) => {
            return Err(usage(format!("--published {reference} is no reference"))
                .hint("`--published oci://HOST/PATH` or `--published oci-layout:DIR`")
                .into());
        }
    };
    let version = args
        .sides
        .from_version
        .as_deref()
        .or(args.fetch.version.as_deref());
    let loaded = load_from(&source, Path::new(name), version, &args.fetch, context);
    let loaded = loaded.map_err(|problem| unpublished(problem, name))?;
    if loaded.name() != name {
        let message = format!("{shown} is the chart {}, and {chart} is {name}", loaded.name());
        return Err(usage(message).into());
    }
    let from = LoadedSide {
        label: format!("{shown} {}", loaded.details.version),
        loaded,
        root: None,
        exists: true,
    };
    Ok([from, to])
}

/// A chart that is not there may be a new one.
fn unpublished(problem: Diagnostics, name: &str) -> Diagnostics {
    let hint = format!("a chart that was never published has nothing to compare with: was {name}?");
    let list = problem.into_vec().into_iter();
    list.map(|one| match one.class {
        Class::Refused => one.hint(hint.clone()),
        _ => one,
    })
    .collect()
}

/// Where charts are published to, the chart's name is appended; a reference that ends with it is the chart itself.
fn published_at(reference: &str, name: &str) -> Result<Locator> {
    let parsed = |text: &str| -> Result<Locator> {
        let found = text.parse();
        found.map_err(|error| usage(format!("--published {text}: {error}")).into())
    };
    let below = || parsed(&format!("{}/{name}", reference.trim_end_matches('/')));
    match parsed(reference) {
        Ok(locator) if locator.at().is_none() && last_name(&locator.place) != Some(name) => below(),
        // A registry without a path is no repository, but charts may be published there.
        Err(problem) => below().map_err(|_| problem),
        found => found,
    }
}

/// The last element of a place's path.
fn last_name(place: &ArtifactStore) -> Option<&str> {
    match place {
        ArtifactStore::Registry(repository) => Some(repository.name()),
        ArtifactStore::Layout(folder) => folder.file_name()?.to_str(),
    }
}
