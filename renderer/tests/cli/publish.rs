//! `publish`: many charts, only changed ones pushed, over few connections.

use std::collections::BTreeSet;
use std::path::Path;

use testbed::{Answer, Registry, Response, Server, forward};

use crate::{Run, command, testdata, tree, with_each_authentication};

/// `charts/cN`, and files and folders that are no charts.
pub(crate) fn write_charts(folder: &Path, count: usize, version: &str) {
    for number in 0..count {
        let chart = folder.join(format!("charts/group-{}/c{number}", number % 3));
        std::fs::create_dir_all(chart.join("charts/sub")).unwrap();
        let text = format!(
            "apiVersion: v2\nname: c{number}\nversion: {version}\ndependencies:\n- {{name: sub, version: 1.0.0}}\n"
        );
        std::fs::write(chart.join("Chart.yaml"), text).unwrap();
        std::fs::write(
            chart.join("charts/sub/Chart.yaml"),
            "apiVersion: v2\nname: sub\nversion: 1.0.0\n",
        )
        .unwrap();
    }
    std::fs::create_dir_all(folder.join("charts/.hidden")).unwrap();
    std::fs::write(folder.join("charts/.hidden/Chart.yaml"), "no chart\n").unwrap();
    std::fs::write(folder.join("charts/README.md"), "text\n").unwrap();
}

fn publish(folder: &Path, target: &str, rest: &[&str]) -> Run {
    let mut publish = command();
    publish
        .current_dir(folder)
        .args(["publish", "charts", target, "--plain-http"]);
    Run::of(publish.args(rest))
}

/// A real registry behind a server that counts.
fn counting(registry: &Registry) -> Server {
    let upstream = registry.host().to_owned();
    Server::start(move |request| forward(request, &upstream).into())
}

#[test]
#[ignore = "needs servers or peers: .ci/test runs it"]
fn unchanged_charts_take_one_head_each_and_changed_ones_are_pushed() {
    let (registry, folder) = (Registry::start(), tempfile::tempdir().unwrap());
    let server = counting(&registry);
    let target = format!("oci://{}/all", server.host());
    write_charts(folder.path(), 12, "1.0.0");
    let first = publish(folder.path(), &target, &["-o", "json"]);
    assert_eq!(first.code, 0, "{}", first.stderr);
    assert_eq!(first.stderr, "", "no progress bar where there is no terminal");
    let results = first.json()["results"].as_array().unwrap().clone();
    assert_eq!(results.len(), 12);
    assert!(results.iter().all(|one| one["outcome"] == "created"));
    let inputs: Vec<&str> = results.iter().map(|one| one["input"].as_str().unwrap()).collect();
    assert!(
        inputs.is_sorted() && inputs[0] == "charts/group-0/c0",
        "{inputs:?}"
    );
    assert_eq!(
        registry.crane_digest("all/c7:1.0.0"),
        results
            .iter()
            .find(|one| one["input"] == "charts/group-1/c7")
            .unwrap()["digest"]
            .as_str()
            .unwrap()
    );

    let before = server.requests().len();
    let again = publish(folder.path(), &target, &[]);
    assert_eq!(again.code, 0, "{}", again.stderr);
    let lines = server.lines().split_off(before);
    assert!(
        lines.len() == 12 && lines.iter().all(|line| line.starts_with("HEAD")),
        "{lines:#?}"
    );
    assert_eq!(lines.iter().collect::<BTreeSet<_>>().len(), 12);
    assert_eq!(again.stdout.lines().count(), 13, "{}", again.stdout);
    assert!(
        again
            .stdout
            .starts_with("CHART  VERSION  OUTCOME    DIGEST\nc0     1.0.0    unchanged  sha256:"),
        "{}",
        again.stdout
    );

    let values = folder.path().join("charts/group-2/c5/values.yaml");
    std::fs::write(values, "a: 1\n").unwrap();
    let conflict = publish(folder.path(), &target, &[]);
    assert_eq!(conflict.code, 3, "{}", conflict.stderr);
    assert!(
        conflict
            .stdout
            .contains("c5     1.0.0    failed: conflict  sha256:"),
        "{}",
        conflict.stdout
    );
    assert_eq!(conflict.stdout.matches("unchanged").count(), 11);
    let replaced = publish(folder.path(), &target, &["--if-exists", "replace"]);
    assert!(
        replaced.code == 0 && replaced.stdout.matches("replaced").count() == 1,
        "{}",
        replaced.stdout
    );
}

