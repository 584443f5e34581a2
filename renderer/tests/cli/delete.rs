//! `delete`: tags and manifests, in real registries and in ones that answer oddly.

use std::path::Path;
use std::sync::Mutex;

use testbed::{Registry, Request, Response, Server, Setup, forward};

use crate::{Run, command, with_each_authentication};

fn delete(references: &[&str], rest: &[&str]) -> Run {
    let mut delete = command();
    delete.arg("delete").args(references);
    Run::of(delete.args(["--plain-http", "-o", "json"]).args(rest))
}

/// Pushes `demo` in a version, with other tags; its digest.
fn push(folder: &Path, host: &str, version: &str, tags: &[&str], rest: &[&str]) -> String {
    let chart = folder.join("demo");
    std::fs::create_dir_all(&chart).unwrap();
    let text = format!("apiVersion: v2\nname: demo\nversion: {version}\n");
    std::fs::write(chart.join("Chart.yaml"), text).unwrap();
    let mut push = command();
    push.arg("push").arg(&chart).arg(format!("oci://{host}/charts"));
    push.args(["--plain-http", "-o", "json"]).args(rest);
    for tag in tags {
        push.args(["--tag", tag]);
    }
    let run = Run::of(&mut push);
    assert_eq!(run.code, 0, "{}", run.stderr);
    run.json()["digest"].as_str().unwrap().to_owned()
}

fn tags(host: &str) -> Vec<String> {
    let place = format!("oci://{host}/charts/demo");
    let run = Run::of(command().args(["tags", &place, "--plain-http"]));
    assert_eq!(run.code, 0, "{}", run.stderr);
    run.stdout.lines().map(str::to_owned).collect()
}

fn has(host: &str, at: &str) -> bool {
    let folder = tempfile::tempdir().unwrap();
    let mut pull = command();
    pull.arg("pull").arg(format!("oci://{host}/charts/demo{at}"));
    let run = Run::of(pull.args(["--plain-http", "--no-cache", "-d"]).arg(folder.path()));
    assert!(run.code == 0 || run.code == 4, "{}", run.stderr);
    run.code == 0
}

#[test]
#[ignore = "needs servers or peers: .ci/test runs it"]
fn a_tag_is_deleted_with_its_manifest_unless_another_tag_names_it() {
    for version_2 in [false, true] {
        let registry = Registry::with(&Setup {
            version_2,
            ..Setup::default()
        });
        let (folder, host) = (tempfile::tempdir().unwrap(), registry.host());
        let shared = push(folder.path(), host, "1.0.0", &["latest"], &[]);
        let single = push(folder.path(), host, "2.0.0+b", &[], &[]);
        let reference = |at: &str| format!("oci://{host}/charts/demo{at}");

        let run = delete(&[&reference(":2.0.0_b")], &[]);
        assert_eq!(run.code, 0, "{}", run.stderr);
        let result = run.json();
        assert_eq!(result["outcome"], "deleted", "{result}");
        assert_eq!(result["digest"], single.as_str());
        assert_eq!(result["reference"], format!("{host}/charts/demo:2.0.0_b"));
        assert_eq!(result.get("note"), None, "{result}");
        assert_eq!(tags(host), ["1.0.0", "latest"]);
        assert!(!has(host, &format!("@{single}")), "the manifest is gone");

        let again = delete(&[&reference(":2.0.0_b")], &[]);
        assert_eq!((again.code, &again.json()["outcome"]), (0, &"absent".into()));
        let nowhere = delete(&[&format!("oci://{host}/charts/other:1")], &[]);
        assert_eq!((nowhere.code, &nowhere.json()["outcome"]), (0, &"absent".into()));

        let latest = delete(&[&reference(":latest")], &[]);
        if version_2 {
            // It deletes by digest alone.
            assert_eq!(latest.code, 4, "{}", latest.stderr);
            assert_eq!(latest.json()["error"]["class"], "refused");
            assert_eq!(latest.json()["error"]["transient"], false);
            assert!(latest.stderr.contains("the tag 1.0.0 names"), "{}", latest.stderr);
            assert_eq!(tags(host), ["1.0.0", "latest"]);
        } else {
            assert_eq!(latest.code, 0, "{}", latest.stderr);
            let note = latest.json()["note"].as_str().unwrap().to_owned();
            assert!(note.contains("the tag 1.0.0 names its manifest"), "{note}");
            assert_eq!(tags(host), ["1.0.0"]);
        }
        assert!(has(host, ":1.0.0"), "another tag's content stays");
        let by_digest = delete(&[&reference(&format!("@{shared}"))], &[]);
        assert_eq!(by_digest.code, 4, "{}", by_digest.stderr);
        assert!(has(host, ":1.0.0"));

        // All of its tags in one run.
        let run = delete(&[&reference(":1.0.0"), &reference(":latest")], &[]);
        assert_eq!(run.code, 0, "{}", run.stderr);
        assert_eq!(run.json()["results"][0]["outcome"], "deleted");
        assert!(!has(host, &format!("@{shared}")));
        assert!(tags(host).is_empty());
    }
}

