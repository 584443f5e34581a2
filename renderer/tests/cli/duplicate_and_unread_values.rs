//! Duplicate keys, and values that no template reads: Helm reports neither.

use std::fs;
use std::path::Path;

use crate::{Run, command};

fn run(folder: &Path, words: &[&str]) -> Run {
    let mut command = command();
    Run::of(command.current_dir(folder).args(words))
}

/// A chart with a value by name, and a map that is walked through.
fn write_chart(folder: &Path, values: &str) {
    fs::create_dir_all(folder.join("app/templates")).unwrap();
    fs::write(
        folder.join("app/Chart.yaml"),
        "apiVersion: v2\nname: app\nversion: 1.0.0\nicon: https://example.com/a.png\n",
    )
    .unwrap();
    fs::write(folder.join("app/values.yaml"), values).unwrap();
    let template = "replicas: {{ .Values.replicaCount }}\ntag: {{ .Values.image.tag }}\n\
                    {{- range $name, $value := .Values.env }}\n{{ $name }}: {{ $value }}\n{{- end }}\n\
                    {{- toYaml .Values.nodeSelector }}\n";
    fs::write(folder.join("app/templates/x.yaml"), template).unwrap();
}

const VALUES: &str =
    "replicaCount: 1\nimage:\n  tag: a\nenv:\n  FIRST_NAME: a\nnodeSelector: {}\n# verbosity: 1\n";

#[test]
fn a_key_that_stands_twice_in_a_values_file_is_named_with_both_lines() {
    let folder = tempfile::tempdir().unwrap();
    write_chart(folder.path(), VALUES);
    let values = "image:\n  tag: b\n---\nreplicaCount: 2\nimage: {tag: c}\nreplicaCount: 3\n";
    fs::write(folder.path().join("v.yaml"), values).unwrap();
    for command in ["template", "lint", "images"] {
        let run = run(folder.path(), &[command, "app", "-f", "v.yaml"]);
        assert_eq!(run.code, 0, "{}", run.stderr);
        assert!(
            run.stderr
                .contains("warning: duplicate key `replicaCount`\n --> v.yaml:6:1")
                && run.stderr.contains("the value on line 4 is ignored"),
            "{command}: {}",
            run.stderr
        );
        assert!(
            command != "template" || run.stdout.contains("replicas: 3\ntag: c\n"),
            "{}",
            run.stdout
        );
    }
}

#[test]
fn lint_names_keys_that_stand_twice_in_values_yaml() {
    let folder = tempfile::tempdir().unwrap();
    write_chart(folder.path(), &format!("{VALUES}image:\n  tag: z\n"));
    let linted = run(folder.path(), &["lint", "app"]);
    assert_eq!(linted.code, 0, "{}", linted.stderr);
    assert!(
        linted
            .stderr
            .contains("duplicate key `image`\n --> app/values.yaml:8:1")
            && linted.stderr.contains("the value on line 2 is ignored"),
        "{}",
        linted.stderr
    );
    let json = run(folder.path(), &["lint", "app", "-o", "json"]).json();
    let findings = json["findings"].as_array().unwrap();
    assert!(
        findings
            .iter()
            .any(|one| one["rule"] == "duplicate-key" && one["line"] == 8),
        "{json}"
    );
}

#[test]
fn a_given_value_that_nothing_reads_is_reported_with_the_nearest_name() {
    let folder = tempfile::tempdir().unwrap();
    write_chart(folder.path(), VALUES);
    for (flag, expected) in [
        ("replicaCuont=5", "did you mean `replicaCount`?"),
        ("image.tga=5", "did you mean `image.tag`?"),
    ] {
        let linted = run(folder.path(), &["lint", "app", "--set", flag]);
        assert_eq!(linted.code, 0, "{}", linted.stderr);
        let path = flag.split('=').next().unwrap();
        let message = format!("nothing in the chart reads `{path}`");
        assert!(
            linted.stderr.contains(&message) && linted.stderr.contains(expected),
            "{flag}: {}",
            linted.stderr
        );
    }
    for flag in ["somethingElse=1", "verbosity=2"] {
        let linted = run(folder.path(), &["lint", "app", "--set", flag]);
        let path = flag.split('=').next().unwrap();
        let message = format!("nothing in the chart reads `{path}`");
        assert!(
            linted.stderr.contains(&message) && !linted.stderr.contains("did you mean"),
            "{flag}: {}",
            linted.stderr
        );
    }
    // Iterated over, printed as a whole, global, or there.
    for flag in [
        "env.FIRST_NAMES=b",
        "nodeSelector.first=b",
        "global.replicaCuont=1",
        "replicaCount=3",
        "image.tag=null",
    ] {
        let linted = run(folder.path(), &["lint", "app", "--set", flag]);
        assert!(
            !linted.stderr.contains("nothing in the chart reads"),
            "{flag}: {}",
            linted.stderr
        );
    }
}

/// It was `type mismatch on redis: %!t(<nil>)`, with nothing else.
#[test]
fn a_subcharts_values_that_are_no_map_are_shown_with_what_to_do() {
    let folder = tempfile::tempdir().unwrap();
    write_chart(folder.path(), VALUES);
    let below = folder.path().join("app/charts/redis");
    fs::create_dir_all(&below).unwrap();
    fs::write(
        below.join("Chart.yaml"),
        "apiVersion: v2\nname: redis\nversion: 1.0.0\n",
    )
    .unwrap();
    fs::write(folder.path().join("v.yaml"), "a: 1\nredis:\n").unwrap();
    let cases: [(&[&str], &str, &str); 3] = [
        (
            &[],
            "`redis` is a boolean, but redis is a subchart",
            "app/values.yaml:2:8",
        ),
        (&["-f", "v.yaml"], "`redis` is null, but", "v.yaml:2:1"),
        (
            &["--set", "redis=disabled"],
            "`redis` is a text, but",
            "--set:1:1",
        ),
    ];
    for (flags, message, location) in cases {
        // A user's null deletes what the chart has.
        let own = if flags.is_empty() {
            "a: 1\nredis: true\n"
        } else {
            "a: 1\n"
        };
        fs::write(folder.path().join("app/values.yaml"), own).unwrap();
        let run = run(folder.path(), &[&["template", "app"], flags].concat());
        assert_eq!(run.code, 1, "{}", run.stderr);
        for part in [message, location, "write `redis: {}` for no values"] {
            assert!(run.stderr.contains(part), "{flags:?} {part}: {}", run.stderr);
        }
    }
}
