//! SIGINT, SIGTERM and SIGHUP: prints a result, leaves no incomplete file, and exits with the signal's code.
//!
//! As PID 1 of a container, a process without a handler would ignore SIGTERM. Most commands are ended at once; one that
//! has partial results handles its own shutdown ([`Signals::take_over`]), and is only ended if that takes too long.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator::Signals as Incoming;

use super::printer::{Finish, Printer};
use crate::diag::{Class, Diagnostic};
use crate::fsio;
use crate::oci::{self, Cancellation};
use crate::report::Report;

/// How long a result that is being printed may still take after a signal.
const GRACE: Duration = Duration::from_millis(500);
/// How long a command that handles its own shutdown may take: GitHub sends SIGKILL 7.5 seconds after SIGINT, and
/// container engines ten seconds after SIGTERM.
const SHUTDOWN_LIMIT: Duration = Duration::from_secs(5);

/// The state of signal handling.
#[derive(Debug, Default)]
pub(crate) struct Signals {
    state: Mutex<SignalState>,
    stop: Cancellation,
}

#[derive(Debug, Default)]
struct SignalState {
    taken_over: bool,
    caught: Option<Class>,
    on_its_way: Option<Report>,
}

impl Signals {
    /// From here on the command ends itself soon after this is cancelled.
    pub(crate) fn take_over(&self) -> &Cancellation {
        self.lock().taken_over = true;
        &self.stop
    }

    /// The error class of the received signal, if any.
    pub(crate) fn caught(&self) -> Option<Class> {
        self.lock().caught
    }

    /// Whether a signal handler is ending the process: later failures are caused by that.
    pub(crate) fn is_ending(&self) -> bool {
        let state = self.lock();
        state.caught.is_some() && !state.taken_over
    }

    /// Records the chart that the target may get from here on, even if the command is killed.
    pub(crate) fn goes_out(&self, report: &Report) {
        self.lock().on_its_way = Some(report.clone());
    }

    fn lock(&self) -> MutexGuard<'_, SignalState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Records a signal; returns whether the command ends itself.
    fn note(&self, class: Class) -> bool {
        let mut state = self.lock();
        state.caught = Some(class);
        state.taken_over
    }
}

/// The verb for a signal in messages.
pub(crate) fn verb(class: Class) -> &'static str {
    if class == Class::Interrupted {
        "interrupted"
    } else {
        "terminated"
    }
}

/// Starts the signal handler.
pub(crate) fn watch(printer: Printer) -> Arc<Signals> {
    let signals = Arc::new(Signals::default());
    let known = Arc::clone(&signals);
    let hangup = Some(SIGHUP).filter(|_| !ignores_hangups());
    // Without a handler the default action applies, which is no reason to fail.
    let Ok(mut incoming) = Incoming::new([SIGINT, SIGTERM].into_iter().chain(hangup)) else {
        return signals;
    };
    std::thread::spawn(move || {
        let Some(signal) = incoming.forever().next() else {
            return;
        };
        let class = if signal == SIGINT {
            Class::Interrupted
        } else {
            Class::Terminated
        };
        let taken_over = known.note(class);
        // Their output is no longer needed.
        oci::end_helpers();
        if taken_over {
            known.stop.cancel();
            std::thread::sleep(SHUTDOWN_LIMIT);
        }
        end(&printer, class, known.lock().on_its_way.take());
    });
    signals
}

/// The note about a chart that may have been pushed.
pub(crate) const UNKNOWN: &str = "its status is unknown: check the registry for the digest";

fn end(printer: &Printer, class: Class, on_its_way: Option<Report>) -> ! {
    let mut problem = Diagnostic::error(class, format!("{} by a signal", verb(class)));
    if let Some(report) = &on_its_way {
        let what = [&report.reference, &report.digest].map(|known| known.as_deref().unwrap_or_default());
        problem = problem
            .note(format!("{} was on its way", what.join(", ")))
            .note(UNKNOWN);
    }
    if let Some(line) = printer.waiting() {
        problem = problem.note(format!("waited for: {line}"));
    }
    let problem = problem.into();
    let report = Report {
        error: Report::failure(&problem).error,
        ..on_its_way.unwrap_or_default()
    };
    let json = report.to_json();
    if printer.finish(&json, &json, "", &[&problem]) == Finish::Before {
        // The result is being printed: it either ends soon, or the reader is blocked.
        std::thread::sleep(GRACE);
    }
    fsio::remove_unfinished();
    std::process::exit(i32::from(class.exit_code()));
}

/// Whether SIGHUP is ignored, as `nohup` does, so that the process outlives its terminal; false where the system
/// doesn't tell.
fn ignores_hangups() -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let ignored = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    ignored
        .and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok())
        .is_some_and(|mask| mask & (1 << (SIGHUP - 1)) != 0)
}
