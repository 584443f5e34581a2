//! Namespaces: whether each one is being deleted, which finalizers depend on.

use crate::runtime::key::{KindId, ObjectName};
use crate::runtime::views::MetadataOnly;
use crate::runtime::{Cx, Watched};

/// Namespaces, to be watched.
pub struct Namespaces;

impl Watched for Namespaces {
    const ID: KindId = KindId {
        kind: "Namespace",
        group: "",
        version: "v1",
        plural: "namespaces",
        namespaced: false,
    };
    type View = MetadataOnly;
}

/// The state of a namespace, according to the watch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NamespaceState {
    /// It exists.
    Active,
    /// It is being deleted: nothing can be created in it.
    Terminating,
    /// It does not exist.
    Missing,
}

/// The state of a namespace.
pub fn state(cx: &Cx, namespace: &str) -> NamespaceState {
    match cx.store::<Namespaces>().get(&ObjectName::new("", namespace)) {
        None => NamespaceState::Missing,
        Some(found) if found.metadata.deletion_timestamp.is_some() => NamespaceState::Terminating,
        Some(_) => NamespaceState::Active,
    }
}

/// Whether a namespace is being deleted.
pub fn is_terminating(cx: &Cx, namespace: &str) -> bool {
    state(cx, namespace) == NamespaceState::Terminating
}
