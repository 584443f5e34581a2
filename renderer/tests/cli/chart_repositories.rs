//! Charts of web servers: by URL, by `--repo`, and by the names Helm has for repositories.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use testbed::Tool;

use crate::dependency::{chart, web};
use crate::{Run, command, tree};

fn packed(folder: &Path, version: &str) -> Vec<u8> {
    let source = folder.join("source");
    chart(&source, "app", version, &[]);
    let mut package = command();
    package.arg("package").arg(&source).arg("-d").arg(folder);
    assert_eq!(Run::of(&mut package).code, 0);
    fs::read(folder.join(format!("app-{version}.tgz"))).unwrap()
}

/// What a server has: an index below `/r/`, and archives.
fn files(folder: &Path) -> BTreeMap<String, Vec<u8>> {
    let mut index = "apiVersion: v1\nentries:\n  app:\n".to_owned();
    let mut files = BTreeMap::new();
    for version in ["1.0.0", "1.2.0", "2.0.0-rc.1"] {
        index.push_str(&format!(
            "  - {{apiVersion: v2, name: app, version: {version}, urls: [app-{version}.tgz]}}\n"
        ));
        files.insert(format!("/r/app-{version}.tgz"), packed(folder, version));
    }
    files.insert("/r/index.yaml".to_owned(), index.into_bytes());
    files
}

fn run(words: &[&str]) -> Run {
    Run::of(command().args(words).args(["--no-cache", "--retries", "0"]))
}

#[test]
#[ignore = "needs servers or peers: .ci/test runs it"]
fn a_chart_is_taken_by_url_by_repository_and_by_a_name_of_helms() {
    let folder = tempfile::tempdir().unwrap();
    let server = web(files(folder.path()), None);
    let repository = format!("http://{}/r", server.host());
    let url = format!("{repository}/app-1.0.0.tgz");
    let list = folder.path().join("repositories.yaml");
    fs::write(
        &list,
        format!("repositories: [{{name: mine, url: '{repository}'}}]\n"),
    )
    .unwrap();
    let list = list.to_str().unwrap();
    let version = |words: &[&str]| {
        let words: Vec<&str> = ["show", "chart"].iter().chain(words).copied().collect();
        let run = run(&words);
        assert_eq!(run.code, 0, "{words:?}: {}", run.stderr);
        let line = run
            .stdout
            .lines()
            .find(|line| line.starts_with("version: "))
            .unwrap();
        line["version: ".len()..].to_owned()
    };
    assert_eq!(version(&[&url]), "1.0.0");
    assert_eq!(version(&["app", "--repo", &repository]), "1.2.0");
    assert_eq!(
        version(&["app", "--repo", &format!("{repository}/"), "--devel"]),
        "2.0.0-rc.1"
    );
    assert_eq!(
        version(&["app", "--repo", &repository, "--version", "<1.2"]),
        "1.0.0"
    );
    assert_eq!(version(&["mine/app", "--repository-config", list]), "1.2.0");
    assert_eq!(
        version(&["mine/app", "--repository-config", list, "--version", "2.0.0-rc.1"]),
        "2.0.0-rc.1"
    );
    // Once it was said only that there is no such version.
    for (wanted, expected) in [
        (
            "9.9.9",
            "has no version of app that fits \"9.9.9\"; there are 2.0.0-rc.1, 1.2.0, 1.0.0",
        ),
        (">=2", "pre-releases match only ranges that name one"),
    ] {
        let missing = run(&["show", "chart", "app", "--repo", &repository, "--version", wanted]);
        assert!(
            missing.code == 4 && missing.stderr.contains(expected),
            "{}",
            missing.stderr
        );
    }
    // Rendered, it is what Helm renders.
    let ours = run(&["template", "x", &url]);
    let helm = testbed::run(Tool::Helm.command(folder.path()).args(["template", "x", &url]));
    assert_eq!(ours.stdout, helm);
}

#[test]
#[ignore = "needs servers or peers: .ci/test runs it"]
fn a_pull_saves_what_helm_saves() {
    let folder = tempfile::tempdir().unwrap();
    let server = web(files(folder.path()), None);
    let repository = format!("http://{}/r", server.host());
    let pull = |words: &[&str], name: &str| {
        let to = folder.path().join(name);
        fs::create_dir_all(&to).unwrap();
        testbed::run(Tool::Helm.command(&to).arg("pull").args(words));
        let ours = folder.path().join(format!("{name}-ours"));
        let run = run(&[&["pull"], words, &["-d", ours.to_str().unwrap(), "-o", "json"]].concat());
        assert_eq!(run.code, 0, "{}", run.stderr);
        let below = |root: &Path| -> Vec<_> {
            let all = tree(root).into_iter();
            all.filter(|(path, _)| {
                !path.starts_with(root.join(".cache")) && !path.starts_with(root.join(".config"))
            })
            .map(|(path, bytes)| (path.strip_prefix(root).unwrap().to_owned(), bytes))
            .collect()
        };
        assert_eq!(below(&ours), below(&to), "{words:?}");
        run.json()
    };
    let url = format!("{repository}/app-1.0.0.tgz");
    let document = pull(&[&url], "url");
    assert_eq!(
        (&document["outcome"], &document["reference"]),
        (&"pulled".into(), &url.as_str().into())
    );
    assert!(document["digest"].is_null() && document["layer"]["size"].is_u64());
    pull(&["app", "--repo", &repository], "repo");
    pull(
        &["app", "--repo", &repository, "--version", "^1", "--untar"],
        "untar",
    );
}

