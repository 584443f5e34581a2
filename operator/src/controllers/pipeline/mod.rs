//! The pipeline: from Releases and Targets to charts in a registry.
//!
//! What is decided is decided by pure functions, one file each: who may refer to what ([`grants`]), which Secret pulls
//! what ([`pull_secrets`]), which Releases a Target gets ([`resolver`]), the RenderTask of a Release
//! ([`release_task`]) and of the bootstrap chart ([`bootstrap`], [`blueprints`]), what a RenderTask has come to
//! ([`task_state`]), when a failed one runs again ([`task_retry`]), what of all that a Target's reconcile does
//! ([`target_plan`]), which Targets a Profile matches ([`profile_bindings`]), when a pushed chart may be deleted
//! ([`artifacts`]), what keeps an object from vanishing ([`references`]), which key pairs sign its charts
//! ([`signing`]), and the conditions of each kind ([`conditions`]) with a Target's
//! status ([`target_status`]). None of them knows a client, a store or a clock; the [`controllers`] do, and read through
//! [`stored`].

pub mod artifacts;
pub mod blueprints;
pub mod bootstrap;
pub mod canonical;
pub mod conditions;
pub mod controllers;
pub mod grants;
pub mod namespaces;
pub mod profile_bindings;
pub mod pull_secrets;
pub mod references;
pub mod release_task;
pub mod resolver;
pub mod signing;
pub mod stored;
pub mod target_plan;
pub mod target_status;
pub mod task_owner;
pub mod task_retry;
pub mod task_state;

#[cfg(test)]
mod test_objects;
