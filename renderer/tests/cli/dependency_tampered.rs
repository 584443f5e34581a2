//! Repositories and charts that say one thing and hold another, and what is not shown of either.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use crate::dependency::{chart, ours, packed, web};
use crate::{Run, command};

/// A server with this index, and `app` 1.1.0 at `/app.tgz`.
fn serve(folder: &Path, index: &str) -> testbed::Server {
    let archive = packed(folder, "app", "1.1.0");
    web(
        BTreeMap::from([
            ("/index.yaml".to_owned(), index.as_bytes().to_vec()),
            ("/app.tgz".to_owned(), archive),
            ("/no.tgz".to_owned(), b"no archive".to_vec()),
        ]),
        None,
    )
}

/// What becomes of a chart that depends on `app` of that server.
fn update(folder: &Path, server: &testbed::Server) -> (Run, std::path::PathBuf) {
    let top = folder.join("top");
    let one = format!(
        "{{name: app, version: ^1, repository: 'http://{}'}}",
        server.host()
    );
    chart(&top, "top", "1.0.0", &[one]);
    (ours("update", &top, &[]), top)
}

/// What the archive says of itself was once locked, and `dependency build` did not find it in the index.
#[test]
fn an_archive_of_another_version_than_the_index_has_is_neither_locked_nor_pulled() {
    let folder = tempfile::tempdir().unwrap();
    let server = serve(
        folder.path(),
        "entries: {app: [{version: 1.2.0, urls: [app.tgz]}]}\n",
    );
    let (run, top) = update(folder.path(), &server);
    let lie = format!(
        "http://{}/app.tgz holds app 1.1.0, and is listed as app 1.2.0",
        server.host()
    );
    assert_eq!(run.code, 4, "{}", run.stderr);
    assert!(run.stderr.contains(&lie), "{}", run.stderr);
    assert!(!top.join("Chart.lock").exists() && !top.join("charts").exists());
    for how in [None, Some("--untar")] {
        let repository = format!("http://{}", server.host());
        let mut pull = command();
        pull.args([
            "pull",
            "app",
            "--version",
            "1.2.0",
            "--no-cache",
            "--repo",
            &repository,
            "-d",
        ]);
        let into = folder.path().join("into");
        let run = Run::of(pull.arg(&into).args(how));
        assert_eq!(run.code, 4, "{how:?}: {}", run.stderr);
        assert!(run.stderr.contains(&lie), "{how:?}: {}", run.stderr);
        assert_eq!(fs::read_dir(&into).unwrap().count(), 0, "{how:?}");
    }
}

/// They were once passed over without a word.
#[test]
fn entries_that_can_not_be_used_are_named_when_nothing_fits() {
    let folder = tempfile::tempdir().unwrap();
    let index = "entries: {app: [{version: 1.2, urls: 7}, {version: 2.0.0, urls: [app.tgz]}]}\n";
    let (run, _) = update(folder.path(), &serve(folder.path(), index));
    assert_eq!(run.code, 4, "{}", run.stderr);
    assert!(
        run.stderr
            .contains("an entry of its index can't be used: entry 1: "),
        "{}",
        run.stderr
    );
}

#[test]
fn errors_name_the_url_and_file_urls_are_not_fetched() {
    let folder = tempfile::tempdir().unwrap();
    let server = serve(
        folder.path(),
        "entries: {app: [{version: 1.2.0, urls: [no.tgz]}]}\n",
    );
    let (run, _) = update(folder.path(), &server);
    assert_eq!(run.code, 1, "{}", run.stderr);
    assert!(
        run.stderr.contains(&format!("http://{}/no.tgz", server.host())),
        "{}",
        run.stderr
    );
    assert!(
        !run.stderr.contains(".solar-render-"),
        "a temporary file: {}",
        run.stderr
    );
    let index = "entries: {app: [{version: 1.2.0, urls: ['file:///etc/passwd']}]}\n";
    let (run, _) = update(folder.path(), &serve(folder.path(), index));
    assert_eq!(run.code, 4, "{}", run.stderr);
    assert!(
        run.stderr
            .contains("file:///etc/passwd, which is not on a web server"),
        "{}",
        run.stderr
    );
}

#[test]
fn passwords_in_the_urls_of_repositories_are_not_shown() {
    let folder = tempfile::tempdir().unwrap();
    for url in ["https://me:hunter2@h.example/charts", "https://me:hunter2@h:none"] {
        let top = folder.path().join("top");
        let one = format!("{{name: app, version: ^1, repository: '{url}'}}");
        chart(&top, "top", "1.0.0", &[one]);
        let mut list = command();
        let list = Run::of(list.args(["dependency", "list", "--max-col-width=0"]).arg(&top));
        assert!(list.stdout.contains("https://**********@h"), "{}", list.stdout);
        let mut json = command();
        let json = Run::of(json.args(["dependency", "list", "-ojson"]).arg(&top));
        assert!(json.stdout.contains("https://**********@h"), "{}", json.stdout);
        let update = ours("update", &top, &[]);
        assert_eq!(update.code, 1, "{}", update.stderr);
        for run in [list, json, update] {
            let shown = run.stdout + &run.stderr;
            assert!(!shown.contains("hunter2"), "{shown}");
        }
    }
}

/// They went to any host that a chart's Chart.yaml names: a pull request could take CI's token.
#[test]
fn the_environments_credentials_go_to_no_registry_that_a_chart_names() {
    let asks = testbed::Server::start(|_| {
        let ask = testbed::Response::status(401).header("WWW-Authenticate", "Basic realm=x");
        ask.into()
    });
    let folder = tempfile::tempdir().unwrap();
    let top = folder.path().join("top");
    let one = format!(
        "{{name: app, version: ^1, repository: 'oci://{}/x'}}",
        asks.host()
    );
    chart(&top, "top", "1.0.0", &[one]);
    let commands: [&[&str]; 3] = [
        &["dependency", "update", "--plain-http"],
        &["package", "-u", "--plain-http", "-d", "/nonexistent"],
        &["template", "--dependency-update", "--plain-http"],
    ];
    for (words, bound) in commands.iter().flat_map(|words| [(words, false), (words, true)]) {
        let before = asks.requests().len();
        let mut command = command();
        command.args(*words).arg(&top);
        command
            .env("REGISTRY_USERNAME", "ci")
            .env("REGISTRY_PASSWORD", "hunter2");
        if bound {
            command.env("REGISTRY_HOST", asks.host());
        }
        let run = Run::of(&mut command);
        assert_eq!(run.code, 4, "{words:?}: {}", run.stderr);
        let requests = asks.requests().split_off(before);
        assert!(!requests.is_empty(), "{words:?}");
        let sent = requests.iter().any(|one| one.header("authorization").is_some());
        assert_eq!(sent, bound, "{words:?}");
        assert!(
            bound || run.stderr.contains("unless REGISTRY_HOST is"),
            "{}",
            run.stderr
        );
    }
}
