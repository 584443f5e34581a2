//! The RenderTask of a Release on a Target: its config, its tag and its name.
//!
//! The tag has the hash of all inputs of the chart, so that a changed input is always a new tag, and equal inputs are
//! pushed once. The task's name has a hash of the tag and of Target and Release, with their namespaces.

use std::collections::BTreeMap;

use serde_json::value::{RawValue, to_raw_value};
use serde_json::{Value, json};
use solar_render::config::schema::{
    ChartDocument, ChartKind, Component, Data, EntrypointDocument, HelmOptions, ReleaseDocument,
    ReleaseInput, ReleaseResource,
};

use super::bootstrap::NumbersUsedUp;
use super::canonical;
use super::pull_secrets::{Pull, PullSecrets, host};
use super::task_owner::bounded;
use crate::api::pipeline::{
    ComponentVersion, KeyPair, ObjectKey, Registry, Release, ResourceAccess, Spec as _, TargetSpec,
};
use crate::api::{IfExists, LocalReference, TaskSpec};

/// The maximum length of a chart's path in a registry, in bytes: the limit of RenderTasks.
pub const MAX_REPOSITORY: usize = 255;
/// How long a failed Job and its config Secret are kept by default, in seconds.
const DEFAULT_FAILED_JOB_TTL: i32 = 3600;

/// The inputs of a Release's chart.
#[derive(Debug, Clone, Copy)]
pub struct ReleaseSources<'a> {
    /// The Target.
    pub target: &'a ObjectKey,
    /// The Release.
    pub release: &'a Release,
    /// Its component version.
    pub version: &'a ComponentVersion,
    /// The Target's render registry.
    pub registry: &'a Registry,
    /// The Target's pull Secrets.
    pub pull_secrets: &'a PullSecrets,
    /// Whether a resource of a host that no RegistryBinding names is refused, instead of pulled anonymously.
    pub is_strict: bool,
    /// Signs the chart.
    pub signer: Option<&'a KeyPair>,
    /// The version of the renderer's blueprint.
    pub blueprint: &'a str,
}

/// A planned RenderTask.
#[derive(Debug, Clone)]
pub struct PlannedTask {
    /// Its namespace, which is the Registry's, and its name.
    pub key: ObjectKey,
    /// Its spec.
    pub spec: TaskSpec,
}

/// Why no RenderTask can be created.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PlanError {
    /// In strict mode, no RegistryBinding is for a host.
    #[error("no RegistryBinding of the Target is for host {host}, which resource {resource} is pulled from")]
    MissingRegistryBinding {
        /// The host.
        host: String,
        /// The resource's name.
        resource: String,
    },
    /// The values can't be read.
    #[error("{field} can't be read: {message}")]
    InvalidData {
        /// The field.
        field: &'static str,
        /// The error.
        message: String,
    },
    /// The chart's path would be too long.
    #[error("the chart's path {repository} has {} bytes, at most {MAX_REPOSITORY} are possible: use shorter names", repository.len())]
    PathTooLong {
        /// The path.
        repository: String,
    },
    /// There is no further number for a bootstrap chart.
    #[error(transparent)]
    NumbersUsedUp(NumbersUsedUp),
    /// A RenderTask of the name exists for another owner.
    #[error("RenderTask {task} exists and was not made for this Target")]
    NameConflict {
        /// The RenderTask.
        task: ObjectKey,
    },
    /// The API server refuses the RenderTask.
    #[error("RenderTask {task} can't be created: {message}")]
    Rejected {
        /// The RenderTask.
        task: ObjectKey,
        /// Why.
        message: String,
    },
}

impl PlanError {
    /// Whether it may pass by itself: the API server, whose quota may be free again, is asked again.
    pub fn is_retried(&self) -> bool {
        matches!(self, Self::Rejected { .. })
    }
}

