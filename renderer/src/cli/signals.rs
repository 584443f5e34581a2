//! SIGINT, SIGTERM and SIGHUP: a result, no half-written file, and the exit code that says so.
//!
//! As PID 1 of a container a process without a handler would not end at all. Most commands are ended where they
//! are; one that has a result by then takes its end over ([`Signals::take_over`]), and is ended only when it
//! takes too long.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator::Signals as Incoming;

use super::printer::{Finish, Printer};
use crate::diag::{Class, Diagnostic};
use crate::fsio;
use crate::oci::{self, Cancellation};
use crate::report::Report;

/// How long a result that is being printed may still take when a signal comes.
const GRACE: Duration = Duration::from_millis(500);
/// How long a command that took its end over may take for it: GitHub kills 7.5 seconds after it interrupts, and
/// container engines ten seconds after SIGTERM.
const LAST_WORDS: Duration = Duration::from_secs(5);

/// What is known of signals.
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
    /// From here on the command ends by itself, and soon, when this says so.
    pub(crate) fn take_over(&self) -> &Cancellation {
        self.lock().taken_over = true;
        &self.stop
    }

    /// The class of the failure that a signal is, when one has come.
    pub(crate) fn caught(&self) -> Option<Class> {
        self.lock().caught
    }

    /// Whether a signal's handler is ending the process: what fails from here on fails because of it.
    pub(crate) fn is_ending(&self) -> bool {
        let state = self.lock();
        state.caught.is_some() && !state.taken_over
    }

    /// From here on a chart may arrive, whatever ends the command: what is known of it.
    pub(crate) fn goes_out(&self, report: &Report) {
        self.lock().on_its_way = Some(report.clone());
    }

    fn lock(&self) -> MutexGuard<'_, SignalState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether the command ends by itself.
    fn note(&self, class: Class) -> bool {
        let mut state = self.lock();
        state.caught = Some(class);
        state.taken_over
    }
}

/// What a signal did, in words.
pub(crate) fn verb(class: Class) -> &'static str {
    if class == Class::Interrupted {
        "interrupted"
    } else {
        "terminated"
    }
}

/// Ends the process when a signal comes.
pub(crate) fn watch(printer: Printer) -> Arc<Signals> {
    let signals = Arc::new(Signals::default());
    let known = Arc::clone(&signals);
    let hangup = Some(SIGHUP).filter(|_| !ignores_hangups());
    // Without a handler the default holds, which is not worth failing for.
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
        // Nobody waits for what they say any more.
        oci::end_helpers();
        if taken_over {
            known.stop.cancel();
            std::thread::sleep(LAST_WORDS);
        }
        end(&printer, class, known.lock().on_its_way.take());
    });
    signals
}

/// What has gone out and may have arrived.
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
        // The result is being printed: either the end is near, or nobody reads it.
        std::thread::sleep(GRACE);
    }
    fsio::remove_unfinished();
    std::process::exit(i32::from(class.exit_code()));
}

/// Whether whoever started the process wants it to outlive its terminal, as `nohup` does. Where the system does
/// not say, nobody does.
fn ignores_hangups() -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let ignored = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    ignored
        .and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok())
        .is_some_and(|mask| mask & (1 << (SIGHUP - 1)) != 0)
}
