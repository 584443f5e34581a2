//! The Jobs and pods that the watches have delivered, and their owners.
//!
//! A cache: a Job that isn't here is read before it counts as absent. A Job that finished and was deleted at once (a
//! TTL of 0) is kept until its end is recorded.

use std::collections::{BTreeMap, BTreeSet};

use super::partial::{PartialJob, PartialPod};
use super::snapshot::{JobSnapshot, PodSnapshot};
use crate::api::{RUN_ANNOTATION, Run};
use crate::runtime::owned::controller;
use crate::runtime::{Key, KindId, ObjectName};

const OWNER_KIND: &str = "solar.opendefense.cloud/owner-kind";
const OWNER_NAMESPACE: &str = "solar.opendefense.cloud/owner-namespace";
const OWNER_NAME: &str = "solar.opendefense.cloud/owner-name";
const OWNER_UID: &str = "solar.opendefense.cloud/owner-uid";

/// A task's own Job.
#[derive(Debug, Clone, PartialEq)]
pub struct FoundJob {
    /// Its current state; after its deletion, its last one.
    pub view: JobSnapshot,
    /// Whether it has been deleted after its end was seen.
    pub gone: bool,
    /// Whether a watch delivers it, and so will its end; otherwise it was read.
    pub watched: bool,
    /// The run that it was created for, from its annotation.
    pub run: Option<Run>,
}

impl FoundJob {
    /// A Job that exists.
    pub fn new(job: &PartialJob, watched: bool) -> Self {
        let run = job.annotation(RUN_ANNOTATION);
        Self {
            view: JobSnapshot::from(job),
            gone: false,
            watched,
            // It is unknown for a Job that was edited, or that an older operator created.
            run: run.and_then(|text| serde_json::from_str(text).ok()),
        }
    }
}

/// The known Jobs and pods.
#[derive(Debug, Default)]
pub struct JobIndex {
    jobs: BTreeMap<(String, String), Entry>,
    by_uid: BTreeMap<JobId, (String, String)>,
    pods: BTreeMap<JobId, Vec<PodSnapshot>>,
    /// The kinds that own Jobs.
    kinds: Vec<KindId>,
    /// The kinds whose Jobs may be in another namespace than their owner.
    elsewhere: Vec<KindId>,
}

/// A Job's namespace and UID: a pod of another namespace that names the UID doesn't belong to the Job.
type JobId = (String, String);

#[derive(Debug)]
struct Entry {
    job: FoundJob,
    owner: Key,
    owner_uid: String,
}

/// The effect of a change on the rest of the operator.
#[derive(Debug, PartialEq, Eq)]
pub struct JobChange {
    /// The object to wake.
    pub owner: Key,
    /// Whether its Job neither runs nor will run.
    pub idle: bool,
}

impl JobIndex {
    /// An empty index; these kinds own Jobs.
    pub fn new(kinds: Vec<KindId>) -> Self {
        Self {
            kinds,
            ..Self::default()
        }
    }

    /// Adds kinds that own Jobs in other namespaces.
    pub fn with_owners_elsewhere(self, elsewhere: Vec<KindId>) -> Self {
        Self { elsewhere, ..self }
    }

    /// The owner that a Job names, and its UID.
    pub fn owner(&self, job: &PartialJob) -> Option<(Key, String)> {
        owner(job, &self.kinds).or_else(|| owner_elsewhere(job, &self.elsewhere))
    }

    /// A Job was created or changed.
    pub fn apply_job(&mut self, job: &PartialJob) -> Option<JobChange> {
        let (owner, owner_uid) = self.owner(job)?;
        let job = FoundJob::new(job, true);
        let idle = !job.view.runs();
        let id = job_id(&job.view);
        let location = (job.view.namespace.clone(), job.view.name.clone());
        self.by_uid.insert(id.clone(), location.clone());
        let entry = Entry {
            job,
            owner: owner.clone(),
            owner_uid,
        };
        let old = self.jobs.insert(location, entry).map(|old| job_id(&old.job.view));
        if let Some(old) = old.filter(|old| *old != id) {
            self.by_uid.remove(&old);
            self.pods.remove(&old);
        }
        Some(JobChange { owner, idle })
    }

    /// A Job was deleted; `job` is its last state. Its end is kept until it is recorded.
    pub fn delete_job(&mut self, job: &PartialJob) -> Option<JobChange> {
        let change = self.apply_job(job)?;
        let location = job_location(job);
        self.gone(&location);
        Some(JobChange { idle: true, ..change })
    }

