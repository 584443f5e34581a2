//! `show`: byte for byte what Helm prints.

use std::path::Path;

use testbed::{Tool, run};

use crate::{Run, command};

pub(crate) fn write(folder: &Path, files: &[(&str, &str)]) {
    for (path, text) in files {
        let path = folder.join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }
}

const FULL: &[(&str, &str)] = &[
    (
        "Chart.yaml",
        "# kept\napiVersion: v2\nname: demo\nversion: 1.2.3+b.4\nappVersion: 1.10\nkeywords: [b, a]\nhome: https://h\n\
         maintainers: [{name: Jo, email: jo@x}]\nannotations: {z: 'true', a10: x, a9: y}\ndeprecated: true\n\
         kubeVersion: '>= 1.2'\ntype: application\ndependencies:\n  - name: sub\n    version: ^1\n    repository: \"\"\n\
         \x20   import-values: [{child: a, parent: b}, x, 1.50]\n    tags: [t]\n",
    ),
    ("values.yaml", "\u{feff}# kept\na: 1\n"),
    ("readme.TXT", "# demo"),
    ("README.md", "# first\n"),
    ("crds/b.yaml", "b: 1\n"),
    ("crds/a.YML", "---\na: 1\n"),
    ("crds/c.txt", "no\n"),
    ("crds/deep/d.json", "{}"),
    (
        "charts/sub/Chart.yaml",
        "apiVersion: v2\nname: sub\nversion: 1.0.0\n",
    ),
    ("charts/sub/crds/s.yaml", "s: 1\n"),
];
const BARE: &[(&str, &str)] = &[("Chart.yaml", "name: bare\nversion: 1.2\n")];
const OLD: &[(&str, &str)] = &[
    ("Chart.yaml", "apiVersion: v1\nname: old\nversion: 0.1.0\n"),
    (
        "requirements.yaml",
        "dependencies: [{name: a, version: 1.0.0, repository: 'oci://x', enabled: true}]\n",
    ),
    ("values.yaml", ""),
    ("readme", "r\n"),
];

#[test]
#[ignore = "needs servers or peers: .ci/test runs it"]
fn each_part_of_a_chart_is_what_helm_shows() {
    let folder = tempfile::tempdir().unwrap();
    for (name, files) in [("full", FULL), ("bare", BARE), ("old", OLD)] {
        write(&folder.path().join(name), files);
        for part in ["all", "chart", "values", "readme", "crds"] {
            let mut helm = Tool::Helm.command(folder.path());
            let expected = run(helm.current_dir(folder.path()).args(["show", part, name]));
            let ours = Run::of(command().current_dir(folder.path()).args(["show", part, name]));
            assert_eq!(ours.code, 0, "{}", ours.stderr);
            assert_eq!(ours.stdout, expected, "{part} of {name}");
        }
    }
}

#[test]
#[ignore = "needs servers or peers: .ci/test runs it"]
fn an_archive_is_shown_as_its_folder_is() {
    let folder = tempfile::tempdir().unwrap();
    write(&folder.path().join("full"), FULL);
    let mut helm = Tool::Helm.command(folder.path());
    run(helm.current_dir(folder.path()).args(["package", "full"]));
    let run = |words: &[&str]| Run::of(command().current_dir(folder.path()).arg("show").args(words));
    let of_archive = run(&["readme", "demo-1.2.3+b.4.tgz"]);
    assert_eq!(
        (of_archive.code, of_archive.stdout.as_str()),
        (0, "# first\n\n"),
        "{}",
        of_archive.stderr
    );
    assert_eq!(
        run(&["values", "full"]).stdout,
        run(&["values", "demo-1.2.3+b.4.tgz"]).stdout
    );
}

#[test]
fn shown_as_json_it_is_one_document() {
    let folder = tempfile::tempdir().unwrap();
    write(&folder.path().join("full"), FULL);
    let run = Run::of(
        command()
            .current_dir(folder.path())
            .args(["show", "all", "full", "-o", "json"]),
    );
    let json = run.json();
    assert_eq!(json["chart"]["appVersion"], "1.1");
    assert_eq!(json["values"]["a"], 1);
    assert_eq!(json["readme"], "# first\n");
    assert_eq!(json["crds"][3]["path"], "demo/charts/sub/crds/s.yaml");
}