#[test]
#[ignore = "needs servers or peers: .ci/test runs it"]
fn with_credentials_unchanged_charts_are_asked_for_once_too() {
    with_each_authentication(|registry, user| {
        let folder = tempfile::tempdir().unwrap();
        let server = counting(registry);
        let target = format!("oci://{}/all", server.host());
        write_charts(folder.path(), 30, "1.0.0");
        assert_eq!(publish(folder.path(), &target, user).code, 0);
        let before = server.requests().len();
        let again = publish(folder.path(), &target, user);
        assert_eq!(
            (again.code, again.stdout.matches("unchanged").count()),
            (0, 30),
            "{}",
            again.stderr
        );
        let more = server.requests().len() - before - 30;
        assert!(
            more <= 8,
            "only the first of each connection may be challenged: {more}"
        );
        write_charts(folder.path(), 1, "2.0.0");
        let anonymous = publish(folder.path(), &target, &[]);
        assert_eq!(anonymous.code, 4, "{}", anonymous.stdout);
    });
}

#[test]
#[ignore = "needs servers or peers: .ci/test runs it"]
fn check_says_what_would_happen_and_pushes_nothing() {
    let (registry, folder) = (Registry::start(), tempfile::tempdir().unwrap());
    let server = counting(&registry);
    let layout = format!("oci-layout:{}", folder.path().join("layout").display());
    let archives = format!("file:{}", folder.path().join("archives").display());
    for target in [format!("oci://{}/all", server.host()), layout, archives] {
        write_charts(folder.path(), 3, "1.0.0");
        let values = folder.path().join("charts/group-1/c1/values.yaml");
        let _ = std::fs::remove_file(&values);
        let before = tree(folder.path());
        let run = publish(folder.path(), &target, &["--check", "-o", "json"]);
        assert_eq!(run.code, 0, "{}", run.stderr);
        let results = run.json()["results"].clone();
        assert_eq!(
            (&results[0]["would"], &results[0]["outcome"]),
            (&"created".into(), &serde_json::Value::Null)
        );
        assert_eq!(tree(folder.path()), before, "{target}");
        assert_eq!(publish(folder.path(), &target, &[]).code, 0);

        let (before, methods) = (tree(folder.path()), server.requests().len());
        std::fs::write(&values, "a: 1\n").unwrap();
        let run = publish(folder.path(), &target, &["--check"]);
        assert_eq!(
            run.code, 3,
            "a changed chart without a new version: {}",
            run.stdout
        );
        assert!(run.stderr.contains("raise the chart's version"), "{}", run.stderr);
        std::fs::remove_file(&values).unwrap();
        assert_eq!(tree(folder.path()), before);
        write_charts(folder.path(), 3, "1.1.0");
        let run = publish(folder.path(), &target, &["--check"]);
        assert!(
            run.code == 0 && run.stdout.matches("would be created").count() == 3,
            "{}",
            run.stdout
        );
        assert!(
            server.requests()[methods..]
                .iter()
                .all(|request| ["HEAD", "GET"].contains(&request.method.as_str()))
        );
    }
}

