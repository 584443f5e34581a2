//! Called as `solar-renderer`: SolAr's command line, unchanged.

use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;

use testbed::Registry;

use crate::{Run, binary, testdata};

fn linked(folder: &Path) -> PathBuf {
    let link = folder.join("solar-renderer");
    symlink(binary(), &link).unwrap();
    link
}

fn solar(link: &Path) -> Command {
    let mut command = Command::new(link);
    command.env_clear();
    command
}

/// As SolAr's controller writes it: both blocks, null where nothing is.
const CONFIG: &str = r#"{"type":"release","release":{"chart":{"name":"web","description":"d","version":"v0.0.1","appVersion":""},
"input":{"component":{"name":"web"},"resources":{"app":{"repository":"h/app","insecure":false,"tag":"1.0.0"}},
"entrypoint":{"resourceName":"app","type":"helm"}},"targetNamespace":"","values":null},
"bootstrap":{"chart":{"name":"","description":"","version":"","appVersion":""},"input":{"releases":null,"userdata":null}}}"#;

#[test]
#[ignore = "needs servers or peers: .ci/test runs it"]
fn an_existing_tag_is_success_and_both_digests_are_reported() {
    let folder = tempfile::tempdir().unwrap();
    let link = linked(folder.path());
    let registry = Registry::start();
    let config = folder.path().join("config.json");
    let url = format!("--url=oci://{}/prod/web:v0.0.1", registry.host());
    let push = |text: &str| {
        std::fs::write(&config, text).unwrap();
        Run::of(solar(&link).arg(&config).args([
            &url,
            "--plain-http=true",
            "--skip-push=false",
            "-o",
            "json",
        ]))
    };
    let first = push(CONFIG);
    assert_eq!(
        (first.code, &first.json()["outcome"]),
        (0, &"created".into()),
        "{}",
        first.stderr
    );
    assert_eq!(push(CONFIG).json()["outcome"], "unchanged");
    let second = push(&CONFIG.replace("h/app", "h/other"));
    assert_eq!(
        (second.code, &second.json()["outcome"]),
        (0, &"skipped".into()),
        "{}",
        second.stderr
    );
    assert_eq!(second.json()["existingDigest"], first.json()["digest"]);
    assert_ne!(second.json()["digest"], first.json()["digest"]);
    let forced = Run::of(
        solar(&link)
            .arg(&config)
            .args([&url, "--plain-http=true", "--if-exists=fail"]),
    );
    assert_eq!(forced.code, 3, "{}", forced.stderr);
}

#[test]
#[ignore = "needs servers or peers: .ci/test runs it"]
fn its_words_on_standard_output_are_kept() {
    let folder = tempfile::tempdir().unwrap();
    let link = linked(folder.path());
    let config = testdata().join("bootstrap.yaml");
    let out = folder.path().join("out");
    let run = Run::of(
        solar(&link)
            .arg(&config)
            .arg("--skip-push")
            .arg("--output-dir")
            .arg(&out),
    );
    assert_eq!(run.code, 0, "{}", run.stderr);
    assert!(
        run.stdout
            .starts_with(&format!("Rendered bootstrap to {}\n", out.display())),
        "{}",
        run.stdout
    );
    assert!(out.join("templates/releases.yaml").exists());
    let registry = Registry::start();
    let url = format!("oci://{}/cluster-1:v0.0.7", registry.host());
    let run = Run::of(solar(&link).arg(&config).args(["--url", &url, "--plain-http"]));
    assert!(
        run.stdout.starts_with("Rendered bootstrap\nPushed result to "),
        "{} {}",
        run.stdout,
        run.stderr
    );
    let older = Run::of(solar(&link).arg(&config).arg("--push=false"));
    assert_eq!(older.code, 0, "{}", older.stderr);
}

#[test]
fn without_a_url_it_says_so() {
    let folder = tempfile::tempdir().unwrap();
    let run = Run::of(solar(&linked(folder.path())).arg(testdata().join("release.yaml")));
    assert_eq!(run.code, 2);
    assert!(run.stderr.contains("--url is missing"), "{}", run.stderr);
}

#[test]
#[ignore = "needs servers or peers: .ci/test runs it"]
fn credentials_come_from_the_environment_it_sets() {
    let folder = tempfile::tempdir().unwrap();
    let link = linked(folder.path());
    let registry = Registry::with(&testbed::Setup {
        auth: testbed::Auth::Basic {
            username: "solar",
            password: "s3cret",
        },
        ..Default::default()
    });
    let config = folder.path().join("config.json");
    std::fs::write(&config, CONFIG).unwrap();
    let url = format!("--url=oci://{}/prod/web:v0.0.1", registry.host());
    let docker = folder.path().join("dockerconfig.json");
    // base64 of solar:s3cret
    let text = format!(
        r#"{{"auths":{{"{}":{{"auth":"c29sYXI6czNjcmV0"}}}}}}"#,
        registry.host()
    );
    std::fs::write(&docker, text).unwrap();
    let none = Run::of(
        solar(&link)
            .arg(&config)
            .args([&url, "--plain-http=true", "-o", "json"]),
    );
    assert_eq!(
        (none.code, &none.json()["error"]["class"]),
        (4, &"auth".into()),
        "{}",
        none.stderr
    );
    // SolAr passes the file itself, Docker means its folder.
    let file = Run::of(
        solar(&link)
            .arg(&config)
            .args([&url, "--plain-http=true"])
            .env("DOCKER_CONFIG", &docker),
    );
    assert_eq!(file.code, 0, "{}", file.stderr);
    let user = [("REGISTRY_USERNAME", "solar"), ("REGISTRY_PASSWORD", "s3cret")];
    let environment = Run::of(
        solar(&link)
            .arg(&config)
            .args([&url, "--plain-http=true", "-v"])
            .envs(user),
    );
    assert_eq!(environment.code, 0, "{}", environment.stderr);
    assert!(!environment.stderr.contains("s3cret") && !environment.stderr.contains("c29sYXI6czNjcmV0"));
    let flags = Run::of(solar(&link).arg(&config).args([
        &url,
        "--plain-http=true",
        "--username=solar",
        "--password=wrong",
        "-o",
        "json",
    ]));
    assert_eq!(
        (flags.code, &flags.json()["error"]["transient"]),
        (4, &false.into())
    );
    assert!(!flags.stderr.contains("wrong"), "{}", flags.stderr);
}
