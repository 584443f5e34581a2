//! Redirects and `Location` headers to other hosts: no credentials or content are sent there.

use solar_render::diag::Class;
use testbed::{Request, Response, Server};

use crate::support::*;

/// A second host that records what reaches it, and asks for credentials it must not get.
fn elsewhere() -> Server {
    Server::start(|request| match request.method.as_str() {
        "PUT" => Response::status(201).into(),
        "HEAD" => Response::status(404).into(),
        _ => who_are_you(request).unwrap_or(Response::status(500)).into(),
    })
}

/// A registry that lets a user in, and then does this.
fn knows_user(then: impl Fn(&Request) -> Response + Send + Sync + 'static) -> Server {
    Server::start(move |request| who_are_you(request).unwrap_or_else(|| then(request)).into())
}

fn got_no_credentials(server: &Server) -> bool {
    let requests = server.requests();
    requests
        .iter()
        .all(|request| request.header("authorization").is_none())
}

#[test]
fn credentials_do_not_follow_a_location_to_another_host() {
    let other = elsewhere();
    let host = other.host();
    let server = knows_user(move |request| match request.method.as_str() {
        "HEAD" => Response::status(404),
        "POST" => {
            let place = format!("http://{host}/up?state=hunter3");
            Response::status(202).header("Location", place)
        }
        _ => Response::status(500),
    });
    let (failure, shown) = refused_to(&target(&server), &with_user("hunter2"));
    assert_eq!(failure.class(), Class::Registry);
    assert!(other.count("PUT") > 0, "the blobs went where they were sent");
    assert!(got_no_credentials(&other));
    assert!(!shown.contains("hunter"), "{shown}");
}

#[test]
fn credentials_do_not_follow_a_redirect_to_another_host() {
    let other = elsewhere();
    let host = other.host();
    let server = knows_user(move |request| {
        let place = format!("http://{host}{}", request.path());
        Response::status(307).header("Location", place)
    });
    let (failure, shown) = refused_to(&target(&server), &with_user("hunter2"));
    assert_eq!(failure.class(), Class::Auth, "{shown}");
    assert!(other.count("POST") > 0);
    assert!(got_no_credentials(&other));
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
