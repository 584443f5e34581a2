//! Plans a Target's reconcile: which RenderTasks are missing, the state of each Release and of the bootstrap chart,
//! which tasks are no longer needed.
//!
//! In: the Target with the objects it refers to, and the existing RenderTasks. Out: a [`TargetPlan`]. A task with a
//! planned name but another owner is neither used nor deleted.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::blueprints;
use super::bootstrap::{
    BootstrapPlan, BootstrapSources, INPUT_LABEL, KnownTask, Numbers, RenderedRelease, number,
    plan as bootstrap_plan,
};
use super::conditions::{Bootstrap, Reference};
use super::pull_secrets::PullSecrets;
use super::release_task::{PlanError, PlannedTask, ReleaseSources, release_task};
use super::resolver::{Candidate, Resolution, effective_unique_name, resolve};
use super::signing::{SigningProblem, TargetSigning};
use super::target_status::{BoundRelease, Progress, rendered};
use super::task_owner::{is_owned, labels};
use super::task_state::TaskState;
use crate::api::TaskSpec;
use crate::api::pipeline::{ComponentVersion, ObjectKey, Registry, Release, Target};
use crate::controllers::rendertask::TaskView;
use crate::runtime::views::Object;

/// An existing RenderTask.
pub type ExistingTask = Arc<Object<TaskView>>;

/// The inputs of a Target's charts.
#[derive(Debug, Clone)]
pub struct TargetSources {
    /// The Target.
    pub target: Target,
    /// Its render registry, or why it can't be used.
    pub registry: Result<Registry, Reference>,
    /// Its pull Secrets.
    pub pull_secrets: PullSecrets,
    /// The Releases that are bound to it.
    pub bound: Vec<BoundSources>,
    /// The numbers of its bootstrap charts so far.
    pub numbers: Numbers,
    /// Whether a resource of a host that no RegistryBinding names is refused.
    pub is_strict: bool,
    /// How its charts are signed, if they are.
    pub signing: Option<TargetSigning>,
}

/// A Release that is bound to a Target.
#[derive(Debug, Clone)]
pub struct BoundSources {
    /// The ReleaseBinding.
    pub binding: ObjectKey,
    /// The Release.
    pub release: ObjectKey,
    /// The Release and its component version, or what is missing.
    pub found: Result<(Release, ComponentVersion), MissingSource>,
}

/// Why a bound Release can't be rendered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MissingSource {
    /// The Release's unique name, if it sets one.
    pub unique_name: Option<String>,
    /// What is missing.
    pub message: String,
}

/// The changes to make, and the state to report.
#[derive(Debug, Clone)]
pub struct TargetPlan {
    /// The render registry.
    pub registry: Reference,
    /// The bound Releases.
    pub releases: Vec<BoundRelease>,
    /// The RenderTasks that are missing.
    pub create: Vec<NewTask>,
    /// Where it stands with signing, if its charts are signed.
    pub signing: Option<TargetSigning>,
    /// The bootstrap chart, once all charts of Releases are in the registry.
    pub bootstrap: Option<PlannedBootstrap>,
}

/// A RenderTask to create.
#[derive(Debug, Clone)]
pub struct NewTask {
    /// Its namespace and name.
    pub key: ObjectKey,
    /// Its spec.
    pub spec: TaskSpec,
    /// The labels of its owner.
    pub labels: BTreeMap<String, String>,
}

/// The bootstrap chart of the current input.
#[derive(Debug, Clone)]
pub struct PlannedBootstrap {
    /// Its number and the hash of its input, if there is a number.
    pub version: Option<(i64, String)>,
    /// Its RenderTask.
    pub progress: Result<Bootstrap, PlanError>,
}

/// Plans a Target's reconcile. `find` returns a RenderTask of any owner by its name.
pub fn plan(sources: &TargetSources, find: impl Fn(&ObjectKey) -> Option<ExistingTask>) -> TargetPlan {
    let mut planner = Planner {
        sources,
        find: &find,
        create: Vec::new(),
        signing: sources.signing.clone(),
    };
    let releases = planner.releases();
    let bootstrap = planner.bootstrap(&releases);
    let registry = match &sources.registry {
        Ok(registry) => Reference::Resolved(registry.key()),
        Err(reference) => reference.clone(),
    };
    TargetPlan {
        registry,
        releases,
        create: planner.create,
        signing: planner.signing,
        bootstrap,
    }
}

