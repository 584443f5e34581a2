//! Snapshot files of `test`: which are kept, written and refused.

use std::fs;

use super::edges::{A, SNAPSHOTS, edge};
use super::test;

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

/// Each test has the same generated values in every run, which helm-unittest's don't.
#[test]
fn snapshots_of_generated_keys_and_passwords_can_be_compared() {
    let folder = tempfile::tempdir().unwrap();
    let template = "{{ $ca := genCA \"ca\" 365 -}}\nkey: {{ $ca.Key | sha256sum }}\npassword: {{ randAlphaNum 20 }}\nlogin: {{ htpasswd \"a\" \"b\" }}\n";
    let test_of = |name: &str| format!("- it: {name}\n  asserts: [{{matchSnapshot: {{}}}}]\n");
    let suite = format!("templates: [g.yaml]\ntests:\n{}{}", test_of("a"), test_of("b"));
    let files = [
        ("templates/g.yaml", template),
        ("tests/a_test.yaml", suite.as_str()),
    ];
    let chart = edge(folder.path(), &files);
    assert_eq!(test(&chart, &[]).code, 0);
    let written = fs::read_to_string(chart.join(SNAPSHOTS)).unwrap();
    let of_a_and_b: Vec<&str> = written.split("b:\n").collect();
    assert_eq!(of_a_and_b[0].strip_prefix("a:\n"), Some(of_a_and_b[1]));
    let run = test(&chart, &[]);
    assert_eq!(run.code, 0, "{}", run.stdout);
}
