//! The Job that deletes the tag of an artifact. Pure.

use k8s_openapi::api::batch::v1::{Job, JobSpec};
use k8s_openapi::api::core::v1::PodTemplateSpec;
use kube::api::ObjectMeta;
use solar_render::reference::Digest;

use super::cleanup::MAX_BACKOFF;
use super::digest;
use crate::api::pipeline::RenderArtifact;
use crate::api::{RUN_ANNOTATION, Run};
use crate::controllers::pipeline::artifacts::chart_url;
use crate::jobs::JobSettings;
use crate::jobs::index::owner_annotations;
use crate::jobs::pod::{PodFields, literal, pod_spec};
use crate::jobs::registry_access::{
    BACKOFF_LIMIT, add_ca_certificates, add_push_secret, connection_args, failure_policy,
};
use crate::names;
use crate::runtime::{Key, ObjectName};

/// How many hex digits of the hash a Job's name has.
const HASH_DIGITS: usize = 16;
/// The TTL of a finished Job, in seconds: until the next attempt, even if the operator was down meanwhile.
const JOB_TTL: i32 = 2 * MAX_BACKOFF.as_secs() as i32;
/// A manifest is deleted with its tag if no other tag of the repository names it; in a repository with more tags than
/// this only the tag is deleted, where the registry supports that.
const MAX_COMPARED_TAGS: u32 = 100;

/// The Job's name, in the namespace of the Registry: it says which artifact, of which namespace.
pub(super) fn job_name(artifact: &Key) -> String {
    let hash = crate::controllers::pipeline::canonical::sha256(&serde_json::json!([
        artifact.namespace,
        artifact.name
    ]));
    format!("render-del-{}", hash.get(..HASH_DIGITS).unwrap_or(&hash))
}

/// The inputs of a Job, in addition to the artifact.
#[derive(Debug, Clone, Copy)]
pub(super) struct Deletion<'a> {
    /// The Job's namespace and name.
    pub(super) location: &'a ObjectName,
    /// The Secret with the credentials, in that namespace.
    pub(super) secret: &'a str,
    /// Whether the registry is accessed over plain HTTP.
    pub(super) plain_http: bool,
    /// The run, which an annotation of the Job records.
    pub(super) run: &'a Run,
}

/// The Job that deletes an artifact's tag.
pub(super) fn job(
    key: &Key,
    artifact: &RenderArtifact,
    deletion: Deletion<'_>,
    settings: &JobSettings,
) -> Result<Job, serde_json::Error> {
    let Deletion {
        location,
        secret,
        plain_http,
        run,
    } = deletion;
    let mut fields = PodFields {
        args: arguments(artifact, plain_http),
        ..PodFields::default()
    };
    add_push_secret(secret, &mut fields);
    add_ca_certificates(settings, &mut fields);
    fields.args.extend(connection_args(&settings.args));
    let settings = JobSettings {
        args: Vec::new(),
        ..settings.clone()
    };
    let uid = artifact.metadata.uid.as_deref().unwrap_or("");
    let mut annotations = owner_annotations(key, uid);
    annotations.insert(RUN_ANNOTATION.to_owned(), serde_json::to_string(run)?);
    let labels = names::component_labels(names::ARTIFACT_COMPONENT, &key.name);
    Ok(Job {
        metadata: ObjectMeta {
            name: Some(location.name.clone()),
            namespace: Some(location.namespace.clone()),
            labels: Some(labels.clone()),
            annotations: Some(annotations),
            ..ObjectMeta::default()
        },
        spec: Some(JobSpec {
            backoff_limit: Some(BACKOFF_LIMIT),
            active_deadline_seconds: Some(settings.deadline_seconds.into()),
            ttl_seconds_after_finished: Some(JOB_TTL),
            pod_failure_policy: Some(failure_policy(&settings)),
            template: PodTemplateSpec {
                metadata: Some(ObjectMeta {
                    labels: Some(labels),
                    ..ObjectMeta::default()
                }),
                spec: Some(pod_spec(&settings, fields)),
            },
            ..JobSpec::default()
        }),
        status: None,
    })
}

/// With the digest, where it is known: what somebody else has pushed to the tag stays.
fn reference(artifact: &RenderArtifact) -> String {
    let url = chart_url(&artifact.spec);
    match digest(artifact).map(str::parse::<Digest>) {
        Some(Ok(digest)) => format!("{url}@{digest}"),
        _ => url,
    }
}

