//! Tasks that needn't be read to reconcile them: those whose Jobs run, as this process has written them last, and those
//! that have succeeded, of which the store has enough.
//!
//! # Guarantees
//! - Nothing is created for a kept task but the status of its Job, and a Secret that the Job needs: for all else the
//!   caller reads the task.
//! - A kept task is used once, and only while the watch has delivered no other version of it than the one before or
//!   after this process's last write. A version that the watch hasn't delivered yet makes the API server refuse the
//!   status; then the task is no longer kept, and is read.
//! - The memory is bounded: there are as many as Jobs run, and large ones are not kept.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::Context;
use super::subject::Subject;
use super::view::TaskView;
use crate::api::{RETRY_ANNOTATION, Scope, Task, TaskStatus};
use crate::jobs::conditions::kinds;
use crate::runtime::views::Object;
use crate::runtime::{Error, Key};

/// The maximum size of a kept task without its status, as JSON. Annotations are a tenant's, too.
const MAX_TASK_BYTES: usize = 16 * 1024;
/// The maximum number of kept tasks.
const MAX_TASKS: usize = 1024;

/// The kept tasks.
#[derive(Debug, Default)]
pub(super) struct KeptTasks {
    tasks: Mutex<BTreeMap<Key, Kept>>,
}

#[derive(Debug)]
struct Kept {
    task: Task,
    /// Its resourceVersion before the last write.
    before: Option<String>,
}

impl KeptTasks {
    /// Keeps a task, given its status and its resourceVersion after the write, if there was one.
    pub(super) fn keep(
        &self,
        key: &Key,
        mut task: Task,
        version: Option<String>,
        status: &TaskStatus,
    ) -> Result<(), Error> {
        let is_full = {
            let tasks = self.tasks();
            tasks.len() >= MAX_TASKS && !tasks.contains_key(key)
        };
        task.status = None;
        if is_full || serde_json::to_vec(&task)?.len() > MAX_TASK_BYTES {
            return Ok(());
        }
        let before = task.metadata.resource_version.clone();
        if version.is_some() {
            task.metadata.resource_version = version;
        }
        // As the API server returns it: with times in seconds.
        task.status = Some(serde_json::from_value(serde_json::to_value(status)?)?);
        self.tasks().insert(key.clone(), Kept { task, before });
        Ok(())
    }

    /// Takes a task out, if it is the stored one.
    fn take(&self, key: &Key, stored: Option<&Object<TaskView>>) -> Option<Task> {
        let Kept { task, before } = self.tasks().remove(key)?;
        let stored = &stored?.metadata;
        let known = [&before, &task.metadata.resource_version];
        let is_same = stored.uid == task.metadata.uid
            && stored.deletion_timestamp.is_none()
            && stored.resource_version.is_some()
            && known.contains(&&stored.resource_version);
        is_same.then_some(task)
    }

