//! The output of the process: one document on standard output, diagnostics on standard error, the result file and the
//! termination message.

use std::io::{self, IsTerminal as _, Write as _};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use super::annotation;
use super::args::global::{ColorChoice, GlobalFlags, OutputFormat};
use crate::diag::{Class, Diagnostic, Diagnostics};
use crate::draw::Style;
use crate::fsio;
use crate::report;
use crate::source::Source;
use crate::world::World;
use crate::yaml;

/// Where Kubernetes reads a container's termination message.
const TERMINATION_LOG: &str = "/dev/termination-log";

/// The printer. Cheap to clone; the clones make sure that the result is printed once.
#[derive(Clone)]
pub(crate) struct Printer {
    output: OutputFormat,
    style: Style,
    /// That of standard output.
    output_style: Style,
    quiet: bool,
    verbose: bool,
    progress: bool,
    result_file: Option<PathBuf>,
    in_a_pod: bool,
    /// Whether it runs in a step of GitHub Actions.
    in_github: bool,
    annotated: Arc<AtomicBool>,
    finished: Arc<AtomicBool>,
    waiting: Arc<Mutex<Option<String>>>,
}

/// The result of printing the final result.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Finish {
    /// The result was written everywhere it was requested.
    Done,
    /// It could not be written to some output.
    Lost,
    /// It was printed before.
    Before,
}

impl Printer {
    /// Creates it from the user's flags and the kind of output.
    pub(crate) fn new(global: &GlobalFlags, world: &dyn World) -> Self {
        let terminal = io::stderr().is_terminal();
        let style = |is_terminal: bool| {
            let color = match global.color {
                ColorChoice::Always => true,
                ColorChoice::Never => false,
                ColorChoice::Auto => has_colors(is_terminal, world),
            };
            if color { Style::Ansi } else { Style::Plain }
        };
        let in_a_pod = world.env("POD_NAME").is_some() && Path::new(TERMINATION_LOG).exists();
        Self {
            output: global.output,
            style: style(terminal),
            output_style: style(io::stdout().is_terminal()),
            quiet: global.quiet,
            verbose: global.verbose,
            progress: terminal && !global.quiet,
            result_file: global.result_file.clone(),
            in_a_pod,
            in_github: world.env("GITHUB_ACTIONS").as_deref() == Some("true"),
            annotated: Arc::default(),
            finished: Arc::default(),
            waiting: Arc::default(),
        }
    }

    /// Checks that the result file can be written, before anything else is done.
    pub(crate) fn check_result_file(&self) -> Result<(), Diagnostics> {
        let Some(path) = &self.result_file else {
            return Ok(());
        };
        std::fs::OpenOptions::new()
            .create(true)
            .append(true)
            .open(path)
            .map(|_| ())
            .map_err(|error| fsio::cannot("write the result to", path, &error, Class::Io))
    }

    /// The printer without the termination message, if the pod is not its own.
    pub(crate) fn without_termination_message(self) -> Self {
        Self {
            in_a_pod: false,
            ..self
        }
    }

    /// The printer without a result file.
    pub(crate) fn without_result_file(self) -> Self {
        Self {
            result_file: None,
            ..self
        }
    }

    /// Whether progress may be displayed.
    pub(crate) fn shows_progress(&self) -> bool {
        self.progress
    }

    /// Whether `-v` was given.
    pub(crate) fn is_verbose(&self) -> bool {
        self.verbose
    }

    /// Whether the result is requested as JSON anywhere but in the termination message.
    pub(crate) fn wants_json(&self) -> bool {
        matches!(self.output, OutputFormat::Json | OutputFormat::Yaml) || self.result_file.is_some()
    }

    /// The form of the result.
    pub(crate) fn format(&self) -> OutputFormat {
        self.output
    }

    /// Whether a result for people has colors.
    pub(crate) fn output_style(&self) -> Style {
        self.output_style
    }

    /// The result file.
    pub(crate) fn result_file(&self) -> Option<&Path> {
        self.result_file.as_deref()
    }

    /// Whether only errors are printed: `--quiet`.
    pub(crate) fn is_quiet(&self) -> bool {
        self.quiet
    }

    /// Reports the pending request, unless `--quiet` is given, and records it for the report of an interrupted run.
    pub(crate) fn wait(&self, line: &str) {
        *self.waiting.lock().unwrap_or_else(PoisonError::into_inner) = Some(line.to_owned());
        if !self.quiet {
            // A progress line may be displayed.
            let clear = if self.progress { "\r\x1b[K" } else { "" };
            to_stderr(&format!("{clear}waiting: {line}\n"));
        }
    }

    /// The last pending request.
    pub(crate) fn waiting(&self) -> Option<String> {
        self.waiting
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }

