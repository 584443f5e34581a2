//! Runs the renderer in Kubernetes Jobs and reports their results.
//!
//! The library behind the `solar-operator` command. Modules import downward only, in the order of
//! this list:
//!
//! - [`cli`][]: the command line
//! - [`preflight`][]: whether a cluster is ready for the operator
//! - [`export`][]: the objects of the group, to be applied elsewhere
//! - [`controllers`][]: what is done for each kind
//! - [`jobs`][]: Jobs with one container that reports a result
//! - [`runtime`][]: one for all controllers: watches, stores, work queues, leader election, health and metrics
//! - [`names`][]: names and labels
//! - [`api`][]: the resources and their CRDs
//! - [`key`][]: keys of objects
//! - [`yaml`][]: JSON to YAML

pub mod api;
pub mod cli;
pub mod controllers;
pub mod export;
pub mod jobs;
pub mod key;
pub mod names;
pub mod preflight;
pub mod runtime;
pub mod yaml;

#[cfg(test)]
mod tests;
