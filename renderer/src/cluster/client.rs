//! Requests to a cluster's API server: discovery, objects, server-side apply.
//!
//! Every request has a time limit and every response a size limit. A [`Session`] has a runtime of its own, so that
//! templates, which run outside of any, can look objects up.

use std::sync::{PoisonError, RwLock};
use std::time::Duration;

use bytes::Bytes;
use http::header::{ACCEPT, CONTENT_TYPE, RETRY_AFTER};
use http::{HeaderMap, HeaderValue, Method, Request};
use serde::Deserialize;
use serde_json::Value;
use solar_server_side_apply::{ApiServer, ObjectKey, PreparedObject, comparable};
use url::Url;

use super::credentials::Credentials;
use super::error::ApiError;
use super::kubeconfig::Connection;
use super::served::{AGGREGATED, Discovered, Resource, Served};
use crate::diag::{Class, Diagnostic, Result};
use crate::oci::client::endpoint::{Endpoint, EndpointResponse, EndpointSettings};
use crate::world::World;

/// How long a connection may take.
const CONNECT_LIMIT: Duration = Duration::from_secs(10);
/// How long one request may take.
const REQUEST_LIMIT: Duration = Duration::from_secs(30);
/// How large a response may be, in bytes.
const MAX_RESPONSE: usize = 64 << 20;
/// How often a request is sent that the API server postpones.
const ATTEMPTS: u32 = 5;
/// The longest delay that it may ask for.
const MAX_DELAY: Duration = Duration::from_secs(10);
/// Our name in objects' managedFields.
pub(crate) const FIELD_MANAGER: &str = "solar-render";

/// How objects are applied.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct ApplyOptions {
    /// Whether nothing is kept.
    pub(crate) dry_run: bool,
    /// Whether fields are taken over from other field managers.
    pub(crate) force: bool,
}

/// What became of an object.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Applied {
    Created,
    Changed,
    Unchanged,
}

/// A cluster and the runtime of its requests.
pub(crate) struct Session {
    pub(crate) runtime: tokio::runtime::Runtime,
    pub(crate) cluster: ClusterClient,
}

/// A cluster.
pub(crate) struct ClusterClient {
    endpoint: Endpoint,
    base: Url,
    headers: HeaderMap,
    /// Replaced while objects are applied, when there are new kinds.
    served: RwLock<Served>,
    /// Its version, `v1.33.2`.
    pub(crate) version: String,
    pub(crate) options: ApplyOptions,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct VersionInfo {
    git_version: String,
}

impl Session {
    /// Connects: the version, then what the cluster serves.
    ///
    /// # Errors
    /// Class config: the kubeconfig's certificates can't be used. Others as of [`ApiError::class`].
    pub(crate) fn connect(
        connection: &Connection,
        credentials: Credentials,
        world: &dyn World,
    ) -> Result<Self> {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_io()
            .enable_time()
            .build();
        let runtime =
            runtime.map_err(|error| Diagnostic::error(Class::Internal, format!("no runtime: {error}")))?;
        let settings = EndpointSettings {
            authority: connection.authority.clone(),
            identity: credentials.identity,
            insecure: connection.insecure,
            server_name: connection.server_name.clone(),
            proxy: connection.proxy.clone(),
            proxy_named_by: "the kubeconfig's proxy-url",
            connect_limit: CONNECT_LIMIT,
            limit: REQUEST_LIMIT,
            max_response: MAX_RESPONSE,
        };
        let endpoint = Endpoint::new(&connection.server, &settings, world);
        let endpoint = endpoint.map_err(|why| {
            let message = format!("the kubeconfig's context {:?}: {why}", connection.context);
            Diagnostic::error(Class::Config, message)
        })?;
        let mut cluster = ClusterClient {
            endpoint,
            base: connection.server.clone(),
            headers: credentials.headers,
            served: RwLock::default(),
            version: String::new(),
            options: ApplyOptions::default(),
        };
        let connected = runtime.block_on(async {
            cluster.version = cluster.ask_version().await?;
            cluster.ask_kinds().await
        });
        connected.map_err(|error| {
            let message = format!(
                "the cluster of the context {:?}, {}: {error}",
                connection.context,
                shown(&connection.server)
            );
            let one = Diagnostic::error(error.class(), message);
            match error.class() {
                Class::Auth => {
                    one.hint("the user of that context has no access: are its credentials still valid?")
                }
                _ => one,
            }
        })?;
        Ok(Self { runtime, cluster })
    }
}

/// Without a password.
fn shown(url: &Url) -> String {
    url.origin().ascii_serialization()
}

impl ClusterClient {
    async fn ask_version(&self) -> std::result::Result<String, ApiError> {
        let info: VersionInfo = decoded(&self.get_bytes(&["version"], &[]).await?)?;
        Ok(info.git_version)
    }

    /// What templates see of it.
    pub(crate) fn api_versions(&self) -> Vec<String> {
        self.served().api_versions()
    }

