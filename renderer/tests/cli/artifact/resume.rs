//! `artifact`: downloads that are cut, and continued.

use std::sync::Mutex;

use testbed::{Answer, Response, Server};

use super::{Hub, folder, import, range, ranged, sha256, weights};
use crate::Run;

#[test]
fn a_body_that_is_cut_is_continued_where_it_ended() {
    const SIZE: usize = 12 << 20;
    const CUT: usize = (1 << 20) + 1;
    let files = vec![("model.gguf", weights(SIZE))];
    // Far more often than a request is retried.
    let hub = Hub::with(files, |request, body| {
        let from = range(request).unwrap_or(0);
        let to = (from + CUT).min(body.len());
        let (status, total) = (if from > 0 { 206 } else { 200 }, body.len());
        let mut bytes = format!(
            "HTTP/1.1 {status} x\r\nContent-Length: {}\r\nContent-Range: bytes {from}-{}/{total}\r\n\r\n",
            total - from,
            total - 1
        )
        .into_bytes();
        bytes.extend_from_slice(&body[from..to]);
        Answer::bytes(bytes)
    });
    let folder = folder();
    let run = Run::of(&mut hub.import(folder.path()));
    assert_eq!(run.code, 0, "{}", run.stderr);
    let requests = hub.cdn.requests();
    let begins: Vec<usize> = requests
        .iter()
        .map(|request| range(request).unwrap_or(0))
        .collect();
    assert!(begins.len() >= SIZE / CUT, "{begins:?}");
    assert!(begins.is_sorted() && begins[1] > 0, "{begins:?}");
}

#[test]
fn a_killed_import_is_continued() {
    const HALF: usize = 1 << 20;
    let body = weights(2 * HALF);
    let files = vec![("model.gguf", body.clone())];
    let hub = Hub::with(files, |request, body| match range(request) {
        None => {
            let head = format!("HTTP/1.1 200 x\r\nContent-Length: {}\r\n\r\n", body.len());
            let bytes = [head.as_bytes(), &body[..HALF]].concat();
            Answer::Raw(Box::new(move |stream| {
                use std::io::{Read as _, Write as _};
                let _ = stream.write_all(&bytes);
                // Until the other side is gone.
                let _ = stream.read(&mut [0]);
            }))
        }
        Some(_) => ranged(request, body).into(),
    });
    let folder = folder();
    let mut child = hub.import(folder.path()).spawn().unwrap();
    let part = folder
        .path()
        .join(format!("work/solar-render-import/sha256-{}.part", sha256(&body)));
    let size = || std::fs::metadata(&part).map_or(0, |data| data.len());
    while size() < HALF as u64 {
        assert!(child.try_wait().unwrap().is_none());
        std::thread::yield_now();
    }
    child.kill().unwrap();
    child.wait().unwrap();
    let run = Run::of(&mut hub.import(folder.path()));
    assert_eq!(run.code, 0, "{}", run.stderr);
    let last = hub.cdn.requests().pop().unwrap();
    assert_eq!(range(&last), Some(HALF));
    assert_eq!(
        hub.fetched()
            .iter()
            .filter(|line| line.ends_with("hello.md"))
            .count(),
        1
    );
}

#[test]
fn a_part_of_another_file_is_not_kept() {
    let body = weights(100_000);
    let hub = Hub::start(vec![("model.gguf", body.clone())]);
    let folder = folder();
    let work = folder.path().join("work/solar-render-import");
    std::fs::create_dir_all(&work).unwrap();
    let name = format!("sha256-{}", sha256(&body));
    for (kind, bytes) in [("part", vec![9; 5000]), ("part", vec![9; 200_000])] {
        std::fs::write(work.join(&name).with_extension(kind), bytes).unwrap();
        let run = Run::of(&mut hub.import(folder.path()));
        assert_eq!(run.code, 0, "{}", run.stderr);
        assert_eq!(std::fs::read(work.join(&name)).unwrap(), body);
        std::fs::remove_file(work.join(&name)).unwrap();
    }
    // A complete file that was damaged since is fetched again; one of another import is removed.
    std::fs::write(work.join(&name), b"damaged").unwrap();
    std::fs::write(work.join(format!("sha256-{}", sha256(b"old"))), b"old").unwrap();
    assert_eq!(Run::of(&mut hub.import(folder.path())).code, 0);
    assert_eq!(std::fs::read(work.join(&name)).unwrap(), body);
    assert!(!work.join(format!("sha256-{}", sha256(b"old"))).exists());
}

