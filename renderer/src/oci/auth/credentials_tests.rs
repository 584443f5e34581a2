use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

use super::*;
use crate::world::Fixed;

/// Far longer than any helper here takes.
const LIMIT: Duration = Duration::from_secs(60);

fn world(env: &[(&str, &str)]) -> Fixed {
    Fixed {
        env: env
            .iter()
            .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
            .collect::<BTreeMap<_, _>>(),
        ..Fixed::default()
    }
}

fn basic(username: &str, password: &str) -> Credentials {
    Credentials::Basic {
        username: username.to_owned(),
        password: Secret::new(password),
    }
}

/// The sources for a registry that the user names.
fn sources<'a>(explicit: Option<&'a Credentials>, file: Option<&'a Path>) -> Sources<'a> {
    Sources {
        explicit,
        ambient_host: &AmbientHost::Target,
        registry_config: file,
        limit: LIMIT,
    }
}

/// The credentials of a file with this text for `host/path`.
fn from_file(text: &str, host: &str, path: &str) -> Result<Option<Credentials>, CredentialsError> {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("config.json");
    std::fs::write(&file, text).unwrap();
    find(host, path, sources(None, Some(&file)), &world(&[])).map(|found| found.credentials)
}

fn base64(text: &str) -> String {
    base64::engine::general_purpose::STANDARD.encode(text)
}

#[test]
fn a_secret_is_never_printed() {
    let secret = Secret::new("hunter2");
    assert_eq!(format!("{secret} {secret:?}"), "*** ***");
    assert!(!format!("{:?}", basic("u", "hunter2")).contains("hunter2"));
}

