//! The Helm that `compare` runs: where it is, its version, and an environment in which it finds nobody's settings.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use tempfile::TempDir;

use super::as_helm::VARIABLE;
use super::child_process::{self, RunLimits, TimedRun};
use super::compare::QUIET;
use super::context::Context;
use crate::diag::{Class, Diagnostic, Diagnostics, Result};
use crate::fsio;

/// Helm's homes, which are temporary unless the environment names them.
const HOMES: [&str; 3] = ["HELM_CONFIG_HOME", "HELM_CACHE_HOME", "HELM_DATA_HOME"];
/// What changes our own messages, or writes a result where only the command itself may.
const NOT_FOR_CHILDREN: [&str; 4] = ["POD_NAME", "GITHUB_ACTIONS", "FORCE_COLOR", "CLICOLOR_FORCE"];
/// How much one run of Helm or of ours may take. Three outputs are in memory at a time for each processor: Helm's first,
/// its last, and ours.
const LIMITS: RunLimits = RunLimits {
    time: Duration::from_secs(300),
    output: 64 << 20,
};
/// The system's number for a file that is no program: `ENOEXEC`.
const NO_PROGRAM: i32 = 8;
/// How long `version` may take.
const VERSION_TIME: Duration = Duration::from_secs(60);

/// A Helm that was found and answers.
pub(crate) struct HelmProgram {
    pub(crate) path: PathBuf,
    /// `v4.3.1`
    pub(crate) version: String,
    /// Ourselves.
    own: PathBuf,
    home: TempDir,
    /// Whether it was said once that a run takes long.
    said: AtomicBool,
}

impl HelmProgram {
    /// By the flag, SOLAR_HELM or the PATH.
    pub(crate) fn find(given: Option<&Path>, context: &Context<'_>) -> Result<Self> {
        let unknown = |error: std::io::Error| {
            let message = format!("can't find this program itself: {}", fsio::reason(&error));
            Diagnostics::from(Diagnostic::error(Class::Io, message))
        };
        let own = std::env::current_exe().map_err(unknown)?;
        let path = match (given, context.world.env(VARIABLE)) {
            (Some(path), _) => named(path, "--helm", &own)?,
            (None, Some(path)) => named(Path::new(&path), VARIABLE, &own)?,
            (None, None) => on_path(&context.world.env("PATH").unwrap_or_default(), &own)?,
        };
        let home = tempfile::tempdir()
            .map_err(|error| fsio::cannot("make", Path::new("a temporary folder"), &error, Class::Io))?;
        let mut helm = Self {
            path,
            version: String::new(),
            own,
            home,
            said: AtomicBool::new(false),
        };
        helm.version = helm.ask_version(context)?;
        Ok(helm)
    }

    fn ask_version(&self, context: &Context<'_>) -> Result<String> {
        let limits = RunLimits {
            time: VERSION_TIME,
            ..LIMITS
        };
        let words = ["version", "--template", "{{.Version}}"];
        let asked = self.start(self.command(context).args(words), limits, context)?;
        let version = asked.run.stdout.trim();
        if asked.run.code == Some(0) && version.starts_with('v') && !version.contains(char::is_whitespace) {
            return Ok(version.to_owned());
        }
        let message = format!(
            "{} is not Helm: `version` does not print a version",
            self.path.display()
        );
        let mut lines = asked.run.stderr.lines().filter(|line| !line.trim().is_empty());
        let said = lines.next().map(str::to_owned);
        let one = Diagnostic::error(Class::Usage, message);
        Err(said.into_iter().fold(one, Diagnostic::note).into())
    }

    /// Runs Helm.
    pub(crate) fn run<W: AsRef<std::ffi::OsStr>>(
        &self,
        words: impl IntoIterator<Item = W>,
        context: &Context<'_>,
    ) -> Result<TimedRun> {
        self.start(self.command(context).args(words), LIMITS, context)
    }

    fn command(&self, context: &Context<'_>) -> Command {
        let mut command = Command::new(&self.path);
        for name in HOMES.iter().filter(|name| context.world.env(name).is_none()) {
            command.env(name, self.home.path().join(name));
        }
        command
    }

    /// Runs ourselves.
    pub(crate) fn run_own<W: AsRef<std::ffi::OsStr>>(
        &self,
        words: impl IntoIterator<Item = W>,
        context: &Context<'_>,
    ) -> Result<TimedRun> {
        use std::os::unix::process::CommandExt as _;
        // By another name it is another program.
        let mut command = Command::new(&self.own);
        self.start(command.arg0("solar-render").args(words), LIMITS, context)
    }

    fn start(&self, command: &mut Command, limits: RunLimits, context: &Context<'_>) -> Result<TimedRun> {
        for name in NOT_FOR_CHILDREN {
            command.env_remove(name);
        }
        let program = command.get_program().display().to_string();
        let begin = context.world.uptime();
        let is_cancelled = || {
            let is_late = context.world.uptime().saturating_sub(begin) > QUIET;
            if is_late && !self.said.swap(true, Ordering::Relaxed) {
                let limit = limits.time.as_secs();
                context
                    .printer
                    .wait(&format!("{program} runs, for {limit} s at most"));
            }
            context.signals.caught().is_some()
        };
        child_process::run(command, limits, context.world, &is_cancelled).map_err(|error| {
            let program = Path::new(command.get_program());
            // A file that is no program, or not one for this user, was named wrongly, too.
            match error.kind() {
                ErrorKind::PermissionDenied => cannot_run(program, &error),
                _ if error.raw_os_error() == Some(NO_PROGRAM) => cannot_run(program, &error),
                _ => fsio::cannot("run", program, &error, Class::Usage),
            }
        })
    }
}

fn cannot_run(program: &Path, error: &std::io::Error) -> Diagnostics {
    let message = format!("can't run {}: {}", program.display(), fsio::reason(error));
    Diagnostic::error(Class::Usage, message).into()
}

fn is_own(path: &Path, own: &Path) -> bool {
    let real = |path: &Path| path.canonicalize().ok();
    real(path).is_some_and(|path| Some(path) == real(own))
}

/// A Helm that was named.
fn named(path: &Path, by: &str, own: &Path) -> Result<PathBuf> {
    let refuse = |message: String| Err(Diagnostics::from(Diagnostic::error(Class::Usage, message)));
    if is_own(path, own) {
        return refuse(format!("{by}: {} is solar-render itself", path.display()));
    }
    match path.is_file() {
        true => Ok(path.to_owned()),
        false => refuse(format!("{by}: there is no program {}", path.display())),
    }
}

/// The first on the PATH that is not ourselves by that name.
fn on_path(path: &str, own: &Path) -> Result<PathBuf> {
    let all: Vec<PathBuf> = std::env::split_paths(path)
        .map(|folder| folder.join("helm"))
        .collect();
    if let Some(found) = all.iter().find(|path| path.is_file() && !is_own(path, own)) {
        return Ok(found.clone());
    }
    let mut one = Diagnostic::error(Class::Usage, "there is no Helm to compare with").note(format!(
        "searched: --helm (not given), {VARIABLE} (not set), `helm` on the PATH ({path})"
    ));
    for path in all.iter().filter(|path| is_own(path, own)) {
        one = one.note(format!("{} is solar-render itself", path.display()));
    }
    Err(one
        .hint("--helm PATH names it; https://helm.sh/docs/intro/install has it")
        .into())
}