#[test]
#[ignore = "needs servers or peers: .ci/test runs it"]
fn one_that_fails_stops_no_other_and_each_is_named() {
    let (registry, folder) = (Registry::start(), tempfile::tempdir().unwrap());
    let upstream = registry.host().to_owned();
    let server = Server::start(move |request| -> Answer {
        if request.path().contains("/c4/") {
            return Response::status(403).into();
        }
        forward(request, &upstream).into()
    });
    write_charts(folder.path(), 6, "1.0.0");
    let broken = folder.path().join("charts/group-2/c2/Chart.yaml");
    std::fs::write(&broken, "apiVersion: v2\nname: c2\n").unwrap();
    // The same name and version a second time: the later one is refused.
    let twin = folder.path().join("charts/z");
    std::fs::create_dir(&twin).unwrap();
    std::fs::write(
        twin.join("Chart.yaml"),
        "apiVersion: v2\nname: c1\nversion: 1.0.0\n",
    )
    .unwrap();
    let (output, summary, dotenv) = (
        folder.path().join("output"),
        folder.path().join("summary"),
        folder.path().join("dotenv"),
    );
    std::fs::write(&output, "before=1\n").unwrap();
    let mut publish = command();
    publish.current_dir(folder.path()).args(["publish", "charts"]);
    publish.arg(testdata().join("release.yaml"));
    publish.args([
        &format!("oci://{}/all", server.host()),
        "--plain-http",
        "-o",
        "json",
        "--dotenv",
    ]);
    publish.arg(&dotenv).env("GITHUB_ACTIONS", "true");
    publish
        .env("GITHUB_OUTPUT", &output)
        .env("GITHUB_STEP_SUMMARY", &summary);
    let run = Run::of(&mut publish);
    let results = run.json()["results"].as_array().unwrap().clone();
    let class = |input: &str| {
        let one = results
            .iter()
            .find(|one| one["input"].as_str().unwrap().ends_with(input))
            .unwrap();
        one["error"]["class"].as_str().unwrap_or("none").to_owned()
    };
    let found = ["c2", "c4", "charts/z", "c1", "release.yaml"].map(class);
    assert_eq!(found, ["chart", "auth", "config", "none", "none"], "{results:#?}");
    assert_eq!(run.code, 1, "the lowest, whatever the order of the charts");
    assert_eq!(
        results.iter().filter(|one| one["outcome"] == "created").count(),
        5
    );
    assert_eq!(
        run.stderr
            .lines()
            .filter(|line| line.starts_with("::error "))
            .count(),
        3,
        "{}",
        run.stderr
    );
    let output = std::fs::read_to_string(&output).unwrap();
    assert!(
        output.starts_with("before=1\nchanged=5\nunchanged=0\nfailed=3\nresults={\"schema\":1,"),
        "{output}"
    );
    let summary = std::fs::read_to_string(&summary).unwrap();
    assert!(
        summary.contains("5 changed, 0 unchanged, 3 failed")
            && summary.contains("| c1 | 1.0.0 | created | `sha256:"),
        "{summary}"
    );
    let dotenv = std::fs::read_to_string(&dotenv).unwrap();
    assert!(
        dotenv.contains("CHARTS_FAILED=3\n") && dotenv.contains("\nDIGEST_SHOP_FRONTEND=sha256:"),
        "{dotenv}"
    );
    let simple = |line: &str| {
        line.split_once('=').is_some_and(|(key, _)| {
            key.bytes()
                .all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
        })
    };
    assert!(dotenv.lines().all(simple), "{dotenv}");
}

#[test]
fn nothing_is_pushed_whose_digest_can_not_be_reported() {
    let folder = tempfile::tempdir().unwrap();
    let chart = folder.path().join("app");
    std::fs::create_dir(&chart).unwrap();
    std::fs::write(
        chart.join("Chart.yaml"),
        "apiVersion: v2\nname: app\nversion: 1.0.0\n",
    )
    .unwrap();
    let out = folder.path().join("out");
    let mut publish = command();
    publish
        .arg("publish")
        .arg(&chart)
        .arg(format!("file:{}", out.display()));
    let run = Run::of(publish.arg("--dotenv").arg(folder.path().join("none/report")));
    assert_ne!(run.code, 0, "{}", run.stdout);
    assert!(run.stderr.contains("can't write"), "{}", run.stderr);
    assert!(!out.join("app-1.0.0.tgz").exists());
}

#[test]
#[ignore = "needs servers or peers: .ci/test runs it"]
fn no_more_connections_are_open_than_allowed() {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering};
    let registry = Registry::start();
    let upstream = registry.host().to_owned();
    let (now, most) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
    let seen = Arc::clone(&most);
    let server = Server::start(move |request| {
        seen.fetch_max(now.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
        let answer = forward(request, &upstream);
        now.fetch_sub(1, Ordering::SeqCst);
        answer.into()
    });
    let folder = tempfile::tempdir().unwrap();
    write_charts(folder.path(), 40, "1.0.0");
    let target = format!("oci://{}/all", server.host());
    assert_eq!(publish(folder.path(), &target, &["--connections", "3"]).code, 0);
    let most = most.load(Ordering::SeqCst);
    assert!((2..=3).contains(&most), "{most} at once");
}

/// A large chart takes its time: what came to the tag meanwhile is not written over.
#[test]
#[ignore = "needs servers or peers: .ci/test runs it"]
fn a_tag_that_was_taken_during_the_upload_is_a_conflict() {
    let (registry, folder) = (Registry::start(), tempfile::tempdir().unwrap());
    let write = |name: &str, bytes: Vec<u8>| {
        let chart = folder.path().join(name);
        std::fs::create_dir(&chart).unwrap();
        std::fs::write(
            chart.join("Chart.yaml"),
            "apiVersion: v2\nname: app\nversion: 1.0.0\n",
        )
        .unwrap();
        std::fs::write(chart.join("data"), bytes).unwrap();
        chart
    };
    // Numbers that don't compress: 400 KiB are more than can be sent without a second look.
    let mut state = 1_u64;
    let large = std::iter::repeat_with(|| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (state >> 56) as u8
    });
    let (slow, quick) = (
        write("slow", large.take(400 << 10).collect()),
        write("quick", b"x".to_vec()),
    );
    let push = move |chart: &Path, host: &str| {
        let mut push = command();
        push.arg("push")
            .arg(chart)
            .args([&format!("oci://{host}/charts"), "--plain-http"]);
        Run::of(&mut push)
    };
    let upstream = registry.host().to_owned();
    let once = std::sync::Once::new();
    let server = Server::start(move |request| {
        if request.method == "PUT" && request.target.contains("/blobs/") {
            once.call_once(|| assert_eq!(push(&quick, &upstream).code, 0));
        }
        forward(request, &upstream).into()
    });
    let run = push(&slow, &server.host());
    assert_eq!(run.code, 3, "{}{}", run.stdout, run.stderr);
    let digest = Run::of(command().arg("digest").arg(folder.path().join("quick")));
    assert_eq!(registry.crane_digest("charts/app:1.0.0"), digest.stdout.trim());
}

