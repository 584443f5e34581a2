//! A workload cluster: its connection, what it serves, and requests about its objects.
//!
//! Nothing that such a cluster answers may hold up or fill this process: every request has a time limit and every
//! response a size limit.

use std::sync::Arc;
use std::time::Duration;

use http_body_util::Limited;
use hyper::Response;
use hyper::header::{HeaderValue, USER_AGENT};
use kube::api::{Api, DeleteParams, DynamicObject, Patch, PatchParams, Preconditions, PropagationPolicy};
use kube::client::{ClientBuilder, DynBody};
use kube::core::{ApiResource, GroupVersionKind};
use kube::discovery::{Discovery, Scope};
use kube::{Client, Config};
use serde_json::Value;
use solar_server_side_apply::{ApiServer, ObjectKey, PreparedObject};
use tower::util::MapResponseLayer;

use super::objects::RenderedFor;
use crate::names::MANAGER;
use crate::runtime::api_message;

/// How long one request may take.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(30);
/// How long the first answer may take.
const PROBE_TIMEOUT: Duration = Duration::from_secs(10);
/// How large one response may be, in bytes.
const MAX_RESPONSE: usize = 32 << 20;
const AGENT: &str = concat!("solar-operator/", env!("CARGO_PKG_VERSION"));

/// Why a request has failed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(super) enum WorkloadError {
    /// There was no answer: other requests would have none, either.
    #[error("{0}")]
    Unreachable(String),
    /// The API server's answer.
    #[error("{message}")]
    Refused { code: u16, message: String },
    /// The kind is not served.
    #[error("the cluster has no kind {0}")]
    NoKind(String),
}

impl WorkloadError {
    fn of(error: &kube::Error) -> Self {
        match error {
            kube::Error::Api(status) => Self::Refused {
                code: status.code,
                message: api_message(error),
            },
            // It is there, and sends something else.
            kube::Error::SerdeError(_) => Self::Refused {
                code: 0,
                message: "the response can't be decoded".to_owned(),
            },
            other => Self::Unreachable(api_message(other)),
        }
    }

    /// Whether there was no answer.
    pub(super) fn is_unreachable(&self) -> bool {
        matches!(self, Self::Unreachable(_))
    }

    fn is_not_found(&self) -> bool {
        matches!(self, Self::Refused { code: 404, .. })
    }
}

/// A connected cluster.
#[derive(Clone)]
pub(super) struct Workload {
    client: Client,
    served: Arc<Discovery>,
    /// Its version, `v1.33.2`.
    pub(super) version: String,
}

impl Workload {
    /// Connects: `/readyz`, then the version.
    pub(super) async fn connect(mut config: Config) -> Result<Self, WorkloadError> {
        config.headers.push((USER_AGENT, HeaderValue::from_static(AGENT)));
        let builder = ClientBuilder::try_from(config).map_err(|error| WorkloadError::of(&error))?;
        let limit = MapResponseLayer::new(|response: Response<Box<DynBody>>| {
            response.map(|body| Limited::new(body, MAX_RESPONSE))
        });
        let client = builder.with_layer(&limit).build();
        let probe = async {
            let ready = hyper::Request::get("/readyz").body(Vec::new());
            let ready = ready.map_err(kube::Error::HttpError)?;
            client.request_text(ready).await?;
            client.apiserver_version().await
        };
        let info = match tokio::time::timeout(PROBE_TIMEOUT, probe).await {
            Ok(Ok(info)) => info,
            Ok(Err(error)) => return Err(WorkloadError::of(&error)),
            Err(_) => {
                let message = format!("no answer within {PROBE_TIMEOUT:?}");
                return Err(WorkloadError::Unreachable(message));
            }
        };
        Ok(Self {
            served: Arc::new(Discovery::new(client.clone())),
            client,
            version: info.git_version,
        })
    }

    /// Asks what the cluster serves.
    pub(super) async fn discover(&mut self) -> Result<(), WorkloadError> {
        let discovery = limited(Discovery::new(self.client.clone()).run_aggregated()).await;
        let discovery = match discovery {
            // Kubernetes before 1.26.
            Err(WorkloadError::Refused { .. }) => limited(Discovery::new(self.client.clone()).run()).await,
            other => other,
        };
        self.served = Arc::new(discovery?);
        Ok(())
    }

    /// What templates see of it.
    pub(super) fn rendered_for(&self) -> RenderedFor {
        let mut api_versions = Vec::new();
        for group in self.served.groups() {
            for version in group.versions() {
                let prefix = if group.name().is_empty() {
                    version.to_owned()
                } else {
                    format!("{}/{version}", group.name())
                };
                let kinds = group.versioned_resources(version).into_iter();
                api_versions.extend(kinds.map(|(resource, _)| format!("{prefix}/{}", resource.kind)));
                api_versions.push(prefix);
            }
        }
        api_versions.sort();
        api_versions.dedup();
        RenderedFor {
            kubernetes_version: self.version.clone(),
            api_versions,
        }
    }

    /// The resource of an object's own version, and whether it is namespaced.
    pub(super) fn resource_of(&self, object: &Value) -> Result<(ApiResource, bool), WorkloadError> {
        let text = |name: &str| object.get(name).and_then(Value::as_str).unwrap_or("");
        let (version, kind) = (text("apiVersion"), text("kind"));
        let (group, number) = version.split_once('/').unwrap_or(("", version));
        let found = self
            .served
            .resolve_gvk(&GroupVersionKind::gvk(group, number, kind));
        let (resource, capabilities) =
            found.ok_or_else(|| WorkloadError::NoKind(format!("{kind} of {version}")))?;
        Ok((resource, capabilities.scope == Scope::Namespaced))
    }

