//! `dependency build` and `dependency update`, against real registries, a web server and Helm.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use testbed::{Registry, Response, Server, Tool, forward};

use crate::{Run, command, tree};

/// Writes a chart folder; its dependencies as lines of YAML.
pub(crate) fn chart(folder: &Path, name: &str, version: &str, dependencies: &[String]) {
    fs::create_dir_all(folder.join("templates")).unwrap();
    let mut text = format!("apiVersion: v2\nname: {name}\nversion: {version}\n");
    if !dependencies.is_empty() {
        text.push_str("dependencies:\n");
        dependencies
            .iter()
            .for_each(|one| text.push_str(&format!("- {one}\n")));
    }
    fs::write(folder.join("Chart.yaml"), text).unwrap();
    fs::write(
        folder.join("templates/x.yaml"),
        format!("{name}: {{{{ .Chart.Version }}}}\n"),
    )
    .unwrap();
}

fn push(folder: &Path, host: &str, name: &str, version: &str, salt: &str) {
    let source = folder.join("push").join(name);
    chart(&source, name, version, &[]);
    fs::write(source.join("salt"), salt).unwrap();
    let mut push = command();
    push.arg("push").arg(&source).arg(format!("oci://{host}/charts"));
    let run = Run::of(push.args(["--plain-http", "--if-exists", "replace"]));
    assert_eq!(run.code, 0, "{}", run.stderr);
}

pub(crate) fn ours(word: &str, chart: &Path, rest: &[&str]) -> Run {
    let mut command = command();
    command
        .args(["dependency", word, "--plain-http", "--retries", "0"])
        .arg(chart);
    Run::of(command.args(rest))
}

/// The files in `charts/`.
pub(crate) fn names(chart: &Path) -> Vec<String> {
    let all = tree(&chart.join("charts"));
    let name = |path: &std::path::PathBuf| {
        path.strip_prefix(chart.join("charts"))
            .unwrap()
            .display()
            .to_string()
    };
    all.keys().map(name).collect()
}

fn helm(home: &Path, words: &[&str], chart: &Path) {
    testbed::run(Tool::Helm.command(home).args(words).arg(chart));
}

#[test]
#[ignore = "needs servers or peers: .ci/test runs it"]
fn helm_builds_from_our_lock_and_we_from_helms() {
    let registry = Registry::start();
    let folder = tempfile::tempdir().unwrap();
    for version in ["1.0.0", "1.2.0", "1.3.0-rc.1", "2.0.0"] {
        push(folder.path(), registry.host(), "app", version, "");
    }
    push(folder.path(), registry.host(), "exact", "0.1.0+b", "");
    let app = folder.path().join("top");
    let host = registry.host();
    let dependencies = [
        format!(
            "{{name: app, version: '>=1.0.0 <2', repository: 'oci://{host}/charts', condition: a.b, tags: [x]}}"
        ),
        format!(
            "{{name: exact, version: 0.1.0+b, repository: 'oci://{host}/charts', alias: other, import-values: [data]}}"
        ),
        "{name: local, version: ^1, repository: 'file://../local'}".to_owned(),
        "{name: lying, version: '*', repository: ''}".to_owned(),
    ];
    chart(&app, "top", "1.0.0", &dependencies[..]);
    chart(&folder.path().join("local"), "local", "1.5.0", &[]);
    chart(&app.join("charts/lying"), "lying", "3.0.0", &[]);
    let run = ours("update", &app, &["-o", "json"]);
    assert_eq!(run.code, 0, "{}", run.stderr);
    let expected = [
        "app-1.2.0.tgz",
        "exact-0.1.0+b.tgz",
        "local-1.5.0.tgz",
        "lying/Chart.yaml",
        "lying/templates/x.yaml",
    ];
    assert_eq!(names(&app), expected);
    let lock = fs::read_to_string(app.join("Chart.lock")).unwrap();
    assert_eq!(lock.matches("contentDigest: sha256:").count(), 2, "{lock}");
    // Helm takes our lock, and finds its own dependencies up to date.
    fs::remove_file(app.join("charts/app-1.2.0.tgz")).unwrap();
    helm(registry.home(), &["dependency", "build", "--plain-http"], &app);
    assert_eq!(names(&app), expected);
    helm(registry.home(), &["dependency", "update", "--plain-http"], &app);
    assert_eq!(fs::read_to_string(app.join("Chart.lock")).unwrap(), lock);
    helm(registry.home(), &["template"], &app);
    // And we take Helm's, with its hash.
    fs::remove_file(app.join("Chart.lock")).unwrap();
    helm(registry.home(), &["dependency", "update", "--plain-http"], &app);
    let helms = fs::read_to_string(app.join("Chart.lock")).unwrap();
    let digest = |text: &str| {
        text.lines()
            .find(|line| line.starts_with("digest:"))
            .unwrap()
            .to_owned()
    };
    assert_eq!(digest(&helms), digest(&lock));
    fs::remove_dir_all(app.join("charts")).unwrap();
    chart(&app.join("charts/lying"), "lying", "3.0.0", &[]);
    let run = ours("build", &app, &[]);
    assert_eq!(run.code, 0, "{}", run.stderr);
    assert_eq!(names(&app), expected);
    assert_eq!(
        fs::read_to_string(app.join("Chart.lock")).unwrap(),
        helms,
        "a build does not change it"
    );
    // A lock that merging has spoiled is refused by a build, and written anew by an update.
    fs::write(app.join("Chart.lock"), "<<<<<<< ours\n").unwrap();
    assert_eq!(ours("build", &app, &[]).code, 1);
    let run = ours("update", &app, &[]);
    assert_eq!(run.code, 0, "{}", run.stderr);
    let anew = fs::read_to_string(app.join("Chart.lock")).unwrap();
    assert_eq!(digest(&anew), digest(&lock));
}

