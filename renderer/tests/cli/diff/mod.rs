//! `diff`: charts, revisions, releases and values side by side. What each change is shown as has tests of its own, over
//! `testdata/diff`.

mod against;

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::{Run, command};

/// A chart `shop` with an image, replicas and these files.
fn shop(folder: &Path, version: &str, files: &[(&str, &str)]) -> PathBuf {
    let shop = folder.join("shop");
    let chart = format!("apiVersion: v2\nname: shop\nversion: {version}\nappVersion: \"{version}\"\n");
    let own = [
        ("Chart.yaml", chart.as_str()),
        ("values.yaml", "replicas: 1\n"),
        (
            "templates/web.yaml",
            "apiVersion: apps/v1\nkind: Deployment\nmetadata:\n  name: web\nspec:\n  replicas: {{ .Values.replicas }}\n  template:\n    spec:\n      containers:\n      - name: web\n        image: nginx:{{ .Chart.AppVersion }}\n",
        ),
    ];
    for (path, text) in own.iter().chain(files) {
        let path = shop.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
    shop
}

fn diff(folder: &Path, words: &[&str]) -> Run {
    let mut command = command();
    // git needs a home for its settings, and must not find those of whoever runs the tests.
    command
        .current_dir(folder)
        .env("PATH", "/usr/local/bin:/usr/bin:/bin")
        .env("HOME", folder)
        .env("GIT_CONFIG_NOSYSTEM", "1")
        .arg("diff")
        .args(words);
    Run::of(&mut command)
}

/// The document of a run.
fn document(folder: &Path, words: &[&str]) -> Value {
    let run = diff(folder, &[words, &["-o", "json"]].concat());
    assert_eq!(run.code, 0, "{}{}", run.stdout, run.stderr);
    run.json()
}

/// `path from to` of each change.
fn changes(document: &Value) -> Vec<String> {
    let objects = document["objects"].as_array().unwrap().iter();
    let changes = objects.flat_map(|one| one["changes"].as_array().cloned().unwrap_or_default());
    changes
        .map(|one| format!("{} {} {}", one["path"].as_str().unwrap(), one["from"], one["to"]))
        .collect()
}

#[test]
fn two_folders_are_compared_object_by_object() {
    let folder = tempfile::tempdir().unwrap();
    shop(&folder.path().join("old"), "1.0.0", &[]);
    let account = "apiVersion: v1\nkind: ServiceAccount\nmetadata: {name: web}\n";
    shop(
        &folder.path().join("new"),
        "1.1.0",
        &[
            ("values.yaml", "replicas: 3\n"),
            ("templates/account.yaml", account),
        ],
    );
    let run = diff(folder.path(), &["old/shop", "new/shop"]);
    assert_eq!(run.code, 0, "{}", run.stderr);
    let expected = "\
shop 1.0.0 → 1.1.0: 1 added, 1 changed, 0 unchanged
image nginx:1.0.0 → nginx:1.1.0

added ServiceAccount web (v1, shop/templates/account.yaml)
  + apiVersion: v1
  + kind: ServiceAccount
  + metadata:
  +   name: web

changed Deployment web (apps/v1, shop/templates/web.yaml)
  @@ spec.replicas @@ new/shop/templates/web.yaml:6
  - 1
  + 3
  @@ spec.template.spec.containers[web].image @@ new/shop/templates/web.yaml:11
  - nginx:1.0.0
  + nginx:1.1.0
";
    assert_eq!(run.stdout, expected);
    let found = document(folder.path(), &["old/shop", "new/shop"]);
    assert_eq!(
        found["total"],
        json!({"added": 1, "changed": 1, "renamed": 0, "removed": 0, "unchanged": 0})
    );
    assert_eq!(
        found["images"],
        json!([{"from": "nginx:1.0.0", "to": "nginx:1.1.0"}])
    );
    assert_eq!(
        found["objects"][1]["changes"][0],
        json!({"path": "spec.replicas", "change": "replaced", "from": 1, "to": 3, "file": "new/shop/templates/web.yaml", "line": 6})
    );
    assert_eq!(found["objects"][0]["content"]["kind"], "ServiceAccount");
    let colored = diff(folder.path(), &["old/shop", "new/shop", "--color", "always"]);
    assert!(
        colored.stdout.contains("\u{1b}[31m- 1\u{1b}[0m\n"),
        "{}",
        colored.stdout
    );
    let page = diff(folder.path(), &["old/shop", "new/shop", "-o", "html"]);
    assert!(
        page.stdout.starts_with("<!doctype html>") && page.stdout.contains("web.yaml:6"),
        "{}",
        page.stdout
    );
    let comment = diff(folder.path(), &["old/shop", "new/shop", "-o", "md"]);
    assert!(
        comment
            .stdout
            .contains("```diff\n@@ spec.replicas @@ new/shop/templates/web.yaml:6\n- 1\n+ 3\n"),
        "{}",
        comment.stdout
    );
}

/// A template that reads another one by its path can't be run without it.
#[test]
fn a_change_has_its_line_where_templates_include_others_by_their_path() {
    let template = |replicas: u8| {
        format!(
            "kind: Deployment\napiVersion: apps/v1\nmetadata:\n  name: b\n  annotations:\n    sum: {{{{ include (print $.Template.BasePath \"/web.yaml\") . | sha256sum }}}}\nspec:\n  replicas: {replicas}\n"
        )
    };
    let folder = tempfile::tempdir().unwrap();
    for (side, replicas) in [("old", 1), ("new", 2)] {
        shop(
            &folder.path().join(side),
            "1.0.0",
            &[("templates/b.yaml", &template(replicas))],
        );
    }
    let found = document(folder.path(), &["old/shop", "new/shop"]);
    let change = &found["objects"][0]["changes"][0];
    assert_eq!(change["path"], "spec.replicas", "{found}");
    assert_eq!(change["line"], 8, "{found}");
}

#[test]
fn differences_fail_only_when_asked() {
    let folder = tempfile::tempdir().unwrap();
    shop(folder.path(), "1.0.0", &[]);
    let same = diff(folder.path(), &["shop", "shop", "--exit-code"]);
    assert_eq!(
        (same.code, same.stdout.as_str()),
        (0, "shop 1.0.0: no differences, 1 unchanged\n")
    );
    fs::write(folder.path().join("prod.yaml"), "replicas: 5\n").unwrap();
    let words = ["shop", "--to-values", "prod.yaml"];
    assert_eq!(diff(folder.path(), &words).code, 0);
    let run = diff(folder.path(), &[&words[..], &["--exit-code"]].concat());
    assert_eq!(run.code, 10, "{}", run.stderr);
    assert!(
        run.stderr.contains("the charts differ: 1 changed"),
        "{}",
        run.stderr
    );
    let found = document(folder.path(), &words);
    assert_eq!(changes(&found), ["spec.replicas 1 5"]);
    assert_eq!(found["to"]["source"], "shop with prod.yaml");
    let both = document(
        folder.path(),
        &["shop", "--from-values", "prod.yaml", "--set", "x=1"],
    );
    assert_eq!(changes(&both), ["spec.replicas 5 1"]);
}

#[test]
fn the_newest_release_is_compared_with_the_folder() {
    let folder = tempfile::tempdir().unwrap();
    let layout = format!("oci-layout:{}/layout", folder.path().display());
    for version in ["1.0.0", "1.2.0", "1.3.0-rc.1"] {
        let chart = shop(folder.path(), version, &[]);
        let mut push = command();
        let run = Run::of(push.arg("push").arg(&chart).arg(&layout));
        assert_eq!(run.code, 0, "{}", run.stderr);
    }
    shop(folder.path(), "1.4.0", &[]);
    let image = |words: &[&str]| document(folder.path(), words)["images"][0]["from"].clone();
    assert_eq!(image(&["shop", "--published", &layout]), "nginx:1.2.0");
    assert_eq!(
        image(&["shop", "--published", &layout, "--devel"]),
        "nginx:1.3.0-rc.1"
    );
    assert_eq!(
        image(&["shop", "--published", &layout, "--from-version", "1.0.0"]),
        "nginx:1.0.0"
    );
    assert_eq!(
        image(&["shop", "--published", &format!("{layout}/shop")]),
        "nginx:1.2.0"
    );
    let layout = format!("{layout}/shop");
    let tagged = format!("{layout}:1.0.0");
    assert_eq!(image(&[&tagged, "shop"]), "nginx:1.0.0");
    let versions = document(
        folder.path(),
        &[&layout, "--from-version", "1.0.0", "--to-version", "1.2.0"],
    );
    assert_eq!(
        versions["images"],
        json!([{"from": "nginx:1.0.0", "to": "nginx:1.2.0"}])
    );
    fs::create_dir_all(folder.path().join("empty/shop")).unwrap();
    let run = diff(folder.path(), &["shop", "--published", "oci-layout:empty"]);
    assert_eq!(run.code, 4, "{}", run.stderr);
    assert!(run.stderr.contains("was never published"), "{}", run.stderr);
    let run = diff(folder.path(), &["shop", "--published"]);
    assert_eq!(run.code, 2);
    assert!(run.stderr.contains("doesn't say where"), "{}", run.stderr);
    // The flag may stand before the chart.
    let run = diff(folder.path(), &["--published", "./shop"]);
    assert!(run.stderr.contains("doesn't say where"), "{}", run.stderr);
    let run = diff(folder.path(), &["shop", "--published", "/tmp"]);
    assert_eq!(run.code, 2);
    assert!(run.stderr.contains("is no reference"), "{}", run.stderr);
}

#[test]
fn what_is_wrong_is_said_with_its_side() {
    let folder = tempfile::tempdir().unwrap();
    let good = shop(&folder.path().join("good"), "1.0.0", &[]);
    let bad = shop(
        &folder.path().join("bad"),
        "1.0.0",
        &[("templates/x.yaml", "{{ fail \"no\" }}")],
    );
    let [good, bad] = [&good, &bad].map(|path| path.to_str().unwrap());
    let run = diff(folder.path(), &[bad, good]);
    assert_eq!(run.code, 1);
    assert!(
        run.stderr.contains("bad/shop is the older side"),
        "{}",
        run.stderr
    );
    assert!(
        run.stderr.contains("bad/shop/templates/x.yaml:1"),
        "{}",
        run.stderr
    );
    let run = diff(folder.path(), &[good, bad]);
    assert!(
        run.stderr.contains("bad/shop is the newer side"),
        "{}",
        run.stderr
    );
    let run = diff(folder.path(), &[bad, bad, "-o", "json"]);
    assert_eq!(run.json()["error"]["class"], "template");
    for (words, expected) in [
        (vec![], "no chart is given"),
        (vec![good], "nothing to compare"),
        (
            vec![good, "-o", "junit"],
            "formats of `lint`, `test`, `validate` and `values check` alone",
        ),
        (
            vec![good, "-o", "junit"],
            "text, json, yaml, markdown or html here",
        ),
        (
            vec![good, "--from-version", "1.0.0"],
            "is on disk, and has no other version",
        ),
        (
            vec![good, good, "--to-values", "none", "--against", "x"],
            "is a second",
        ),
        (
            vec![good, good, "--against", "x", "--published"],
            "cannot be used with",
        ),
        (
            vec![good, "-f", "-", "--to-values", "x"],
            "standard input is read once",
        ),
        (
            vec![good, "--from-values", "-", "--to-values", "-"],
            "only one of",
        ),
        (
            vec![good, good, "--release-name", "Not Good"],
            "invalid release name",
        ),
    ] {
        let run = diff(folder.path(), &words);
        assert_eq!(run.code, 2, "{words:?}: {}", run.stderr);
        assert!(run.stderr.contains(expected), "{words:?}: {}", run.stderr);
    }
    let run = diff(folder.path(), &[good, "none/a", "--repo", "http://127.0.0.1:1"]);
    assert_ne!(run.code, 0);
    let run = diff(folder.path(), &[good, "none"]);
    assert_eq!(run.code, 1);
    assert!(run.stderr.contains("none does not exist"), "{}", run.stderr);
    let run = diff(folder.path(), &["none", "none"]);
    assert_eq!(
        run.stderr.matches("none does not exist").count(),
        1,
        "{}",
        run.stderr
    );
    let mut template = command();
    let run = Run::of(template.args(["template", good, "-o", "html"]));
    assert_eq!(run.code, 2);
    assert!(
        run.stderr
            .contains("markdown and html are formats of `diff` and `apply --dry-run` alone"),
        "{}",
        run.stderr
    );
}

#[test]
fn secrets_are_hashes_unless_they_are_asked_for() {
    let folder = tempfile::tempdir().unwrap();
    let secret =
        "apiVersion: v1\nkind: Secret\nmetadata: {name: s}\nstringData: {password: {{ .Values.password }}}\n";
    shop(folder.path(), "1.0.0", &[("templates/s.yaml", secret)]);
    fs::write(folder.path().join("a.yaml"), "password: hunter2\n").unwrap();
    fs::write(folder.path().join("b.yaml"), "password: swordfish\n").unwrap();
    let words = ["shop", "--from-values", "a.yaml", "--to-values", "b.yaml"];
    for form in ["text", "json", "yaml", "markdown", "html"] {
        let run = diff(folder.path(), &[&words[..], &["-o", form]].concat());
        assert_eq!(run.code, 0, "{}", run.stderr);
        assert!(run.stdout.contains("hidden, sha256"), "{form}: {}", run.stdout);
        assert!(
            !run.stdout.contains("hunter2") && !run.stdout.contains("swordfish"),
            "{form}: {}",
            run.stdout
        );
    }
    let shown = diff(folder.path(), &[&words[..], &["--show-secrets"]].concat());
    assert!(
        shown.stdout.contains("- hunter2\n  + swordfish\n"),
        "{}",
        shown.stdout
    );
}
