//! Who may push: basic and token authentication against the real registry, and token servers
//! that misbehave. No secret is in any trace line or error.

use solar_render::diag::Class;
use solar_render::oci::{Credentials, IfExists, Secret};
use solar_render::package::artifact::Artifact;
use solar_render::report::Outcome;
use testbed::{Auth, Registry, Response, Server, Setup, TokenServer};

use crate::support::*;

const PASSWORD: &str = "hunter2";

fn basic_registry() -> Registry {
    basic_registry_of(false)
}

fn basic_registry_of(version_2: bool) -> Registry {
    Registry::with(&Setup {
        version_2,
        auth: Auth::Basic {
            username: "robot",
            password: PASSWORD,
        },
        ..Setup::default()
    })
}

#[test]
#[ignore = "needs servers or peers: .ci/test runs it"]
fn basic_credentials_open_the_registry_from_flags_environment_and_files() {
    let registry = basic_registry();
    let target = format!("oci://{}/charts", registry.host());
    let dir = tempfile::tempdir().unwrap();
    let config = dir.path().join("config.json");
    let entry = format!(
        r#"{{"auths":{{"{}/charts":{{"username":"robot","password":"{PASSWORD}"}}}}}}"#,
        registry.host()
    );
    write(&config, &entry);
    let file = config.to_str().unwrap();
    let mut with_file = plain();
    with_file.registry_config = Some(config.clone());
    let cases = [
        ("1.0.0", with_user(PASSWORD), world(&[])),
        (
            "2.0.0",
            plain(),
            world(&[("REGISTRY_USERNAME", "robot"), ("REGISTRY_PASSWORD", PASSWORD)]),
        ),
        ("3.0.0", plain(), world(&[("DOCKER_CONFIG", file)])),
        ("4.0.0", with_file, world(&[])),
    ];
    for (version, client, world) in cases {
        let trace = Trace::default();
        let artifact = chart("app", version, "x");
        let pushed = send_in(&artifact, &target, IfExists::Fail, &client, &world, &trace).unwrap();
        assert_eq!(pushed.outcome, Outcome::Created);
        let lines = trace.lines();
        let refused = lines.iter().filter(|line| line.ends_with("-> 401")).count();
        assert_eq!(refused, 1, "asked once, then kept: {lines:?}");
        assert!(
            lines.iter().any(|line| line.starts_with("credentials: from")),
            "{lines:?}"
        );
        assert!(!lines.join("\n").contains(PASSWORD));
    }
}

#[test]
#[ignore = "needs servers or peers: .ci/test runs it"]
fn version_2_of_the_registry_lets_users_and_tokens_in_as_well() {
    let basic = basic_registry_of(true);
    let tokens = TokenServer::start("robot", PASSWORD, "refresh-me", 300);
    let bearer = Registry::with(&Setup {
        auth: Auth::Token(&tokens),
        version_2: true,
        ..Setup::default()
    });
    for registry in [basic, bearer] {
        let target = format!("oci://{}/charts", registry.host());
        let artifact = chart("app", "1.0.0", "x");
        let pushed = send(&artifact, &target, IfExists::Fail, &with_user(PASSWORD)).unwrap();
        assert_eq!(pushed.outcome, Outcome::Created);
        let again = send(&artifact, &target, IfExists::Fail, &with_user(PASSWORD)).unwrap();
        assert_eq!(again.outcome, Outcome::Unchanged);
    }
}

#[test]
#[ignore = "needs servers or peers: .ci/test runs it"]
fn wrong_and_missing_credentials_are_distinguished_and_not_retried() {
    let registry = basic_registry();
    let target = format!("oci://{}/charts", registry.host());
    let artifact = chart("app", "1.0.0", "x");
    let trace = Trace::default();
    let wrong = send_in(
        &artifact,
        &target,
        IfExists::Fail,
        &with_user("swordfish"),
        &world(&[]),
        &trace,
    );
    let wrong = wrong.unwrap_err();
    assert_eq!(wrong.class(), Class::Auth);
    let shown = words(&wrong);
    assert!(
        shown.contains("credentials from the command line were sent"),
        "{shown}"
    );
    assert!(!format!("{shown}{wrong:?}{:?}", trace.lines()).contains("swordfish"));
    assert_eq!(
        trace
            .lines()
            .iter()
            .filter(|line| line.contains("-> 401"))
            .count(),
        2
    );

    let home = tempfile::tempdir().unwrap();
    let trace = Trace::default();
    let lost = world(&[("HOME", home.path().to_str().unwrap())]);
    let missing = send_in(&artifact, &target, IfExists::Fail, &plain(), &lost, &trace).unwrap_err();
    assert_eq!(missing.class(), Class::Auth);
    let shown = words(&missing);
    for place in [
        "REGISTRY_USERNAME",
        ".docker/config.json",
        "helm/registry/config.json",
        "login",
    ] {
        assert!(shown.contains(place), "{place}: {shown}");
    }
    assert_eq!(trace.lines().len(), 2, "{:?}", trace.lines());
}