#[test]
#[ignore = "needs servers or peers: .ci/test runs it"]
fn a_build_refuses_what_has_changed_since_the_lock_and_loses_nothing() {
    let registry = Registry::start();
    let folder = tempfile::tempdir().unwrap();
    push(folder.path(), registry.host(), "app", "1.0.0", "one");
    let top = folder.path().join("top");
    let dependency = |range: &str| {
        format!(
            "{{name: app, version: '{range}', repository: 'oci://{}/charts'}}",
            registry.host()
        )
    };
    chart(&top, "top", "1.0.0", &[dependency("^1")]);
    assert_eq!(ours("build", &top, &[]).code, 0);
    let before = tree(&top);
    push(folder.path(), registry.host(), "app", "1.0.0", "two");
    let refused = ours("build", &top, &[]);
    assert_eq!(refused.code, 3, "{}", refused.stderr);
    assert!(
        refused.stderr.contains("the lock holds the archive to a digest"),
        "{}",
        refused.stderr
    );
    assert_eq!(tree(&top), before);
    let missing = [
        dependency("^1"),
        format!(
            "{{name: none, version: 1.0.0, repository: 'oci://{}/charts'}}",
            registry.host()
        ),
    ];
    chart(&top, "top", "1.0.0", &missing);
    let stale = ours("build", &top, &[]);
    assert_eq!(stale.code, 1, "{}", stale.stderr);
    assert!(
        stale.stderr.contains("does not belong to the dependencies"),
        "{}",
        stale.stderr
    );
    assert_eq!(ours("update", &top, &[]).code, 4);
    assert_eq!(names(&top), ["app-1.0.0.tgz"]);
    chart(&top, "top", "1.0.0", &[dependency("^1")]);
    let updated = ours("update", &top, &["-o", "json"]).json();
    assert_eq!(updated["results"][0]["outcome"], "pulled");
    assert_eq!(
        updated["results"][1]["outcome"], "saved",
        "the lock is written with the new digest"
    );
    assert_eq!(
        ours("build", &top, &["-o", "json"]).json()["results"][0]["outcome"],
        "unchanged"
    );
    let none = dependency("^3");
    chart(&top, "top", "1.0.0", &[none]);
    let none = ours("update", &top, &[]);
    assert_eq!(none.code, 4);
    assert!(
        none.stderr.contains("no version of app that fits \"^3\""),
        "{}",
        none.stderr
    );
}

#[test]
#[ignore = "needs servers or peers: .ci/test runs it"]
fn former_dependencies_are_deleted_and_other_files_stay() {
    let registry = Registry::start();
    let folder = tempfile::tempdir().unwrap();
    for version in ["1.0.0", "1.1.0"] {
        push(folder.path(), registry.host(), "app", version, "");
    }
    let top = folder.path().join("top");
    let dependency = |range: &str| {
        format!(
            "{{name: app, version: '{range}', repository: 'oci://{}/charts'}}",
            registry.host()
        )
    };
    chart(&top, "top", "1.0.0", &[dependency("1.0.0")]);
    assert_eq!(ours("update", &top, &[]).code, 0);
    fs::write(top.join("charts/notes.tgz"), "no chart").unwrap();
    chart(&top, "top", "1.0.0", &[dependency("^1")]);
    let run = ours("update", &top, &[]);
    assert_eq!(names(&top), ["app-1.1.0.tgz", "notes.tgz"]);
    assert!(run.stdout.contains("Removed: app 1.0.0\n"), "{}", run.stdout);
}

