//! The bootstrap chart of a Target: one chart with all its Releases, whose number N Flux follows.
//!
//! N rises exactly when an input of the chart has changed, and a number whose tag is taken is skipped: the version that
//! Flux considers the newest must be the one rendered last.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::json;
use solar_render::config::schema::{
    BootstrapDocument, BootstrapInput, BootstrapRelease, ChartDocument, ChartKind,
};

use super::canonical;
use super::release_task::{MAX_REPOSITORY, PlanError, PlannedTask, content, data, destination, raw};
use super::signing;
use super::task_owner::bounded;
use crate::api::TaskSpec;
use crate::api::pipeline::{KeyPair, ObjectKey, Registry, SigningKeys, Target};

/// How long a failed Job and its config Secret are kept, in seconds.
const FAILED_JOB_TTL: i32 = 3600;
/// How many digits of the input's hash are kept: it is also a label.
const INPUT_DIGITS: usize = 32;

/// The label of a bootstrap's RenderTask with the hash of its input.
pub const INPUT_LABEL: &str = "solar.opendefense.cloud/bootstrap-input";

/// A Release whose chart is in the registry.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RenderedRelease {
    /// The Release's name.
    pub name: String,
    /// The path of its chart below the Registry's hostname.
    pub repository: String,
    /// Its chart's tag.
    pub tag: String,
}

/// The inputs of a bootstrap chart.
#[derive(Debug, Clone, Copy)]
pub struct BootstrapSources<'a> {
    /// The Target.
    pub target: &'a Target,
    /// Its render registry.
    pub registry: &'a Registry,
    /// By unique name: unlike Release names, it is unique on a Target.
    pub releases: &'a BTreeMap<String, RenderedRelease>,
    /// The version of the renderer's blueprint.
    pub blueprint: &'a str,
}

/// A bootstrap chart without its number.
#[derive(Debug, Clone)]
pub struct BootstrapPlan {
    /// The hash of all inputs of the chart.
    pub input: String,
    repository: String,
    document: BootstrapDocument,
    signer: Option<KeyPair>,
}

/// An existing RenderTask of the Target's bootstrap chart.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KnownTask {
    /// The hash of its input.
    pub input: String,
    /// Whether it was created for this Target: by UID, not only by name.
    pub is_own: bool,
    /// Whether it failed because another chart has its tag.
    pub is_conflict: bool,
}

/// The error that no further number exists.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the numbers of bootstrap charts are used up")]
pub struct NumbersUsedUp;

/// Plans the bootstrap chart of a Target, unsigned: its input is the chart's content alone.
pub fn plan(sources: &BootstrapSources<'_>) -> Result<BootstrapPlan, PlanError> {
    let repository = repository(sources.target);
    if repository.len() > MAX_REPOSITORY {
        return Err(PlanError::PathTooLong { repository });
    }
    let document = document(*sources)?;
    Ok(BootstrapPlan {
        input: input(sources, &document, &repository, None),
        repository,
        document,
        signer: None,
    })
}

/// The hash of all inputs of a chart.
fn input(
    sources: &BootstrapSources<'_>,
    document: &BootstrapDocument,
    repository: &str,
    signer: Option<&KeyPair>,
) -> String {
    let content = content(document, sources.registry, repository, sources.blueprint, signer);
    canonical::sha256(&content).chars().take(INPUT_DIGITS).collect()
}

impl BootstrapPlan {
    /// The chart signed with these keys, with which Flux verifies the charts of Releases too: another input, from the
    /// same document.
    pub fn signed(mut self, sources: &BootstrapSources<'_>, keys: &SigningKeys) -> Self {
        let target = sources.target.key();
        for release in self.document.input.releases.values_mut() {
            release.verify = Some(signing::verify(&target));
        }
        self.document.input.verification_keys = Some(keys.verification_keys(&target));
        self.signer = keys.of_bootstrap().cloned();
        self.input = input(sources, &self.document, &self.repository, self.signer.as_ref());
        self
    }

