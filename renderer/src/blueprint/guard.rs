//! What keeps a user's template from ending the process.
//!
//! minijinja recurses over what a template nests, and so do the values that one builds: a
//! stack overflow can't be caught. So tags are limited in length and number before they
//! are parsed, and the work is done on a thread whose stack holds what is left. Steps are
//! limited by fuel, time here. Memory is not: a blueprint is its user's own code, as
//! Helm's templates are.

use std::sync::mpsc::{RecvTimeoutError, sync_channel};
use std::time::Duration;

use crate::diag::{Class, Diagnostic, Result};
use crate::source::Span;

/// The longest tag (`<< >>` or `<% %>`), in bytes: it bounds how deep an expression nests.
pub const MAX_TAG_BYTES: usize = 8 * 1024;
/// The most tags in a template: they bound how deep blocks nest.
pub const MAX_TAGS: usize = 10_000;
/// How long a blueprint may take by default.
pub const DEFAULT_TIME: Duration = Duration::from_secs(30);
/// What the deepest nesting within the limits needs, with room to spare; only what is
/// touched is ever allocated.
const STACK_BYTES: usize = 1 << 30;

/// Runs the work where deep recursion has room, and no longer than `time`. A thread that takes too
/// long is left behind: nothing can stop it but the process's end.
pub(super) fn run<T: Send + 'static>(
    time: Duration,
    work: impl FnOnce() -> Result<T> + Send + 'static,
) -> Result<T> {
    let (send, receive) = sync_channel(1);
    let spawned = std::thread::Builder::new()
        .stack_size(STACK_BYTES)
        .spawn(move || {
            // The receiver is gone when the time is over.
            let _ = send.send(work());
        });
    if let Err(error) = spawned {
        let message = format!(
            "can't start a thread for the blueprint: {}",
            crate::fsio::reason(&error)
        );
        return Err(Diagnostic::error(Class::Io, message).into());
    }
    match receive.recv_timeout(time) {
        Ok(result) => result,
        Err(RecvTimeoutError::Timeout) => {
            let one = Diagnostic::error(Class::Template, "the blueprint takes too long");
            let one = one.note(format!("it may take {time:?}"));
            Err(one.hint("--render-timeout allows more").into())
        }
        Err(RecvTimeoutError::Disconnected) => {
            Err(Diagnostic::error(Class::Internal, "the template engine failed").into())
        }
    }
}

/// The first tag that breaks a limit, and which.
pub(super) fn check(text: &str) -> std::result::Result<(), (Span, String)> {
    let mut at = 0;
    let mut tags = 0;
    while let Some(found) = text.get(at..).and_then(|rest| rest.find('<')) {
        let start = at + found;
        let close = match text.get(start..start + 2) {
            Some("<<") => ">>",
            Some("<%") => "%>",
            Some("<#") => "#>",
            _ => {
                at = start + 1;
                continue;
            }
        };
        let end = text
            .get(start..)
            .and_then(|rest| rest.find(close))
            .map_or(text.len(), |length| start + length);
        tags += 1;
        if close != "#>" && end - start > MAX_TAG_BYTES {
            let message = format!("the tag is longer than {MAX_TAG_BYTES} bytes");
            return Err((Span::new(start, start + 2), message));
        }
        if tags > MAX_TAGS {
            return Err((
                Span::new(start, start + 2),
                format!("the template has more than {MAX_TAGS} tags"),
            ));
        }
        // A tag's text may hold what looks like another: looking again errs on the safe side.
        at = if close == "#>" {
            end.max(start + 2)
        } else {
            start + 2
        };
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_takes_longer_than_it_may_is_left_behind() {
        let (end, ended) = sync_channel::<()>(1);
        let endless = run(Duration::from_millis(1), move || {
            // Ends when this test does.
            let _ = ended.recv();
            Ok(())
        });
        let problem = endless.unwrap_err();
        assert_eq!(problem.class(), Class::Template);
        assert!(problem.iter().all(|one| !one.hints.is_empty()), "{problem}");
        drop(end);
        assert_eq!(run(DEFAULT_TIME, || Ok(1)).unwrap(), 1);
    }
}
