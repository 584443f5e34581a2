//! The pipeline: from Releases and Targets to charts in a registry.
//!
//! Pure functions make the decisions, one file each: which references are granted ([`grants`]), which Secret pulls
//! what ([`pull_secrets`]), which Releases a Target gets ([`resolver`]), the RenderTask of a Release
//! ([`release_task`]) and of the bootstrap chart ([`bootstrap`], [`blueprints`]), the state of a RenderTask
//! ([`task_state`]), when a failed one runs again ([`task_retry`]), which of these steps a Target's reconcile takes
//! ([`target_plan`]), which Targets a Profile matches ([`profile_bindings`]), when a pushed chart may be deleted
//! ([`artifacts`]), which references keep an object ([`references`]), which key pairs sign its charts
//! ([`signing`]), and the conditions of each kind ([`conditions`]) with a Target's status ([`target_status`]). None of
//! them uses a client, a store or a clock; the [`reconcilers`] do, and read through [`stored`].

pub mod artifacts;
pub mod blueprints;
pub mod bootstrap;
pub mod canonical;
pub mod conditions;
pub mod grants;
pub mod namespaces;
pub mod profile_bindings;
pub mod pull_secrets;
pub mod reconcilers;
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
