//! Watches: what wakes a task.
//!
//! Of every object a lean view is decoded: memory doesn't grow with what is in tenants' specs, and no
//! depth of it stops a watch. A change of a task's own status differs from others: it changes
//! neither generation nor annotations.

use std::collections::BTreeSet;
use std::fmt::Debug;
use std::sync::Arc;

use futures_util::StreamExt as _;
use jiff::Timestamp;
use kube::api::ListParams;
use kube::runtime::WatchStreamExt as _;
use kube::runtime::watcher::{self, Config, Event, watcher};
use kube::{Api, Client, Resource, ResourceExt};
use serde::de::DeserializeOwned;
use tokio::sync::mpsc::UnboundedSender;
use tokio::time::Instant;

use crate::api::{RETRY_ANNOTATION, Scope};
use crate::controllers::rendertask::task_store::TaskVersion;
use crate::controllers::rendertask::{self, Context};
use crate::jobs::index::{Change, owner};
use crate::names;
use crate::runtime::key::TaskKey;
use crate::views::{PartialJob, PartialPod, TaskMetadata};

/// What a cluster-scoped object has none of.
const NAMESPACE_FIELD: &str = "metadata.namespace";
/// How many objects one answer of a list holds: they are in memory together, as text, and each may have 1.5 MB.
const PAGE_SIZE: u32 = 10;

/// Which tasks are reconciled, and where.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Selection {
    /// Namespaces; empty for all.
    pub namespaces: Vec<String>,
    /// Which tasks, by labels.
    pub labels: Option<String>,
    /// Which tasks, by fields.
    pub fields: Option<String>,
}

impl Selection {
    fn tasks(&self, scope: Scope) -> Config {
        let mut config = Config::default().page_size(PAGE_SIZE);
        config.label_selector.clone_from(&self.labels);
        config.field_selector = self.fields_of(scope).flatten();
        config
    }

    /// The selector of fields for one kind; `None`: it selects none of them. API servers know no
    /// `metadata.namespace` of cluster-scoped kinds and refuse the whole selector; theirs is empty.
    pub(super) fn fields_of(&self, scope: Scope) -> Option<Option<String>> {
        let Some(fields) = self.fields.as_ref().filter(|_| scope == Scope::Cluster) else {
            return Some(self.fields.clone());
        };
        let mut kept = Vec::new();
        for part in fields.split(',') {
            let Some(wanted) = part.trim().strip_prefix(NAMESPACE_FIELD) else {
                kept.push(part);
                continue;
            };
            let (is, value) = match wanted.strip_prefix("!=") {
                Some(value) => (false, value),
                None => (true, wanted.trim_start_matches('=')),
            };
            if is != value.is_empty() {
                return None;
            }
        }
        Some(Some(kept.join(",")).filter(|fields| !fields.is_empty()))
    }

    /// Asks for the first task of a kind, as the watches will for all.
    pub(super) async fn ask(&self, client: Client, scope: Scope) -> Result<(), kube::Error> {
        let Some(fields) = self.fields_of(scope) else {
            return Ok(());
        };
        let namespace = self.namespaces.first().filter(|_| scope == Scope::Namespaced);
        let api = tasks_api(client, scope, namespace.map(String::as_str));
        let params = ListParams {
            label_selector: self.labels.clone(),
            field_selector: fields,
            limit: Some(1),
            ..ListParams::default()
        };
        api.list(&params).await.map(|_| ())
    }

    /// The namespaces that tasks are watched in; `None` is all of them.
    pub(super) fn namespaces(&self) -> Vec<Option<String>> {
        if self.namespaces.is_empty() {
            return vec![None];
        }
        self.namespaces.iter().cloned().map(Some).collect()
    }

    /// The namespaces that Jobs and pods are watched in: those, and the one of cluster tasks.
    pub(super) fn dependent_namespaces(&self, job_namespace: &str) -> Vec<Option<String>> {
        let mut namespaces = self.namespaces();
        if !self.namespaces.is_empty() && !self.namespaces.iter().any(|one| one == job_namespace) {
            namespaces.push(Some(job_namespace.to_owned()));
        }
        namespaces
    }
}

