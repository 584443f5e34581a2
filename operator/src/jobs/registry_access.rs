//! Shared by Jobs that access a registry: credentials, CA certificates, and the pod failure policy.
//!
//! The operator names Secrets and ConfigMaps and never reads their content: the kubelet mounts them.

use k8s_openapi::api::batch::v1::{
    PodFailurePolicy, PodFailurePolicyOnExitCodesRequirement, PodFailurePolicyOnPodConditionsPattern,
    PodFailurePolicyRule,
};
use k8s_openapi::api::core::v1::{
    ConfigMapVolumeSource, EnvVar, EnvVarSource, KeyToPath, SecretKeySelector, SecretVolumeSource, Volume,
};
use kube::Api;

use super::JobSettings;
use super::partial::{CONFIG_MAPS, PartialConfigMap};
use super::pod::{CONTAINER, PodFields};
use crate::runtime::{Cx, Error};

/// The Job's `backoffLimit`; disruptions and permanent failures don't count against it.
pub const BACKOFF_LIMIT: i32 = 3;
/// The mount path of `.dockerconfigjson`, as Docker's `config.json`.
const REGISTRY_DIR: &str = "/etc/renderer-registry";
/// The mount path of the CA certificates.
const CA_DIR: &str = "/etc/renderer-ca";
/// The key of the ConfigMap with CA certificates.
pub const CA_KEY: &str = "trust-bundle.pem";

/// The flags of the renderer about connections, and whether they take a value.
const CONNECTION_FLAGS: [(&str, bool); 10] = [
    ("--ca-file", true),
    ("--cert-file", true),
    ("--key-file", true),
    ("--insecure-skip-tls-verify", false),
    ("--registry-config", true),
    ("--timeout", true),
    ("--deadline", true),
    ("--retries", true),
    ("--verbose", false),
    ("-v", false),
];

/// Whether a namespace has the ConfigMap with CA certificates, with its key; true if none is configured.
pub async fn has_ca_certificates(cx: &Cx, settings: &JobSettings, namespace: &str) -> Result<bool, Error> {
    let Some(name) = &settings.ca_configmap else {
        return Ok(true);
    };
    let maps: Api<PartialConfigMap> = Api::namespaced_with(cx.client().clone(), namespace, &CONFIG_MAPS);
    let map = maps
        .get_opt(name)
        .await
        .map_err(Error::api("reading the ConfigMap with CA certificates"))?;
    Ok(map.is_some_and(|map| map.view().is_some_and(|keys| keys.has(CA_KEY))))
}

/// Why a Secret may not be used for a host; `None`: it may, or has no annotation.
pub fn host_mismatch(secret: &str, annotated: Option<&str>, host: &str) -> Option<String> {
    let own = annotated.filter(|own| !own.trim().eq_ignore_ascii_case(host))?;
    Some(format!(
        "the Secret {secret} may only be used for {own}, not for {host}"
    ))
}

/// Mounts the push Secret, whatever its type: the kubelet skips optional keys that it doesn't have, so that the
/// operator needn't read it.
pub fn add_push_secret(name: &str, fields: &mut PodFields) {
    fields
        .env
        .push(from_secret("REGISTRY_USERNAME", name, "username"));
    fields
        .env
        .push(from_secret("REGISTRY_PASSWORD", name, "password"));
    fields.env.push(plain("DOCKER_CONFIG", REGISTRY_DIR));
    let volume = Volume {
        name: "registry".to_owned(),
        secret: Some(SecretVolumeSource {
            secret_name: Some(name.to_owned()),
            items: Some(vec![item(".dockerconfigjson", "config.json")]),
            optional: Some(true),
            ..Default::default()
        }),
        ..Default::default()
    };
    fields.volumes.push((volume, REGISTRY_DIR));
}

/// Mounts the CA certificates, if any are configured.
pub fn add_ca_certificates(settings: &JobSettings, fields: &mut PodFields) {
    let Some(name) = &settings.ca_configmap else {
        return;
    };
    let bundle = format!("{CA_DIR}/{CA_KEY}");
    fields.env.push(plain("SSL_CERT_FILE", &bundle));
    fields.volumes.push((ca_volume(name), CA_DIR));
}

