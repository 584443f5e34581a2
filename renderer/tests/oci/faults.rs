//! Registries that break, lie and send us elsewhere: by a hand-written server, alone or in front
//! of a real registry.

use std::io::{BufRead as _, Write as _};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use solar_render::diag::Class;
use solar_render::oci::{
    Batch, ClientOptions, Failure, Finished, IfExists, PushOptions, Ready, RetryPolicy, publish, resolve,
};
use solar_render::package::Packer;
use solar_render::report::Outcome;
use testbed::{Answer, Registry, Request, Response, Server, Setup, forward};

use crate::support::*;

/// A real registry behind a server that answers some requests itself.
fn in_front(
    registry: &Registry,
    fault: impl Fn(&Request, usize) -> Option<Answer> + Send + Sync + 'static,
) -> Server {
    let upstream = registry.host().to_owned();
    let number = AtomicUsize::new(0);
    Server::start(move |request| {
        let number = number.fetch_add(1, Ordering::SeqCst);
        fault(request, number).unwrap_or_else(|| forward(request, &upstream).into())
    })
}

fn target(server: &Server) -> String {
    target_at(&server.host())
}

fn target_at(host: &str) -> String {
    format!("oci://{host}/charts")
}

fn refused(server: &Server) -> Failure {
    send(
        &chart("app", "1.0.0", "x"),
        &target(server),
        IfExists::Fail,
        &plain(),
    )
    .unwrap_err()
}

#[test]
fn each_request_may_fail_seven_times_in_every_passing_way() {
    let registry = Registry::start();
    // Each request is answered only at its eighth try; what fails differs.
    let seen = std::sync::Mutex::new(std::collections::BTreeMap::new());
    let server = in_front(&registry, move |request, _| {
        let key = format!("{} {}", request.method, request.path().len());
        let mut seen = seen.lock().unwrap();
        let count: &mut usize = seen.entry(key).or_default();
        *count += 1;
        match *count {
            1 => Some(Response::status(500).into()),
            2 => Some(Response::status(429).header("Retry-After", "0").into()),
            3 => Some(Answer::close()),
            4 => Some(Response::status(408).into()),
            5 => Some(Answer::bytes("HTTP/1.1 200 OK\r\nContent-")),
            6 => Some(Response::status(503).header("Retry-After", "1").into()),
            7 => Some(
                Response::status(502)
                    .header("Content-Type", "text/html")
                    .body("<p>")
                    .into(),
            ),
            _ => None,
        }
    });
    let artifact = chart("app", "1.0.0", "x");
    // An upload is one operation of two requests: its attempts are shared between them.
    let mut client = plain();
    client.retry.attempts = 20;
    let pushed = send(&artifact, &target(&server), IfExists::Fail, &client).unwrap();
    assert_eq!(pushed.outcome, Outcome::Created);
    assert_eq!(
        registry.crane_digest("charts/app:1.0.0"),
        artifact.digest.as_str()
    );
}

#[test]
fn eight_attempts_and_no_more_then_the_class_says_what_it_was() {
    let table: [(fn() -> Answer, Class); 4] = [
        (|| Response::status(500).into(), Class::Registry),
        (|| Response::status(429).into(), Class::Registry),
        (|| Response::status(408).into(), Class::Registry),
        (Answer::close, Class::Network),
    ];
    for (answer, class) in table {
        let server = Server::start(move |_| answer());
        let failure = refused(&server);
        assert_eq!(failure.class(), class, "{}", words(&failure));
        assert!(words(&failure).contains("8 attempts"), "{}", words(&failure));
        assert_eq!(server.requests().len(), 8);
    }
}

