//! The running Jobs of all controllers: what the watches of Jobs and pods have delivered, and the slots.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use prometheus_client::metrics::gauge::ConstGauge;

use super::index::{JobChange, JobIndex};
use super::partial::{JOBS, JobParts, PODS, PartialJob, PodParts};
use super::slots::{JobLimits, JobSlots};
use crate::names;
use crate::runtime::metrics::number;
use crate::runtime::{Cx, Dependent, Key, KindId, ObjectEvent, ObjectName, Wake, Watched};

/// A kind whose objects own Jobs.
#[derive(Debug, Clone, Copy)]
pub struct JobOwner {
    /// The kind.
    pub kind: KindId,
    /// Returns the Job of an object; the text is the operator's Job namespace. `None`: the object can have none.
    pub job: fn(&Cx, &Key, &str) -> Option<ObjectName>,
    /// The namespace that the Job counts for: the object's, or that of whom it was made for.
    pub group: fn(&Cx, &Key) -> Option<String>,
    /// Whether the Job may be in another namespace than its owner, which annotations then name.
    pub is_elsewhere: bool,
    /// Whether a Job may be the object's, by its name; `None`: only the one that `job` returns.
    pub is_job: Option<fn(&Key, &ObjectName) -> bool>,
}

/// What all controllers that run Jobs share.
pub struct JobTracker {
    cx: Cx,
    owners: Vec<JobOwner>,
    job_namespace: String,
    index: Mutex<JobIndex>,
    slots: Mutex<JobSlots>,
}

impl JobTracker {
    /// An empty tracker.
    pub fn new(cx: &Cx, owners: &[JobOwner], job_namespace: &str, limits: JobLimits) -> Arc<Self> {
        let kinds = |is_elsewhere| {
            let kinds = owners.iter().filter(|owner| owner.is_elsewhere == is_elsewhere);
            kinds.map(|owner| owner.kind).collect()
        };
        let index = JobIndex::new(kinds(false)).with_owners_elsewhere(kinds(true));
        let tracker = Arc::new(Self {
            cx: cx.clone(),
            owners: owners.to_vec(),
            job_namespace: job_namespace.to_owned(),
            index: Mutex::new(index),
            slots: Mutex::new(JobSlots::new(limits)),
        });
        let scraped = Arc::downgrade(&tracker);
        cx.metrics().extend("jobs", move |registry| {
            let counts = scraped.upgrade().map(|tracker| {
                let (slots, index) = (tracker.slots().counts(), tracker.index().counts());
                [slots.0, slots.1, index.0, index.1]
            });
            let [running, queued, jobs, pods] = counts.unwrap_or_default().map(number).map(ConstGauge::new);
            registry.register("jobs_running", "Concurrency slots in use", running);
            registry.register("jobs_queued", "Objects that wait for a concurrency slot", queued);
            registry.register("jobs_known", "Jobs in memory", jobs);
            registry.register("pods_known", "Pods in memory", pods);
        });
        tracker
    }

    /// The known Jobs and pods. Never held across an await.
    pub fn index(&self) -> MutexGuard<'_, JobIndex> {
        self.index.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The slots. Never held across an await.
    pub fn slots(&self) -> MutexGuard<'_, JobSlots> {
        self.slots.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The object runs no Job: the next waiting object gets its slot and is woken.
    pub fn release(&self, key: &Key) {
        let woken = self.slots().release(key);
        woken.into_iter().for_each(|next| self.cx.wake_urgent(next));
    }

    /// A reconcile of the object has failed: if its slot has no Job, the next waiting object gets it and is woken.
    pub fn give_back(&self, key: &Key) {
        let woken = self.slots().give_back(key);
        woken.into_iter().for_each(|next| self.cx.wake_urgent(next));
    }

    /// The object was deleted, or this operator no longer reconciles it.
    pub fn forget(&self, key: &Key) {
        self.release(key);
        if let Some(job) = self.job_of(key) {
            self.index().forget(&job.namespace, &job.name);
        }
    }

    /// The namespace and the name of an object's Job.
    pub fn job_of(&self, key: &Key) -> Option<ObjectName> {
        let owner = self.owners.iter().find(|owner| owner.kind == key.kind)?;
        (owner.job)(&self.cx, key, &self.job_namespace)
    }

    /// The namespace that an object's Job counts for.
    fn group_of(&self, key: &Key) -> String {
        let owner = self.owners.iter().find(|owner| owner.kind == key.kind);
        let group = owner.and_then(|owner| (owner.group)(&self.cx, key));
        group.unwrap_or_else(|| key.namespace.clone())
    }

