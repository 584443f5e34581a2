//! Resolves, fetches and locks the dependencies in a chart's `charts/`, as `helm dependency` does.
//!
//! In: a chart folder and the options for registries and repositories. Out: archives in `charts/`, and Chart.lock. All
//! archives are fetched and inspected before the first is installed, so a failure leaves `charts/` unchanged; each is
//! then installed atomically. A lock has the digests of the archives: a changed archive is refused. Charts named by
//! `file://` get their own dependencies first.

use std::cell::RefCell;
use std::path::{Path, PathBuf};

#[cfg(feature = "cli")]
pub(crate) use self::install::timestamp;
pub use self::lock::{Dependency, Lock, wanted};
use crate::chart::{MAX_CHART_DEPTH, folder};
use crate::diag::{Class, Diagnostic, Diagnostics, Result};
use crate::fsio::{self, AtomicDir};
use crate::oci::{AmbientHost, ClientOptions, Progress};
use crate::provenance::Keyring;
use crate::reference::Digest;
use crate::repositories::web::Web;
use crate::semver::Constraint;
use crate::world::World;

mod install;
mod lock;
mod stage;

/// What to do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mode {
    /// Install the locked versions; without a lock as [`Mode::Update`].
    Build,
    /// Install the newest matching versions, and write a new lock.
    Update,
}

/// The access to the dependencies of a chart.
#[derive(Clone, Copy)]
pub struct Reach<'a> {
    /// Registries and web servers.
    pub client: &'a ClientOptions,
    /// The path of repositories.yaml, if it differs from Helm's default.
    pub repositories: Option<&'a Path>,
    /// Only accept archives that a key of this keyring signed; except those of `file://`, which are packed here.
    pub keyring: Option<&'a Keyring>,
    /// The environment.
    pub world: &'a dyn World,
    /// Receives the progress.
    pub progress: &'a dyn Progress,
}

/// The result for one archive.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Placed {
    /// The path in `charts/`.
    pub path: PathBuf,
    /// Its name, its version, and its source.
    pub chart: (String, String, String),
    /// The archive's digest.
    pub digest: Digest,
    /// In bytes.
    pub size: u64,
    /// What was done.
    pub change: Change,
}

/// The change of an archive.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Change {
    /// It was installed.
    Added,
    /// It existed with the same bytes.
    Kept,
    /// It was removed, since it is no dependency any more.
    Removed,
}

/// A chart whose dependencies are installed.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct BuiltDependencies {
    /// The chart's folder.
    pub chart: PathBuf,
    /// Its archives; those of charts that it names by `file://` are in earlier results of their own.
    pub archives: Vec<Placed>,
    /// The lock, if it was written.
    pub lock: Option<PathBuf>,
    /// The warnings for the user.
    pub warnings: Vec<Diagnostic>,
}

/// Installs a chart's dependencies. Blocks until it is done.
///
/// The environment's credentials are not sent to registries that the chart names, unless [`AmbientHost::Only`] or
/// REGISTRY_HOST allows it: otherwise anyone who may change a Chart.yaml could obtain them.
///
/// # Errors
/// An invalid chart or lock; a dependency that is not found, unreachable, or differs from the lock. `charts/` and the
/// lock are then unchanged.
pub fn run(chart: &Path, mode: Mode, reach: Reach<'_>) -> Result<Vec<BuiltDependencies>> {
    let mut all = run_each(&[chart.to_owned()], mode, reach, &|_| ())?;
    all.pop().unwrap_or(Ok(Vec::new()))
}

/// As [`run`], for several charts, which share indexes of repositories; a failed one does not stop the others. `begins`
/// is called with each chart's index before it. A chart that two others name by `file://` is in the first one's result.
///
/// # Errors
/// Only if nothing can be done at all; otherwise each chart has a result of its own, in their order.
pub fn run_each(
    charts: &[PathBuf],
    mode: Mode,
    reach: Reach<'_>,
    begins: &dyn Fn(usize),
) -> Result<Vec<Result<Vec<BuiltDependencies>>>> {
    let client = match reach.client.ambient_host {
        AmbientHost::Target => &ClientOptions {
            ambient_host: AmbientHost::Nobody,
            ..reach.client.clone()
        },
        AmbientHost::Only(_) | AmbientHost::Nobody => reach.client,
    };
    let reach = Reach { client, ..reach };
    let manager = Manager {
        web: Web::new(
            reach.client,
            reach.repositories,
            None,
            reach.world,
            reach.progress,
        )?,
        reach,
        done: RefCell::default(),
    };
    let one = |(number, chart): (usize, &PathBuf)| {
        begins(number);
        let before = manager.done.borrow().len();
        manager.chart(chart, mode, &mut Vec::new())?;
        Ok(manager.done.borrow().iter().skip(before).cloned().collect())
    };
    Ok(charts.iter().enumerate().map(one).collect())
}