#[test]
#[ignore = "needs servers or peers: .ci/test runs it"]
fn a_token_is_asked_for_once_with_pull_and_push() {
    let tokens = TokenServer::start("robot", PASSWORD, "refresh-me", 300);
    let registry = Registry::with(&Setup {
        auth: Auth::Token(&tokens),
        ..Setup::default()
    });
    let target = format!("oci://{}/charts", registry.host());
    let mut identity = plain();
    identity.credentials = Some(Credentials::IdentityToken(Secret::new("refresh-me")));
    for (version, client, method) in [("1.0.0", with_user(PASSWORD), "GET"), ("2.0.0", identity, "POST")] {
        let before = tokens.requests().len();
        let pushed = send(&chart("app", version, "x"), &target, IfExists::Fail, &client).unwrap();
        assert_eq!(pushed.outcome, Outcome::Created);
        let asked = &tokens.requests()[before..];
        assert_eq!(asked.len(), 1, "{asked:?}");
        assert_eq!(asked[0].method, method);
        let form = format!("{}{}", asked[0].target, String::from_utf8_lossy(&asked[0].body));
        assert!(
            form.contains("scope=repository%3Acharts%2Fapp%3Apull%2Cpush"),
            "{form}"
        );
        assert!(form.contains("service=testbed"), "{form}");
    }
}

#[test]
#[ignore = "needs servers or peers: .ci/test runs it"]
fn a_token_that_only_reads_and_a_wrong_password_are_auth_failures() {
    let tokens = TokenServer::start("robot", PASSWORD, "refresh-me", 300);
    let registry = Registry::with(&Setup {
        auth: Auth::Token(&tokens),
        ..Setup::default()
    });
    let target = format!("oci://{}/charts", registry.host());
    let artifact = chart("app", "1.0.0", "x");
    // Anonymous tokens don't push.
    let anonymous = send(&artifact, &target, IfExists::Fail, &plain()).unwrap_err();
    assert_eq!(anonymous.class(), Class::Auth, "{}", words(&anonymous));
    assert!(words(&anonymous).contains("searched for credentials"));
    let wrong = send(&artifact, &target, IfExists::Fail, &with_user("swordfish")).unwrap_err();
    assert_eq!(wrong.class(), Class::Auth);
    assert!(words(&wrong).contains("/token"), "{}", words(&wrong));
    assert!(!words(&wrong).contains("swordfish"));
}

#[test]
#[ignore = "needs servers or peers: .ci/test runs it"]
fn an_expiring_token_is_replaced_before_or_on_401() {
    // 5 s is within the margin: no token is used for a second request.
    let tokens = TokenServer::start("robot", PASSWORD, "refresh-me", 5);
    let registry = Registry::with(&Setup {
        auth: Auth::Token(&tokens),
        ..Setup::default()
    });
    let target = format!("oci://{}/charts", registry.host());
    let pushed = send(
        &chart("app", "1.0.0", "x"),
        &target,
        IfExists::Fail,
        &with_user(PASSWORD),
    )
    .unwrap();
    assert_eq!(pushed.outcome, Outcome::Created);
    assert!(tokens.requests().len() > 1);
}

#[test]
fn answers_of_token_servers_that_make_no_sense_are_refused_without_quoting_them() {
    let table = [
        ("{}", "no token"),
        ("{\"token\":\"\"}", "no token"),
        ("{\"token\":[\"hunter2\"]}", "no token"),
        ("hunter2", "no token"),
    ];
    for (body, expected) in table {
        let server = Server::start(move |request| {
            if request.path() == "/token" {
                return Response::status(200).body(body).into();
            }
            let realm = format!(
                "Bearer realm=\"http://{}/token\"",
                request.header("host").unwrap_or("")
            );
            Response::status(401).header("WWW-Authenticate", realm).into()
        });
        let target = format!("oci://{}/charts", server.host());
        let failure = send(&chart("app", "1.0.0", "x"), &target, IfExists::Fail, &plain()).unwrap_err();
        assert_eq!(failure.class(), Class::Protocol, "{body}");
        assert!(words(&failure).contains(expected), "{}", words(&failure));
        assert!(!words(&failure).contains("hunter2"), "{}", words(&failure));
    }
    for realm in ["", "file:///etc/passwd", "nonsense"] {
        let server = Server::start(move |_| {
            Response::status(401)
                .header("WWW-Authenticate", format!("Bearer realm=\"{realm}\""))
                .into()
        });
        let target = format!("oci://{}/charts", server.host());
        let failure = send(&chart("app", "1.0.0", "x"), &target, IfExists::Fail, &plain()).unwrap_err();
        assert_eq!(failure.class(), Class::Protocol, "{realm}");
    }
}

