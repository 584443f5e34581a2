//! `tags`: from real registries, layouts, and lists that don't end.

use testbed::{Auth, Registry, Response, Server, Setup};

use crate::{Run, command};

fn tags(reference: &str, rest: &[&str]) -> Run {
    Run::of(
        command()
            .args(["tags", reference, "--plain-http", "--retries", "0"])
            .args(rest),
    )
}

#[test]
#[ignore = "needs servers or peers: .ci/test runs it"]
fn versions_are_listed_newest_first_with_a_plus_and_other_tags_last() {
    let registry = Registry::with(&Setup {
        auth: Auth::Basic {
            username: "me",
            password: "hunter2",
        },
        ..Setup::default()
    });
    let folder = tempfile::tempdir().unwrap();
    let chart = folder.path().join("demo");
    std::fs::create_dir(&chart).unwrap();
    let user = ["--plain-http", "--username", "me", "--password", "hunter2"];
    let places = [
        format!("oci://{}/charts", registry.host()),
        format!("oci-layout:{}/l", folder.path().display()),
    ];
    for version in ["1.2.0", "1.10.0", "1.10.0+b.7", "2.0.0-rc.1"] {
        std::fs::write(
            chart.join("Chart.yaml"),
            format!("apiVersion: v2\nname: demo\nversion: {version}\n"),
        )
        .unwrap();
        for place in &places {
            let run = Run::of(command().arg("push").arg(&chart).arg(place).args(user));
            assert_eq!(run.code, 0, "{}", run.stderr);
        }
    }
    let latest = format!("{}/demo:latest", places[0]);
    let run = Run::of(
        command()
            .arg("push")
            .arg(&chart)
            .args([&latest, "--allow-mismatch"])
            .args(user),
    );
    assert_eq!(run.code, 0, "{}", run.stderr);
    let versions = "2.0.0-rc.1\n1.10.0+b.7\n1.10.0\n1.2.0\n";
    let run = tags(&format!("{}/demo", places[0]), &user[1..]);
    assert_eq!(
        (run.code, run.stdout),
        (0, format!("{versions}latest\n")),
        "{}",
        run.stderr
    );
    assert_eq!(tags(&format!("{}/demo", places[1]), &[]).stdout, versions);
    let json = tags(
        &format!("{}/demo", places[0]),
        &[&user[1..], &["-o", "json"]].concat(),
    )
    .json();
    assert_eq!(json["schema"], 1);
    assert_eq!(json["reference"], format!("{}/charts/demo", registry.host()));
    assert_eq!(
        json["tags"][1],
        serde_json::json!({"tag": "1.10.0_b.7", "version": "1.10.0+b.7"})
    );
    assert_eq!(json["tags"][4], serde_json::json!({"tag": "latest"}));

    let run = tags(&format!("{}/demo", places[0]), &["-o", "json"]);
    assert_eq!((run.code, &run.json()["error"]["class"]), (4, &"auth".into()));
    let run = tags(
        &format!("{}/nothing", places[0]),
        &[&user[1..], &["-o", "json"]].concat(),
    );
    assert_eq!((run.code, &run.json()["error"]["class"]), (4, &"refused".into()));
    assert_eq!(tags(&format!("{}/demo:1.2.0", places[0]), &[]).code, 2);
}

#[test]
fn all_pages_are_read() {
    let server = Server::start(|request| {
        let last = request
            .target
            .split_once("last=")
            .map_or(0, |(_, text)| text.parse::<usize>().unwrap());
        let tags: Vec<_> = (last + 1..=last + 3).map(|n| format!("{n}.0.0")).collect();
        let body = serde_json::json!({"name": "a", "tags": tags}).to_string();
        let answer = Response::status(200).body(body);
        if last + 3 < 12 {
            let next = format!("</v2/a/tags/list?n=3&last={}>; rel=\"next\"", last + 3);
            return answer.header("Link", next).into();
        }
        answer.into()
    });
    let run = tags(&format!("oci://{}/a", server.host()), &[]);
    let expected: String = (1..=12).rev().map(|n| format!("{n}.0.0\n")).collect();
    assert_eq!((run.code, run.stdout), (0, expected), "{}", run.stderr);
    assert_eq!(server.requests().len(), 4);
}

#[test]
fn invalid_or_endless_lists_are_refused() {
    type Make = fn(usize) -> Response;
    let page = |tags: &str| Response::status(200).body(format!("{{\"tags\":{tags}}}"));
    let table: Vec<(Make, &str)> = vec![
        (|_| Response::status(200).body("[]"), "not a list of tags"),
        (|_| Response::status(200).body(vec![b' '; 9 << 20]), "longer than"),
        (
            |_| {
                Response::status(200)
                    .body("{\"tags\":[\"a\"]}")
                    .header("Link", "<http://127.0.0.1:1/v2/>; rel=\"next\"")
            },
            "not in this registry",
        ),
        (
            |n| {
                let next = format!("<?n={n}>; rel=\"next\"");
                Response::status(200)
                    .body("{\"tags\":[\"a\"]}")
                    .header("Link", next)
            },
            "more than 1000 pages",
        ),
        (
            |_| {
                Response::status(200)
                    .body("{\"tags\":[\"a\"]}")
                    .header("Link", "<?n=1000>; rel=\"next\"")
            },
            "is this one",
        ),
    ];
    for (answer, words) in table {
        let count = std::sync::atomic::AtomicUsize::new(0);
        let server =
            Server::start(move |_| answer(count.fetch_add(1, std::sync::atomic::Ordering::SeqCst)).into());
        let run = tags(&format!("oci://{}/a", server.host()), &["-o", "json"]);
        assert_eq!(
            (run.code, &run.json()["error"]["class"]),
            (4, &"protocol".into()),
            "{words}: {}",
            run.stderr
        );
        assert!(run.stderr.contains(words), "{words}: {}", run.stderr);
        assert!(!run.stderr.contains('\u{1b}'));
    }
    for tags_of in ["null", "[]"] {
        let text = page(tags_of);
        let server = Server::start(move |_| text.clone().header("Link", "<?x>; rel=\"next\"").into());
        let run = tags(&format!("oci://{}/a", server.host()), &[]);
        assert_eq!((run.code, run.stdout.as_str()), (0, ""));
    }
}

/// A link without angle brackets, or one after another, ended the list without a word; one odd tag failed all of it.
#[test]
fn every_way_to_say_that_there_is_more_is_followed_and_odd_tags_are_passed_over() {
    let links = [
        "</v2/a/b/tags/list?last=1.0.0>; rel=\"next\"",
        "/v2/a/b/tags/list?last=1.0.0; rel=next",
        "</v2/a/b/tags/list>; rel=\"first\", </v2/a/b/tags/list?last=1.0.0>; rel=\"next\"",
    ];
    for link in links {
        let server = Server::start(move |request| {
            if request.target.contains("last=") {
                return Response::status(200).body(r#"{"tags":["2.0.0"]}"#).into();
            }
            let page = Response::status(200).header("Link", link);
            page.body(r#"{"tags":["1.0.0","no tag","-x",""]}"#).into()
        });
        let run = tags(&format!("oci://{}/a/b", server.host()), &[]);
        assert_eq!(
            (run.code, run.stdout.as_str()),
            (0, "2.0.0\n1.0.0\n"),
            "{link}: {}",
            run.stderr
        );
    }
}
