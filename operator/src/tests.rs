//! Fixtures that the unit tests of several modules share.

use std::convert::Infallible;
use std::sync::Arc;

use http_body_util::BodyExt as _;
use hyper::{Request, Response};
use kube::Client;
use kube::client::Body;
use serde_json::{Value, json};

use crate::api::Task;
use crate::jobs::JobSettings;
use crate::jobs::allowed_hosts::AllowedHosts;

/// A release task named `shop` in the namespace `tenant`.
pub(crate) fn task() -> Task {
    serde_json::from_value(json!({
        "metadata": {"name": "shop", "namespace": "tenant", "uid": "uid-1", "generation": 1},
        "spec": {
            "type": "release",
            "release": {
                "chart": {"name": "shop", "version": "1.0.0"},
                "input": {
                    "component": {"name": "shop"},
                    "resources": {"chart": {"repository": "h.example/c/shop", "tag": "1.0.0"}},
                    "entrypoint": {"resourceName": "chart", "type": "helm"},
                },
            },
            "repository": "tenant/shop",
            "tag": "1.0.0",
            "baseURL": "h.example/charts",
            "ownerName": "shop",
            "ownerNamespace": "tenant",
            "ownerKind": "Release",
        },
    }))
    .expect("a task")
}

/// Settings with a recognisable value in each field that a Job shows.
pub(crate) fn settings() -> JobSettings {
    JobSettings {
        image: "h.example/renderer:1".into(),
        command: Vec::new(),
        args: Vec::new(),
        ca_configmap: None,
        image_pull_secrets: Vec::new(),
        deadline_seconds: 900,
        permanent_exit_codes: [1, 2, 3, 4].into(),
        requests: [("cpu".into(), "50m".into())].into(),
        limits: [("memory".into(), "256Mi".into())].into(),
        job_namespace: "solar-system".into(),
        service_account: None,
        token_audience: None,
        allowed_hosts: AllowedHosts::default(),
    }
}

/// A client of a fake API server that answers by a function of method, path and body with a code and an object, or
/// never: for responses that a real one can't be made to send on demand.
pub(crate) fn api(
    answer: impl Fn(&str, &str, Value) -> Option<(u16, Value)> + Send + Sync + 'static,
) -> Client {
    let answer = Arc::new(answer);
    let service = tower::service_fn(move |request: Request<Body>| {
        let answer = Arc::clone(&answer);
        async move {
            let (head, body) = request.into_parts();
            let body = body.collect().await.expect("a body").to_bytes();
            let body = serde_json::from_slice(&body).unwrap_or_default();
            match answer(head.method.as_str(), head.uri.path(), body) {
                Some((code, object)) => {
                    let body = Body::from(object.to_string().into_bytes());
                    let response = Response::builder().status(code).body(body);
                    Ok::<_, Infallible>(response.expect("a response"))
                }
                None => std::future::pending().await,
            }
        }
    });
    Client::new(service, "default")
}

/// An API server's Status for a refused request.
pub(crate) fn refusal(code: u16, reason: &str) -> (u16, Value) {
    let status = json!({
        "kind": "Status", "apiVersion": "v1", "status": "Failure", "message": reason, "reason": reason, "code": code,
    });
    (code, status)
}

/// Runs a test's future with a clock that doesn't make it wait.
pub(crate) fn run<T>(future: impl Future<Output = T>) -> T {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .start_paused(true)
        .build();
    runtime.expect("a runtime").block_on(future)
}
