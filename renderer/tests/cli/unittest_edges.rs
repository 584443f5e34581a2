//! `test` where suites, snapshots and charts are unusual, with helm-unittest as the oracle of verdicts.

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use testbed::Tool;

use crate::dependency::chart;
use crate::unittest::{copy, junit_verdicts, test, verdicts};

/// A chart `edge` with files.
fn edge(folder: &Path, files: &[(&str, &str)]) -> PathBuf {
    let root = folder.join("edge");
    chart(&root, "edge", "1.0.0", &[]);
    fs::write(root.join("values.yaml"), "mode: \"\"\nlist: [1]\n").unwrap();
    for (path, text) in files {
        let path = root.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
    root
}

const A: (&str, &str) = (
    "templates/a.yaml",
    "kind: A\nl: [1, 2]\nm: [3]\nzero: -0.0\nset: {{ .Values.deep | toJson }}\n",
);
const B: (&str, &str) = (
    "templates/b.yaml",
    r#"{{ if eq .Values.mode "fail" }}{{ fail "set l[0] (must) be a+b; values (foo a|b what? {x} * " }}{{ end -}}
{{ if eq .Values.mode "required" }}{{ required "need it" .Values.none }}{{ end -}}
{{ if eq .Values.mode "nil" }}{{ .Values.none.x.y }}{{ end -}}
{{ if eq .Values.mode "index" }}{{ index .Values.list 9 }}{{ end -}}
{{ if eq .Values.mode "tpl" }}{{ tpl "{{ fail \"in tpl\" }}" . }}{{ end -}}
{{ if eq .Values.mode "helper" }}{{ include "h" . }}{{ end -}}
{{ if eq .Values.mode "break" }}{{ fail "boom\n" }}{{ end -}}
{{ if eq .Values.mode "lines" }}{{ fail "\nvalues:\n two\n" }}{{ end -}}
kind: B
"#,
);
const S: (&str, &str) = (
    "templates/s.yaml",
    r#"release: {{ toJson .Release }}
kube: {{ .Capabilities.KubeVersion }}
chart: {{ .Chart.Version }} {{ .Chart.AppVersion }}
values: {{ toJson .Values }}
text: "x \ny"
breaks: " \n \na \r\nb\r\nc"
base64: eCAKeQ==
big: 18446744073709551615
metadata: {name: n, namespace: ""}
m: {a: 1, b: {c: 2}}
l: [1, {x: 2}]
"#,
);
const VALUES: (&str, &str) = ("tests/v.yaml", "a: yes\nb: [on, No, 010, 1.0]\n---\nc: 1\n");
const TWICE: (&str, &str) = ("tests/twice.yaml", "a: 1\na: 2\n");
const HELPER: (&str, &str) = (
    "templates/_h.tpl",
    "{{ define \"h\" }}{{ fail \"in helper\" }}{{ end }}\n",
);
const NOTES: (&str, &str) = ("templates/NOTES.txt", "Hello\n");
const NOTHING: (&str, &str) = (
    "templates/nothing.yaml",
    "{{ if .Values.never }}kind: C{{ end }}\n",
);

const SNAPSHOTS: &str = "tests/__snapshot__/a_test.yaml.snap";

#[test]
fn a_failed_template_is_found_without_its_name() {
    let folder = tempfile::tempdir().unwrap();
    for header in [
        "",
        "templates: ['*']\n",
        "templates: ['**']\n",
        "templates: ['*.yaml']\n",
    ] {
        for (mode, text) in [
            ("required", "need it"),
            ("helper", "in helper"),
            ("tpl", "in tpl"),
        ] {
            let suite = format!(
                "{header}tests:\n- it: t\n  set: {{mode: {mode}}}\n  asserts: [{{failedTemplate: {{errorPattern: {text}}}}}]\n"
            );
            let chart = edge(folder.path(), &[A, B, HELPER, ("tests/a_test.yaml", &suite)]);
            assert_eq!(verdicts(&chart, &[])["t"], "passed", "{suite}");
        }
    }
}

/// They were removed: one test of the name had run.
#[test]
fn snapshots_of_tests_that_were_not_run_are_kept() {
    let folder = tempfile::tempdir().unwrap();
    let one = "- it: a\n  asserts: [{matchSnapshot: {path: kind}}]\n";
    let bad = "- it: b\n  asserts: [{isKind: {of: B}}]\n";
    let good = bad.replace("of: B", "of: A");
    let whole = |middle: &str| format!("suite: first\ntemplates: [a.yaml]\ntests:\n{one}{middle}{one}");
    let chart = edge(folder.path(), &[A, ("tests/a_test.yaml", &whole(&good))]);
    assert_eq!(test(&chart, &[]).code, 0);
    let first = fs::read_to_string(chart.join(SNAPSHOTS)).unwrap();
    assert!(first.contains("2: |"), "{first}");
    fs::write(chart.join("tests/a_test.yaml"), whole(bad)).unwrap();
    for flags in [&["--failfast"][..], &["--failfast", "-u"]] {
        assert_eq!(test(&chart, flags).code, 1);
        assert_eq!(
            fs::read_to_string(chart.join(SNAPSHOTS)).unwrap(),
            first,
            "{flags:?}"
        );
    }
}

/// Both suites had number 1: the second run failed, and no update helped.
#[test]
fn tests_with_one_name_in_two_suites_of_a_file_number_their_snapshots_together() {
    let folder = tempfile::tempdir().unwrap();
    let of = |suite: &str, path: &str| {
        format!(
            "suite: {suite}\ntemplates: [a.yaml]\ntests:\n- it: a\n  asserts: [{{matchSnapshot: {{path: {path}}}}}]\n"
        )
    };
    let suites = format!("{}---\n{}", of("first", "kind"), of("second", "l"));
    let chart = edge(folder.path(), &[A, ("tests/a_test.yaml", &suites)]);
    assert_eq!(test(&chart, &[]).code, 0);
    let text = fs::read_to_string(chart.join(SNAPSHOTS)).unwrap();
    assert_eq!(text, "a:\n  1: |\n    A\n  2: |\n    - 1\n    - 2\n");
    for flags in [
        &[][..],
        &["-k", "second"],
        &["-k", "first", "-u"],
        &["--failfast"],
    ] {
        let run = test(&chart, flags);
        assert_eq!(run.code, 0, "{flags:?} {}", run.stdout);
        assert_eq!(
            fs::read_to_string(chart.join(SNAPSHOTS)).unwrap(),
            text,
            "{flags:?}"
        );
    }
}

/// It ended with a stack overflow.
#[test]
fn a_key_of_set_with_very_many_steps_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let suite = |steps: usize| {
        let (key, open, close) = (vec!["deep"; steps].join("."), "[".repeat(900), "]".repeat(900));
        format!(
            "templates: [a.yaml]\ntests:\n- it: t\n  set:\n    ? {key}\n    : {open}{close}\n  asserts: [{{isKind: {{of: A}}}}]\n"
        )
    };
    let chart = edge(folder.path(), &[A, ("tests/a_test.yaml", &suite(10_000))]);
    let run = test(&chart, &[]);
    assert_eq!(run.code, 1, "{}", run.stderr);
    assert!(
        run.stderr.contains("the key has more than 1000 steps"),
        "{}",
        run.stderr
    );
    fs::write(chart.join("tests/a_test.yaml"), suite(1000)).unwrap();
    let run = test(&chart, &[]);
    assert!(
        [0, 1].contains(&run.code) && run.stdout.contains("1 test:"),
        "{}{}",
        run.stdout,
        run.stderr
    );
}

