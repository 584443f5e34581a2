//! The Secrets that are read: each by its exact name, and only of the type that it must have.

use std::collections::BTreeMap;

use k8s_openapi::ByteString;
use k8s_openapi::api::core::v1::Secret;
use kube::Api;
use kube::api::{ObjectMeta, PostParams};
use serde::Deserialize;
use solar_render::oci::credentials::{self, Credentials};
use solar_render::signing_key::VerifyingKey;
use solar_render::world::{System, World as _};

use super::conditions::{CLUSTER_READY, Halt, reasons};
use super::kubeconfig;
use super::workload::Workload;
use crate::api::REGISTRY_HOST_ANNOTATION;
use crate::jobs::registry_access::host_mismatch;
use crate::names::MANAGER;
use crate::runtime::owned::owner_reference;
use crate::runtime::views::Object;
use crate::runtime::{Cx, Error, Key};

/// The type of Cluster API's Secrets.
const CLUSTER_SECRET: &str = "cluster.x-k8s.io/secret";
/// The key of a kubeconfig in its Secret.
const KUBECONFIG_KEY: &str = "value";
/// The type of pull Secrets.
const DOCKER_SECRET: &str = "kubernetes.io/dockerconfigjson";
const DOCKER_KEY: &str = ".dockerconfigjson";
/// The key of a public key, as `cosign generate-key-pair k8s://…` writes it.
const PUBLIC_KEY: &str = "cosign.pub";
/// The key of an addon's seed.
const SEED_KEY: &str = "seed";

/// A Secret's content. It has no `Debug` that shows it.
#[derive(Clone, PartialEq, Deserialize)]
#[serde(default)]
struct SecretView {
    r#type: String,
    data: BTreeMap<String, ByteString>,
}

impl Default for SecretView {
    fn default() -> Self {
        Self {
            r#type: "Opaque".to_owned(),
            data: BTreeMap::new(),
        }
    }
}

impl std::fmt::Debug for SecretView {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("***")
    }
}

/// Why a Secret can't be used, for a condition.
pub(super) type Unusable = String;

async fn read(cx: &Cx, namespace: &str, name: &str) -> Result<Option<Object<SecretView>>, Error> {
    let key = Key {
        kind: SECRETS,
        namespace: namespace.to_owned(),
        name: name.to_owned(),
    };
    let found = cx.api::<SecretView>(&key).get_opt(name).await;
    found.map_err(Error::api("reading a Secret"))
}

const SECRETS: crate::key::KindId = crate::key::KindId {
    kind: "Secret",
    group: "",
    version: "v1",
    plural: "secrets",
    namespaced: true,
};

/// Connects to a cluster by its kubeconfig Secret.
pub(super) async fn connect(
    cx: &Cx,
    namespace: &str,
    cluster: &str,
) -> Result<Result<Workload, Halt>, Error> {
    let name = format!("{cluster}-kubeconfig");
    let secret = read(cx, namespace, &name).await?;
    let missing = |why: &str| {
        let message = format!("the Secret {name} {why}");
        Halt::wait(CLUSTER_READY, reasons::KUBECONFIG_MISSING, message)
    };
    let Some(secret) = secret else {
        return Ok(Err(missing("doesn't exist")));
    };
    let Some(view) = secret.view().filter(|view| view.r#type == CLUSTER_SECRET) else {
        return Ok(Err(missing("is not of type cluster.x-k8s.io/secret")));
    };
    let Some(text) = view.data.get(KUBECONFIG_KEY) else {
        return Ok(Err(missing("has no key value")));
    };
    let config = match kubeconfig::connection(&text.0) {
        Ok(config) => config,
        Err(error) => {
            let message = format!("Secret {name}: {error}");
            return Ok(Err(Halt::stall(
                CLUSTER_READY,
                reasons::KUBECONFIG_REFUSED,
                message,
            )));
        }
    };
    let connected = Workload::connect(config).await;
    Ok(connected.map_err(|error| Halt::wait(CLUSTER_READY, reasons::CLUSTER_UNREACHABLE, error.to_string())))
}