/// Wakes tasks that are new, changed or asked to run again. Never ends.
pub(super) async fn tasks(
    context: Arc<Context>,
    scope: Scope,
    namespace: Option<String>,
    selection: Selection,
    synced: UnboundedSender<()>,
) {
    let api = tasks_api(context.client.clone(), scope, namespace.as_deref());
    let mut stream = std::pin::pin!(watcher(api, selection.tasks(scope)).default_backoff());
    let mut listed: Vec<(Timestamp, TaskKey, TaskVersion)> = Vec::new();
    while let Some(event) = stream.next().await {
        match event {
            Ok(Event::Init) => listed.clear(),
            Ok(Event::InitApply(task)) => {
                let created = task.metadata.creation_timestamp.as_ref();
                let created = created.map_or(Timestamp::MIN, |time| time.0);
                listed.push((created, key(scope, &task), seen(&task)));
            }
            Ok(Event::InitDone) => {
                // The oldest first, so that lines are in order after a restart.
                listed.sort_by(|one, other| (one.0, &one.1).cmp(&(other.0, &other.1)));
                let new = listed.drain(..).map(|(_, key, seen)| (key, seen)).collect();
                let changed = context.selected().replace(scope, namespace.as_deref(), new);
                changed.into_iter().for_each(|key| context.queue.add(key));
                // Nobody listens any more after the first time.
                let _ = synced.send(());
            }
            Ok(Event::Apply(task)) => applied(&context, key(scope, &task), seen(&task)),
            Ok(Event::Delete(task)) => {
                let key = key(scope, &task);
                context.selected().remove(&key);
                context.queue.add(key);
            }
            Err(error) => failed(&context, scope.kind(), &error),
        }
    }
}

fn applied(context: &Context, key: TaskKey, seen: TaskVersion) {
    if context.selected().put(&key, seen) {
        context.queue.add(key);
    } else {
        context.metrics.own_change();
        tracing::trace!(task = %key, "own status changed");
    }
}

/// Wakes the owners of Jobs. Never ends.
pub(super) async fn jobs(context: Arc<Context>, namespace: Option<String>, synced: UnboundedSender<()>) {
    let (shared, listed) = (Arc::clone(&context), namespace.clone());
    dependents::<PartialJob>(&context, namespace, synced, |event| match event {
        ObjectEvent::Applied(job) if is_ours(&shared, job) => {
            let change = shared.index().apply_job(job);
            change.into_iter().for_each(|change| job_changed(&shared, change));
        }
        ObjectEvent::Deleted(job) if is_ours(&shared, job) => {
            let change = shared.index().delete_job(job);
            change.into_iter().for_each(|change| job_changed(&shared, change));
        }
        // Its task may have been ours until just now, or a namesake of one that waits for its name.
        ObjectEvent::Deleted(job) => {
            shared
                .index()
                .forget(&job.namespace().unwrap_or_default(), &job.name_any());
            let freed = owner(job)
                .filter(|(task, _)| has_task_location(&shared, job, task) && shared.selected().has(task));
            freed.into_iter().for_each(|(task, _)| shared.queue.add(task));
        }
        ObjectEvent::Applied(_) => {}
        ObjectEvent::Listed(uids) => {
            let changes = shared.index().retain_jobs(uids, listed.as_deref());
            changes
                .into_iter()
                .for_each(|change| job_changed(&shared, change));
        }
    })
    .await;
}

/// A Job of a task that another operator reconciles is none of our business, nor is one that only says that a task
/// of ours owns it: whoever may make Jobs can say so, and would take the slots of others.
fn is_ours(context: &Context, job: &PartialJob) -> bool {
    owner(job).is_some_and(|(task, uid)| {
        has_task_location(context, job, &task) && context.selected().is(&task, &uid)
    })
}

/// Whether a Job has the name and the namespace of a task's.
fn has_task_location(context: &Context, job: &PartialJob, task: &TaskKey) -> bool {
    let (namespace, name) = context.job_location(task);
    job.metadata.namespace.as_deref() == Some(namespace)
        && job.metadata.name.as_deref() == Some(name.as_str())
}

/// Wakes the owners of the Jobs of pods. Never ends.
pub(super) async fn pods(context: Arc<Context>, namespace: Option<String>, synced: UnboundedSender<()>) {
    let (shared, listed) = (Arc::clone(&context), namespace.clone());
    dependents::<PartialPod>(&context, namespace, synced, |event| {
        let change = match event {
            ObjectEvent::Applied(pod) => shared.index().apply_pod(pod),
            ObjectEvent::Deleted(pod) => shared.index().delete_pod(pod),
            ObjectEvent::Listed(uids) => {
                shared.index().retain_pods(uids, listed.as_deref());
                None
            }
        };
        if let Some(change) = change.filter(|change| shared.selected().has(&change.task)) {
            shared.queue.add_urgent(change.task);
        }
    })
    .await;
}

fn job_changed(context: &Context, change: Change) {
    if change.idle {
        context.release(&change.task);
    } else {
        context.slots().occupy(&change.task, None);
    }
    context.queue.add_urgent(change.task);
}

