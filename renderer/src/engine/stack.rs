//! Runs on a stack that is large enough for the deepest templates.

use crate::diag::{Class, Diagnostic, Diagnostics, Result};
use crate::template::STACK_BYTES;

/// Runs `work` on a thread with a large stack: templates may nest too deeply for the caller's.
pub(crate) fn on_large_stack<T: Send>(work: impl FnOnce() -> T + Send) -> Result<T> {
    std::thread::scope(|scope| {
        let builder = std::thread::Builder::new().stack_size(STACK_BYTES);
        match builder.spawn_scoped(scope, work) {
            Ok(thread) => Ok(thread
                .join()
                .unwrap_or_else(|panic| std::panic::resume_unwind(panic))),
            Err(error) => {
                let message = format!("can't start a thread: {error}");
                Err(Diagnostics::from(Diagnostic::error(Class::Internal, message)))
            }
        }
    })
}