    fn served(&self) -> std::sync::RwLockReadGuard<'_, Served> {
        self.served.read().unwrap_or_else(PoisonError::into_inner)
    }

    /// The kind of an API version.
    fn resource(&self, api_version: &str, kind: &str) -> std::result::Result<Resource, ApiError> {
        let found = self.served().resource(api_version, kind).cloned();
        found.ok_or_else(|| ApiError::NoKind(format!("{kind} of {api_version}")))
    }

    /// The object with a name, or a list of all, of one namespace or of all; `None`: there is no such object.
    pub(crate) async fn find(
        &self,
        (api_version, kind): (&str, &str),
        namespace: &str,
        name: &str,
    ) -> std::result::Result<Option<Value>, ApiError> {
        let resource = self.resource(api_version, kind)?;
        let path = path(api_version, &resource, namespace, name);
        match self.get_bytes(&path, &[]).await {
            Ok(bytes) => decoded(&bytes).map(Some),
            Err(error) if error.is_not_found() && !name.is_empty() => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// The cluster's object, in the version of this one.
    pub(crate) async fn live(
        &self,
        object: &Value,
        key: &ObjectKey,
    ) -> std::result::Result<Option<Value>, ApiError> {
        self.find(version_and_kind(object), &key.namespace, &key.name)
            .await
    }

    /// Applies an object, and returns what the cluster then has, or with `dry_run` would have.
    pub(crate) async fn patch(&self, one: &PreparedObject) -> std::result::Result<Value, ApiError> {
        let (api_version, kind) = version_and_kind(&one.object);
        let resource = self.resource(api_version, kind)?;
        let path = path(api_version, &resource, &one.key.namespace, &one.key.name);
        let mut query = vec![("fieldManager", FIELD_MANAGER)];
        // A field that the API server doesn't know is a mistake in the chart.
        query.push(("fieldValidation", "Strict"));
        if self.options.force {
            query.push(("force", "true"));
        }
        if self.options.dry_run {
            query.push(("dryRun", "All"));
        }
        let body = Bytes::from(one.object.to_string());
        let response = self.send(Method::PATCH, &path, &query, Some(body)).await?;
        let applied: Value = decoded(&response.body)?;
        if applied.pointer("/metadata/deletionTimestamp").is_some() {
            // The API server takes it, and it goes nevertheless.
            return Err(ApiError::Refused {
                code: 409,
                reason: "Conflict".to_owned(),
                message: "the cluster's object is being deleted: apply again when it is gone".to_owned(),
                fields: Vec::new(),
            });
        }
        Ok(applied)
    }

    async fn get_bytes(
        &self,
        path: &[&str],
        query: &[(&str, &str)],
    ) -> std::result::Result<Vec<u8>, ApiError> {
        Ok(self.send(Method::GET, path, query, None).await?.body)
    }

    /// Sends a request; again, when the API server says that it has too many.
    async fn send(
        &self,
        method: Method,
        path: &[&str],
        query: &[(&str, &str)],
        patch: Option<Bytes>,
    ) -> std::result::Result<EndpointResponse, ApiError> {
        let mut url = self.base.clone();
        if let Ok(mut segments) = url.path_segments_mut() {
            segments.pop_if_empty().extend(path);
        }
        if !query.is_empty() {
            url.query_pairs_mut().extend_pairs(query);
        }
        let mut attempt = 1;
        loop {
            let mut request = Request::new(patch.clone().unwrap_or_default());
            *request.method_mut() = method.clone();
            *request.uri_mut() = http::Uri::try_from(url.as_str())
                .map_err(|_| ApiError::Protocol(format!("{} makes no request", shown(&url))))?;
            *request.headers_mut() = self.headers.clone();
            let accept = if path.len() == 1 && path != ["version"] {
                AGGREGATED
            } else {
                "application/json"
            };
            request
                .headers_mut()
                .insert(ACCEPT, HeaderValue::from_static(accept));
            if patch.is_some() {
                let content = HeaderValue::from_static("application/apply-patch+yaml");
                request.headers_mut().insert(CONTENT_TYPE, content);
            }
            let response = self.endpoint.send(request).await.map_err(ApiError::Unreachable)?;
            match response.status {
                200..=299 => return Ok(response),
                // It has done nothing.
                429 if attempt < ATTEMPTS => {
                    tokio::time::sleep(delay(&response.headers)).await;
                    attempt += 1;
                }
                code => return Err(ApiError::of_response(code, &response.body)),
            }
        }
    }
}

fn delay(headers: &HeaderMap) -> Duration {
    let asked = headers
        .get(RETRY_AFTER)
        .and_then(|value| value.to_str().ok()?.parse().ok());
    Duration::from_secs(asked.unwrap_or(1)).min(MAX_DELAY)
}

fn decoded<T: serde::de::DeserializeOwned>(bytes: &[u8]) -> std::result::Result<T, ApiError> {
    let wrong = |_| ApiError::Protocol("the response is none of an API server of Kubernetes".to_owned());
    serde_json::from_slice(bytes).map_err(wrong)
}

fn version_and_kind(object: &Value) -> (&str, &str) {
    let text = |name: &str| object.get(name).and_then(Value::as_str).unwrap_or("");
    (text("apiVersion"), text("kind"))
}

/// The segments of an object's path; without a name that of the list.
fn path<'p>(api_version: &'p str, resource: &'p Resource, namespace: &'p str, name: &'p str) -> Vec<&'p str> {
    let mut path = match api_version.split_once('/') {
        Some((group, version)) => vec!["apis", group, version],
        None => vec!["api", api_version],
    };
    if resource.is_namespaced && !namespace.is_empty() {
        path.extend(["namespaces", namespace]);
    }
    path.push(&resource.plural);
    if !name.is_empty() {
        path.push(name);
    }
    path
}

impl ApiServer for &ClusterClient {
    type Applied = Applied;
    type Error = ApiError;

    /// An object that is the same afterwards is unchanged.
    async fn apply(&self, one: &PreparedObject) -> std::result::Result<Applied, ApiError> {
        let before = self.live(&one.object, &one.key).await?;
        let after = self.patch(one).await?;
        Ok(match before.map(comparable) {
            None => Applied::Created,
            // Not by the resourceVersion: a controller may have written the status in between.
            Some(before) if before == comparable(after) => Applied::Unchanged,
            Some(_) => Applied::Changed,
        })
    }

    async fn get(&self, one: &PreparedObject) -> std::result::Result<Option<Value>, ApiError> {
        self.live(&one.object, &one.key).await
    }

    async fn discover(&mut self) -> std::result::Result<(), ApiError> {
        self.ask_kinds().await
    }

    fn is_namespaced(&self, object: &Value) -> std::result::Result<bool, ApiError> {
        ClusterClient::is_namespaced(self, object)
    }

    fn is_unreachable(error: &ApiError) -> bool {
        error.is_unreachable()
    }
}

impl ClusterClient {
    /// Whether objects of this one's kind and version have a namespace.
    pub(crate) fn is_namespaced(&self, object: &Value) -> std::result::Result<bool, ApiError> {
        let (api_version, kind) = version_and_kind(object);
        Ok(self.resource(api_version, kind)?.is_namespaced)
    }

    /// Asks what the cluster serves.
    async fn ask_kinds(&self) -> std::result::Result<(), ApiError> {
        let mut served = Served::default();
        for root in ["api", "apis"] {
            let document = self.get_bytes(&[root], &[]).await?;
            let wrong = |_| ApiError::Protocol(format!("/{root} is no discovery document of Kubernetes"));
            match served.add(&document).map_err(wrong)? {
                Discovered::Kinds => {}
                Discovered::Versions(versions) => {
                    for version in versions {
                        let path: Vec<&str> = std::iter::once(root).chain(version.split('/')).collect();
                        let document = self.get_bytes(&path, &[]).await;
                        match document {
                            Ok(document) => served.add_version(&version, &document).map_err(wrong)?,
                            Err(error) if error.is_unreachable() => return Err(error),
                            // Of an aggregated API whose server doesn't answer.
                            Err(_) => {}
                        }
                    }
                }
            }
        }
        *self.served.write().unwrap_or_else(PoisonError::into_inner) = served;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn objects_have_paths() {
        let of = |is_namespaced| Resource {
            plural: "widgets".to_owned(),
            is_namespaced,
        };
        let table = [
            ("v1", true, "shop", "a", "api/v1/namespaces/shop/widgets/a"),
            (
                "example.com/v1",
                true,
                "shop",
                "",
                "apis/example.com/v1/namespaces/shop/widgets",
            ),
            ("example.com/v1", true, "", "", "apis/example.com/v1/widgets"),
            ("example.com/v1", false, "", "a", "apis/example.com/v1/widgets/a"),
            // As of a template's lookup.
            (
                "example.com/v1",
                false,
                "shop",
                "a",
                "apis/example.com/v1/widgets/a",
            ),
        ];
        for (version, is_namespaced, namespace, name, expected) in table {
            assert_eq!(
                path(version, &of(is_namespaced), namespace, name).join("/"),
                expected
            );
        }
    }

    #[test]
    fn an_api_server_asks_for_a_delay_and_gets_no_endless_one() {
        let headers =
            |text: &'static str| HeaderMap::from_iter([(RETRY_AFTER, HeaderValue::from_static(text))]);
        let table = [("2", 2), ("86400", 10), ("soon", 1)];
        for (text, seconds) in table {
            assert_eq!(delay(&headers(text)), Duration::from_secs(seconds), "{text}");
        }
        assert_eq!(delay(&HeaderMap::new()), Duration::from_secs(1));
    }
}
