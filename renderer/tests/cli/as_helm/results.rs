//! Results under our own name.

use crate::{Run, command};

#[test]
fn results_are_documents_under_our_own_name() {
    let folder = tempfile::tempdir().unwrap();
    let run = |words: &[&str]| {
        let mut command = command();
        Run::of(
            command
                .env("HOME", folder.path())
                .current_dir(folder.path())
                .args(words),
        )
    };
    let list = run(&["repo", "list", "-o", "json"]).json();
    assert_eq!(
        (&list["schema"], &list["repositories"]),
        (&1.into(), &serde_json::json!([]))
    );
    let env = run(&["env", "HELM_NAMESPACE", "-o", "json"]).json();
    assert_eq!(
        env["environment"],
        serde_json::json!({"HELM_NAMESPACE": "default"})
    );
    assert_eq!(
        run(&["plugin", "list", "-o", "json"]).json()["plugins"],
        serde_json::json!([])
    );
    assert_eq!(
        run(&["env", "HELM_NAMESPACE", "-o", "yaml"]).stdout,
        "environment:\n  HELM_NAMESPACE: default\nschema: 1\n"
    );
    let missing = run(&["search", "repo", "x", "-o", "json"]);
    assert_eq!(
        (missing.code, &missing.json()["error"]["class"]),
        (2, &"usage".into())
    );
    assert_eq!(
        run(&["version", "--template", "{{ .Version }}"]).stdout,
        format!("v{}", env!("CARGO_PKG_VERSION"))
    );
    let oci = run(&["repo", "add", "x", "oci://h/charts"]);
    assert!(
        oci.code == 2 && oci.stderr.contains("need not be added"),
        "{}",
        oci.stderr
    );
}