/// Each Job that deletes a tag once asked for every tag of the repository.
#[test]
#[ignore = "needs servers or peers: .ci/test runs it"]
fn with_more_tags_than_are_compared_only_the_tag_is_deleted_or_all_are_compared() {
    for version_2 in [false, true] {
        let registry = Registry::with(&Setup {
            version_2,
            ..Setup::default()
        });
        let (folder, host) = (tempfile::tempdir().unwrap(), registry.host());
        let shared = push(folder.path(), host, "1.0.0", &["latest"], &[]);
        let single = push(folder.path(), host, "2.0.0", &[], &[]);
        let reference = |tag: &str| format!("oci://{host}/charts/demo:{tag}");
        let compare = |limit: &'static str| ["--max-compared-tags", limit];

        let run = delete(&[&reference("2.0.0")], &compare("2"));
        assert_eq!(
            (run.code, &run.json()["outcome"]),
            (0, &"deleted".into()),
            "{}",
            run.stderr
        );
        assert_eq!(tags(host), ["1.0.0", "latest"]);
        // The version that can't delete tags has compared all tags, and found none.
        assert_eq!(has(host, &format!("@{single}")), !version_2);
        assert_eq!(run.json().get("note").is_some(), !version_2, "{}", run.stdout);

        let run = delete(&[&reference("latest")], &compare("1"));
        if version_2 {
            assert_eq!(run.code, 4, "{}", run.stderr);
            assert!(run.stderr.contains("1.0.0"), "{}", run.stderr);
            continue;
        }
        assert_eq!(run.code, 0, "{}", run.stderr);
        assert_eq!(tags(host), ["1.0.0"]);
        assert!(
            has(host, &format!("@{shared}")) && has(host, ":1.0.0"),
            "another tag's content stays"
        );
        // As few as are compared: with its manifest.
        let run = delete(&[&reference("1.0.0")], &compare("1"));
        assert_eq!((run.code, run.json().get("note")), (0, None), "{}", run.stderr);
        assert!(!has(host, &format!("@{shared}")), "the manifest is gone");
    }
}

#[test]
#[ignore = "needs servers or peers: .ci/test runs it"]
fn a_registry_that_deletes_nothing_says_how_it_would() {
    let registry = Registry::with(&Setup {
        no_delete: true,
        ..Setup::default()
    });
    let (folder, host) = (tempfile::tempdir().unwrap(), registry.host());
    push(folder.path(), host, "1.0.0", &["latest"], &[]);
    push(folder.path(), host, "2.0.0", &[], &[]);
    for tag in ["1.0.0", "2.0.0"] {
        let run = delete(&[&format!("oci://{host}/charts/demo:{tag}")], &[]);
        assert_eq!(run.code, 4, "{}", run.stderr);
        let error = &run.json()["error"];
        assert_eq!(
            (&error["class"], &error["transient"]),
            (&"refused".into(), &false.into())
        );
        assert!(
            run.stderr.contains("REGISTRY_STORAGE_DELETE_ENABLED"),
            "{}",
            run.stderr
        );
    }
    assert_eq!(tags(host), ["2.0.0", "1.0.0", "latest"]);
}

