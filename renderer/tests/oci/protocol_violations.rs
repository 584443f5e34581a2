//! Registries that violate the protocol: wrong digests, sizes and status codes.

use std::io::Write as _;
use std::sync::atomic::{AtomicUsize, Ordering};

use solar_render::diag::Class;
use solar_render::oci::IfExists;
use solar_render::package::artifact::Artifact;
use solar_render::report::Outcome;
use testbed::{Answer, Registry, Response, Server, forward};

use crate::support::*;

#[test]
#[ignore = "needs servers or peers: .ci/test runs it"]
fn digests_and_sizes_that_cannot_be_are_refused() {
    let registry = Registry::start();
    let other = format!("sha256:{}", "1".repeat(64));
    type Lie = (&'static str, &'static str, Response);
    let lies: Vec<Lie> = vec![
        (
            "HEAD",
            "/blobs/",
            Response::status(200).header("Docker-Content-Digest", other.clone()),
        ),
        (
            "HEAD",
            "/blobs/",
            Response::status(200).header("Content-Length", "7"),
        ),
        (
            "PUT",
            "/uploads/",
            Response::status(201).header("Docker-Content-Digest", other.clone()),
        ),
        ("PUT", "/uploads/", Response::status(204)),
        (
            "PUT",
            "/manifests/",
            Response::status(201).header("Docker-Content-Digest", other),
        ),
        ("PUT", "/manifests/", Response::status(200)),
        // Accepted, but not stored.
        ("PUT", "/manifests/", Response::status(201)),
        ("POST", "/uploads/", Response::status(202)),
        ("POST", "/uploads/", Response::status(201)),
        (
            "POST",
            "/uploads/",
            Response::status(202).header("Location", "ftp://x/y"),
        ),
        (
            "HEAD",
            "/manifests/",
            Response::status(200).header("Docker-Content-Digest", "nonsense"),
        ),
    ];
    for (number, (method, part, lie)) in lies.into_iter().enumerate() {
        let shown = format!("{number}: {method} {part} {lie:?}");
        let server = in_front(&registry, move |request, _| {
            (request.method == method && request.path().contains(part)).then(|| lie.clone().into())
        });
        // A fresh name each: blobs and tags of one case must not exist for the next.
        let artifact = chart("app", &format!("{number}.0.0"), &format!("lie {number}"));
        let failure = send(&artifact, &target(&server), IfExists::Fail, &plain()).unwrap_err();
        assert_eq!(failure.class(), Class::Protocol, "{shown}: {}", words(&failure));
        let honest = send(
            &artifact,
            &format!("oci://{}/charts", registry.host()),
            IfExists::Fail,
            &plain(),
        );
        assert_eq!(
            honest.unwrap().outcome,
            Outcome::Created,
            "no tag was left: {shown}"
        );
    }
}

#[test]
#[ignore = "needs servers or peers: .ci/test runs it"]
fn a_registry_without_digest_headers_is_read_and_hashed() {
    let registry = Registry::start();
    let upstream = registry.host().to_owned();
    let server = Server::start(move |request| {
        let mut response = forward(request, &upstream);
        response
            .headers
            .retain(|(name, _)| name != "docker-content-digest");
        response.into()
    });
    let (first, second) = (chart("app", "1.0.0", "one"), chart("app", "1.0.0", "two"));
    let created = send(&first, &target(&server), IfExists::Fail, &plain()).unwrap();
    assert_eq!(created.outcome, Outcome::Created);
    let again = send(&first, &target(&server), IfExists::Fail, &plain()).unwrap();
    assert_eq!(again.outcome, Outcome::Unchanged);
    let conflict = send(&second, &target(&server), IfExists::Fail, &plain()).unwrap_err();
    assert_eq!(conflict.existing_digest(), Some(&first.digest));
}

#[test]
fn an_endless_manifest_is_not_read_to_its_end() {
    let server = Server::start(|request| match request.method.as_str() {
        "HEAD" => Response::status(200).into(),
        _ => Answer::Raw(Box::new(|stream| {
            let _ = stream.write_all(b"HTTP/1.1 200 OK\r\n\r\n");
            let piece = vec![b'x'; 1 << 20];
            while stream.write_all(&piece).is_ok() {}
        })),
    });
    let failure = refused(&server);
    assert_eq!(failure.class(), Class::Protocol);
    assert!(words(&failure).contains("longer than"), "{}", words(&failure));
}

#[test]
#[ignore = "needs servers or peers: .ci/test runs it"]
fn a_manifest_cut_short_is_read_again() {
    let registry = Registry::start();
    let first = chart("app", "1.0.0", "one");
    send(
        &first,
        &format!("oci://{}/charts", registry.host()),
        IfExists::Fail,
        &plain(),
    )
    .unwrap();
    let cut = AtomicUsize::new(0);
    let server = in_front(&registry, move |request, _| match request.method.as_str() {
        "HEAD" => Some(Response::status(200).into()),
        "GET" if cut.fetch_add(1, Ordering::SeqCst) == 0 => {
            Some(Answer::bytes("HTTP/1.1 200 OK\r\nContent-Length: 500\r\n\r\n{"))
        }
        _ => None,
    });
    let again = send(&first, &target(&server), IfExists::Fail, &plain()).unwrap();
    assert_eq!(again.outcome, Outcome::Unchanged);
    assert_eq!(server.count("GET"), 2);
}

