//! Kubeconfigs and servers.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use testbed::Port;

use super::{CLUSTER, SERVICE, Space};
use crate::{Run, command};

/// The testbed's kubeconfig with changes, in a file of its own.
fn changed(space: &Space, name: &str, change: impl FnOnce(&mut Value)) -> PathBuf {
    let text = fs::read_to_string(CLUSTER.kubeconfig()).unwrap();
    let mut config: Value = serde_json::from_str(&text).unwrap();
    change(&mut config);
    let path = space.folder.path().join(name);
    fs::write(&path, config.to_string()).unwrap();
    path
}

fn decoded(config: &Value, pointer: &str) -> Vec<u8> {
    use base64::Engine as _;
    let text = config.pointer(pointer).and_then(Value::as_str).unwrap();
    base64::engine::general_purpose::STANDARD.decode(text).unwrap()
}

fn dry_run(space: &Space, kubeconfig: &Path) -> Run {
    Run::of(&mut space.command_as(kubeconfig, &["--dry-run"]))
}

#[test]
#[ignore = "needs servers or peers: .ci/test runs it"]
fn files_tokens_plugins_and_other_names_connect() {
    let space = Space::new("connect-forms", &[("templates/service.yaml", SERVICE)]);
    let token = fs::read_to_string(CLUSTER.service_account("connect-forms", "deployer")).unwrap();
    let token: Value = serde_json::from_str(&token).unwrap();
    let token = token["users"][0]["user"]["token"].as_str().unwrap().to_owned();
    let role = ["create", "rolebinding", "deployer", "--clusterrole=admin"];
    space.kubectl(&[&role[..], &["--serviceaccount=connect-forms:deployer"]].concat());
    let folder = space.folder.path().to_owned();
    fs::write(folder.join("token"), format!("{token}\n")).unwrap();
    let files = changed(&space, "files", |config| {
        let parts = [
            ("/clusters/0/cluster", "certificate-authority"),
            ("/users/0/user", "client-certificate"),
            ("/users/0/user", "client-key"),
        ];
        for (pointer, field) in parts {
            let bytes = decoded(config, &format!("{pointer}/{field}-data"));
            fs::write(folder.join(field), bytes).unwrap();
            let map = config
                .pointer_mut(pointer)
                .and_then(Value::as_object_mut)
                .unwrap();
            map.remove(&format!("{field}-data"));
            // Relative to the kubeconfig.
            map.insert(field.to_owned(), field.into());
        }
    });
    let token_file = changed(&space, "token-file", |config| {
        config["users"][0]["user"] = json!({"tokenFile": "token"});
    });
    let script = format!("printf '{{\"status\": {{\"token\": \"{token}\"}}}}'");
    let plugin = changed(&space, "plugin", |config| {
        let exec = json!({"apiVersion": "client.authentication.k8s.io/v1", "command": "/bin/sh",
            "args": ["-c", script], "interactiveMode": "Never"});
        config["users"][0]["user"] = json!({"exec": exec});
    });
    let insecure = changed(&space, "insecure", |config| {
        let server = config["clusters"][0]["cluster"]["server"].clone();
        config["clusters"][0]["cluster"] = json!({"server": server, "insecure-skip-tls-verify": true});
    });
    let named = changed(&space, "named", |config| {
        config["clusters"][0]["cluster"]["tls-server-name"] = "kubernetes.default.svc".into();
    });
    let other = changed(&space, "impersonating", |config| {
        config["users"][0]["user"]["as"] = "system:serviceaccount:connect-forms:deployer".into();
    });
    for kubeconfig in [&files, &token_file, &plugin, &insecure, &named, &other] {
        let run = dry_run(&space, kubeconfig);
        assert_eq!(run.code, 0, "{}: {}", kubeconfig.display(), run.stderr);
        assert!(run.stdout.contains("1 added"), "{}", run.stdout);
    }
    // As kubectl finds it.
    let path = std::env::join_paths([&folder.join("missing"), &files]).unwrap();
    let mut found = command();
    let flags = [
        "apply",
        "shop",
        "-n",
        "connect-forms",
        "--context",
        "testbed",
        "--dry-run",
    ];
    let run = Run::of(found.args(flags).current_dir(&folder).env("KUBECONFIG", path));
    assert_eq!(run.code, 0, "{}", run.stderr);
    fs::create_dir(folder.join(".kube")).unwrap();
    fs::copy(CLUSTER.kubeconfig(), folder.join(".kube/config")).unwrap();
    let mut found = command();
    let run = Run::of(found.args(flags).current_dir(&folder).env("HOME", &folder));
    assert_eq!(run.code, 0, "{}", run.stderr);
}

#[test]
#[ignore = "needs servers or peers: .ci/test runs it"]
fn a_server_with_another_name_or_authority_is_refused() {
    let space = Space::new("connect-trust", &[("templates/service.yaml", SERVICE)]);
    let other_name = changed(&space, "other-name", |config| {
        config["clusters"][0]["cluster"]["tls-server-name"] = "elsewhere.test".into();
    });
    let system = changed(&space, "system", |config| {
        let cluster = config["clusters"][0]["cluster"].as_object_mut().unwrap();
        cluster.remove("certificate-authority-data");
    });
    let nobody = changed(&space, "nobody", |config| {
        config["users"][0]["user"] = json!({"token": "t0p-secret"});
    });
    let table = [
        (other_name, 5, "not valid for name"),
        (system, 5, "certificate"),
        (nobody, 4, "Unauthorized"),
    ];
    for (kubeconfig, code, expected) in table {
        let run = dry_run(&space, &kubeconfig);
        assert_eq!(run.code, code, "{}", run.stderr);
        assert!(run.stderr.contains(expected), "{expected}: {}", run.stderr);
        assert!(!run.stderr.contains("t0p"), "{}", run.stderr);
    }
}

/// No server is needed for that.
#[test]
fn a_server_that_can_not_be_reached_is_an_error() {
    let space = Space::without_namespace("nowhere", &[("templates/service.yaml", SERVICE)]);
    let port = Port::free();
    let config = json!({"apiVersion": "v1", "kind": "Config", "current-context": "c",
        "contexts": [{"name": "c", "context": {"cluster": "k", "user": "u"}}],
        "clusters": [{"name": "k", "cluster": {"server": format!("https://127.0.0.1:{}", port.number())}}],
        "users": [{"name": "u", "user": {"token": "t0p-secret"}}]});
    let path = space.folder.path().join("config");
    fs::write(&path, config.to_string()).unwrap();
    let run = dry_run(&space, &path);
    assert_eq!(run.code, 5, "{}", run.stderr);
    assert!(
        run.stderr
            .contains("the cluster of the context \"c\", https://127.0.0.1"),
        "{}",
        run.stderr
    );
    assert!(!run.stderr.contains("t0p"), "{}", run.stderr);
    let run = Run::of(
        command()
            .args(["apply", "shop", "--dry-run"])
            .current_dir(space.folder.path()),
    );
    assert_eq!(run.code, 2, "{}", run.stderr);
    assert!(run.stderr.contains("there is no kubeconfig"), "{}", run.stderr);
}