    /// Whether this operator reconciles the object that owns the Job. Owner references alone don't count: anyone who
    /// may create Jobs could write them, and take the slots of others.
    fn is_ours(&self, job: &PartialJob) -> bool {
        self.owner(job)
            .is_some_and(|(key, uid)| self.cx.reconciles_uid(&key, &uid))
    }

    /// The owner that a Job names, if the Job has the name and the namespace of that owner's Job.
    fn owner(&self, job: &PartialJob) -> Option<(Key, String)> {
        let (key, uid) = self.index().owner(job)?;
        let owner = self.owners.iter().find(|owner| owner.kind == key.kind)?;
        let is_its_job = match owner.is_job {
            Some(is_job) => is_job(&key, &job.name()),
            None => self.job_of(&key)? == job.name(),
        };
        is_its_job.then_some((key, uid))
    }

    /// Whether a Job is not the object's present one: such a Job has no slot.
    fn is_former(&self, job: &PartialJob) -> bool {
        let owner = self.owner(job);
        owner.is_some_and(|(key, _)| self.job_of(&key).is_some_and(|present| present != job.name()))
    }

    fn changed_of(&self, job: &PartialJob, change: JobChange) -> Vec<Wake> {
        if self.is_former(job) {
            if change.idle {
                // Its end is recorded, or no longer of interest.
                let name = job.name();
                self.index().forget(&name.namespace, &name.name);
            }
            return vec![Wake {
                key: change.owner,
                urgent: true,
            }];
        }
        self.changed(change)
    }

    fn changed(&self, change: JobChange) -> Vec<Wake> {
        let mut woken = Vec::new();
        if change.idle {
            woken = self.slots().release(&change.owner);
        } else {
            let group = self.group_of(&change.owner);
            self.slots().occupy(&change.owner, &group);
        }
        woken.push(change.owner);
        let wakes = woken.into_iter().map(|key| Wake { key, urgent: true });
        wakes.collect()
    }
}

/// The watch of Jobs.
pub struct Jobs(pub Arc<JobTracker>);

/// The watch of the pods of Jobs.
pub struct Pods(pub Arc<JobTracker>);

impl Watched for Jobs {
    const ID: KindId = JOBS;
    type View = JobParts;
}

impl Watched for Pods {
    const ID: KindId = PODS;
    type View = PodParts;
}

impl Dependent for Jobs {
    fn selector(&self) -> Option<String> {
        Some(names::selector())
    }

    fn handle(&self, event: ObjectEvent<'_, JobParts>) -> Vec<Wake> {
        let tracker = &self.0;
        match event {
            ObjectEvent::Applied { object: job, .. } if tracker.is_ours(&job) => {
                let change = tracker.index().apply_job(&job);
                change.map_or(Vec::new(), |change| tracker.changed_of(&job, change))
            }
            ObjectEvent::Applied { .. } => Vec::new(),
            ObjectEvent::Deleted(job) if tracker.is_ours(&job) => {
                let change = tracker.index().delete_job(&job);
                change.map_or(Vec::new(), |change| tracker.changed_of(&job, change))
            }
            // This operator may have reconciled the owner until now, or another object waits for the Job's name.
            ObjectEvent::Deleted(job) => {
                let name = job.name();
                tracker.index().forget(&name.namespace, &name.name);
                let freed = tracker.owner(&job).map(|(key, _)| key);
                let freed = freed.filter(|key| tracker.cx.reconciles(key));
                freed.into_iter().map(|key| Wake { key, urgent: false }).collect()
            }
            ObjectEvent::Listed { uids, namespace } => {
                let changes = tracker.index().retain_jobs(uids, namespace);
                let wakes = changes.into_iter().map(|change| tracker.changed(change));
                wakes.flatten().collect()
            }
        }
    }
}

impl Dependent for Pods {
    fn selector(&self) -> Option<String> {
        Some(names::selector())
    }

    fn handle(&self, event: ObjectEvent<'_, PodParts>) -> Vec<Wake> {
        let tracker = &self.0;
        let change = match event {
            ObjectEvent::Applied { object: pod, .. } => tracker.index().apply_pod(&pod),
            ObjectEvent::Deleted(pod) => tracker.index().delete_pod(&pod),
            ObjectEvent::Listed { uids, namespace } => {
                tracker.index().retain_pods(uids, namespace);
                None
            }
        };
        let owner = change.map(|change| change.owner);
        let owner = owner.filter(|owner| tracker.cx.reconciles(owner));
        owner.into_iter().map(|key| Wake { key, urgent: true }).collect()
    }
}
