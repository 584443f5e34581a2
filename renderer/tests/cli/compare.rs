//! `compare`: with a real Helm, or with a shell script in its place where none is needed.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;
use tempfile::TempDir;
use testbed::Tool;

use crate::dependency::chart;
use crate::{Run, binary, command, testdata};

/// A chart `shop` with two templates, one of which includes a third.
pub(crate) fn shop(folder: &Path) -> PathBuf {
    let shop = folder.join("shop");
    chart(&shop, "shop", "1.0.0", &[]);
    fs::create_dir_all(shop.join("ci")).unwrap();
    let files = [
        ("values.yaml", "color: red\n"),
        ("ci/blue-values.yaml", "color: blue\n"),
        (
            "templates/_labels.tpl",
            "{{ define \"labels\" -}}\nteam: a\ncolor: {{ .Values.color }}\n{{- end }}\n",
        ),
        (
            "templates/a.yaml",
            "kind: ConfigMap\nmetadata:\n  name: a\n  labels:\n    {{- include \"labels\" . | nindent 4 }}\ndata:\n  color: {{ .Values.color }}\n",
        ),
        (
            "templates/b.yaml",
            "kind: Secret\nmetadata: {name: b}\nstringData:\n  password: {{ printf \"hunter-%s\" .Values.color }}\n",
        ),
    ];
    for (path, text) in files {
        fs::write(shop.join(path), text).unwrap();
    }
    shop
}

/// A program that answers as Helm does: it passes what we render through `filter`.
fn helm(folder: &Path, filter: &str) -> PathBuf {
    let path = folder.join("helm");
    let script = format!(
        "#!/bin/sh\nif [ \"$1\" = version ]; then echo v4.3.1; exit; fi\n\
         out=$({} \"$@\") || exit 1\nprintf '%s\\n' \"$out\" | {filter}\n",
        binary().display()
    );
    script_at(&path, &script);
    path
}

/// Written by a separate process: a child that another test forks meanwhile would hold the file open for writing, and
/// executing it would fail (`ETXTBSY`).
pub(crate) fn script_at(path: &Path, script: &str) {
    let write = r#"printf '%s\n' "$1" >"$2" && chmod 755 "$2""#;
    let mut shell = Command::new("/bin/sh");
    assert!(
        shell
            .args(["-c", write, "sh", script])
            .arg(path)
            .status()
            .unwrap()
            .success()
    );
}

pub(crate) fn compare(charts: &Path, helm: &Path, more: &[&str]) -> Run {
    let mut command = crate::command();
    command.args([
        "compare",
        charts.to_str().unwrap(),
        "--helm",
        helm.to_str().unwrap(),
    ]);
    Run::of(command.env("PATH", "/usr/bin:/bin").args(more))
}

/// What a case of the JSON says: chart folder, values, verdict, number of differences.
pub(crate) fn verdicts(document: &Value) -> Vec<String> {
    let cases = document["cases"].as_array().unwrap().iter();
    let said = cases.map(|case| {
        let chart = Path::new(case["chart"].as_str().unwrap()).file_name().unwrap();
        format!(
            "{} {} {} {}",
            chart.to_str().unwrap(),
            case["values"].as_str().unwrap_or("-"),
            case["verdict"].as_str().unwrap(),
            case["differences"].as_array().map_or(0, Vec::len)
        )
    });
    said.collect()
}