#[test]
#[ignore = "needs servers or peers: .ci/test runs it"]
fn another_digest_than_the_expected_one_and_a_dry_run_delete_nothing() {
    let registry = Registry::start();
    let upstream = registry.host().to_owned();
    let server = Server::start(move |request| forward(request, &upstream).into());
    let (folder, host) = (tempfile::tempdir().unwrap(), server.host());
    let digest = push(folder.path(), &host, "1.0.0", &[], &[]);
    let other = format!("sha256:{}", "0".repeat(64));
    let reference = format!("oci://{host}/charts/demo:1.0.0");
    let pinned = format!("{reference}@{other}");
    for run in [
        delete(&[&reference], &["--expect-digest", &other]),
        delete(&[&pinned], &[]),
    ] {
        assert_eq!(run.code, 3, "{}", run.stderr);
        assert_eq!(run.json()["error"]["class"], "digest");
        assert_eq!(run.json()["existingDigest"], digest.as_str());
    }
    let dry = delete(&[&reference], &["--dry-run"]);
    assert_eq!(dry.code, 0, "{}", dry.stderr);
    assert_eq!(dry.json()["would"], "deleted");
    assert_eq!(dry.json().get("outcome"), None);
    assert!(!server.lines().iter().any(|line| line.starts_with("DELETE")));
    let run = delete(&[&reference], &["--expect-digest", &digest]);
    assert_eq!(run.code, 0, "{}", run.stderr);
    assert!(server.lines().iter().any(|line| line.starts_with("DELETE")));
}

#[test]
#[ignore = "needs servers or peers: .ci/test runs it"]
fn credentials_are_those_of_a_push() {
    with_each_authentication(|registry, user| {
        let (folder, host) = (tempfile::tempdir().unwrap(), registry.host());
        push(folder.path(), host, "1.0.0", &[], user);
        let reference = format!("oci://{host}/charts/demo:1.0.0");
        let without = delete(&[&reference], &[]);
        assert_eq!(without.code, 4, "{}", without.stderr);
        assert_eq!(without.json()["error"]["class"], "auth");
        let with = delete(&[&reference], user);
        assert_eq!(with.code, 0, "{}", with.stderr);
        assert_eq!(with.json()["outcome"], "deleted");
    });
}

