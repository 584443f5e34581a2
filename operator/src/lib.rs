//! Runs the renderer in Kubernetes Jobs and says truly what became of it.
//!
//! The library behind the `solar-operator` command. Modules import downward only, in the order of
//! this list:
//!
//! - [`cli`][]: the command line
//! - [`runtime`][]: watches, workers, leader election, health and metrics
//! - [`reconcile`][]: one look at one task
//! - [`queue`][], [`selected`][], [`index`][], [`slots`][], [`metrics`][]: who is next, which tasks, which Jobs, who
//!   may run, counts
//! - [`decide`][]: what is to be done, as a pure function
//! - [`observe`][]: what became of a Job, as a pure function
//! - [`conditions`][]: what is said of it
//! - [`build`][]: what a task owns, as pure functions
//! - [`lean`][]: what is decoded of other kinds' objects
//! - [`api`][]: the resources and their CRDs
//! - [`key`][], [`names`][], [`log_rate`][]: which task; names and labels; how often a line is logged
//! - [`yaml`][]: JSON to YAML

pub mod api;
pub mod build;
pub mod cli;
pub mod conditions;
pub mod decide;
pub mod index;
pub mod key;
pub mod lean;
pub mod log_rate;
pub mod metrics;
pub mod names;
pub mod observe;
pub mod queue;
pub mod reconcile;
pub mod runtime;
pub mod selected;
pub mod slots;
pub mod yaml;

#[cfg(test)]
mod tests;
