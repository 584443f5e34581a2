//! Errors about charts say where in the user's files the mistake is.

use std::fs;
use std::path::Path;

use tempfile::TempDir;

use crate::{Run, command};

/// A chart of these files.
fn chart(files: &[(&str, &str)]) -> TempDir {
    let folder = TempDir::new().unwrap();
    let yaml = ("Chart.yaml", "apiVersion: v2\nname: shop\nversion: 1.0.0\n");
    for (path, text) in [yaml].iter().chain(files) {
        let path = folder.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
    folder
}

fn run(word: &str, folder: &Path, more: &[&str]) -> Run {
    let run = Run::of(command().arg(word).arg(".").args(more).current_dir(folder));
    assert_eq!(run.code, 1, "{}", run.stderr);
    run
}

fn assert_says(run: &Run, words: &[&str]) {
    for words in words {
        assert!(run.stderr.contains(words), "{words}\n{}", run.stderr);
    }
}

#[test]
fn what_is_no_yaml_is_shown_in_the_template_that_printed_it() {
    let folder = chart(&[
        (
            "templates/_labels.tpl",
            "{{- define \"labels\" -}}\napp: {{ .Release.Name }}\ntier: front: back\n{{- end }}\n",
        ),
        (
            "templates/a.yaml",
            "kind: ConfigMap\nmetadata:\n  labels:\n    {{- include \"labels\" . | nindent 4 }}\ndata: {}\n",
        ),
        (
            "templates/b.yaml",
            "kind: ConfigMap\n---\ndata:\n{{- range list 1 2 }}\n  {{ . }}: \"open\n{{- end }}\n",
        ),
        ("templates/c.yaml", "kind: ConfigMap\ndata: {{ \"a: b: c\" }}\n"),
    ]);
    let places = [
        "shop/templates/_labels.tpl:3:1",
        "included as \"labels\" at shop/templates/a.yaml:4:9",
        "line 5 of what it renders to: `tier: front: back`",
        "shop/templates/b.yaml:5:",
        "shop/templates/c.yaml:2:10",
    ];
    assert_says(&run("template", folder.path(), &[]), &places);
    // Helm's linter stops at the first file.
    let lint = run("lint", folder.path(), &[]);
    assert_says(&lint, &places);
    assert_eq!(
        lint.stdout.matches("unable to parse YAML").count(),
        1,
        "{}",
        lint.stdout
    );
    assert_says(&run("images", folder.path(), &[]), &places);
}

#[test]
fn every_text_that_is_no_template_is_told_of() {
    let folder = chart(&[
        ("templates/a.yaml", "{{ if }}{{ end }}\n"),
        ("templates/b.yaml", "x\n{{ .Values.a | quot }}\n"),
        ("templates/c.yaml", "{{ range .Values.a }}\n"),
    ]);
    for word in ["template", "lint"] {
        let run = run(word, folder.path(), &[]);
        assert_says(
            &run,
            &[
                "shop/templates/a.yaml:1:",
                "missing value for if",
                "shop/templates/b.yaml:2:16",
                "did you mean `quote`?",
                "shop/templates/c.yaml:2:1",
            ],
        );
    }
}

#[test]
fn values_that_do_not_fit_the_schema_are_shown_where_they_are_set() {
    let folder = chart(&[
        ("values.yaml", "image:\n  tag: 12\nreplicas: many\n"),
        (
            "values.schema.json",
            r#"{"properties": {
                "replicas": {"type": "integer"}, "port": {"type": "integer"}, "secret": {"maxLength": 3},
                "image": {"required": ["name"], "properties": {"tag": {"type": "string"}}}
            }}"#,
        ),
        ("templates/a.yaml", "kind: Pod\n"),
        ("mine.yaml", "a: b\nport: \"80\"\n"),
    ]);
    let flags = ["-f", "mine.yaml", "--set", "secret=hush-hush"];
    for word in ["template", "lint"] {
        let run = run(word, folder.path(), &flags);
        assert_says(
            &run,
            &[
                "values.yaml:2:8",
                "values.yaml:3:11",
                "values.yaml:1:1",
                "mine.yaml:2:7",
                "--set:1:1",
            ],
        );
        assert!(!run.stderr.contains("hush-hush"), "{}", run.stderr);
    }
}