    fn tasks(&self) -> MutexGuard<'_, BTreeMap<Key, Kept>> {
        self.tasks.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The task, if its Job runs, or has just ended, and it is kept.
pub(super) fn running(context: &Context, key: &Key) -> Option<Task> {
    let stored = context.stored(key);
    let task = context.kept.take(key, stored.as_deref())?;
    if !context.cx.reconciles(key) {
        return None;
    }
    let subject = Subject::new(Scope::of(key.kind), &task, &context.settings.job)?;
    let job = context
        .jobs
        .index()
        .job(subject.namespace, &subject.job_name(), subject.uid)?;
    let reference = task.status.as_ref()?.job_ref.as_ref()?;
    (!job.gone && reference.uid == job.view.uid).then_some(task)
}

/// Whether a task has succeeded, and its Job and its Secret are deleted, or its Job will be. A stale answer is one about another task of
/// the same name, whose own event starts another reconcile.
pub(super) fn has_succeeded(context: &Context, key: &Key) -> bool {
    if !context.cx.reconciles(key) {
        return false;
    }
    let Some(task) = context.stored(key) else {
        return false;
    };
    if !needs_nothing(&task) {
        return false;
    }
    let Some(job) = context.jobs.job_of(key) else {
        return false;
    };
    let mut index = context.jobs.index();
    match index.job(&job.namespace, &job.name, task.uid()) {
        None => true,
        // The status has its end.
        Some(known) if known.gone => {
            index.forget(&job.namespace, &job.name);
            true
        }
        Some(known) => known.view.deleting,
    }
}

/// Whether it has succeeded and nobody has asked for anything since. Pure.
fn needs_nothing(task: &Object<TaskView>) -> bool {
    let Some(status) = task.view().and_then(|view| view.status.as_ref()) else {
        return false;
    };
    let is = |kind, expected| status.condition(kind).is_some_and(|one| one.status == expected);
    task.metadata.deletion_timestamp.is_none()
        && is(kinds::JOB_SUCCEEDED, "True")
        && is(kinds::READY, "True")
        && status.config_secret_ref.is_none()
        && status.observed_generation == task.metadata.generation
        && task.annotation(RETRY_ANNOTATION).is_none()
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::runtime::ObjectName;

    fn key(name: &str) -> Key {
        Scope::Namespaced.id().key(ObjectName::new("tenant", name))
    }

    fn stored(metadata: Value, status: Value) -> Object<TaskView> {
        let mut object =
            json!({"metadata": {"name": "shop", "namespace": "tenant", "uid": "uid-1"}, "status": status});
        for (field, value) in metadata.as_object().expect("fields") {
            object["metadata"][field] = value.clone();
        }
        serde_json::from_value(object).expect("a task")
    }

    fn task() -> Task {
        let mut task = crate::tests::task();
        task.metadata.resource_version = Some("4".into());
        task
    }

    #[test]
    fn a_kept_task_is_used_once_and_only_if_nobody_else_has_changed_it() {
        // The stored version or UID, whether the task is used.
        let table = [
            (json!({"resourceVersion": "4"}), true),
            (json!({"resourceVersion": "5"}), true),
            (json!({"resourceVersion": "6"}), false),
            (json!({}), false),
            (json!({"resourceVersion": "5", "uid": "uid-2"}), false),
            (
                json!({"resourceVersion": "5", "deletionTimestamp": "2026-01-01T00:00:00Z"}),
                false,
            ),
        ];
        for (metadata, expected) in table {
            let kept = KeptTasks::default();
            let status = TaskStatus::default();
            kept.keep(&key("shop"), task(), Some("5".into()), &status)
                .expect("JSON");
            let stored = stored(metadata.clone(), Value::Null);
            let found = kept.take(&key("shop"), Some(&stored));
            let version = found.and_then(|task| task.metadata.resource_version);
            assert_eq!(version.as_deref(), expected.then_some("5"), "{metadata}");
            assert!(
                kept.take(&key("shop"), Some(&stored)).is_none(),
                "{metadata}: used twice"
            );
        }
    }

    #[test]
    fn large_tasks_and_more_than_the_limit_are_not_kept() {
        let kept = KeptTasks::default();
        let status = TaskStatus::default();
        let mut large = task();
        large.spec.repository = "a".repeat(MAX_TASK_BYTES);
        kept.keep(&key("large"), large, None, &status).expect("JSON");
        let mut annotated = task();
        let note = ("note".to_owned(), "a".repeat(MAX_TASK_BYTES));
        annotated.metadata.annotations = Some([note].into());
        kept.keep(&key("annotated"), annotated, None, &status)
            .expect("JSON");
        assert_eq!(kept.tasks().len(), 0);
        for index in 0..=MAX_TASKS {
            kept.keep(&key(&index.to_string()), task(), None, &status)
                .expect("JSON");
        }
        assert_eq!(kept.tasks().len(), MAX_TASKS);
        // One that is kept already stays current.
        kept.keep(&key("0"), task(), Some("9".into()), &status)
            .expect("JSON");
        let current = stored(json!({"resourceVersion": "9"}), Value::Null);
        assert!(kept.take(&key("0"), Some(&current)).is_some());
    }

    #[test]
    fn a_task_needs_nothing_once_it_has_succeeded_and_its_secret_is_deleted() {
        let condition = |kind: &str, status: &str| {
            json!({"type": kind, "status": status, "reason": "x", "message": "",
                "lastTransitionTime": "2026-01-01T00:00:00Z"})
        };
        let status = |succeeded: &str, ready: &str| {
            json!({"conditions": [condition("JobSucceeded", succeeded), condition("Ready", ready)],
                "observedGeneration": 1})
        };
        let metadata = json!({"generation": 1});
        let mut with_secret = status("True", "True");
        with_secret["configSecretRef"] = json!({"namespace": "tenant", "name": "x", "uid": "1"});
        let retry = json!({"generation": 1, "annotations": {RETRY_ANNOTATION: "now"}});
        let deleted = json!({"generation": 1, "deletionTimestamp": "2026-01-01T00:00:00Z"});
        let table = [
            (metadata.clone(), status("True", "True"), true),
            (metadata.clone(), status("True", "False"), false),
            (metadata.clone(), status("True", "Unknown"), false),
            (metadata.clone(), status("False", "True"), false),
            (metadata.clone(), with_secret, false),
            (metadata, Value::Null, false),
            (json!({"generation": 2}), status("True", "True"), false),
            (retry, status("True", "True"), false),
            (deleted, status("True", "True"), false),
        ];
        for (metadata, status, expected) in table {
            let task = stored(metadata.clone(), status.clone());
            assert_eq!(needs_nothing(&task), expected, "{metadata} {status}");
        }
    }
}