#[test]
#[ignore = "needs servers or peers: .ci/test runs it"]
fn a_broken_credentials_file_is_named_once_a_registry_asks() {
    let registry = basic_registry();
    let dir = tempfile::tempdir().unwrap();
    write(&dir.path().join("config.json"), r#"{"auths":{"h":"hunter2"#);
    let target = format!("oci://{}/charts", registry.host());
    let world = world(&[("DOCKER_CONFIG", dir.path().to_str().unwrap())]);
    let trace = Trace::default();
    let artifact = chart("app", "1.0.0", "x");
    let failure = send_in(&artifact, &target, IfExists::Fail, &plain(), &world, &trace).unwrap_err();
    assert_eq!(failure.class(), Class::Config);
    assert!(words(&failure).contains("config.json") && !words(&failure).contains(PASSWORD));
    // One that needs no credentials does not read it.
    let open = Registry::start();
    let target = format!("oci://{}/charts", open.host());
    send_in(&artifact, &target, IfExists::Fail, &plain(), &world, &trace).unwrap();
}

#[test]
fn a_tag_that_is_hidden_without_authentication_is_not_overwritten() {
    // A registry that hides the tag from unauthenticated clients, and sends a challenge only for the first POST.
    let other = chart("app", "1.0.0", "other");
    let server = Server::start(move |request| {
        let known = request.header("authorization").is_some();
        let answer = match (request.method.as_str(), known) {
            ("HEAD" | "GET", true) if request.path().contains("/manifests/") => Response::status(200)
                .header("Content-Type", Artifact::MANIFEST_TYPE)
                .body(other.manifest.clone()),
            ("HEAD", _) => Response::status(404),
            (_, false) => Response::status(401).header("WWW-Authenticate", "Basic realm=x"),
            ("POST", true) => Response::status(202).header("Location", "/v2/up?state=secret"),
            _ => Response::status(201),
        };
        answer.into()
    });
    let target = format!("oci://{}/charts", server.host());
    let failure = send(
        &chart("app", "1.0.0", "x"),
        &target,
        IfExists::Fail,
        &with_user(PASSWORD),
    )
    .unwrap_err();
    assert_eq!(failure.class(), Class::Conflict);
    assert!(
        !server
            .lines()
            .iter()
            .any(|line| line.starts_with("PUT") && line.contains("/manifests/"))
    );
}

#[test]
#[ignore = "needs servers or peers: .ci/test runs it"]
fn a_token_that_is_refused_later_is_replaced_once_for_all_requests() {
    let registry = Registry::start();
    let upstream = registry.host().to_owned();
    let issued = std::sync::atomic::AtomicUsize::new(0);
    let server = Server::start(move |request| {
        let host = request.header("host").unwrap_or("");
        if request.path() == "/token" {
            let number = issued.fetch_add(1, std::sync::atomic::Ordering::SeqCst);
            return Response::status(200)
                .body(format!("{{\"token\":\"t{number}\"}}"))
                .into();
        }
        // The first token is valid for the HEAD of the tag, and revoked afterwards.
        let wanted = if request.method == "HEAD" && request.path().contains("/manifests/") {
            ["Bearer t0", "Bearer t1"]
        } else {
            ["Bearer t1", "Bearer t1"]
        };
        if !request
            .header("authorization")
            .is_some_and(|header| wanted.contains(&header))
        {
            let challenge = format!("Bearer realm=\"http://{host}/token\",service=s");
            return Response::status(401).header("WWW-Authenticate", challenge).into();
        }
        testbed::forward(request, &upstream).into()
    });
    let target = format!("oci://{}/charts", server.host());
    let artifact = chart("app", "1.0.0", "x");
    let pushed = send(&artifact, &target, IfExists::Fail, &plain()).unwrap();
    assert_eq!(pushed.outcome, Outcome::Created);
    let tokens = server
        .lines()
        .iter()
        .filter(|line| line.ends_with("/token"))
        .count();
    assert_eq!(tokens, 2, "{:?}", server.lines());
}

/// Words that explain a failure may hold what was sent, and were once shown as they came.
#[test]
fn what_a_server_sends_back_of_our_secrets_is_not_shown() {
    // robot:hunter2
    const CODED: &str = "cm9ib3Q6aHVudGVyMg==";
    let server = Server::start(|request| {
        if let Some(answer) = who_are_you(request) {
            return answer.into();
        }
        let sent = request.header("authorization").unwrap().to_owned();
        match (request.method.as_str(), request.path().contains("/liar/")) {
            ("HEAD", false) => Response::status(404).into(),
            ("HEAD", true) => {
                let answer = Response::status(200)
                    .header("Content-Type", Artifact::MANIFEST_TYPE)
                    .header("Docker-Content-Digest", sent);
                answer.into()
            }
            _ => Response::status(400)
                .body(format!("bad header {sent} of {PASSWORD}"))
                .into(),
        }
    });
    for (path, said) in [("charts", "bad header Basic *** of ***"), ("liar", "Basic ***")] {
        let target = format!("oci://{}/{path}", server.host());
        let (_, shown) = refused_to(&target, &with_user(PASSWORD));
        assert!(shown.contains(said), "{shown}");
        assert!(!shown.contains(PASSWORD) && !shown.contains(CODED), "{shown}");
    }
}