    /// The resource of a key, in the version that the cluster prefers or, since that needn't have all kinds of its group,
    /// in another one; `None`: the cluster has no such kind.
    fn resource_for(&self, key: &ObjectKey) -> Result<Option<ApiResource>, WorkloadError> {
        let Some(group) = self.served.get(&key.group) else {
            return Ok(None);
        };
        let of_kind = |version: &str| {
            let resources = group.versioned_resources(version);
            resources
                .into_iter()
                .find_map(|(one, _)| (one.kind == key.kind).then_some(one))
        };
        let preferred = of_kind(group.preferred_version_or_latest());
        let found = preferred.or_else(|| group.versions().find_map(of_kind));
        let mut versions = group.versions();
        if versions.all(|version| group.versioned_resources(version).is_empty()) {
            // Of an aggregated API whose server doesn't answer, nothing but the name is known.
            return Err(WorkloadError::Refused {
                code: 503,
                message: format!("the API group {} is not available", key.group),
            });
        }
        Ok(found)
    }

    fn api(&self, resource: &ApiResource, namespace: &str) -> Api<DynamicObject> {
        if namespace.is_empty() {
            Api::all_with(self.client.clone(), resource)
        } else {
            Api::namespaced_with(self.client.clone(), namespace, resource)
        }
    }

    /// Applies an object, and returns what the cluster then has. With `is_dry_run`, what it would have. One that is being
    /// deleted is refused: it has to be applied again when it is gone.
    pub(super) async fn apply(
        &self,
        object: &Value,
        key: &ObjectKey,
        is_dry_run: bool,
    ) -> Result<DynamicObject, WorkloadError> {
        let (resource, _) = self.resource_of(object)?;
        let params = PatchParams {
            dry_run: is_dry_run,
            ..PatchParams::apply(MANAGER).force()
        };
        let api = self.api(&resource, &key.namespace);
        let applied: DynamicObject = limited(api.patch(&key.name, &params, &Patch::Apply(object))).await?;
        if applied.metadata.deletion_timestamp.is_some() {
            // The API server takes it, and it goes nevertheless.
            return Err(WorkloadError::Refused {
                code: 409,
                message: "the cluster's object is being deleted".to_owned(),
            });
        }
        Ok(applied)
    }

    /// What the cluster has of an object, in the version that the object has.
    pub(super) async fn get(
        &self,
        object: &Value,
        key: &ObjectKey,
    ) -> Result<Option<DynamicObject>, WorkloadError> {
        let (resource, _) = self.resource_of(object)?;
        limited(self.api(&resource, &key.namespace).get_opt(&key.name)).await
    }

    /// What the cluster has under a key; `None`: no such object, or no such kind.
    pub(super) async fn get_key(&self, key: &ObjectKey) -> Result<Option<DynamicObject>, WorkloadError> {
        let Some(resource) = self.resource_for(key)? else {
            return Ok(None);
        };
        limited(self.api(&resource, &key.namespace).get_opt(&key.name)).await
    }

    /// Deletes the object with this UID, and what it owns in the background.
    pub(super) async fn delete(&self, key: &ObjectKey, uid: Option<String>) -> Result<(), WorkloadError> {
        let Some(resource) = self.resource_for(key)? else {
            return Ok(());
        };
        let params = DeleteParams {
            propagation_policy: Some(PropagationPolicy::Background),
            preconditions: Some(Preconditions {
                uid,
                resource_version: None,
            }),
            ..DeleteParams::default()
        };
        let deleted = limited(self.api(&resource, &key.namespace).delete(&key.name, &params)).await;
        match deleted {
            Ok(_) => Ok(()),
            Err(error) if error.is_not_found() => Ok(()),
            Err(error) => Err(error),
        }
    }
}

impl ApiServer for Workload {
    type Applied = ();
    type Error = WorkloadError;

    async fn apply(&self, one: &PreparedObject) -> Result<(), WorkloadError> {
        Self::apply(self, &one.object, &one.key, false).await.map(|_| ())
    }

    async fn get(&self, one: &PreparedObject) -> Result<Option<Value>, WorkloadError> {
        let live = Self::get(self, &one.object, &one.key).await?;
        Ok(live.map(|live| serde_json::to_value(live).unwrap_or_default()))
    }

    async fn discover(&mut self) -> Result<(), WorkloadError> {
        Self::discover(self).await
    }

    fn is_namespaced(&self, object: &Value) -> Result<bool, WorkloadError> {
        Ok(self.resource_of(object)?.1)
    }

    fn is_unreachable(error: &WorkloadError) -> bool {
        error.is_unreachable()
    }
}

async fn limited<T>(request: impl Future<Output = Result<T, kube::Error>>) -> Result<T, WorkloadError> {
    match tokio::time::timeout(REQUEST_TIMEOUT, request).await {
        Ok(Ok(done)) => Ok(done),
        Ok(Err(error)) => Err(WorkloadError::of(&error)),
        Err(_) => Err(WorkloadError::Unreachable(format!(
            "no answer within {REQUEST_TIMEOUT:?}"
        ))),
    }
}