#[test]
fn what_can_not_be_meant_is_said_before_any_network() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::create_dir(folder.path().join("charts")).unwrap();
    for (words, code, hint) in [
        (
            vec!["publish", "charts", "oci://127.0.0.1:1/a:1.0.0"],
            2,
            "one tag",
        ),
        (
            vec!["publish", "charts", "oci://127.0.0.1:1/a"],
            1,
            "no chart below",
        ),
        (
            vec!["publish", "nothing", "oci://127.0.0.1:1/a"],
            1,
            "does not exist",
        ),
        (vec!["publish", "oci://127.0.0.1:1/a"], 2, "TARGET"),
        (
            vec!["publish", "charts", "oci://127.0.0.1:1/a", "--connections", "0"],
            2,
            "connections",
        ),
    ] {
        let run = Run::of(
            command()
                .current_dir(folder.path())
                .args(&words)
                .args(["-o", "json"]),
        );
        assert_eq!(run.code, code, "{words:?}: {}", run.stderr);
        assert!(run.json()["error"].is_object());
        assert!(run.stderr.contains(hint), "{words:?}: {}", run.stderr);
    }
}

#[test]
fn a_terminal_shows_a_bar_and_a_file_does_not() {
    let folder = tempfile::tempdir().unwrap();
    write_charts(folder.path(), 4, "1.0.0");
    let line = format!("{} publish charts oci-layout:out", crate::binary().display());
    let mut script = std::process::Command::new("script");
    let run = Run::of(
        script
            .args(["-qec", &line, "/dev/null"])
            .current_dir(folder.path()),
    );
    assert_eq!(run.code, 0, "{}", run.stdout);
    assert!(
        run.stdout.contains("] 4/4") && run.stdout.contains("CHART"),
        "{}",
        run.stdout
    );
    let again = publish(folder.path(), "oci-layout:out", &[]);
    assert!(
        again.stderr.is_empty() && !again.stdout.contains('['),
        "{}",
        again.stdout
    );
}

#[test]
fn patterns_that_no_shell_has_expanded_are() {
    let folder = tempfile::tempdir().unwrap();
    write_charts(folder.path(), 4, "1.0.0");
    std::fs::create_dir(folder.path().join("configs")).unwrap();
    let config = std::fs::read_to_string(testdata().join("release.yaml")).unwrap();
    for name in ["one", "two"] {
        let text = config.replacen("    name: ", &format!("    name: {name}-"), 1);
        std::fs::write(folder.path().join(format!("configs/{name}.yaml")), text).unwrap();
    }
    let run = |words: &[&str]| {
        let mut publish = command();
        publish.current_dir(folder.path()).arg("publish").args(words);
        Run::of(publish.args(["oci-layout:out", "-o", "json"]))
    };
    let inputs = |words: &[&str]| {
        let run = run(words);
        assert_eq!(run.code, 0, "{}", run.stderr);
        let document = run.json();
        let results = document["results"].as_array().unwrap().iter();
        let inputs: Vec<String> = results
            .map(|one| one["input"].as_str().unwrap().to_owned())
            .collect();
        inputs
    };
    assert_eq!(
        inputs(&["configs/*.yaml", "charts/group-[01]"]),
        [
            "configs/one.yaml",
            "configs/two.yaml",
            "charts/group-0/c0",
            "charts/group-0/c3",
            "charts/group-1/c1"
        ]
    );
    // A matched file of a chart selects the chart.
    assert_eq!(
        inputs(&["charts/group-0/*/Chart.yaml"]),
        ["charts/group-0/c0", "charts/group-0/c3"]
    );
    for (pattern, words) in [
        ("none/*", "nothing matches"),
        ("charts/[", "Pattern syntax error"),
    ] {
        let run = run(&[pattern]);
        assert!(
            run.code == 2 && run.stderr.contains(words),
            "{pattern}: {}",
            run.stderr
        );
    }
}
