//! The two kinds of tasks, declared for the runtime.

use std::sync::Arc;

use super::context::Context;
use super::view::TaskView;
use super::{reconcile, status};
use crate::api::Scope;
use crate::jobs::conditions::{Reason, kinds};
use crate::jobs::tracker::JobOwner;
use crate::names;
use crate::runtime::views::Object;
use crate::runtime::{Action, Cx, Error, Key, Kind, KindId, ObjectName, ObjectState, Watched};

/// RenderTasks.
pub type RenderTasks = Tasks<false>;
/// ClusterRenderTasks.
pub type ClusterRenderTasks = Tasks<true>;

/// The controller of one of the two kinds.
pub struct Tasks<const CLUSTER: bool>(Arc<Context>);

impl<const CLUSTER: bool> Tasks<CLUSTER> {
    /// The scope of this kind.
    const SCOPE: Scope = if CLUSTER {
        Scope::Cluster
    } else {
        Scope::Namespaced
    };

    /// With the context that both kinds share.
    pub fn new(context: &Arc<Context>) -> Self {
        Self(Arc::clone(context))
    }

    /// The Jobs of these tasks.
    pub const JOBS: JobOwner = JobOwner {
        kind: Self::SCOPE.id(),
        job: |_, key, job_namespace| {
            let scope = Scope::of(key.kind);
            let namespace = match scope {
                Scope::Namespaced => &key.namespace,
                Scope::Cluster => job_namespace,
            };
            Some(ObjectName::new(namespace, &names::job_name(scope, &key.name)))
        },
        group: |cx, key| {
            let task = cx.store::<Self>().get(&key.object_name())?;
            Some(<Self as Kind>::group(&task))
        },
        is_elsewhere: false,
        is_job: None,
    };
}

impl<const CLUSTER: bool> Watched for Tasks<CLUSTER> {
    const ID: KindId = Self::SCOPE.id();
    const STATES: &'static [&'static str] = &[
        NEW,
        kinds::JOB_SCHEDULED,
        kinds::JOB_SUCCEEDED,
        kinds::JOB_FAILED,
        Reason::Queued.as_str(),
        Reason::DoesNotExist.as_str(),
        Reason::NameConflict.as_str(),
        Reason::PushSecretNotFound.as_str(),
        Reason::SignKeySecretNotFound.as_str(),
        Reason::RegistryHostMismatch.as_str(),
        Reason::RegistryHostNotAllowed.as_str(),
        Reason::ConfigMapNotFound.as_str(),
        Reason::NamespaceNotFound.as_str(),
        Reason::NamespaceTerminating.as_str(),
        Reason::Forbidden.as_str(),
        Reason::SpecChanged.as_str(),
    ];
    type View = TaskView;

    fn state(task: &Object<TaskView>) -> Option<ObjectState<'_>> {
        let status = task.view().and_then(|view| view.status.as_ref());
        let name = status.and_then(|status| status.state.as_deref()).unwrap_or(NEW);
        let runs_or_ended = [
            kinds::JOB_SCHEDULED,
            kinds::JOB_SUCCEEDED,
            kinds::JOB_FAILED,
            Reason::SpecChanged.as_str(),
        ];
        Some(ObjectState {
            name,
            waiting: !runs_or_ended.contains(&name),
        })
    }
}

/// The state of a task without a status.
const NEW: &str = "New";

impl<const CLUSTER: bool> Kind for Tasks<CLUSTER> {
    /// Tenants take turns; of cluster tasks, those that they were made for.
    fn group(task: &Object<TaskView>) -> String {
        match (Self::SCOPE, task.view()) {
            (Scope::Cluster, Some(view)) => view.spec.owner_namespace.clone(),
            _ => task.namespace().to_owned(),
        }
    }

    async fn reconcile(&self, _: &Cx, key: &Key) -> Result<Action, Error> {
        reconcile(&self.0, key).await
    }

    async fn stalled(&self, _: &Cx, key: &Key, error: &Error) -> Result<(), Error> {
        status::stall(&self.0, key, &error.to_string()).await
    }

    /// The next waiting task needn't wait for this one's backoff.
    fn failed(&self, key: &Key) {
        self.0.jobs.give_back(key);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    fn task(status: Value) -> Object<TaskView> {
        let spec = json!({"ownerNamespace": "owner", "ownerName": "shop", "ownerKind": "Release"});
        let metadata = json!({"name": "shop", "namespace": "tenant"});
        let object = json!({"metadata": metadata, "spec": spec, "status": status});
        serde_json::from_value(object).expect("a task")
    }

    #[test]
    fn tenants_take_turns_whatever_the_kind() {
        let task = task(Value::Null);
        assert_eq!(RenderTasks::group(&task), "tenant");
        assert_eq!(ClusterRenderTasks::group(&task), "owner");
    }

    #[test]
    fn a_task_waits_until_it_runs_or_has_ended() {
        let table = [
            (Value::Null, "New", true),
            (json!({}), "New", true),
            (json!({"state": "Queued"}), "Queued", true),
            (json!({"state": "PushSecretNotFound"}), "PushSecretNotFound", true),
            (json!({"state": "JobScheduled"}), "JobScheduled", false),
            (json!({"state": "JobFailed"}), "JobFailed", false),
            (json!({"state": "SpecChanged"}), "SpecChanged", false),
        ];
        for (status, name, waiting) in table {
            let task = task(status);
            assert_eq!(
                RenderTasks::state(&task),
                Some(ObjectState { name, waiting }),
                "{name}"
            );
            assert!(RenderTasks::STATES.contains(&name));
        }
    }
}
