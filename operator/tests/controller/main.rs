//! The operator on a real API server with the real Job, TTL and garbage-collection controllers. What
//! a kubelet would write about pods, the tests write.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::disallowed_methods,
    reason = "tests stop at once when something isn't as it should be"
)]

mod artifact;
mod blocked;
mod cluster_scope;
mod failure;
mod foreign_objects;
mod harness;
mod hostile;
mod manual_changes;
mod process;
mod reasons;
mod success;
mod upgrades;