enum ObjectEvent<'a, K> {
    Applied(&'a K),
    Deleted(&'a K),
    /// A new list is complete: all that there is.
    Listed(&'a BTreeSet<String>),
}

async fn dependents<K>(
    context: &Context,
    namespace: Option<String>,
    synced: UnboundedSender<()>,
    mut handle: impl FnMut(ObjectEvent<'_, K>),
) where
    K: Resource<DynamicType = (), Scope = kube::core::NamespaceResourceScope>,
    K: Clone + DeserializeOwned + Debug + Send + 'static,
{
    let client = context.client.clone();
    let api: Api<K> = match &namespace {
        Some(namespace) => Api::namespaced(client, namespace),
        None => Api::all(client),
    };
    let config = Config::default().labels(&names::selector()).page_size(PAGE_SIZE);
    let mut stream = std::pin::pin!(watcher(api, config).default_backoff());
    let mut listed = BTreeSet::new();
    while let Some(event) = stream.next().await {
        match event {
            Ok(Event::Init) => listed.clear(),
            Ok(Event::InitApply(object)) => {
                listed.insert(object.uid().unwrap_or_default());
                handle(ObjectEvent::Applied(&object));
            }
            Ok(Event::InitDone) => {
                handle(ObjectEvent::Listed(&listed));
                listed.clear();
                let _ = synced.send(());
            }
            Ok(Event::Apply(object)) => handle(ObjectEvent::Applied(&object)),
            Ok(Event::Delete(object)) => handle(ObjectEvent::Deleted(&object)),
            Err(error) => failed(context, &K::kind(&()), &error),
        }
    }
}

fn tasks_api(client: Client, scope: Scope, namespace: Option<&str>) -> Api<TaskMetadata> {
    match namespace {
        Some(namespace) => Api::namespaced_with(client, namespace, &scope),
        None => Api::all_with(client, &scope),
    }
}

/// One line for all watches within a while: when the API server is away, none of them gets an answer.
fn failed(context: &Context, kind: &str, error: &watcher::Error) {
    let error = watch_error(error);
    context.metrics.watch_errors.inc();
    let suppressed = context.watch_log().admit(Instant::now());
    match suppressed {
        Some(suppressed) => {
            let server = context.settings.server.as_str();
            tracing::warn!(kind, server, error, suppressed, "watch failed");
        }
        None => tracing::trace!(kind, error, "watch failed"),
    }
}

/// What a watch met, without the rest of the API server's answer.
fn watch_error(error: &watcher::Error) -> String {
    match error {
        watcher::Error::InitialListFailed(error)
        | watcher::Error::WatchStartFailed(error)
        | watcher::Error::WatchFailed(error) => rendertask::api_message(error),
        watcher::Error::WatchError(status) => format!("{} ({})", status.message, status.code),
        watcher::Error::NoResourceVersion => error.to_string(),
    }
}

fn key(scope: Scope, task: &TaskMetadata) -> TaskKey {
    TaskKey {
        scope,
        namespace: task.namespace().unwrap_or_default(),
        name: task.name_any(),
    }
}

fn seen(task: &TaskMetadata) -> TaskVersion {
    TaskVersion {
        uid: task.uid(),
        generation: task.metadata.generation,
        retry: task.annotations().get(RETRY_ANNOTATION).cloned(),
        deleting: task.metadata.deletion_timestamp.is_some(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The field `metadata.namespace` once kept the operator from ever beginning: it watches the cluster's kind too.
    #[test]
    fn a_cluster_task_is_in_the_namespace_without_a_name() {
        // Selector, what is asked for cluster tasks.
        let table = [
            ("metadata.name=a", Some(Some("metadata.name=a"))),
            ("metadata.namespace=a", None),
            ("metadata.namespace==a", None),
            ("metadata.namespace!=a", Some(None)),
            ("metadata.namespace=", Some(None)),
            ("metadata.namespace!=", None),
            (
                "metadata.name!=b, metadata.namespace!=a",
                Some(Some("metadata.name!=b")),
            ),
            ("metadata.name!=b,metadata.namespace=a", None),
        ];
        for (fields, expected) in table {
            let selection = Selection {
                fields: Some(fields.into()),
                ..Selection::default()
            };
            let found = selection.fields_of(Scope::Cluster);
            assert_eq!(found.as_ref().map(Option::as_deref), expected, "{fields}");
            assert_eq!(selection.fields_of(Scope::Namespaced), Some(Some(fields.into())));
        }
        assert_eq!(Selection::default().fields_of(Scope::Cluster), Some(None));
    }
}
