//! `--schema-location` and `--allow-remote-schemas`: schemas that values.schema.json refers to by URL, from a folder or
//! their servers.

use std::fs;
use std::path::Path;

use testbed::{Authority, Registry, Setup};

use crate::{Run, command};

const URL: &str = "https://schemas.example.com:8443/v1/app.json";

/// A chart whose schema refers to others by URL; they are in `schemas`.
fn write(folder: &Path, reference: &str, documents: &[(&str, &str)]) {
    fs::create_dir_all(folder.join("app/templates")).unwrap();
    let chart = "apiVersion: v2\nname: app\nversion: 1.0.0\n";
    fs::write(folder.join("app/Chart.yaml"), chart).unwrap();
    fs::write(folder.join("app/values.yaml"), "port: 80\n").unwrap();
    fs::write(folder.join("app/templates/x.yaml"), "port: {{ .Values.port }}\n").unwrap();
    let schema = format!(
        r#"{{"$schema":"http://json-schema.org/draft-07/schema#","properties":{{"port":{{"$ref":"{reference}"}}}}}}"#
    );
    fs::write(folder.join("app/values.schema.json"), schema).unwrap();
    for (path, text) in documents {
        let path = folder.join("schemas").join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
}

fn run(folder: &Path, command_name: &str, rest: &[&str]) -> Run {
    let mut command = command();
    Run::of(command.current_dir(folder).args([command_name, "app"]).args(rest))
}

const HERE: [&str; 2] = ["--schema-location", "schemas"];

#[test]
fn schemas_are_read_from_the_folder_and_refer_to_others_there() {
    let folder = tempfile::tempdir().unwrap();
    let app = r##"{"definitions":{"port":{"allOf":[{"$ref":"common/int.json"},{"$ref":"#/definitions/low"}]},"low":{"maximum":1024}}}"##;
    let documents = [
        ("schemas.example.com:8443/v1/app.json", app),
        (
            "schemas.example.com:8443/v1/common/int.json",
            r#"{"type":"integer"}"#,
        ),
    ];
    write(folder.path(), &format!("{URL}#/definitions/port"), &documents);
    // Once `publish` refused such a chart whatever was said.
    let publish = |rest: &[&str]| run(folder.path(), "publish", &[&["file:out"], rest].concat());
    assert_eq!((publish(&[]).code, publish(&HERE).code), (1, 0));
    for name in ["template", "lint", "images"] {
        let without = run(folder.path(), name, &[]);
        assert_eq!(without.code, 1, "{name}: {}", without.stderr);
        let all = format!("{}{}", without.stdout, without.stderr);
        assert!(all.contains("--schema-location"), "{name}: {all}");
        let with = run(folder.path(), name, &HERE);
        assert_eq!(with.code, 0, "{name}: {}", with.stderr);
        for (value, message) in [
            ("port=x", "at '/port': got string, want integer"),
            ("port=2000", "at '/port': maximum: got 2,000, want 1,024"),
        ] {
            let bad = run(folder.path(), name, &[&HERE[..], &["--set", value]].concat());
            let all = format!("{}{}", bad.stdout, bad.stderr);
            assert!(bad.code == 1 && all.contains(message), "{name}: {all}");
        }
    }
}

#[test]
fn nothing_but_the_folder_is_read() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("secret.json"), r#"{"type":"string"}"#).unwrap();
    let outside = format!("file://{}/secret.json", folder.path().display());
    for reference in [
        outside.as_str(),
        "other.json",
        "https://schemas.example.com/../../secret.json",
        "https://schemas.example.com/%2e%2e/%2e%2e/secret.json",
        "https://schemas.example.com/absent.json",
    ] {
        write(
            folder.path(),
            reference,
            &[("schemas.example.com/here.json", "true")],
        );
        let run = run(folder.path(), "template", &HERE);
        assert_eq!(run.code, 1, "{reference}: {}", run.stderr);
        assert!(
            run.stderr.contains("can't be used"),
            "{reference}: {}",
            run.stderr
        );
    }
    let missing = run(folder.path(), "template", &["--schema-location", "nowhere"]);
    assert_eq!(missing.code, 2, "{}", missing.stderr);
}

