//! `values check`: the command's output in each form, its exit codes, and which charts and values it takes.

use std::fs;
use std::path::Path;

use crate::{Run, command, testdata};

fn run(folder: &Path, words: &[&str]) -> Run {
    let mut command = command();
    Run::of(command.current_dir(folder).args(["values", "check"]).args(words))
}

/// Two charts: one is the patterns', the other reads a value that nothing sets.
fn charts() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let small = folder.path().join("charts/small");
    fs::create_dir_all(small.join("templates")).unwrap();
    fs::create_dir_all(small.join("ci")).unwrap();
    let files = [
        ("Chart.yaml", "apiVersion: v2\nname: small\nversion: 1.0.0\n"),
        ("values.yaml", "image:\n  tag: a\nstale: 1\n"),
        (
            "templates/a.yaml",
            "tag: {{ .Values.image.tag }}\nport: {{ .Values.port }}\n",
        ),
        ("ci/a-values.yaml", "port: 1\nimage: {tga: b}\n"),
        ("ci/b-values.yaml", "image:\n  tag: c\n"),
    ];
    for (name, text) in files {
        fs::write(small.join(name), text).unwrap();
    }
    fs::write(folder.path().join("prod.yaml"), "image:\n  tga: x\nreplicas: 3\n").unwrap();
    folder
}

#[test]
fn a_key_that_nothing_reads_is_shown_at_its_line() {
    let folder = charts();
    let run = run(folder.path(), &["charts", "-f", "prod.yaml"]);
    assert_eq!(run.code, 1);
    insta::assert_snapshot!("excerpts", run.stderr);
    insta::assert_snapshot!("summary", run.stdout);
}

#[test]
fn each_ci_values_file_is_checked_and_what_one_of_them_sets_is_set() {
    let folder = charts();
    let checked = run(folder.path(), &["charts/small", "--ci", "-o", "json"]);
    assert_eq!(checked.code, 1);
    let json = checked.json();
    let findings: Vec<String> = json["findings"]
        .as_array()
        .unwrap()
        .iter()
        .map(|one| {
            format!(
                "{} {} {} {} {}",
                one["severity"], one["rule"], one["key"], one["line"], one["values"]
            )
        })
        .collect();
    insta::assert_debug_snapshot!("ci_files", findings);
}

#[test]
fn the_chart_itself_is_left_out_or_fails_if_asked() {
    let folder = charts();
    let path = folder.path();
    fs::write(path.join("good.yaml"), "image: {tag: x}\n").unwrap();
    for (flags, code, warnings) in [
        (&["-f", "good.yaml"][..], 0, 2),
        (&["-f", "good.yaml", "--given-only"], 0, 0),
        (&["-f", "good.yaml", "--strict"], 1, 2),
        (&["--set", "image.tga=x", "--given-only"], 1, 0),
        (&["--set", "replicas"], 1, 0),
    ] {
        let run = run(path, &[&["charts/small"], flags].concat());
        assert_eq!(run.code, code, "{flags:?}: {}", run.stderr);
        assert_eq!(
            run.stderr.matches("warning: ").count(),
            warnings,
            "{flags:?}: {}",
            run.stderr
        );
    }
}

#[test]
fn the_formats_of_ci_systems_have_file_line_and_rule() {
    let folder = charts();
    let of = |format| run(folder.path(), &["charts", "-f", "prod.yaml", "-o", format]);
    insta::assert_snapshot!("github", of("github").stdout);
    insta::assert_snapshot!("junit", of("junit").stdout);
    let sarif: serde_json::Value = serde_json::from_str(&of("sarif").stdout).unwrap();
    assert_eq!(sarif["runs"][0]["results"][0]["ruleId"], "unread-value");
    let gitlab: serde_json::Value = serde_json::from_str(&of("gitlab").stdout).unwrap();
    assert_eq!(gitlab[0]["location"]["lines"]["begin"], 2);
    assert_eq!(gitlab[0]["severity"], "major");
}

#[test]
fn a_chart_with_subcharts_and_the_patterns_of_public_charts_is_good() {
    let shop = testdata().join("value-checks/shop");
    let run = run(&shop, &[".", "--ci"]);
    assert_eq!(
        (run.code, run.stdout.as_str(), run.stderr.as_str()),
        (0, "1 chart: 0 errors, 0 warnings\n", "")
    );
}

#[test]
fn what_cannot_be_checked_is_an_error() {
    let folder = charts();
    let path = folder.path();
    fs::write(path.join("charts/small/templates/b.yaml"), "{{ if }}").unwrap();
    for (words, message) in [
        (&["nowhere"][..], "nowhere does not exist"),
        (&["charts", "-f", "none.yaml"], "none.yaml"),
        (&["charts"], "missing value for if"),
    ] {
        let run = run(path, words);
        assert_eq!(run.code, 1, "{words:?}: {}", run.stderr);
        assert!(run.stderr.contains(message), "{words:?}: {}", run.stderr);
    }
}

/// GitLab drops all but one of several findings with the same fingerprint.
#[test]
fn a_values_file_for_several_charts_has_findings_of_each() {
    let folder = charts();
    let other = folder.path().join("charts/other");
    fs::create_dir_all(&other).unwrap();
    fs::write(
        other.join("Chart.yaml"),
        "apiVersion: v2\nname: other\nversion: 1.0.0\n",
    )
    .unwrap();
    let words = ["charts/small", "charts/other", "-f", "prod.yaml", "--given-only"];
    let text = run(folder.path(), &words);
    for chart in ["small", "other"] {
        let note = format!("= note: of the chart charts/{chart}\n");
        assert!(text.stderr.contains(&note), "{}", text.stderr);
    }
    let gitlab = run(folder.path(), &[&words[..], &["-o", "gitlab"]].concat()).json();
    let all: Vec<&str> = gitlab
        .as_array()
        .unwrap()
        .iter()
        .map(|one| one["fingerprint"].as_str().unwrap())
        .collect();
    let distinct: std::collections::BTreeSet<&str> = all.iter().copied().collect();
    assert_eq!(all.len(), 4);
    assert_eq!(distinct.len(), all.len());
    // Of one chart nobody has to ask.
    let one = run(folder.path(), &["charts/small", "-f", "prod.yaml"]);
    assert!(!one.stderr.contains("of the chart"), "{}", one.stderr);
}

#[test]
fn a_registry_that_is_out_of_reach_is_no_mistake_in_values() {
    let folder = charts();
    let run = run(folder.path(), &["oci://127.0.0.1:1/shop", "--retries", "0"]);
    assert_eq!(run.code, 5, "{}", run.stderr);
    assert!(
        run.stderr.contains("error: charts can't be checked: 1 error"),
        "{}",
        run.stderr
    );
}
