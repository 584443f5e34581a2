//! How `publish` ends: stopped half way, with the same chart twice, with failures of several kinds.

use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::Stdio;
use std::sync::{Mutex, mpsc};

use testbed::{Answer, Registry, Server, forward};

use crate::kubernetes_job::{handled_child, kill};
use crate::publish::write_charts;
use crate::{Run, command};

/// A chart of this name and content.
fn chart(folder: &Path, name: &str, values: &str) {
    std::fs::create_dir_all(folder).unwrap();
    let text = format!("apiVersion: v2\nname: {name}\nversion: 1.0.0\n");
    std::fs::write(folder.join("Chart.yaml"), text).unwrap();
    std::fs::write(folder.join("values.yaml"), values).unwrap();
}

fn outcomes(run: &Run) -> Vec<(String, String)> {
    let results = run.json()["results"].as_array().unwrap().clone();
    let text = |value: &serde_json::Value| value.as_str().unwrap_or_default().to_owned();
    results
        .iter()
        .map(|one| {
            let became = match &one["error"] {
                serde_json::Value::Null => text(&one["outcome"]) + &text(&one["would"]),
                error => text(&error["message"]),
            };
            (text(&one["input"]), became)
        })
        .collect()
}

#[test]
#[ignore = "needs servers or peers: .ci/test runs it"]
fn a_push_that_a_signal_ends_says_what_may_have_arrived() {
    let (registry, folder) = (Registry::start(), tempfile::tempdir().unwrap());
    write_charts(folder.path(), 1, "1.0.0");
    let upstream = registry.host().to_owned();
    let (sender, receiver) = mpsc::channel();
    let sender = Mutex::new(sender);
    let server = Server::start(move |request| {
        let last = request.method == "PUT" && request.path().contains("/manifests/");
        let answer = forward(request, &upstream);
        if last {
            sender.lock().unwrap().send(()).unwrap();
            return Answer::hang();
        }
        answer.into()
    });
    let chart = folder.path().join("charts/group-0/c0");
    let mut push = command();
    push.arg("push")
        .arg(&chart)
        .arg(format!("oci://{}/all", server.host()));
    push.args(["--plain-http", "-ojson"]);
    push.stdout(Stdio::piped()).stderr(Stdio::piped());
    let child = push.spawn().unwrap();
    receiver.recv().unwrap();
    kill(handled_child(&child), "-TERM");
    let run = Run::from(child.wait_with_output().unwrap());
    assert_eq!(run.code, 143, "{}", run.stderr);
    let json = run.json();
    assert_eq!(json["error"]["class"], "cancelled");
    assert_eq!(json["digest"], registry.crane_digest("all/c0:1.0.0"));
    assert_eq!(json["reference"], format!("{}/all/c0:1.0.0", server.host()));
    assert!(run.stderr.contains("its status is unknown"), "{}", run.stderr);
}

/// The run once ended with only an exit code, without reporting the charts that it had already pushed.
#[test]
#[ignore = "needs servers or peers: .ci/test runs it"]
fn a_signal_ends_it_with_all_that_is_known_by_then() {
    let (registry, folder) = (Registry::start(), tempfile::tempdir().unwrap());
    write_charts(folder.path(), 4, "1.0.0");
    let upstream = registry.host().to_owned();
    let (sender, receiver) = mpsc::channel();
    let sender = Mutex::new(sender);
    let server = Server::start(move |request| {
        if request.path().contains("/c1/") {
            sender.lock().unwrap().send(()).unwrap();
            return Answer::hang();
        }
        forward(request, &upstream).into()
    });
    let (output, dotenv) = (folder.path().join("output"), folder.path().join("dotenv"));
    std::fs::write(&dotenv, "").unwrap();
    std::fs::set_permissions(&dotenv, std::fs::Permissions::from_mode(0o600)).unwrap();
    let mut publish = command();
    publish.current_dir(folder.path()).args([
        "publish",
        "charts",
        &format!("oci://{}/all", server.host()),
        "--plain-http",
        "--connections=1",
        "-ojson",
    ]);
    publish.env("GITHUB_OUTPUT", &output).arg("--dotenv").arg(&dotenv);
    publish.stdout(Stdio::piped()).stderr(Stdio::piped());
    let child = publish.spawn().unwrap();
    receiver.recv().unwrap();
    kill(handled_child(&child), "-TERM");
    let run = Run::from(child.wait_with_output().unwrap());
    assert_eq!(run.code, 143, "{}", run.stderr);
    let expected = [
        ("charts/group-0/c0", "created"),
        ("charts/group-0/c3", "created"),
        (
            "charts/group-1/c1",
            "terminated by a signal while it was on its way",
        ),
        ("charts/group-2/c2", "terminated by a signal before it was sent"),
    ];
    let expected = expected.map(|(input, became)| (input.to_owned(), became.to_owned()));
    assert_eq!(outcomes(&run), expected);
    // What may have arrived can be looked for.
    let on_its_way = &run.json()["results"][2];
    let chart = folder.path().join("charts/group-1/c1");
    let known = Run::of(command().arg("digest").arg(chart));
    assert_eq!(on_its_way["digest"], known.stdout.trim());
    assert_eq!(on_its_way["reference"], format!("{}/all/c1:1.0.0", server.host()));
    assert_eq!(run.stderr.matches("error:").count(), 1, "{}", run.stderr);
    assert!(run.stderr.contains("2 of 4 charts are done"), "{}", run.stderr);
    let digest = registry.crane_digest("all/c3:1.0.0");
    let output = std::fs::read_to_string(output).unwrap();
    assert!(
        output.starts_with("changed=2\nunchanged=0\nfailed=2\n") && output.contains(&digest),
        "{output}"
    );
    let mode = std::fs::metadata(&dotenv).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600, "it was once made one that all can read");
    let dotenv = std::fs::read_to_string(dotenv).unwrap();
    assert!(dotenv.contains(&format!("DIGEST_C3={digest}\n")), "{dotenv}");
}

