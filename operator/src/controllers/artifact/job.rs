//! The Job of an attempt. A pure function of the Artifact and the operator's settings.
//!
//! Nothing is put through a shell, and `$` in a user's text is escaped: Kubernetes expands `$(VAR)`.

use k8s_openapi::api::batch::v1::{Job, JobSpec};
use k8s_openapi::api::core::v1::{
    EnvVar, EnvVarSource, PersistentVolumeClaimVolumeSource, PodTemplateSpec, SecretKeySelector,
    SecretVolumeSource, Volume,
};
use kube::api::ObjectMeta;

use super::dereference::Found;
use super::names::workspace_name;
use super::{ArtifactSettings, kit};
use crate::api::IfExists;
use crate::api::artifact::{
    ArtifactFormat, ArtifactSpec, HttpSource, HuggingFaceSource, ImportTarget, OciSource, SecretKeyReference,
};
use crate::jobs::JobSettings;
use crate::jobs::pod::{PodFields, WritableVolume, literal, pod_spec};
use crate::jobs::registry_access::{
    add_ca_certificates, add_push_secret, connection_args, failure_policy, item, plain,
};
use crate::names::{IMPORT_COMPONENT, component_labels, fitted};
use crate::runtime::owned::owner_reference;

/// The label of Jobs and pods with their Artifact's UID.
pub(super) const UID_LABEL: &str = "solar.opendefense.cloud/artifact-uid";
/// The mount path of the volume.
pub(super) const WORKSPACE: &str = "/workspace";
/// The group of the volume's files: the image's user.
const FS_GROUP: i64 = 65532;
/// The mount path of headers for a web server.
const HEADERS_DIR: &str = "/etc/renderer-headers";
/// The mount path of the credentials to pull with.
const SOURCE_REGISTRY_DIR: &str = "/etc/renderer-source-registry";

/// The Job of the current attempt.
pub(super) fn job(found: &Found, settings: &JobSettings, own: &ArtifactSettings) -> Job {
    let mut labels = component_labels(IMPORT_COMPONENT, &found.key.name);
    labels.insert(UID_LABEL.to_owned(), fitted(found.uid()));
    let pod = match kit::replaces(&found.spec, own) {
        Some(image) => kit::pod(found, settings, image),
        None => pod_spec(&bare(settings), fields(found, settings)),
    };
    Job {
        metadata: ObjectMeta {
            name: Some(found.job_name()),
            namespace: Some(found.key.namespace.clone()),
            labels: Some(labels.clone()),
            owner_references: Some(vec![owner_reference(&found.key, found.uid())]),
            ..ObjectMeta::default()
        },
        spec: Some(JobSpec {
            // Attempts are Jobs, so that each has a deadline and a result of its own.
            backoff_limit: Some(0),
            active_deadline_seconds: Some(settings.deadline_seconds.into()),
            ttl_seconds_after_finished: Some(found.spec.ttl_seconds_after_finished),
            pod_failure_policy: Some(failure_policy(settings)),
            template: PodTemplateSpec {
                metadata: Some(ObjectMeta {
                    labels: Some(labels),
                    ..ObjectMeta::default()
                }),
                spec: Some(pod),
            },
            ..JobSpec::default()
        }),
        status: None,
    }
}

/// The settings' arguments are for rendering; those about connections are added behind `artifact`.
pub(super) fn bare(settings: &JobSettings) -> JobSettings {
    JobSettings {
        args: Vec::new(),
        ..settings.clone()
    }
}

/// The volume, mounted to be written.
pub(super) fn workspace_volume(found: &Found) -> WritableVolume {
    WritableVolume {
        volume: Volume {
            name: "workspace".to_owned(),
            persistent_volume_claim: Some(PersistentVolumeClaimVolumeSource {
                claim_name: workspace_name(&found.key.name),
                read_only: None,
            }),
            ..Volume::default()
        },
        path: WORKSPACE,
        fs_group: FS_GROUP,
    }
}

fn fields(found: &Found, settings: &JobSettings) -> PodFields {
    let ArtifactSpec {
        source,
        format,
        target,
        ..
    } = &found.spec;
    let mut fields = PodFields {
        args: vec!["artifact".to_owned()],
        writable: Some(workspace_volume(found)),
        ..PodFields::default()
    };
    if let Some(source) = &source.hugging_face {
        add_hub(source, &mut fields);
    } else if let Some(source) = &source.http {
        add_web(source, &mut fields);
    } else if let Some(source) = &source.oci {
        add_registry(source, &mut fields);
    }
    fields.args.push(format!("--format={}", format.as_str()));
    add_target(target, *format, &mut fields);
    fields.args.push(format!("--workdir={WORKSPACE}"));
    fields.args.extend(connection_args(&settings.args));
    add_ca_certificates(settings, &mut fields);
    fields
}