#[test]
fn snapshots_are_not_written_outside_of_the_chart() {
    let folder = tempfile::tempdir().unwrap();
    let suite =
        "snapshotId: ../../../x\ntemplates: [a.yaml]\ntests:\n- it: t\n  asserts: [{matchSnapshot: {}}]\n";
    let chart = edge(folder.path(), &[A, ("tests/a_test.yaml", suite)]);
    let run = test(&chart, &[]);
    assert_eq!(run.code, 1);
    assert!(run.stderr.contains("a_test.yaml:1:13"), "{}", run.stderr);
    assert!(
        run.stderr.contains("`snapshotId` is part of a file's name"),
        "{}",
        run.stderr
    );
    fs::write(chart.join("tests/a_test.yaml"), suite.split_once('\n').unwrap().1).unwrap();
    let outside = folder.path().join("outside");
    fs::create_dir(&outside).unwrap();
    std::os::unix::fs::symlink(&outside, chart.join("tests/__snapshot__")).unwrap();
    fs::write(chart.join(".helmignore"), "tests/\n").unwrap();
    let run = test(&chart, &[]);
    assert_eq!(run.code, 1);
    assert!(
        run.stderr.contains("is a link to outside of the chart"),
        "{}",
        run.stderr
    );
    assert_eq!(fs::read_dir(&outside).unwrap().count(), 0);
    // One that stays in the chart is followed.
    fs::remove_file(chart.join("tests/__snapshot__")).unwrap();
    fs::create_dir(chart.join("stored")).unwrap();
    std::os::unix::fs::symlink("../stored", chart.join("tests/__snapshot__")).unwrap();
    assert_eq!(test(&chart, &[]).code, 0);
    assert!(chart.join("stored/a_test.yaml.snap").exists());
}