#[test]
fn too_many_requests_are_retried_when_the_server_allows_it() {
    let asked = Mutex::new(0);
    let hub = Hub::with(vec![("model.gguf", weights(1000))], move |request, body| {
        let mut asked = asked.lock().unwrap();
        *asked += 1;
        match *asked {
            1 => Response::status(429).header("Retry-After", "1").into(),
            _ => ranged(request, body).into(),
        }
    });
    let folder = folder();
    let run = Run::of(hub.import(folder.path()).arg("-v"));
    assert_eq!(run.code, 0, "{}", run.stderr);
    assert!(run.stderr.contains("again in 1s"), "{}", run.stderr);
    assert_eq!(hub.cdn.count("GET"), 2);
}

/// It was given up after 15 seconds: the header was not read.
#[test]
fn a_used_up_limit_of_hugging_face_is_waited_for_and_the_delay_is_printed() {
    let asked = Mutex::new(0);
    let hub = Hub::with(vec![("model.gguf", weights(1000))], move |request, body| {
        let mut asked = asked.lock().unwrap();
        *asked += 1;
        match *asked {
            1 => Response::status(429)
                .header("RateLimit", "\"api\";r=0;t=11")
                .into(),
            _ => ranged(request, body).into(),
        }
    });
    let folder = folder();
    // The deadline ends the run before the delay begins.
    let run = Run::of(hub.import(folder.path()).args(["-v", "--deadline", "10s"]));
    assert_eq!(run.code, 5, "{}", run.stderr);
    assert!(run.stderr.contains("again in 11s"), "{}", run.stderr);
    assert!(
        run.stderr.contains("attempt 2 of 8 follows in 11 s"),
        "{}",
        run.stderr
    );
    assert_eq!(hub.cdn.count("GET"), 1);
    // A delay of minutes was once cut to one.
    let hub = Hub::with(vec![("model.gguf", weights(1000))], |_, _| {
        Response::status(429).header("Retry-After", "3600").into()
    });
    let run = Run::of(hub.import(folder.path()).args(["-v", "--deadline", "10s"]));
    assert!(run.stderr.contains("again in 300s"), "{}", run.stderr);
}

/// A byte a second once kept a download alive for ever.
#[test]
fn a_body_that_comes_too_slowly_is_cut() {
    const BYTES: usize = 200;
    let hub = Hub::with(vec![("model.gguf", weights(BYTES))], |_, body| {
        let body = body.to_vec();
        Answer::Raw(Box::new(move |stream| {
            use std::io::{Read as _, Write as _};
            let head = format!("HTTP/1.1 200 x\r\nContent-Length: {BYTES}\r\n\r\n");
            let _ = stream.write_all(head.as_bytes());
            let _ = stream.set_read_timeout(Some(std::time::Duration::from_millis(50)));
            for byte in body {
                let sent = stream.write_all(&[byte]);
                // Until the time has passed, or the other side is gone.
                if sent.is_err() || stream.read(&mut [0]).is_ok() {
                    return;
                }
            }
        }))
    });
    let folder = folder();
    let run = Run::of(
        hub.import(folder.path())
            .args(["--timeout", "2s", "--retries", "0"]),
    );
    assert_eq!(run.code, 5, "{}", run.stderr);
    assert_eq!(run.json()["error"]["class"], "network", "{}", run.stderr);
}