/// The RenderTask of a Release.
pub fn release_task(sources: &ReleaseSources<'_>) -> Result<PlannedTask, PlanError> {
    let ReleaseSources {
        target,
        release,
        registry,
        signer,
        blueprint,
        ..
    } = *sources;
    let name = release.name();
    let repository = format!("{}/{}/release-{name}", target.namespace, release.namespace());
    if repository.len() > MAX_REPOSITORY {
        return Err(PlanError::PathTooLong { repository });
    }
    let mut document = document(sources)?;
    let content = content(&document, registry, &repository, blueprint, signer);
    let hash = canonical::version_part(&canonical::short(&content));
    let tag = format!("v0.0.{}-{hash}", release.metadata.generation.unwrap_or_default());
    document.chart.version.clone_from(&tag);
    document.chart.app_version.clone_from(&tag);

    let push_secret = registry.spec.solar_secret_ref.as_ref();
    let identity = json!([
        target.namespace,
        target.name,
        release.namespace(),
        name,
        registry.namespace(),
        registry.name(),
        push_secret.map(|secret| &secret.name),
        repository,
        tag,
    ]);
    let suffix = format!("-{}", canonical::short(&identity));
    let config = raw(&document)?;
    Ok(PlannedTask {
        key: ObjectKey::new(registry.namespace(), &bounded("render-rel-", name, &suffix)),
        spec: TaskSpec {
            chart_kind: ChartKind::Release,
            release: Some(config),
            bootstrap: None,
            ..destination(
                target,
                registry,
                repository,
                tag,
                release.spec.failed_job_ttl.unwrap_or(DEFAULT_FAILED_JOB_TTL),
                signer,
            )
        },
    })
}

/// All that a chart is made from, and who signs it.
pub(super) fn content(
    document: &impl serde::Serialize,
    registry: &Registry,
    repository: &str,
    blueprint: &str,
    signer: Option<&KeyPair>,
) -> Value {
    let mut content = json!({
        "config": canonical::json(document),
        "registry": {"baseURL": registry.spec.hostname, "plainHTTP": registry.spec.plain_http},
        "repository": repository,
        "blueprint": blueprint,
    });
    if let Some(signer) = signer {
        content["signer"] = json!(signer.identity());
    }
    content
}

/// A task for a Target without what it renders: where the chart goes, with which credentials, and who signs it.
pub(super) fn destination(
    target: &ObjectKey,
    registry: &Registry,
    repository: String,
    tag: String,
    failed_job_ttl: i32,
    signer: Option<&KeyPair>,
) -> TaskSpec {
    TaskSpec {
        chart_kind: ChartKind::Release,
        release: None,
        bootstrap: None,
        repository,
        tag,
        base_url: registry.spec.hostname.clone(),
        push_secret_ref: registry
            .spec
            .solar_secret_ref
            .as_ref()
            .map(|LocalReference { name }| LocalReference { name: name.clone() }),
        sign_key_secret_ref: signer.map(KeyPair::local_reference),
        expected_digest: None,
        plain_http: registry.spec.plain_http,
        if_exists: IfExists::Fail,
        failed_job_ttl,
        owner_name: target.name.clone(),
        owner_namespace: target.namespace.clone(),
        owner_kind: TargetSpec::KIND.to_owned(),
    }
}

/// The config without the chart's version: that is the tag, which has the hash of the rest.
fn document(sources: &ReleaseSources<'_>) -> Result<ReleaseDocument, PlanError> {
    let (release, version) = (&sources.release.spec, &sources.version.spec);
    let resources = version.resources.iter().map(|(name, resource)| {
        let resource = resolved(sources, name, resource)?;
        Ok((name.clone(), resource))
    });
    Ok(ReleaseDocument {
        chart: ChartDocument {
            name: format!("release-{}", sources.release.name()),
            description: format!("Release of {}", release.component_version_ref.name),
            version: String::new(),
            app_version: String::new(),
        },
        input: ReleaseInput {
            component: Component {
                name: version.component_ref.name.clone(),
            },
            resources: resources.collect::<Result<BTreeMap<_, _>, _>>()?,
            entrypoint: EntrypointDocument {
                resource_name: version.entrypoint.resource_name.clone(),
                kind: version.entrypoint.kind.as_str().to_owned(),
            },
        },
        target_namespace: release.target_namespace.clone(),
        values: data("values", release.values.as_deref())?,
    })
}

