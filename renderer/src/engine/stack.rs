//! Runs on a stack that is large enough for the deepest templates.

#[cfg(not(target_family = "wasm"))]
use std::cell::Cell;

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

#[cfg(not(target_family = "wasm"))]
thread_local! {
    /// Whether this thread is one of [`on_large_stack`].
    static IS_LARGE: Cell<bool> = const { Cell::new(false) };
}

/// Runs `work` on a thread with a large stack: templates may nest too deeply for the caller's. What is called within
/// `work` runs on the same thread: whoever renders many times starts one for all.
#[cfg(not(target_family = "wasm"))]
pub(crate) fn on_large_stack<T: Send>(work: impl FnOnce() -> T + Send) -> Result<T> {
    if IS_LARGE.get() {
        return Ok(work());
    }
    let work = || {
        IS_LARGE.set(true);
        work()
    };
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

/// Runs `work` on every processor, on at most `most` threads that render without starting threads of their own.
#[cfg(feature = "cli")]
pub(crate) fn workers(most: usize, work: impl Fn() + Sync) {
    let large = || {
        if on_large_stack(&work).is_err() {
            work();
        }
    };
    std::thread::scope(|scope| {
        for _ in 1..crate::parallel::processors().min(most) {
            scope.spawn(large);
        }
        large();
    });
}

#[cfg(all(test, feature = "cli"))]
mod tests {
    use std::collections::BTreeSet;
    use std::sync::Mutex;

    use super::*;

    #[test]
    fn a_worker_runs_all_on_one_thread() {
        let threads = Mutex::new(BTreeSet::new());
        workers(1, || {
            for _ in 0..3 {
                let id = on_large_stack(|| format!("{:?}", std::thread::current().id())).unwrap();
                threads.lock().unwrap().insert(id);
            }
        });
        assert_eq!(threads.lock().unwrap().len(), 1);
    }
}
