//! Uploads that the registry's side leaves or refuses half way.

use std::io::{BufRead as _, Write as _};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use solar_render::diag::Class;
use solar_render::oci::IfExists;

use crate::support::*;

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