fn resolved(
    sources: &ReleaseSources<'_>,
    name: &str,
    resource: &ResourceAccess,
) -> Result<ReleaseResource, PlanError> {
    let ResourceAccess {
        repository,
        insecure,
        tag,
        helm,
    } = resource;
    let pull_secret_name = match sources.pull_secrets.of(repository) {
        Pull::Secret(secret) => secret.to_owned(),
        Pull::Unbound if sources.is_strict => {
            return Err(PlanError::MissingRegistryBinding {
                host: host(repository),
                resource: name.to_owned(),
            });
        }
        Pull::Anonymous | Pull::Unbound => String::new(),
    };
    let helm = helm.as_ref().filter(|helm| !helm.values_template.is_empty());
    Ok(ReleaseResource {
        repository: repository.clone(),
        insecure: *insecure,
        tag: tag.clone(),
        helm: helm.map(|helm| HelmOptions {
            values_template: helm.values_template.clone(),
        }),
        pull_secret_name,
        verify: None,
    })
}

/// A field with arbitrary data of a user.
pub(super) fn data(field: &'static str, raw: Option<&RawValue>) -> Result<Data, PlanError> {
    let Some(raw) = raw else {
        return Ok(Data::new());
    };
    serde_json::from_str(raw.get()).map_err(|error| PlanError::InvalidData {
        field,
        message: error.to_string(),
    })
}