/// The first assertions vanished, also with `--strict`.
#[test]
fn a_key_that_is_twice_in_a_suite_is_an_error_with_both_lines() {
    let folder = tempfile::tempdir().unwrap();
    let suite = "templates: [a.yaml]\ntests:\n- it: t\n  asserts: [{isKind: {of: B}}]\n  asserts: [{isKind: {of: A}}]\n";
    let chart = edge(folder.path(), &[A, ("tests/a_test.yaml", suite)]);
    let run = test(&chart, &[]);
    assert_eq!(run.code, 1);
    let message = "duplicate key `asserts`: it is already on line 4";
    assert!(run.stderr.contains(message), "{}", run.stderr);
    assert!(run.stderr.contains("a_test.yaml:5:3"), "{}", run.stderr);
}

#[test]
fn a_file_that_holds_no_snapshots_is_not_overwritten() {
    let folder = tempfile::tempdir().unwrap();
    let suite = "templates: [a.yaml]\ntests:\n- it: t\n  asserts: [{matchSnapshot: {}}]\n";
    let chart = edge(
        folder.path(),
        &[A, ("tests/a_test.yaml", suite), (SNAPSHOTS, "my notes\n")],
    );
    let run = test(&chart, &["-u"]);
    assert_eq!(run.code, 1);
    assert!(
        run.stderr.contains("a snapshot file is a map of tests"),
        "{}",
        run.stderr
    );
    assert_eq!(fs::read_to_string(chart.join(SNAPSHOTS)).unwrap(), "my notes\n");
}

#[test]
fn words_of_yaml_1_1_are_keys_of_set() {
    let folder = tempfile::tempdir().unwrap();
    let template = (
        "templates/a.yaml",
        "on: {{ .Values.on | toJson }}\nno: {{ .Values.no | toJson }}\n",
    );
    let suite = "templates: [a.yaml]\ntests:\n- it: t\n  set: {on: 1, no: {yes: 2}}\n  asserts:\n  - equal: {path: on, value: 1}\n  - equal: {path: no.yes, value: 2}\n";
    let chart = edge(folder.path(), &[template, ("tests/a_test.yaml", suite)]);
    let run = test(&chart, &[]);
    assert_eq!(run.code, 0, "{}{}", run.stdout, run.stderr);
}

/// The results of the last run stayed.
#[test]
fn junit_has_the_mistakes_for_which_no_test_was_run() {
    let folder = tempfile::tempdir().unwrap();
    let suite = "tests:\n- it: t\n  asserts: [{isKin: {of: A}}]\n- it: u\n";
    let chart = edge(folder.path(), &[A, ("tests/a_test.yaml", suite)]);
    let file = folder.path().join("results.xml");
    fs::write(&file, "of the last run").unwrap();
    assert_eq!(test(&chart, &["--junit", file.to_str().unwrap()]).code, 1);
    let text = fs::read_to_string(&file).unwrap();
    assert!(
        text.contains(
            "<testsuites name=\"solar-render test\" tests=\"2\" failures=\"0\" errors=\"2\" skipped=\"0\">"
        ),
        "{text}"
    );
    assert!(text.contains("a_test.yaml:3:"), "{text}");
    assert!(
        text.contains("<error message=\"tests[0].asserts[0]: there is no assertion `isKin`\">"),
        "{text}"
    );
    fs::write(chart.join("tests/a_test.yaml"), "").unwrap();
    let run = test(&chart, &["--junit", file.to_str().unwrap()]);
    assert_eq!(run.code, 2);
    assert!(
        run.stderr.contains("a_test.yaml holds no suite"),
        "{}",
        run.stderr
    );
    assert!(
        fs::read_to_string(&file)
            .unwrap()
            .contains("there is no test to run")
    );
}

