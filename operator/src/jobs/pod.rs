//! A pod that runs one container once, and passes Pod Security "restricted".

use std::collections::BTreeMap;

use k8s_openapi::api::core::v1::{
    Capabilities, Container, EmptyDirVolumeSource, EnvVar, EnvVarSource, LocalObjectReference,
    ObjectFieldSelector, PodSecurityContext, PodSpec, ProjectedVolumeSource, ResourceRequirements,
    SeccompProfile, SecurityContext, ServiceAccountTokenProjection, Volume, VolumeMount, VolumeProjection,
};
use k8s_openapi::apimachinery::pkg::api::resource::Quantity;

use super::JobSettings;
use super::registry_access::plain;

/// The container's name.
pub const CONTAINER: &str = "renderer";

/// The mount path of the token for a registry.
const TOKEN_DIR: &str = "/var/run/secrets/renderer-token";
/// The token's file there.
const TOKEN_FILE: &str = "token";
/// The environment variable with the path of that file, for credential helpers.
const TOKEN_VARIABLE: &str = "REGISTRY_TOKEN_FILE";
/// How long a token is valid, in seconds: the kubelet renews it.
const TOKEN_SECONDS: i64 = 3600;

/// The fields that differ between kinds of Jobs.
#[derive(Default)]
pub struct PodFields {
    /// The arguments that follow those of the settings.
    pub args: Vec<String>,
    /// The environment, in addition to `POD_NAMESPACE` and `POD_NAME`.
    pub env: Vec<EnvVar>,
    /// Read-only volumes, and their mount paths.
    pub volumes: Vec<(Volume, &'static str)>,
    /// A volume that is written to.
    pub writable: Option<WritableVolume>,
}

/// A volume that the container writes to.
pub struct WritableVolume {
    /// The volume.
    pub volume: Volume,
    /// Its mount path.
    pub path: &'static str,
    /// The group of its files, which lets any user of the image write.
    pub fs_group: i64,
}

/// The pod of a Job: one container, with nothing that Pod Security "restricted" forbids.
pub fn pod_spec(settings: &JobSettings, fields: PodFields) -> PodSpec {
    let PodFields {
        args,
        mut env,
        mut volumes,
        writable,
    } = fields;
    if let Some(audience) = &settings.token_audience {
        env.push(plain(TOKEN_VARIABLE, &format!("{TOKEN_DIR}/{TOKEN_FILE}")));
        volumes.push((token_volume(audience), TOKEN_DIR));
    }
    let temporary = Volume {
        name: "tmp".to_owned(),
        empty_dir: Some(EmptyDirVolumeSource::default()),
        ..Default::default()
    };
    let mut mounts = vec![mount(&temporary, "/tmp", false)];
    mounts.extend(volumes.iter().map(|(volume, path)| mount(volume, path, true)));
    let mut all_volumes = vec![temporary];
    all_volumes.extend(volumes.into_iter().map(|(volume, _)| volume));
    let fs_group = writable.as_ref().map(|writable| writable.fs_group);
    if let Some(WritableVolume { volume, path, .. }) = writable {
        mounts.push(mount(&volume, path, false));
        all_volumes.push(volume);
    }
    let pull_secrets = settings.image_pull_secrets.iter();
    let pull_secrets: Vec<_> = pull_secrets
        .map(|name| LocalObjectReference { name: name.clone() })
        .collect();
    PodSpec {
        restart_policy: Some("Never".to_owned()),
        service_account_name: settings.service_account.clone(),
        automount_service_account_token: Some(false),
        enable_service_links: Some(false),
        image_pull_secrets: (!pull_secrets.is_empty()).then_some(pull_secrets),
        security_context: Some(PodSecurityContext {
            run_as_non_root: Some(true),
            seccomp_profile: Some(seccomp()),
            fs_group,
            ..Default::default()
        }),
        containers: vec![container(settings, args, env, mounts)],
        volumes: Some(all_volumes),
        ..Default::default()
    }
}

/// A token of the pod's ServiceAccount, for nobody but this audience.
fn token_volume(audience: &str) -> Volume {
    Volume {
        name: "token".to_owned(),
        projected: Some(ProjectedVolumeSource {
            sources: Some(vec![VolumeProjection {
                service_account_token: Some(ServiceAccountTokenProjection {
                    audience: Some(audience.to_owned()),
                    expiration_seconds: Some(TOKEN_SECONDS),
                    path: TOKEN_FILE.to_owned(),
                }),
                ..Default::default()
            }]),
            ..Default::default()
        }),
        ..Default::default()
    }
}

/// Escapes text for arguments: the kubelet expands `$(VAR)`, and `$$` to `$`.
/// <https://kubernetes.io/docs/tasks/inject-data-application/define-command-argument-container/>
pub fn literal(text: &str) -> String {
    text.replace('$', "$$")
}

fn container(
    settings: &JobSettings,
    args: Vec<String>,
    env: Vec<EnvVar>,
    mounts: Vec<VolumeMount>,
) -> Container {
    let mut all_env = vec![
        from_field("POD_NAMESPACE", "metadata.namespace"),
        from_field("POD_NAME", "metadata.name"),
    ];
    all_env.extend(env);
    Container {
        name: CONTAINER.to_owned(),
        image: Some(settings.image.clone()),
        command: (!settings.command.is_empty()).then(|| settings.command.clone()),
        args: Some(settings.args.iter().cloned().chain(args).collect()),
        env: Some(all_env),
        volume_mounts: Some(mounts),
        resources: Some(ResourceRequirements {
            requests: quantities(&settings.requests),
            limits: quantities(&settings.limits),
            ..Default::default()
        }),
        termination_message_path: Some("/dev/termination-log".to_owned()),
        termination_message_policy: Some("FallbackToLogsOnError".to_owned()),
        security_context: Some(SecurityContext {
            allow_privilege_escalation: Some(false),
            read_only_root_filesystem: Some(true),
            run_as_non_root: Some(true),
            capabilities: Some(Capabilities {
                drop: Some(vec!["ALL".to_owned()]),
                ..Default::default()
            }),
            seccomp_profile: Some(seccomp()),
            ..Default::default()
        }),
        ..Default::default()
    }
}

fn mount(volume: &Volume, path: &str, read_only: bool) -> VolumeMount {
    VolumeMount {
        name: volume.name.clone(),
        mount_path: path.to_owned(),
        read_only: read_only.then_some(true),
        ..Default::default()
    }
}

fn from_field(name: &str, path: &str) -> EnvVar {
    EnvVar {
        name: name.to_owned(),
        value_from: Some(EnvVarSource {
            field_ref: Some(ObjectFieldSelector {
                field_path: path.to_owned(),
                ..Default::default()
            }),
            ..Default::default()
        }),
        ..Default::default()
    }
}

fn seccomp() -> SeccompProfile {
    SeccompProfile {
        type_: "RuntimeDefault".to_owned(),
        ..Default::default()
    }
}

fn quantities(given: &BTreeMap<String, String>) -> Option<BTreeMap<String, Quantity>> {
    let quantities = given
        .iter()
        .map(|(name, amount)| (name.clone(), Quantity(amount.clone())));
    (!given.is_empty()).then(|| quantities.collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::settings;
    use serde_json::{Value, json};

    fn built(settings: &JobSettings) -> Value {
        serde_json::to_value(pod_spec(settings, PodFields::default())).expect("JSON")
    }

    #[test]
    fn a_pod_has_an_account_and_a_token_only_if_the_platform_names_them() {
        let mut settings = settings();
        let without = built(&settings);
        assert_eq!(without["serviceAccountName"], Value::Null);
        assert!(!without.to_string().contains("token\""), "{without:#}");
        settings.service_account = Some("pusher".into());
        settings.token_audience = Some("sts.example.com".into());
        let with = built(&settings);
        assert_eq!(with["serviceAccountName"], "pusher");
        // The API server's own token stays out of the pod.
        assert_eq!(with["automountServiceAccountToken"], false);
        let volumes = with["volumes"].as_array().expect("volumes");
        assert_eq!(
            volumes[volumes.len() - 1],
            json!({"name": "token", "projected": {"sources": [{"serviceAccountToken": {
                "audience": "sts.example.com", "expirationSeconds": 3600, "path": "token"}}]}})
        );
        let container = &with["containers"][0];
        let mount =
            json!({"name": "token", "mountPath": "/var/run/secrets/renderer-token", "readOnly": true});
        assert!(
            container["volumeMounts"]
                .as_array()
                .expect("mounts")
                .contains(&mount)
        );
        let variable =
            json!({"name": "REGISTRY_TOKEN_FILE", "value": "/var/run/secrets/renderer-token/token"});
        assert!(
            container["env"]
                .as_array()
                .expect("variables")
                .contains(&variable)
        );
    }
}