impl TargetPlan {
    /// Reports that the API server refused a task, or that its name has another owner.
    pub fn refuse(&mut self, task: &ObjectKey, error: &PlanError) {
        for release in &mut self.releases {
            if matches!(&release.progress, Progress::Task { task: own, .. } if own == task) {
                release.progress = Progress::Refused(error.clone());
            }
        }
        if let Some(bootstrap) = &mut self.bootstrap
            && bootstrap.progress.as_ref().is_ok_and(|own| own.task == *task)
        {
            bootstrap.progress = Err(error.clone());
        }
    }

    /// Reports what a task that can't be created yet waits for.
    pub fn wait(&mut self, task: &ObjectKey, message: &str) {
        let pending = || TaskState::Pending {
            message: message.to_owned(),
        };
        for release in &mut self.releases {
            match &mut release.progress {
                Progress::Task { task: own, state, .. } if own == task => *state = pending(),
                _ => {}
            }
        }
        if let Some(PlannedBootstrap {
            progress: Ok(bootstrap),
            ..
        }) = &mut self.bootstrap
            && bootstrap.task == *task
        {
            bootstrap.state = pending();
        }
    }

    /// A key pair can't be used: no task is made.
    pub fn hold(&mut self, problem: SigningProblem) {
        let message = format!("waits for its key pair: {problem}");
        for task in std::mem::take(&mut self.create) {
            self.wait(&task.key, &message);
        }
        if let Some(signing) = &mut self.signing {
            signing.problem = Some(problem);
        }
    }

    /// Whether something is in the way that no watch would show to be gone.
    pub fn is_refused(&self) -> bool {
        let refused =
            |error: &PlanError| matches!(error, PlanError::NameConflict { .. } | PlanError::Rejected { .. });
        let bootstrap = self.bootstrap.as_ref();
        let signing = self.signing.as_ref();
        let releases = &mut self.releases.iter();
        signing.is_some_and(|signing| signing.problem.is_some())
            || releases.any(|one| matches!(&one.progress, Progress::Refused(error) if refused(error)))
            || bootstrap.is_some_and(|one| one.progress.as_ref().is_err_and(refused))
    }

    /// The Target's RenderTasks that are no longer needed: all earlier ones if the bootstrap chart is ready; before
    /// that, only those that have failed.
    pub fn obsolete<'a>(&self, owned: &'a [ExistingTask]) -> Vec<&'a ExistingTask> {
        if !matches!(self.registry, Reference::Resolved(_)) {
            return Vec::new();
        }
        let (is_ready, current) = (self.is_bootstrap_pushed(), self.current());
        let is_obsolete = |task: &&ExistingTask| {
            let is_current = current.contains(&key_of(task));
            let is_deleted = task.metadata.deletion_timestamp.is_some();
            !is_current && !is_deleted && (is_ready || has_failed(task))
        };
        owned.iter().filter(is_obsolete).collect()
    }

    /// Whether the bootstrap chart of the present input is in the registry.
    pub fn is_bootstrap_pushed(&self) -> bool {
        let bootstrap = self.bootstrap_task();
        bootstrap.is_some_and(|one| matches!(one.state, TaskState::Rendered { .. }))
    }

    /// Those of the Target's RenderTasks that are needed and have failed.
    pub fn failed<'a>(&self, owned: &'a [ExistingTask]) -> Vec<&'a ExistingTask> {
        let current = self.current();
        let is_needed = |task: &&ExistingTask| {
            let is_deleted = task.metadata.deletion_timestamp.is_some();
            current.contains(&key_of(task)) && !is_deleted && has_failed(task)
        };
        owned.iter().filter(is_needed).collect()
    }

    /// The RenderTasks of the current input.
    fn current(&self) -> BTreeSet<ObjectKey> {
        let releases = self.releases.iter().filter_map(|one| match &one.progress {
            Progress::Task { task, .. } => Some(task),
            _ => None,
        });
        let bootstrap = self.bootstrap_task().map(|one| &one.task);
        releases.chain(bootstrap).cloned().collect()
    }

    fn bootstrap_task(&self) -> Option<&Bootstrap> {
        self.bootstrap.as_ref()?.progress.as_ref().ok()
    }
}