#[test]
#[ignore = "needs servers or peers: .ci/test runs it"]
fn the_same_chart_twice_is_sent_once_and_another_one_of_its_name_is_refused() {
    let (registry, folder) = (Registry::start(), tempfile::tempdir().unwrap());
    let upstream = registry.host().to_owned();
    let server = Server::start(move |request| forward(request, &upstream).into());
    chart(&folder.path().join("a"), "app", "a: 1\n");
    chart(&folder.path().join("b"), "app", "a: 1\n");
    chart(&folder.path().join("c"), "app", "a: 2\n");
    let target = format!("oci://{}/all", server.host());
    let publish = |inputs: &[&str], rest: &[&str]| {
        let mut publish = command();
        publish.current_dir(folder.path()).arg("publish").args(inputs);
        Run::of(publish.args([&target, "--plain-http", "-ojson"]).args(rest))
    };
    let pairs = |list: &[(&str, &str)]| -> Vec<(String, String)> {
        list.iter()
            .map(|(one, other)| ((*one).to_owned(), (*other).to_owned()))
            .collect()
    };
    let run = publish(&["a", "b", "[ab]"], &["--check"]);
    assert_eq!(
        outcomes(&run),
        pairs(&[("a", "created"), ("b", "unchanged")]),
        "{}",
        run.stderr
    );
    let run = publish(&["[ab]", "a"], &[]);
    assert_eq!(
        (run.code, outcomes(&run)),
        (0, pairs(&[("a", "created"), ("b", "unchanged")]))
    );
    let manifests = server
        .requests()
        .iter()
        .filter(|one| one.method == "PUT" && one.path().contains("/manifests/"))
        .count();
    assert_eq!(manifests, 1);
    let run = publish(&["a", "c"], &[]);
    let clash = format!(
        "a and c are different charts with one destination, {}/all/app:1.0.0",
        server.host()
    );
    assert_eq!(
        (run.code, outcomes(&run)),
        (1, pairs(&[("a", "unchanged"), ("c", &clash)]))
    );
}

/// It was once that of the chart whose name came first.
#[test]
fn the_exit_code_does_not_depend_on_the_order_of_the_charts() {
    for [conflict, broken] in [["a", "b"], ["b", "a"]] {
        let folder = tempfile::tempdir().unwrap();
        let charts = folder.path().join("charts");
        let publish = |rest: &[&str]| {
            let mut publish = command();
            publish
                .current_dir(folder.path())
                .args(["publish", "charts", "oci-layout:out"]);
            Run::of(publish.args(rest))
        };
        chart(&charts.join(conflict), "app", "a: 1\n");
        assert_eq!(publish(&[]).code, 0);
        chart(&charts.join(conflict), "app", "a: 2\n");
        assert_eq!(publish(&["--check"]).code, 3);
        chart(&charts.join(broken), "no name\nat all: [", "");
        let run = publish(&["--check"]);
        assert_eq!(run.code, 1, "{}", run.stderr);
        assert!(run.stderr.contains("raise the chart's version"), "{}", run.stderr);
    }
}
