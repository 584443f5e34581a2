//! Proxies: HTTP that forwards, HTTP that tunnels, SOCKS; what is asked through them, and what they refuse.

use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::mpsc;

use solar_render::diag::Class;
use solar_render::oci::{ClientOptions, IfExists, TlsOptions};
use testbed::{Authority, Registry, Response, Server, Setup};

use crate::support::*;

fn trusting(authority: &Authority) -> ClientOptions {
    let mut client = secure();
    client.tls = {
        let mut tls = TlsOptions::default();
        tls.ca_file = Some(authority.ca.clone());
        tls
    };
    client
}

#[test]
#[ignore = "needs servers or peers: .ci/test runs it"]
fn a_proxy_is_used_for_other_machines_only() {
    let proxy = Server::start(|_| Response::status(403).body("no way out").into());
    let url = format!("http://robot:hunter2@{}", proxy.host());
    let environment = world(&[("http_proxy", &url)]);
    let artifact = chart("app", "1.0.0", "x");
    let trace = Trace::default();
    let failure = send_in(
        &artifact,
        "oci://registry.invalid/charts",
        IfExists::Fail,
        &plain(),
        &environment,
        &trace,
    )
    .unwrap_err();
    // It was once taken for the registry's.
    assert_eq!(failure.class(), Class::Refused);
    assert!(words(&failure).contains(&proxy.host()), "{}", words(&failure));
    assert!(words(&failure).contains("NO_PROXY"), "{}", words(&failure));
    assert_eq!(
        proxy.lines()[0],
        "HEAD http://registry.invalid/v2/charts/app/manifests/1.0.0"
    );
    assert!(proxy.requests()[0].header("proxy-authorization").is_some());
    assert!(!format!("{:?}{}", trace.lines(), words(&failure)).contains("hunter2"));

    let registry = Registry::start();
    let target = format!("oci://{}/charts", registry.host());
    send_in(&artifact, &target, IfExists::Fail, &plain(), &environment, &trace).unwrap();
    assert_eq!(proxy.requests().len(), 1);
}

/// A proxy that forwards every request to one registry, whatever the requested host.
fn tunnel(registry: &Registry) -> (SocketAddr, mpsc::Receiver<String>) {
    use std::io::{BufRead as _, BufReader};
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let (sender, receiver) = mpsc::channel();
    let host = registry.host().to_owned();
    std::thread::spawn(move || {
        for inward in listener.incoming().map_while(Result::ok) {
            let outward = TcpStream::connect(&host).unwrap();
            let mut head = BufReader::new(inward.try_clone().unwrap())
                .lines()
                .map_while(Result::ok);
            let first = head.next().unwrap_or_default();
            let rest: Vec<String> = head.take_while(|line| !line.is_empty()).collect();
            let known = rest
                .iter()
                .any(|line| line.to_lowercase().starts_with("proxy-authorization:"));
            let _ = sender.send(format!("{first} {known}"));
            let mut inward = inward;
            inward.write_all(b"HTTP/1.1 200 OK\r\n\r\n").unwrap();
            let (mut from, mut to) = (inward.try_clone().unwrap(), outward.try_clone().unwrap());
            std::thread::spawn(move || std::io::copy(&mut from, &mut to));
            let (mut from, mut to) = (outward, inward);
            std::thread::spawn(move || std::io::copy(&mut from, &mut to));
        }
    });
    (address, receiver)
}