#[test]
fn texts_of_suites_and_templates_are_no_commands() {
    let folder = tempfile::tempdir().unwrap();
    let suite = r#"suite: "s\e[2J"
templates: [a.yaml]
tests:
- it: "t\nPASS forged"
  asserts: [{equal: {path: kind, value: "x\n::warning::y\e[1m"}}, {equal: {path: text, value: "x\n y"}}]
- it: skipped
  skip: {reason: "r\e[3m\n::error::forged"}
  asserts: [{isKind: {of: A}}]
"#;
    let template = ("templates/a.yaml", "kind: A\ntext: \"x\\n::warning::z\\n y\"\n");
    let chart = edge(folder.path(), &[template, ("tests/a_test.yaml", suite)]);
    let run = test(&chart, &[]);
    assert_eq!(run.code, 1);
    assert!(!run.stdout.contains('\u{1b}'), "{:?}", run.stdout);
    for line in run.stdout.lines() {
        let text = line.trim_start();
        assert!(
            !text.starts_with("::") && !text.starts_with("PASS forged"),
            "{line}"
        );
    }
    assert!(run.stdout.contains(r"failed: t\nPASS forged"), "{}", run.stdout);
}

#[test]
fn the_error_of_an_output_is_at_the_template_s_line() {
    let folder = tempfile::tempdir().unwrap();
    let template = (
        "templates/a.yaml",
        "{{- range until 20 }}\nk{{ . }}: 1\n{{- end }}\nbad: {{ .Values.bad }}\n",
    );
    let suite =
        "templates: [a.yaml]\ntests:\n- it: t\n  set: {bad: 'a: b: c'}\n  asserts: [{isKind: {of: A}}]\n";
    let chart = edge(folder.path(), &[template, ("tests/a_test.yaml", suite)]);
    let run = test(&chart, &[]);
    assert_eq!(run.code, 1);
    assert!(run.stdout.contains("templates/a.yaml:4:"), "{}", run.stdout);
    assert!(
        run.stdout.contains("line 22 of what it renders to"),
        "{}",
        run.stdout
    );
}

/// It once ran twice, and wrote its snapshots twice.
#[test]
fn a_chart_that_is_given_in_two_spellings_is_tested_once() {
    let folder = tempfile::tempdir().unwrap();
    let suite = "tests:\n- it: t\n  template: a.yaml\n  asserts: [{isKind: {of: A}}]\n";
    let chart = edge(folder.path(), &[A, ("tests/a_test.yaml", suite)]);
    let run = test(&chart, &[chart.join("templates/..").to_str().unwrap()]);
    assert!(run.stdout.contains("1 suite, 1 test: 1 passed"), "{}", run.stdout);
}

