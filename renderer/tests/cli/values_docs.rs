//! `values docs`: helm-docs' bytes, and printed, written and checked.
//!
//! `testdata/helm-docs/cases.json` has charts as files; `readmes.json` what helm-docs 1.14.2 makes of each, null where it
//! refuses the chart. It is recorded by the first ignored test here, with RECORD_HELM_DOCS=1.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use serde::Deserialize;
use testbed::Tool;

use crate::{Run, command, testdata};

/// The cases in which we differ on purpose, and what helm-docs does there.
const OTHERWISE: &[(&str, &str)] = &[
    (
        "keys and annotations 15",
        "prints Go's `%!s(int=1)` for a number with an `@notationType`",
    ),
    ("an empty template", "prints a backslash and an n"),
    ("the types of data", "has types of its own for lists"),
    ("an unknown field", "leaves an empty README.md"),
    ("an unknown template", "leaves an empty README.md"),
    ("a failure", "leaves an empty README.md"),
];

#[derive(Deserialize)]
struct Case {
    name: String,
    flags: Vec<String>,
    files: BTreeMap<String, String>,
}

type Readmes = BTreeMap<String, Option<String>>;

fn read<T: for<'de> Deserialize<'de>>(file: &str) -> T {
    let text = fs::read_to_string(testdata().join("helm-docs").join(file)).unwrap();
    serde_json::from_str(&text).unwrap()
}

fn write(folder: &Path, files: &BTreeMap<String, String>) {
    for (name, text) in files {
        let path = folder.join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
}

fn docs(folder: &Path, words: &[&str]) -> Run {
    Run::of(command().current_dir(folder).args(["values", "docs"]).args(words))
}

#[test]
fn readmes_are_those_of_helm_docs() {
    let (cases, readmes): (Vec<Case>, Readmes) = (read("cases.json"), read("readmes.json"));
    let mut wrong = Vec::new();
    for case in &cases {
        let folder = tempfile::tempdir().unwrap();
        write(folder.path(), &case.files);
        let flags: Vec<&str> = case.flags.iter().map(String::as_str).collect();
        let run = docs(folder.path(), &[&["."], flags.as_slice()].concat());
        let ours = (run.code == 0).then_some(run.stdout);
        let is_same = ours == readmes[&case.name];
        let differs = OTHERWISE.iter().any(|(name, _)| *name == case.name);
        if is_same == differs {
            wrong.push(format!(
                "{}: {ours:?} {}\n{:?}",
                case.name, run.stderr, readmes[&case.name]
            ));
        }
    }
    assert!(
        wrong.is_empty(),
        "{} of {}:\n{}",
        wrong.len(),
        cases.len(),
        wrong.join("\n")
    );
    assert_eq!(cases.len(), readmes.len());
}

/// What helm-docs writes; `None` if it writes nothing.
fn helm_docs(folder: &Path, home: &Path, flags: &[String]) -> Option<String> {
    let out = folder.join("README.md");
    let _ = fs::remove_file(&out);
    let mut command = Tool::HelmDocs.command(home);
    command.current_dir(folder).args(flags).output().unwrap();
    fs::read(&out).ok().map(|bytes| String::from_utf8(bytes).unwrap())
}

#[test]
#[ignore = "needs servers or peers: .ci/test runs it"]
#[allow(
    clippy::disallowed_methods,
    reason = "a recording that is asked for by a variable"
)]
fn helm_docs_makes_the_recorded_readmes() {
    let cases: Vec<Case> = read("cases.json");
    let home = tempfile::tempdir().unwrap();
    let readmes: Readmes = cases
        .iter()
        .map(|case| {
            let folder = tempfile::tempdir().unwrap();
            write(folder.path(), &case.files);
            (
                case.name.clone(),
                helm_docs(folder.path(), home.path(), &case.flags),
            )
        })
        .collect();
    if std::env::var_os("RECORD_HELM_DOCS").is_some() {
        let text = serde_json::to_string_pretty(&readmes).unwrap() + "\n";
        fs::write(testdata().join("helm-docs/readmes.json"), text).unwrap();
    }
    assert_eq!(readmes, read("readmes.json"));
}

fn charts_below(folder: &Path, out: &mut Vec<PathBuf>) {
    if folder.join("Chart.yaml").is_file() {
        out.push(folder.to_owned());
    }
    for entry in fs::read_dir(folder).unwrap().flatten() {
        if entry.file_type().unwrap().is_dir() {
            charts_below(&entry.path(), out);
        }
    }
}

/// Copies what helm-docs reads of a chart.
fn copied(chart: &Path, into: &Path) {
    for name in [
        "Chart.yaml",
        "values.yaml",
        "requirements.yaml",
        "README.md.gotmpl",
    ] {
        if chart.join(name).is_file() {
            fs::copy(chart.join(name), into.join(name)).unwrap();
        }
    }
}

