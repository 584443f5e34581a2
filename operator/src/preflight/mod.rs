//! Whether a cluster is ready for the operator: its version, who serves our API group, and the CRDs.
//!
//! [`observe`] asks the API server, [`checks`] decides; that is a pure function. What can't be read is a failed check,
//! so that nothing passes because somebody lacks a right. An API server that does not answer as one fails once.

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use k8s_openapi::kube_aggregator::pkg::apis::apiregistration::v1::APIService;
use kube::{Api, Client};
use serde::Serialize;
use serde_json::{Value, json};

use crate::api::{self, GROUP, OptionalKinds, VERSION};
use crate::runtime::api_message;

/// The oldest Kubernetes that is supported, major and minor version.
const MIN_KUBERNETES: (u32, u32) = (1, 31);

/// What is checked.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Expected {
    /// The CRDs of the pipeline's kinds, beside those of tasks.
    pub pipeline: bool,
    /// The CRD of Artifacts.
    pub artifacts: bool,
    /// The CRDs of ClusterStacks and ClusterAddons.
    pub cluster_addons: bool,
    /// CRDs may be missing or of another version: they are about to be installed.
    pub before_install: bool,
}

/// What a cluster has; or why that can't be read.
#[derive(Debug)]
pub struct ClusterState {
    /// Major, minor and the whole version.
    pub version: Result<(String, String, String), Refusal>,
    /// The APIService of our group and version, when there is one.
    pub api_service: Result<Option<APIService>, Refusal>,
    /// For each of our CRDs, the one of that name in the cluster.
    pub crds: Vec<CrdState>,
}

/// A CRD of ours, and what the cluster has under its name.
#[derive(Debug)]
pub struct CrdState {
    /// As this program prints it.
    pub expected: CustomResourceDefinition,
    /// As the cluster has it.
    pub installed: Result<Option<CustomResourceDefinition>, Refusal>,
}

/// Why the API server does not show something.
#[derive(Debug, Clone, thiserror::Error)]
#[error("{message}")]
pub struct Refusal {
    /// The HTTP status.
    pub code: u16,
    /// The API server's message, with the status.
    pub message: String,
}

/// Why there is no [`ClusterState`].
#[derive(Debug, thiserror::Error)]
pub enum ObserveError {
    /// Our own CRDs can't be written as JSON.
    #[error("the CRDs as JSON: {0}")]
    Crds(#[from] serde_json::Error),
    /// There is no answer, or not one of an API server that knows the account.
    #[error("{0}")]
    Connection(String),
}

/// Why reading failed: a refusal concerns one object, all else the connection.
fn refusal(error: &kube::Error) -> Result<Refusal, ObserveError> {
    /// The reason that the client gives to an answer that is not of Kubernetes.
    const NOT_A_STATUS: &str = "Failed to parse error data";
    let connection = |text: String| Err(ObserveError::Connection(text));
    match error {
        kube::Error::Api(status) if status.reason == NOT_A_STATUS => connection(format!(
            "the server answered {} with a body that is not of a Kubernetes API server",
            status.code
        )),
        kube::Error::Api(status) if status.code == 401 => connection(format!(
            "the API server does not accept the credentials: {}",
            api_message(error)
        )),
        kube::Error::Api(status) => Ok(Refusal {
            code: status.code,
            message: api_message(error),
        }),
        kube::Error::SerdeError(_) | kube::Error::FromUtf8(_) => {
            connection("the server's answer is not one of a Kubernetes API server".to_owned())
        }
        other => connection(format!("the API server can't be reached: {}", api_message(other))),
    }
}

/// What was read, or why not.
fn read<T>(answer: Result<T, kube::Error>) -> Result<Result<T, Refusal>, ObserveError> {
    match answer {
        Ok(found) => Ok(Ok(found)),
        Err(error) => refusal(&error).map(Err),
    }
}

/// One check and its result.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Check {
    /// What is checked.
    pub name: &'static str,
    /// Whether it is as it has to be.
    pub passed: bool,
    /// What was found.
    pub message: String,
    /// What to do.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hint: Option<String>,
}