#[test]
#[ignore = "needs servers or peers: .ci/test runs it"]
fn with_a_lock_and_a_cache_nothing_is_asked() {
    let registry = Registry::start();
    let upstream = registry.host().to_owned();
    let front = Server::start(move |request| forward(request, &upstream).into());
    let folder = tempfile::tempdir().unwrap();
    push(folder.path(), registry.host(), "app", "1.0.0", "");
    let top = folder.path().join("top");
    chart(
        &top,
        "top",
        "1.0.0",
        &[format!(
            "{{name: app, version: ^1, repository: 'oci://{}/charts'}}",
            front.host()
        )],
    );
    let cache = folder.path().join("cache").display().to_string();
    assert_eq!(ours("update", &top, &["--cache-dir", &cache]).code, 0);
    let archive = fs::read(top.join("charts/app-1.0.0.tgz")).unwrap();
    fs::remove_dir_all(top.join("charts")).unwrap();
    let before = front.requests().len();
    let run = ours("build", &top, &["--cache-dir", &cache]);
    assert_eq!(run.code, 0, "{}", run.stderr);
    assert_eq!(front.requests().len(), before);
    assert_eq!(fs::read(top.join("charts/app-1.0.0.tgz")).unwrap(), archive);
}

/// A web repository with these files behind a user, or for anyone.
pub(crate) fn web(files: BTreeMap<String, Vec<u8>>, user: Option<&'static str>) -> Server {
    Server::start(move |request| {
        if user.is_some() && request.header("authorization") != user {
            return Response::status(401).into();
        }
        match files.get(request.path()) {
            Some(bytes) => Response::status(200).body(bytes.clone()).into(),
            None => Response::status(404).into(),
        }
    })
}

pub(crate) fn packed(folder: &Path, name: &str, version: &str) -> Vec<u8> {
    let source = folder.join("pack").join(name);
    chart(&source, name, version, &[]);
    let mut package = command();
    package.arg("package").arg(&source).arg("-d").arg(folder);
    assert_eq!(Run::of(&mut package).code, 0);
    fs::read(folder.join(format!("{name}-{version}.tgz"))).unwrap()
}

#[test]
#[ignore = "needs servers or peers: .ci/test runs it"]
fn web_repositories_are_used_by_url_and_by_the_names_helm_has_for_them() {
    let folder = tempfile::tempdir().unwrap();
    let (old, new) = (
        packed(folder.path(), "app", "1.0.0"),
        packed(folder.path(), "app", "1.1.0"),
    );
    let index = "entries:\n  app:\n  - {version: 1.0.0, urls: [app-1.0.0.tgz]}\n  - {version: 1.1.0, urls: [sub/app-1.1.0.tgz]}\n";
    let files = || {
        BTreeMap::from([
            ("/r/index.yaml".to_owned(), index.as_bytes().to_vec()),
            ("/r/app-1.0.0.tgz".to_owned(), old.clone()),
            ("/r/sub/app-1.1.0.tgz".to_owned(), new.clone()),
        ])
    };
    let open = web(files(), None);
    // user:hunter2
    let closed = web(files(), Some("Basic dXNlcjpodW50ZXIy"));
    let top = folder.path().join("top");
    let by_url = |url: &str| format!("{{name: app, version: ~1, repository: '{url}'}}");
    chart(
        &top,
        "top",
        "1.0.0",
        &[by_url(&format!("http://{}/r/", open.host()))],
    );
    let run = ours("update", &top, &[]);
    assert_eq!(run.code, 0, "{}", run.stderr);
    assert_eq!(names(&top), ["app-1.1.0.tgz"]);
    testbed::run(Tool::Helm.command(folder.path()).args(["template"]).arg(&top));
    let repositories = folder.path().join("repositories.yaml");
    let text = format!(
        "repositories:\n- {{name: mine, url: 'http://{}/r', username: user, password: hunter2}}\n",
        closed.host()
    );
    fs::write(&repositories, text).unwrap();
    let given = ["--repository-config", repositories.to_str().unwrap()];
    for name in ["@mine", "alias:mine"] {
        chart(&top, "top", "1.0.0", &[by_url(name)]);
        fs::remove_dir_all(top.join("charts")).unwrap();
        let run = ours("update", &top, &given);
        assert_eq!(run.code, 0, "{}", run.stderr);
        assert_eq!(names(&top), ["app-1.1.0.tgz"]);
        assert_eq!(ours("build", &top, &given).code, 0);
    }
    let unknown = ours("update", &top, &[]);
    assert_eq!(unknown.code, 1);
    assert!(
        unknown.stderr.contains("helm repo add mine URL"),
        "{}",
        unknown.stderr
    );
    chart(
        &top,
        "top",
        "1.0.0",
        &[by_url(&format!("http://{}/r", closed.host()))],
    );
    assert_eq!(ours("update", &top, &[]).code, 4, "without its user");
}