fn add_hub(source: &HuggingFaceSource, fields: &mut PodFields) {
    let HuggingFaceSource {
        repository,
        revision,
        token_secret_ref,
        include,
        exclude,
    } = source;
    fields
        .args
        .push(literal(&format!("--from=hf://{repository}@{revision}")));
    let flags = |flag: &str, patterns: &[String]| -> Vec<String> {
        let flags = patterns
            .iter()
            .map(|pattern| literal(&format!("--{flag}={pattern}")));
        flags.collect()
    };
    fields.args.extend(flags("include", include));
    fields.args.extend(flags("exclude", exclude));
    fields.env.extend(token_secret_ref.as_ref().map(token));
}

/// The token of Hugging Face, by the kubelet.
pub(super) fn token(reference: &SecretKeyReference) -> EnvVar {
    let SecretKeyReference { name, key } = reference;
    EnvVar {
        name: "HF_TOKEN".to_owned(),
        value: None,
        value_from: Some(EnvVarSource {
            secret_key_ref: Some(SecretKeySelector {
                name: name.clone(),
                key: key.clone(),
                optional: None,
            }),
            ..EnvVarSource::default()
        }),
    }
}

fn add_web(source: &HttpSource, fields: &mut PodFields) {
    let HttpSource {
        url,
        sha256,
        headers_secret_ref,
    } = source;
    fields.args.push(literal(&format!("--from={url}")));
    fields.args.push(literal(&format!("--sha256={sha256}")));
    if let Some(secret) = headers_secret_ref {
        fields.args.push(format!("--from-headers={HEADERS_DIR}"));
        fields
            .volumes
            .push((secret_volume("headers", &secret.name, None), HEADERS_DIR));
    }
}

fn add_registry(source: &OciSource, fields: &mut PodFields) {
    let OciSource {
        reference,
        insecure,
        pull_secret_ref,
    } = source;
    let reference = reference.strip_prefix("oci://").unwrap_or(reference);
    fields.args.push(literal(&format!("--from=oci://{reference}")));
    if *insecure {
        fields.args.push("--from-plain-http=true".to_owned());
    }
    if let Some(secret) = pull_secret_ref {
        fields.args.push(format!(
            "--from-registry-config={SOURCE_REGISTRY_DIR}/config.json"
        ));
        let volume = secret_volume("source-registry", &secret.name, Some(".dockerconfigjson"));
        fields.volumes.push((volume, SOURCE_REGISTRY_DIR));
    }
}

/// A Secret as files; with a key, that one alone as `config.json`. A pod waits for a key that its Secret doesn't have,
/// without a message and with a slot; without the file the renderer pulls anonymously and reports a refusal.
fn secret_volume(name: &str, secret: &str, key: Option<&str>) -> Volume {
    Volume {
        name: name.to_owned(),
        secret: Some(SecretVolumeSource {
            secret_name: Some(secret.to_owned()),
            items: key.map(|key| vec![item(key, "config.json")]),
            optional: key.map(|_| true),
            ..SecretVolumeSource::default()
        }),
        ..Volume::default()
    }
}

fn add_target(target: &ImportTarget, format: ArtifactFormat, fields: &mut PodFields) {
    fields
        .args
        .push(literal(&format!("--to=oci://{}", target_text(target, format))));
    if target.insecure {
        fields.args.push("--to-plain-http=true".to_owned());
    }
    if target.if_exists != IfExists::Fail {
        fields
            .args
            .push(format!("--if-exists={}", target.if_exists.as_str()));
    }
    if let Some(secret) = &target.credentials_secret_ref {
        add_push_secret(&secret.name, fields);
        // The credentials of the environment are for this registry, not for the source's.
        fields
            .env
            .push(plain("REGISTRY_HOST", &literal(&target.registry)));
    }
}

/// `host/path[:tag]`; a chart's tag is its version.
pub(super) fn target_text(target: &ImportTarget, format: ArtifactFormat) -> String {
    let repository = target.repository.trim_matches('/');
    let place = format!("{}/{repository}", target.registry);
    match (&target.tag, format) {
        (Some(tag), _) => format!("{place}:{tag}"),
        (None, ArtifactFormat::Chart) => place,
        (None, ArtifactFormat::ModelPack | ArtifactFormat::Raw) => format!("{place}:latest"),
    }
}