#[test]
fn a_password_is_sent_only_to_the_server_that_it_is_for() {
    let folder = tempfile::tempdir().unwrap();
    let mut all = files(folder.path());
    let elsewhere = web(all.clone(), None);
    let index = format!(
        "entries: {{app: [{{version: 1.2.0, urls: ['http://{}/r/app-1.2.0.tgz']}}, {{version: 1.0.0, urls: [app-1.0.0.tgz]}}]}}\n",
        elsewhere.host()
    );
    all.insert("/r/index.yaml".to_owned(), index.into_bytes());
    // user:hunter2
    let closed = web(all, Some("Basic dXNlcjpodW50ZXIy"));
    let repository = format!("http://{}/r", closed.host());
    let user = ["--username", "user", "--password", "hunter2", "-v"];
    for (words, code) in [
        (vec!["show", "chart", "app", "--repo", &repository], 0),
        (
            vec![
                "show",
                "chart",
                "app",
                "--repo",
                &repository,
                "--version",
                "1.0.0",
            ],
            0,
        ),
    ] {
        let with = run(&[words.as_slice(), &user].concat());
        assert_eq!(with.code, code, "{}", with.stderr);
        assert!(!with.stderr.contains("hunter2"));
        let without = run(&words);
        assert_eq!(without.code, 4, "{}", without.stderr);
    }
    assert_eq!(elsewhere.count("GET"), 1);
    assert!(
        elsewhere
            .requests()
            .iter()
            .all(|request| request.header("authorization").is_none())
    );
}

#[test]
fn what_is_not_there_or_can_not_be_meant_is_said() {
    let folder = tempfile::tempdir().unwrap();
    let mut all = files(folder.path());
    all.insert("/r/broken.tgz".to_owned(), b"hello".to_vec());
    let server = web(all, None);
    let repository = format!("http://{}/r", server.host());
    let to = folder.path().join("to");
    let at = ["-d", to.to_str().unwrap()];
    let url = |name: &str| format!("{repository}/{name}");
    // A folder in the way of the file: the disk's fault, and said of the archive.
    let occupied = folder.path().join("occupied");
    fs::create_dir_all(occupied.join("app-1.0.0.tgz")).unwrap();
    let disk = run(&["pull", &url("app-1.0.0.tgz"), "-d", occupied.to_str().unwrap()]);
    assert!(
        disk.code == 5 && disk.stderr.contains("app-1.0.0.tgz"),
        "{}",
        disk.stderr
    );
    assert_eq!(fs::read_dir(&occupied).unwrap().count(), 1);
    for (words, code, reason) in [
        (vec![url("none.tgz")], 4, "404"),
        (vec![url("broken.tgz")], 1, "can't be read as a .tgz"),
        (
            vec![url("app-1.0.0.tgz"), "--version".into(), "1".into()],
            2,
            "is one archive",
        ),
        (
            vec![url("app-1.0.0.tgz"), "--repo".into(), repository.clone()],
            2,
            "leave out --repo",
        ),
        (
            vec!["none".into(), "--repo".into(), repository.clone()],
            4,
            "has no chart \"none\"",
        ),
        (
            vec![
                "app".into(),
                "--repo".into(),
                repository.clone(),
                "--version".into(),
                "7".into(),
            ],
            4,
            "fits \"7\"",
        ),
        (
            vec![
                "app".into(),
                "--repo".into(),
                repository.clone(),
                "--version".into(),
                "x y".into(),
            ],
            2,
            "neither a version nor a range",
        ),
        (
            vec!["app".into(), "--repo".into(), "ftp://h/r".into()],
            1,
            "is not the URL of a web server",
        ),
        (vec!["app".into(), "--repo".into(), url("nowhere")], 4, "404"),
        (vec!["nobody/app".into()], 2, "`helm repo add nobody URL`"),
        (
            vec!["app".into()],
            2,
            "does not name a chart in a registry or repository",
        ),
        (
            vec![format!("http://user:hunter2@{}/r/app-1.0.0.tgz", server.host())],
            2,
            "can't hold credentials",
        ),
        (
            vec![
                url("app-1.0.0.tgz"),
                "--expect-digest".into(),
                format!("sha256:{}", "a".repeat(64)),
            ],
            2,
            "requires oci://",
        ),
    ] {
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        let run = run(&[&["pull"], words.as_slice(), &at].concat());
        assert_eq!(run.code, code, "{words:?}: {}", run.stderr);
        assert!(run.stderr.contains(reason), "{words:?}: {}", run.stderr);
        assert!(!run.stderr.contains("hunter2"), "{}", run.stderr);
        assert!(
            !to.exists() || tree(&to).is_empty(),
            "{words:?}: {:?}",
            tree(&to).keys()
        );
    }
}
