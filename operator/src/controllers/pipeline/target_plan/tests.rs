//! Plans of a Target's reconcile, from its sources and existing tasks.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::*;
use crate::api::pipeline::{SigningKeys, TargetStatus};
use crate::controllers::pipeline::pull_secrets::BoundRegistry;
use crate::controllers::pipeline::signing::tests::{first, left, pair};
use crate::controllers::pipeline::test_objects::{Fixture, object};
use crate::jobs::conditions::{Reason, State};
use crate::runtime::conditions::merge;
use jiff::Timestamp;

/// The Target `tenant/edge` with the Release `catalog/shop-release` bound to it, and a second one with values.
struct Bench {
    sources: TargetSources,
    tasks: BTreeMap<ObjectKey, ExistingTask>,
}

fn bound(name: &str, fixture: &Fixture) -> BoundSources {
    let mut release = fixture.release.clone();
    release.metadata.name = Some(name.to_owned());
    release.spec.unique_name = name.to_owned();
    BoundSources {
        binding: ObjectKey::new("catalog", &format!("binding-{name}")),
        release: release.key(),
        found: Ok((release, fixture.version.clone())),
    }
}

impl Bench {
    fn new() -> Self {
        let fixture = Fixture::new();
        let (binding, registry) = &fixture.bound[0];
        Self {
            sources: TargetSources {
                target: object(json!({
                    "metadata": {"name": "edge", "namespace": "tenant", "uid": "u-1"},
                    "spec": {"renderRegistryRef": {"name": "charts", "namespace": "solar-system"}},
                })),
                registry: Ok(fixture.registry.clone()),
                pull_secrets: PullSecrets::new([BoundRegistry { binding, registry }]),
                bound: vec![bound("a", &fixture), bound("b", &fixture)],
                numbers: Numbers::default(),
                is_strict: false,
                signing: None,
            },
            tasks: BTreeMap::new(),
        }
    }

    fn plan(&self) -> TargetPlan {
        plan(&self.sources, |key| self.tasks.get(key).cloned())
    }

    /// Creates the planned tasks in this state; returns how many.
    fn create(&mut self, state: &State) -> usize {
        let new = self.plan().create;
        for task in &new {
            self.put(task, state);
        }
        new.len()
    }

    fn put(&mut self, task: &NewTask, state: &State) {
        let conditions = merge(&[], &state.findings(), Some(1), Timestamp::UNIX_EPOCH);
        let json = json!({
            "metadata": {"name": task.key.name, "namespace": task.key.namespace, "uid": task.key.name,
                "labels": task.labels},
            "spec": task.spec,
            "status": {"conditions": conditions, "digest": "sha256:1", "chartURL": task.spec.chart_url()},
        });
        self.put_json(&task.key, json);
    }

    fn put_json(&mut self, key: &ObjectKey, json: Value) {
        let task = serde_json::from_value(json).expect("a task");
        self.tasks.insert(key.clone(), Arc::new(task));
    }

    fn set_status(&mut self, version: i64, input: &str) {
        self.sources.target.status = Some(TargetStatus {
            bootstrap_version: Some(version),
            bootstrap_input: Some(input.to_owned()),
            ..TargetStatus::default()
        });
    }

    fn owned(&self) -> Vec<ExistingTask> {
        self.tasks.values().cloned().collect()
    }
}

fn succeeded() -> State {
    State::Succeeded {
        message: String::new(),
    }
}

fn failed(reason: Reason) -> State {
    State::Failed {
        reason,
        message: "m".into(),
    }
}

fn version(plan: &TargetPlan) -> Option<i64> {
    let (number, _) = plan.bootstrap.as_ref()?.version.as_ref()?;
    Some(*number)
}

fn obsolete(plan: &TargetPlan, owned: &[ExistingTask]) -> Vec<String> {
    let obsolete = plan.obsolete(owned);
    obsolete.iter().map(|task| task.name().name).collect()
}

#[test]
fn charts_of_releases_come_first_and_then_the_bootstrap() {
    let mut bench = Bench::new();
    let first = bench.plan();
    assert!(first.bootstrap.is_none() && version(&first).is_none());
    assert_eq!(bench.create(&succeeded()), 2);
    let second = bench.plan();
    assert_eq!(version(&second), Some(1));
    let [task] = second.create.as_slice() else {
        panic!("{:?}", second.create)
    };
    assert_eq!(task.spec.repository, "tenant/bootstrap-edge");
    assert_eq!(task.key.namespace, "solar-system");
    assert_eq!(task.labels["solar.opendefense.cloud/owner-uid"], "u-1");
    assert_eq!(bench.create(&succeeded()), 1);
    let done = bench.plan();
    assert!(done.create.is_empty());
    let state = done.bootstrap.expect("it").progress.expect("a task").state;
    assert!(matches!(state, TaskState::Rendered { .. }));
}

