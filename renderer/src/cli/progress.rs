//! The display of a running transfer: a line on a terminal, and `-v`'s trace.

use std::sync::Mutex;
use std::sync::PoisonError;
use std::sync::atomic::{AtomicBool, Ordering};

use super::printer::{Printer, to_stderr};
use crate::fsio;
use crate::oci;
use crate::reference::Digest;

/// Blobs below this size, in bytes, are sent too fast for a progress line.
const SHOWN_FROM: u64 = 1024 * 1024;
/// The minimum number of bytes between two updates.
const STEP: u64 = 256 * 1024;

/// Takes the line away.
pub(crate) const CLEARED: &str = "\r\x1b[K";

/// A progress bar for a count.
pub(crate) fn bar(count: usize, all: usize) -> String {
    const WIDTH: usize = 30;
    let full = WIDTH * count / all.max(1);
    format!(
        "{CLEARED}[{}{}] {count}/{all}",
        "=".repeat(full),
        " ".repeat(WIDTH - full)
    )
}

/// The progress of one transfer.
pub(crate) struct TerminalProgress {
    draws: bool,
    verb: &'static str,
    traces: bool,
    printer: Printer,
    drawn: AtomicBool,
    blob: Mutex<Option<(Digest, u64, u64)>>,
}

impl TerminalProgress {
    /// Creates it as the printer allows; `verb` as in `pushing`.
    pub(crate) fn new(printer: &Printer, verb: &'static str) -> Self {
        Self {
            draws: printer.shows_progress(),
            verb,
            traces: printer.is_verbose(),
            printer: printer.clone(),
            drawn: AtomicBool::new(false),
            blob: Mutex::new(None),
        }
    }

    /// Takes the line away.
    pub(crate) fn end(&self) {
        if self.drawn.swap(false, Ordering::Relaxed) {
            to_stderr(CLEARED);
        }
    }
}

impl oci::Progress for TerminalProgress {
    fn blob_started(&self, digest: &Digest, size: u64) {
        if self.draws && size >= SHOWN_FROM {
            *self.blob.lock().unwrap_or_else(PoisonError::into_inner) = Some((digest.clone(), size, 0));
        }
    }

    fn blob_progress(&self, digest: &Digest, sent: u64) {
        let mut blob = self.blob.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((current, size, last)) = blob.as_mut()
            && current == digest
            && (sent >= *last + STEP || sent < *last || sent == *size)
        {
            *last = sent;
            self.drawn.store(true, Ordering::Relaxed);
            let percent = sent.saturating_mul(100) / (*size).max(1);
            to_stderr(&format!(
                "\r\x1b[K{} {} of {} ({percent} %)",
                self.verb,
                fsio::size(sent),
                fsio::size(*size)
            ));
        }
    }

    fn blob_done(&self, digest: &Digest, _sent: bool) {
        let mut blob = self.blob.lock().unwrap_or_else(PoisonError::into_inner);
        if blob.as_ref().is_some_and(|(current, ..)| current == digest) {
            *blob = None;
            drop(blob);
            self.end();
        }
    }

    fn waiting(&self, line: &str) {
        self.end();
        self.printer.wait(line);
    }

    fn traces(&self) -> bool {
        self.traces
    }

    fn trace(&self, line: &str) {
        if self.traces {
            self.end();
            to_stderr(&format!("{line}\n"));
        }
    }
}
