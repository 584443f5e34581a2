//! One runtime for all controllers: watches, stores, work queues, workers, leader election, health and metrics.
//!
//! Only the leader watches and reconciles. When leadership is lost, all work is dropped at its next await, which is
//! safe: a reconcile may be interrupted anywhere.
//!
//! # How a kind is added
//!
//! 1. A type that says what is watched: [`Watched`] names the kind ([`KindId`]) and its [`views::View`], a struct of
//!    those fields of `spec` and `status` that are read. Nothing else of an object is decoded or kept.
//! 2. For a kind that is reconciled, [`Kind`] with `reconcile`: an idempotent function of one [`Key`]. It reads from
//!    stores ([`Cx::store`]) what it and others watch, and writes through [`owned`], [`status`] and [`events`].
//!    The defaults of its other functions are right for most kinds.
//! 3. One line in the list, `controllers/mod.rs`: [`Controllers::kind`]; [`Controllers::stored`] for what is only read;
//!    [`Controllers::index`] for a reverse index of a store; [`Controllers::wake`] for the objects that a change of
//!    another kind wakes. Kinds that need a state of their own while they are watched implement [`Dependent`].
//! 4. Its permissions in the chart, its CRD in `api`.
//!
//! `docs/controllers.md` has a complete minimal controller.
//!
//! # Guarantees
//!
//! - No two reconciles of one object run at a time, and a wake-up during one starts another afterwards.
//! - When a reconcile is started by a change, the store holds that change or a later one.
//! - A reconcile that fails is requeued with backoff; after too many consecutive errors [`Kind::stalled`] reports it.
//! - A change of an object's own status starts no reconcile; [`Kind::status_modified`] is called.
//! - Selectors of the settings apply to primaries only, never to objects that other kinds read.
//! - No object stops a watch, whatever its content; one that doesn't match its view is delivered with its metadata
//!   alone.

pub mod conditions;
mod controllers;
mod cx;
mod error;
pub mod events;
pub mod finalizers;
mod health;
mod http;
mod kind;
mod leader;
mod lease;
mod log_rate;
pub mod metrics;
mod metrics_access;
pub mod owned;
mod primaries;
mod primary;
mod process;
mod queue;
mod run;
mod server_tls;
pub mod status;
mod store;
pub mod views;
mod watch;
mod work;

#[cfg(test)]
mod test_kinds;
#[cfg(test)]
mod tests;

pub use crate::key::{self, Key, KindId, ObjectName};
pub use controllers::Controllers;
pub use cx::{Cx, Identity};
pub use error::{Error, api_message};
pub use health::Health;
pub use kind::{Action, Dependent, Kind, ObjectState, Policy, Pool, Wake, Watched};
pub use leader::LeaderSettings;
pub use metrics::Metrics;
pub use queue::Backoff;
pub use run::{RunError, RunSettings, run};
pub use store::{Store, Stores};
pub use watch::{ObjectEvent, Selection};
