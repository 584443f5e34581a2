//! Targets: the charts of the Releases that are bound to one, and its bootstrap chart.
//!
//! One reconcile: dereference (from stores, without a request) → key pairs, where charts are signed → plan (pure:
//! [`target_plan`]) → apply → status → clean-up.
//! It may end anywhere: names are deterministic, and the next one goes on from what is there.

mod apply;
mod deletion;
mod dereference;
mod key_pairs;
mod pace;
mod rendered;
mod status;
mod wakes;

pub(super) use wakes::add;

use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::time::Duration;

use super::Targets;
use crate::api::pipeline::{Target, TargetSpec};
use crate::controllers::pipeline::signing::ROTATE_ANNOTATION;
use crate::controllers::pipeline::stored::{self, SpecAndStatus};
use crate::controllers::pipeline::target_plan;
use crate::controllers::pipeline::task_owner::finalizer;
use crate::controllers::rendertask::RenderTasks;
use crate::runtime::views::Object;
use crate::runtime::{Action, Cx, Error, Key, Kind, KindId, ObjectName, ObjectState, Watched, finalizers};
use key_pairs::Generator;
use pace::Pace;

/// The finalizer that keeps a Target until its RenderTasks are deleted.
const FINALIZER: &str = "target-finalizer";
/// When a Target is requeued that waits for something that no watch delivers: the deletion of another owner's
/// RenderTask, a raised quota.
const REFUSED_REQUEUE: Duration = Duration::from_secs(30);
/// When a Target is reconciled again whose status has to be written, and read, before the next step: a key pair that is
/// retired now is deleted then, and a rotation that had to wait begins.
const NEXT_STEP: Duration = Duration::from_secs(1);

/// The controller of Targets.
pub(super) struct TargetController {
    is_strict: bool,
    pace: Pace,
    generator: Generator,
}

impl TargetController {
    /// `is_strict`: a resource of a host that no RegistryBinding names is refused.
    pub(super) fn new(is_strict: bool) -> Self {
        Self {
            is_strict,
            pace: Pace::default(),
            generator: Generator::default(),
        }
    }
}

impl Watched for TargetController {
    const ID: KindId = Targets::ID;
    const LABELS: bool = Targets::LABELS;
    const STATES: &'static [&'static str] = <Targets as Watched>::STATES;
    type View = SpecAndStatus<TargetSpec>;

    fn state(object: &Object<Self::View>) -> Option<ObjectState<'_>> {
        <Targets as Watched>::state(object)
    }

    fn concerns_others(before: &Object<Self::View>, after: &Object<Self::View>) -> bool {
        Targets::concerns_others(before, after)
    }
}

impl Kind for TargetController {
    /// Another key pair is asked for.
    fn wakes(target: &Object<Self::View>) -> u64 {
        let mut hasher = DefaultHasher::new();
        target.annotation(ROTATE_ANNOTATION).hash(&mut hasher);
        hasher.finish()
    }

    async fn reconcile(&self, cx: &Cx, key: &Key) -> Result<Action, Error> {
        // A Target that the store doesn't have may not have been delivered yet: nothing is deleted for it.
        let Some(target) = stored::primary::<TargetSpec>(cx, key) else {
            self.pace.forget(key);
            return Ok(Action::done());
        };
        if target.is_deleted() {
            return deletion::finalize(cx, key, &target).await;
        }
        if target.spec.suspend {
            return status::suspend(cx, key, &target).await;
        }
        if let Some(wait) = self.pace.wait(key) {
            return Ok(Action::requeue(wait));
        }
        self.render(cx, key, target).await
    }
}

impl TargetController {
    async fn render(&self, cx: &Cx, key: &Key, mut target: Target) -> Result<Action, Error> {
        // Before anything is created that must be cleaned up.
        let version = finalizers::add(cx, key, &target.metadata, &finalizer(FINALIZER)).await?;
        target.metadata.resource_version = version;
        let mut sources = dereference::dereference(cx, target, self.is_strict);
        sources.signing = key_pairs::ensure(cx, &self.generator, &sources).await?;
        let tasks = cx.store::<RenderTasks>();
        let mut plan = target_plan::plan(&sources, |task| {
            tasks.get(&ObjectName::new(&task.namespace, &task.name))
        });
        key_pairs::check_before_tasks(cx, &sources.target.key(), &mut plan).await?;
        let applied = apply::create(cx, &sources.target.key(), &mut plan).await;
        self.pace.reconciled(key, plan.releases.len());
        let is_behind = applied?;
        let is_key_left = key_pairs::delete_retired(cx, &sources.target, &mut plan).await?;
        let unwritten = status::report(cx, key, &sources.target, &plan, &self.pace).await?;
        apply::clean_up(cx, key, &plan).await?;
        let retry = apply::retry(cx, key, &sources.target, &plan).await?;
        let refused = (is_behind || is_key_left || plan.is_refused()).then_some(REFUSED_REQUEUE);
        let next_step = key_pairs::has_next_step(&sources.target, &plan).then_some(NEXT_STEP);
        Ok(Action {
            requeue: [refused, retry, next_step, unwritten].into_iter().flatten().min(),
        })
    }
}
