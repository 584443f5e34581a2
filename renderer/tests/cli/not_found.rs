//! What is asked for and is not there.

use testbed::{Response, Server};

use crate::{Run, command};

#[test]
fn of_a_version_that_is_not_there_the_others_are_listed() {
    let server = Server::start(|request| {
        if request.path().ends_with("/tags/list") {
            let list = Response::status(200).header("Content-Type", "application/json");
            return list
                .body(r#"{"name": "charts/app", "tags": ["0.1.0", "0.2.0"]}"#)
                .into();
        }
        let unknown = Response::status(404).header("Content-Type", "application/json");
        unknown
            .body(r#"{"errors": [{"code": "MANIFEST_UNKNOWN"}]}"#)
            .into()
    });
    let place = format!("oci://{}/charts/app", server.host());
    let run = Run::of(command().args(["pull", &place, "--version", "9.9.9", "--plain-http", "--no-cache"]));
    assert_eq!(run.code, 4, "{}", run.stderr);
    assert!(
        run.stderr.contains("app has no 9.9.9; there are 0.2.0, 0.1.0\n"),
        "{}",
        run.stderr
    );
}

#[test]
fn an_input_that_is_missing_has_the_same_exit_code_everywhere() {
    let folder = tempfile::tempdir().unwrap();
    for words in [
        &["render", "missing.yaml"] as &[&str],
        &["digest", "./missing"],
        &["package", "missing"],
        &["push", "missing", "file:x"],
        &["publish", "missing", "file:x"],
        &["template", "missing"],
        &["lint", "missing"],
        &["images", "missing"],
        &["show", "chart", "missing"],
        &["verify", "missing.tgz"],
        &["dependency", "list", "missing"],
        &["dependency", "build", "missing"],
    ] {
        let run = Run::of(command().current_dir(folder.path()).args(words));
        assert_eq!(run.code, 1, "{words:?} {}", run.stderr);
    }
}