#[test]
fn the_bounds_of_schemas_hold_for_all_of_them_together() {
    let folder = tempfile::tempdir().unwrap();
    let at = "https://s.example.com";
    // Round in a circle.
    let circle = [
        ("s.example.com/a.json", r#"{"allOf":[{"$ref":"b.json"}]}"#),
        (
            "s.example.com/b.json",
            r#"{"anyOf":[{"$ref":"https://s.example.com/a.json"}]}"#,
        ),
    ];
    write(folder.path(), &format!("{at}/a.json"), &circle);
    let run_here = || run(folder.path(), "template", &HERE);
    let round = run_here();
    assert_eq!(round.code, 1, "{}", round.stderr);
    assert!(round.stderr.contains("leads back to itself"), "{}", round.stderr);
    // One after the other.
    let texts: Vec<(String, String)> = (0..=100)
        .map(|number| {
            let next = format!(r#"{{"$ref":"{}.json"}}"#, number + 1);
            (format!("s.example.com/{number}.json"), next)
        })
        .collect();
    let texts: Vec<(&str, &str)> = texts
        .iter()
        .map(|(path, text)| (path.as_str(), text.as_str()))
        .collect();
    write(folder.path(), &format!("{at}/0.json"), &texts);
    let many = run_here();
    assert!(many.stderr.contains("more than 100 schemas"), "{}", many.stderr);
    // Too large, and none.
    let large = format!(r#"{{"title":"{}"}}"#, "x".repeat(4 << 20));
    for (text, expected) in [(large.as_str(), "larger than 4 MiB"), ("{", "is not JSON")] {
        write(
            folder.path(),
            &format!("{at}/c.json"),
            &[("s.example.com/c.json", text)],
        );
        let run = run_here();
        assert_eq!(run.code, 1, "{}", run.stderr);
        assert!(run.stderr.contains(expected), "{}", run.stderr);
    }
}

/// What is at a URL is some JSON that a registry serves over TLS: the config of a chart, which any values fit.
#[test]
#[ignore = "needs servers or peers: .ci/test runs it"]
fn schemas_are_fetched_when_asked() {
    let folder = tempfile::tempdir().unwrap();
    let authority = Authority::new();
    let registry = Registry::with(&Setup {
        tls: Some(&authority),
        ..Setup::default()
    });
    write(folder.path(), "other.json", &[]);
    fs::remove_file(folder.path().join("app/values.schema.json")).unwrap();
    let ca = authority.ca.display().to_string();
    let layout = format!("oci-layout:{}", folder.path().join("layout").display());
    for target in [layout.as_str(), &format!("oci://{}/charts", registry.host())] {
        let pushed = run(folder.path(), "push", &[target, "--ca-file", &ca]);
        assert_eq!(pushed.code, 0, "{}", pushed.stderr);
    }
    let blobs = folder.path().join("layout/app/blobs/sha256");
    let config = fs::read_dir(blobs).unwrap().find_map(|entry| {
        let entry = entry.unwrap();
        let text = fs::read(entry.path()).unwrap();
        let json: serde_json::Value = serde_json::from_slice(&text).ok()?;
        (json["name"] == "app").then(|| entry.file_name().into_string().unwrap())
    });
    let url = format!(
        "https://{}/v2/charts/app/blobs/sha256:{}",
        registry.host(),
        config.unwrap()
    );
    write(folder.path(), &url, &[]);
    let cache = folder.path().join("cache");
    let template = |rest: &[&str]| {
        let mut command = command();
        command
            .current_dir(folder.path())
            .args(["template", "app"])
            .args(rest);
        Run::of(command.env("SOLAR_RENDER_CACHE", &cache))
    };
    let without = template(&[]);
    assert_eq!(without.code, 1);
    assert!(
        without.stderr.contains("--allow-remote-schemas"),
        "{}",
        without.stderr
    );
    let untrusted = template(&["--allow-remote-schemas", "--retries", "0"]);
    assert_eq!(untrusted.code, 1, "{}", untrusted.stderr);
    // Once without the line of the reference.
    assert!(
        untrusted.stderr.contains("values.schema.json:1:"),
        "{}",
        untrusted.stderr
    );
    assert!(
        untrusted.stderr.contains(&format!("refers to {url}: ")),
        "{}",
        untrusted.stderr
    );
    let fetched = template(&["--allow-remote-schemas", "--ca-file", &ca, "--frozen"]);
    assert_eq!(fetched.code, 0, "{}", fetched.stderr);
    let digest = url.rsplit('/').next().unwrap();
    assert!(
        fetched.stderr.contains(&format!("schema {url} {digest}")),
        "{}",
        fetched.stderr
    );
    // From the cache.
    drop(registry);
    let again = template(&["--allow-remote-schemas", "--retries", "0"]);
    assert_eq!(again.code, 0, "{}", again.stderr);
    let plain = url.replacen("https", "http", 1);
    write(folder.path(), &plain, &[]);
    let plain = template(&["--allow-remote-schemas"]);
    assert!(
        plain.stderr.contains("fetched over https:// alone"),
        "{}",
        plain.stderr
    );
}

/// Messages once printed the password, and the excerpt below them did not.
#[test]
fn no_message_shows_the_credentials_of_a_schemas_url() {
    let folder = tempfile::tempdir().unwrap();
    let secret = "sEcr3tpw";
    for url in [
        format!("https://user:{secret}@h.invalid/x"),
        format!("http://h.invalid/x?token={secret}"),
    ] {
        write(folder.path(), &url, &[]);
        let reference = fs::read_to_string(folder.path().join("app/values.schema.json")).unwrap();
        let draft = format!(r#"{{"$schema":"{url}"}}"#);
        let id = format!(r#"{{"$id":"{url}","$ref":"other.json"}}"#);
        for schema in [reference, draft, id] {
            fs::write(folder.path().join("app/values.schema.json"), &schema).unwrap();
            for name in ["template", "lint"] {
                for rest in [
                    &[][..],
                    &["-o", "json"],
                    &["--allow-remote-schemas", "--retries=0"],
                ] {
                    let run = run(folder.path(), name, rest);
                    let all = format!("{}{}", run.stdout, run.stderr);
                    assert_ne!(run.code, 0, "{schema} {name} {rest:?}: {all}");
                    assert!(!all.contains(secret), "{schema} {name} {rest:?}: {all}");
                }
            }
        }
    }
}
