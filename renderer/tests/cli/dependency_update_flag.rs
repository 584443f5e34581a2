//! `package -u` and `template --dependency-update`: dependencies first, as in Helm.

use std::fs;

use testbed::{Registry, Tool};

use crate::dependency::{chart, names};
use crate::{Run, command};

#[test]
#[ignore = "needs servers or peers: .ci/test runs it"]
fn missing_dependencies_are_fetched_before_rendering_and_packaging() {
    let registry = Registry::start();
    let folder = tempfile::tempdir().unwrap();
    for version in ["1.0.0", "1.1.0"] {
        chart(&folder.path().join("app"), "app", version, &[]);
        let mut push = command();
        push.arg("push").arg(folder.path().join("app"));
        push.args([&format!("oci://{}/charts", registry.host()), "--plain-http"]);
        assert_eq!(Run::of(&mut push).code, 0);
    }
    let top = folder.path().join("top");
    let dependency = format!(
        "{{name: app, version: ^1, repository: 'oci://{}/charts'}}",
        registry.host()
    );
    chart(&top, "top", "1.0.0", &[dependency]);
    let run = |words: &[&str]| {
        let mut command = command();
        command.args(words).arg(&top).args(["--plain-http", "--no-cache"]);
        Run::of(&mut command)
    };
    let without = run(&["template", "x"]);
    assert_eq!(without.code, 1, "{}", without.stderr);
    let with = run(&["template", "x", "--dependency-update", "-v"]);
    assert_eq!(with.code, 0, "{}", with.stderr);
    assert!(with.stderr.contains("Saved: app 1.1.0"), "{}", with.stderr);
    let helm = testbed::run(
        Tool::Helm
            .command(registry.home())
            .args(["template", "x"])
            .arg(&top),
    );
    assert_eq!(with.stdout, helm);
    assert_eq!(names(&top), ["app-1.1.0.tgz"]);
    // Present dependencies are not fetched again.
    let again = run(&["template", "x", "--dependency-update", "-v"]);
    assert!(
        again.code == 0 && !again.stderr.contains("GET"),
        "{}",
        again.stderr
    );

    fs::remove_dir_all(top.join("charts")).unwrap();
    fs::remove_file(top.join("Chart.lock")).unwrap();
    let to = folder.path().join("to");
    let to = to.to_str().unwrap();
    assert_eq!(run(&["package", "-d", to]).code, 1);
    let packed = run(&["package", "-u", "-d", to, "-o", "json"]);
    assert_eq!(packed.code, 0, "{}", packed.stderr);
    assert_eq!(packed.json()["outcome"], "created");
    assert!(top.join("Chart.lock").exists());
    let archive = format!("{to}/top-1.0.0.tgz");
    let from_archive = testbed::run(
        Tool::Helm
            .command(registry.home())
            .args(["template", "x", &archive]),
    );
    assert_eq!(from_archive, helm);
    // A chart without any is none the worse for it.
    let mut plain = command();
    plain
        .args(["package", "-u", "-d", to])
        .arg(folder.path().join("app"));
    assert_eq!(Run::of(&mut plain).code, 0);
}