#[test]
#[ignore = "needs servers or peers: .ci/test runs it"]
fn another_push_that_wins_right_after_ours_is_reported() {
    let registry = Registry::start();
    let other = format!("sha256:{}", "1".repeat(64));
    let winner = other.clone();
    let put = AtomicUsize::new(0);
    let server = in_front(&registry, move |request, _| {
        let manifest = request.path().contains("/manifests/");
        if request.method == "PUT" && manifest {
            put.fetch_add(1, Ordering::SeqCst);
        }
        (request.method == "HEAD" && manifest && put.load(Ordering::SeqCst) > 0).then(|| {
            Response::status(200)
                .header("Content-Type", Artifact::MANIFEST_TYPE)
                .header("Docker-Content-Digest", winner.clone())
                .into()
        })
    });
    let failure = refused(&server);
    assert_eq!(failure.class(), Class::Conflict);
    assert_eq!(failure.existing_digest().map(ToString::to_string), Some(other));
    assert!(words(&failure).contains("another push"), "{}", words(&failure));
}

#[test]
fn nonsense_on_the_wire_is_a_failure_and_nothing_worse() {
    let long = format!("HTTP/1.1 200 OK\r\nX: {}\r\n\r\n", "x".repeat(2 << 20));
    let many = format!("HTTP/1.1 200 OK\r\n{}\r\n", "X: y\r\n".repeat(100_000));
    let table = [
        "",
        "\r\n\r\n",
        "HTTP/1.1 999999 OK\r\n\r\n",
        "HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n",
        "HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n",
        "HTTP/1.1 200 OK\r\nDocker-Content-Digest: \u{1}\u{2}\r\n\r\n",
        "HTTP/1.1 301 Moved\r\nLocation: \\\\\r\n\r\n",
        "HTTP/1.1 301 Moved\r\n\r\n",
        "HTTP/1.1 401 No\r\nWWW-Authenticate: Bearer realm=\"\r\n\r\n",
        "HTTP/1.1 103 Early\r\n\r\n",
        "SSH-2.0-OpenSSH\r\n",
        &long,
        &many,
    ];
    for text in table {
        let bytes = text.as_bytes().to_vec();
        let server = Server::start(move |_| Answer::bytes(bytes.clone()));
        let mut client = plain();
        client.retry.attempts = 2;
        let artifact = chart("app", "1.0.0", "x");
        let failure = send(&artifact, &target(&server), IfExists::Fail, &client).unwrap_err();
        let shown = text.get(..60).unwrap_or(text);
        assert!(
            matches!(
                failure.class(),
                Class::Network | Class::Protocol | Class::Auth | Class::Refused
            ),
            "{shown:?}: {}",
            words(&failure)
        );
        assert!(words(&failure).len() < 2000, "{shown:?}");
    }
}

/// Any answer of 200 once counted as an existing manifest: with `skip`, a push to a login page succeeded.
#[test]
fn a_page_that_answers_200_to_everything_is_no_manifest() {
    let digest = format!("sha256:{}", "1".repeat(64));
    let manifest = "application/vnd.oci.image.manifest.v1+json";
    let html = "<!DOCTYPE html><title>Log in</title>";
    let pages = [
        Response::status(200)
            .header("Content-Type", "text/html; charset=utf-8")
            .body(html),
        Response::status(200).body(html),
        Response::status(200)
            .header("Content-Type", "application/json")
            .body("{}"),
        Response::status(200).header("Content-Type", manifest).body("{}"),
        Response::status(200)
            .header("Content-Type", "text/html")
            .header("Docker-Content-Digest", digest)
            .body(html),
    ];
    for page in pages {
        for if_exists in [IfExists::Fail, IfExists::Skip, IfExists::Replace] {
            let shown = format!("{page:?} {if_exists:?}");
            let page = page.clone();
            let server = Server::start(move |_| page.clone().into());
            let artifact = chart("app", "1.0.0", "x");
            let failure = send(&artifact, &target(&server), if_exists, &plain()).unwrap_err();
            assert_eq!(failure.class(), Class::Protocol, "{shown}: {}", words(&failure));
            assert!(
                words(&failure).contains("not a manifest"),
                "{shown}: {}",
                words(&failure)
            );
            assert_eq!(server.count("PUT"), 0, "{shown}");
        }
    }
}

/// A HEAD that a gateway does not pass once stopped every push.
#[test]
#[ignore = "needs servers or peers: .ci/test runs it"]
fn where_head_is_not_allowed_the_manifest_is_read() {
    for status in [405, 501] {
        let registry = Registry::start();
        let server = in_front(&registry, move |request, _| {
            (request.method == "HEAD").then(|| Response::status(status).into())
        });
        let (first, second) = (chart("app", "1.0.0", "one"), chart("app", "1.0.0", "two"));
        let created = send(&first, &target(&server), IfExists::Fail, &plain()).unwrap();
        assert_eq!(created.outcome, Outcome::Created);
        let again = send(&first, &target(&server), IfExists::Fail, &plain()).unwrap();
        assert_eq!(again.outcome, Outcome::Unchanged);
        let conflict = send(&second, &target(&server), IfExists::Fail, &plain()).unwrap_err();
        assert_eq!(conflict.existing_digest(), Some(&first.digest));
        assert_eq!(registry.crane_digest("charts/app:1.0.0"), first.digest.as_str());
    }
}
