//! What blocks a Job until somebody acts: what KitOps can't do, a host that isn't allowed, a Secret that is missing or is
//! for another host, a missing ConfigMap.

use k8s_openapi::api::core::v1::Secret;

use super::dereference::Found;
use super::{Artifacts, kit};
use crate::api::REGISTRY_HOST_ANNOTATION;
use crate::api::artifact::{ArtifactSpec, OciSource};
use crate::jobs::registry_access::{CA_KEY, has_ca_certificates, host_mismatch};
use crate::runtime::{Cx, Error, owned};

/// The host of `hf://` sources, which tokens are sent to.
const HUB_HOST: &str = "huggingface.co";

/// A Secret of a spec.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct UsedSecret<'a> {
    pub(super) name: &'a str,
    /// The host that its content is sent to.
    pub(super) host: &'a str,
    /// Whether all its keys are sent to a server that the Artifact's author chooses: only an annotation says that they
    /// may be.
    pub(super) as_headers: bool,
}

impl UsedSecret<'_> {
    /// Why its annotation doesn't allow this use.
    pub(super) fn refusal(&self, annotated: Option<&str>) -> Option<String> {
        let Self {
            name,
            host,
            as_headers,
        } = self;
        match annotated {
            None if *as_headers => Some(format!(
                "the Secret {name} is sent to {host} as headers: it must have the annotation {REGISTRY_HOST_ANNOTATION}: {host}"
            )),
            _ => host_mismatch(name, annotated, host),
        }
    }
}

/// What a user has to change first.
pub(super) async fn blocked(controller: &Artifacts, cx: &Cx, found: &Found) -> Result<Option<String>, Error> {
    if let Some(refusal) = kit::refusal(&found.spec, &controller.settings) {
        return Ok(Some(refusal));
    }
    let namespace = &found.key.namespace;
    let settings = &controller.job_settings;
    let source = found.spec.source.oci.as_ref().map(registry_of);
    for host in std::iter::once(found.spec.target.registry.as_str()).chain(source) {
        if let Some(refusal) = settings.allowed_hosts.refusal(namespace, host) {
            return Ok(Some(refusal));
        }
    }
    for secret in used_secrets(&found.spec) {
        let name = secret.name;
        let metadata = owned::metadata::<Secret>(cx, namespace, name).await;
        let metadata = metadata.map_err(Error::api("reading a Secret's metadata"))?;
        let Some(metadata) = metadata else {
            return Ok(Some(format!(
                "there is no Secret {name} in namespace {namespace}"
            )));
        };
        let annotations = metadata.annotations.unwrap_or_default();
        let annotated = annotations.get(REGISTRY_HOST_ANNOTATION).map(String::as_str);
        if let Some(message) = secret.refusal(annotated) {
            return Ok(Some(message));
        }
    }
    if !has_ca_certificates(cx, settings, namespace).await? {
        let name = settings.ca_configmap.as_deref().unwrap_or_default();
        return Ok(Some(format!(
            "there is no ConfigMap {name} with the key {CA_KEY} in namespace {namespace}"
        )));
    }
    Ok(None)
}

/// All Secrets of a spec. Whoever may write Artifacts needn't be allowed to read Secrets: one that is for a registry must
/// not be sent elsewhere, as headers or as a token.
pub(super) fn used_secrets(spec: &ArtifactSpec) -> Vec<UsedSecret<'_>> {
    let ArtifactSpec { source, target, .. } = spec;
    let push = target.credentials_secret_ref.as_ref();
    let push = push.map(|secret| (&secret.name, target.registry.as_str()));
    let hub = source.hugging_face.as_ref();
    let hub = hub.and_then(|hub| hub.token_secret_ref.as_ref());
    let hub = hub.map(|secret| (&secret.name, HUB_HOST));
    let web = source.http.as_ref();
    let web = web.and_then(|web| Some((&web.headers_secret_ref.as_ref()?.name, authority(&web.url))));
    let registry = source.oci.as_ref();
    let registry = registry.and_then(|oci| Some((&oci.pull_secret_ref.as_ref()?.name, registry_of(oci))));
    let all = [(push, false), (hub, false), (web, true), (registry, false)];
    let all = all.into_iter().filter_map(|(secret, as_headers)| {
        let (name, host) = secret?;
        Some(UsedSecret {
            name,
            host,
            as_headers,
        })
    });
    all.collect()
}

/// `host[:port]` of a reference.
fn registry_of(source: &OciSource) -> &str {
    let reference = &source.reference;
    let reference = reference.strip_prefix("oci://").unwrap_or(reference);
    reference.split('/').next().unwrap_or_default()
}

/// `host[:port]` of a URL without credentials.
fn authority(url: &str) -> &str {
    let (_, rest) = url.split_once("://").unwrap_or(("", url));
    rest.split(['/', '?', '#']).next().unwrap_or_default()
}
