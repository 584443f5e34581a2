//! The operator as a process: watches, workers, leader election, health and metrics.
//!
//! Only the leader watches and works. Losing the lead drops all work where it stands, which is
//! safe: a look at a task may end anywhere.

mod http;
mod leader;
mod lease;
mod run;
mod watch;
mod work;

pub use leader::LeaderSettings;
pub use run::{Fault, RunSettings, run};
pub use watch::Selection;