/// The READMEs of public charts and of all charts in them.
#[test]
#[ignore = "opt-in: CHART_CORPUS names a folder with public charts"]
#[allow(clippy::disallowed_methods, reason = "a test that is asked for by a variable")]
fn readmes_of_public_charts_are_those_of_helm_docs() {
    let mut charts = Vec::new();
    if let Some(corpus) = std::env::var_os("CHART_CORPUS") {
        charts_below(Path::new(&corpus), &mut charts);
    }
    let home = tempfile::tempdir().unwrap();
    let mut wrong = Vec::new();
    for chart in &charts {
        let folder = tempfile::tempdir().unwrap();
        copied(chart, folder.path());
        let theirs = helm_docs(folder.path(), home.path(), &[]);
        let run = docs(folder.path(), &["."]);
        if theirs != (run.code == 0).then_some(run.stdout) {
            wrong.push(chart.display().to_string());
        }
    }
    assert_eq!(wrong, [""; 0], "of {} charts", charts.len());
}

fn charts() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    for name in ["one", "two"] {
        let chart = folder.path().join("charts").join(name);
        fs::create_dir_all(&chart).unwrap();
        let head = format!("apiVersion: v2\nname: {name}\nversion: 1.0.0\n");
        fs::write(chart.join("Chart.yaml"), head).unwrap();
        fs::write(chart.join("values.yaml"), "# -- How many\nreplicas: 1\n").unwrap();
    }
    folder
}

#[test]
fn what_is_written_is_current_until_values_yaml_changes() {
    let folder = charts();
    let path = folder.path();
    let written = docs(path, &["charts", "--write"]);
    assert_eq!((written.code, written.stderr.as_str()), (0, ""));
    assert_eq!(
        written.stdout,
        "charts/one/README.md: written\ncharts/two/README.md: written\n"
    );
    let text = fs::read_to_string(path.join("charts/one/README.md")).unwrap();
    assert_eq!(text, docs(path, &["charts/one"]).stdout);
    assert!(text.contains("| replicas | int | `1` | How many |\n"), "{text}");
    let checked = docs(path, &["charts", "--check"]);
    assert_eq!(
        (checked.code, checked.stdout.as_str(), checked.stderr.as_str()),
        (0, "", "")
    );

    fs::write(
        path.join("charts/two/values.yaml"),
        "# -- How many\nreplicas: 2\n",
    )
    .unwrap();
    let stale = docs(path, &["charts", "--check"]);
    assert_eq!(stale.code, 1);
    assert!(
        stale.stderr.contains("README.md is stale in charts/two"),
        "{}",
        stale.stderr
    );
    assert!(
        stale.stdout.starts_with("charts/two/README.md:\n")
            && stale
                .stdout
                .contains("\n- | replicas | int | `1` | How many |\n+ | replicas | int | `2` | How many |\n"),
        "{}",
        stale.stdout
    );
    let json = docs(path, &["charts", "--check", "-o", "json"]).json();
    assert_eq!(json["charts"][0]["outcome"], "unchanged");
    assert_eq!(json["charts"][1]["outcome"], "stale");
}

#[test]
fn strict_mode_names_each_key_without_a_description() {
    let folder = charts();
    let values = "# -- x\na:\n  b: 1\n  \"c.d\": [{e: 1}]\n# a.f.g -- y\n\nimage:\n  tag: 1\n";
    fs::write(folder.path().join("charts/one/values.yaml"), values).unwrap();
    let lines = |words: &[&str]| -> Vec<String> {
        let words = [&["charts/one", "--documentation-strict-mode"], words].concat();
        let run = docs(folder.path(), &words);
        assert_eq!(run.code, 1, "{}", run.stderr);
        let errors = run.stderr.lines().filter_map(|line| line.strip_prefix("error: "));
        errors.map(str::to_owned).collect()
    };
    let of = |key: &str| format!("{key} has no description");
    assert_eq!(
        lines(&[]),
        [of("a.b"), of("a.\"c.d\""), of("a.\"c.d\"[0].e"), of("image")]
    );
    assert_eq!(
        lines(&["--documentation-strict-ignore-absent", "a.b,image"]),
        [of("a.\"c.d\""), of("a.\"c.d\"[0].e")]
    );
    assert_eq!(
        lines(&["--documentation-strict-ignore-absent-regex", r"\[0\],b$"]),
        [of("a.\"c.d\""), of("image")]
    );
    let wrong = docs(
        folder.path(),
        &[
            "charts/one",
            "--documentation-strict-mode",
            "--documentation-strict-ignore-absent-regex",
            "(",
        ],
    );
    assert_eq!(wrong.code, 2, "{}", wrong.stderr);
}