#[test]
fn a_genuine_no_is_not_asked_again_and_its_reason_is_shown() {
    for (status, class) in [
        (400, Class::Refused),
        (401, Class::Auth),
        (403, Class::Auth),
        (405, Class::Refused),
        (413, Class::Refused),
        (501, Class::Registry),
    ] {
        let server = Server::start(move |request| match request.method.as_str() {
            "HEAD" => Response::status(404).into(),
            _ => Response::status(status)
                .header("Content-Type", "application/json")
                .body(r#"{"errors":[{"code":"DENIED","message":"not\u0007 today"}]}"#)
                .into(),
        });
        let failure = refused(&server);
        assert_eq!(failure.class(), class, "{status}");
        assert!(
            words(&failure).contains("DENIED: not  today"),
            "{}",
            words(&failure)
        );
        assert!(server.count("POST") <= 2, "one for each blob");
        assert_eq!(server.count("PUT"), 0);
    }
}

#[test]
fn retry_after_is_waited_for_in_both_forms_up_to_its_cap() {
    // The clock of `Fixed` stands at 1970.
    for asked in ["3600", "Thu, 01 Jan 1970 01:00:00 GMT"] {
        let registry = Registry::start();
        let server = in_front(&registry, move |_, number| {
            (number == 0).then(|| Response::status(429).header("Retry-After", asked).into())
        });
        let client = ClientOptions {
            retry: RetryPolicy {
                retry_after_cap: Duration::from_millis(7),
                ..plain().retry
            },
            ..plain()
        };
        let trace = Trace::default();
        let artifact = chart("app", "1.0.0", "x");
        send_in(
            &artifact,
            &target(&server),
            IfExists::Fail,
            &client,
            &world(&[]),
            &trace,
        )
        .unwrap();
        let lines = trace.lines();
        assert!(
            lines.iter().any(|line| line.ends_with("again in 7ms")),
            "{lines:?}"
        );
    }
}

#[test]
fn a_silent_registry_is_given_up_after_the_time_limit() {
    let server = Server::start(|_| Answer::hang());
    let mut client = plain();
    client.timeout = Duration::from_millis(50);
    client.retry.attempts = 2;
    let failure = send(
        &chart("app", "1.0.0", "x"),
        &target(&server),
        IfExists::Fail,
        &client,
    )
    .unwrap_err();
    assert_eq!(failure.class(), Class::Network);
    assert!(words(&failure).contains("no answer in"), "{}", words(&failure));
}

#[test]
fn nobody_there_is_a_network_failure_after_all_attempts() {
    // Bound and dropped: nothing listens.
    let free = std::net::TcpListener::bind("127.0.0.1:0")
        .unwrap()
        .local_addr()
        .unwrap();
    let failure = send(
        &chart("app", "1.0.0", "x"),
        &format!("oci://{free}/charts"),
        IfExists::Fail,
        &plain(),
    )
    .unwrap_err();
    assert_eq!(failure.class(), Class::Network);
    let shown = words(&failure);
    assert!(
        shown.contains("refused") && shown.contains("8 attempts"),
        "{shown}"
    );
}

#[test]
fn an_upload_whose_session_is_lost_begins_with_a_fresh_post() {
    let registry = Registry::start();
    let lost = AtomicUsize::new(0);
    let server = in_front(&registry, move |request, _| {
        let upload = request.method == "PUT" && request.path().contains("/uploads/");
        (upload && lost.fetch_add(1, Ordering::SeqCst) < 3).then(|| {
            Response::status(404)
                .body(r#"{"errors":[{"code":"BLOB_UPLOAD_UNKNOWN"}]}"#)
                .into()
        })
    });
    let artifact = chart("app", "1.0.0", "x");
    send(&artifact, &target(&server), IfExists::Fail, &plain()).unwrap();
    assert_eq!(server.count("POST"), 2 + 3);
    assert_eq!(
        registry.crane_digest("charts/app:1.0.0"),
        artifact.digest.as_str()
    );
}

#[test]
fn digests_and_sizes_that_cannot_be_are_refused() {
    let registry = Registry::start();
    let other = format!("sha256:{}", "1".repeat(64));
    type Lie = (&'static str, &'static str, Response);
    let lies: Vec<Lie> = vec![
        (
            "HEAD",
            "/blobs/",
            Response::status(200).header("Docker-Content-Digest", other.clone()),
        ),
        (
            "HEAD",
            "/blobs/",
            Response::status(200).header("Content-Length", "7"),
        ),
        (
            "PUT",
            "/uploads/",
            Response::status(201).header("Docker-Content-Digest", other.clone()),
        ),
        ("PUT", "/uploads/", Response::status(204)),
        (
            "PUT",
            "/manifests/",
            Response::status(201).header("Docker-Content-Digest", other),
        ),
        ("PUT", "/manifests/", Response::status(200)),
        // Taken, and gone.
        ("PUT", "/manifests/", Response::status(201)),
        ("POST", "/uploads/", Response::status(202)),
        ("POST", "/uploads/", Response::status(201)),
        (
            "POST",
            "/uploads/",
            Response::status(202).header("Location", "ftp://x/y"),
        ),
        (
            "HEAD",
            "/manifests/",
            Response::status(200).header("Docker-Content-Digest", "nonsense"),
        ),
    ];
    for (number, (method, part, lie)) in lies.into_iter().enumerate() {
        let shown = format!("{number}: {method} {part} {lie:?}");
        let server = in_front(&registry, move |request, _| {
            (request.method == method && request.path().contains(part)).then(|| lie.clone().into())
        });
        // A fresh name each: blobs and tags of one lie must not be there for the next.
        let artifact = chart("app", &format!("{number}.0.0"), &format!("lie {number}"));
        let failure = send(&artifact, &target(&server), IfExists::Fail, &plain()).unwrap_err();
        assert_eq!(failure.class(), Class::Protocol, "{shown}: {}", words(&failure));
        let honest = send(
            &artifact,
            &format!("oci://{}/charts", registry.host()),
            IfExists::Fail,
            &plain(),
        );
        assert_eq!(
            honest.unwrap().outcome,
            Outcome::Created,
            "no tag was left: {shown}"
        );
    }
}

#[test]
fn a_registry_without_digest_headers_is_read_and_hashed() {
    let registry = Registry::start();
    let upstream = registry.host().to_owned();
    let server = Server::start(move |request| {
        let mut response = forward(request, &upstream);
        response
            .headers
            .retain(|(name, _)| name != "docker-content-digest");
        response.into()
    });
    let (first, second) = (chart("app", "1.0.0", "one"), chart("app", "1.0.0", "two"));
    let created = send(&first, &target(&server), IfExists::Fail, &plain()).unwrap();
    assert_eq!(created.outcome, Outcome::Created);
    let again = send(&first, &target(&server), IfExists::Fail, &plain()).unwrap();
    assert_eq!(again.outcome, Outcome::Unchanged);
    let conflict = send(&second, &target(&server), IfExists::Fail, &plain()).unwrap_err();
    assert_eq!(conflict.existing_digest(), Some(&first.digest));
}

#[test]
fn an_endless_manifest_is_not_read_to_its_end() {
    let server = Server::start(|request| match request.method.as_str() {
        "HEAD" => Response::status(200).into(),
        _ => Answer::Raw(Box::new(|stream| {
            let _ = stream.write_all(b"HTTP/1.1 200 OK\r\n\r\n");
            let piece = vec![b'x'; 1 << 20];
            while stream.write_all(&piece).is_ok() {}
        })),
    });
    let failure = refused(&server);
    assert_eq!(failure.class(), Class::Protocol);
    assert!(words(&failure).contains("longer than"), "{}", words(&failure));
}

#[test]
fn a_manifest_cut_short_is_read_again() {
    let registry = Registry::start();
    let first = chart("app", "1.0.0", "one");
    send(
        &first,
        &format!("oci://{}/charts", registry.host()),
        IfExists::Fail,
        &plain(),
    )
    .unwrap();
    let cut = AtomicUsize::new(0);
    let server = in_front(&registry, move |request, _| match request.method.as_str() {
        "HEAD" => Some(Response::status(200).into()),
        "GET" if cut.fetch_add(1, Ordering::SeqCst) == 0 => {
            Some(Answer::bytes("HTTP/1.1 200 OK\r\nContent-Length: 500\r\n\r\n{"))
        }
        _ => None,
    });
    let again = send(&first, &target(&server), IfExists::Fail, &plain()).unwrap();
    assert_eq!(again.outcome, Outcome::Unchanged);
    assert_eq!(server.count("GET"), 2);
}

#[test]
fn another_push_that_wins_right_after_ours_is_reported() {
    let registry = Registry::start();
    let other = format!("sha256:{}", "1".repeat(64));
    let winner = other.clone();
    let put = AtomicUsize::new(0);
    let server = in_front(&registry, move |request, _| {
        let manifest = request.path().contains("/manifests/");
        if request.method == "PUT" && manifest {
            put.fetch_add(1, Ordering::SeqCst);
        }
        (request.method == "HEAD" && manifest && put.load(Ordering::SeqCst) > 0).then(|| {
            Response::status(200)
                .header("Docker-Content-Digest", winner.clone())
                .into()
        })
    });
    let failure = refused(&server);
    assert_eq!(failure.class(), Class::Conflict);
    assert_eq!(failure.existing_digest().map(ToString::to_string), Some(other));
    assert!(words(&failure).contains("another push"), "{}", words(&failure));
}

/// A second host that records what reaches it.
fn elsewhere() -> Arc<Server> {
    Arc::new(Server::start(|request| match request.method.as_str() {
        "PUT" => Response::status(201).into(),
        "HEAD" => Response::status(404).into(),
        // Asks for credentials it must not get.
        _ => Response::status(401)
            .header("WWW-Authenticate", "Basic realm=x")
            .into(),
    }))
}

fn knows_user(request: &Request) -> Option<Answer> {
    request.header("authorization").is_none().then(|| {
        Response::status(401)
            .header("WWW-Authenticate", "Basic realm=x")
            .into()
    })
}

#[test]
fn credentials_do_not_follow_a_redirect_or_a_location_to_another_host() {
    let client = ClientOptions {
        credentials: user("robot", "hunter2"),
        ..plain()
    };
    let artifact = chart("app", "1.0.0", "x");

    let other = elsewhere();
    let host = other.host();
    let server = Server::start(move |request| {
        if let Some(answer) = knows_user(request) {
            return answer;
        }
        match request.method.as_str() {
            "HEAD" => Response::status(404).into(),
            "POST" => Response::status(202)
                .header("Location", format!("http://{host}/up?state=hunter3"))
                .into(),
            _ => Response::status(500).into(),
        }
    });
    let trace = Trace::default();
    let failure = send_in(
        &artifact,
        &target(&server),
        IfExists::Fail,
        &client,
        &world(&[]),
        &trace,
    )
    .unwrap_err();
    assert_eq!(failure.class(), Class::Registry);
    assert!(other.count("PUT") > 0, "the blobs went where they were sent");
    assert!(
        other
            .requests()
            .iter()
            .all(|request| request.header("authorization").is_none())
    );
    let shown = format!("{:?}{}", trace.lines(), words(&failure));
    assert!(!shown.contains("hunter"), "{shown}");

    let other = elsewhere();
    let host = other.host();
    let server = Server::start(move |request| {
        knows_user(request).unwrap_or_else(|| {
            Response::status(307)
                .header("Location", format!("http://{host}{}", request.path()))
                .into()
        })
    });
    let failure = send(&artifact, &target(&server), IfExists::Fail, &client).unwrap_err();
    assert_eq!(failure.class(), Class::Auth, "{}", words(&failure));
    assert!(other.count("POST") > 0);
    assert!(
        other
            .requests()
            .iter()
            .all(|request| request.header("authorization").is_none())
    );
}

#[test]
fn redirects_without_end_or_that_change_the_method_are_refused() {
    let server = Server::start(|request| {
        Response::status(307)
            .header("Location", request.target.clone())
            .into()
    });
    let failure = refused(&server);
    assert_eq!(failure.class(), Class::Protocol);
    assert_eq!(server.requests().len(), 6);
    let server = Server::start(|request| match request.method.as_str() {
        "HEAD" => Response::status(404).into(),
        _ => Response::status(302).header("Location", "/elsewhere").into(),
    });
    assert_eq!(refused(&server).class(), Class::Protocol);
}

/// Which requests fail, and how: a fifth of them, always the same ones for a seed.
struct Dice(std::sync::Mutex<u64>);

impl Dice {
    fn throw(&self) -> Option<u64> {
        let mut bits = self.0.lock().unwrap();
        *bits ^= *bits << 13;
        *bits ^= *bits >> 7;
        *bits ^= *bits << 17;
        (*bits >> 20).is_multiple_of(5).then_some((*bits >> 40) % 5)
    }
}

/// Publishes charts over eight connections; each must come to `expected`.
fn publish_all(count: usize, to: &str, expected: Outcome) {
    let make = |number: usize, _: &mut Packer| {
        let artifact = chart("app", &format!("1.0.{number}"), "x");
        let destination = resolve(&to.parse().unwrap(), &artifact, false)?;
        let warnings = Vec::new();
        Ok(Ready {
            artifact,
            destination,
            warnings,
        })
    };
    let batch = Batch {
        count,
        make: &make,
        threads: 1,
        connections: 8,
        options: &PushOptions::default(),
    };
    let mut landed = 0;
    let mut finished = |number, finished: Finished| {
        let outcome = match &finished {
            Finished::Sent(_, Ok(pushed)) => Some(pushed.outcome),
            _ => None,
        };
        assert_eq!(outcome, Some(expected), "{number}: {finished:?}");
        landed += 1;
    };
    publish(batch, &plain(), &world(&[]), &Trace::default(), &mut finished).unwrap();
    assert_eq!(landed, count);
}

#[test]
fn with_a_fifth_of_all_requests_failing_a_thousand_pushes_land_and_none_is_wrong() {
    const PUSHES: usize = 1000;
    let registry = Registry::with(&Setup {
        in_memory: true,
        ..Setup::default()
    });
    let dice = Dice(std::sync::Mutex::new(0x2545_f491_4f6c_dd1d_u64));
    let upstream = registry.host().to_owned();
    let faults = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&faults);
    let server = in_front(&registry, move |request, _| {
        let kind = dice.throw()?;
        counted.fetch_add(1, Ordering::SeqCst);
        Some(match kind {
            // Done, and the answer is lost.
            4 => {
                let _ = forward(request, &upstream);
                Answer::close()
            }
            0 => Response::status(503).into(),
            1 => Response::status(429).into(),
            2 => Answer::close(),
            _ => Answer::bytes("HTTP/1.1 20"),
        })
    });
    let start = std::time::Instant::now();
    publish_all(PUSHES, &target(&server), Outcome::Created);
    publish_all(PUSHES, &target_at(registry.host()), Outcome::Unchanged);
    let took = start.elapsed();
    assert!(took < Duration::from_secs(60), "{took:?}");
    assert!(faults.load(Ordering::SeqCst) > PUSHES, "there were faults");
    // None is there twice, or under another name.
    let place = format!("oci://{}/charts/app", registry.host());
    let locator: solar_render::reference::Locator = place.parse().unwrap();
    let listed = solar_render::oci::tags(&locator.place, &plain(), &world(&[]), &Trace::default()).unwrap();
    assert_eq!(listed.len(), PUSHES);
}

/// Answers until an upload's body comes, reads some of it, and then nothing any more.
fn stalls(request: &str) -> Option<&'static str> {
    match request.split(' ').next() {
        Some("HEAD") => Some("404 Not Found"),
        Some("POST") => Some("202 Accepted\r\nLocation: /up"),
        _ => None,
    }
}