#[test]
fn an_index_with_a_wrong_digest_is_refused_and_credentials_are_not_forwarded() {
    let folder = tempfile::tempdir().unwrap();
    let archive = packed(folder.path(), "app", "1.0.0");
    let elsewhere = web(BTreeMap::from([("/app.tgz".to_owned(), archive.clone())]), None);
    let index = |digest: &str| {
        format!(
            "entries:\n  app:\n  - {{version: 1.0.0, urls: ['http://{}/app.tgz'], digest: {digest}}}\n",
            elsewhere.host()
        )
    };
    let top = folder.path().join("top");
    let attempt = |digest: &str| {
        let home = web(
            BTreeMap::from([("/index.yaml".to_owned(), index(digest).into_bytes())]),
            Some("Basic dXNlcjpodW50ZXIy"),
        );
        let repositories = folder.path().join("repositories.yaml");
        let text = format!(
            "repositories:\n- {{name: r, url: 'http://{}', username: user, password: hunter2}}\n",
            home.host()
        );
        fs::write(&repositories, text).unwrap();
        chart(
            &top,
            "top",
            "1.0.0",
            &["{name: app, version: '*', repository: '@r'}".to_owned()],
        );
        ours(
            "update",
            &top,
            &["--repository-config", repositories.to_str().unwrap()],
        )
    };
    let lie = attempt(&"a".repeat(64));
    assert_eq!(lie.code, 3, "{}", lie.stderr);
    assert!(
        lie.stderr.contains("according to the repository's index.yaml") && !lie.stderr.contains("hunter2")
    );
    assert!(!top.join("charts").exists());
    use sha2::Digest as _;
    let hex: String = sha2::Sha256::digest(&archive)
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect();
    let short = attempt(&hex[1..]);
    assert_eq!(short.code, 4, "Helm refuses it, too: {}", short.stderr);
    assert!(short.stderr.contains("64 hexadecimal digits"), "{}", short.stderr);
    let good = attempt(&hex);
    assert_eq!(good.code, 0, "{}", good.stderr);
    assert!(
        elsewhere
            .requests()
            .iter()
            .all(|request| request.header("authorization").is_none())
    );
}

#[test]
#[ignore = "needs servers or peers: .ci/test runs it"]
fn charts_beside_this_one_get_their_dependencies_first_and_circles_are_refused() {
    let registry = Registry::start();
    let folder = tempfile::tempdir().unwrap();
    push(folder.path(), registry.host(), "leaf", "1.0.0", "");
    let at = |name: &str| folder.path().join(name);
    let local = |name: &str| format!("{{name: {name}, version: '*', repository: 'file://../{name}'}}");
    chart(&at("a"), "a", "1.0.0", &[local("b"), local("c")]);
    chart(&at("b"), "b", "1.0.0", &[local("c")]);
    chart(
        &at("c"),
        "c",
        "1.0.0",
        &[format!(
            "{{name: leaf, version: 1.x, repository: 'oci://{}/charts'}}",
            registry.host()
        )],
    );
    let run = ours("build", &at("a"), &[]);
    assert_eq!(run.code, 0, "{}", run.stderr);
    assert_eq!(names(&at("a")), ["b-1.0.0.tgz", "c-1.0.0.tgz"]);
    assert_eq!(names(&at("c")), ["leaf-1.0.0.tgz"]);
    let out = testbed::run(Tool::Helm.command(folder.path()).args(["template"]).arg(at("a")));
    assert_eq!(
        out.matches("leaf: 1.0.0").count(),
        2,
        "through b and through c: {out}"
    );
    chart(&at("c"), "c", "1.0.0", &[local("a")]);
    fs::remove_file(at("c").join("Chart.lock")).unwrap();
    let circle = ours("update", &at("a"), &[]);
    assert_eq!(circle.code, 1);
    assert!(circle.stderr.contains("depends on itself"), "{}", circle.stderr);
    chart(
        &at("d"),
        "d",
        "1.0.0",
        &["{name: a, version: 'not a range', repository: 'file://../a'}".to_owned()],
    );
    let wrong = ours("update", &at("d"), &[]);
    assert!(
        wrong.code == 1 && wrong.stderr.contains("neither a version nor a range"),
        "{}",
        wrong.stderr
    );
}
