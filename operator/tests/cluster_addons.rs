//! ClusterStacks and ClusterAddons on two real API servers, with a registry, and with the rights that the install chart
//! gives: one has Cluster API's kinds, the other one is the workload cluster.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::print_stderr,
    clippy::disallowed_methods,
    clippy::too_many_lines,
    reason = "tests stop at once when something isn't as it should be"
)]

#[path = "cluster_addons/bed.rs"]
mod bed;
#[path = "cluster_addons/clusters.rs"]
mod clusters;
#[path = "cluster_addons/drift.rs"]
mod drift;
mod fleet;
#[path = "cluster_addons/hostile.rs"]
mod hostile;
#[path = "cluster_addons/lifecycle.rs"]
mod lifecycle;
#[path = "cluster_addons/modelled.rs"]
mod modelled;
#[path = "cluster_addons/older.rs"]
mod older;
#[path = "cluster_addons/removal.rs"]
mod removal;
#[path = "cluster_addons/staged.rs"]
mod staged;
#[path = "cluster_addons/trust.rs"]
mod trust;
