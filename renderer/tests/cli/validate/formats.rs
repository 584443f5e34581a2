//! What `validate` prints.

use std::path::Path;

use super::{shop, validate};
use crate::{Run, command};

const BROKEN: &str = "apiVersion: v1\nkind: Service\nmetadata: {name: a}\nspec:\n  ports:\n  - port: \"80\"\n  typ: ClusterIP\n";

fn broken(folder: &Path) -> std::path::PathBuf {
    shop(folder, &[("templates/a.yaml", BROKEN)])
}

fn printed(format: &str) -> String {
    let folder = tempfile::tempdir().unwrap();
    broken(folder.path());
    let mut command = command();
    command.current_dir(folder.path());
    let run = Run::of(command.args(["validate", "shop", "-o", format, "--kube-version", "1.34"]));
    assert_eq!(run.code, 1, "{}", run.stderr);
    run.stdout
}

#[test]
fn each_format_is_one_document() {
    insta::assert_snapshot!("text", printed("text"));
    insta::assert_snapshot!("github", printed("github"));
    insta::assert_snapshot!("junit", printed("junit"));
    for format in ["sarif", "gitlab", "json"] {
        let text = printed(format);
        let value: serde_json::Value = serde_json::from_str(&text).unwrap();
        insta::assert_snapshot!(format, serde_json::to_string_pretty(&value).unwrap());
    }
}

#[test]
fn the_excerpt_shows_the_line_and_what_to_do() {
    let folder = tempfile::tempdir().unwrap();
    let run = validate(&broken(folder.path()), &[]);
    let shown = run.stderr.replace(&format!("{}/", folder.path().display()), "");
    insta::assert_snapshot!("excerpt", shown);
}

#[test]
fn formats_of_findings_are_refused_elsewhere() {
    let folder = tempfile::tempdir().unwrap();
    let shop = broken(folder.path());
    let run = Run::of(command().arg("template").arg(&shop).args(["-o", "sarif"]));
    assert_eq!((run.code, run.stdout.as_str()), (2, ""));
    assert!(run.stderr.contains("are formats of `lint`"), "{}", run.stderr);
}

#[test]
fn no_value_of_a_secret_is_printed() {
    let folder = tempfile::tempdir().unwrap();
    let secret = "apiVersion: v1\nkind: Secret\nmetadata: {name: a}\ndata: {a: 'hunter2!'}\nstringData: {b: 12345678}\n";
    let shop = shop(
        folder.path(),
        &[
            ("templates/a.yaml", "{{ .Values.all | toYaml }}"),
            (
                "values.yaml",
                &format!("all:\n  {}", secret.replace('\n', "\n  ")),
            ),
        ],
    );
    for format in ["text", "json", "junit", "sarif", "gitlab", "github"] {
        let run = validate(&shop, &["-o", format]);
        assert_eq!(run.code, 1, "{}", run.stderr);
        for secret in ["hunter2", "12345678"] {
            assert!(!run.stdout.contains(secret), "{format}: {}", run.stdout);
            assert!(!run.stderr.contains(secret), "{format}: {}", run.stderr);
        }
    }
}