fn ca_volume(name: &str) -> Volume {
    Volume {
        name: "ca".to_owned(),
        config_map: Some(ConfigMapVolumeSource {
            name: name.to_owned(),
            items: Some(vec![item(CA_KEY, CA_KEY)]),
            ..Default::default()
        }),
        ..Default::default()
    }
}

/// Disruptions don't count against the limit, and exit codes of permanent failures fail the Job at once.
pub fn failure_policy(settings: &JobSettings) -> PodFailurePolicy {
    let mut rules = vec![PodFailurePolicyRule {
        action: "Ignore".to_owned(),
        on_pod_conditions: Some(vec![PodFailurePolicyOnPodConditionsPattern {
            type_: "DisruptionTarget".to_owned(),
            status: "True".to_owned(),
        }]),
        ..Default::default()
    }];
    if !settings.permanent_exit_codes.is_empty() {
        rules.push(PodFailurePolicyRule {
            action: "FailJob".to_owned(),
            on_exit_codes: Some(PodFailurePolicyOnExitCodesRequirement {
                container_name: Some(CONTAINER.to_owned()),
                operator: "In".to_owned(),
                values: settings.permanent_exit_codes.iter().copied().collect(),
            }),
            ..Default::default()
        });
    }
    PodFailurePolicy { rules }
}

/// Of the arguments for rendering, those that are about the connection: a registry that is reached by them to push is
/// reached in no other way to delete. Other commands than `render` don't know the rest.
pub fn connection_args(args: &[String]) -> Vec<String> {
    let mut kept = Vec::new();
    let mut words = args.iter();
    while let Some(word) = words.next() {
        let (name, has_value) = word
            .split_once('=')
            .map_or((word.as_str(), false), |(name, _)| (name, true));
        let Some((_, takes_value)) = CONNECTION_FLAGS.iter().find(|(flag, _)| *flag == name) else {
            continue;
        };
        kept.push(word.clone());
        if *takes_value && !has_value {
            kept.extend(words.next().cloned());
        }
    }
    kept
}

/// Maps a key of a Secret or ConfigMap to a file name.
pub fn item(key: &str, path: &str) -> KeyToPath {
    KeyToPath {
        key: key.to_owned(),
        path: path.to_owned(),
        mode: None,
    }
}

/// An environment variable with a literal value.
pub fn plain(name: &str, value: &str) -> EnvVar {
    EnvVar {
        name: name.to_owned(),
        value: Some(value.to_owned()),
        value_from: None,
    }
}

fn from_secret(name: &str, secret: &str, key: &str) -> EnvVar {
    EnvVar {
        name: name.to_owned(),
        value: None,
        value_from: Some(EnvVarSource {
            secret_key_ref: Some(SecretKeySelector {
                name: secret.to_owned(),
                key: key.to_owned(),
                optional: Some(true),
            }),
            ..Default::default()
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A flag that the renderer had and this list had not was once dropped from deletions.
    #[test]
    fn all_flags_of_connections_are_known() {
        let pages = include_str!("../../../docs/reference/cli.md");
        let (_, page) = pages.split_once("\n## solar-render delete\n").expect("a page");
        let (_, flags) = page.split_once("\n**Registry**\n").expect("its flags");
        let flags = flags.lines().skip(1).take_while(|line| line.starts_with("- "));
        // What the Secret and the Registry decide.
        let others = ["--plain-http", "--username", "--password", "--password-stdin"];
        let mut count = 0;
        for flag in flags.filter_map(|line| line.split('`').nth(1)) {
            let name = flag.split([' ', '[']).next().expect("a name");
            let takes_value = flag.contains(' ');
            let is_known = CONNECTION_FLAGS.contains(&(name, takes_value)) || others.contains(&name);
            assert!(is_known, "{flag}");
            count += 1;
        }
        assert!(count > others.len(), "{count}");
    }
}