impl Check {
    fn passed(name: &'static str, message: impl Into<String>) -> Self {
        Self {
            name,
            passed: true,
            message: message.into(),
            hint: None,
        }
    }

    /// One that failed.
    pub fn failed(name: &'static str, message: impl Into<String>, hint: impl Into<String>) -> Self {
        Self {
            name,
            passed: false,
            message: message.into(),
            hint: Some(hint.into()),
        }
    }

    /// One that failed because something can't be read; `right` says how to allow it.
    fn unreadable(name: &'static str, what: &str, refusal: &Refusal, right: &str) -> Self {
        Self {
            name,
            passed: false,
            message: format!("{what} can't be read: {refusal}"),
            hint: (refusal.code == 403).then(|| right.to_owned()),
        }
    }
}

/// All checks as one JSON document.
pub fn document(checks: &[Check]) -> Value {
    json!({
        "schema": 1,
        "passed": checks.iter().all(|check| check.passed),
        "checks": checks,
    })
}

/// Reads what the checks need.
pub async fn observe(client: &Client, expected: Expected) -> Result<ClusterState, ObserveError> {
    let version = read(client.apiserver_version().await)?;
    let version = version.map(|info| (info.major, info.minor, info.git_version));
    let services: Api<APIService> = Api::all(client.clone());
    let api_service = read(services.get_opt(&api_service_name()).await)?;
    let definitions: Api<CustomResourceDefinition> = Api::all(client.clone());
    let mut crds = Vec::new();
    let kinds = OptionalKinds {
        pipeline: expected.pipeline,
        artifacts: expected.artifacts,
        cluster_addons: expected.cluster_addons,
    };
    for crd in api::crds(kinds)? {
        let name = crd.metadata.name.as_deref().unwrap_or("");
        crds.push(CrdState {
            installed: read(definitions.get_opt(name).await)?,
            expected: crd,
        });
    }
    Ok(ClusterState {
        version,
        api_service,
        crds,
    })
}

fn api_service_name() -> String {
    format!("{VERSION}.{GROUP}")
}

/// Whether the cluster is ready, check by check.
pub fn checks(state: &ClusterState, expected: Expected) -> Vec<Check> {
    let mut checks = vec![kubernetes_version(state), api_group(state)];
    let crds = state.crds.iter();
    let failed: Vec<Check> = crds.filter_map(|crd| failed_crd(crd, expected)).collect();
    if failed.is_empty() {
        let message = if expected.before_install {
            "nothing is in the way of the CRDs".to_owned()
        } else {
            format!("all {} CRDs are installed, in this version", state.crds.len())
        };
        checks.push(Check::passed(CRDS, message));
    }
    checks.extend(failed);
    checks
}

const KUBERNETES: &str = "KubernetesVersion";
const API_GROUP: &str = "APIGroup";
const CRDS: &str = "CustomResourceDefinitions";

fn kubernetes_version(state: &ClusterState) -> Check {
    let (major, minor, whole) = match &state.version {
        Ok(version) => version,
        Err(error) => {
            let right = "let the account read /version (ClusterRole system:public-info-viewer)";
            return Check::unreadable(KUBERNETES, "the API server's version", error, right);
        }
    };
    let (least_major, least_minor) = MIN_KUBERNETES;
    if (number(major), number(minor)) >= (Some(least_major), Some(least_minor)) {
        return Check::passed(KUBERNETES, format!("Kubernetes {whole}"));
    }
    let message = format!("Kubernetes {whole} is older than {least_major}.{least_minor}");
    Check::failed(KUBERNETES, message, "upgrade the cluster first")
}

/// `31+` is 31.
fn number(text: &str) -> Option<u32> {
    let end = text.find(|one: char| !one.is_ascii_digit()).unwrap_or(text.len());
    text.get(..end)?.parse().ok()
}