/// What helm-unittest 1.1.2 says of them.
#[test]
#[allow(clippy::too_many_lines, reason = "a table")]
fn what_is_empty_or_of_another_type_counts_as_in_helm_unittest() {
    let folder = tempfile::tempdir().unwrap();
    let text = |value: &str| format!("equal: {{path: {value}}}");
    let cases = [
        (
            "capabilities: {minorVersion: 1.5}",
            text("kube, value: v1.20.0"),
            true,
        ),
        (
            "capabilities: {minorVersion: 030}",
            text("kube, value: v1.24.0"),
            true,
        ),
        (
            "release: {name: ''}",
            text("release.Name, value: RELEASE-NAME"),
            true,
        ),
        (
            "release: {namespace: ''}",
            text("release.Namespace, value: NAMESPACE"),
            true,
        ),
        ("release: {name: X_y}", "exists: {path: kube}".to_owned(), false),
        ("release: {name: X_y}", "failedTemplate: {}".to_owned(), true),
        (
            "release: {name: X_y}",
            "failedTemplate: {errorPattern: invalid release name}".to_owned(),
            true,
        ),
        (
            "release: {revision: 1.0}",
            text("release.Revision, value: 1"),
            true,
        ),
        ("chart: {version: ''}", text("chart, value: 1.0.0"), true),
        ("documentSelector: {value: Z}", text("'l[0]', value: 1"), true),
        ("postRenderer: {}", text("'l[0]', value: 1"), true),
        ("values: [v.yaml]", text("values.a, value: 'yes'"), true),
        ("values: [twice.yaml]", "exists: {path: kube}".to_owned(), false),
        ("documentIndex: 0", text("text, value: \"x\\ny\""), true),
        (
            "documentIndex: 0",
            "containsDocument: {kind: K, apiVersion: v1}".to_owned(),
            true,
        ),
        ("documentIndex: 0", text("'m[*]~', value: a"), false),
        ("documentIndex: 0", "exists: {path: 'm[*]~'}".to_owned(), true),
        (
            "documentIndex: 0",
            "exists: {path: ' [\"m\"].a'}".to_owned(),
            true,
        ),
        (
            "documentIndex: 0",
            "exists: {path: 'l[?(true)]'}".to_owned(),
            true,
        ),
        (
            "documentIndex: 0",
            "notExists: {path: 'l[?(@..x)]'}".to_owned(),
            false,
        ),
    ];
    let mut suite = String::from("templates: [s.yaml]\ntests:\n");
    for (number, (setting, check, _)) in cases.iter().enumerate() {
        let _ = write!(suite, "- it: t{number}\n  {setting}\n  asserts:\n  - {check}\n");
    }
    let chart = edge(folder.path(), &[S, VALUES, TWICE, ("tests/a_test.yaml", &suite)]);
    let found = verdicts(&chart, &[]);
    for (number, (setting, check, holds)) in cases.iter().enumerate() {
        let verdict = &found[&format!("t{number}")];
        assert_eq!(verdict == "passed", *holds, "{setting} {check}: {verdict}");
    }
}

/// The suites whose verdicts are compared: every way to name templates, with every way to fail.
fn failing_suites() -> String {
    let mut out = String::new();
    let headers = [
        "excludeTemplates: [x.yaml]",
        "templates: ['*']",
        "templates: ['**']",
        "templates: ['*.yaml']",
        "templates: ['templates/*.yaml']",
        "templates: [b.yaml]",
        "templates: [a.yaml, b.yaml]",
        "templates: [a.yaml, 'b*']",
        "excludeTemplates: [a.yaml]",
    ];
    let checks = [
        "failedTemplate: {}",
        "{failedTemplate: {}, not: true}",
        "failedTemplate: {errorPattern: .}",
        "{failedTemplate: {errorPattern: zzz}, not: true}",
        "failedTemplate: {errorMessage: need it}",
        "{failedTemplate: {errorMessage: in helper}, template: b.yaml}",
        "{failedTemplate: {errorPattern: .}, template: a.yaml}",
        "{failedTemplate: {errorPattern: zzz}, template: a.yaml, not: true}",
        "{failedTemplate: {errorPattern: '^executing'}, template: b.yaml}",
        "{failedTemplate: {errorMessage: boom}, template: b.yaml}",
        "{failedTemplate: {errorPattern: 'two$'}, template: b.yaml}",
    ];
    for (number, header) in headers.iter().enumerate() {
        let _ = writeln!(out, "---\nsuite: s{number}\n{header}\ntests:");
        for mode in [
            "fail", "required", "nil", "index", "tpl", "helper", "break", "lines",
        ] {
            for template in [
                "",
                "  template: b.yaml\n",
                "  template: a.yaml\n",
                "  templates: [a.yaml, b.yaml]\n",
            ] {
                for check in checks {
                    let name = format!("{header} {mode} {} {check}", template.trim()).replace('"', "");
                    let _ = write!(
                        out,
                        "- it: \"{name}\"\n{template}  set: {{mode: {mode}}}\n  asserts:\n  - {check}\n"
                    );
                }
            }
        }
    }
    out
}

/// Of a template that fails.
const FAILING: &[&str] = &[
    "{template: b.yaml, failedTemplate: {errorPattern: 'set l[0] (must) be a+b'}}",
    "{template: b.yaml, failedTemplate: {errorPattern: 'what? {x} *'}}",
    "{template: b.yaml, failedTemplate: {errorPattern: 'values (foo'}}",
    "{template: b.yaml, failedTemplate: {errorPattern: 'xx|yy'}}",
    "{template: b.yaml, failedTemplate: {errorPattern: 'a+b$'}}",
    "{template: b.yaml, not: true, failedTemplate: {errorPattern: 'set l[0] (must) be a+b'}}",
    "{template: b.yaml, not: true, failedTemplate: {errorPattern: 'values (foo'}}",
    "{template: b.yaml, not: true, failedTemplate: {errorPattern: '^set'}}",
    "{template: b.yaml, not: true, failedTemplate: {errorPattern: 'a|zzz'}}",
    "{template: b.yaml, not: true, failedTemplate: {errorPattern: 'set'}}",
];