#[test]
fn an_upload_that_stands_still_is_given_up_and_tried_again() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let host = listener.local_addr().unwrap();
    let puts = Arc::new(AtomicUsize::new(0));
    let counter = Arc::clone(&puts);
    std::thread::spawn(move || {
        for stream in listener.incoming().map_while(Result::ok) {
            let counter = Arc::clone(&counter);
            std::thread::spawn(move || {
                let mut input = std::io::BufReader::new(stream.try_clone().unwrap());
                let mut output = stream;
                loop {
                    let mut head = String::new();
                    while !head.ends_with("\r\n\r\n") {
                        if input.read_line(&mut head).unwrap_or(0) == 0 {
                            return;
                        }
                    }
                    let Some(answer) = stalls(&head) else {
                        counter.fetch_add(1, Ordering::SeqCst);
                        let mut some = [0; 100_000];
                        let _ = std::io::Read::read_exact(&mut input, &mut some);
                        std::thread::sleep(Duration::from_secs(30));
                        return;
                    };
                    let text = format!("HTTP/1.1 {answer}\r\nContent-Length: 0\r\n\r\n");
                    let _ = output.write_all(text.as_bytes());
                }
            });
        }
    });
    let noise: Vec<u8> = (0..12_000_000_u32)
        .map(|at| at.wrapping_mul(2_654_435_761).to_be_bytes()[0])
        .collect();
    let layer = blob(solar_render::package::artifact::Artifact::LAYER_TYPE, &noise);
    let artifact = artifact("app", "1.0.0", vec![layer]);
    let mut client = plain();
    client.timeout = Duration::from_millis(300);
    client.retry.attempts = 2;
    let start = std::time::Instant::now();
    let failure = send(&artifact, &format!("oci://{host}"), IfExists::Fail, &client).unwrap_err();
    assert_eq!(failure.class(), Class::Network, "{}", words(&failure));
    assert!(words(&failure).contains("2 attempts"), "{}", words(&failure));
    assert_eq!(puts.load(Ordering::SeqCst), 2);
    assert!(start.elapsed() < Duration::from_secs(10), "{:?}", start.elapsed());
}