pub(super) fn raw(document: &impl serde::Serialize) -> Result<Box<RawValue>, PlanError> {
    to_raw_value(document).map_err(|error| PlanError::InvalidData {
        field: "config",
        message: error.to_string(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::controllers::pipeline::pull_secrets::BoundRegistry;
    use crate::controllers::pipeline::signing::tests::pair;
    use crate::controllers::pipeline::test_objects::{Fixture, object};
    use proptest::prelude::*;
    use solar_render::source::Source;

    fn plan(fixture: &Fixture) -> PlannedTask {
        fixture.release_task(false).expect("a task")
    }

    fn config(task: &PlannedTask) -> Value {
        serde_json::from_slice(&task.spec.config().expect("a config")).expect("JSON")
    }

    #[test]
    fn the_task_has_the_form_of_the_contract() {
        let task = plan(&Fixture::new());
        let tag = task.spec.tag.clone();
        assert!(
            tag.starts_with("v0.0.3-") && tag.len() == "v0.0.3-".len() + 8,
            "{tag}"
        );
        assert_eq!(task.key.namespace, "solar-system");
        assert!(
            task.key.name.starts_with("render-rel-shop-release-"),
            "{}",
            task.key.name
        );
        let mut spec = serde_json::to_value(&task.spec).expect("JSON");
        let document = spec["release"].take();
        assert_eq!(
            spec,
            json!({
                "type": "release", "release": null, "repository": "tenant/catalog/release-shop-release", "tag": tag,
                "baseURL": "charts.example:5000", "pushSecretRef": {"name": "push"}, "plainHTTP": true,
                "ifExists": "fail", "failedJobTTL": 60,
                "ownerName": "edge", "ownerNamespace": "tenant", "ownerKind": "Target",
            })
        );
        assert_eq!(
            document,
            json!({
                "chart": {"name": "release-shop-release", "description": "Release of shop-1", "version": tag,
                    "appVersion": tag},
                "input": {
                    "component": {"name": "shop"},
                    "resources": {"chart": {"repository": "h.example/c/shop", "tag": "1.0.0",
                        "helm": {"valuesTemplate": "a: 1"}, "pullSecretName": "pull"}},
                    "entrypoint": {"resourceName": "chart", "type": "helm"},
                },
                "targetNamespace": "shop",
                "values": {"replicas": 2},
            })
        );
    }

    #[test]
    fn the_renderer_accepts_the_config() {
        let text = config(&plan(&Fixture::new())).to_string();
        let parsed = solar_render::config::parse(&Source::new("config.json", text));
        assert!(parsed.is_ok(), "{parsed:?}");
    }

    #[test]
    fn a_signed_charts_task_names_the_secret_of_its_pair() {
        let mut fixture = Fixture::new();
        fixture.signer = Some(pair(2));
        let secret = plan(&fixture).spec.sign_key_secret_ref;
        assert_eq!(secret, Some(pair(2).local_reference()));
    }

    #[test]
    fn without_a_binding_a_resource_is_pulled_anonymously_or_refused() {
        let mut fixture = Fixture::new();
        fixture.bound.clear();
        let task = fixture.release_task(false).expect("a task");
        assert_eq!(
            config(&task)["release"]["input"]["resources"]["chart"]["pullSecretName"],
            Value::Null
        );
        let error = fixture.release_task(true).expect_err("strict");
        assert_eq!(
            error,
            PlanError::MissingRegistryBinding {
                host: "h.example".into(),
                resource: "chart".into()
            }
        );
        assert!(error.to_string().contains("h.example") && error.to_string().contains("chart"));
    }

    /// A changed ComponentVersion of the same Release once kept its tag, and the push was skipped.
    #[test]
    fn a_change_of_any_input_is_another_tag() {
        type Change = fn(&mut Fixture);
        let changes: [(&str, Change); 16] = [
            ("values", |f| {
                f.release.spec.values =
                    Some(RawValue::from_string(r#"{"replicas":3}"#.into()).expect("JSON"));
            }),
            ("targetNamespace", |f| {
                f.release.spec.target_namespace = "other".into()
            }),
            ("generation", |f| f.release.metadata.generation = Some(4)),
            ("component", |f| {
                f.version.spec.component_ref.name = "shop2".into()
            }),
            ("cv name", |f| {
                f.release.spec.component_version_ref.name = "shop-2".into();
            }),
            ("resource tag", |f| f.resource().tag = "1.0.1".into()),
            ("resource repository", |f| {
                f.resource().repository = "h.example/c/other".into()
            }),
            ("resource insecure", |f| f.resource().insecure = true),
            ("values template", |f| {
                f.resource().helm.as_mut().expect("helm").values_template = "a: 2".into();
            }),
            ("entrypoint", |f| {
                f.version.spec.entrypoint.resource_name = "other".into()
            }),
            ("pull secret", |f| {
                f.bound[0].1.target_pull_secret_name = "other".into()
            }),
            ("registry host", |f| {
                f.registry.spec.hostname = "other.example".into()
            }),
            ("registry scheme", |f| f.registry.spec.plain_http = false),
            ("blueprint", |f| f.blueprint = "2".into()),
            ("signed", |f| f.signer = Some(pair(1))),
            ("signed by another key", |f| f.signer = Some(pair(2))),
        ];
        let before = plan(&Fixture::new());
        let mut seen = vec![before.spec.tag.clone()];
        for (what, change) in changes {
            let mut fixture = Fixture::new();
            change(&mut fixture);
            let after = plan(&fixture);
            assert!(!seen.contains(&after.spec.tag), "{what}: {}", after.spec.tag);
            assert_ne!(
                after.key, before.key,
                "{what}: a spec never changes under a task's name"
            );
            seen.push(after.spec.tag);
        }
    }

    #[test]
    fn fields_that_are_no_input_of_the_chart_do_not_change_the_tag() {
        let before = plan(&Fixture::new());
        let mut fixture = Fixture::new();
        fixture.release.spec.priority = 7;
        fixture.release.spec.failed_job_ttl = None;
        fixture.registry.spec.flavor = "zot".into();
        fixture.version.spec.tag = "9".into();
        let after = plan(&fixture);
        assert_eq!((&after.spec.tag, &after.key), (&before.spec.tag, &before.key));
        assert_eq!(after.spec.failed_job_ttl, DEFAULT_FAILED_JOB_TTL);
        // Another push Secret means another task, but not another chart.
        fixture.registry.spec.solar_secret_ref = Some(LocalReference { name: "new".into() });
        let after = plan(&fixture);
        assert_eq!(after.spec.tag, before.spec.tag);
        assert_ne!(after.key, before.key);
    }

    /// Two Targets share a chart, but never a task; two Releases of the same name share neither.
    #[test]
    fn the_name_has_both_ends_with_their_namespaces() {
        let before = plan(&Fixture::new());
        let mut fixture = Fixture::new();
        fixture.target.name = "edge-2".into();
        let second = plan(&fixture);
        assert_eq!(second.spec.chart_url(), before.spec.chart_url());
        assert_ne!(second.key, before.key);
        for change in [
            (|f: &mut Fixture| f.target.namespace = "other".into()) as fn(&mut Fixture),
            |f| f.release.metadata.namespace = Some("other".into()),
        ] {
            let mut fixture = Fixture::new();
            change(&mut fixture);
            let other = plan(&fixture);
            assert_ne!(other.key, before.key);
            assert_ne!(other.spec.repository, before.spec.repository);
        }
    }

    #[test]
    fn values_that_are_too_deep_and_names_that_are_too_long_are_refused() {
        let mut fixture = Fixture::new();
        let deep = format!("{{\"a\":{}1{}}}", "[".repeat(200), "]".repeat(200));
        fixture.release.spec.values = Some(RawValue::from_string(deep).expect("JSON"));
        let error = fixture.release_task(false).expect_err("deep");
        assert!(
            matches!(error, PlanError::InvalidData { field: "values", .. }),
            "{error}"
        );
        let mut fixture = Fixture::new();
        let longest = MAX_REPOSITORY - "tenant/catalog/release-".len();
        fixture.release.metadata.name = Some("r".repeat(longest));
        assert!(fixture.release_task(false).is_ok());
        fixture.release.metadata.name = Some("r".repeat(longest + 1));
        let error = fixture.release_task(false).expect_err("long");
        assert!(error.to_string().contains("256 bytes"), "{error}");
    }

    proptest! {
        #[test]
        fn values_that_are_equal_share_a_tag_and_others_do_not(
            one in proptest::collection::btree_map("[a-c]", -2..3_i64, 0..4),
            other in proptest::collection::btree_map("[a-c]", -2..3_i64, 0..4),
        ) {
            let tag = |values: &BTreeMap<String, i64>, backwards: bool| {
                let pairs = values.iter().map(|(key, value)| format!("\"{key}\": {value}.0"));
                let mut pairs: Vec<String> = pairs.collect();
                if backwards {
                    pairs = values.iter().rev().map(|(key, value)| format!("\"{key}\":{value}")).collect();
                }
                let mut fixture = Fixture::new();
                let text = format!("{{{}}}", pairs.join(","));
                fixture.release.spec.values = Some(RawValue::from_string(text).expect("JSON"));
                plan(&fixture).spec.tag
            };
            prop_assert_eq!(tag(&one, false), tag(&one, true));
            prop_assert_eq!(tag(&one, false) == tag(&other, true), one == other);
        }
    }

    #[test]
    fn the_order_of_bindings_does_not_change_the_tag() {
        let mut fixture = Fixture::new();
        let second: Registry = object(json!({
            "metadata": {"name": "second", "namespace": "tenant"},
            "spec": {"hostname": "h.example", "targetPullSecretName": "zweites"},
        }));
        fixture.bound.push((ObjectKey::new("tenant", "z"), second.spec));
        let before = plan(&fixture).spec.tag;
        fixture.bound.reverse();
        assert_eq!(plan(&fixture).spec.tag, before);
        let bound = fixture.bound.iter();
        let bound = bound.map(|(binding, registry)| BoundRegistry { binding, registry });
        assert_eq!(PullSecrets::new(bound).of("h.example/c"), Pull::Secret("pull"));
    }
}
