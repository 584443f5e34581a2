//! Redirects and Locations that lead elsewhere: nothing of ours goes there.

use std::sync::Arc;

use solar_render::diag::Class;
use solar_render::oci::{ClientOptions, IfExists};
use testbed::{Answer, Request, Response, Server};

use crate::support::*;

/// A second host that records what reaches it.
fn elsewhere() -> Arc<Server> {
    Arc::new(Server::start(|request| match request.method.as_str() {
        "PUT" => Response::status(201).into(),
        "HEAD" => Response::status(404).into(),
        // Asks for credentials it must not get.
        _ => Response::status(401)
            .header("WWW-Authenticate", "Basic realm=x")
            .into(),
    }))
}

fn knows_user(request: &Request) -> Option<Answer> {
    request.header("authorization").is_none().then(|| {
        Response::status(401)
            .header("WWW-Authenticate", "Basic realm=x")
            .into()
    })
}

#[test]
fn credentials_do_not_follow_a_redirect_or_a_location_to_another_host() {
    let client = ClientOptions {
        credentials: user("robot", "hunter2"),
        ..plain()
    };
    let artifact = chart("app", "1.0.0", "x");

    let other = elsewhere();
    let host = other.host();
    let server = Server::start(move |request| {
        if let Some(answer) = knows_user(request) {
            return answer;
        }
        match request.method.as_str() {
            "HEAD" => Response::status(404).into(),
            "POST" => Response::status(202)
                .header("Location", format!("http://{host}/up?state=hunter3"))
                .into(),
            _ => Response::status(500).into(),
        }
    });
    let trace = Trace::default();
    let failure = send_in(
        &artifact,
        &target(&server),
        IfExists::Fail,
        &client,
        &world(&[]),
        &trace,
    )
    .unwrap_err();
    assert_eq!(failure.class(), Class::Registry);
    assert!(other.count("PUT") > 0, "the blobs went where they were sent");
    assert!(
        other
            .requests()
            .iter()
            .all(|request| request.header("authorization").is_none())
    );
    let shown = format!("{:?}{}", trace.lines(), words(&failure));
    assert!(!shown.contains("hunter"), "{shown}");

    let other = elsewhere();
    let host = other.host();
    let server = Server::start(move |request| {
        knows_user(request).unwrap_or_else(|| {
            Response::status(307)
                .header("Location", format!("http://{host}{}", request.path()))
                .into()
        })
    });
    let failure = send(&artifact, &target(&server), IfExists::Fail, &client).unwrap_err();
    assert_eq!(failure.class(), Class::Auth, "{}", words(&failure));
    assert!(other.count("POST") > 0);
    assert!(
        other
            .requests()
            .iter()
            .all(|request| request.header("authorization").is_none())
    );
}

#[test]
fn redirects_without_end_or_that_change_the_method_are_refused() {
    let server = Server::start(|request| {
        Response::status(307)
            .header("Location", request.target.clone())
            .into()
    });
    let failure = refused(&server);
    assert_eq!(failure.class(), Class::Protocol);
    assert_eq!(server.requests().len(), 6);
    let server = Server::start(|request| match request.method.as_str() {
        "HEAD" => Response::status(404).into(),
        _ => Response::status(302).header("Location", "/elsewhere").into(),
    });
    assert_eq!(refused(&server).class(), Class::Protocol);
}