/// Answers 413 to a PUT's head and reads the rest without looking, as nginx does.
fn too_large(listener: &std::net::TcpListener, puts: &AtomicUsize) {
    std::thread::scope(|scope| {
        for stream in listener.incoming().map_while(Result::ok) {
            scope.spawn(move || {
                let mut input = std::io::BufReader::new(stream.try_clone().unwrap());
                let mut output = stream;
                loop {
                    let mut head = String::new();
                    while !head.ends_with("\r\n\r\n") {
                        if input.read_line(&mut head).unwrap_or(0) == 0 {
                            return;
                        }
                    }
                    let answer = match head.split(' ').next() {
                        Some("HEAD") => "404 Not Found",
                        Some("POST") => "202 Accepted\r\nLocation: /up",
                        _ => "413 Payload Too Large\r\nConnection: close",
                    };
                    let text = format!("HTTP/1.1 {answer}\r\nContent-Length: 0\r\n\r\n");
                    output.write_all(text.as_bytes()).unwrap();
                    if head.starts_with("PUT") {
                        puts.fetch_add(1, Ordering::SeqCst);
                        let _ = std::io::copy(&mut input, &mut std::io::sink());
                        return;
                    }
                }
            });
        }
    });
}

#[test]
fn a_413_in_the_middle_of_an_upload_is_heard_and_not_tried_again() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let host = listener.local_addr().unwrap();
    let puts = Arc::new(AtomicUsize::new(0));
    let counter = Arc::clone(&puts);
    std::thread::spawn(move || too_large(&listener, &counter));
    let noise: Vec<u8> = (0..3_000_000_u32)
        .map(|at| at.wrapping_mul(2_654_435_761).to_be_bytes()[0])
        .collect();
    // The layer alone, so that it is the one that is refused.
    let layer = blob(solar_render::package::artifact::Artifact::LAYER_TYPE, &noise);
    let artifact = artifact("app", "1.0.0", vec![layer]);
    let target = format!("oci://{host}");
    let failure = send(&artifact, &target, IfExists::Fail, &plain()).unwrap_err();
    assert_eq!(failure.class(), Class::Refused, "{}", words(&failure));
    assert!(words(&failure).contains("413"), "{}", words(&failure));
    assert_eq!(puts.load(Ordering::SeqCst), 1);
}