#[test]
fn a_server_without_ranges_sends_the_file_again() {
    let hub = Hub::with(vec![("model.gguf", weights(5000))], |request, body| {
        match range(request) {
            None if request.header("x-never").is_none() => Response::status(200).body(body).into(),
            _ => Response::status(200).body(body).into(),
        }
    });
    let folder = folder();
    let work = folder.path().join("work/solar-render-import");
    std::fs::create_dir_all(&work).unwrap();
    let part = format!("sha256-{}.part", sha256(&weights(5000)));
    std::fs::write(work.join(part), &weights(5000)[..2000]).unwrap();
    let run = Run::of(&mut hub.import(folder.path()));
    assert_eq!(run.code, 0, "{}", run.stderr);
    assert_eq!(range(&hub.cdn.requests()[0]), Some(2000));
}

/// The size of the files below, and where their first body is cut.
const WHOLE: usize = 600_000;
const CUT_AT: usize = 500_000;

/// A body that is cut, with these headers.
fn cut_body(head: &str, body: &[u8]) -> Answer {
    let head = format!("HTTP/1.1 200 x\r\n{head}\r\n");
    Answer::bytes([head.as_bytes(), &body[..CUT_AT]].concat())
}

/// Imports `/model.bin` of a web server, whose size is not known before.
fn from_web(server: &Server, folder: &std::path::Path, body: &[u8]) -> Run {
    let from = format!("http://{}/model.bin", server.host());
    let mut command = import(folder, &from, "raw");
    Run::of(command.args(["--retries", "2", "--sha256", &sha256(body)]))
}

fn ranges(server: &Server) -> Vec<Option<usize>> {
    server.requests().iter().map(range).collect()
}

#[test]
fn a_server_with_broken_ranges_is_asked_for_the_whole_file() {
    type Broken = fn(usize) -> String;
    let from_the_beginning: Broken = |_| format!("bytes 0-{}/{WHOLE}", WHOLE - 1);
    let of_another_size: Broken = |from| format!("bytes {from}-{}/{}", WHOLE, WHOLE + 1);
    let without_numbers: Broken = |_| "bytes".to_owned();
    for broken in [from_the_beginning, of_another_size, without_numbers] {
        let cut = Mutex::new(false);
        let hub = Hub::with(vec![("model.gguf", weights(WHOLE))], move |request, body| {
            if let Some(from) = range(request) {
                let response = Response::status(206).header("Content-Range", broken(from));
                return response.body(body).into();
            }
            match std::mem::replace(&mut *cut.lock().unwrap(), true) {
                false => cut_body(&format!("Content-Length: {WHOLE}\r\n"), body),
                true => Response::status(200).body(body).into(),
            }
        });
        let folder = folder();
        let run = Run::of(&mut hub.import(folder.path()));
        assert_eq!(run.code, 0, "{}", run.stderr);
        assert_eq!(ranges(&hub.cdn), [None, Some(CUT_AT), None]);
    }
    // One that sends parts even then.
    let body = weights(WHOLE);
    let served = body.clone();
    let server = Server::start(move |_| {
        Response::status(206)
            .header("Content-Range", format!("bytes 0-{}/{WHOLE}", WHOLE - 1))
            .body(served.clone())
            .into()
    });
    let folder = folder();
    let run = from_web(&server, folder.path(), &body);
    assert_eq!(run.code, 4, "{}", run.stderr);
    assert!(
        run.stderr.contains("answered 206, expected 200"),
        "{}",
        run.stderr
    );
}

