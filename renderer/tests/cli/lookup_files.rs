//! `--lookup-file`: what `lookup` finds, and what is wrong with such files.

use std::fs;
use std::io::Write as _;
use std::path::PathBuf;
use std::process::Stdio;

use crate::dependency::chart;
use crate::{Run, command};

/// A chart that keeps the password of an existing Secret and counts those of all namespaces.
const TEMPLATE: &str = "\
{{- $old := lookup \"v1\" \"Secret\" .Release.Namespace \"db\" }}
apiVersion: v1
kind: Secret
metadata: {name: db}
data:
  password: {{ dig \"data\" \"password\" (\"new\" | b64enc) $old }}
  secrets: {{ len (default list (lookup \"v1\" \"Secret\" \"\" \"\").items) | toString | b64enc }}
";

const OBJECTS: &str = "\
apiVersion: v1
kind: Secret
metadata: {name: db, namespace: shop}
data: {password: a2VwdA==}
---
apiVersion: v1
kind: Secret
metadata: {name: other, namespace: elsewhere}
";

/// `kept` and `new` in base64, and the numbers of Secrets.
const KEPT: &str = "password: a2VwdA==\n  secrets: Mg==";
const NEW: &str = "password: bmV3\n  secrets: MA==";

struct Files(tempfile::TempDir);

impl Files {
    /// A folder with the chart `shop` and the objects.
    fn new() -> Self {
        let files = Self(tempfile::tempdir().unwrap());
        chart(&files.at("shop"), "shop", "1.0.0", &[]);
        files.write("shop/templates/x.yaml", TEMPLATE);
        files.write("objects.yaml", OBJECTS);
        files
    }

    fn at(&self, path: &str) -> PathBuf {
        self.0.path().join(path)
    }

    fn write(&self, path: &str, text: &str) {
        let path = self.at(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    fn run(&self, line: &str) -> Run {
        self.run_with(line, "")
    }

    /// Runs a command line, with a text on standard input.
    fn run_with(&self, line: &str, input: &str) -> Run {
        let mut command = command();
        command.args(line.split(' ')).current_dir(self.0.path());
        run_with(&mut command, input)
    }
}

fn run_with(command: &mut std::process::Command, input: &str) -> Run {
    let command = command.stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut child = command.stderr(Stdio::piped()).spawn().unwrap();
    // A command that reads no input may have ended.
    let _ = child.stdin.take().unwrap().write_all(input.as_bytes());
    Run::from(child.wait_with_output().unwrap())
}

#[test]
fn templates_find_the_objects_of_yaml_json_lists_and_standard_input() {
    let files = Files::new();
    let none = files.run("template r shop -n shop");
    assert!(none.stdout.contains(NEW), "{}{}", none.stdout, none.stderr);
    let [db, other] = [
        r#"{"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "db", "namespace": "shop"}, "data": {"password": "a2VwdA=="}}"#,
        r#"{"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "other", "namespace": "elsewhere"}}"#,
    ];
    files.write(
        "list.json",
        &format!("{{\"apiVersion\": \"v1\", \"kind\": \"List\", \"items\": [{db}, {other}]}}"),
    );
    files.write("db.json", db);
    files.write("other.json", other);
    for flags in [
        "--lookup-file objects.yaml",
        "--lookup-file list.json",
        "--lookup-file db.json --lookup-file other.json",
        "--lookup-file -",
        "--lookup-file - --frozen",
    ] {
        let run = files.run_with(&format!("template r shop -n shop {flags}"), OBJECTS);
        assert_eq!((run.code, &*run.stderr), (0, ""), "{flags}");
        assert!(run.stdout.contains(KEPT), "{flags}: {}", run.stdout);
    }
    // The namespace decides.
    let elsewhere = files.run("template r shop -n elsewhere --lookup-file objects.yaml");
    assert!(
        elsewhere.stdout.contains("password: bmV3\n  secrets: Mg=="),
        "{}",
        elsewhere.stdout
    );
}

#[test]
fn both_sides_of_a_diff_find_the_objects() {
    let files = Files::new();
    files.write("new/Chart.yaml", "apiVersion: v2\nname: shop\nversion: 1.1.0\n");
    files.write("new/templates/x.yaml", &TEMPLATE.replace("password:", "secret:"));
    let run = files.run("diff shop new -n shop --show-secrets --lookup-file objects.yaml");
    assert_eq!((run.code, &*run.stderr), (0, ""), "{}", run.stdout);
    assert!(
        run.stdout.contains("- a2VwdA==") && run.stdout.contains("+ a2VwdA=="),
        "{}",
        run.stdout
    );
    let run = files.run("diff shop new -n shop --show-secrets");
    assert!(
        run.stdout.contains("- bmV3") && run.stdout.contains("+ bmV3"),
        "{}",
        run.stdout
    );
    let run = files.run_with("diff shop --from-values - --to-values a.yaml --lookup-file -", "");
    assert!(
        run.code == 2 && run.stderr.contains("read once"),
        "{}",
        run.stderr
    );
}

#[test]
fn tests_find_the_objects_after_their_own() {
    let files = Files::new();
    let suite = "\
release: {namespace: shop}
templates: [x.yaml]
tests:
- it: finds the file's
  asserts:
  - equal: {path: data.password, value: kept, decodeBase64: true}
  - equal: {path: data.secrets, value: '2', decodeBase64: true}
- it: finds its own first
  kubernetesProvider:
    objects:
    - {apiVersion: v1, kind: Secret, metadata: {name: db, namespace: shop}, data: {password: b3du}}
    - {apiVersion: v1, kind: Secret, metadata: {name: third, namespace: shop}}
  asserts:
  - equal: {path: data.password, value: own, decodeBase64: true}
  - equal: {path: data.secrets, value: '3', decodeBase64: true}
";
    files.write("shop/tests/x_test.yaml", suite);
    let run = files.run("test shop --lookup-file objects.yaml");
    assert_eq!(run.code, 0, "{}{}", run.stdout, run.stderr);
    let run = files.run("test shop");
    assert_eq!(run.code, 1, "{}{}", run.stdout, run.stderr);
    assert!(run.stdout.contains("2 failed"), "{}", run.stdout);
}

#[test]
fn validate_and_images_find_the_objects() {
    let files = Files::new();
    let template = "\
{{- $found := lookup \"v1\" \"ConfigMap\" .Release.Namespace \"settings\" }}
apiVersion: v1
kind: Pod
metadata: {name: a}
spec:
  containers:
  - name: a
    image: {{ dig \"data\" \"image\" \"nginx:1\" $found }}
    {{- if $found }}
    imge: x
    {{- end }}
";
    files.write("shop/templates/x.yaml", template);
    let object = "{apiVersion: v1, kind: ConfigMap, metadata: {name: settings}, data: {image: 'redis:7'}}\n";
    files.write("objects.yaml", object);
    assert_eq!(files.run("validate shop").code, 0);
    let run = files.run("validate shop --lookup-file objects.yaml");
    assert!(run.code == 1 && run.stderr.contains("imge"), "{}", run.stderr);
    assert_eq!(files.run("images shop").stdout, "nginx:1\n");
    assert_eq!(
        files.run("images shop --lookup-file objects.yaml").stdout,
        "redis:7\n"
    );
}

#[test]
fn what_is_no_object_is_reported_at_its_line() {
    let files = Files::new();
    files.write(
        "objects.yaml",
        &format!("{OBJECTS}---\nkind: Secret\nmetadata: {{name: x}}\n"),
    );
    let run = files.run("template r shop --lookup-file objects.yaml");
    assert_eq!((run.code, &*run.stdout), (1, ""));
    let expected = "\
error: the object has no apiVersion
  --> objects.yaml:10:1
   |
10 | kind* ******
   | ^^^^
   |
   = help: `lookup` finds objects by apiVersion, kind, namespace and name
";
    assert_eq!(run.stderr, expected);
    files.write("twice.yaml", OBJECTS);
    files.write("objects.yaml", OBJECTS);
    let run = files.run("template r shop --lookup-file objects.yaml --lookup-file twice.yaml");
    assert!(
        run.code == 1
            && run
                .stderr
                .contains("Secret shop/db is there twice: it is already at objects.yaml:1:1"),
        "{}",
        run.stderr
    );
    files.write("broken.yaml", "kind: [\n");
    let run = files.run("template r shop --lookup-file broken.yaml");
    assert!(
        run.code == 1 && run.stderr.contains("broken.yaml:"),
        "{}",
        run.stderr
    );
    let run = files.run("template r shop --lookup-file none.yaml");
    assert!(
        run.code == 1 && run.stderr.contains("can't read none.yaml"),
        "{}",
        run.stderr
    );
}

#[test]
fn standard_input_is_read_once() {
    let files = Files::new();
    for line in [
        "template r shop --lookup-file - --lookup-file -",
        "template r shop --lookup-file - -f -",
        "template r shop --lookup-file - -f a.yaml,-",
        "template r shop --lookup-file - --set-file a=x,b=-",
        "test shop --lookup-file - --values -",
        "validate shop --lookup-file - -f -",
        "images shop --lookup-file - -f -",
    ] {
        let run = files.run(line);
        assert!(
            run.code == 2 && run.stderr.contains("read once"),
            "{line}: {} {}",
            run.code,
            run.stderr
        );
    }
}

#[test]
fn too_many_files_are_refused_before_one_is_read() {
    let mut command = command();
    command.args(["template", "r", "no-such-chart"]);
    for _ in 0..=1_000 {
        command.args(["--lookup-file", "none.yaml"]);
    }
    let run = Run::of(&mut command);
    assert!(
        run.code == 2 && run.stderr.contains("at most 1000 are read"),
        "{}",
        run.stderr
    );
}

/// Helm has no such flag, and takes objects from its cluster.
#[test]
fn compare_has_no_such_flag() {
    let run = Run::of(command().args(["compare", "shop", "--lookup-file", "objects.yaml"]));
    assert!(
        run.code == 2 && run.stderr.contains("--lookup-file"),
        "{}",
        run.stderr
    );
}

#[test]
fn what_secrets_hold_is_in_no_message() {
    let files = Files::new();
    let secret = "aHVudGVyMg==";
    let cases = [
        (
            r#"{"kind": "SecretList", "apiVersion": "v1", "items": [{"data": {"p": "SECRET"}, "metadata": {"name": "a"}}, {"metadata": {}}]}"#,
            "has no metadata.name",
            1,
        ),
        (
            r#"{"apiVersion": "v1", "kind": "Secret", "data": {"p": "SECRET"}"#,
            "broken.yaml:1:",
            1,
        ),
        (
            "apiVersion: v1\nkind: Secret\ndata: {p: SECRET, q: }}\n",
            "broken.yaml:3:",
            1,
        ),
        (
            "apiVersion: v1\nkind: Secret\ndata:\n  p: SECRET: x\n",
            "broken.yaml:4:",
            1,
        ),
        ("SECRET SECRET\nSECRET\n", "not a string", 1),
        (
            "apiVersion: v1\nkind: Secret\nmetadata: {name: a}\ndata:\n  p: SECRET\n  p: SECRET\n",
            "warning: duplicate key `p`",
            0,
        ),
    ];
    for (text, message, code) in cases {
        files.write("broken.yaml", &text.replace("SECRET", secret));
        let run = files.run("template r shop --lookup-file broken.yaml");
        assert!(
            run.code == code && run.stderr.contains(message),
            "{text}: {}",
            run.stderr
        );
        assert!(!run.stderr.contains("aHVu"), "{}", run.stderr);
    }
}
