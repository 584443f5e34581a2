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
        "templates/_labels.tpl:3:1",
        "included as \"labels\" at ./templates/a.yaml:4:9",
        "line 5 of what it renders to: `tier: front: back`",
        "templates/b.yaml:5:",
        "templates/c.yaml:2:10",
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
fn every_text_that_is_no_template_is_reported() {
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
                "templates/a.yaml:1:",
                "missing value for if",
                "templates/b.yaml:2:16",
                "did you mean `quote`?",
                "templates/c.yaml:2:1",
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

#[test]
fn similar_names_are_suggested() {
    let values = ("values.yaml", "image: {tag: a, pullPolicy: b}\nx: {}\n");
    for (text, wanted) in [
        ("{{ .Values.imge.tag }}", "did you mean `.Values.image`?"),
        (
            "{{ $v := .Values }}{{ $v.image.tga.x }}",
            "did you mean `$v.image.tag`?",
        ),
        (
            "{{ with .Values.image }}{{ .pullpolicy.x }}{{ end }}",
            "did you mean `.pullPolicy`?",
        ),
        ("{{ .Capabilities.KubeVersion.Majr }}", "did you mean `Major`?"),
        ("{{ .Relese.Name.x }}", "did you mean `.Release`?"),
        (
            "{{ $v := .Values }}{{ $v.x.c.d }}",
            "`$v.x.c` is nil; the nearest that exists is `$v.x`",
        ),
    ] {
        let folder = chart(&[values, ("templates/a.yaml", text)]);
        assert_says(&run("template", folder.path(), &[]), &[wanted]);
    }
}

#[test]
fn dependencies_are_shown_where_they_are_declared() {
    let older = "dependencies:\n- {name: x, version: 1.0.0}\n- {name: x, version: 1.0.0}\n";
    let folder = chart(&[
        ("Chart.yaml", "apiVersion: v1\nname: shop\nversion: 1.0.0\n"),
        ("requirements.yaml", older),
    ]);
    assert_says(&run("template", folder.path(), &[]), &["requirements.yaml:3:3"]);
    let yaml = "apiVersion: v2\nname: shop\nversion: 1.0.0\ndependencies:\n- {name: x, version: 1.0.0}\n";
    let folder = chart(&[("Chart.yaml", yaml)]);
    assert_says(
        &run("template", folder.path(), &[]),
        &["Chart.yaml:5:10", "missing in charts/ directory: x"],
    );
    // These had no line.
    for (command, dependency, location) in [
        ("package", "{name: x, version: 1.0.0}", "Chart.yaml:5:10"),
        (
            "package",
            "{name: sub, version: 1.0.0, alias: a b}",
            "Chart.yaml:5:38",
        ),
        ("dependency", "{name: x, version: 1.0.0}", "Chart.yaml:5:10"),
        ("dependency", "{name: sub, version: ^2}", "Chart.yaml:5:10"),
        ("dependency", "{name: sub, version: one two}", "Chart.yaml:5:10"),
        (
            "dependency",
            "{name: sub, version: 1.0.0, repository: 'file://../none'}",
            "Chart.yaml:5:10",
        ),
    ] {
        let yaml = format!("apiVersion: v2\nname: shop\nversion: 1.0.0\ndependencies:\n- {dependency}\n");
        let folder = chart(&[
            ("Chart.yaml", &yaml),
            (
                "charts/sub/Chart.yaml",
                "apiVersion: v2\nname: sub\nversion: 1.0.0\n",
            ),
        ]);
        let words: &[&str] = if command == "package" {
            &["package", "."]
        } else {
            &["dependency", "update", "."]
        };
        let run = Run::of(command_in(folder.path()).args(words));
        assert_eq!(run.code, 1, "{dependency} {}", run.stderr);
        assert!(run.stderr.contains(location), "{dependency} {}", run.stderr);
    }
}

/// Helm reads files without their byte order marks; this schema was refused.
#[test]
fn a_schema_may_begin_with_a_byte_order_mark() {
    let folder = chart(&[
        ("values.yaml", "\u{feff}a: x\n"),
        ("values.schema.json", "\u{feff}{\"required\": [\"b\"]}\n"),
        ("templates/a.yaml", "\u{feff}a: 1\n"),
    ]);
    let packed = Run::of(command_in(folder.path()).args(["package", ".", "-d", "out"]));
    assert_eq!(packed.code, 0, "{}", packed.stderr);
    for chart in [".", "out/shop-1.0.0.tgz"] {
        let run = Run::of(command_in(folder.path()).args(["template", chart]));
        assert_eq!(run.code, 1, "{}", run.stderr);
        assert_says(&run, &["shop: at '': missing property 'b'"]);
    }
    let bad = chart(&[("values.schema.json", "\u{feff}{\n]\n")]);
    for word in ["package", "template"] {
        assert_says(
            &run(word, bad.path(), &[]),
            &["values.schema.json is not JSON", "values.schema.json:2:1"],
        );
    }
}

fn command_in(folder: &Path) -> std::process::Command {
    let mut command = command();
    command.current_dir(folder);
    command
}

#[test]
fn what_is_not_utf8_is_refused_where_helm_refuses_it() {
    let folder = chart(&[("templates/_a.tpl", "{{ define \"a\" }}caf\u{e9}{{ end }}\n")]);
    let write = |path: &str, bytes: &[u8]| fs::write(folder.path().join(path), bytes).unwrap();
    // In a comment it does no harm.
    write(
        "templates/a.yaml",
        b"kind: X\n{{- /* caf\xe9 */}}\na: {{ include \"a\" . }}\n",
    );
    let whole = Run::of(command().args(["template", "r", "."]).current_dir(&folder));
    assert_eq!(whole.code, 0, "{}", whole.stderr);
    assert!(whole.stdout.contains("caf\u{e9}"), "{}", whole.stdout);
    write("templates/_a.tpl", b"{{ define \"a\" }}caf\xe9{{ end }}\n");
    write("templates/a.yaml", b"kind: X\na: {{ include \"a\" . }}\n");
    for word in ["template", "lint", "images"] {
        let words = ["the output of shop/templates/a.yaml is not UTF-8", "_a.tpl:1:20"];
        assert_says(&run(word, folder.path(), &[]), &words);
    }
    write("templates/_a.tpl", b"");
    write("templates/a.yaml", b"");
    fs::create_dir(folder.path().join("crds")).unwrap();
    write("crds/a.yaml", b"kind: X # caf\xe9\n");
    let words = ["shop/crds/a.yaml is not UTF-8: byte 0xe9 at offset 13"];
    assert_says(&run("template", folder.path(), &["--include-crds"]), &words);
}

#[test]
fn lint_tells_every_mistake_at_once() {
    let schema = r#"{"properties": {"a": {"type": "string"}}}"#;
    let files = [
        ("values.yaml", "a: 1\n"),
        ("templates/parse.yaml", "x: {{ foo }}\n"),
        ("templates/nil.yaml", "x: {{ .Values.deep.y }}\n"),
        ("templates/warn.yaml", "x: {{ .Values.none }}\n"),
        ("templates/yaml.yaml", "x: [\n"),
        ("templates/tab.yaml", "x: {{ include \"lost\" . }}\n"),
    ];
    let common = [
        "`.Values.none` is not set in any values file",
        "templates/nil.yaml:1:7",
        "templates/yaml.yaml:1:4",
    ];
    let broken = run("lint", chart(&files).path(), &[]);
    assert_says(&broken, &common);
    assert_says(&broken, &["templates/parse.yaml:1:7"]);
    // It may be defined in the file that is no template.
    assert!(!broken.stderr.contains("lost"), "{}", broken.stderr);
    let whole: Vec<(&str, &str)> = files
        .into_iter()
        .filter(|(path, _)| !path.contains("parse"))
        .collect();
    let failing = run("lint", chart(&whole).path(), &[]);
    assert_says(&failing, &common);
    assert_says(&failing, &["templates/tab.yaml:1:7"]);
    assert!(!failing.stderr.contains("`.Values.deep.y`"), "{}", failing.stderr);
    let refused = chart(&[&files[..], &[("values.schema.json", schema)]].concat());
    let refused = run("lint", refused.path(), &[]);
    assert_says(&refused, &common);
    assert_says(&refused, &["templates/parse.yaml:1:7", "got number, want string"]);
    // Helm's two, of values.yaml and of templates/.
    assert_eq!(refused.stdout.matches("[ERROR]").count(), 2, "{}", refused.stdout);
}
