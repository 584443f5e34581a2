//! The Job that runs the renderer for a task.

use k8s_openapi::api::batch::v1::{Job, JobSpec};
use k8s_openapi::api::core::v1::{PodTemplateSpec, SecretVolumeSource, Volume};
use kube::api::ObjectMeta;

use super::arguments::{Folders, arguments};
use super::config_secret::CONFIG_KEY;
use super::subject::Subject;
use crate::api::{RUN_ANNOTATION, Run};
use crate::jobs::JobSettings;
use crate::jobs::pod::{PodFields, pod_spec};
use crate::jobs::registry_access::{
    BACKOFF_LIMIT, add_ca_certificates, add_push_secret, failure_policy, item, plain,
};
use crate::names;

/// The minimum TTL of a finished Job, in seconds: a restarted operator must still see how it ended.
const MIN_JOB_TTL: i32 = 60;
/// The mount path of the config.
const CONFIG_DIR: &str = "/etc/renderer";
/// The environment variable with the config's SHA-256; renderers that don't know it ignore it.
const CONFIG_SHA256: &str = "SOLAR_CONFIG_SHA256";
/// The mount path of the signing key.
const SIGN_KEY_DIR: &str = "/etc/renderer-sign-key";
/// The private key in its Secret, as cosign's own Secrets have it.
pub(crate) const SIGN_KEY: &str = "cosign.key";
/// The key's password.
pub(crate) const SIGN_KEY_PASSWORD: &str = "cosign.password";
/// The paths for the arguments.
const FOLDERS: Folders = Folders {
    config: CONFIG_DIR,
    sign_key: SIGN_KEY_DIR,
};

/// The Job of one run of a task.
pub(super) fn job(
    subject: &Subject<'_>,
    settings: &JobSettings,
    run: &Run,
) -> Result<Job, serde_json::Error> {
    let spec = &subject.task.spec;
    let mut fields = PodFields {
        args: arguments(spec, settings, FOLDERS),
        ..Default::default()
    };
    fields.env.push(plain(CONFIG_SHA256, &spec.config_sha256()?));
    fields.volumes.push((config_volume(subject), CONFIG_DIR));
    if let Some(reference) = &spec.push_secret_ref {
        add_push_secret(&reference.name, &mut fields);
    }
    if let Some(reference) = &spec.sign_key_secret_ref {
        fields
            .volumes
            .push((sign_key_volume(&reference.name), SIGN_KEY_DIR));
    }
    add_ca_certificates(settings, &mut fields);
    let run = serde_json::to_string(run)?;
    Ok(Job {
        metadata: ObjectMeta {
            annotations: Some([(RUN_ANNOTATION.to_owned(), run)].into()),
            ..subject.metadata()
        },
        spec: Some(JobSpec {
            backoff_limit: Some(BACKOFF_LIMIT),
            active_deadline_seconds: Some(settings.deadline_seconds.into()),
            ttl_seconds_after_finished: Some(spec.failed_job_ttl.max(MIN_JOB_TTL)),
            pod_failure_policy: Some(failure_policy(settings)),
            template: PodTemplateSpec {
                metadata: Some(ObjectMeta {
                    labels: Some(names::labels(subject.scope, subject.name)),
                    ..Default::default()
                }),
                spec: Some(pod_spec(settings, fields)),
            },
            ..Default::default()
        }),
        status: None,
    })
}

fn config_volume(subject: &Subject<'_>) -> Volume {
    Volume {
        name: "config".to_owned(),
        secret: Some(SecretVolumeSource {
            secret_name: Some(subject.job_name()),
            items: Some(vec![item(CONFIG_KEY, CONFIG_KEY)]),
            ..Default::default()
        }),
        ..Default::default()
    }
}