/// 0.0.0.0 is this machine, and not among those that are never asked through a proxy: no name is looked up.
#[test]
#[ignore = "needs servers or peers: .ci/test runs it"]
fn tls_goes_through_a_proxys_tunnel_unless_no_proxy_names_the_registry() {
    let authority = Authority::for_name("0.0.0.0");
    let registry = Registry::with(&Setup {
        tls: Some(&authority),
        ..Setup::default()
    });
    let host = registry.host().replace("127.0.0.1", "0.0.0.0");
    let (address, seen) = tunnel(&registry);
    let url = format!("http://robot:hunter2@{address}");
    let artifact = chart("app", "1.0.0", "x");
    let client = trusting(&authority);
    let send = |variables: &[(&str, &str)]| {
        let trace = Trace::default();
        let target = format!("oci://{host}/charts");
        let sent = send_in(
            &artifact,
            &target,
            IfExists::Replace,
            &client,
            &world(variables),
            &trace,
        );
        assert!(!format!("{:?}{sent:?}", trace.lines()).contains("hunter2"));
        sent
    };
    for others in ["", "other.invalid,10.0.0.0/8"] {
        send(&[("HTTPS_PROXY", &url), ("NO_PROXY", others)]).unwrap();
        assert_eq!(seen.recv().unwrap(), format!("CONNECT {host} HTTP/1.1 true"));
        seen.try_iter().count();
    }
    for excluded in ["0.0.0.0", "0.0.0.0/8", &format!("x.invalid, {host}"), "*"] {
        send(&[("https_proxy", &url), ("NO_PROXY", excluded)]).unwrap();
        assert_eq!(seen.try_iter().count(), 0, "{excluded}");
    }
    let gone = send(&[("HTTPS_PROXY", "http://127.0.0.1:1")]).unwrap_err();
    assert_eq!(gone.class(), Class::Network);
    let named = "by the proxy http://127.0.0.1:1 (HTTPS_PROXY)";
    assert!(words(&gone).contains(named), "{}", words(&gone));
    let odd = send(&[("ALL_PROXY", "socks4://127.0.0.1:1")]).unwrap_err();
    assert_eq!(odd.class(), Class::Config);
    assert!(
        words(&odd).contains("http, https and socks5 are known"),
        "{}",
        words(&odd)
    );
    // It once stopped what NO_PROXY names, too.
    send(&[("ALL_PROXY", "socks4://127.0.0.1:1"), ("NO_PROXY", &host)]).unwrap();
}

#[test]
fn a_403_that_a_proxy_forwards_is_the_registrys_when_it_reads_so() {
    let marks = [
        ("Docker-Distribution-Api-Version", "registry/2.0"),
        ("Content-Type", "application/json"),
    ];
    for (name, value) in marks {
        let proxy = Server::start(move |_| Response::status(403).header(name, value).into());
        let environment = world(&[("http_proxy", &format!("http://{}", proxy.host()))]);
        let (artifact, trace) = (chart("app", "1.0.0", "x"), Trace::default());
        let target = "oci://registry.invalid/charts";
        let failure = send_in(&artifact, target, IfExists::Fail, &plain(), &environment, &trace).unwrap_err();
        assert_eq!(failure.class(), Class::Auth, "{}", words(&failure));
        assert!(!words(&failure).contains("NO_PROXY"), "{}", words(&failure));
    }
}

/// It was once asked eight times, and neither its status nor its words were shown.
#[test]
fn a_proxy_that_refuses_the_tunnel_is_asked_once_and_named() {
    let table = [
        (407, Class::Auth, 1, "asks for a user and a password"),
        (403, Class::Refused, 1, "NO_PROXY"),
        (502, Class::Registry, 8, "NO_PROXY"),
    ];
    for (status, class, times, hint) in table {
        let proxy = Server::start(move |_| {
            let page = Response::status(status).header("Content-Type", "text/plain");
            page.body("policy 17 forbids this").into()
        });
        let url = format!("http://robot:hunter2@{}", proxy.host());
        let environment = world(&[("HTTPS_PROXY", &url)]);
        let (artifact, trace) = (chart("app", "1.0.0", "x"), Trace::default());
        let target = "oci://registry.invalid/charts";
        let failure =
            send_in(&artifact, target, IfExists::Fail, &secure(), &environment, &trace).unwrap_err();
        let said = words(&failure);
        assert_eq!(failure.class(), class, "{said}");
        assert_eq!(
            proxy.lines(),
            vec!["CONNECT registry.invalid:443"; times],
            "{said}"
        );
        assert!(proxy.requests()[0].header("proxy-authorization").is_some());
        let named = format!(
            "the proxy http://{} (HTTPS_PROXY) answered {status}: policy 17",
            proxy.host()
        );
        assert!(said.contains(&named) && said.contains(hint), "{said}");
        assert!(!format!("{:?}{said}", trace.lines()).contains("hunter2"));
    }
}

