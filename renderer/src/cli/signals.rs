//! SIGINT and SIGTERM: a result, no half-written file, and the exit code that says so.
//!
//! As PID 1 of a container a process without a handler would not end at all.

use std::time::Duration;

use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::iterator::Signals;

use super::output::{Finish, Printer};
use crate::diag::{Class, Diagnostic};
use crate::fsio;
use crate::report::Report;

/// How long a result that is being printed may still take when a signal comes.
const GRACE: Duration = Duration::from_millis(500);

/// Ends the process when a signal comes.
pub(crate) fn watch(printer: Printer) {
    // Without a handler the default holds, which is not worth failing for.
    let Ok(mut signals) = Signals::new([SIGINT, SIGTERM]) else {
        return;
    };
    std::thread::spawn(move || {
        let Some(signal) = signals.forever().next() else {
            return;
        };
        let (class, name) = if signal == SIGINT {
            (Class::Interrupted, "interrupted")
        } else {
            (Class::Terminated, "terminated")
        };
        let problem = Diagnostic::error(class, format!("{name} by a signal")).into();
        let json = Report::failure(&problem).to_json();
        if printer.finish(&json, &json, "", &[&problem]) == Finish::Before {
            // The result is being printed: either the end is near, or nobody reads it.
            std::thread::sleep(GRACE);
        }
        fsio::remove_unfinished();
        std::process::exit(i32::from(class.exit_code()));
    });
}
