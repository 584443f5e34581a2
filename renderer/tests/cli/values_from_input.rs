//! Values from standard input, which each chart and each rendering of a command gets.

use std::fs::{self, File};
use std::path::Path;

use crate::{Run, command};

/// A chart that can't be rendered without `color`.
fn chart(folder: &Path, name: &str) {
    let files = [
        (
            "Chart.yaml",
            format!("apiVersion: v2\nname: {name}\nversion: 1.0.0\n"),
        ),
        (
            "templates/a.yaml",
            "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata: {color: '{{ required \"no color\" .Values.color }}'}\n".to_owned(),
        ),
        ("ci/one-values.yaml", "size: 1\n".to_owned()),
        ("ci/two-values.yaml", "size: 2\n".to_owned()),
    ];
    for (path, text) in files {
        let path = folder.join(name).join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
}

#[test]
fn every_chart_and_every_rendering_gets_all_of_it() {
    let folder = tempfile::tempdir().unwrap();
    chart(folder.path(), "one");
    chart(folder.path(), "two");
    fs::write(folder.path().join("input.yaml"), "color: red\n").unwrap();
    let commands: [&[&str]; 5] = [
        &["validate", "one"],
        &["validate", "one", "two", "--ci"],
        &["values", "check", "one", "two", "--given-only"],
        &["diff", "one", "two"],
        &["lint", "one", "two"],
    ];
    for words in commands {
        let input = File::open(folder.path().join("input.yaml")).unwrap();
        let mut command = command();
        command.current_dir(folder.path()).args(words).args(["-f", "-"]);
        let run = Run::of(command.stdin(input));
        assert_eq!(run.code, 0, "{words:?}: {}{}", run.stdout, run.stderr);
    }
}
