//! `login` and `logout`: tried at real registries, kept as Docker and Helm keep them.

use std::io::Write as _;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::Path;
use std::process::{Command, Stdio};

use testbed::{Auth, Authority, Registry, Response, Server, Setup, TokenServer, Tool, run};

use crate::{Run, command, testdata};

const PASSWORD: &str = "hunter2:with ü";

fn basic() -> Registry {
    Registry::with(&Setup {
        auth: Auth::Basic {
            username: "me",
            password: PASSWORD,
        },
        ..Setup::default()
    })
}

fn login(home: &Path, host: &str, password: &str, rest: &[&str]) -> Run {
    let mut login = command();
    login.env("HOME", home).args(["login", host, "--username", "me"]);
    let mut child = login
        .args(["--password-stdin", "--retries", "0"])
        .args(rest)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    // What fails early does not read it.
    let _ = writeln!(child.stdin.take().unwrap(), "{password}");
    let run = Run::from(child.wait_with_output().unwrap());
    assert!(!run.stdout.contains("hunter2") && !run.stderr.contains("hunter2"));
    run
}

fn push(home: &Path, target: &str) -> Run {
    let mut push = command();
    push.env("HOME", home).args(["--url", target, "--plain-http"]);
    Run::of(push.arg(testdata().join("release.yaml")))
}

#[test]
#[ignore = "needs servers or peers: .ci/test runs it"]
fn what_login_keeps_is_used_by_us_and_by_helm_until_logout() {
    let (registry, home) = (basic(), tempfile::tempdir().unwrap());
    let host = registry.host();
    let run_in = login(home.path(), host, PASSWORD, &["--plain-http"]);
    assert_eq!(
        (run_in.code, run_in.stdout.as_str()),
        (0, "Login Succeeded\n"),
        "{}",
        run_in.stderr
    );
    let file = home.path().join(".docker/config.json");
    let mode = |path: &Path| std::fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!((mode(&file), mode(file.parent().unwrap())), (0o600, 0o700));
    let target = format!("oci://{host}/charts");
    let pushed = push(home.path(), &target);
    assert_eq!(pushed.code, 0, "{}", pushed.stderr);
    let reference = format!("{target}/shop-frontend");
    run(Tool::Helm
        .command(home.path())
        .args(["pull", &reference, "--version", "1.4.2", "--plain-http"]));
    assert!(home.path().join("shop-frontend-1.4.2.tgz").exists());

    let mut logout = command();
    logout.env("HOME", home.path()).args(["logout", host]);
    let out = Run::of(&mut logout);
    assert_eq!(out.stdout, format!("Removing login credentials for {host}\n"));
    let out = Run::of(logout.args(["-o", "json"]));
    assert_eq!((out.code, &out.json()["outcome"]), (0, &"unchanged".into()));
    assert_eq!(push(home.path(), &target).code, 4);
}

#[test]
#[ignore = "needs servers or peers: .ci/test runs it"]
fn what_helm_keeps_is_forgotten_by_us() {
    let (registry, home) = (basic(), tempfile::tempdir().unwrap());
    let file = home.path().join("helm.json");
    let mut helm = Tool::Helm.command(home.path());
    helm.args([
        "registry",
        "login",
        registry.host(),
        "-u",
        "me",
        "-p",
        PASSWORD,
        "--plain-http",
    ]);
    run(helm.arg("--registry-config").arg(&file));
    let mut logout = command();
    logout.args(["logout", registry.host(), "-o", "json", "--registry-config"]);
    let out = Run::of(logout.arg(&file)).json();
    assert_eq!(
        (&out["outcome"], &out["file"]),
        (&"removed".into(), &file.display().to_string().into())
    );
    let left = std::fs::read_to_string(&file).unwrap();
    assert!(!left.contains(registry.host()), "{left}");
}

#[test]
#[ignore = "needs servers or peers: .ci/test runs it"]
fn a_wrong_password_is_refused_and_not_kept() {
    let (registry, home) = (basic(), tempfile::tempdir().unwrap());
    let run = login(
        home.path(),
        registry.host(),
        "hunter2-wrong",
        &["--plain-http", "-v", "-o", "json"],
    );
    let error = &run.json()["error"];
    assert_eq!(
        (run.code, &error["class"], &error["transient"]),
        (4, &"auth".into(), &false.into())
    );
    assert!(run.stderr.contains("nothing was written"), "{}", run.stderr);
    assert!(!home.path().join(".docker").exists());
}