#[test]
fn charts_that_are_ignored_are_left_out() {
    let folder = charts();
    for (patterns, expected) in [
        ("charts/one\n", "charts/two/README.md: written\n"),
        ("two/\n", "charts/one/README.md: written\n"),
        ("charts/t*/Chart.yaml\n", "charts/one/README.md: written\n"),
        ("charts\n", ""),
    ] {
        for name in ["one", "two"] {
            let _ = fs::remove_file(folder.path().join("charts").join(name).join("README.md"));
        }
        fs::write(folder.path().join(".helmdocsignore"), patterns).unwrap();
        let run = docs(folder.path(), &["charts", "--write"]);
        assert_eq!(
            (run.code, run.stdout.as_str()),
            (0, expected),
            "{patterns} {}",
            run.stderr
        );
        assert_eq!(docs(folder.path(), &["charts/one"]).code, 0);
    }
}

/// The difference was once empty.
#[test]
fn other_line_breaks_are_stale_too() {
    let folder = charts();
    docs(folder.path(), &["charts/one", "--write"]);
    let path = folder.path().join("charts/one/README.md");
    let text = fs::read_to_string(&path).unwrap().replace('\n', "\r\n");
    fs::write(&path, text).unwrap();
    let stale = docs(folder.path(), &["charts/one", "--check"]);
    assert_eq!(stale.code, 1);
    assert_eq!(stale.stdout, "charts/one/README.md:\nline breaks differ\n");
}

#[test]
fn the_footers_version_can_be_chosen() {
    let folder = charts();
    let text = |version: &str| docs(folder.path(), &["charts/one", "--footer-version", version]).stdout;
    assert!(
        text("1.11.0")
            .contains("[helm-docs v1.11.0](https://github.com/norwoodj/helm-docs/releases/v1.11.0)")
    );
    assert!(!text("").contains("helm-docs"));
}

#[test]
fn what_cant_be_documented_is_an_error() {
    let folder = charts();
    let one = folder.path().join("charts/one");
    for (values, template, words, code, message) in [
        ("a: 1", "", &["charts"][..], 2, "only one README can be printed"),
        ("a: 1", "", &["nowhere"], 1, "nowhere does not exist"),
        (
            "a: 1",
            "",
            &["charts/one/values.yaml"],
            2,
            "is not a chart's folder",
        ),
        (
            "a: 1",
            "",
            &["charts/one", "--check", "--write"],
            2,
            "cannot be used with",
        ),
        (
            "a: 1",
            "",
            &["charts/one", "--values-file", "x.yaml"],
            1,
            "x.yaml",
        ),
        ("a: [", "", &["charts/one"], 1, "values.yaml:1:"),
        ("a: .inf", "", &["charts/one"], 1, ".inf can't be shown as JSON"),
        (
            "a: &a\n  b: *a",
            "",
            &["charts/one"],
            1,
            "values nest more than 200 deep",
        ),
        ("- a", "", &["charts/one"], 1, "values must be a map"),
        (
            "a: 1",
            "{{ nope }}",
            &["charts/one"],
            1,
            "no function has this name",
        ),
        ("a: 1", "{{ .Nope }}", &["charts/one"], 1, "README.md.gotmpl:1:4"),
        (
            "a: 1",
            "{{ env \"HOME\" }}",
            &["charts/one"],
            1,
            "no function has this name",
        ),
        (
            "a: 1",
            "{{ define \"x\" }}{{ template \"x\" . }}{{ end }}{{ template \"x\" . }}",
            &["charts/one"],
            1,
            "template",
        ),
    ] {
        fs::write(one.join("values.yaml"), values).unwrap();
        let path = one.join("README.md.gotmpl");
        match template {
            "" => drop(fs::remove_file(&path)),
            text => fs::write(&path, text).unwrap(),
        }
        let run = docs(folder.path(), words);
        assert_eq!(run.code, code, "{values} {template} {words:?}: {}", run.stderr);
        assert!(
            run.stderr.contains(message),
            "{values} {template} {words:?}: {}",
            run.stderr
        );
        assert!(!one.join("README.md").exists());
    }
}

#[test]
fn aliases_that_stand_for_very_many_values_are_refused() {
    let folder = charts();
    let mut values = "a0: &a0 [1, 1, 1, 1, 1, 1, 1, 1, 1, 1]\n".to_owned();
    for level in 1..8 {
        let below = format!("*a{}", level - 1);
        values.push_str(&format!("a{level}: &a{level} [{}]\n", vec![below; 10].join(", ")));
    }
    fs::write(folder.path().join("charts/one/values.yaml"), values).unwrap();
    let run = docs(folder.path(), &["charts/one"]);
    assert_eq!(run.code, 1);
    assert!(run.stderr.contains("more than 200000 values"), "{}", run.stderr);
}

#[test]
fn a_template_that_is_too_large_is_refused() {
    let folder = charts();
    let path = folder.path().join("charts/one/README.md.gotmpl");
    fs::write(path, "x".repeat((1 << 20) + 1)).unwrap();
    let run = docs(folder.path(), &["charts/one"]);
    assert_eq!(run.code, 1);
    assert!(run.stderr.contains("README.md.gotmpl"), "{}", run.stderr);
}