/// Both keys are optional: if the Secret lacks one, the renderer reports it and the Job fails; otherwise the kubelet
/// would wait for it until the Job's deadline.
fn sign_key_volume(name: &str) -> Volume {
    Volume {
        name: "sign-key".to_owned(),
        secret: Some(SecretVolumeSource {
            secret_name: Some(name.to_owned()),
            items: Some(vec![
                item(SIGN_KEY, SIGN_KEY),
                item(SIGN_KEY_PASSWORD, SIGN_KEY_PASSWORD),
            ]),
            optional: Some(true),
            ..Default::default()
        }),
        ..Default::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::api::{IfExists, LocalReference, Scope, Task};
    use crate::tests::{settings, task};
    use serde_json::{Value, json};
    use sha2::Digest as _;

    fn built(task: &Task, settings: &JobSettings) -> Value {
        let subject = Subject::new(Scope::Namespaced, task, settings).expect("a subject");
        let job = job(&subject, settings, &Run::default()).expect("a Job");
        serde_json::to_value(job).expect("JSON")
    }

    fn container(job: &Value) -> &Value {
        job.pointer("/spec/template/spec/containers/0")
            .expect("a container")
    }

    #[test]
    fn it_runs_once_and_fails_at_once_on_permanent_exit_codes() {
        let job = built(&task(), &settings());
        let spec = &job["spec"];
        assert_eq!(spec["backoffLimit"], 3);
        assert_eq!(spec["ttlSecondsAfterFinished"], 3600);
        assert_eq!(spec["activeDeadlineSeconds"], 900);
        assert_eq!(spec["template"]["spec"]["restartPolicy"], "Never");
        assert_eq!(
            spec["podFailurePolicy"]["rules"],
            json!([
                {"action": "Ignore", "onPodConditions": [{"type": "DisruptionTarget", "status": "True"}]},
                {"action": "FailJob", "onExitCodes":
                    {"containerName": "renderer", "operator": "In", "values": [1, 2, 3, 4]}},
            ])
        );
    }

    /// With a TTL of 0, a restarted operator once found neither the Job nor its pods.
    #[test]
    fn a_finished_job_has_a_minimum_ttl() {
        let mut task = task();
        for (ttl, expected) in [(0, 60), (61, 61)] {
            task.spec.failed_job_ttl = ttl;
            assert_eq!(
                built(&task, &settings())["spec"]["ttlSecondsAfterFinished"],
                expected
            );
        }
    }

    #[test]
    fn arguments_are_one_a_value_and_follow_the_operators_own() {
        let mut task = task();
        task.spec.base_url = "oci://h.example:5000/charts/".into();
        task.spec.plain_http = true;
        let mut settings = settings();
        settings.args = vec!["-v".into()];
        let job = built(&task, &settings);
        assert_eq!(
            container(&job)["args"],
            json!([
                "-v",
                "/etc/renderer/config.json",
                "--url=oci://h.example:5000/charts/tenant/shop:1.0.0",
                "--plain-http=true",
                "--if-exists=fail"
            ])
        );
        assert_eq!(container(&job).get("command"), None, "the image's own");
    }

    #[test]
    fn another_renderer_gets_no_flag_that_the_task_does_not_set() {
        let (mut task, mut settings) = (task(), settings());
        settings.permanent_exit_codes.clear();
        settings.command = vec!["/solar-renderer".into()];
        let job = built(&task, &settings);
        assert_eq!(container(&job)["args"].as_array().map(Vec::len), Some(2));
        assert_eq!(container(&job)["command"], json!(["/solar-renderer"]));
        assert_eq!(
            job["spec"]["podFailurePolicy"]["rules"].as_array().map(Vec::len),
            Some(1)
        );
        task.spec.if_exists = IfExists::Replace;
        assert_eq!(
            container(&built(&task, &settings))["args"][2],
            "--if-exists=replace"
        );
    }

    /// A kubelet once mounted the old task's config into the pods of a recreated task, which pushed it.
    #[test]
    fn the_job_has_the_hash_of_the_config() {
        let (task, settings) = (task(), settings());
        let subject = Subject::new(Scope::Namespaced, &task, &settings).expect("a subject");
        let secret = super::super::config_secret::config_secret(&subject).expect("a Secret");
        assert_eq!(secret.immutable, None);
        let config = &secret.data.expect("data")["config.json"].0;
        let digest = solar_render::reference::Digest::from_sha256(&sha2::Sha256::digest(config).into());
        let expected = digest.to_string().replace("sha256:", "");
        let job = built(&task, &settings);
        let env = container(&job)["env"].as_array().expect("a list").clone();
        assert!(
            env.contains(&json!({"name": "SOLAR_CONFIG_SHA256", "value": expected})),
            "{env:?}"
        );
    }

    #[test]
    fn a_push_secret_of_any_type_is_mounted_unread() {
        let mut task = task();
        task.spec.push_secret_ref = Some(LocalReference { name: "push".into() });
        let job = built(&task, &settings());
        let env = container(&job)["env"].as_array().expect("a list").clone();
        let reference = |key: &str| json!({"secretKeyRef": {"name": "push", "key": key, "optional": true}});
        assert!(env.contains(&json!({"name": "REGISTRY_USERNAME", "valueFrom": reference("username")})));
        assert!(env.contains(&json!({"name": "REGISTRY_PASSWORD", "valueFrom": reference("password")})));
        assert!(env.contains(&json!({"name": "DOCKER_CONFIG", "value": "/etc/renderer-registry"})));
        let volumes = job
            .pointer("/spec/template/spec/volumes")
            .and_then(Value::as_array)
            .expect("volumes");
        assert!(volumes.contains(&json!({"name": "registry", "secret": {
            "secretName": "push", "optional": true,
            "items": [{"key": ".dockerconfigjson", "path": "config.json"}],
        }})));
    }

    #[test]
    fn a_key_is_mounted_read_only_without_its_public_half() {
        let mut task = task();
        task.spec.sign_key_secret_ref = Some(LocalReference { name: "key".into() });
        let job = built(&task, &settings());
        let volumes = job.pointer("/spec/template/spec/volumes").expect("volumes");
        assert!(
            volumes
                .as_array()
                .expect("a list")
                .contains(&json!({"name": "sign-key", "secret": {
                    "secretName": "key", "optional": true,
                    "items": [
                        {"key": "cosign.key", "path": "cosign.key"},
                        {"key": "cosign.password", "path": "cosign.password"},
                    ],
                }}))
        );
        let mounts = container(&job)["volumeMounts"]
            .as_array()
            .expect("a list")
            .clone();
        let mounted = json!({"name": "sign-key", "mountPath": "/etc/renderer-sign-key", "readOnly": true});
        assert!(mounts.contains(&mounted), "{mounts:?}");
        assert_eq!(
            container(&job)["args"].as_array().and_then(|args| args.last()),
            Some(&json!(
                "--key-password-file=/etc/renderer-sign-key/cosign.password"
            ))
        );
    }

    #[test]
    fn ca_certificates_and_pull_secrets_come_from_the_operators_settings() {
        let mut settings = settings();
        settings.ca_configmap = Some("roots".into());
        settings.image_pull_secrets = vec!["one".into(), "two".into()];
        let job = built(&task(), &settings);
        let env = container(&job)["env"].as_array().expect("a list").clone();
        assert!(
            env.contains(&json!({"name": "SSL_CERT_FILE", "value": "/etc/renderer-ca/trust-bundle.pem"}))
        );
        let pod = job.pointer("/spec/template/spec").expect("a pod");
        assert_eq!(pod["imagePullSecrets"], json!([{"name": "one"}, {"name": "two"}]));
    }

    #[test]
    fn it_passes_pod_security_restricted() {
        let job = built(&task(), &settings());
        let pod = job.pointer("/spec/template/spec").expect("a pod");
        assert_eq!(pod["automountServiceAccountToken"], false);
        assert_eq!(pod["securityContext"]["runAsNonRoot"], true);
        assert_eq!(
            container(&job)["securityContext"],
            json!({
                "allowPrivilegeEscalation": false, "readOnlyRootFilesystem": true, "runAsNonRoot": true,
                "capabilities": {"drop": ["ALL"]}, "seccompProfile": {"type": "RuntimeDefault"},
            })
        );
        assert_eq!(container(&job)["terminationMessagePath"], "/dev/termination-log");
        assert_eq!(
            container(&job)["terminationMessagePolicy"],
            "FallbackToLogsOnError"
        );
        assert_eq!(container(&job)["resources"]["requests"], json!({"cpu": "50m"}));
    }

    #[test]
    fn a_cluster_task_runs_in_the_operators_namespace_and_its_job_has_the_run() {
        let settings = settings();
        let mut task = task();
        task.metadata.namespace = None;
        let subject = Subject::new(Scope::Cluster, &task, &settings).expect("a subject");
        let run = Run {
            retry: Some("1".into()),
            ..Run::default()
        };
        let job = job(&subject, &settings, &run).expect("a Job");
        assert_eq!(job.metadata.namespace.as_deref(), Some("solar-system"));
        assert_eq!(job.metadata.name.as_deref(), Some("crender-shop"));
        let annotations = job.metadata.annotations.expect("annotations");
        assert_eq!(annotations[RUN_ANNOTATION], r#"{"retry":"1"}"#);
    }
}
