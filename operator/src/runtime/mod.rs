//! The operator as a process: watches, workers, leader election, health and metrics.
//!
//! Only the leader watches and works. Losing the lead drops all work where it stands, which is
//! safe: a reconcile at a task may end anywhere.

mod http;
pub mod key;
mod leader;
mod lease;
pub mod log_rate;
pub mod metrics;
pub mod queue;
mod run;
mod watch;
mod work;

pub use leader::LeaderSettings;
pub use run::{RunError, RunSettings, run};
pub use watch::Selection;