    /// The RenderTask of the chart with a number.
    pub fn task(&self, target: &Target, registry: &Registry, number: i64) -> Result<PlannedTask, PlanError> {
        let tag = format!("v0.0.{number}");
        let mut document = self.document.clone();
        document.chart.version.clone_from(&tag);
        document.chart.app_version.clone_from(&tag);
        let key = target.key();
        let (repository, signer) = (self.repository.clone(), self.signer.as_ref());
        let destination = destination(&key, registry, repository, tag, FAILED_JOB_TTL, signer);
        let spec = TaskSpec {
            chart_kind: ChartKind::Bootstrap,
            bootstrap: Some(raw(&document)?),
            ..destination
        };
        let name = task_name(&key, registry.namespace(), number);
        Ok(PlannedTask {
            key: ObjectKey::new(registry.namespace(), &name),
            spec,
        })
    }
}

/// The repository of a Target's bootstrap charts, below the registry: `<namespace>/bootstrap-<name>`.
pub fn repository(target: &Target) -> String {
    format!("{}/bootstrap-{}", target.namespace(), target.name())
}

/// The name of the RenderTask with a number: `render-tgt-<target>-<N>`; for a Target of another namespace than the
/// Registry's with a hash, since Targets of several namespaces may share name and Registry.
pub fn task_name(target: &ObjectKey, registry_namespace: &str, number: i64) -> String {
    if target.namespace == registry_namespace {
        return bounded("render-tgt-", &target.name, &format!("-{number}"));
    }
    let hash = canonical::short(&json!([target.namespace, target.name]));
    bounded("render-tgt-", &target.name, &format!("-{hash}-{number}"))
}

/// The numbers of a Target's bootstrap charts.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Numbers {
    /// Of those that have a RenderArtifact and may be in the registry, also of an earlier Target of the same name.
    pub pushed: BTreeSet<i64>,
    /// The highest one that has a RenderTask.
    pub newest_task: Option<i64>,
}

/// The number of the chart with this input.
///
/// `previous` is the number and input in the Target's status, `task` returns the RenderTask with a number.
///
/// The status may not have been written since the newest task was created: that one's number is used if it has the same
/// input, and otherwise a higher one, since it may have pushed. When a tag is taken, the number doubles, so that few of
/// the tags that an earlier Target of the same name has left are tried.
pub fn number(
    previous: Option<(i64, &str)>,
    input: &str,
    task: impl Fn(i64) -> Option<KnownTask>,
    numbers: &Numbers,
) -> Result<i64, NumbersUsedUp> {
    let newest = numbers.newest_task.unwrap_or(0);
    let pushed = numbers.pushed.last().copied().unwrap_or(0);
    let mut candidate = match previous {
        Some((number, known)) if known == input && number > 0 => number.max(newest),
        Some((number, _)) => newest.max(next(number.max(0))?),
        None if newest > 0 && newest >= pushed => newest,
        None => next(pushed.max(0))?,
    };
    loop {
        match task(candidate) {
            None => return Ok(candidate),
            Some(known) if known.is_own && known.is_conflict => {
                candidate = candidate.checked_mul(2).ok_or(NumbersUsedUp)?;
            }
            Some(known) if known.is_own && known.input == input => return Ok(candidate),
            Some(_) => candidate = next(candidate)?,
        }
    }
}

fn next(number: i64) -> Result<i64, NumbersUsedUp> {
    number.checked_add(1).ok_or(NumbersUsedUp)
}

/// The number in a bootstrap chart's tag.
pub fn number_of_tag(tag: &str) -> Option<i64> {
    tag.strip_prefix("v0.0.")?.parse().ok()
}

