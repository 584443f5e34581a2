//! `diff`: charts, revisions, releases and values side by side. What each change is shown as has tests of its own, over
//! `testdata/diff`.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

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

fn git(folder: &Path, words: &[&str]) {
    let mut git = Command::new("git");
    git.current_dir(folder)
        .env("HOME", folder)
        .env("GIT_CONFIG_NOSYSTEM", "1")
        .args([
            "-c",
            "user.name=a",
            "-c",
            "user.email=a@example.com",
            "-c",
            "init.defaultBranch=main",
        ])
        .args(words);
    let run = Run::of(&mut git);
    assert_eq!(run.code, 0, "{words:?}: {}", run.stderr);
}

/// A repository with the chart in `charts/`, and a second version of it in the folder.
fn repository() -> (tempfile::TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let charts = folder.path().join("charts");
    let chart = shop(&charts, "1.0.0", &[]);
    git(folder.path(), &["init", "-q"]);
    git(folder.path(), &["add", "-A"]);
    git(folder.path(), &["commit", "-q", "-m", "one"]);
    git(folder.path(), &["tag", "v1"]);
    shop(&charts, "1.1.0", &[("values.yaml", "replicas: 3\n")]);
    (folder, chart)
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
#[ignore = "needs servers or peers: .ci/test runs it"]
fn a_folder_is_compared_with_itself_at_a_revision() {
    let (folder, chart) = repository();
    for (revision, words) in [
        ("HEAD", "charts/shop"),
        ("v1", "charts/shop/"),
        ("main", "./charts/shop"),
    ] {
        let found = document(folder.path(), &[words, "--against", revision]);
        let expected = [
            "spec.replicas 1 3",
            "spec.template.spec.containers[web].image \"nginx:1.0.0\" \"nginx:1.1.0\"",
        ];
        assert_eq!(changes(&found), expected, "{revision}");
        assert_eq!(found["from"]["source"], format!("{words} at {revision}"));
        assert_eq!(found["from"]["version"], "1.0.0");
    }
    // From inside the folder, and as git's hooks have it.
    assert_eq!(changes(&document(&chart, &[".", "--against", "HEAD"])).len(), 2);
    // A chart that is the repository itself.
    git(&chart, &["init", "-q"]);
    git(&chart, &["add", "-A"]);
    git(&chart, &["commit", "-q", "-m", "one"]);
    assert!(changes(&document(folder.path(), &["charts/shop", "--against", "HEAD"])).is_empty());
}

#[test]
#[ignore = "needs servers or peers: .ci/test runs it"]
fn what_is_ignored_linked_and_binary_is_read_from_git_as_from_disk() {
    let (folder, chart) = repository();
    fs::write(chart.join(".helmignore"), "*.md\nnot/\n").unwrap();
    fs::create_dir(chart.join("not")).unwrap();
    fs::write(chart.join("not/Chart.yaml"), "[").unwrap();
    std::os::unix::fs::symlink("/etc/passwd", chart.join("x.md")).unwrap();
    fs::write(chart.join("logo.png"), b"\x89PNG\xff\x00\n\n").unwrap();
    std::os::unix::fs::symlink("logo.png", chart.join("link.png")).unwrap();
    fs::create_dir(chart.join("more")).unwrap();
    fs::write(
        chart.join("more/b.yaml"),
        "kind: B\nlogo: {{ .Files.Get \"link.png\" | b64enc }}\nmd: {{ .Files.Glob \"*.md\" | len }}\n",
    )
    .unwrap();
    std::os::unix::fs::symlink("../more", chart.join("templates/linked")).unwrap();
    git(folder.path(), &["add", "-A"]);
    git(folder.path(), &["commit", "-q", "-m", "two"]);
    let found = document(folder.path(), &["charts/shop", "--against", "HEAD"]);
    assert_eq!(
        found["total"],
        json!({"added": 0, "changed": 0, "renamed": 0, "removed": 0, "unchanged": 2})
    );
    fs::write(chart.join("logo.png"), b"\x89PNG\xfe\x00\n\n").unwrap();
    assert_eq!(
        changes(&document(folder.path(), &["charts/shop", "--against", "HEAD"])).len(),
        1
    );
}

#[test]
#[ignore = "needs servers or peers: .ci/test runs it"]
fn what_is_too_large_for_a_chart_is_refused_in_git_too() {
    let (folder, chart) = repository();
    let large = chart.join("large");
    fs::File::create(&large).unwrap().set_len(101 << 20).unwrap();
    git(folder.path(), &["add", "-A"]);
    git(folder.path(), &["commit", "-q", "-m", "large"]);
    fs::remove_file(large).unwrap();
    let run = diff(folder.path(), &["charts/shop", "--against", "HEAD"]);
    assert_eq!(run.code, 1, "{}", run.stdout);
    assert!(run.stderr.contains("holds more than 100 MiB"), "{}", run.stderr);
    assert!(run.stderr.contains("in charts/shop at HEAD"), "{}", run.stderr);
    // A link that no file system would have: to a path of more than 4096 bytes, and to the repository itself.
    for (target, name) in [("a/".repeat(3_000), "long"), ("../..".to_owned(), "out")] {
        git(folder.path(), &["reset", "-q", "--hard", "v1"]);
        fs::write(folder.path().join("target"), target).unwrap();
        let mut hash = Command::new("git");
        let hash = Run::of(hash.current_dir(folder.path()).env("HOME", folder.path()).args([
            "hash-object",
            "-w",
            "target",
        ]));
        let entry = format!("120000,{},charts/shop/{name}", hash.stdout.trim());
        git(folder.path(), &["update-index", "--add", "--cacheinfo", &entry]);
        git(folder.path(), &["commit", "-q", "-m", "link"]);
        let run = diff(folder.path(), &["charts/shop", "--against", "HEAD"]);
        assert_eq!(run.code, 1, "{}", run.stdout);
        assert!(
            run.stderr
                .contains(&format!("{name} is a link that leaves the chart")),
            "{}",
            run.stderr
        );
    }
}

#[test]
#[ignore = "needs servers or peers: .ci/test runs it"]
fn dependencies_that_git_does_not_have_are_those_of_the_folder_if_they_fit() {
    let (folder, chart) = repository();
    let declare = |range: &str| {
        let text = format!(
            "apiVersion: v2\nname: shop\nversion: 1.0.0\nappVersion: \"1\"\ndependencies: [{{name: db, version: {range:?}, repository: \"https://charts.example.com\"}}]\n"
        );
        fs::write(chart.join("Chart.yaml"), text).unwrap();
    };
    declare("^2");
    git(folder.path(), &["add", "-A"]);
    git(folder.path(), &["commit", "-q", "-m", "declared"]);
    let db = chart.join("charts/db");
    fs::create_dir_all(&db).unwrap();
    fs::write(
        db.join("Chart.yaml"),
        "apiVersion: v2\nname: db\nversion: 2.1.0\n",
    )
    .unwrap();
    let run = diff(folder.path(), &["charts/shop", "--against", "HEAD"]);
    assert_eq!(run.code, 0, "{}", run.stderr);
    assert!(
        run.stderr
            .contains("db at HEAD is not in git: that of the folder is taken"),
        "{}",
        run.stderr
    );
    fs::write(
        db.join("Chart.yaml"),
        "apiVersion: v2\nname: db\nversion: 3.0.0\n",
    )
    .unwrap();
    declare("^3");
    let run = diff(folder.path(), &["charts/shop", "--against", "HEAD"]);
    assert_eq!(run.code, 1, "{}", run.stdout);
    assert!(
        run.stderr.contains("missing in charts/ directory: db"),
        "{}",
        run.stderr
    );
    assert!(
        run.stderr.contains("charts/shop at HEAD is the older side"),
        "{}",
        run.stderr
    );
}

/// As a pull request that adds a chart.
#[test]
#[ignore = "needs servers or peers: .ci/test runs it"]
fn all_of_a_chart_is_new_that_a_revision_does_not_have() {
    let (folder, _) = repository();
    shop(&folder.path().join("charts/new"), "1.0.0", &[]);
    let run = diff(folder.path(), &["charts/new/shop", "--against", "HEAD"]);
    assert_eq!(run.code, 0, "{}", run.stderr);
    let warning = "charts/new/shop does not exist at HEAD: all of it is new";
    assert!(run.stderr.contains(warning), "{}", run.stderr);
    assert!(
        run.stdout.starts_with("shop 1.0.0 (new): 1 added, 0 unchanged\n"),
        "{}",
        run.stdout
    );
    let found = document(folder.path(), &["charts/new/shop", "--against", "HEAD"]);
    assert_eq!(found["from"]["version"], "", "{found}");
    assert_eq!(found["total"]["added"], 1, "{found}");
}

#[test]
#[ignore = "needs servers or peers: .ci/test runs it"]
fn what_git_does_not_have_is_said() {
    let (folder, chart) = repository();
    let refused = |words: &[&str], expected: &[&str]| {
        let run = diff(folder.path(), words);
        assert_eq!(run.code, 2, "{words:?}: {}{}", run.stdout, run.stderr);
        for expected in expected {
            assert!(run.stderr.contains(expected), "{words:?}: {}", run.stderr);
        }
    };
    refused(
        &["charts/shop", "--against", "mian"],
        &["no revision \"mian\"", "`git branch --all`"],
    );
    refused(
        &["charts/shop", "--against=--output=x"],
        &["no revision \"--output=x\""],
    );
    refused(&["charts/shop", "--against", "HEAD:charts"], &["no revision"]);
    refused(&["charts/shop", "--against", ""], &["no revision"]);
    git(
        folder.path(),
        &["update-ref", "refs/remotes/origin/release", "HEAD"],
    );
    refused(
        &["charts/shop", "--against", "release"],
        &["did you mean `origin/release`?"],
    );
    refused(
        &["charts/shop/Chart.yaml", "--against", "HEAD"],
        &["Chart.yaml is a file"],
    );
    refused(
        &["oci://h.example/shop", "--against", "HEAD"],
        &["compares a chart on disk"],
    );
    refused(
        &["charts/shop", "charts/shop", "--against", "HEAD"],
        &["is a second"],
    );
    // A clone that has the newest commit alone.
    git(folder.path(), &["commit", "-q", "-a", "-m", "two"]);
    let url = format!("file://{}", folder.path().display());
    git(folder.path(), &["clone", "-q", "--depth", "1", &url, "shallow"]);
    let run = diff(
        &folder.path().join("shallow"),
        &["charts/shop", "--against", "v1"],
    );
    assert_eq!(run.code, 2);
    assert!(run.stderr.contains("the clone is shallow"), "{}", run.stderr);
    // No repository at all, and no git.
    let plain = tempfile::tempdir().unwrap();
    shop(plain.path(), "1.0.0", &[]);
    let run = diff(plain.path(), &["shop", "--against", "HEAD"]);
    assert_eq!(run.code, 2);
    assert!(
        run.stderr.contains("shop is not in a git repository"),
        "{}",
        run.stderr
    );
    // Another user's, as in a container that mounts a checkout.
    let mut other = command();
    other
        .current_dir(folder.path())
        .env("PATH", "/usr/local/bin:/usr/bin:/bin")
        .env("HOME", plain.path())
        .env("GIT_TEST_ASSUME_DIFFERENT_OWNER", "1");
    let run = Run::of(other.args(["diff", "charts/shop", "--against", "HEAD"]));
    assert_eq!(run.code, 2);
    for expected in [
        "git can't read the repository of charts/shop",
        "dubious ownership",
        "safe.directory",
    ] {
        assert!(run.stderr.contains(expected), "{}", run.stderr);
    }
    let mut without = command();
    without.current_dir(folder.path()).env("PATH", "/nonexistent");
    let run = Run::of(without.args(["diff", "charts/shop", "--against", "HEAD"]));
    assert!(
        run.stderr.contains("there is no `git` on the PATH"),
        "{}",
        run.stderr
    );
    assert!(chart.exists());
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
            "formats of `validate` and `values check` alone",
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
            .contains("markdown and html are formats of `diff` alone"),
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
