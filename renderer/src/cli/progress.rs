//! The display of a running transfer: a line on a terminal, lines in a log for imports that take long, and `-v`'s trace.

use std::sync::Mutex;
use std::sync::PoisonError;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use super::printer::{Printer, to_stderr};
use crate::fsio;
use crate::oci;
use crate::reference::Digest;

/// Blobs below this size, in bytes, are sent too fast for a progress line.
const SHOWN_FROM: u64 = 1024 * 1024;
/// The minimum number of bytes between two updates.
const STEP: u64 = 256 * 1024;
/// The time between two lines about fetched files where there is no terminal.
const LOG_INTERVAL: Duration = Duration::from_secs(10);

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
    file: Mutex<FileTransfer>,
}

/// The file that is fetched.
struct FileTransfer {
    /// `file 2 of 30, model.gguf`
    label: String,
    size: Option<u64>,
    /// Bytes as last displayed.
    shown: u64,
    /// When a line was last logged, or the run began.
    logged: Instant,
}

impl FileTransfer {
    fn new(now: Instant) -> Self {
        Self {
            label: String::new(),
            size: None,
            shown: 0,
            logged: now,
        }
    }

    fn start(&mut self, file: &oci::FetchedFile<'_>) {
        let oci::FetchedFile {
            name,
            number,
            of,
            size,
        } = *file;
        self.label = format!("file {number} of {of}, {name}");
        self.size = size;
        self.shown = 0;
    }

    fn line(&self, received: u64) -> String {
        let label = &self.label;
        let got = fsio::size(received);
        match self.size {
            Some(size) => {
                let percent = received.saturating_mul(100) / size.max(1);
                format!("fetching {label}: {got} of {} ({percent} %)", fsio::size(size))
            }
            None => format!("fetching {label}: {got}"),
        }
    }

    /// The line for a terminal, if enough has come since the last one.
    fn terminal_line(&mut self, received: u64) -> Option<String> {
        let due = received == 0 || received >= self.shown + STEP || received < self.shown;
        due.then(|| {
            self.shown = received;
            self.line(received)
        })
    }

    /// The line for a log, if the last one is old enough.
    fn log_line(&mut self, received: u64, now: Instant) -> Option<String> {
        let due = now.saturating_duration_since(self.logged) >= LOG_INTERVAL;
        due.then(|| {
            self.logged = now;
            self.line(received)
        })
    }
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
            file: Mutex::new(FileTransfer::new(Instant::now())),
        }
    }

    fn show(&self, file: &mut FileTransfer, received: u64) {
        if self.draws {
            if let Some(line) = file.terminal_line(received) {
                self.drawn.store(true, Ordering::Relaxed);
                to_stderr(&format!("{CLEARED}{line}"));
            }
        } else if !self.printer.is_quiet()
            && let Some(line) = file.log_line(received, Instant::now())
        {
            to_stderr(&format!("{line}\n"));
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

    fn file_started(&self, file: &oci::FetchedFile<'_>) {
        let mut transfer = self.file.lock().unwrap_or_else(PoisonError::into_inner);
        transfer.start(file);
        self.show(&mut transfer, 0);
    }

    fn file_progress(&self, received: u64) {
        let mut transfer = self.file.lock().unwrap_or_else(PoisonError::into_inner);
        self.show(&mut transfer, received);
    }

    fn file_done(&self) {
        self.end();
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

#[cfg(test)]
mod tests {
    use super::*;

    fn transfer(size: Option<u64>) -> (FileTransfer, Instant) {
        let begun = Instant::now();
        let mut transfer = FileTransfer::new(begun);
        transfer.start(&oci::FetchedFile {
            name: "sub/model.gguf",
            number: 2,
            of: 30,
            size,
        });
        (transfer, begun)
    }

    #[test]
    fn a_terminal_shows_which_file_is_fetched_and_how_much_of_it() {
        let (mut file, _) = transfer(Some(4 << 20));
        let mut drawn = Vec::new();
        for received in [0, 1, STEP, STEP + 1, 2 << 20, 100, 4 << 20] {
            drawn.extend(file.terminal_line(received));
        }
        insta::assert_snapshot!(drawn.join("\n"));
        let (mut unknown, _) = transfer(None);
        let line = unknown.terminal_line(2 << 20);
        insta::assert_snapshot!(line.unwrap_or_default());
    }

    #[test]
    fn a_log_has_a_line_at_most_every_ten_seconds() {
        let (mut file, begun) = transfer(Some(100 << 20));
        let mut logged = Vec::new();
        for second in 0..35 {
            let now = begun + Duration::from_secs(second);
            logged.extend(file.log_line(second << 20, now));
        }
        insta::assert_snapshot!(logged.join("\n"));
    }
}
