//! `artifact`: downloads that are cut, and continued.

use std::sync::Mutex;

use testbed::{Answer, Response};

use super::{Hub, folder, range, ranged, sha256, weights};
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