fn document(sources: BootstrapSources<'_>) -> Result<BootstrapDocument, PlanError> {
    let (releases, registry) = (sources.releases, &sources.registry.spec);
    let host = registry
        .hostname
        .strip_prefix("oci://")
        .unwrap_or(&registry.hostname);
    let host = host.trim_end_matches('/');
    let entry = |release: &RenderedRelease| BootstrapRelease {
        repository: format!("{host}/{}", release.repository),
        insecure: registry.plain_http,
        tag: release.tag.clone(),
        pull_secret_name: registry.target_pull_secret_name.clone(),
        verify: None,
    };
    let mut names: Vec<&str> = releases.values().map(|release| release.name.as_str()).collect();
    names.sort_unstable();
    Ok(BootstrapDocument {
        chart: ChartDocument {
            name: format!("bootstrap-{}", sources.target.name()),
            description: format!("Bootstrap of [{}]", names.join(" ")),
            version: String::new(),
            app_version: String::new(),
        },
        input: BootstrapInput {
            releases: releases
                .iter()
                .map(|(unique, release)| (unique.clone(), entry(release)))
                .collect(),
            userdata: data("userdata", sources.target.spec.userdata.as_deref())?,
            verification_keys: None,
        },
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::controllers::pipeline::signing::tests::{first, left, pair, public_key};
    use crate::controllers::pipeline::test_objects::{Fixture, object};
    use proptest::prelude::*;
    use serde_json::Value;
    use serde_json::value::RawValue;
    use solar_render::source::Source;

    fn target() -> Target {
        object(json!({
            "metadata": {"name": "edge", "namespace": "tenant", "uid": "u"},
            "spec": {"renderRegistryRef": {"name": "charts", "namespace": "solar-system"}, "userdata": {"zone": "a"}},
        }))
    }

    fn rendered(name: &str, tag: &str) -> RenderedRelease {
        RenderedRelease {
            name: name.into(),
            repository: format!("tenant/catalog/release-{name}"),
            tag: tag.into(),
        }
    }

    fn releases() -> BTreeMap<String, RenderedRelease> {
        [
            ("a".to_owned(), rendered("shop", "v0.0.1-0")),
            ("b".to_owned(), rendered("db", "v0.0.2-1")),
        ]
        .into()
    }

    fn plan_of(
        target: &Target,
        registry: &Registry,
        releases: &BTreeMap<String, RenderedRelease>,
        blueprint: &str,
    ) -> BootstrapPlan {
        plan(&BootstrapSources {
            target,
            registry,
            releases,
            blueprint,
        })
        .expect("a plan")
    }

    #[test]
    fn the_task_has_the_form_of_the_contract() {
        let (target, registry) = (target(), Fixture::new().registry);
        let task = plan_of(&target, &registry, &releases(), "1").task(&target, &registry, 7);
        let task = task.expect("a task");
        let mut spec = serde_json::to_value(&task.spec).expect("JSON");
        let document = spec["bootstrap"].take();
        assert_eq!(
            spec,
            json!({
                "type": "bootstrap", "bootstrap": null, "repository": "tenant/bootstrap-edge", "tag": "v0.0.7",
                "baseURL": "charts.example:5000", "pushSecretRef": {"name": "push"}, "plainHTTP": true,
                "ifExists": "fail", "failedJobTTL": 3600,
                "ownerName": "edge", "ownerNamespace": "tenant", "ownerKind": "Target",
            })
        );
        let release = |name: &str, tag: &str| {
            json!({
                "repository": format!("charts.example:5000/tenant/catalog/release-{name}"), "insecure": true, "tag": tag,
                "pullSecretName": "flux-pull",
            })
        };
        assert_eq!(
            document,
            json!({
                "chart": {"name": "bootstrap-edge", "description": "Bootstrap of [db shop]", "version": "v0.0.7",
                    "appVersion": "v0.0.7"},
                "input": {
                    "releases": {"a": release("shop", "v0.0.1-0"), "b": release("db", "v0.0.2-1")},
                    "userdata": {"zone": "a"},
                },
            })
        );
        let config: Value = serde_json::from_slice(&task.spec.config().expect("JSON")).expect("JSON");
        let parsed = solar_render::config::parse(&Source::new("config.json", config.to_string()));
        assert!(parsed.is_ok(), "{parsed:?}");
    }

    #[test]
    fn a_signed_chart_brings_the_keys_that_flux_verifies_its_releases_with() {
        let (target, registry) = (target(), Fixture::new().registry);
        let signed_by = |keys: &SigningKeys| {
            let sources = BootstrapSources {
                target: &target,
                registry: &registry,
                releases: &releases(),
                blueprint: "1",
            };
            let plan = plan(&sources).expect("a plan").signed(&sources, keys);
            let spec = plan.task(&target, &registry, 1).expect("a task").spec;
            let config: Value = serde_json::from_slice(&spec.config().expect("JSON")).expect("JSON");
            let parsed = solar_render::config::parse(&Source::new("config.json", config.to_string()));
            assert!(parsed.is_ok(), "{parsed:?}");
            let secret = spec.sign_key_secret_ref.map(|secret| secret.name);
            (plan.input, secret, config["bootstrap"]["input"].clone())
        };
        let mut keys = first();
        let (one, secret, input) = signed_by(&keys);
        assert_eq!(secret.as_deref(), Some("edge-cosign-1"));
        let verify = json!({"provider": "cosign", "secretRef": {"name": "edge-cosign-pub"}});
        assert_eq!(input["releases"]["a"]["verify"], verify);
        assert_eq!(
            input["verificationKeys"],
            json!({"secretName": "edge-cosign-pub", "keys": {"cosign-1.pub": public_key(1)}})
        );
        let unsigned = plan_of(&target, &registry, &releases(), "1").input;
        keys.add(pair(2), None, &left());
        let (both, secret, input) = signed_by(&keys);
        assert_eq!(secret.as_deref(), Some("edge-cosign-1"));
        assert_eq!(
            input["verificationKeys"]["keys"],
            json!({"cosign-1.pub": public_key(1), "cosign-2.pub": public_key(2)})
        );
        assert_eq!(BTreeSet::from([one, unsigned, both]).len(), 3);
    }

    /// Two Targets of one name in two namespaces, and one Registry.
    #[test]
    fn tasks_of_same_named_targets_never_share_a_name() {
        let one = ObjectKey::new("a", "edge");
        let other = ObjectKey::new("b", "edge");
        assert_eq!(task_name(&one, "a", 3), "render-tgt-edge-3");
        let names = [
            task_name(&one, "a", 3),
            task_name(&one, "system", 3),
            task_name(&other, "system", 3),
        ];
        assert_eq!(BTreeSet::from(names).len(), 3);
        assert_ne!(
            task_name(&ObjectKey::new("a", "edge-3"), "a", 1),
            task_name(&one, "a", 31)
        );
    }

    #[test]
    fn a_change_of_any_input_is_another_input() {
        let (before, registry) = (target(), Fixture::new().registry);
        let base = plan_of(&before, &registry, &releases(), "1").input;
        assert_eq!(base.len(), INPUT_DIGITS);
        let mut seen = vec![base.clone()];
        let mut check =
            |what: &str, target: &Target, registry: &Registry, releases: &BTreeMap<_, _>, blueprint| {
                let input = plan_of(target, registry, releases, blueprint).input;
                assert!(!seen.contains(&input), "{what}");
                seen.push(input);
            };
        check("blueprint", &before, &registry, &releases(), "2");
        let mut changed = target();
        changed.spec.userdata = Some(RawValue::from_string("{}".into()).expect("JSON"));
        check("userdata", &changed, &registry, &releases(), "1");
        type Change = fn(&mut Registry);
        let changes: [(&str, Change); 3] = [
            ("host", |one| one.spec.hostname = "other.example".into()),
            ("plain HTTP", |one| one.spec.plain_http = false),
            ("pull Secret", |one| one.spec.target_pull_secret_name = "x".into()),
        ];
        for (what, change) in changes {
            let mut other = registry.clone();
            change(&mut other);
            check(what, &before, &other, &releases(), "1");
        }
        let mut fewer = releases();
        fewer.remove("b");
        check("a release less", &before, &registry, &fewer, "1");
        let mut newer = releases();
        newer.insert("a".into(), rendered("shop", "v0.0.1-9"));
        check("a tag", &before, &registry, &newer, "1");
        // The number is not an input.
        let plan = plan_of(&before, &registry, &releases(), "1");
        let task = |number| plan.task(&before, &registry, number).expect("a task");
        assert_ne!(task(1).spec.tag, task(2).spec.tag);
        assert_eq!(plan.input, base);
    }

    /// `4=old 5=conflict`: for each number, the input of its task, a conflict, or a task of an earlier Target.
    fn known(tasks: &str) -> BTreeMap<i64, KnownTask> {
        let pairs = tasks.split(' ').filter_map(|pair| pair.split_once('='));
        pairs
            .map(|(number, input)| {
                let is_conflict = input == "conflict";
                let is_own = input != "foreign";
                let input = if is_conflict || !is_own { "new" } else { input };
                let task = KnownTask {
                    input: input.to_owned(),
                    is_own,
                    is_conflict,
                };
                (number.parse().expect("a number"), task)
            })
            .collect()
    }

    #[test]
    fn the_number_rises_exactly_when_the_input_changed() {
        // Case, the number and input in the status, tasks, numbers in the registry, the expected number.
        type Row<'a> = (&'a str, i64, &'a str, &'a str, &'a [i64], i64);
        let table: [Row<'_>; 15] = [
            ("new Target", 0, "", "", &[], 1),
            ("the same input", 4, "new", "", &[4], 4),
            ("the same input, its task is there", 4, "new", "4=new", &[], 4),
            ("another input", 4, "old", "4=old", &[4], 5),
            // The operator was killed between the task and the status.
            ("an unwritten status", 4, "old", "5=new", &[], 5),
            (
                "an unwritten status, and changed since",
                4,
                "old",
                "5=mid",
                &[],
                6,
            ),
            ("an unwritten first status", 0, "", "1=new", &[], 1),
            ("an unwritten first status, pushed", 0, "", "1=new", &[1], 1),
            ("an unwritten status after a conflict", 0, "", "2=new", &[], 2),
            // The chart of the input in between may be in the registry, and Flux would take it for the newest.
            ("changed and changed back", 4, "new", "4=new 5=mid", &[], 6),
            ("a tag that is taken", 1, "new", "1=conflict", &[], 2),
            ("tags that are taken", 4, "new", "4=conflict 8=conflict", &[], 16),
            // A Target that was created again under its name doesn't adopt an old chart.
            ("a task of an earlier Target", 0, "", "1=foreign", &[], 2),
            ("charts of an earlier Target", 0, "", "", &[3, 9], 10),
            ("a broken status", -3, "new", "", &[], 1),
        ];
        for (what, before, input, tasks, pushed, expected) in table {
            let tasks = known(tasks);
            let previous = (before != 0).then_some((before, input));
            let numbers = Numbers {
                pushed: pushed.iter().copied().collect(),
                newest_task: tasks.keys().last().copied(),
            };
            let found = number(previous, "new", |number| tasks.get(&number).cloned(), &numbers);
            assert_eq!(found, Ok(expected), "{what}");
        }
        let last = Some((i64::MAX, "old"));
        let found = number(last, "new", |_| None, &Numbers::default());
        assert_eq!(found, Err(NumbersUsedUp));
    }

    #[test]
    fn a_tag_has_its_number() {
        assert_eq!(number_of_tag("v0.0.12"), Some(12));
        for other in ["v0.0.1-0a1b2c3d", "v0.1.0", "12", ""] {
            assert_eq!(number_of_tag(other), None, "{other}");
        }
    }

    proptest! {
        /// For any sequence of inputs, any taken tags and whatever statuses were not written, each input's chart is newer
        /// than all before.
        #[test]
        fn numbers_only_rise(
            inputs in proptest::collection::vec(("[ab]", proptest::bool::ANY), 1..12),
            taken in proptest::collection::btree_set(1..40_i64, 0..20),
        ) {
            let mut status: Option<(i64, String)> = None;
            let mut tasks: BTreeMap<i64, (String, bool)> = BTreeMap::new();
            let mut shipped: Vec<(i64, String)> = Vec::new();
            for (input, is_written) in inputs {
                loop {
                    let known = |number| tasks.get(&number).map(|(input, is_conflict)| KnownTask {
                        input: input.clone(), is_own: true, is_conflict: *is_conflict,
                    });
                    let previous = status.as_ref().map(|(number, input)| (*number, input.as_str()));
                    let numbers = Numbers { newest_task: tasks.keys().last().copied(), ..Numbers::default() };
                    let found = number(previous, &input, known, &numbers).expect("a number");
                    let is_conflict = taken.contains(&found);
                    tasks.insert(found, (input.clone(), is_conflict));
                    if is_written {
                        status = Some((found, input.clone()));
                    }
                    if !is_conflict {
                        match shipped.last() {
                            Some((last, same)) if *same == input => prop_assert_eq!(*last, found),
                            last => {
                                prop_assert!(last.is_none_or(|(last, _)| *last < found));
                                shipped.push((found, input.clone()));
                            }
                        }
                        break;
                    }
                }
            }
        }
    }
}