#[test]
#[ignore = "needs servers or peers: .ci/test runs it"]
fn differences_are_shown_at_the_templates_line_and_secrets_hidden() {
    let folder = TempDir::new().unwrap();
    let shop = shop(folder.path());
    let helm = helm(
        folder.path(),
        "sed -e 's/^  color: blue/  color: BLUE/' -e 's/hunter-red/hunter-RED/' | grep -v 'team: a'",
    );
    let run = compare(&shop, &helm, &[]);
    assert_eq!(run.code, 10, "{}", run.stderr);
    let path = shop.display();
    for expected in [
        format!("==> {path} (values.yaml)\n"),
        format!("==> {path} (ci/blue-values.yaml)\n"),
        format!(
            "ConfigMap a of shop/templates/a.yaml\n  --> {path}/templates/a.yaml:7:13\n  -   color: BLUE\n  +   color: blue\n"
        ),
        format!(
            "  --> {path}/templates/_labels.tpl:2:1\n      included as \"labels\" at {path}/templates/a.yaml:5:9\n  +     team: a\n"
        ),
        "  -   password: (hidden)\n  +   password: (hidden)\n".to_owned(),
        "2 cases: 0 the same, 2 not the same. Helm v4.3.1: ".to_owned(),
    ] {
        assert!(run.stdout.contains(&expected), "{expected}\n{}", run.stdout);
    }
    assert!(!run.stdout.contains("hunter"), "{}", run.stdout);
    assert!(
        run.stderr
            .contains("2 of 2 cases are not the same with Helm v4.3.1"),
        "{}",
        run.stderr
    );
    let shown = compare(&shop, &helm, &["--show-secrets", "-o", "json"]);
    assert_eq!(shown.code, 10);
    let document = shown.json();
    assert_eq!(
        verdicts(&document),
        ["shop - different 2", "shop ci/blue-values.yaml different 2"]
    );
    let secret = &document["cases"][0]["differences"][0];
    assert_eq!(
        (&secret["ours"][0], &secret["line"], &secret["object"]),
        (&"  password: hunter-red".into(), &4.into(), &"Secret b".into())
    );
    // The values of the command line win over those of the case, and both programs get them.
    let same = compare(&shop, &helm, &["--set", "color=green", "-s", "x"]);
    assert_eq!(same.code, 2, "{}", same.stderr);
    let green = compare(&shop, &helm, &["--set", "color=green", "-o", "json"]);
    assert_eq!(
        verdicts(&green.json()),
        ["shop - different 1", "shop ci/blue-values.yaml different 1"]
    );
}

#[test]
#[ignore = "needs servers or peers: .ci/test runs it"]
fn what_helm_renders_differently_each_time_is_masked() {
    let folder = TempDir::new().unwrap();
    let shop = shop(folder.path());
    let random = "sed \"s/hunter-red/$(od -An -N8 -tx8 /dev/urandom | tr -d ' ')/\"";
    let run = compare(&shop, &helm(folder.path(), random), &["-o", "json"]);
    assert_eq!(run.code, 10, "{}", run.stdout);
    // Sixteen digits are no ten characters.
    assert_eq!(
        verdicts(&run.json()),
        ["shop - different 1", "shop ci/blue-values.yaml same 0"]
    );
    let random = "sed \"s/hunter-red/x-$(od -An -N8 -tx8 /dev/urandom | tr -d ' ')/\"";
    let run = compare(&shop, &helm(folder.path(), random), &["-o", "json"]);
    assert_eq!(run.code, 0, "{}", run.stdout);
    let document = run.json();
    assert_eq!(
        (&document["cases"][0]["masked"], &document["cases"][1]["masked"]),
        (&1.into(), &0.into())
    );
    // Equal by chance until the last of all runs.
    let count = folder.path().join("count");
    let late = format!(
        "{{ echo x >> {0}; if [ $(wc -l < {0}) -lt 6 ]; then sed s/hunter-red/a/; else sed s/hunter-red/b/; fi; }}",
        count.display()
    );
    let case = folder.path().join("one");
    fs::rename(&shop, &case).unwrap();
    fs::remove_dir_all(case.join("ci")).unwrap();
    let run = compare(&case, &helm(folder.path(), &late), &["-o", "json"]);
    assert_eq!(run.code, 0, "{}", run.stdout);
    assert_eq!(run.json()["cases"][0]["helmRuns"], 6);
}