fn arguments(artifact: &RenderArtifact, plain_http: bool) -> Vec<String> {
    let mut args = vec![
        "delete".to_owned(),
        literal(&reference(artifact)),
        format!("--max-compared-tags={MAX_COMPARED_TAGS}"),
    ];
    if plain_http {
        args.push("--plain-http=true".to_owned());
    }
    args
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::api::DIGEST_ANNOTATION;
    use crate::api::pipeline::RenderArtifactSpec;
    use crate::controllers::pipeline::stored::Stored;
    use crate::controllers::pipeline::test_objects::object;
    use crate::runtime::Watched as _;
    use crate::tests::settings;
    use serde_json::{Value, json};

    fn built(tag: &str, plain_http: bool, settings: &JobSettings) -> Value {
        let artifact: RenderArtifact = object(json!({
            "metadata": {"name": "art", "namespace": "tenant", "uid": "uid-1"},
            "spec": {"baseURL": "oci://h.example:5000/", "repository": "tenant/bootstrap-edge", "tag": tag,
                "renderTaskRef": "t"},
        }));
        let key = Stored::<RenderArtifactSpec>::ID.key(ObjectName::new("tenant", "art"));
        let run = Run {
            push_secret_version: Some("7".into()),
            ..Run::default()
        };
        let location = ObjectName::new("system", &job_name(&key));
        let deletion = Deletion {
            location: &location,
            secret: "push",
            plain_http,
            run: &run,
        };
        let job = job(&key, &artifact, deletion, settings).expect("a Job");
        serde_json::to_value(job).expect("JSON")
    }

    #[test]
    fn it_deletes_one_tag_with_the_credentials_of_the_registry() {
        let mut settings = settings();
        let args = [
            "--if-exists=skip",
            "--ca-file",
            "/ca.pem",
            "--no-lint",
            "--retries=2",
            "-v",
        ];
        settings.args = args.map(str::to_owned).into();
        let job = built("v0.0.1", true, &settings);
        let container = job
            .pointer("/spec/template/spec/containers/0")
            .expect("a container");
        assert_eq!(
            container["args"],
            json!([
                "delete",
                "oci://h.example:5000/tenant/bootstrap-edge:v0.0.1",
                "--max-compared-tags=100",
                "--plain-http=true",
                "--ca-file",
                "/ca.pem",
                "--retries=2",
                "-v"
            ])
        );
        let env = container["env"].to_string();
        assert!(env.contains("REGISTRY_PASSWORD") && env.contains("push"), "{env}");
        assert_eq!(job["metadata"]["namespace"], "system");
        let annotations = &job["metadata"]["annotations"];
        assert_eq!(annotations["solar.opendefense.cloud/owner-namespace"], "tenant");
        assert_eq!(annotations["solar.opendefense.cloud/owner-uid"], "uid-1");
        assert_eq!(annotations[RUN_ANNOTATION], r#"{"pushSecretVersion":"7"}"#);
        assert_eq!(
            job["metadata"].get("ownerReferences"),
            None,
            "they don't cross namespaces"
        );
        let pod = &job["spec"]["template"]["spec"];
        assert_eq!(pod["automountServiceAccountToken"], false);
    }

    /// A tag that another client had pushed since was once deleted as ours.
    #[test]
    fn the_tag_is_only_deleted_with_the_pushed_digest() {
        let artifact = |digest: &str| -> RenderArtifact {
            object(json!({
                "metadata": {"name": "art", "namespace": "a", "annotations": {DIGEST_ANNOTATION: digest}},
                "spec": {"baseURL": "h.example", "repository": "a/b", "tag": "1", "renderTaskRef": "t"},
            }))
        };
        let digest = format!("sha256:{}", "a".repeat(64));
        assert_eq!(
            reference(&artifact(&digest)),
            format!("oci://h.example/a/b:1@{digest}")
        );
        assert_eq!(reference(&artifact("nonsense")), "oci://h.example/a/b:1");
    }

    #[test]
    fn no_tenants_string_is_expanded() {
        let job = built("$(REGISTRY_PASSWORD)", false, &settings());
        let args = job
            .pointer("/spec/template/spec/containers/0/args")
            .expect("arguments");
        assert!(args.to_string().contains("$$(REGISTRY_PASSWORD)"), "{args}");
        assert!(!args.to_string().contains("plain-http"));
    }

    #[test]
    fn jobs_of_artifacts_of_two_namespaces_have_distinct_names() {
        let key = |namespace: &str| Stored::<RenderArtifactSpec>::ID.key(ObjectName::new(namespace, "art"));
        assert_ne!(job_name(&key("a")), job_name(&key("b")));
        assert!(job_name(&key("a")).len() <= names::MAX_LABEL);
    }
}
