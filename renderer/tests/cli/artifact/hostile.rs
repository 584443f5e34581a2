//! `artifact`: servers that lie.

use std::sync::Mutex;

use testbed::{Answer, Request, Response, Server};

use super::{COMMIT, entry, folder, hostile, run_hostile};

#[test]
fn names_that_leave_the_folder_are_refused_before_anything_is_fetched() {
    for path in [
        "../../etc/passwd",
        "/etc/passwd",
        "a/../../b",
        "a\\\\b",
        "a\\u0000b",
        "",
    ] {
        let server = hostile(&entry(path), |_| Response::status(200).body("good").into());
        let folder = folder();
        let run = run_hostile(&server, folder.path());
        assert_eq!(run.code, 4, "{path}: {}", run.stderr);
        assert_eq!(run.json()["error"]["class"], "protocol", "{path}");
        assert!(run.stderr.contains("is refused"), "{path}: {}", run.stderr);
        assert_eq!(server.requests().len(), 2, "{path}");
    }
}

#[test]
fn bodies_that_are_not_the_file_are_refused() {
    let endless = |head: &'static str| {
        Answer::Raw(Box::new(move |stream| {
            use std::io::Write as _;
            let _ = stream.write_all(head.as_bytes());
            while stream.write_all(&[b'x'; 4096]).is_ok() {}
        }))
    };
    type Case = (
        &'static str,
        Box<dyn Fn(&Request) -> Answer + Send + Sync>,
        i32,
        &'static str,
    );
    let cases: Vec<Case> = vec![
        (
            "other bytes",
            Box::new(|_| Response::status(200).body("evil").into()),
            3,
            "expected was sha256:",
        ),
        (
            "endless",
            Box::new(move |_| endless("HTTP/1.1 200 x\r\n\r\n")),
            4,
            "sends more than 4 bytes",
        ),
        (
            "a wrong length",
            Box::new(|_| Response::status(200).body("goodgood").into()),
            4,
            "the server reports 8",
        ),
        (
            "a short body",
            Box::new(|_| Answer::bytes("HTTP/1.1 200 x\r\n\r\nabc")),
            5,
            "sent 3 of 4 bytes",
        ),
        (
            "a page",
            Box::new(|_| Response::status(204).into()),
            4,
            "answered 204, expected 200",
        ),
        (
            "redirects for ever",
            Box::new(|request| {
                let next = format!("{}x", request.target);
                Response::status(302).header("Location", next).into()
            }),
            4,
            "more than 5 redirects",
        ),
        (
            "a file of the machine",
            Box::new(|_| {
                Response::status(302)
                    .header("Location", "file:///etc/passwd")
                    .into()
            }),
            4,
            "scheme \"file\"",
        ),
    ];
    for (name, body, code, text) in cases {
        let server = hostile(&entry("model.bin"), body);
        let folder = folder();
        let run = run_hostile(&server, folder.path());
        assert_eq!(run.code, code, "{name}: {}", run.stderr);
        assert!(run.stderr.contains(text), "{name}: {}", run.stderr);
        assert!(!folder.path().join("out").exists(), "{name}: nothing was pushed");
    }
}

#[test]
fn lists_that_lead_elsewhere_or_never_end_are_refused() {
    let elsewhere = Server::start(|_| Response::status(200).body("[]").into());
    let other = format!("<http://{}/x>; rel=\"next\"", elsewhere.host());
    let same = format!("</api/models/acme/tiny/tree/{COMMIT}?recursive=true&expand=false>; rel=\"next\"");
    for (link, text) in [(other, "on another server"), (same, "the next page is this one")] {
        let server = Server::start(move |request| {
            let body = match request.path().contains("/revision/") {
                true => format!(r#"{{"sha":"{COMMIT}"}}"#),
                false => "[]".to_owned(),
            };
            Response::status(200)
                .header("Link", link.clone())
                .body(body)
                .into()
        });
        let folder = folder();
        let run = run_hostile(&server, folder.path());
        assert_eq!(run.code, 4, "{}", run.stderr);
        assert!(run.stderr.contains(text), "{}", run.stderr);
    }
    assert_eq!(elsewhere.requests().len(), 0);
    let turn = Mutex::new(0);
    let server = Server::start(move |request| {
        let mut turn = turn.lock().unwrap();
        *turn += 1;
        let body = match request.path().contains("/revision/") {
            true => format!(r#"{{"sha":"{COMMIT}"}}"#),
            false => "[]".to_owned(),
        };
        let link = format!("</api/models/acme/tiny/tree/x?cursor={turn}>; rel=\"next\"");
        let response = Response::status(200).body(body);
        match request.path().contains("/tree/") {
            true => response.header("Link", link).into(),
            false => response.into(),
        }
    });
    let run = run_hostile(&server, folder().path());
    assert_eq!(run.code, 4, "{}", run.stderr);
    assert!(run.stderr.contains("more than 200 pages"), "{}", run.stderr);
    // The limit is ours: it was once the server's lie, without advice.
    assert_eq!(run.json()["error"]["class"], "refused");
    assert!(run.stderr.contains("`--include`"), "{}", run.stderr);
}