/// A changed input is another number; the tasks of the earlier one are deleted when the new chart is ready.
#[test]
fn the_number_rises_with_the_input_and_old_tasks_are_deleted_when_the_new_chart_is_ready() {
    let mut bench = Bench::new();
    bench.create(&succeeded());
    let input = bench.plan().bootstrap.expect("it").version.expect("it").1;
    bench.create(&succeeded());
    bench.set_status(1, &input);
    let before = bench.owned();
    assert_eq!(obsolete(&bench.plan(), &before), Vec::<String>::new());

    let Ok((release, _)) = &mut bench.sources.bound[0].found else {
        panic!("a release")
    };
    release.spec.target_namespace = "changed".into();
    assert_eq!(bench.create(&succeeded()), 1);
    let pending = bench.plan();
    assert_eq!(version(&pending), Some(2));
    assert_eq!(obsolete(&pending, &bench.owned()), Vec::<String>::new());
    assert_eq!(bench.create(&succeeded()), 1);
    let gone = obsolete(&bench.plan(), &bench.owned());
    assert_eq!(gone.len(), 2, "{gone:?}");
    assert!(gone.iter().any(|name| name.starts_with("render-rel-a-")));
    assert!(
        gone.iter()
            .any(|name| name.starts_with("render-tgt-edge-") && name.ends_with("-1"))
    );
}

#[test]
fn a_failed_task_of_an_earlier_input_is_deleted_at_once() {
    let mut bench = Bench::new();
    bench.create(&failed(Reason::AuthFailed));
    let Ok((release, _)) = &mut bench.sources.bound[0].found else {
        panic!("a release")
    };
    release.spec.target_namespace = "changed".into();
    let gone = obsolete(&bench.plan(), &bench.owned());
    assert!(
        gone.len() == 1 && gone[0].starts_with("render-rel-a-"),
        "{gone:?}"
    );
    // While the registry is unknown, nothing is deleted.
    bench.sources.registry = Err(Reference::MissingSolarSecretRef(ObjectKey::new("a", "b")));
    assert_eq!(obsolete(&bench.plan(), &bench.owned()), Vec::<String>::new());
}

/// A recreated Target starts at 0 again, and the registry has charts of the earlier one.
#[test]
fn a_conflict_raises_the_number_and_an_earlier_targets_task_is_not_adopted() {
    let mut bench = Bench::new();
    bench.create(&succeeded());
    assert_eq!(bench.create(&failed(Reason::Conflict)), 1);
    let raised = bench.plan();
    assert_eq!((version(&raised), raised.create.len()), (Some(2), 1));
    // The same with a task that was made for a Target of the same name.
    let mut bench = Bench::new();
    bench.create(&succeeded());
    bench.create(&succeeded());
    bench.sources.target.metadata.uid = Some("u-2".into());
    assert_eq!(version(&bench.plan()), Some(2));
}

#[test]
fn a_task_of_another_owner_is_neither_used_nor_deleted() {
    for (owner, managed_by) in [("edge", "kubectl"), ("other", "solar-operator")] {
        let mut bench = Bench::new();
        let key = bench.plan().create[0].key.clone();
        let foreign = json!({
            "metadata": {"name": key.name, "namespace": key.namespace,
                "labels": {"app.kubernetes.io/managed-by": managed_by}},
            "spec": {"ownerKind": "Target", "ownerNamespace": "tenant", "ownerName": owner},
        });
        bench.put_json(&key, foreign);
        let plan = bench.plan();
        assert!(plan.create.iter().all(|task| task.key != key) && plan.is_refused());
        let progress = &plan.releases[0].progress;
        assert_eq!(
            *progress,
            Progress::Refused(PlanError::NameConflict { task: key })
        );
    }
}

#[test]
fn a_refused_task_is_reported_for_its_release_alone() {
    let bench = Bench::new();
    let mut plan = bench.plan();
    assert!(!plan.is_refused());
    let key = plan.create[1].key.clone();
    let error = PlanError::Rejected {
        task: key.clone(),
        message: "quota".into(),
    };
    plan.refuse(&key, &error);
    assert!(plan.is_refused());
    assert!(matches!(plan.releases[0].progress, Progress::Task { .. }));
    assert_eq!(plan.releases[1].progress, Progress::Refused(error));
}

