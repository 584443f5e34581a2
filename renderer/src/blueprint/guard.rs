//! Keeps a user's template from crashing the process.
//!
//! minijinja recurses over a template's nesting, and so do the values that a template builds: a stack overflow can't be
//! caught. So tags are limited in length and number before they are parsed, and the work is done on a thread whose
//! stack is large enough for the rest. Steps are limited by fuel, time is limited here. Memory is not: a blueprint is
//! its user's own code, as Helm's templates are.

use std::sync::mpsc::{RecvTimeoutError, sync_channel};
use std::time::Duration;

use crate::diag::{Class, Diagnostic, Result};
use crate::source::Span;

/// The maximum length of a tag (`<< >>` or `<% %>`), in bytes: it bounds the nesting of expressions.
pub const MAX_TAG_BYTES: usize = 8 * 1024;
/// The maximum number of tags in a template: it bounds the nesting of blocks.
pub const MAX_TAGS: usize = 10_000;
/// The default time limit of a blueprint.
pub const DEFAULT_TIME: Duration = Duration::from_secs(30);
/// Enough for the deepest nesting within the limits, with a margin; only pages that are used are allocated.
const STACK_BYTES: usize = 1 << 30;

/// Runs the work on a thread with a large stack, for at most `time`. A thread that takes too long is abandoned: it
/// can't be stopped before the process ends.
pub(super) fn run<T: Send + 'static>(
    time: Duration,
    work: impl FnOnce() -> Result<T> + Send + 'static,
) -> Result<T> {
    let (send, receive) = sync_channel(1);
    let spawned = std::thread::Builder::new()
        .stack_size(STACK_BYTES)
        .spawn(move || {
            // The receiver is dropped when the time is over.
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

/// The first tag that exceeds a limit, and the message.
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
        // A tag's text may contain what seems to be another tag: counting it too is on the safe side.
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
    fn work_that_exceeds_its_time_limit_is_abandoned() {
        let (end, ended) = sync_channel::<()>(1);
        let endless = run(Duration::from_millis(1), move || {
            // It ends with this test.
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
