//! API servers that are old, busy, gone, or none.

use std::fs;
use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};

use serde_json::{Value, json};
use testbed::{Answer, Request, Response, Server};

use super::Space;
use crate::Run;

const OBJECTS: &str = "\
apiVersion: v1
kind: ConfigMap
metadata: {name: one}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: two}
---
apiVersion: v1
kind: Secret
metadata: {name: keys}
";

fn json_response(body: &Value) -> Answer {
    Response::status(200).body(body.to_string()).into()
}

fn status(code: u16, reason: &str) -> Response {
    let body =
        json!({"kind": "Status", "apiVersion": "v1", "reason": reason, "message": reason, "code": code});
    Response::status(code).body(body.to_string())
}

/// What a server of before Kubernetes 1.26 says of itself; one of its API groups isn't there.
fn discovery(request: &Request) -> Option<Answer> {
    let resource = |name: &str, kind: &str, namespaced: bool| json!({"name": name, "kind": kind, "namespaced": namespaced});
    let body = match request.path() {
        "/version" => json!({"major": "1", "minor": "24", "gitVersion": "v1.24.3"}),
        "/api" => json!({"kind": "APIVersions", "versions": ["v1"]}),
        "/apis" => json!({"kind": "APIGroupList", "groups": [
            {"name": "metrics.example.com", "versions": [{"groupVersion": "metrics.example.com/v1"}]}]}),
        "/apis/metrics.example.com/v1" => return Some(status(503, "ServiceUnavailable").into()),
        "/api/v1" => json!({"kind": "APIResourceList", "resources": [
            resource("configmaps", "ConfigMap", true), resource("secrets", "Secret", true),
            resource("namespaces", "Namespace", false), resource("namespaces/status", "Namespace", false)]}),
        _ => return None,
    };
    Some(json_response(&body))
}

/// Takes every object, and has none but the namespaces.
fn taking(request: &Request) -> Answer {
    if let Some(answer) = discovery(request) {
        return answer;
    }
    match request.method.as_str() {
        "PATCH" => Response::status(201).body(request.body.clone()).into(),
        _ if request.path().starts_with("/api/v1/namespaces/shop/") => status(404, "NotFound").into(),
        _ => json_response(&json!({"kind": "Namespace", "metadata": {"name": "shop"}})),
    }
}

/// A kubeconfig for a server, with changes.
fn kubeconfig(space: &Space, server: &str, own: &Value) -> PathBuf {
    let mut cluster = json!({"server": server});
    for (name, value) in own.as_object().into_iter().flatten() {
        cluster[name] = value.clone();
    }
    let config = json!({"apiVersion": "v1", "kind": "Config", "current-context": "fake",
        "contexts": [{"name": "fake", "context": {"cluster": "k", "user": "u"}}],
        "clusters": [{"name": "k", "cluster": cluster}],
        "users": [{"name": "u", "user": {"token": "t0p-secret"}}]});
    let path = space.folder.path().join("kubeconfig");
    fs::write(&path, config.to_string()).unwrap();
    path
}

fn run(server: &Server, flags: &[&str]) -> Run {
    let space = Space::without_namespace("shop", &[("templates/objects.yaml", OBJECTS)]);
    let kubeconfig = kubeconfig(&space, &format!("http://{}", server.host()), &json!({}));
    Run::of(&mut space.command_as(&kubeconfig, flags))
}

#[test]
fn an_old_server_is_asked_kind_by_kind_and_requests_say_what_they_want() {
    let server = Server::start(taking);
    let dry = run(&server, &["--dry-run", "--force-conflicts"]);
    assert_eq!(dry.code, 0, "{}", dry.stderr);
    assert!(
        dry.stdout.contains("in the cluster of fake: 3 added"),
        "{}",
        dry.stdout
    );
    let seen = server.requests();
    let mut patches = seen.iter().filter(|request| request.method == "PATCH");
    let patch = patches.find(|patch| patch.path() == "/api/v1/namespaces/shop/secrets/keys");
    let patch = patch.unwrap();
    let query = "?fieldManager=solar-render&fieldValidation=Strict&force=true&dryRun=All";
    assert!(patch.target.ends_with(query), "{}", patch.target);
    assert_eq!(patch.header("content-type"), Some("application/apply-patch+yaml"));
    assert_eq!(patch.header("authorization"), Some("Bearer t0p-secret"));
    assert!(patch.header("user-agent").unwrap().starts_with("solar-render/"));
    let real = run(&server, &[]);
    assert_eq!(real.code, 0, "{}", real.stderr);
    assert!(real.stdout.contains("3 created, 0 changed"), "{}", real.stdout);
    let seen = server.requests();
    let last = seen.iter().rfind(|request| request.method == "PATCH").unwrap();
    assert!(
        last.target
            .ends_with("?fieldManager=solar-render&fieldValidation=Strict"),
        "{}",
        last.target
    );
}

