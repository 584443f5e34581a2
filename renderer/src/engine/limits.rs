//! How much one rendering may take: [`Limits`].

use std::sync::Arc;
use std::time::Duration;

use crate::funcs::Context;
use crate::template::memory::{self, Limited};
use crate::template::{MAX_STEPS, Run};
use crate::world::{Deadline, System, World};

/// How much memory the values of one rendering may take by default, in bytes.
pub const DEFAULT_MEMORY: usize = 1 << 30;
/// How long one rendering may take by default.
pub const DEFAULT_TIME: Duration = Duration::from_secs(30);

/// How much one rendering may take. What takes more ends as a diagnostic of class template.
#[derive(Clone)]
pub struct Limits {
    /// How many steps: at most [`MAX_STEPS`]. A step is a node, a call, an item of a list, or 64 bytes of a
    /// function's texts.
    pub steps: u64,
    /// How many bytes its texts, lists and maps may take, as [`memory`] counts them.
    pub memory: usize,
    /// How long.
    pub time: Duration,
    /// What is asked how long it has taken, some hundred times a second.
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
    /// Holds this thread's values to them.
    pub(super) fn hold(&self) -> Limited {
        memory::limit(self.memory)
    }

    /// Holds a run to them: its time begins.
    pub(super) fn on<'s>(&self, mut run: Run<'s, Context>) -> Run<'s, Context> {
        run.context.deadline = Some(Deadline::after(self.time, &self.clock));
        run.with_steps(self.steps).with_watch(Context::is_late)
    }
}