/// A registry with one manifest at the tags; `deletes` answers what deletes.
fn answering(
    tags: &'static [&'static str],
    deletes: impl Fn(&Request) -> u16 + Send + Sync + 'static,
) -> Server {
    let digest = format!("sha256:{}", "a".repeat(64));
    Server::start(move |request| {
        let last = request.target.rsplit('/').next().unwrap_or_default();
        if request.method == "DELETE" {
            return Response::status(deletes(request)).into();
        }
        if last.starts_with("list") {
            let text = format!(r#"{{"name":"charts/demo","tags":{tags:?}}}"#);
            return Response::status(200).body(text).into();
        }
        if !tags.contains(&last) {
            return Response::status(404).into();
        }
        manifest(&digest).into()
    })
}

fn code_and_class(run: &Run) -> (i32, String) {
    let class = run.json()["error"]["class"]
        .as_str()
        .unwrap_or_default()
        .to_owned();
    (run.code, class)
}

#[test]
fn refusals_have_their_class() {
    let table = [
        (401, 4, "auth"),
        (403, 4, "auth"),
        (422, 4, "refused"),
        (503, 5, "registry"),
        (429, 5, "registry"),
    ];
    for (status, code, class) in table {
        let server = answering(&["1", "2"], move |_| status);
        let reference = format!("oci://{}/charts/demo:1", server.host());
        let run = delete(&[&reference], &["--retries", "0"]);
        assert_eq!(code_and_class(&run), (code, class.to_owned()), "{}", run.stderr);
        assert_eq!(run.json()["error"]["transient"], code == 5);
        assert_eq!(run.json()["reference"], reference.strip_prefix("oci://").unwrap());
    }
}

#[test]
fn what_may_pass_is_tried_again_and_an_answer_that_was_lost_is_no_failure() {
    let answers = Mutex::new(vec![404, 503]);
    let server = answering(&["1"], move |_| answers.lock().unwrap().pop().unwrap_or(404));
    let reference = format!("oci://{}/charts/demo:1", server.host());
    // The tag stays in the answers: a registry that says it is deleted, and serves it.
    let run = delete(&[&reference], &[]);
    assert_eq!(code_and_class(&run), (4, "protocol".to_owned()), "{}", run.stderr);
    let deletes = server
        .lines()
        .into_iter()
        .filter(|line| line.starts_with("DELETE"));
    assert!(deletes.count() >= 2);
}

#[test]
fn a_manifest_is_left_where_its_other_tags_are_not_known() {
    let many: Vec<String> = (0..=20_000).map(|number| format!("t{number}")).collect();
    let too_many = format!(r#"{{"name":"charts/demo","tags":{many:?}}}"#);
    let lists = [
        (Response::status(405), "405"),
        (Response::status(200).body(too_many), "more than 20000"),
    ];
    for (list, expected) in lists {
        let digest = format!("sha256:{}", "a".repeat(64));
        let is_there = Mutex::new(true);
        let server = Server::start(move |request| {
            let mut is_there = is_there.lock().unwrap();
            let is_list = request.target.contains("/tags/list");
            match request.method.as_str() {
                "DELETE" => {
                    *is_there = false;
                    Response::status(202).into()
                }
                _ if is_list => list.clone().into(),
                _ if !*is_there => Response::status(404).into(),
                _ => manifest(&digest).into(),
            }
        });
        let reference = format!("oci://{}/charts/demo:1", server.host());
        let run = delete(&[&reference], &["--retries", "0"]);
        assert_eq!(run.code, 0, "{}", run.stderr);
        let note = run.json()["note"].as_str().unwrap().to_owned();
        assert!(
            note.contains("other tags may name its manifest") && note.contains(expected),
            "{note}"
        );
        assert_eq!(server.count("DELETE"), 1, "the manifest was not touched");
    }
}

/// As in Google's registry: a manifest can only be deleted when no tag names it.
#[test]
fn a_registry_that_deletes_no_tagged_manifest_gets_the_tag_first() {
    let digest = format!("sha256:{}", "a".repeat(64));
    let is_there = Mutex::new(true);
    let server = Server::start(move |request| {
        let mut is_there = is_there.lock().unwrap();
        let by_digest = request.target.contains("sha256:");
        if request.method == "DELETE" {
            let status = if by_digest && *is_there { 400 } else { 202 };
            *is_there &= by_digest;
            return Response::status(status).into();
        }
        if request.target.contains("/tags/list") {
            let text = r#"{"name":"charts/demo","tags":["1"]}"#;
            return Response::status(200).body(text).into();
        }
        match *is_there {
            true => manifest(&digest).into(),
            false => Response::status(404).into(),
        }
    });
    let run = delete(&[&format!("oci://{}/charts/demo:1", server.host())], &[]);
    assert_eq!(run.code, 0, "{}", run.stderr);
    assert_eq!(run.json()["outcome"], "deleted");
    assert_eq!(run.json().get("note"), None);
    assert_eq!(server.count("DELETE"), 3);
}

fn manifest(digest: &str) -> Response {
    Response::status(200)
        .header("Content-Type", "application/vnd.oci.image.manifest.v1+json")
        .header("Docker-Content-Digest", digest)
}

#[test]
fn what_can_not_be_meant_is_refused_before_any_network() {
    for (words, expected) in [
        (&["shop"][..], "helm uninstall"),
        (&["oci://127.0.0.1:1/charts/demo"], "name a tag"),
        (&["oci-layout:dir:1"], "expected oci://"),
    ] {
        let run = delete(words, &[]);
        assert_eq!(run.code, 2, "{}", run.stderr);
        assert!(run.stderr.contains(expected), "{}", run.stderr);
    }
}