/// An APIService with a Service is an aggregated API: the API server sends all requests for the group there, whatever
/// CRDs there are.
fn api_group(state: &ClusterState) -> Check {
    let name = api_service_name();
    let found = match &state.api_service {
        Ok(found) => found.as_ref(),
        Err(error) => {
            let right = format!("let the account get apiservices.apiregistration.k8s.io {name}");
            return Check::unreadable(API_GROUP, &format!("APIService {name}"), error, &right);
        }
    };
    let spec = found.and_then(|found| found.spec.as_ref());
    let Some(service) = spec.and_then(|spec| spec.service.as_ref()) else {
        return Check::passed(
            API_GROUP,
            format!("no aggregated API server serves {GROUP}/{VERSION}"),
        );
    };
    let part = |text: &Option<String>| text.clone().unwrap_or_default();
    let service = format!("{}/{}", part(&service.namespace), part(&service.name));
    Check::failed(
        API_GROUP,
        format!(
            "APIService {name} points to Service {service}: SolAr's own API server serves the group, and CRDs of it would never be reached"
        ),
        format!(
            "run `solar-operator export > solar.yaml`, uninstall SolAr so that APIService {name} is gone, install this operator, and apply the file with `kubectl apply --server-side -f solar.yaml`; docs/moving-from-solar.md has it step by step"
        ),
    )
}

fn failed_crd(crd: &CrdState, expected: Expected) -> Option<Check> {
    let name = crd.expected.metadata.name.as_deref().unwrap_or("");
    let found = match &crd.installed {
        Ok(found) => found.as_ref(),
        Err(error) => {
            let right = "let the account get customresourcedefinitions.apiextensions.k8s.io";
            return Some(Check::unreadable(CRDS, &format!("CRD {name}"), error, right));
        }
    };
    let install = "solar-operator crds | kubectl apply --server-side -f -";
    let Some(found) = found else {
        let check = || Check::failed(CRDS, format!("CRD {name} is not installed"), install);
        return (!expected.before_install).then(check);
    };
    if found.spec.scope != crd.expected.spec.scope {
        let (scope, wanted) = (&found.spec.scope, &crd.expected.spec.scope);
        let message = format!("CRD {name} has the scope {scope}, and {wanted} is expected");
        let hint = "a scope can't be changed: export its objects and delete the CRD, which deletes them";
        return Some(Check::failed(CRDS, message, hint));
    }
    let stored = found
        .status
        .as_ref()
        .and_then(|status| status.stored_versions.as_deref());
    let others = stored.unwrap_or_default().iter().filter(|one| *one != VERSION);
    let others: Vec<&str> = others.map(String::as_str).collect();
    if !others.is_empty() {
        let message = format!("CRD {name} has objects stored as {}", others.join(", "));
        let hint = format!("store them as {VERSION} first, and take the others out of status.storedVersions");
        return Some(Check::failed(CRDS, message, hint));
    }
    if expected.before_install {
        return None;
    }
    if content(found) != content(&crd.expected) {
        let message = format!("CRD {name} is of another version than this program");
        return Some(Check::failed(CRDS, message, install));
    }
    let is_established = found.status.as_ref().is_some_and(|status| {
        let conditions = status.conditions.iter().flatten();
        conditions
            .filter(|one| one.type_ == "Established")
            .any(|one| one.status == "True")
    });
    (!is_established).then(|| {
        let message = format!("CRD {name} is not established");
        Check::failed(CRDS, message, format!("kubectl describe crd {name}"))
    })
}

/// What a CRD says, without what the API server adds to it.
fn content(crd: &CustomResourceDefinition) -> Value {
    let spec = &crd.spec;
    json!({"group": spec.group, "names": spec.names, "scope": spec.scope, "versions": spec.versions})
}

#[cfg(test)]
mod tests;