/// A SOCKS 5 proxy (RFC 1928, 1929) with a user that passes everything on to one server; what it was asked for.
fn socks(upstream: &str) -> (SocketAddr, mpsc::Receiver<String>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let (sender, receiver) = mpsc::channel();
    let upstream = upstream.to_owned();
    std::thread::spawn(move || {
        for mut inward in listener.incoming().map_while(Result::ok) {
            let read = |count: u8| {
                let mut bytes = vec![0; usize::from(count)];
                (&inward).read_exact(&mut bytes).map(|()| bytes)
            };
            let asked = (|| {
                let methods = read(2)?[1];
                read(methods)?;
                (&inward).write_all(&[5, 2])?;
                let user = read(read(2)?[1])?;
                let password = read(read(1)?[0])?;
                (&inward).write_all(&[1, 0])?;
                // A name, not an address: the proxy resolves it.
                assert_eq!(read(4)?, [5, 1, 0, 3]);
                let name = read(read(1)?[0])?;
                let port = read(2)?;
                (&inward).write_all(&[5, 0, 0, 1, 0, 0, 0, 0, 0, 0])?;
                let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
                let port = u16::from_be_bytes([port[0], port[1]]);
                std::io::Result::Ok(format!("{} {} {}:{port}", text(user), text(password), text(name)))
            })();
            let Ok(asked) = asked else { continue };
            let _ = sender.send(asked);
            let outward = TcpStream::connect(&upstream).unwrap();
            let (mut from, mut to) = (inward.try_clone().unwrap(), outward.try_clone().unwrap());
            std::thread::spawn(move || std::io::copy(&mut from, &mut to));
            let mut outward = outward;
            std::thread::spawn(move || std::io::copy(&mut outward, &mut inward));
        }
    });
    (address, receiver)
}

#[test]
#[ignore = "needs servers or peers: .ci/test runs it"]
fn charts_go_through_a_socks_proxy_that_resolves_the_name() {
    let authority = Authority::for_name("registry.invalid");
    let setup = Setup {
        tls: Some(&authority),
        ..Setup::default()
    };
    let (secured, open) = (Registry::with(&setup), Registry::start());
    for (registry, client, port) in [(&secured, trusting(&authority), 443), (&open, plain(), 80)] {
        let (address, seen) = socks(registry.host());
        for scheme in ["socks5", "socks5h"] {
            let url = format!("{scheme}://robot:hunter2@{address}");
            let (artifact, trace) = (chart("app", "1.0.0", "x"), Trace::default());
            let environment = world(&[("ALL_PROXY", &url)]);
            let target = "oci://registry.invalid/charts";
            send_in(&artifact, target, IfExists::Fail, &client, &environment, &trace).unwrap();
            assert_eq!(
                seen.recv().unwrap(),
                format!("robot hunter2 registry.invalid:{port}")
            );
            assert!(!format!("{:?}", trace.lines()).contains("hunter2"));
        }
        assert_eq!(registry.crane_digest("charts/app:1.0.0").len(), 71);
    }
}

#[test]
fn a_proxy_that_hangs_up_is_a_failure_of_the_network() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    std::thread::spawn(move || listener.incoming().for_each(drop));
    for scheme in ["http", "socks5"] {
        let url = format!("{scheme}://{address}");
        let environment = world(&[("HTTPS_PROXY", &url)]);
        let (artifact, trace) = (chart("app", "1.0.0", "x"), Trace::default());
        let target = "oci://registry.invalid/charts";
        let failure =
            send_in(&artifact, target, IfExists::Fail, &secure(), &environment, &trace).unwrap_err();
        assert_eq!(failure.class(), Class::Network, "{}", words(&failure));
        assert!(words(&failure).contains(&url), "{}", words(&failure));
    }
}