#[test]
fn without_a_registry_nothing_is_created_and_releases_are_still_reported() {
    let mut bench = Bench::new();
    bench.sources.registry = Err(Reference::NotGranted { missing: "g".into() });
    let plan = bench.plan();
    assert!(plan.create.is_empty() && plan.bootstrap.is_none());
    assert_eq!(plan.releases.len(), 2);
}

#[test]
fn a_missing_release_and_a_filtered_one_are_reported_beside_the_others() {
    let mut bench = Bench::new();
    let missing = MissingSource {
        unique_name: None,
        message: "Release catalog/c doesn't exist".into(),
    };
    bench.sources.bound.push(BoundSources {
        binding: ObjectKey::new("catalog", "c"),
        release: ObjectKey::new("catalog", "c"),
        found: Err(missing),
    });
    let Ok((release, _)) = &mut bench.sources.bound[1].found else {
        panic!("a release")
    };
    release.spec.unique_name = "a".into();
    let plan = bench.plan();
    assert!(matches!(plan.releases[0].progress, Progress::Task { .. }));
    assert!(matches!(plan.releases[1].progress, Progress::Filtered { .. }));
    assert!(matches!(plan.releases[2].progress, Progress::Missing { .. }));
    assert_eq!(plan.create.len(), 1);
}

fn sign_keys(create: &[NewTask]) -> Vec<&str> {
    let secrets = create
        .iter()
        .filter_map(|task| task.spec.sign_key_secret_ref.as_ref());
    secrets.map(|secret| secret.name.as_str()).collect()
}

/// Its tasks are made and end well, until there is nothing left to do; the key pairs are written to its status.
fn settle(bench: &mut Bench) -> TargetPlan {
    loop {
        let plan = bench.plan();
        bench.sources.signing.clone_from(&plan.signing);
        if let Some((number, input)) = plan.bootstrap.as_ref().and_then(|one| one.version.clone()) {
            bench.set_status(number, &input);
        }
        if bench.create(&succeeded()) == 0 {
            return plan;
        }
    }
}

#[test]
fn charts_of_a_signing_target_have_other_tags_and_a_rotation_hands_over() {
    let mut bench = Bench::new();
    let unsigned = settle(&mut bench);
    bench.sources.signing = Some(TargetSigning {
        keys: first(),
        problem: None,
    });
    let signed = bench.plan();
    assert_eq!(sign_keys(&signed.create), ["edge-cosign-1", "edge-cosign-1"]);
    assert!(signed.bootstrap.is_none());
    let signed = settle(&mut bench);
    assert_eq!((version(&unsigned), version(&signed)), (Some(1), Some(2)));
    assert_eq!(signed.signing.clone().expect("keys").keys, first());

    let keys = |bench: &mut Bench| bench.sources.signing.clone().expect("keys").keys;
    bench
        .sources
        .signing
        .as_mut()
        .expect("keys")
        .keys
        .add(pair(2), Some("1"), &left());
    assert_eq!(
        sign_keys(&bench.plan().create),
        ["edge-cosign-2", "edge-cosign-2"]
    );
    bench.create(&succeeded());
    assert_eq!(
        sign_keys(&bench.plan().create),
        ["edge-cosign-1"],
        "the one that hands over"
    );
    let over = settle(&mut bench);
    assert_eq!(version(&over), Some(3));
    assert!(keys(&mut bench).handed_over.is_some());
    // Other content: the new key signs all, and the old pair is retired.
    bench.sources.target.spec.userdata =
        Some(serde_json::value::RawValue::from_string(r#"{"zone":"b"}"#.into()).expect("JSON"));
    assert_eq!(sign_keys(&bench.plan().create), ["edge-cosign-2"]);
    let after = settle(&mut bench);
    assert_eq!(version(&after), Some(4));
    let SigningKeys {
        current,
        previous,
        retired,
        ..
    } = keys(&mut bench);
    assert_eq!((current, previous, retired), (Some(pair(2)), None, vec![pair(1)]));
}

#[test]
fn without_a_key_pair_nothing_is_made_unsigned() {
    let mut bench = Bench::new();
    bench.sources.signing = Some(TargetSigning::default());
    let plan = bench.plan();
    assert!(plan.create.is_empty() && plan.bootstrap.is_none());
    assert!(plan.releases[0].message().contains("no key pair"));
    // One that can't be used.
    bench.sources.signing = Some(TargetSigning {
        keys: first(),
        problem: None,
    });
    let mut plan = bench.plan();
    plan.hold(SigningProblem::NotFound {
        secret: pair(1).secret(),
        number: 1,
    });
    assert!(plan.create.is_empty() && plan.is_refused());
    assert!(plan.releases[0].message().contains("waits for its key pair"));
}