struct Manager<'a> {
    reach: Reach<'a>,
    web: Web<'a>,
    done: RefCell<Vec<BuiltDependencies>>,
}

/// An archive that is ready to be installed.
struct Staged {
    /// The file name of the staged archive, `<name>-<version>.tgz`; `None` for a folder in `charts/`.
    file: Option<String>,
    locked: Dependency,
    digest: Option<Digest>,
}

/// The requested version of a dependency.
enum Pick {
    /// The newest matching version.
    Newest(Constraint),
    /// This version, with this digest if there is one.
    Locked(String, Option<Digest>),
}

impl Manager<'_> {
    fn chart(&self, chart: &Path, mode: Mode, above: &mut Vec<PathBuf>) -> Result<()> {
        let root = chart
            .canonicalize()
            .map_err(|error| fsio::cannot("read", chart, &error, Class::Chart))?;
        if above.contains(&root) {
            let message = format!("{} depends on itself", chart.display());
            return Err(Diagnostic::error(Class::Chart, message).into());
        }
        if above.len() >= MAX_CHART_DEPTH {
            let message = format!("charts depend on each other deeper than {MAX_CHART_DEPTH} times");
            return Err(Diagnostic::error(Class::Chart, message).into());
        }
        if self
            .done
            .borrow()
            .iter()
            .any(|done| done.chart.canonicalize().is_ok_and(|path| path == root))
        {
            return Ok(());
        }
        above.push(root);
        let result = self.chart_below(chart, mode, above);
        above.pop();
        result
    }

    fn chart_below(&self, chart: &Path, mode: Mode, above: &mut Vec<PathBuf>) -> Result<()> {
        let metadata = folder::chart_yaml(chart)?;
        let mut wanted = lock::wanted(&metadata);
        let is_v1 = metadata
            .config
            .windows(17)
            .any(|piece| piece == b"\"apiVersion\":\"v1\"");
        let lock_path = chart.join(if is_v1 { "requirements.lock" } else { "Chart.lock" });
        let old = match mode {
            Mode::Build => read_lock(&lock_path)?,
            // It is rewritten, even if it is invalid.
            Mode::Update => read_lock(&lock_path).unwrap_or_default(),
        };
        if wanted.is_empty() {
            return Ok(());
        }
        let as_written = lock::hash_v2(&wanted);
        self.resolve_names(&mut wanted)?;
        let picks = match &old {
            Some(lock) if mode == Mode::Build => {
                let current = lock.digest == lock::hash(&wanted, &lock.dependencies)
                    || is_v1 && lock.digest == as_written;
                if !current {
                    return Err(out_of_sync(&lock_path).into());
                }
                locked_picks(lock, &lock_path)?
            }
            _ => newest_picks(chart, &wanted)?,
        };
        let draft =
            AtomicDir::create_in(chart).map_err(|error| fsio::cannot("write", chart, &error, Class::Io))?;
        let mut staged = Vec::new();
        let mut problems = Vec::new();
        for (dependency, pick) in &picks {
            match self.stage(chart, dependency, pick, draft.path(), above) {
                Ok(one) => staged.push(one),
                Err(problem) => {
                    let found = problem.into_vec().into_iter();
                    problems.extend(found.map(|one| named(one, chart, dependency)));
                }
            }
        }
        Diagnostics::or(problems, ())?;
        let mut done = install::place(chart, draft, &staged)?;
        let locked: Vec<Dependency> = staged.into_iter().map(|one| one.locked).collect();
        if mode == Mode::Update || old.is_none() {
            done.lock = self.write_lock(&lock_path, old, &wanted, locked)?;
        }
        self.done.borrow_mut().push(done);
        Ok(())
    }

    /// `@name` and `alias:name` become the URLs that Helm knows for them.
    fn resolve_names(&self, wanted: &mut [Dependency]) -> Result<()> {
        let mut problems = Vec::new();
        for one in wanted {
            let text = one.repository.as_str();
            let Some(name) = text.strip_prefix('@').or_else(|| text.strip_prefix("alias:")) else {
                continue;
            };
            match self.web.named(name) {
                Some(known) => one.repository = known.url.clone(),
                None => {
                    let message = format!("the repository {text:?} of {} is unknown", one.name);
                    problems.push(
                        Diagnostic::error(Class::Chart, message)
                            .hint(format!("`helm repo add {name} URL`, or write its URL")),
                    );
                }
            }
        }
        Diagnostics::or(problems, ())
    }

    /// An equal lock is not rewritten.
    fn write_lock(
        &self,
        path: &Path,
        old: Option<Lock>,
        wanted: &[Dependency],
        locked: Vec<Dependency>,
    ) -> Result<Option<PathBuf>> {
        let digest = lock::hash(wanted, &locked);
        if old.is_some_and(|old| old.digest == digest && old.dependencies == locked) {
            return Ok(None);
        }
        if path
            .symlink_metadata()
            .is_ok_and(|metadata| metadata.is_symlink())
        {
            let message = format!("{} is a link, and was not written", path.display());
            return Err(Diagnostic::error(Class::Chart, message).into());
        }
        let lock = Lock {
            generated: install::timestamp(self.reach.world)?,
            digest,
            dependencies: locked,
        };
        fsio::write_atomically(path, lock.to_yaml().as_bytes())
            .map_err(|error| fsio::cannot("write", path, &error, Class::Io))?;
        Ok(Some(path.to_owned()))
    }
}

