//! Registries that break, and what is tried again: by a hand-written server, alone or in front of a real registry.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use solar_render::diag::Class;
use solar_render::oci::{ClientOptions, IfExists};
use solar_render::report::Outcome;
use testbed::{Answer, Registry, Response, Server};

use crate::support::*;

#[test]
#[ignore = "needs servers or peers: .ci/test runs it"]
fn each_request_may_fail_seven_times_in_every_passing_way() {
    let registry = Registry::start();
    // Each request is answered only at its eighth try; what fails differs.
    let seen = std::sync::Mutex::new(std::collections::BTreeMap::new());
    let server = in_front(&registry, move |request, _| {
        let key = format!("{} {}", request.method, request.path().len());
        let mut seen = seen.lock().unwrap();
        let count: &mut usize = seen.entry(key).or_default();
        *count += 1;
        match *count {
            1 => Some(Response::status(500).into()),
            2 => Some(Response::status(429).header("Retry-After", "0").into()),
            3 => Some(Answer::close()),
            4 => Some(Response::status(408).into()),
            5 => Some(Answer::bytes("HTTP/1.1 200 OK\r\nContent-")),
            6 => Some(Response::status(503).header("Retry-After", "1").into()),
            7 => Some(
                Response::status(502)
                    .header("Content-Type", "text/html")
                    .body("<p>")
                    .into(),
            ),
            _ => None,
        }
    });
    let artifact = chart("app", "1.0.0", "x");
    // An upload is one operation of two requests: its attempts are shared between them.
    let mut client = plain();
    client.retry.attempts = 20;
    let pushed = send(&artifact, &target(&server), IfExists::Fail, &client).unwrap();
    assert_eq!(pushed.outcome, Outcome::Created);
    assert_eq!(
        registry.crane_digest("charts/app:1.0.0"),
        artifact.digest.as_str()
    );
}

#[test]
fn eight_attempts_and_no_more_then_the_class_says_what_it_was() {
    let table: [(fn() -> Answer, Class); 4] = [
        (|| Response::status(500).into(), Class::Registry),
        (|| Response::status(429).into(), Class::Registry),
        (|| Response::status(408).into(), Class::Registry),
        (Answer::close, Class::Network),
    ];
    for (answer, class) in table {
        let server = Server::start(move |_| answer());
        let failure = refused(&server);
        assert_eq!(failure.class(), class, "{}", words(&failure));
        assert!(words(&failure).contains("8 attempts"), "{}", words(&failure));
        assert_eq!(server.requests().len(), 8);
    }
}