/// The credentials of a pull Secret for a repository, `host/path`.
pub(super) async fn pull_credentials(
    cx: &Cx,
    namespace: &str,
    name: &str,
    repository: &str,
) -> Result<Result<Option<Credentials>, Unusable>, Error> {
    let Some(secret) = read(cx, namespace, name).await? else {
        return Ok(Err(format!("the pull Secret {name} doesn't exist")));
    };
    let (host, path) = repository.split_once('/').unwrap_or((repository, ""));
    if let Some(message) = host_mismatch(name, secret.annotation(REGISTRY_HOST_ANNOTATION), host) {
        return Ok(Err(message));
    }
    let view = secret.view().filter(|view| view.r#type == DOCKER_SECRET);
    let Some(text) = view.and_then(|view| view.data.get(DOCKER_KEY)) else {
        return Ok(Err(format!(
            "the pull Secret {name} is not of type {DOCKER_SECRET}"
        )));
    };
    let found = credentials::of_docker_config(&text.0, host, path);
    Ok(found.map_err(|error| format!("the pull Secret {name}: {error}")))
}

/// The public key of a Secret.
pub(super) async fn verifying_key(
    cx: &Cx,
    namespace: &str,
    name: &str,
) -> Result<Result<VerifyingKey, Unusable>, Error> {
    let Some(secret) = read(cx, namespace, name).await? else {
        return Ok(Err(format!(
            "the Secret {name} with the public key doesn't exist"
        )));
    };
    let Some(text) = secret.view().and_then(|view| view.data.get(PUBLIC_KEY)) else {
        return Ok(Err(format!("the Secret {name} has no key {PUBLIC_KEY}")));
    };
    let key = VerifyingKey::load(&text.0);
    Ok(key.map_err(|error| format!("the public key of the Secret {name}: {error}")))
}

/// The seed of the keys and passwords that a chart's templates make for an addon: random, and made once.
pub(super) async fn seed(cx: &Cx, addon: &Key, uid: &str) -> Result<u64, Error> {
    let name = format!("{}-seed", addon.name);
    if let Some(seed) = read(cx, &addon.namespace, &name)
        .await?
        .as_ref()
        .and_then(|secret| seed_of(secret, uid))
    {
        return Ok(seed);
    }
    let mut bytes = [0; 8];
    let random = System.random(&mut bytes);
    random.map_err(|error| Error::Panic(format!("no random bytes: {error}")))?;
    let secret = Secret {
        metadata: ObjectMeta {
            name: Some(name),
            namespace: Some(addon.namespace.clone()),
            owner_references: Some(vec![owner_reference(addon, uid)]),
            ..ObjectMeta::default()
        },
        data: Some([(SEED_KEY.to_owned(), ByteString(bytes.to_vec()))].into()),
        ..Secret::default()
    };
    let params = PostParams {
        field_manager: Some(MANAGER.to_owned()),
        dry_run: false,
    };
    let api: Api<Secret> = Api::namespaced(cx.client().clone(), &addon.namespace);
    match api.create(&params, &secret).await {
        Ok(_) => Ok(u64::from_le_bytes(bytes)),
        // One of an older addon of that name, which is collected, or one that was created just now.
        Err(kube::Error::Api(status)) if status.code == 409 => Err(Error::Changed),
        Err(error) => Err(Error::api("creating the Secret of a seed")(error)),
    }
}

fn seed_of(secret: &Object<SecretView>, uid: &str) -> Option<u64> {
    if !crate::runtime::owned::is_owned_by(&secret.metadata, uid) {
        return None;
    }
    let bytes = secret.view()?.data.get(SEED_KEY)?;
    let bytes: [u8; 8] = bytes.0.as_slice().try_into().ok()?;
    Some(u64::from_le_bytes(bytes))
}
