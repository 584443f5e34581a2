//! `values schema`: printed, written and checked.

use std::fs;
use std::path::Path;

use crate::{Run, command};

fn run(folder: &Path, words: &[&str]) -> Run {
    let mut command = command();
    Run::of(command.current_dir(folder).args(["values", "schema"]).args(words))
}

fn charts() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    for name in ["one", "two"] {
        let chart = folder.path().join("charts").join(name);
        fs::create_dir_all(chart.join("ci")).unwrap();
        fs::write(
            chart.join("Chart.yaml"),
            format!("apiVersion: v2\nname: {name}\nversion: 1.0.0\n"),
        )
        .unwrap();
        fs::write(chart.join("values.yaml"), "replicas: 1\nname: a\n").unwrap();
        fs::write(chart.join("ci/a-values.yaml"), "name: 1\n").unwrap();
    }
    folder
}

#[test]
fn what_is_written_is_current_until_values_yaml_changes() {
    let folder = charts();
    let path = folder.path();
    let written = run(path, &["charts", "--write"]);
    assert_eq!((written.code, written.stderr.as_str()), (0, ""));
    assert_eq!(
        written.stdout,
        "charts/one/values.schema.json: written\ncharts/two/values.schema.json: written\n"
    );
    let text = fs::read_to_string(path.join("charts/one/values.schema.json")).unwrap();
    assert_eq!(text, run(path, &["charts/one"]).stdout);
    assert!(text.contains("\"integer\"") && text.ends_with("}\n"), "{text}");
    let checked = run(path, &["charts", "--check"]);
    assert_eq!(
        (checked.code, checked.stdout.as_str(), checked.stderr.as_str()),
        (0, "", "")
    );

    fs::write(
        path.join("charts/two/values.yaml"),
        "replicas: 1\nname: a\nport: 80\n",
    )
    .unwrap();
    let stale = run(path, &["charts", "--check"]);
    assert_eq!(stale.code, 1);
    assert!(
        stale.stderr.contains("values.schema.json is stale in charts/two"),
        "{}",
        stale.stderr
    );
    assert!(
        stale.stdout.starts_with("charts/two/values.schema.json:\n")
            && stale.stdout.contains("+     \"port\": {"),
        "{}",
        stale.stdout
    );
    let json = run(path, &["charts", "--check", "-o", "json"]).json();
    assert_eq!(json["charts"][0]["outcome"], "unchanged");
    assert_eq!(json["charts"][1]["outcome"], "stale");

    // The values are checked against it by every command.
    let rendered =
        Run::of(
            command()
                .current_dir(path)
                .args(["template", "charts/one", "--set", "replicas=x"]),
        );
    assert_eq!(rendered.code, 1);
    assert!(rendered.stderr.contains("replicas"), "{}", rendered.stderr);
}

#[test]
fn what_has_no_schema_to_print_is_an_error() {
    let folder = charts();
    fs::write(
        folder.path().join("charts/one/values.yaml"),
        "a: 1 # @schema minimun:1\n",
    )
    .unwrap();
    for (words, code, message) in [
        (&["charts"][..], 2, "only one schema can be printed"),
        (&["nowhere"], 1, "nowhere does not exist"),
        (&["charts/one"], 1, "did you mean `minimum`?"),
        (&["charts/one", "--check", "--write"], 2, "cannot be used with"),
    ] {
        let run = run(folder.path(), words);
        assert_eq!(run.code, code, "{words:?}: {}", run.stderr);
        assert!(run.stderr.contains(message), "{words:?}: {}", run.stderr);
    }
}