#[test]
fn a_server_that_sends_less_than_the_range_is_asked_for_the_rest() {
    const PIECE: usize = 40_000;
    let body = weights(WHOLE);
    let served = body.clone();
    let server = Server::start(move |request| match range(request) {
        None => cut_body(&format!("Content-Length: {WHOLE}\r\n"), &served),
        Some(from) => {
            let to = (from + PIECE).min(WHOLE);
            let text = format!("bytes {from}-{}/{WHOLE}", to - 1);
            let response = Response::status(206).header("Content-Range", text);
            response.body(&served[from..to]).into()
        }
    });
    let folder = folder();
    let from = format!("http://{}/model.bin", server.host());
    let mut command = import(folder.path(), &from, "raw");
    let run = Run::of(command.args(["--sha256", &sha256(&body)]));
    assert_eq!(run.code, 0, "{}", run.stderr);
    let expected = [None, Some(CUT_AT), Some(CUT_AT + PIECE), Some(CUT_AT + 2 * PIECE)];
    assert_eq!(ranges(&server), expected);
}

#[test]
fn a_body_without_an_end_that_is_cut_is_continued_and_kept() {
    let body = weights(WHOLE);
    let served = body.clone();
    let server = Server::start(move |request| match range(request) {
        None => cut_body("", &served),
        Some(_) => ranged(request, &served).into(),
    });
    let folder = folder();
    let run = from_web(&server, folder.path(), &body);
    assert_eq!(run.code, 0, "{}", run.stderr);
    assert_eq!(ranges(&server), [None, Some(CUT_AT)]);
    // Always cut: it may pass, and what is there is kept.
    let served = body.clone();
    let server = Server::start(move |_| cut_body("", &served));
    let folder = super::folder();
    let run = from_web(&server, folder.path(), &body);
    assert_eq!(run.code, 5, "{}", run.stderr);
    assert!(
        run.stderr.contains("closed the connection after 500000 bytes"),
        "{}",
        run.stderr
    );
    let part = folder
        .path()
        .join(format!("work/solar-render-import/sha256-{}.part", sha256(&body)));
    assert_eq!(std::fs::metadata(part).unwrap().len(), CUT_AT as u64);
}

#[test]
fn a_server_without_ranges_that_always_cuts_is_given_up() {
    let large = weights(3 << 20);
    let half = 2 << 20;
    let served = large.clone();
    let asked = Mutex::new(0);
    // It answers the hundredth request with nothing, or this would never end.
    let server = Server::start(move |_| {
        let mut asked = asked.lock().unwrap();
        *asked += 1;
        if *asked > 100 {
            return Response::status(404).into();
        }
        let head = format!("HTTP/1.1 200 x\r\nContent-Length: {}\r\n\r\n", served.len());
        Answer::bytes([head.as_bytes(), &served[..half]].concat())
    });
    let folder = folder();
    let run = from_web(&server, folder.path(), &large);
    assert_eq!(run.code, 5, "{}", run.stderr);
    assert!(server.requests().len() < 10, "{}", server.requests().len());
}

#[test]
fn a_part_that_is_complete_is_not_fetched_again() {
    let body = weights(WHOLE);
    let served = body.clone();
    let server = Server::start(move |request| match range(request) {
        Some(from) if from >= WHOLE => Response::status(416).into(),
        _ => ranged(request, &served).into(),
    });
    let folder = folder();
    let work = folder.path().join("work/solar-render-import");
    std::fs::create_dir_all(&work).unwrap();
    // Killed after the last byte, before the file got its name.
    std::fs::write(work.join(format!("sha256-{}.part", sha256(&body))), &body).unwrap();
    let run = from_web(&server, folder.path(), &body);
    assert_eq!(run.code, 0, "{}", run.stderr);
    assert_eq!(server.lines(), Vec::<String>::new());
}

#[test]
fn a_wrong_file_from_a_server_without_ranges_is_fetched_once() {
    let body = weights(5000);
    let server = Server::start(|_| Response::status(200).body(vec![9; 5000]).into());
    let folder = folder();
    let work = folder.path().join("work/solar-render-import");
    std::fs::create_dir_all(&work).unwrap();
    let part = work.join(format!("sha256-{}.part", sha256(&body)));
    std::fs::write(part, &body[..2000]).unwrap();
    let run = from_web(&server, folder.path(), &body);
    assert_eq!(run.code, 3, "{}", run.stderr);
    assert_eq!(ranges(&server), [Some(2000)]);
}
