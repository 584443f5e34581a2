//! Uploads that the registry's side leaves or refuses half way.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, mpsc};
use std::time::Duration;

use solar_render::diag::Class;
use solar_render::oci::IfExists;
use solar_render::package::artifact::Artifact;

use crate::support::*;

/// Its input, of which the head of a PUT has been read, and its output.
type Connection = (BufReader<TcpStream>, TcpStream);

/// An empty registry that takes any upload until its body comes: that is `put`'s, and then the connection ends. Where
/// it is, and how many bodies have come.
fn registry(put: impl Fn(Connection) + Send + Sync + 'static) -> (SocketAddr, Arc<AtomicUsize>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let (put, puts) = (Arc::new(put), Arc::new(AtomicUsize::new(0)));
    let counted = Arc::clone(&puts);
    std::thread::spawn(move || {
        for stream in listener.incoming().map_while(Result::ok) {
            let (put, puts) = (Arc::clone(&put), Arc::clone(&counted));
            std::thread::spawn(move || {
                if let Some(connection) = until_put(stream) {
                    puts.fetch_add(1, Ordering::SeqCst);
                    put(connection);
                }
            });
        }
    });
    (address, puts)
}

/// Answers what comes before a PUT.
fn until_put(stream: TcpStream) -> Option<Connection> {
    let mut input = BufReader::new(stream.try_clone().ok()?);
    let mut output = stream;
    loop {
        let mut head = String::new();
        while !head.ends_with("\r\n\r\n") {
            if input.read_line(&mut head).ok()? == 0 {
                return None;
            }
        }
        match head.split(' ').next() {
            Some("HEAD") => answer(&mut output, "404 Not Found"),
            Some("POST") => answer(&mut output, "202 Accepted\r\nLocation: /up"),
            _ => return Some((input, output)),
        }
    }
}

fn answer(output: &mut TcpStream, head: &str) {
    let text = format!("HTTP/1.1 {head}\r\nContent-Length: 0\r\n\r\n");
    // The other side may have hung up.
    let _ = output.write_all(text.as_bytes());
}

/// A chart with only a layer, so that its upload is the one that fails: this many incompressible bytes.
fn large(bytes: u32) -> Artifact {
    let noise: Vec<u8> = (0..bytes)
        .map(|at| at.wrapping_mul(2_654_435_761).to_be_bytes()[0])
        .collect();
    artifact("app", "1.0.0", vec![blob(Artifact::LAYER_TYPE, &noise)])
}

#[test]
fn an_upload_that_stands_still_is_given_up_and_tried_again() {
    // Nothing is read any more, until the test is over.
    let (_over, waits) = mpsc::channel::<()>();
    let waits = Mutex::new(waits);
    let (host, puts) = registry(move |(mut input, _output)| {
        let _ = input.read_exact(&mut [0; 100_000]);
        let _ = waits.lock().unwrap().recv();
    });
    let mut client = plain();
    client.timeout = Duration::from_millis(300);
    client.retry.attempts = 2;
    let target = format!("oci://{host}");
    let failure = send(&large(12_000_000), &target, IfExists::Fail, &client).unwrap_err();
    assert_eq!(failure.class(), Class::Network, "{}", words(&failure));
    assert!(words(&failure).contains("2 attempts"), "{}", words(&failure));
    assert_eq!(puts.load(Ordering::SeqCst), 2);
}

/// It answers at the head and reads the rest without looking, as nginx does.
#[test]
fn a_413_in_the_middle_of_an_upload_is_heard_and_not_tried_again() {
    let (host, puts) = registry(|(mut input, mut output)| {
        answer(&mut output, "413 Payload Too Large\r\nConnection: close");
        let _ = std::io::copy(&mut input, &mut std::io::sink());
    });
    let target = format!("oci://{host}");
    let failure = send(&large(3_000_000), &target, IfExists::Fail, &plain()).unwrap_err();
    assert_eq!(failure.class(), Class::Refused, "{}", words(&failure));
    assert!(words(&failure).contains("413"), "{}", words(&failure));
    assert_eq!(puts.load(Ordering::SeqCst), 1);
}