    fn gone(&mut self, location: &(String, String)) {
        match self.jobs.get_mut(location) {
            Some(entry) if entry.job.view.end.is_some() => entry.job.gone = true,
            _ => self.forget(&location.0, &location.1),
        }
    }

    /// A pod was created or changed.
    pub fn apply_pod(&mut self, pod: &PartialPod) -> Option<JobChange> {
        self.put_pod(PodSnapshot::from(pod))
    }

    /// A pod was deleted. Its end is kept as long as its Job.
    pub fn delete_pod(&mut self, pod: &PartialPod) -> Option<JobChange> {
        let mut view = PodSnapshot::from(pod);
        let id = pod_job_id(&view);
        if self.by_uid.contains_key(&id) {
            view.deleted();
            return self.put_pod(view);
        }
        if let Some(known) = self.pods.get_mut(&id) {
            known.retain(|old| old.uid != view.uid);
            if known.is_empty() {
                self.pods.remove(&id);
            }
        }
        None
    }

    fn put_pod(&mut self, mut view: PodSnapshot) -> Option<JobChange> {
        let id = pod_job_id(&view);
        let task = self.task_of(&id);
        let known = self.pods.entry(id).or_default();
        match known.iter_mut().find(|known| known.uid == view.uid) {
            Some(old) => {
                view.after(old);
                // Kubelets write often; changes of other fields are ignored.
                if *old == view {
                    return None;
                }
                *old = view;
            }
            None => known.push(view),
        }
        task.map(|task| JobChange {
            owner: task,
            idle: false,
        })
    }

    /// After a new list of a namespace, or of all: Jobs that were not in it were deleted without an event. An end that
    /// was seen before is kept until it is recorded.
    pub fn retain_jobs(&mut self, uids: &BTreeSet<String>, location: Option<&str>) -> Vec<JobChange> {
        let gone = |entry: &&Entry| {
            let view = &entry.job.view;
            let listed = location.is_none_or(|location| location == view.namespace);
            listed && !entry.job.gone && !uids.contains(&view.uid)
        };
        let gone: Vec<_> = self
            .jobs
            .values()
            .filter(gone)
            .map(|entry| {
                (
                    entry.job.view.namespace.clone(),
                    entry.job.view.name.clone(),
                    entry.owner.clone(),
                )
            })
            .collect();
        let changes = gone.into_iter().map(|(namespace, name, task)| {
            self.gone(&(namespace, name));
            JobChange {
                owner: task,
                idle: true,
            }
        });
        changes.collect()
    }

    /// After a new list of a namespace, or of all: removes pods that were not in it, unless their end is known and
    /// their Job exists.
    pub fn retain_pods(&mut self, uids: &BTreeSet<String>, location: Option<&str>) {
        let jobs = &self.by_uid;
        self.pods.retain(|job, pods| {
            pods.retain(|pod| {
                let listed = location.is_none_or(|location| location == pod.namespace);
                !listed || uids.contains(&pod.uid) || (pod.end.is_some() && jobs.contains_key(job))
            });
            !pods.is_empty()
        });
    }

    /// The Job with this name, if its owner has this UID.
    pub fn job(&self, namespace: &str, name: &str, owner_uid: &str) -> Option<FoundJob> {
        let entry = self.jobs.get(&(namespace.to_owned(), name.to_owned()))?;
        (entry.owner_uid == owner_uid).then(|| entry.job.clone())
    }

    /// The pods of a Job.
    pub fn pods(&self, job: &JobSnapshot) -> Vec<PodSnapshot> {
        self.pods.get(&job_id(job)).cloned().unwrap_or_default()
    }

    /// Forgets a Job whose end is recorded, or that is known to be deleted.
    pub fn forget(&mut self, namespace: &str, name: &str) {
        if let Some(entry) = self.jobs.remove(&(namespace.to_owned(), name.to_owned())) {
            let id = job_id(&entry.job.view);
            self.by_uid.remove(&id);
            self.pods.remove(&id);
        }
    }

    /// How many Jobs and pods there are.
    pub fn counts(&self) -> (usize, usize) {
        (self.jobs.len(), self.pods.values().map(Vec::len).sum())
    }

    fn task_of(&self, id: &JobId) -> Option<Key> {
        let entry = self.jobs.get(self.by_uid.get(id)?)?;
        Some(entry.owner.clone())
    }
}

fn job_location(job: &PartialJob) -> (String, String) {
    let name = job.name();
    (name.namespace, name.name)
}

fn job_id(job: &JobSnapshot) -> JobId {
    (job.namespace.clone(), job.uid.clone())
}

fn pod_job_id(pod: &PodSnapshot) -> JobId {
    (pod.namespace.clone(), pod.job_uid.clone())
}