fn key_of(task: &ExistingTask) -> ObjectKey {
    let name = task.name();
    ObjectKey::new(&name.namespace, &name.name)
}

fn has_failed(task: &ExistingTask) -> bool {
    let status = task.view().and_then(|view| view.status.as_ref());
    matches!(TaskState::of(status, ""), TaskState::Failed { .. })
}

struct Planner<'a> {
    sources: &'a TargetSources,
    find: &'a dyn Fn(&ObjectKey) -> Option<ExistingTask>,
    create: Vec<NewTask>,
    signing: Option<TargetSigning>,
}

impl Planner<'_> {
    fn releases(&mut self) -> Vec<BoundRelease> {
        let Resolution { accepted, filtered } = resolve(candidates(&self.sources.bound));
        let accepted: BTreeMap<&ObjectKey, &Candidate> =
            accepted.values().map(|one| (&one.binding, one)).collect();
        let bound = self.sources.bound.iter();
        bound
            .map(|bound| {
                if let Some(filtered) = filtered.get(&bound.binding) {
                    return BoundRelease::filtered(filtered);
                }
                let (unique_name, progress) = match &bound.found {
                    Err(missing) => {
                        let message = missing.message.clone();
                        (missing.unique_name.clone(), Progress::Missing { message })
                    }
                    Ok((release, version)) => {
                        let candidate = accepted.get(&bound.binding);
                        let unique_name = candidate.map(|one| one.unique_name.clone());
                        (unique_name, self.release(release, version))
                    }
                };
                BoundRelease {
                    unique_name,
                    binding: bound.binding.clone(),
                    release: bound.release.clone(),
                    progress,
                }
            })
            .collect()
    }

    /// Plans the task of an accepted Release.
    fn release(&mut self, release: &Release, version: &ComponentVersion) -> Progress {
        let sources = self.sources;
        let Ok(registry) = &sources.registry else {
            let message = "the Target's render registry can't be used".to_owned();
            return Progress::Missing { message };
        };
        let signing = sources.signing.as_ref();
        let signer = signing.and_then(|signing| signing.keys.of_releases(registry.namespace()));
        if signing.is_some() && signer.is_none() {
            let message = "the Target has no key pair to sign it with".to_owned();
            return Progress::Missing { message };
        }
        let planned = release_task(&ReleaseSources {
            target: &sources.target.key(),
            release,
            version,
            registry,
            pull_secrets: &sources.pull_secrets,
            is_strict: sources.is_strict,
            signer,
            blueprint: blueprints::release(),
        });
        let progress = planned.and_then(|planned| {
            let chart = RenderedRelease {
                name: release.name().to_owned(),
                repository: planned.spec.repository.clone(),
                tag: planned.spec.tag.clone(),
            };
            let task = planned.key.clone();
            let state = self.state(planned, None)?;
            Ok(Progress::Task { task, chart, state })
        });
        progress.unwrap_or_else(Progress::Refused)
    }

    fn bootstrap(&mut self, releases: &[BoundRelease]) -> Option<PlannedBootstrap> {
        let (target, registry) = (&self.sources.target, self.sources.registry.as_ref().ok()?);
        let charts = rendered(releases)?;
        let refused = |version, error| PlannedBootstrap {
            version,
            progress: Err(error),
        };
        let (content, plan) = match self.bootstrap_plan(registry, &charts) {
            Ok(plan) => plan,
            Err(error) => return Some(refused(None, error)),
        };
        let status = target.status.as_ref();
        let previous = status.and_then(|status| {
            Some((
                status.bootstrap_version?,
                status.bootstrap_input.as_deref().unwrap_or(""),
            ))
        });
        let known = |number| self.known_bootstrap(&plan.task(target, registry, number).ok()?);
        let number = match number(previous, &plan.input, known, &self.sources.numbers) {
            Ok(number) => number,
            Err(used_up) => return Some(refused(None, PlanError::NumbersUsedUp(used_up))),
        };
        let version = Some((number, plan.input.clone()));
        let progress = plan.task(target, registry, number).and_then(|planned| {
            let task = planned.key.clone();
            let state = self.state(planned, Some(&plan.input))?;
            Ok(Bootstrap { task, state })
        });
        let is_pushed = progress
            .as_ref()
            .is_ok_and(|one| matches!(one.state, TaskState::Rendered { .. }));
        if is_pushed && let Some(signing) = &mut self.signing {
            signing.keys.pushed(&content);
        }
        Some(PlannedBootstrap { version, progress })
    }

    /// The bootstrap chart without its number, and the hash of its content: of all it is made from but the keys.
    fn bootstrap_plan(
        &mut self,
        registry: &Registry,
        releases: &BTreeMap<String, RenderedRelease>,
    ) -> Result<(String, BootstrapPlan), PlanError> {
        let sources = BootstrapSources {
            target: &self.sources.target,
            registry,
            releases,
            blueprint: blueprints::bootstrap(),
        };
        let unsigned = bootstrap_plan(&sources)?;
        let content = unsigned.input.clone();
        let Some(signing) = &mut self.signing else {
            return Ok((content, unsigned));
        };
        signing.keys.retire(&content);
        Ok((content, unsigned.signed(&sources, &signing.keys)))
    }

    /// What is known of the bootstrap task with a number.
    fn known_bootstrap(&self, planned: &PlannedTask) -> Option<KnownTask> {
        let existing = (self.find)(&planned.key)?;
        let target = &self.sources.target;
        let view = existing.view();
        let labels = view.and_then(|view| view.metadata.labels.as_ref());
        let is_owned =
            view.is_some_and(|view| is_owned(view, &target.key()) && view.has_destination_of(&planned.spec));
        let uid = target.metadata.uid.as_deref();
        let is_own = is_owned && labels.is_some_and(|labels| Some(labels.owner_uid.as_str()) == uid);
        let status = view.and_then(|view| view.status.as_ref());
        Some(KnownTask {
            input: labels.map_or(String::new(), |labels| labels.bootstrap_input.clone()),
            is_own,
            is_conflict: TaskState::of(status, "").is_conflict(),
        })
    }

    /// The state of a planned task; a missing one is added to the plan. `input`: the hash, for a bootstrap chart.
    fn state(&mut self, planned: PlannedTask, input: Option<&str>) -> Result<TaskState, PlanError> {
        let PlannedTask { key, spec } = planned;
        let target = &self.sources.target;
        let Some(existing) = (self.find)(&key) else {
            let mut labels = labels(&target.key(), target.metadata.uid.as_deref().unwrap_or(""));
            labels.extend(input.map(|input| (INPUT_LABEL.to_owned(), input.to_owned())));
            self.create.push(NewTask { key, spec, labels });
            return Ok(TaskState::of(None, ""));
        };
        let own = existing
            .view()
            .filter(|view| is_owned(view, &target.key()) && view.has_destination_of(&spec));
        let Some(view) = own else {
            return Err(PlanError::NameConflict { task: key });
        };
        if existing.metadata.deletion_timestamp.is_some() {
            let message = "the RenderTask is being deleted, and will be created again".to_owned();
            return Ok(TaskState::Pending { message });
        }
        Ok(TaskState::of(view.status.as_ref(), &spec.chart_url()))
    }
}

fn candidates(bound: &[BoundSources]) -> Vec<Candidate> {
    let found = bound.iter().filter_map(|bound| {
        let (release, version) = bound.found.as_ref().ok()?;
        Some(Candidate {
            binding: bound.binding.clone(),
            release: bound.release.clone(),
            unique_name: effective_unique_name(&release.spec, &version.spec).to_owned(),
            priority: release.spec.priority,
            labels: release.metadata.labels.clone().unwrap_or_default(),
            anti_affinity: release.spec.anti_affinity.clone(),
        })
    });
    found.collect()
}

#[cfg(test)]
mod tests;
