//! Verdicts of suites with unusual values and settings: helm-unittest's.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use testbed::Tool;

use super::edges::{A, B, HELPER, NOTES, NOTHING, S, TWICE, VALUES, edge};
use super::{copy, junit_verdicts, test, verdicts};

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