#[test]
#[ignore = "needs servers or peers: .ci/test runs it"]
fn refusals_are_compared() {
    let folder = TempDir::new().unwrap();
    let shop = shop(folder.path());
    let refusing = helm(folder.path(), "{ echo 'Error: not today' >&2; exit 1; }");
    let run = compare(&shop, &refusing, &[]);
    assert_eq!(run.code, 10);
    assert!(
        run.stdout
            .contains("Helm refuses:\n  Error: not today\nsolar-render renders it.\n"),
        "{}",
        run.stdout
    );
    fs::write(shop.join("templates/b.yaml"), "{{ fail \"never\" }}").unwrap();
    let run = compare(&shop, &refusing, &["-o", "json"]);
    assert_eq!(run.code, 10, "{}", run.stdout);
    assert!(
        run.stderr
            .contains("nothing could be compared: both programs refuse every case"),
        "{}",
        run.stderr
    );
    assert_eq!(
        verdicts(&run.json()),
        ["shop - both-refuse 0", "shop ci/blue-values.yaml both-refuse 0"]
    );
    assert!(
        run.stderr
            .contains("both programs refuse it, so that nothing is compared"),
        "{}",
        run.stderr
    );
    assert!(run.stderr.contains("Helm: error: never"), "{}", run.stderr);
    // Helm takes anything.
    let path = folder.path().join("helm");
    script_at(&path, "#!/bin/sh\necho v4.3.1");
    let run = compare(&shop, &path, &["-o", "json"]);
    assert_eq!(run.code, 10);
    let document = run.json();
    assert_eq!(document["cases"][0]["verdict"], "only-solar-render-refuses");
    assert!(
        document["cases"][0]["error"].as_str().unwrap().contains("never"),
        "{document}"
    );
}

#[test]
fn a_helm_that_is_missing_or_none_is_an_error_that_says_where_it_was_searched() {
    let folder = TempDir::new().unwrap();
    let shop = shop(folder.path());
    let chart = shop.to_str().unwrap();
    std::os::unix::fs::symlink(binary(), folder.path().join("helm")).unwrap();
    let empty = folder.path().join("empty");
    fs::create_dir(&empty).unwrap();
    let run = |words: &[&str], solar_helm: &str, path: &Path| {
        let mut command = command();
        command.args(["compare", chart]).args(words).env("PATH", path);
        Run::of(command.env("SOLAR_HELM", solar_helm))
    };
    for (words, solar_helm, path, expected) in [
        (
            vec!["--helm", "/nonexistent"],
            "",
            empty.as_path(),
            vec!["--helm: there is no program /nonexistent"],
        ),
        (
            vec![],
            "/nonexistent",
            &empty,
            vec!["SOLAR_HELM: there is no program /nonexistent"],
        ),
        (
            vec![],
            "",
            &empty,
            vec![
                "there is no Helm to compare with",
                "--helm (not given), SOLAR_HELM (not set), `helm` on the PATH",
                "empty",
            ],
        ),
        // Called as `helm` it would compare itself.
        (
            vec![],
            "",
            folder.path(),
            vec!["there is no Helm to compare with", "helm is solar-render itself"],
        ),
        (
            vec!["--helm", chart],
            "",
            &empty,
            vec!["--helm: there is no program"],
        ),
        (
            vec!["--helm", binary().to_str().unwrap()],
            "",
            &empty,
            vec!["is solar-render itself"],
        ),
        (
            vec!["--helm", "/bin/true"],
            "",
            &empty,
            vec!["/bin/true is not Helm: `version` does not print a version"],
        ),
        (
            vec!["--helm", "/bin/true", "-f", "-"],
            "",
            &empty,
            vec!["values on standard input can't be read by several runs"],
        ),
    ] {
        let run = run(&words, solar_helm, path);
        assert_eq!(run.code, 2, "{words:?} {}", run.stderr);
        for one in expected {
            assert!(run.stderr.contains(one), "{one}: {}", run.stderr);
        }
    }
    let none = compare(&empty, Path::new("/bin/true"), &[]);
    assert_eq!(none.code, 2, "{}", none.stderr);
}