#[test]
fn a_genuine_no_is_not_asked_again_and_its_reason_is_shown() {
    for (status, class) in [
        (400, Class::Refused),
        (401, Class::Auth),
        (403, Class::Auth),
        (405, Class::Refused),
        (413, Class::Refused),
        (501, Class::Registry),
    ] {
        let server = Server::start(move |request| match request.method.as_str() {
            "HEAD" => Response::status(404).into(),
            _ => Response::status(status)
                .header("Content-Type", "application/json")
                .body(r#"{"errors":[{"code":"DENIED","message":"not\u0007 today"}]}"#)
                .into(),
        });
        let failure = refused(&server);
        assert_eq!(failure.class(), class, "{status}");
        assert!(
            words(&failure).contains("DENIED: not  today"),
            "{}",
            words(&failure)
        );
        assert!(server.count("POST") <= 2, "one for each blob");
        assert_eq!(server.count("PUT"), 0);
    }
}

#[test]
#[ignore = "needs servers or peers: .ci/test runs it"]
fn retry_after_is_waited_for_in_both_forms_up_to_its_cap() {
    // The clock of `Fixed` stands at 1970.
    for asked in ["3600", "Thu, 01 Jan 1970 01:00:00 GMT"] {
        let registry = Registry::start();
        let server = in_front(&registry, move |_, number| {
            (number == 0).then(|| Response::status(429).header("Retry-After", asked).into())
        });
        let client = {
            let mut client = plain();
            client.retry = {
                let mut retry = plain().retry;
                retry.retry_after_cap = Duration::from_millis(7);
                retry
            };
            client
        };
        let trace = Trace::default();
        let artifact = chart("app", "1.0.0", "x");
        send_in(
            &artifact,
            &target(&server),
            IfExists::Fail,
            &client,
            &world(&[]),
            &trace,
        )
        .unwrap();
        let lines = trace.lines();
        assert!(
            lines.iter().any(|line| line.ends_with("again in 7ms")),
            "{lines:?}"
        );
    }
}

#[test]
fn a_silent_registry_is_given_up_after_the_time_limit() {
    let server = Server::start(|_| Answer::hang());
    let mut client = plain();
    client.timeout = Duration::from_millis(50);
    client.retry.attempts = 2;
    let (failure, shown) = refused_to(&target(&server), &client);
    assert_eq!(failure.class(), Class::Network);
    assert!(shown.contains("no answer in"), "{shown}");
}

#[test]
fn an_unreachable_registry_is_a_network_failure_after_all_attempts() {
    // Bound and dropped: nothing listens.
    let free = std::net::TcpListener::bind("127.0.0.1:0")
        .unwrap()
        .local_addr()
        .unwrap();
    let (failure, shown) = refused_to(&target_at(&free.to_string()), &plain());
    assert_eq!(failure.class(), Class::Network);
    assert!(
        shown.contains("refused") && shown.contains("8 attempts"),
        "{shown}"
    );
}

#[test]
#[ignore = "needs servers or peers: .ci/test runs it"]
fn an_upload_whose_session_is_lost_begins_with_a_fresh_post() {
    let registry = Registry::start();
    let lost = AtomicUsize::new(0);
    let server = in_front(&registry, move |request, _| {
        let upload = request.method == "PUT" && request.path().contains("/uploads/");
        (upload && lost.fetch_add(1, Ordering::SeqCst) < 3).then(|| {
            Response::status(404)
                .body(r#"{"errors":[{"code":"BLOB_UPLOAD_UNKNOWN"}]}"#)
                .into()
        })
    });
    let artifact = chart("app", "1.0.0", "x");
    send(&artifact, &target(&server), IfExists::Fail, &plain()).unwrap();
    assert_eq!(server.count("POST"), 2 + 3);
    assert_eq!(
        registry.crane_digest("charts/app:1.0.0"),
        artifact.digest.as_str()
    );
}

/// Eighteen seconds of silence were once the answer to a typo.
#[test]
fn what_is_waited_for_is_said_once_and_a_deadline_ends_it() {
    let server = Server::start(|_| Response::status(503).body("over quota").into());
    let artifact = chart("app", "1.0.0", "x");
    let run = |client: &ClientOptions| {
        let trace = Trace::default();
        let sent = send_in(
            &artifact,
            &target(&server),
            IfExists::Fail,
            client,
            &world(&[]),
            &trace,
        );
        (sent.unwrap_err(), trace.notices())
    };
    let mut client = plain();
    let (_, notices) = run(&client);
    assert_eq!(notices, Vec::<String>::new(), "it is over before anybody wonders");
    client.notice_after = Duration::ZERO;
    let (_, notices) = run(&client);
    assert_eq!(notices.len(), 1, "{notices:?}");
    assert!(notices[0].contains("503; attempt 2 of 8 follows"), "{notices:?}");

    // An hour: it is not waited for.
    client.retry.base = Duration::from_secs(3600);
    client.retry.cap = client.retry.base;
    client.deadline = Some(Duration::from_secs(60));
    let (failure, _) = run(&client);
    assert_eq!(failure.class(), Class::Network);
    let said = words(&failure);
    assert!(
        said.contains("the deadline of 60 s") && said.contains("answered 503"),
        "{said}"
    );

    let silent = Server::start(|_| Answer::hang());
    client.deadline = Some(Duration::from_millis(1));
    let failure = send(&artifact, &target(&silent), IfExists::Fail, &client).unwrap_err();
    assert!(words(&failure).contains("deadline"), "{}", words(&failure));
}

#[test]
fn the_hint_fits_who_refused_and_why() {
    let scope = "Bearer realm=\"REALM\",error=\"insufficient_scope\"";
    let server = Server::start(move |request| {
        let host = request.header("host").unwrap_or_default();
        if request.path() == "/token" {
            return Response::status(200).body(r#"{"token":"t"}"#).into();
        }
        let ask = scope.replace("REALM", &format!("http://{host}/token"));
        Response::status(401).header("WWW-Authenticate", ask).into()
    });
    let (failure, _) = refused_to(&target(&server), &with_user("hunter2"));
    let said = words(&failure);
    assert!(
        said.contains("may not do this") && !said.contains("check the user name"),
        "{said}"
    );

    let storage = Server::start(|_| {
        let text = "<?xml version=\"1.0\"?><Error><Code>AccessDenied</Code><Message>Request has expired</Message></Error>";
        Response::status(403)
            .header("Content-Type", "application/xml")
            .body(text)
            .into()
    });
    let elsewhere = format!("http://{}/bucket/blob?signature=s3cret", storage.host());
    let server = Server::start(move |request| match who_are_you(request) {
        Some(answer) => answer.into(),
        None if request.method == "HEAD" => Response::status(405).into(),
        None => Response::status(307).header("Location", elsewhere.clone()).into(),
    });
    let (failure, shown) = refused_to(&target(&server), &with_user("hunter2"));
    let said = words(&failure);
    assert!(
        said.contains("the server answered 403: AccessDenied: Request has expired"),
        "{said}"
    );
    assert!(
        said.contains("no credentials were sent to it") && !said.contains("log in"),
        "{said}"
    );
    assert!(!shown.contains("s3cret"), "{shown}");

    let proxy = Server::start(|_| Response::status(407).into());
    let url = format!("http://{}", proxy.host());
    let (artifact, trace) = (chart("app", "1.0.0", "x"), Trace::default());
    let environment = world(&[("http_proxy", &url)]);
    let failure = send_in(
        &artifact,
        "oci://r.invalid/x",
        IfExists::Fail,
        &plain(),
        &environment,
        &trace,
    );
    let said = words(&failure.unwrap_err());
    assert!(
        said.contains(&format!("the proxy {url} (http_proxy) answered 407")),
        "{said}"
    );
    assert!(said.contains("asks for a user and a password"), "{said}");
}
