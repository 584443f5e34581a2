//! The flags for resource limits of a rendering.

use std::time::Duration;

use clap::Args;

use super::cache::bytes;
use super::registry::duration;
use crate::engine::Limits;

/// The limits of charts' templates.
#[derive(Args, Debug, Clone)]
#[command(next_help_heading = "Limits")]
pub(crate) struct LimitFlags {
    /// Fail when the values of one rendering take more memory than this
    #[arg(long, value_name = "SIZE", default_value = "1GiB", value_parser = bytes)]
    pub(crate) max_memory: u64,
    #[command(flatten)]
    pub(crate) time: TimeFlag,
}

/// The time limit, also for blueprints.
#[derive(Args, Debug, Clone)]
#[command(next_help_heading = "Limits")]
pub(crate) struct TimeFlag {
    /// Fail when one rendering takes longer than this
    #[arg(long, value_name = "TIME", default_value = "30s", value_parser = duration)]
    pub(crate) render_timeout: Duration,
}

impl LimitFlags {
    /// The limits for the engine.
    pub(crate) fn limits(&self) -> Limits {
        Limits {
            memory: usize::try_from(self.max_memory).unwrap_or(usize::MAX),
            time: self.time.render_timeout,
            ..Limits::default()
        }
    }
}