/// A chart whose keys, passwords, times and orders are new in every run.
fn generated(folder: &Path) {
    let own = folder.join("generated");
    chart(&own, "generated", "1.0.0", &[]);
    let text = "\
{{ $ca := genCA \"ca\" 365 }}
{{ $cert := genSignedCert \"a\" nil (list \"a.b\") 365 $ca }}
apiVersion: v1
kind: Secret
metadata:
  name: {{ printf \"job-%s\" (randAlphaNum 5 | lower) }}
  annotations:
    rolled: {{ now | date \"2006-01-02 15:04:05.000000000\" | quote }}
    at: {{ now | unixEpoch | quote }}
    id: {{ uuidv4 }}
    keys: {{ keys .Values.map | join \",\" }}
data:
  password: {{ randAlphaNum 24 | b64enc }}
  tls.crt: {{ $cert.Cert | b64enc }}
  hash: {{ htpasswd \"a\" \"b\" | b64enc }}
stringData:
  tls.key: |
    {{- $cert.Key | nindent 4 }}
  ca.pem: {{ $ca.Cert | quote }}
  key: |
    {{- genPrivateKey \"ecdsa\" | nindent 4 }}
";
    fs::create_dir_all(own.join("templates")).unwrap();
    fs::write(own.join("templates/a.yaml"), text).unwrap();
    fs::write(own.join("values.yaml"), "map: {a: 1, b: 2, c: 3}\n").unwrap();
}

/// It once took charts on disk alone.
#[test]
fn charts_that_are_fetched_are_compared_under_the_names_they_were_given_by() {
    let folder = TempDir::new().unwrap();
    let shop = shop(folder.path());
    let layout = format!("oci-layout:{}", folder.path().join("layout").display());
    let pushed = Run::of(command().args(["push", shop.to_str().unwrap(), &layout]));
    assert_eq!(pushed.code, 0, "{}", pushed.stderr);
    let helm = helm(folder.path(), "sed 's/color: blue/color: BLUE/'");
    let named = format!("{layout}/shop");
    let run = compare(Path::new(&named), &helm, &["--version", "^1", "-o", "json"]);
    assert_eq!(run.code, 10, "{}\n{}", run.stdout, run.stderr);
    let document = run.json();
    let cases = document["cases"].as_array().unwrap();
    let found: Vec<_> = cases
        .iter()
        .map(|case| (case["chart"].as_str().unwrap(), case["values"].as_str()))
        .collect();
    assert_eq!(
        found,
        [
            (named.as_str(), None),
            (named.as_str(), Some("ci/blue-values.yaml"))
        ]
    );
    let file = &cases[1]["differences"][0]["file"];
    assert!(file.as_str().unwrap().starts_with("shop/templates/"), "{file}");

    let missing = compare(Path::new(&format!("{named}:9.9.9")), &helm, &[]);
    assert_ne!(missing.code, 0);
    assert!(missing.stderr.contains("shop has no 9.9.9"), "{}", missing.stderr);
    let unknown = compare(Path::new("nowhere/shop"), &helm, &[]);
    let text = "nowhere/shop is neither a path nor a chart of a repository";
    assert!(unknown.stderr.contains(text), "{}", unknown.stderr);
}

#[test]
#[ignore = "needs servers or peers: .ci/test runs it"]
fn charts_render_the_same_as_with_helm() {
    let folder = TempDir::new().unwrap();
    generated(folder.path());
    let shop = shop(folder.path());
    let charts = testdata().join("helm/charts");
    for name in ["crds", "deps", "hooks", "order", "errors", "schema", "bad-chart"] {
        copy(&charts.join(name), &folder.path().join(name));
    }
    // An archive has its ci values in it.
    let out = folder.path().join("archives");
    let packed = Run::of(command().args(["package", shop.to_str().unwrap(), "-d", out.to_str().unwrap()]));
    assert_eq!(packed.code, 0, "{}", packed.stderr);
    let mut command = command();
    command
        .arg("compare")
        .arg(folder.path())
        .arg(out.join("shop-1.0.0.tgz"));
    let run = Run::of(command.args(["-o", "json"]).env("SOLAR_HELM", Tool::Helm.path()));
    assert_eq!(run.code, 0, "{}\n{}", run.stdout, run.stderr);
    let document = run.json();
    let found = verdicts(&document);
    for expected in [
        "generated - same 0",
        "shop ci/blue-values.yaml same 0",
        "shop-1.0.0.tgz ci/blue-values.yaml same 0",
        "crds - same 0",
        "bad-chart - both-refuse 0",
    ] {
        assert!(found.iter().any(|one| one == expected), "{expected}: {found:?}");
    }
    let masked = document["cases"]
        .as_array()
        .unwrap()
        .iter()
        .find(|case| case["masked"] != 0)
        .unwrap();
    assert!(masked["masked"].as_u64().unwrap() > 10, "{masked}");
    let version = document["helm"]["version"].as_str().unwrap();
    assert!(version.starts_with("v4.3"), "{version}");
    assert!(document["total"]["helmMicroseconds"].as_u64().unwrap() > 0);
}

#[test]
#[ignore = "needs servers or peers: .ci/test runs it"]
fn messages_quote_no_values_unless_secrets_are_shown() {
    let folder = TempDir::new().unwrap();
    let shop = shop(folder.path());
    fs::write(
        shop.join("templates/b.yaml"),
        "kind: Secret\nstringData:\n  a: {{ .Values.color }}: {{ .Values.color }}\n",
    )
    .unwrap();
    let quoting = "#!/bin/sh\nif [ \"$1\" = version ]; then echo v4.3.1; exit; fi\n\
                   printf 'Error: parsing \"hunter2-red\"\\n  a: hunter2-red\\n' >&2; exit 1";
    let path = folder.path().join("helm");
    script_at(&path, quoting);
    let result = folder.path().join("result.json");
    let flags = ["-o", "json", "--set", "color=hunter2-red"];
    let file = ["--result-file", result.to_str().unwrap()];
    let run = compare(&shop, &path, &[&flags[..], &file].concat());
    assert_eq!(run.code, 10, "{}", run.stderr);
    let written = fs::read_to_string(&result).unwrap();
    for text in [&run.stdout, &run.stderr, &written] {
        assert!(!text.contains("hunter2"), "{text}");
    }
    let error = run.json()["cases"][0]["error"].as_str().unwrap().to_owned();
    assert!(
        error.contains("YAML parse error") && error.contains("templates/b.yaml:3:"),
        "{error}"
    );
    let shown = compare(&shop, &path, &[&flags[..], &["--show-secrets"]].concat());
    let document = shown.json();
    for field in ["error", "helmError"] {
        let text = document["cases"][0][field].as_str().unwrap();
        assert!(text.contains("hunter2"), "{document}");
    }
}

#[test]
fn what_every_case_would_refuse_is_an_error_before_anything_runs() {
    let folder = TempDir::new().unwrap();
    let shop = shop(folder.path());
    for (words, expected) in [
        (vec!["--set-file", "f=nope"], "nope"),
        (vec!["--kube-version", "foo"], "foo"),
        (vec!["--name", "A_b"], "release name check failed"),
    ] {
        // No Helm is searched for.
        let run = compare(&shop, Path::new("/nonexistent"), &words);
        let template = match words.as_slice() {
            ["--name", name] => vec!["template", name, shop.to_str().unwrap()],
            _ => [&["template", shop.to_str().unwrap()], words.as_slice()].concat(),
        };
        let template = Run::of(command().args(template));
        assert_eq!(run.code, template.code, "{}", run.stderr);
        assert_ne!(run.code, 0);
        assert!(
            run.stderr.contains(expected) && !run.stderr.contains("/nonexistent"),
            "{}",
            run.stderr
        );
    }
}

/// They once counted as failures of values and of the disk.
#[test]
fn a_values_file_or_helm_that_is_missing_is_a_mistake_of_the_command_line() {
    let folder = TempDir::new().unwrap();
    let shop = shop(folder.path());
    let run = compare(&shop, Path::new("/nonexistent"), &["-f", "nope.yaml"]);
    assert_eq!(run.code, 2, "{}", run.stderr);
    assert!(
        run.stderr.contains("there is no file nope.yaml"),
        "{}",
        run.stderr
    );
    let plain = folder.path().join("plain");
    fs::write(&plain, "no program").unwrap();
    let run = compare(&shop, &plain, &[]);
    assert_eq!(run.code, 2, "{}", run.stderr);
    assert!(run.stderr.contains("can't run"), "{}", run.stderr);
    let no_program = folder.path().join("no-program");
    script_at(&no_program, "no program");
    let run = compare(&shop, &no_program, &[]);
    assert_eq!(run.code, 2, "{}", run.stderr);
}

fn copy(from: &Path, to: &Path) {
    for (path, bytes) in crate::tree(from) {
        let path = to.join(path.strip_prefix(from).unwrap());
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, bytes).unwrap();
    }
}
