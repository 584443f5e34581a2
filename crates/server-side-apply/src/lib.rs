//! Kubernetes objects applied in their order, whatever sends the requests.
//!
//! In: objects as JSON. Out: what became of each. [`Scopes`] gives an object its namespace and leaves out what an API
//! server refuses; [`apply`] sends the objects kind by kind, waits for CRDs until their kinds are served, and goes on
//! when one fails; [`comparable`] is an object without what every write changes.
//!
//! Requests are made by an [`ApiServer`]: the operator has one over `kube`, the command line one over its own client.
//! This crate knows nothing of charts, of connections, or of who owns an object.

mod apply;
mod comparable;
mod crd;
mod key;
mod prepare;

pub use apply::{CONCURRENCY, apply};
pub use comparable::comparable;
pub use crd::{CRD, is_established};
pub use key::ObjectKey;
pub use prepare::{PreparedObject, Scopes, install_phase};

use serde_json::Value;

/// What a cluster is asked for.
pub trait ApiServer: Sync {
    /// What is known of an object that was applied.
    type Applied: Send;
    /// Why a request has failed.
    type Error: Send;

    /// Applies an object, server-side.
    fn apply(
        &self,
        object: &PreparedObject,
    ) -> impl Future<Output = Result<Self::Applied, Self::Error>> + Send;

    /// The cluster's object, in the version of this one.
    fn get(&self, object: &PreparedObject)
    -> impl Future<Output = Result<Option<Value>, Self::Error>> + Send;

    /// Asks again what the cluster serves.
    fn discover(&mut self) -> impl Future<Output = Result<(), Self::Error>> + Send;

    /// Whether objects of this one's kind and version have a namespace.
    ///
    /// # Errors
    /// The kind is not served.
    fn is_namespaced(&self, object: &Value) -> Result<bool, Self::Error>;

    /// Whether there was no answer: other requests would have none, either.
    fn is_unreachable(error: &Self::Error) -> bool;
}