/// The annotations by which a Job names an owner in another namespace: owner references don't cross namespaces.
pub fn owner_annotations(owner: &Key, uid: &str) -> BTreeMap<String, String> {
    let pairs = [
        (OWNER_KIND, owner.kind.kind),
        (OWNER_NAMESPACE, &owner.namespace),
        (OWNER_NAME, &owner.name),
        (OWNER_UID, uid),
    ];
    pairs
        .into_iter()
        .map(|(key, value)| (key.to_owned(), value.to_owned()))
        .collect()
}

fn owner_elsewhere(job: &PartialJob, kinds: &[KindId]) -> Option<(Key, String)> {
    let kind = job.annotation(OWNER_KIND)?;
    let kind = *kinds.iter().find(|known| known.kind == kind)?;
    let name = ObjectName::new(job.annotation(OWNER_NAMESPACE)?, job.annotation(OWNER_NAME)?);
    Some((kind.key(name), job.annotation(OWNER_UID)?.to_owned()))
}

/// The object that a Job's controller reference names, if it is of one of these kinds, and its UID.
fn owner(job: &PartialJob, kinds: &[KindId]) -> Option<(Key, String)> {
    let reference = controller(job.metadata.owner_references.as_deref().unwrap_or_default())?;
    let kind = *kinds.iter().find(|kind| kind.kind == reference.kind)?;
    // A cluster-scoped owner has no namespace, whatever its Job's is.
    let namespace = if kind.namespaced { job.namespace() } else { "" };
    let key = kind.key(ObjectName::new(namespace, &reference.name));
    Some((key, reference.uid.clone()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::api::Scope;
    use serde_json::{Value, json};

    fn job(uid: &str, status: Value) -> PartialJob {
        serde_json::from_value(json!({
            "metadata": {"name": "render-shop", "namespace": "tenant", "uid": uid, "ownerReferences": [{
                "apiVersion": "solar.opendefense.cloud/v1alpha1", "kind": "RenderTask", "name": "shop",
                "uid": "task-1", "controller": true,
            }]},
            "status": status,
        }))
        .expect("a Job")
    }

    /// A Job with an owner in another namespace once was found for none.
    #[test]
    fn a_job_may_name_an_owner_of_another_namespace_where_its_kind_has_such() {
        let kind = KindId {
            kind: "RenderArtifact",
            ..Scope::Namespaced.id()
        };
        let owner = kind.key(ObjectName::new("tenant", "art"));
        let metadata = json!({"name": "delete-1", "namespace": "system", "uid": "job-1",
            "annotations": owner_annotations(&owner, "uid-1")});
        let job: PartialJob = serde_json::from_value(json!({"metadata": metadata})).expect("a Job");
        let mut without = JobIndex::new(vec![kind]);
        assert!(without.apply_job(&job).is_none());
        let mut index = JobIndex::new(Vec::new()).with_owners_elsewhere(vec![kind]);
        assert_eq!(index.apply_job(&job).expect("a change").owner, owner);
        assert!(index.job("system", "delete-1", "uid-1").is_some());
    }

    fn pod(job_uid: &str, state: Value) -> PartialPod {
        serde_json::from_value(json!({
            "metadata": {"name": "p", "namespace": "tenant", "uid": "pod-1", "ownerReferences": [
                {"apiVersion": "batch/v1", "kind": "Job", "name": "render-shop", "uid": job_uid, "controller": true},
            ]},
            "status": {"phase": "Pending", "containerStatuses": [{
                "name": "renderer", "image": "", "imageID": "", "ready": false, "restartCount": 0, "state": state,
            }]},
        }))
        .expect("a pod")
    }

    fn pods_of(index: &JobIndex) -> Vec<PodSnapshot> {
        let job = index.job("tenant", "render-shop", "task-1").expect("the Job");
        index.pods(&job.view)
    }

    fn complete() -> Value {
        json!({"conditions": [{"type": "Complete", "status": "True"}]})
    }

    #[test]
    fn a_job_belongs_to_the_owner_of_its_uid_alone() {
        let mut index = JobIndex::new(vec![Scope::Namespaced.id()]);
        let change = index.apply_job(&job("job-1", json!({}))).expect("a change");
        assert_eq!((change.owner.name.as_str(), change.idle), ("shop", false));
        assert!(index.job("tenant", "render-shop", "task-1").is_some());
        assert!(index.job("tenant", "render-shop", "task-2").is_none());
    }

    #[test]
    fn an_end_outlives_its_job_and_pods_until_it_is_recorded() {
        let mut index = JobIndex::new(vec![Scope::Namespaced.id()]);
        index.apply_job(&job("job-1", json!({})));
        index.apply_pod(&pod(
            "job-1",
            json!({"terminated": {"exitCode": 0, "message": "done"}}),
        ));
        index.delete_job(&job("job-1", complete()));
        index.delete_pod(&pod(
            "job-1",
            json!({"terminated": {"exitCode": 0, "message": "done"}}),
        ));
        let found = index.job("tenant", "render-shop", "task-1").expect("the end");
        assert!(found.gone && found.view.end.is_some());
        assert_eq!(index.pods(&found.view).len(), 1);
        index.forget("tenant", "render-shop");
        assert_eq!(index.counts(), (0, 0));
    }

    #[test]
    fn an_end_that_was_seen_outlives_a_new_list_too() {
        let mut index = JobIndex::new(vec![Scope::Namespaced.id()]);
        index.apply_job(&job("job-1", complete()));
        let changes = index.retain_jobs(&BTreeSet::new(), None);
        assert_eq!((changes.len(), index.counts()), (1, (1, 0)));
        let found = index.job("tenant", "render-shop", "task-1").expect("the end");
        assert!(found.gone);
        assert!(
            index.retain_jobs(&BTreeSet::new(), None).is_empty(),
            "reported once"
        );
    }

    /// A tenant could once report a Job's result with a pod in its own namespace that named the Job's UID.
    #[test]
    fn a_pod_of_another_namespace_belongs_to_no_job_whatever_uid_it_names() {
        let mut index = JobIndex::new(vec![Scope::Namespaced.id()]);
        index.apply_job(&job("job-1", json!({})));
        let mut forged = pod("job-1", json!({"terminated": {"exitCode": 0, "message": "lies"}}));
        forged.metadata.namespace = Some("another".into());
        assert!(index.apply_pod(&forged).is_none());
        assert!(pods_of(&index).is_empty());
        assert!(index.delete_pod(&forged).is_none());
        assert_eq!(index.counts(), (1, 0), "nothing of it stays");
    }

    #[test]
    fn a_job_that_was_deleted_before_its_end_is_forgotten() {
        let mut index = JobIndex::new(vec![Scope::Namespaced.id()]);
        index.apply_job(&job("job-1", json!({})));
        index.apply_pod(&pod("job-1", json!({"running": {}})));
        let change = index.delete_job(&job("job-1", json!({}))).expect("a change");
        assert!(change.idle);
        assert_eq!(index.counts(), (0, 0));
        index.delete_pod(&pod("job-1", json!({"running": {}})));
        assert_eq!(index.counts(), (0, 0), "nothing of it stays");
    }

    #[test]
    fn a_new_job_of_the_name_forgets_the_old_ones_pods() {
        let mut index = JobIndex::new(vec![Scope::Namespaced.id()]);
        index.apply_job(&job("job-1", json!({})));
        index.apply_pod(&pod("job-1", json!({"running": {}})));
        index.apply_job(&job("job-2", json!({})));
        assert_eq!(index.counts(), (1, 0));
    }

    #[test]
    fn what_a_pod_waited_for_is_known_when_it_is_gone() {
        let mut index = JobIndex::new(vec![Scope::Namespaced.id()]);
        index.apply_job(&job("job-1", json!({})));
        let waiting = json!({"waiting": {"reason": "ImagePullBackOff"}});
        assert!(index.apply_pod(&pod("job-1", waiting.clone())).is_some());
        assert!(index.apply_pod(&pod("job-1", waiting)).is_none(), "no news");
        index.delete_pod(&pod(
            "job-1",
            json!({"terminated": {"exitCode": 137, "reason": "ContainerStatusUnknown"}}),
        ));
        let pods = pods_of(&index);
        assert_eq!(pods[0].waiting.as_deref(), Some("ImagePullBackOff"));
    }

    #[test]
    fn a_list_of_one_namespace_removes_nothing_from_others() {
        let mut index = JobIndex::new(vec![Scope::Namespaced.id()]);
        index.apply_job(&job("job-1", json!({})));
        index.apply_pod(&pod("job-1", json!({"running": {}})));
        let nothing = BTreeSet::new();
        assert!(index.retain_jobs(&nothing, Some("other")).is_empty());
        index.retain_pods(&nothing, Some("other"));
        assert_eq!(index.counts(), (1, 1));
        index.retain_pods(&nothing, Some("tenant"));
        assert_eq!(index.counts(), (1, 0));
        assert_eq!(index.retain_jobs(&nothing, Some("tenant")).len(), 1);
        assert_eq!(index.counts(), (0, 0));
    }
}