fn read_lock(path: &Path) -> Result<Option<Lock>> {
    if !path.exists() {
        return Ok(None);
    }
    Lock::parse(&fsio::read_text(path, lock::MAX_LOCK, Class::Chart)?)
}

fn out_of_sync(lock: &Path) -> Diagnostic {
    let message = format!(
        "{} does not belong to the dependencies of Chart.yaml",
        lock.display()
    );
    Diagnostic::error(Class::Chart, message)
        .note("they were changed after it was written")
        .hint("`dependency update` chooses versions anew")
}

fn locked_picks(lock: &Lock, path: &Path) -> Result<Vec<(Dependency, Pick)>> {
    let mut problems = Vec::new();
    let mut picks = Vec::new();
    for one in &lock.dependencies {
        match one.content() {
            Ok(content) => picks.push((one.clone(), Pick::Locked(one.version.clone(), content))),
            Err(reason) => {
                let message = format!("{}: {}: {reason}", path.display(), one.name);
                problems.push(Diagnostic::error(Class::Chart, message));
            }
        }
    }
    Diagnostics::or(problems, picks)
}

fn newest_picks(chart: &Path, wanted: &[Dependency]) -> Result<Vec<(Dependency, Pick)>> {
    let mut problems = Vec::new();
    let mut picks = Vec::new();
    for one in wanted {
        match Constraint::parse(&one.version) {
            Ok(constraint) => picks.push((one.clone(), Pick::Newest(constraint))),
            Err(error) => {
                let message = format!(
                    "dependency {:?}: {:?} is neither a version nor a range: {error}",
                    one.name, one.version
                );
                problems.push(named(Diagnostic::error(Class::Chart, message), chart, one));
            }
        }
    }
    Diagnostics::or(problems, picks)
}

/// Names the dependency: by its line in Chart.yaml for errors in the chart, otherwise in a note.
fn named(one: Diagnostic, chart: &Path, dependency: &Dependency) -> Diagnostic {
    if one.location.is_some() {
        return one;
    }
    let one = match folder::declared(chart, &dependency.name) {
        Some(place) if matches!(one.class, Class::Chart | Class::Refused) => return one.at(place),
        _ => one,
    };
    if one.message.contains(&dependency.name) {
        return one;
    }
    one.note(format!(
        "the dependency is {} {}",
        dependency.name, dependency.version
    ))
}
