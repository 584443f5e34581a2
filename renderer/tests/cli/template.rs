//! `template`: errors in the command line, before any chart is read.

use crate::{Run, command};

fn refusal(arguments: &[&str]) -> Run {
    let run = Run::of(command().arg("template").args(arguments));
    assert_ne!(run.code, 0, "{arguments:?}");
    assert_eq!(run.stdout, "", "{arguments:?}");
    run
}

#[test]
fn mistakes_on_the_command_line_are_reported_in_helms_words() {
    let cases: &[(&[&str], &str)] = &[
        (
            &["a", "b", "c"],
            "expected at most two arguments, unexpected arguments: c",
        ),
        (
            &["a", "b", "-g"],
            "cannot set --generate-name and also specify a name",
        ),
        (
            &["a", "b", "--name-template", "x"],
            "cannot set --name-template and also specify a name",
        ),
        (
            &["A_b", "."],
            "release name check failed: release name \"A_b\": invalid release name",
        ),
        (
            &[".", "--kube-version", "1"],
            "invalid kube version '1': illegal version string \"1\"",
        ),
        (&[".", "-a", "a\""], "bare \" in non-quoted-field"),
        (
            &[".", "--set", "a=1,b"],
            "failed parsing --set data: key \"b\" has no value",
        ),
        (&[".", "--set-json", "a=x"], "failed parsing --set-json data a=x"),
        (&[".", "--dry-run=server"], "invalid dry-run value (\"server\")"),
    ];
    for (arguments, words) in cases {
        let run = refusal(arguments);
        assert!(run.stderr.contains(words), "{arguments:?}: {}", run.stderr);
    }
}

#[test]
fn what_would_need_a_network_is_refused_with_a_hint() {
    for arguments in [
        &[".", "-f", "https://example.org/values.yaml"] as &[&str],
        &[".", "--set-file", "a=http://example.org/a"],
        &[".", "--enable-dns"],
    ] {
        let run = refusal(arguments);
        assert!(
            run.stderr.contains("help:") || run.stderr.contains("note:"),
            "{arguments:?}: {}",
            run.stderr
        );
    }
}

#[test]
fn a_mistake_in_a_flag_is_shown_in_its_text() {
    let run = refusal(&[".", "--set", "a=1,b.c[x]=2"]);
    assert!(run.stderr.contains("--set:1:9"), "{}", run.stderr);
    assert!(run.stderr.contains("^^"), "{}", run.stderr);
}

#[test]
fn failures_are_json_when_json_is_requested() {
    let run = Run::of(command().args(["template", "A_b", ".", "-o", "json"]));
    let error = run.json()["error"].clone();
    assert_eq!((run.code, error["class"].as_str()), (2, Some("usage")));
}

#[test]
fn what_takes_too_much_memory_or_time_ends_as_a_mistake_of_the_chart() {
    let folder = tempfile::tempdir().unwrap();
    let chart = |name: &str, text: &str| {
        let root = folder.path().join(name);
        std::fs::create_dir_all(root.join("templates")).unwrap();
        std::fs::write(
            root.join("Chart.yaml"),
            format!("apiVersion: v2\nname: {name}\nversion: 1.0.0\n"),
        )
        .unwrap();
        std::fs::write(root.join("templates/a.yaml"), text).unwrap();
        root.display().to_string()
    };
    let large = chart(
        "large",
        r#"{{ $l := list }}{{ range 90 }}{{ $l = append $l (repeat 300000 "a") }}{{ end }}a: 1"#,
    );
    let run = refusal(&[&large, "--max-memory", "16MiB"]);
    assert_eq!(run.code, 1);
    assert!(
        run.stderr.contains("more than 16777216 bytes of memory"),
        "{}",
        run.stderr
    );
    assert!(run.stderr.contains("--max-memory allows more"), "{}", run.stderr);
    let run = Run::of(command().args(["template", &large, "--max-memory=64MiB"]));
    assert_eq!(run.code, 0, "{}", run.stderr);
    let slow = chart("slow", "{{ range 400000000 }}{{ end }}a: 1");
    let run = refusal(&[&slow, "--render-timeout", "1ms"]);
    assert_eq!(run.code, 1);
    assert!(run.stderr.contains("takes longer than 1ms"), "{}", run.stderr);
}