/// Of templates that don't fail.
const PLAIN: &[&str] = &[
    "{template: a.yaml, notFailedTemplate: {errorMessage: x}, not: true}",
    "{template: a.yaml, notFailedTemplate: {errorPattern: x}, not: true}",
    "{template: a.yaml, notFailedTemplate: {}, not: true}",
    "{template: a.yaml, notFailedTemplate: {errorMessage: x}}",
    "{template: a.yaml, notFailedTemplate: {errorMessage: x, errorPattern: y}}",
    "{template: NOTES.txt, notFailedTemplate: {errorMessage: \"Hello\\n\"}}",
    "{template: NOTES.txt, notFailedTemplate: {errorMessage: \"Hello\\n\"}, not: true}",
    "{template: NOTES.txt, notFailedTemplate: {errorPattern: Hello}}",
    "{template: NOTES.txt, notFailedTemplate: {errorPattern: Hello}, not: true}",
    "{template: nothing.yaml, notFailedTemplate: {errorMessage: x}, not: true}",
    "{template: nothing.yaml, notFailedTemplate: {errorMessage: x}}",
    "{template: nothing.yaml, lengthEqual: {path: raw}, not: true}",
    "{template: nothing.yaml, lengthEqual: {path: raw, count: -1}, not: true}",
    "{template: nothing.yaml, lengthEqual: {paths: [raw]}, not: true}",
    "{template: nothing.yaml, lengthEqual: {}, not: true}",
    "{template: nothing.yaml, matchRegexRaw: {}, not: true}",
    "{template: nothing.yaml, matchRegex: {path: x}, not: true}",
    "{template: nothing.yaml, matchRegexRaw: {pattern: '('}, not: true}",
    "{template: a.yaml, lengthEqual: {paths: [raw, x]}, not: true}",
    "{template: a.yaml, lengthEqual: {paths: [raw]}, not: true}",
    "{template: a.yaml, lengthEqual: {paths: [l, m]}, not: true}",
    "{template: a.yaml, lengthEqual: {paths: [l, m, l]}, not: true}",
    "{template: a.yaml, lengthEqual: {paths: [l, l]}}",
    "{template: a.yaml, lengthEqual: {paths: [l, kind]}}",
    "{template: a.yaml, lengthEqual: {paths: [l, m], count: 3}, not: true}",
    "{template: a.yaml, lengthEqual: {paths: [l, l], count: 3}, not: true}",
    "{template: a.yaml, lengthEqual: {paths: [x, l], count: 2}, not: true}",
    "{template: templates//a.yaml, isKind: {of: A}}",
    "{template: templates/sub/../a.yaml, isKind: {of: A}}",
    "{template: sub/../a.yaml, isKind: {of: A}}",
    "{template: ./a.yaml, isKind: {of: A}}",
    "{template: a.yaml, equal: {path: zero, value: 0}}",
    "{template: a.yaml, equal: {path: zero, value: -0.0}}",
    "{template: a.yaml, matchSnapshot: {path: zero}}",
    "{template: a.yaml, matchSnapshot: {path: kind, matchRegex: {pattern: Nope}}, not: true}",
    "{template: a.yaml, matchSnapshot: {path: kind, matchRegex: {pattern: A}}, not: true}",
    "{template: a.yaml, matchSnapshot: {path: kind, matchRegex: {pattern: \" A \"}}}",
    "{template: a.yaml, matchSnapshot: {path: kind, notMatchRegex: {pattern: A}}, not: true}",
    "{template: a.yaml, matchSnapshot: {path: kind, notMatchRegex: {pattern: B}}, not: true}",
    "{template: a.yaml, matchSnapshot: {path: kind}, not: true}",
    "{template: '', isKind: {of: A}}",
    "{template: s.yaml, equal: {path: text, value: \"x\\ny\"}}",
    "{template: s.yaml, notEqual: {path: text, value: \"x \\ny\"}}",
    "{template: s.yaml, equal: {path: base64, decodeBase64: true, value: \"x\\ny\"}}",
    "{template: s.yaml, equal: {path: breaks, value: \"a\\nb\\r\\nc\"}}",
    "{template: s.yaml, matchRegex: {path: text, pattern: \"x \\ny\"}}",
    "{template: s.yaml, isSubset: {path: '', content: {text: \"x \\ny\"}}}",
    "{template: s.yaml, greaterOrEqual: {path: big, value: 18446744073709551615}}",
    "{template: s.yaml, notGreaterOrEqual: {path: big, value: 18446744073709551615}}",
    "{template: s.yaml, containsDocument: {kind: K, apiVersion: v1}}",
    "{template: s.yaml, containsDocument: {kind: K, apiVersion: v1, name: n}}",
    "{template: s.yaml, containsDocument: {kind: K, apiVersion: v1, name: n, namespace: ''}}",
    "{template: s.yaml, containsDocument: {kind: K, apiVersion: v1, name: other}}",
    "{template: s.yaml, containsDocument: {kind: K, apiVersion: v1, namespace: other}, not: true}",
    "{template: a.yaml, containsDocument: {kind: K, apiVersion: v1}}",
    "{template: a.yaml, containsDocument: {kind: A, apiVersion: v1, any: true}}",
    "{template: NOTES.txt, containsDocument: {kind: K, apiVersion: v1}}",
    "{template: s.yaml, matchSnapshot: {path: 'm[*]~'}}",
    "{template: s.yaml, matchSnapshot: {path: 'l[1][*]~'}}",
    "{template: s.yaml, exists: {path: 'l[*]~'}}",
    "{template: s.yaml, exists: {path: 'm.*~'}}",
    "{template: s.yaml, matchSnapshot: {path: ' [\"m\"].a'}}",
    "{template: s.yaml, exists: {path: ' m'}}",
    "{template: s.yaml, exists: {path: ' [*]'}}",
    "{template: s.yaml, exists: {path: ' [ ''m'' ]'}}",
    "{template: s.yaml, matchSnapshot: {path: 'l[?(true)]'}}",
    "{template: s.yaml, exists: {path: 'l[?(false)]'}}",
    "{template: s.yaml, matchSnapshot: {path: 'l[?(!false)]'}}",
    "{template: s.yaml, matchSnapshot: {path: 'l[?(true && @.x)]'}}",
    "{template: s.yaml, exists: {path: 'l[?(1)]'}}",
    "{template: s.yaml, exists: {path: 'l[?(@..x)]'}}",
    "{template: s.yaml, notExists: {path: 'l[?(!@..x)]'}}",
    "{template: s.yaml, exists: {path: 'l[?($..a == 1)]'}}",
    "{template: s.yaml, exists: {path: 'l[?(@.x~)]'}}",
    "{template: s.yaml, hasDocuments: {count: 1.0}}",
    "{template: s.yaml, lengthEqual: {path: l, count: 2.0}}",
];

