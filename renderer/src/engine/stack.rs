//! Runs on a stack that is large enough for the deepest templates.

use crate::diag::Result;
#[cfg(not(target_family = "wasm"))]
use crate::diag::{Class, Diagnostic, Diagnostics};
#[cfg(not(target_family = "wasm"))]
use crate::template::STACK_BYTES;

/// Runs `work` here: a WebAssembly module has no threads, and its stack is what the linker gave it.
#[cfg(target_family = "wasm")]
#[allow(clippy::unnecessary_wraps, reason = "where there are threads it can fail")]
pub(crate) fn on_large_stack<T: Send>(work: impl FnOnce() -> T + Send) -> Result<T> {
    Ok(work())
}

/// Runs `work` on a thread with a large stack: templates may nest too deeply for the caller's.
#[cfg(not(target_family = "wasm"))]
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
