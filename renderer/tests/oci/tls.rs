//! TLS as registries have it: private authorities, client certificates, and the wrong protocol
//! on the right port.

use solar_render::diag::Class;
use solar_render::oci::{ClientOptions, IfExists, TlsOptions};
use solar_render::report::Outcome;
use testbed::{Answer, Auth, Authority, Registry, Response, Server, Setup, TokenServer};

use crate::support::*;

fn with_tls(tls: TlsOptions) -> ClientOptions {
    let mut client = secure();
    client.tls = tls;
    client
}

fn trusting(authority: &Authority) -> TlsOptions {
    let mut tls = TlsOptions::default();
    tls.ca_file = Some(authority.ca.clone());
    tls
}

#[test]
#[ignore = "needs servers or peers: .ci/test runs it"]
fn a_private_authority_is_trusted_when_given_and_only_then() {
    let authority = Authority::new();
    let registry = Registry::with(&Setup {
        tls: Some(&authority),
        ..Setup::default()
    });
    let target = format!("oci://{}/charts", registry.host());
    let artifact = chart("app", "1.0.0", "x");
    let trace = Trace::default();

    let untrusted = send_in(&artifact, &target, IfExists::Fail, &secure(), &world(&[]), &trace);
    let untrusted = untrusted.unwrap_err();
    assert_eq!(untrusted.class(), Class::Protocol);
    assert!(words(&untrusted).contains("--ca-file"), "{}", words(&untrusted));
    assert_eq!(trace.lines().len(), 1, "trying again would not help");

    let client = with_tls(trusting(&authority));
    let pushed = send(&artifact, &target, IfExists::Fail, &client).unwrap();
    assert_eq!(pushed.outcome, Outcome::Created);
    let environment = world(&[("SSL_CERT_FILE", authority.ca.to_str().unwrap())]);
    let again = send_in(
        &artifact,
        &target,
        IfExists::Fail,
        &secure(),
        &environment,
        &trace,
    );
    assert_eq!(again.unwrap().outcome, Outcome::Unchanged);
    let insecure = with_tls({
        let mut tls = TlsOptions::default();
        tls.insecure_skip_verify = true;
        tls
    });
    let again = send(&artifact, &target, IfExists::Fail, &insecure).unwrap();
    assert_eq!(again.outcome, Outcome::Unchanged);
}

/// Once refused for the mark that makes it an authority's, which `openssl req -x509` sets.
#[test]
#[ignore = "needs servers or peers: .ci/test runs it"]
fn a_servers_own_certificate_is_trusted_when_given_as_helm_trusts_it() {
    let (authority, other) = (Authority::self_signed(), Authority::self_signed());
    let registry = Registry::with(&Setup {
        tls: Some(&authority),
        ..Setup::default()
    });
    let target = format!("oci://{}/charts", registry.host());
    let artifact = chart("app", "1.0.0", "x");
    for (tls, expected) in [
        (trusting(&authority), true),
        (trusting(&other), false),
        (TlsOptions::default(), false),
    ] {
        let sent = send(&artifact, &target, IfExists::Fail, &with_tls(tls));
        assert_eq!(sent.is_ok(), expected, "{sent:?}");
    }
    testbed::run(
        testbed::Tool::Helm
            .command(registry.home())
            .args([
                "pull",
                &format!("{target}/app"),
                "--version",
                "1.0.0",
                "--ca-file",
            ])
            .arg(&authority.ca),
    );
    // Its names count all the same: this one is not among them.
    let port = registry.host().rsplit(':').next().unwrap();
    let elsewhere = format!("oci://127.0.0.2:{port}/charts");
    let wrong = send(
        &artifact,
        &elsewhere,
        IfExists::Fail,
        &with_tls(trusting(&authority)),
    );
    assert!(wrong.is_err());
}

#[test]
#[ignore = "needs servers or peers: .ci/test runs it"]
fn plain_http_on_a_tls_port_and_tls_on_a_plain_one_are_explained() {
    let authority = Authority::new();
    let with = Registry::with(&Setup {
        tls: Some(&authority),
        ..Setup::default()
    });
    let without = Registry::start();
    let artifact = chart("app", "1.0.0", "x");
    let target = format!("oci://{}/charts", with.host());
    let failure = send(&artifact, &target, IfExists::Fail, &plain()).unwrap_err();
    assert!(
        words(&failure).contains("leave out `--plain-http`"),
        "{}",
        words(&failure)
    );
    let target = format!("oci://{}/charts", without.host());
    let failure = send(&artifact, &target, IfExists::Fail, &secure()).unwrap_err();
    assert_eq!(failure.class(), Class::Protocol, "{}", words(&failure));
    assert!(
        words(&failure).contains("use `--plain-http`"),
        "{}",
        words(&failure)
    );
    // A server that answers plain HTTP with a TLS alert.
    let alert = Server::start(|_| Answer::bytes([0x15, 3, 3, 0, 2, 2, 70]));
    let target = format!("oci://{}/charts", alert.host());
    let failure = send(&artifact, &target, IfExists::Fail, &plain()).unwrap_err();
    assert!(
        words(&failure).contains("leave out `--plain-http`"),
        "{}",
        words(&failure)
    );
}