/// What tests set, and what comes of it. In helm-unittest versions of Kubernetes stay for later tests: each of them sets
/// its own, but for the first.
const SETTINGS: &[(&str, &str)] = &[
    ("capabilities: {minorVersion: 1.5}", "matchSnapshot: {path: kube}"),
    (
        "capabilities: {minorVersion: true}",
        "matchSnapshot: {path: kube}",
    ),
    ("capabilities: {majorVersion: 1.0}", "matchSnapshot: {path: kube}"),
    ("capabilities: {minorVersion: ''}", "matchSnapshot: {path: kube}"),
    ("capabilities: {minorVersion: 030}", "matchSnapshot: {path: kube}"),
    (
        "capabilities: {minorVersion: 0x1e}",
        "matchSnapshot: {path: kube}",
    ),
    ("capabilities: {minorVersion: 25+}", "matchSnapshot: {path: kube}"),
    ("capabilities: {minorVersion: yes}", "matchSnapshot: {path: kube}"),
    ("release: {name: ''}", "matchSnapshot: {path: release}"),
    (
        "release: {name: a.b, namespace: ''}",
        "matchSnapshot: {path: release}",
    ),
    ("release: {name: X_y}", "matchSnapshot: {path: release}"),
    ("release: {name: X_y}", "failedTemplate: {}"),
    ("release: {name: X_y}", "failedTemplate: {errorPattern: invalid}"),
    ("release: {name: RELEASE-NAME}", "matchSnapshot: {path: release}"),
    ("release: {revision: 1.0}", "matchSnapshot: {path: release}"),
    ("release: {revision: 1.5}", "matchSnapshot: {path: release}"),
    ("release: {revision: 1e3}", "matchSnapshot: {path: release}"),
    ("chart: {version: ''}", "matchSnapshot: {path: chart}"),
    ("chart: {appVersion: ''}", "matchSnapshot: {path: chart}"),
    ("template: ''", "{template: s.yaml, exists: {path: kube}}"),
    ("documentSelector: {}", "exists: {path: kube}"),
    ("documentSelector: {value: Z}", "exists: {path: kube}"),
    ("documentSelector: {path: ''}", "exists: {path: kube}"),
    ("documentIndex: 0.0", "exists: {path: kube}"),
    ("postRenderer: {}", "exists: {path: kube}"),
    ("postRenderer: {cmd: ''}", "exists: {path: kube}"),
    ("values: [v.yaml]", "matchSnapshot: {path: values}"),
    ("values: [twice.yaml]", "exists: {path: kube}"),
];

