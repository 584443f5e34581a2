//! Resource limits of a rendering: [`Limits`].

use std::sync::Arc;
use std::time::Duration;

use crate::funcs::Context;
use crate::template::memory::{self, Limited};
use crate::template::{MAX_STEPS, Run};
use crate::world::{Deadline, System, World};

/// The default memory limit for the values of a rendering, in bytes.
pub const DEFAULT_MEMORY: usize = 1 << 30;
/// The default time limit of a rendering.
pub const DEFAULT_TIME: Duration = Duration::from_secs(30);

/// The resource limits of a rendering. Exceeding one is a diagnostic of class template.
#[derive(Clone)]
#[non_exhaustive]
pub struct Limits {
    /// The maximum number of steps, at most [`MAX_STEPS`]. A step is a node, a call, an item of a list, or 64 bytes of
    /// a function's strings.
    pub steps: u64,
    /// The maximum size of its strings, lists and maps in bytes, as [`memory`] counts them.
    pub memory: usize,
    /// The time limit.
    pub time: Duration,
    /// The clock, which is read some hundred times a second.
    pub clock: Arc<dyn World>,
}

impl std::fmt::Debug for Limits {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self {
            steps,
            memory,
            time,
            clock: _,
        } = self;
        write!(f, "Limits({steps} steps, {memory} bytes, {time:?})")
    }
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            steps: MAX_STEPS,
            memory: DEFAULT_MEMORY,
            time: DEFAULT_TIME,
            clock: Arc::new(System),
        }
    }
}

impl Limits {
    /// Applies the memory limit to this thread's values.
    pub(super) fn hold(&self) -> Limited {
        memory::limit(self.memory)
    }

    /// Applies the limits to a run, and starts its timer.
    pub(super) fn on<'s>(&self, mut run: Run<'s, Context>) -> Run<'s, Context> {
        run.context.deadline = Some(Deadline::after(self.time, &self.clock));
        run.with_steps(self.steps).with_watch(Context::is_late)
    }
}
