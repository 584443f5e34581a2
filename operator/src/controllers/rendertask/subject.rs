//! A task with the names of the objects it owns.

use kube::api::ObjectMeta;

use crate::api::{Scope, Task};
use crate::jobs::JobSettings;
use crate::names;
use crate::runtime::owned::owner_reference;
use crate::runtime::{Key, ObjectName};

/// A task with the names of the objects it owns.
#[derive(Debug, Clone, Copy)]
pub(super) struct Subject<'a> {
    /// The scope: namespaced or cluster.
    pub(super) scope: Scope,
    /// The task.
    pub(super) task: &'a Task,
    /// The task's name.
    pub(super) name: &'a str,
    /// The task's UID.
    pub(super) uid: &'a str,
    /// The namespace of its Job and Secrets.
    pub(super) namespace: &'a str,
}

impl<'a> Subject<'a> {
    /// `None` for an object without a name, UID or namespace, which no API server has stored.
    pub(super) fn new(scope: Scope, task: &'a Task, settings: &'a JobSettings) -> Option<Self> {
        let namespace = match scope {
            Scope::Namespaced => task.metadata.namespace.as_deref()?,
            Scope::Cluster => settings.job_namespace.as_str(),
        };
        Some(Self {
            scope,
            task,
            name: task.metadata.name.as_deref()?,
            uid: task.metadata.uid.as_deref()?,
            namespace,
        })
    }

    /// The name of the Job and of the config Secret.
    pub(super) fn job_name(&self) -> String {
        names::job_name(self.scope, self.name)
    }

    fn key(&self) -> Key {
        let namespace = self.task.metadata.namespace.as_deref();
        let namespace = namespace.filter(|_| self.scope == Scope::Namespaced);
        let name = ObjectName::new(namespace.unwrap_or(""), self.name);
        self.scope.id().key(name)
    }

    /// The metadata of the objects it owns.
    pub(super) fn metadata(&self) -> ObjectMeta {
        ObjectMeta {
            name: Some(self.job_name()),
            namespace: Some(self.namespace.to_owned()),
            labels: Some(names::labels(self.scope, self.name)),
            owner_references: Some(vec![owner_reference(&self.key(), self.uid)]),
            ..Default::default()
        }
    }
}