#[test]
fn nonsense_on_the_wire_is_a_failure_and_nothing_worse() {
    let long = format!("HTTP/1.1 200 OK\r\nX: {}\r\n\r\n", "x".repeat(2 << 20));
    let many = format!("HTTP/1.1 200 OK\r\n{}\r\n", "X: y\r\n".repeat(100_000));
    let table = [
        "",
        "\r\n\r\n",
        "HTTP/1.1 999999 OK\r\n\r\n",
        "HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n",
        "HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n",
        "HTTP/1.1 200 OK\r\nDocker-Content-Digest: \u{1}\u{2}\r\n\r\n",
        "HTTP/1.1 301 Moved\r\nLocation: \\\\\r\n\r\n",
        "HTTP/1.1 301 Moved\r\n\r\n",
        "HTTP/1.1 401 No\r\nWWW-Authenticate: Bearer realm=\"\r\n\r\n",
        "HTTP/1.1 103 Early\r\n\r\n",
        "SSH-2.0-OpenSSH\r\n",
        &long,
        &many,
    ];
    for text in table {
        let bytes = text.as_bytes().to_vec();
        let server = Server::start(move |_| Answer::bytes(bytes.clone()));
        let mut client = plain();
        client.retry.attempts = 2;
        let artifact = chart("app", "1.0.0", "x");
        let failure = send(&artifact, &target(&server), IfExists::Fail, &client).unwrap_err();
        let shown = text.get(..60).unwrap_or(text);
        assert!(
            matches!(
                failure.class(),
                Class::Network | Class::Protocol | Class::Auth | Class::Refused
            ),
            "{shown:?}: {}",
            words(&failure)
        );
        assert!(words(&failure).len() < 2000, "{shown:?}");
    }
}