fn other_suites() -> String {
    let mut out = String::from("suite: other\ntests:\n");
    let failing = FAILING.iter().map(|check| (check, "fail"));
    for (check, mode) in failing.chain(PLAIN.iter().map(|check| (check, ""))) {
        let name = format!("{mode} {}", check.replace('\\', "/").replace('"', "'"));
        let _ = write!(
            out,
            "- it: \"{name}\"\n  set: {{mode: \"{mode}\"}}\n  asserts:\n  - {check}\n"
        );
    }
    for (setting, check) in SETTINGS {
        let name = format!("{setting} {check}").replace('"', "'");
        let template = match setting.starts_with("template") {
            true => "",
            false => "  template: s.yaml\n",
        };
        let _ = write!(
            out,
            "- it: \"{name}\"\n{template}  {setting}\n  asserts:\n  - {check}\n"
        );
    }
    for index in [-1, 0, 1] {
        let _ = write!(
            out,
            "- it: index {index}\n  template: a.yaml\n  documentIndex: {index}\n  asserts:\n  - {{documentIndex: 1, isKind: {{of: A}}}}\n"
        );
    }
    out
}

#[test]
#[ignore = "needs servers or peers: .ci/test runs it"]
fn verdicts_of_edge_cases_are_those_of_helm_unittest() {
    let folder = tempfile::tempdir().unwrap();
    let (failing, other) = (failing_suites(), other_suites());
    let files = [
        A,
        B,
        HELPER,
        NOTES,
        NOTHING,
        S,
        VALUES,
        TWICE,
        ("tests/failing_test.yaml", failing.as_str()),
        ("tests/other_test.yaml", other.as_str()),
    ];
    let ours = edge(folder.path(), &files);
    let theirs = folder.path().join("theirs/edge");
    copy(&ours, &theirs);
    let [their_file, our_file] = ["theirs.xml", "ours.xml"].map(|file| folder.path().join(file));
    let mut peer = Tool::HelmUnittest.command(folder.path());
    peer.current_dir(theirs.parent().unwrap());
    peer.args(["-t", "JUnit", "-o"]).arg(&their_file).arg("edge");
    let peer = peer.output().unwrap();
    let own = test(&ours, &["--junit", our_file.to_str().unwrap()]);
    let [expected, found] = [&their_file, &our_file].map(|file| {
        let text = fs::read_to_string(file);
        junit_verdicts(
            &text.unwrap_or_else(|_| panic!("{}{}", String::from_utf8_lossy(&peer.stdout), own.stderr)),
        )
    });
    assert!(expected.len() > 1000, "{}", expected.len());
    let differ: Vec<_> = found
        .iter()
        .zip(&expected)
        .filter(|(one, other)| one != other)
        .collect();
    assert!(
        differ.is_empty() && found.len() == expected.len(),
        "{} {differ:#?}",
        differ.len()
    );
    let snapshot =
        |chart: &Path| fs::read_to_string(chart.join("tests/__snapshot__/other_test.yaml.snap")).unwrap();
    assert_eq!(snapshot(&ours), snapshot(&theirs));
}