    /// A warning, unless `--quiet` suppresses it.
    pub(crate) fn warn(&self, warning: &Diagnostic) {
        if !self.quiet {
            to_stderr(&warning.draw(self.style));
            self.annotate(warning, None);
        }
    }

    /// Prints an error before the end; the result repeats it in short.
    pub(crate) fn error(&self, error: &Diagnostic) {
        to_stderr(&error.draw(self.style));
        self.annotate(error, None);
    }

    /// Prints an annotation for GitHub's runner. It reads both streams; standard output is for the result.
    pub(crate) fn annotate(&self, one: &Diagnostic, title: Option<&str>) {
        if self.in_github {
            to_stderr(&annotation::annotation(one, title));
        }
    }

    /// Records that the errors of the result have been annotated.
    pub(crate) fn errors_are_annotated(&self) {
        self.annotated.store(true, Ordering::SeqCst);
    }

    /// Prints errors, then the result in its form to every requested output; `short` where its length is limited.
    pub(crate) fn finish(&self, json: &str, short: &str, text: &str, problems: &[&Diagnostics]) -> Finish {
        if self.finished.swap(true, Ordering::SeqCst) {
            return Finish::Before;
        }
        for one in problems.iter().flat_map(|problems| problems.iter()) {
            to_stderr(&one.draw(self.style));
            if !self.annotated.load(Ordering::SeqCst) {
                self.annotate(one, None);
            }
        }
        let mut lost = false;
        if let Some(path) = &self.result_file {
            lost |= self.complain(
                "write the result to",
                path,
                fsio::write_over(path, format!("{json}\n").as_bytes()),
            );
        }
        if self.in_a_pod {
            // A mounted file can't be replaced, only written into.
            let path = Path::new(TERMINATION_LOG);
            lost |= self.complain("write the result to", path, std::fs::write(path, short));
        }
        let written = match self.output {
            // A consumer of only this output must not take it for a success, which the exit code contradicts.
            OutputFormat::Json | OutputFormat::Yaml if lost && problems.is_empty() => {
                let message = "the result could not be written to every requested output";
                to_stdout(&self.document(&report::with_loss(json, message)))
            }
            OutputFormat::Json | OutputFormat::Yaml => to_stdout(&self.document(json)),
            _ => to_stdout(text),
        };
        lost |= self.complain("write to", Path::new("standard output"), written);
        if lost { Finish::Lost } else { Finish::Done }
    }

    /// A line of JSON in the requested form.
    fn document(&self, json: &str) -> String {
        let value = match self.output {
            OutputFormat::Yaml => yaml::parse_json(&Source::new("result", json), &yaml::Limits::default()),
            _ => None,
        };
        value.map_or_else(|| format!("{json}\n"), |node| yaml::write(&node.into_value()))
    }

    /// Prints a line that is not a diagnostic, unless only errors are printed.
    pub(crate) fn notice(&self, line: &str) {
        if !self.quiet {
            to_stderr(&format!("{line}\n"));
        }
    }

    /// Reports a failed write; returns whether it failed.
    fn complain(&self, verb: &str, path: &Path, written: io::Result<()>) -> bool {
        let Err(error) = written else { return false };
        for one in fsio::cannot(verb, path, &error, Class::Io).iter() {
            to_stderr(&one.draw(self.style));
        }
        true
    }
}

/// Writes to standard output. A closed pipe is not an error; a full disk is.
pub(crate) fn to_stdout(text: &str) -> io::Result<()> {
    match write_stdout(text) {
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        written => written,
    }
}

/// As [`to_stdout`], for who ends when nobody reads any more.
pub(crate) fn write_stdout(text: &str) -> io::Result<()> {
    let mut out = io::stdout().lock();
    out.write_all(text.as_bytes())?;
    out.flush()
}

/// Writes to standard error. A closed pipe is not an error.
pub(crate) fn to_stderr(text: &str) {
    let _ = io::stderr().lock().write_all(text.as_bytes());
}

/// Whether help and usage errors are colored, before the command line is parsed.
pub(crate) fn is_colored(world: &dyn World) -> bool {
    has_colors(io::stderr().is_terminal() && io::stdout().is_terminal(), world)
}

/// NO_COLOR, then FORCE_COLOR and CLICOLOR_FORCE, then the terminal.
fn has_colors(is_terminal: bool, world: &dyn World) -> bool {
    let forced = ["FORCE_COLOR", "CLICOLOR_FORCE"];
    let is_forced = forced
        .iter()
        .any(|name| world.env(name).is_some_and(|value| value != "0"));
    world.env("NO_COLOR").is_none() && (is_forced || is_terminal)
}