#[test]
fn the_longest_matching_entry_wins_in_whole_parts() {
    let entry = |user: &str| format!(r#"{{"auth":"{}"}}"#, base64(&format!("{user}:p:q")));
    let text = format!(
        r#"{{"auths":{{"h":{},"h/a":{},"https://h/a/b/":{},"h:5000":{},"h/ab":null,"other":{{}}}}}}"#,
        entry("host"),
        entry("a"),
        entry("ab"),
        entry("port")
    );
    let table = [
        ("h", "x", Some("host")),
        ("H", "x", Some("host")),
        ("h", "a", Some("a")),
        ("h", "a/x", Some("a")),
        ("h", "a/b/c", Some("ab")),
        ("h", "ab", Some("host")),
        ("h:5000", "a", Some("port")),
        ("h:5001", "a", None),
        ("other", "a", None),
    ];
    for (host, path, user) in table {
        assert_eq!(
            from_file(&text, host, path).unwrap(),
            user.map(|user| basic(user, "p:q")),
            "{host}/{path}"
        );
    }
}

#[test]
fn docker_hub_has_many_names() {
    for key in [
        "https://index.docker.io/v1/",
        "docker.io",
        "registry-1.docker.io",
        "index.docker.io",
        "https://registry-1.docker.io/v2/",
    ] {
        for host in ["docker.io", "index.docker.io", "registry-1.docker.io"] {
            let text = format!(r#"{{"auths":{{"{key}":{{"username":"u","password":"p"}}}}}}"#);
            assert_eq!(
                from_file(&text, host, "org/x").unwrap(),
                Some(basic("u", "p")),
                "{key} {host}"
            );
        }
    }
}

#[test]
fn every_form_of_entry_is_read() {
    let table = [
        (r#"{"auth":"dTpw"}"#, basic("u", "p")),
        (r#"{"auth":"dTpwcA"}"#, basic("u", "pp")),
        (r#"{"auth":"dTpwAAA="}"#, basic("u", "p")),
        (r#"{"username":"u"}"#, basic("u", "")),
        (
            r#"{"auth":"dTpw","identitytoken":"t"}"#,
            Credentials::IdentityToken(Secret::new("t")),
        ),
        (
            r#"{"registrytoken":"t"}"#,
            Credentials::RegistryToken(Secret::new("t")),
        ),
    ];
    for (entry, expected) in table {
        let text = format!(r#"{{"auths":{{"h":{entry}}},"extra":1}}"#);
        assert_eq!(from_file(&text, "h", "x").unwrap(), Some(expected), "{entry}");
    }
}

#[test]
fn a_broken_file_is_named_and_never_quoted() {
    for text in [
        r#"{"auths":{"h":{"auth":"hunter2""#,
        r#"{"auths":{"h":"hunter2"}}"#,
        r#"{"auths":{"h":{"auth":["hunter2"]}}}"#,
        r#"{"auths":{"h":{"auth":"hunter2!"}}}"#,
        "hunter2",
    ] {
        let error = from_file(text, "h", "x").unwrap_err();
        let shown = format!("{error} {error:?}");
        assert!(
            shown.contains("config.json") && !shown.contains("hunter2"),
            "{shown}"
        );
    }
}

#[test]
fn flags_come_before_the_environment_and_that_before_files() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("config.json");
    std::fs::write(&file, r#"{"auths":{"h":{"username":"file","password":"p"}}}"#).unwrap();
    let path = file.to_str().unwrap();
    let folder = dir.path().to_str().unwrap();
    let get = |explicit: Option<&Credentials>, env: &[(&str, &str)]| {
        find("h", "x", sources(explicit, None), &world(env))
            .unwrap()
            .credentials
    };
    let both = [("REGISTRY_USERNAME", "env"), ("REGISTRY_PASSWORD", "p")];
    assert_eq!(get(Some(&basic("flag", "p")), &both), Some(basic("flag", "p")));
    assert_eq!(get(None, &both), Some(basic("env", "p")));
    // One half of the pair is not used alone.
    assert_eq!(
        get(None, &[("REGISTRY_USERNAME", "env"), ("DOCKER_CONFIG", path)]),
        Some(basic("file", "p"))
    );
    assert_eq!(get(None, &[("DOCKER_CONFIG", folder)]), Some(basic("file", "p")));
    assert_eq!(
        get(None, &[("REGISTRY_AUTH_FILE", path)]),
        Some(basic("file", "p"))
    );
    assert_eq!(
        get(None, &[("HELM_REGISTRY_CONFIG", path)]),
        Some(basic("file", "p"))
    );
    assert_eq!(get(None, &[]), None);
}

#[test]
fn the_default_files_are_found_and_missing_ones_are_listed() {
    for place in [
        "home/.docker/config.json",
        "home/.config/helm/registry/config.json",
        "home/.config/containers/auth.json",
        "run/containers/auth.json",
    ] {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join(place);
        std::fs::create_dir_all(file.parent().unwrap()).unwrap();
        std::fs::write(&file, r#"{"auths":{"h":{"username":"u","password":"p"}}}"#).unwrap();
        let home = dir.path().join("home");
        let run = dir.path().join("run");
        let world = world(&[
            ("HOME", home.to_str().unwrap()),
            ("XDG_RUNTIME_DIR", run.to_str().unwrap()),
        ]);
        let found = find("h", "x", sources(None, None), &world).unwrap();
        assert_eq!(found.credentials, Some(basic("u", "p")), "{place}");
        let none = find("elsewhere", "x", sources(None, None), &world).unwrap();
        assert_eq!(none.credentials, None);
        assert_eq!(none.searched.len(), 5, "{:?}", none.searched);
    }
}

/// The longest entry of the first file once won, whatever later files had.
#[test]
fn the_longest_entry_of_all_files_wins_but_a_named_file_comes_first() {
    let dir = tempfile::tempdir().unwrap();
    let file = |name: &str, key: &str| {
        let path = dir.path().join(name);
        let text = format!(r#"{{"auths":{{"{key}":{{"username":"{name}","password":"p"}}}}}}"#);
        std::fs::write(&path, text).unwrap();
        path
    };
    let (docker, helm, podman) = (file("docker", "h"), file("helm", "h"), file("podman", "h/a"));
    let [docker, helm, podman] = [&docker, &helm, &podman].map(|path| path.to_str().unwrap());
    let env = [
        ("DOCKER_CONFIG", docker),
        ("HELM_REGISTRY_CONFIG", helm),
        ("REGISTRY_AUTH_FILE", podman),
    ];
    let ask = |path: &str, named: Option<&str>, env: &[(&str, &str)]| {
        find("h", path, sources(None, named.map(Path::new)), &world(env))
    };
    let user = |path: &str, named: Option<&str>| match ask(path, named, &env).unwrap().credentials {
        Some(Credentials::Basic { username, .. }) => username,
        other => panic!("{other:?}"),
    };
    assert_eq!(user("a/x", None), "podman");
    assert_eq!(user("b", None), "docker", "the first of those of one length");
    assert_eq!(user("a/x", Some(helm)), "helm");
    // A broken file after one with an entry for the repository is not an error.
    std::fs::write(podman, "hunter2").unwrap();
    assert_eq!(user("a/x", None), "docker");
    assert!(ask("a/x", None, &env[2..]).is_err());
}

/// Installs a helper that runs this script.
#[cfg(unix)]
fn install(dir: &Path, name: &str, script: &str) {
    // Written by a child process: while this process has the file open for writing, a fork in another thread would
    // inherit the descriptor, and the file could not be run ("text file busy").
    let path = dir.join(format!("docker-credential-{name}"));
    let status = std::process::Command::new("sh")
        .args([
            "-c",
            r#"printf '#!/bin/sh\n%s\n' "$1" >"$2" && chmod 755 "$2""#,
            "sh",
            script,
        ])
        .arg(path)
        .status();
    assert!(status.unwrap().success());
}

#[cfg(unix)]
#[test]
fn helpers_are_queried_by_host_and_their_failures_are_recorded() {
    const ECHO: &str = r#"read -r host; printf '{"ServerURL":"x","Username":"%s","Secret":"s"}' "$host""#;
    let dir = tempfile::tempdir().unwrap();
    install(dir.path(), "echo", ECHO);
    install(
        dir.path(),
        "token",
        r#"printf '{"Username":"<token>","Secret":"s"}'"#,
    );
    install(
        dir.path(),
        "none",
        "echo credentials not found in native keychain; exit 1",
    );
    install(dir.path(), "broken", "echo hunter2; exit 3");
    let config = dir.path().join("config.json");
    let path = format!("{}:/usr/bin:/bin", dir.path().display());
    let ask = |text: &str, host: &str| {
        std::fs::write(&config, text).unwrap();
        find(
            host,
            "x",
            sources(None, Some(&config)),
            &world(&[("PATH", &path)]),
        )
        .unwrap()
    };
    let with_entry = |store: &str| {
        format!(r#"{{"credsStore":"{store}","auths":{{"h":{{"username":"file","password":"p"}}}}}}"#)
    };
    let hub = basic("https://index.docker.io/v1/", "s");
    let token = Credentials::IdentityToken(Secret::new("s"));
    let both = r#"{"credHelpers":{"h":"token"},"credsStore":"echo"}"#;
    let table = [
        (r#"{"credsStore":"echo"}"#.to_owned(), "h", Some(basic("h", "s"))),
        (r#"{"credsStore":"echo"}"#.to_owned(), "docker.io", Some(hub)),
        (both.to_owned(), "h", Some(token)),
        (with_entry("none"), "h", Some(basic("file", "p"))),
        (with_entry("absent"), "h", Some(basic("file", "p"))),
        (r#"{"credsStore":"broken"}"#.to_owned(), "h", None),
        (r#"{"credsStore":"../x"}"#.to_owned(), "h", None),
    ];
    for (text, host, expected) in table {
        let found = ask(&text, host);
        assert_eq!(found.credentials, expected, "{text}");
        assert!(!format!("{found:?}").contains("hunter2"));
    }
    let noted = ask(r#"{"credsStore":"broken"}"#, "h").searched.join("\n");
    assert!(noted.contains("docker-credential-broken: failed"), "{noted}");
}

/// The environment's password was once sent to every host that a chart's Chart.yaml names.
#[test]
fn the_environments_credentials_are_for_one_host() {
    let both = [("REGISTRY_USERNAME", "env"), ("REGISTRY_PASSWORD", "p")];
    let only = |host: &str| AmbientHost::Only(host.to_owned());
    let table = [
        (AmbientHost::Target, None, "h:5000", true),
        (AmbientHost::Nobody, None, "h:5000", false),
        (only("h:5000"), None, "h:5000", true),
        (only("h:5000"), None, "h", false),
        (only("h:5000"), None, "evil.example", false),
        (AmbientHost::Nobody, Some("h:5000"), "h:5000", true),
        (AmbientHost::Nobody, Some("https://H:5000/"), "h:5000", true),
        (AmbientHost::Nobody, Some("h:5000"), "evil.example", false),
        (AmbientHost::Target, Some("h:5000"), "evil.example", false),
        (only("h:5000"), Some("other"), "h:5000", false),
        (AmbientHost::Target, Some(" "), "h:5000", true),
        (
            AmbientHost::Target,
            Some("docker.io"),
            "registry-1.docker.io",
            true,
        ),
    ];
    for (ambient_host, bound, host, expected) in table {
        let mut env = both.to_vec();
        env.extend(bound.map(|bound| ("REGISTRY_HOST", bound)));
        let sources = Sources {
            ambient_host: &ambient_host,
            ..sources(None, None)
        };
        let found = find(host, "x", sources, &world(&env)).unwrap();
        assert_eq!(
            found.credentials.is_some(),
            expected,
            "{ambient_host:?} {bound:?} {host}"
        );
        let says = found.searched.join("\n");
        assert!(expected || says.contains(host), "{says}");
    }
}

/// The kubelet supports such keys in pull secrets.
#[test]
fn keys_may_have_globs_in_the_parts_of_the_host() {
    let table = [
        ("*.example.com", "a.example.com", true),
        ("*.example.com", "example.com", false),
        ("*.example.com", "a.b.example.com", false),
        ("*.*.example.com", "a.b.example.com", true),
        ("reg-*.example.com", "reg-1.example.com", true),
        ("reg-*.example.com", "other.example.com", false),
        ("*.example.com:5000", "a.example.com:5000", true),
        ("*.example.com:5000", "a.example.com", false),
        ("*.example.com", "a.example.com:5000", false),
        ("https://*.example.com/v1/", "a.example.com", true),
        ("*.example.com/team", "a.example.com", true),
        ("*.example.com/tea", "a.example.com", false),
    ];
    for (key, host, expected) in table {
        let text = format!(r#"{{"auths":{{"{key}":{{"username":"u","password":"p"}}}}}}"#);
        let found = from_file(&text, host, "team/app").unwrap();
        assert_eq!(found.is_some(), expected, "{key} {host}");
    }
    let both = r#"{"auths":{"*.test":{"username":"glob","password":"p"},"a.test":{"username":"own","password":"p"}}}"#;
    assert_eq!(from_file(both, "a.test", "x").unwrap(), Some(basic("own", "p")));
}

/// The file of skopeo and Podman for root was once not among them.
#[test]
fn without_a_runtime_folder_it_is_the_one_of_the_uid() {
    let found = find("h", "x", sources(None, None), &world(&[("HOME", "/nonexistent")])).unwrap();
    let own = format!("/run/containers/{}/auth.json", rustix::process::getuid().as_raw());
    assert!(
        found.searched.iter().any(|line| line.starts_with(&own)),
        "{:?}",
        found.searched
    );
}

/// The operator once read pull Secrets by rules of its own: without Docker Hub's names, globs and padded passwords.
#[test]
fn a_secrets_docker_config_is_read_as_a_file_is() {
    let pair = |text: &str| base64::engine::general_purpose::STANDARD.encode(text);
    let text = serde_json::json!({
        "credsStore": "never-run",
        "auths": {
            "h.example": {"auth": pair("host:1")}, "h.example/team": {"auth": pair("team:2:3\0\0")},
            "https://index.docker.io/v1/": {"auth": pair("hub:4")}, "*.glob.example": {"auth": pair("glob:5")},
            "t.example": {"identitytoken": "6"}, "h.example/broken": {"auth": "%"}, "h.example/empty": {},
        },
    })
    .to_string();
    let found = |host, path| match of_docker_config(text.as_bytes(), host, path) {
        Ok(Some(Credentials::Basic { username, password })) => format!("{username}:{}", password.expose()),
        Ok(Some(_)) => "token".to_owned(),
        Ok(None) => "none".to_owned(),
        Err(error) => error.to_string(),
    };
    let table = [
        ("h.example", "shop", "host:1"),
        ("h.example", "team/shop", "team:2:3"),
        ("h.example", "teamwork/shop", "host:1"),
        ("h.example", "empty/shop", "host:1"),
        ("h.example:5000", "shop", "none"),
        ("h.example.evil", "shop", "none"),
        ("docker.io", "library/shop", "hub:4"),
        ("a.glob.example", "shop", "glob:5"),
        ("t.example", "shop", "token"),
        (
            "h.example",
            "broken/shop",
            "the entry of its Docker config has no credentials",
        ),
    ];
    for (host, path, expected) in table {
        assert_eq!(found(host, path), expected, "{host}/{path}");
    }
    let problem = of_docker_config(b"{t0p-secret", "h.example", "shop").unwrap_err();
    assert_eq!(
        problem.to_string(),
        "its Docker config is not of the expected form"
    );
}