#[test]
#[ignore = "needs servers or peers: .ci/test runs it"]
fn a_client_certificate_is_shown_when_asked_for() {
    let authority = Authority::new();
    let registry = Registry::with(&Setup {
        tls: Some(&authority),
        client_certificates: true,
        ..Setup::default()
    });
    let target = format!("oci://{}/charts", registry.host());
    let artifact = chart("app", "1.0.0", "x");
    let mut tls = trusting(&authority);
    let quick = |tls: &TlsOptions| {
        let mut client = with_tls(tls.clone());
        client.retry.attempts = 2;
        client
    };
    let none = send(&artifact, &target, IfExists::Fail, &quick(&tls)).unwrap_err();
    assert_eq!(none.class(), Class::Protocol, "{none:?}");
    assert!(words(&none).contains("--cert-file"), "{}", words(&none));
    tls.cert_file = Some(authority.client.cert.clone());
    let half = send(&artifact, &target, IfExists::Fail, &quick(&tls)).unwrap_err();
    assert_eq!(half.class(), Class::Config);
    tls.key_file = Some(authority.client.key.clone());
    let pushed = send(&artifact, &target, IfExists::Fail, &quick(&tls)).unwrap();
    assert_eq!(pushed.outcome, Outcome::Created);
}

#[test]
fn files_that_hold_no_certificates_are_named() {
    let authority = Authority::new();
    let dir = tempfile::tempdir().unwrap();
    let junk = dir.path().join("junk.pem");
    write(&junk, "no certificate");
    for path in [junk, dir.path().join("absent.pem"), authority.client.key.clone()] {
        let client = with_tls({
            let mut tls = TlsOptions::default();
            tls.ca_file = Some(path.clone());
            tls
        });
        let failure = send(
            &chart("app", "1.0.0", "x"),
            "oci://localhost:1/a",
            IfExists::Fail,
            &client,
        )
        .unwrap_err();
        assert_eq!(failure.class(), Class::Config);
        let name = path.file_name().unwrap().to_str().unwrap();
        assert!(words(&failure).contains(name), "{}", words(&failure));
        assert!(!words(&failure).contains("PRIVATE"));
    }
}

#[test]
#[ignore = "needs servers or peers: .ci/test runs it"]
fn plain_http_reads_no_roots_at_all() {
    // A CA file that isn't there would be an error if it were read.
    let registry = Registry::start();
    let client = {
        let mut client = with_tls({
            let mut tls = TlsOptions::default();
            tls.ca_file = Some("absent.pem".into());
            tls
        });
        client.plain_http = true;
        client
    };
    let target = format!("oci://{}/charts", registry.host());
    send(&chart("app", "1.0.0", "x"), &target, IfExists::Fail, &client).unwrap();
}

#[test]
#[ignore = "needs servers or peers: .ci/test runs it"]
fn a_location_or_a_token_server_that_leaves_tls_is_refused() {
    let authority = Authority::new();
    let mut client = with_tls(trusting(&authority));
    client.credentials = user("robot", "hunter2");
    let artifact = chart("app", "1.0.0", "x");

    let outside = Server::start(|_| Response::status(201).into());
    let believed = format!("http://{}", outside.host());
    let registry = Registry::with(&Setup {
        tls: Some(&authority),
        believes: Some(&believed),
        ..Setup::default()
    });
    let target = format!("oci://{}/charts", registry.host());
    let failure = send(&artifact, &target, IfExists::Fail, &client).unwrap_err();
    assert_eq!(failure.class(), Class::Protocol);
    assert!(
        words(&failure).contains("X-Forwarded-Proto"),
        "{}",
        words(&failure)
    );
    assert!(outside.requests().is_empty());

    let tokens = TokenServer::start("robot", "hunter2", "", 300);
    let registry = Registry::with(&Setup {
        auth: Auth::Token(&tokens),
        tls: Some(&authority),
        ..Setup::default()
    });
    let target = format!("oci://{}/charts", registry.host());
    let failure = send(&artifact, &target, IfExists::Fail, &client).unwrap_err();
    assert_eq!(failure.class(), Class::Protocol);
    assert!(words(&failure).contains("plain HTTP"), "{}", words(&failure));
    assert!(tokens.requests().is_empty());
}

/// rustls's own message doesn't help to fix the certificate.
#[test]
#[ignore = "needs servers or peers: .ci/test runs it"]
fn a_certificate_of_version_1_or_for_another_name_is_called_so() {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../testdata/tls");
    let mut authority = Authority::new();
    authority.server.cert = folder.join("version-1.pem");
    authority.server.key = folder.join("version-1.key");
    let registry = Registry::with(&Setup {
        tls: Some(&authority),
        ..Setup::default()
    });
    let target = format!("oci://{}/charts", registry.host());
    let artifact = chart("app", "1.0.0", "x");
    // Also where it is the very certificate that is trusted.
    for ca_file in [authority.ca.clone(), authority.server.cert.clone()] {
        let client = with_tls({
            let mut tls = TlsOptions::default();
            tls.ca_file = Some(ca_file);
            tls
        });
        let failure = send(&artifact, &target, IfExists::Fail, &client).unwrap_err();
        assert_eq!(failure.class(), Class::Protocol, "{}", words(&failure));
        assert!(words(&failure).contains("X.509 version 1"), "{}", words(&failure));
        assert!(words(&failure).contains("subjectAltName"), "{}", words(&failure));
    }
    let client = with_tls({
        let mut tls = TlsOptions::default();
        tls.cert_file = Some(authority.server.cert.clone());
        tls.key_file = Some(authority.server.key.clone());
        tls
    });
    if let Err(failure) = send(&artifact, &target, IfExists::Fail, &client) {
        assert!(words(&failure).contains("X.509 version 1"), "{}", words(&failure));
    }

    let other = Authority::for_name("other.example");
    let registry = Registry::with(&Setup {
        tls: Some(&other),
        ..Setup::default()
    });
    let target = format!("oci://{}/charts", registry.host());
    let failure = send(&artifact, &target, IfExists::Fail, &with_tls(trusting(&other))).unwrap_err();
    let said = words(&failure);
    assert!(
        said.contains("a name that its certificate has") && !said.contains("--ca-file"),
        "{said}"
    );
}