#[test]
#[ignore = "needs servers or peers: .ci/test runs it"]
fn a_token_server_is_asked_and_tls_verified() {
    let tokens = TokenServer::start("me", PASSWORD, "refresh", 300);
    let authority = Authority::new();
    let registry = Registry::with(&Setup {
        auth: Auth::Token(&tokens),
        ..Setup::default()
    });
    let home = tempfile::tempdir().unwrap();
    let run = login(
        home.path(),
        registry.host(),
        PASSWORD,
        &["--plain-http", "-o", "json"],
    );
    assert_eq!(
        (run.code, &run.json()["outcome"]),
        (0, &"saved".into()),
        "{}",
        run.stderr
    );
    assert_eq!(
        login(home.path(), registry.host(), "hunter2", &["--plain-http"]).code,
        4
    );
    assert!(
        tokens
            .requests()
            .iter()
            .all(|request| !request.target.contains("scope"))
    );

    let secure = Registry::with(&Setup {
        auth: Auth::Basic {
            username: "me",
            password: PASSWORD,
        },
        tls: Some(&authority),
        ..Setup::default()
    });
    let run = login(home.path(), secure.host(), PASSWORD, &[]);
    assert_eq!(run.code, 4);
    assert!(run.stderr.contains("--ca-file"), "{}", run.stderr);
    let ca = authority.ca.display().to_string();
    assert_eq!(
        login(home.path(), secure.host(), PASSWORD, &["--ca-file", &ca]).code,
        0
    );
    assert_eq!(
        login(home.path(), secure.host(), PASSWORD, &["--insecure"]).code,
        0
    );
}

#[test]
fn all_else_in_the_file_stays_and_a_link_stays_a_link() {
    let server = Server::start(|request| match request.header("authorization") {
        Some("Basic bWU6cHc=") => Response::status(200).into(),
        _ => Response::status(401)
            .header("WWW-Authenticate", "Basic realm=\"x\"")
            .into(),
    });
    let home = tempfile::tempdir().unwrap();
    let real = home.path().join("real.json");
    let other = r#"{"auth":  "b3RoZXI6eA==", "email": "x@y"}"#;
    let text = format!(
        "{{\"HttpHeaders\": {{\"X\":1.0}}, \"auths\": {{\"z.example\": {other}, \"a.example\": {{}}}},\n \"proxies\":null}}"
    );
    std::fs::write(&real, text).unwrap();
    let link = home.path().join("config.json");
    symlink(&real, &link).unwrap();
    // One that leads to what is not there yet was once replaced.
    let (new, dangling) = (home.path().join("new.json"), home.path().join("dangling.json"));
    symlink("new.json", &dangling).unwrap();
    let config = ["--plain-http", "--registry-config", dangling.to_str().unwrap()];
    assert_eq!(login(home.path(), &server.host(), "pw", &config).code, 0);
    assert!(std::fs::symlink_metadata(&dangling).unwrap().is_symlink());
    assert!(std::fs::read_to_string(&new).unwrap().contains("bWU6cHc="));
    let config = ["--plain-http", "--registry-config", link.to_str().unwrap()];
    assert_eq!(login(home.path(), &server.host(), "pw", &config).code, 0);
    assert!(std::fs::symlink_metadata(&link).unwrap().is_symlink());
    let text = std::fs::read_to_string(&real).unwrap();
    assert!(text.contains(other) && text.contains("{\"X\":1.0}"), "{text}");
    let json: serde_json::Value = serde_json::from_str(&text).unwrap();
    assert_eq!(json["auths"][server.host()]["auth"], "bWU6cHc=");
    let order = ["HttpHeaders", "auths", "z.example", "a.example", "proxies"];
    let places: Vec<_> = order.iter().map(|name| text.find(name).unwrap()).collect();
    assert!(places.is_sorted(), "{text}");
}

#[test]
fn a_file_that_is_not_understood_is_left_and_never_quoted() {
    let server = Server::start(|_| Response::status(200).into());
    let home = tempfile::tempdir().unwrap();
    let file = home.path().join("config.json");
    let config = ["--plain-http", "--registry-config", file.to_str().unwrap()];
    for text in [
        "{\"auths\": {\"h\": hunter2}}",
        "[]",
        "{\"auths\": \"hunter2\"}",
        "hunter2",
        "\u{feff}{}",
    ] {
        std::fs::write(&file, text).unwrap();
        let run = login(home.path(), &server.host(), "pw", &config);
        assert_eq!(run.code, 1, "{text}: {}", run.stderr);
        assert!(run.stderr.contains("config.json"), "{}", run.stderr);
        assert_eq!(std::fs::read_to_string(&file).unwrap(), text);
    }
    assert_eq!(server.requests().len(), 0, "refused before the registry is asked");
}