#[test]
fn a_busy_server_is_asked_again_and_not_for_ever() {
    let busy = || Answer::from(status(429, "TooManyRequests").header("retry-after", "0"));
    let count = AtomicUsize::new(0);
    let server = Server::start(move |request| {
        match request.method == "PATCH" && count.fetch_add(1, Ordering::SeqCst) < 3 {
            true => busy(),
            false => taking(request),
        }
    });
    let found = run(&server, &[]);
    assert_eq!(found.code, 0, "{}", found.stderr);
    let server = Server::start(move |request| match request.path() {
        "/version" => busy(),
        _ => taking(request),
    });
    let found = run(&server, &["--dry-run"]);
    assert_eq!(found.code, 5, "{}", found.stderr);
    assert!(found.stderr.contains("TooManyRequests"), "{}", found.stderr);
    assert_eq!(server.requests().len(), 5);
}

#[test]
fn what_was_not_tried_is_named_when_a_server_goes_away() {
    let server = Server::start(|request| match (request.method.as_str(), request.path()) {
        ("PATCH", path) if path.contains("/configmaps/") => Answer::close(),
        _ => taking(request),
    });
    let found = run(&server, &["-o", "json"]);
    assert_eq!(found.code, 5, "{}", found.stderr);
    let document = found.json();
    let total = json!({"created": 1, "changed": 0, "unchanged": 0, "failed": 0, "notTried": 2});
    assert_eq!(document["total"], total, "{document}");
    assert!(
        found.stderr.contains("2 objects were not applied"),
        "{}",
        found.stderr
    );
    assert!(!found.stderr.contains("t0p"), "{}", found.stderr);
    let found = run(&server, &["--dry-run"]);
    assert_eq!(found.code, 5, "{}", found.stderr);
}

#[test]
fn a_server_that_is_no_api_server_is_an_error() {
    let html = || Response::status(200).body("<html>t0p</html>");
    let server = Server::start(move |_| html().into());
    let found = run(&server, &["--dry-run"]);
    assert_eq!(found.code, 4, "{}", found.stderr);
    assert!(found.stderr.contains("none of an API server"), "{}", found.stderr);
    let server = Server::start(move |request| match request.path() {
        "/apis" => html().into(),
        _ => taking(request),
    });
    let found = run(&server, &["--dry-run"]);
    assert_eq!(found.code, 4, "{}", found.stderr);
    assert!(
        found.stderr.contains("/apis is no discovery document"),
        "{}",
        found.stderr
    );
}

/// The kubeconfig's proxy counts, whatever the environment says.
#[test]
fn a_proxy_of_the_kubeconfig_is_used_with_its_password() {
    let proxy = Server::start(|request| {
        let mut own = request.clone();
        own.target = request
            .target
            .trim_start_matches("http://cluster.test")
            .to_owned();
        taking(&own)
    });
    let space = Space::without_namespace("shop", &[("templates/objects.yaml", OBJECTS)]);
    let url = format!("http://me:hunter2@{}", proxy.host());
    let path = kubeconfig(&space, "http://cluster.test", &json!({"proxy-url": url}));
    let mut command = space.command_as(&path, &["--dry-run"]);
    let found = Run::of(command.env("NO_PROXY", "cluster.test"));
    assert_eq!(found.code, 0, "{}", found.stderr);
    let seen = proxy.requests();
    assert!(
        seen[0].target.starts_with("http://cluster.test/version"),
        "{}",
        seen[0].target
    );
    assert_eq!(
        seen[0].header("proxy-authorization"),
        Some("Basic bWU6aHVudGVyMg==")
    );
    drop(proxy);
    let found = Run::of(&mut space.command_as(&path, &["--dry-run"]));
    assert_eq!(found.code, 5, "{}", found.stderr);
    assert!(
        found.stderr.contains("the kubeconfig's proxy-url"),
        "{}",
        found.stderr
    );
    assert!(!found.stderr.contains("hunter2"), "{}", found.stderr);
}
