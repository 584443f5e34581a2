//! One runtime for all controllers: watches, stores, work queues, workers, leader election, health and metrics.
//!
//! Only the leader watches and reconciles. Losing leadership drops all work where it stands, which is
//! safe: a reconcile may end anywhere.
//!
//! # How a kind is added
//!
//! 1. A type that says what is watched: [`Watched`] names the kind ([`KindId`]) and its [`views::View`], a struct of
//!    those fields of `spec` and `status` that are read. Nothing else of an object is decoded or kept.
//! 2. For a kind that is reconciled, [`Kind`] with `reconcile`: an idempotent function of one [`Key`]. It reads from
//!    stores ([`Cx::store`]) what it and others watch, and writes through [`owned`], [`status`] and [`events`].
//!    The defaults of its other functions are right for most kinds.
//! 3. One line in the list, `controllers/mod.rs`: [`Controllers::kind`]; [`Controllers::stored`] for what is only read;
//!    [`Controllers::index`] for a reverse index of a store; [`Controllers::wake`] for what another kind's change
//!    starts. Kinds that need a state of their own while they are watched implement [`Dependent`].
//! 4. Its permissions in the chart, its CRD in `api`.
//!
//! `docs/controllers.md` has the smallest controller, whole.
//!
//! # What holds
//!
//! - Of one object no two reconciles run at a time, and a wake-up that comes during one starts another afterwards.
//! - When a reconcile is started by a change, the store shows that change or a later one.
//! - A reconcile that fails is requeued with backoff; after too many in a row [`Kind::stalled`] reports it.
//! - A change of an object's own status starts nothing, and [`Kind::status_modified`] is called.
//! - Selectors of the settings choose primaries, never what is read because of others.
//! - No object, however it looks, stops a watch; one of another form than its view has its metadata alone.

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
pub mod owned;
mod primaries;
mod primary;
mod process;
mod queue;
mod run;
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