#[test]
#[ignore = "needs servers or peers: .ci/test runs it"]
fn a_helper_that_the_file_names_keeps_and_forgets() {
    let registry = basic();
    let home = tempfile::tempdir().unwrap();
    let kept = home.path().join("kept");
    let helper = home.path().join("docker-credential-test");
    let script = format!(
        "#!/bin/sh\ncase $1 in\nstore) cat >{0};;\nerase) [ \"$(cat)\" = {1} ] && rm {0};;\nget) cat {0};;\nesac\n",
        kept.display(),
        registry.host()
    );
    std::fs::write(&helper, script).unwrap();
    std::fs::set_permissions(&helper, std::fs::Permissions::from_mode(0o755)).unwrap();
    let file = home.path().join("config.json");
    let text = format!(
        "{{\"credsStore\": \"none\", \"credHelpers\": {{\"{}\": \"test\"}}}}",
        registry.host()
    );
    std::fs::write(&file, &text).unwrap();
    let path = format!("{}:/usr/bin:/bin", home.path().display());
    let with = |words: &[&str]| {
        let mut call = command();
        call.env("PATH", &path)
            .env("DOCKER_CONFIG", home.path())
            .args(words);
        Run::of(&mut call)
    };
    let host = registry.host();
    let words = ["login", host, "-u", "me", "-p", PASSWORD, "--plain-http"];
    let run = with(&words);
    assert_eq!(run.code, 0, "{}", run.stderr);
    let entry: serde_json::Value = serde_json::from_slice(&std::fs::read(&kept).unwrap()).unwrap();
    assert_eq!(
        (&entry["ServerURL"], &entry["Secret"]),
        (&host.into(), &PASSWORD.into())
    );
    assert_eq!(
        std::fs::read_to_string(&file).unwrap(),
        text,
        "no password beside the helper"
    );
    let out = with(&["logout", host]);
    assert_eq!(out.code, 0, "{}", out.stderr);
    assert!(!kept.exists());
    let broken = with(&["logout", host]);
    assert_eq!(broken.code, 1);
    assert!(
        broken.stderr.contains("docker-credential-test"),
        "{}",
        broken.stderr
    );
}

#[test]
fn two_logins_at_once_both_stay() {
    let server = Server::start(|_| Response::status(200).into());
    let home = tempfile::tempdir().unwrap();
    let port = server.host().rsplit_once(':').unwrap().1.to_owned();
    let hosts: Vec<String> = (1..9).map(|n| format!("r{n}:{port}")).collect();
    // Names that don't exist: the server is their proxy.
    let proxy = format!("http://{}", server.host());
    let children: Vec<_> = hosts
        .iter()
        .map(|host| {
            let mut login: Command = command();
            login.env("HOME", home.path()).env("http_proxy", &proxy);
            login.args(["login", host, "-u", "u", "-p", "p", "--plain-http"]);
            login.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap()
        })
        .collect();
    for mut child in children {
        assert!(child.wait().unwrap().success());
    }
    let text = std::fs::read_to_string(home.path().join(".docker/config.json")).unwrap();
    let json: serde_json::Value = serde_json::from_str(&text).unwrap();
    assert_eq!(json["auths"].as_object().unwrap().len(), hosts.len(), "{text}");
}

#[test]
fn what_is_missing_or_wrong_is_said_before_any_network() {
    let home = tempfile::tempdir().unwrap();
    for (words, code, hint) in [
        (vec!["login", "127.0.0.1:1"], 2, "--password-stdin"),
        (vec!["login", "127.0.0.1:1", "-u", "me"], 2, "--password-stdin"),
        (
            vec!["login", "127.0.0.1:1/path", "-u", "me", "-p", "x"],
            2,
            "is not a registry host",
        ),
        (
            vec!["login", "127.0.0.1:1", "-u", "me", "-p", "x"],
            2,
            "--registry-config",
        ),
        (vec!["logout", "127.0.0.1:1"], 2, "--registry-config"),
        (vec!["logout"], 2, "HOST"),
    ] {
        let run = Run::of(
            command()
                .current_dir(home.path())
                .args(&words)
                .args(["-o", "json"]),
        );
        assert_eq!(
            (run.code, &run.json()["error"]["class"]),
            (code, &"usage".into()),
            "{words:?}"
        );
        assert!(run.stderr.contains(hint), "{words:?}: {}", run.stderr);
    }
}

/// A page that answers 200 to everything had an untried password kept, and said "Login Succeeded".
#[test]
fn a_web_page_is_no_registry_to_log_in_to() {
    for (kind, body) in [("text/html", "welcome"), ("text/plain", "  <!DOCTYPE html>")] {
        let server = testbed::Server::start(move |_| {
            let page = testbed::Response::status(200).header("Content-Type", kind);
            page.body(body).into()
        });
        let home = tempfile::tempdir().unwrap();
        let mut login = command();
        login.args([
            "login",
            &server.host(),
            "--plain-http",
            "--username",
            "u",
            "--password",
            "p",
        ]);
        let run = Run::of(login.env("HOME", home.path()));
        assert_eq!(run.code, 4, "{kind}: {} {}", run.stdout, run.stderr);
        assert!(run.stderr.contains("a web page"), "{}", run.stderr);
        assert!(!home.path().join(".docker/config.json").exists());
    }
}
