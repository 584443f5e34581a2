//! TCP connections: resolves a name and tries its addresses in parallel, as in RFC 8305 (happy eyeballs), so that an
//! address that drops packets costs a quarter of a second and not the whole timeout.

use std::fmt;
use std::future::Future;
use std::io;
use std::net::SocketAddr;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use futures_util::StreamExt as _;
use futures_util::stream::FuturesUnordered;
use http::Uri;
use hyper_util::rt::TokioIo;
use tokio::net::TcpStream;
use tower_service::Service;

/// The delay before the next address is tried in parallel (RFC 8305, section 8).
const NEXT_ADDRESS: Duration = Duration::from_millis(250);

/// Makes TCP connections.
#[derive(Debug, Clone, Copy)]
pub(in crate::oci) struct Dialer;

/// A name that could not be resolved.
#[derive(Debug)]
pub(in crate::oci) struct ResolveError(io::Error);

impl fmt::Display for ResolveError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl std::error::Error for ResolveError {}

impl Service<Uri> for Dialer {
    type Response = TokioIo<TcpStream>;
    type Error = io::Error;
    type Future = Pin<Box<dyn Future<Output = io::Result<TokioIo<TcpStream>>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, to: Uri) -> Self::Future {
        Box::pin(dial(to))
    }
}

async fn dial(to: Uri) -> io::Result<TokioIo<TcpStream>> {
    let host = to.host().unwrap_or_default();
    let host = host.trim_start_matches('[').trim_end_matches(']');
    let port = to.port_u16().unwrap_or(match to.scheme_str() {
        Some("https") => 443,
        Some("socks5" | "socks5h") => 1080,
        _ => 80,
    });
    let addresses = tokio::net::lookup_host((host, port)).await;
    let addresses = addresses.map_err(|error| io::Error::other(ResolveError(error)))?;
    let stream = first_of(&in_turns(addresses.collect()), NEXT_ADDRESS, TcpStream::connect).await?;
    stream.set_nodelay(true)?;
    Ok(TokioIo::new(stream))
}

/// The resolver's order, but IPv4 and IPv6 alternating: if one of them has no route, the next address is of the other.
fn in_turns(addresses: Vec<SocketAddr>) -> Vec<SocketAddr> {
    let first_is_v6 = addresses.first().is_some_and(SocketAddr::is_ipv6);
    let (preferred, others): (Vec<_>, Vec<_>) = addresses
        .into_iter()
        .partition(|address| address.is_ipv6() == first_is_v6);
    let (mut preferred, mut others) = (preferred.into_iter(), others.into_iter());
    let mut all = Vec::new();
    loop {
        let pair = (preferred.next(), others.next());
        if pair == (None, None) {
            return all;
        }
        all.extend(pair.0);
        all.extend(pair.1);
    }
}

/// The first connection that succeeds; if all fail, the first error is reported.
async fn first_of<T, F: Future<Output = io::Result<T>>>(
    addresses: &[SocketAddr],
    next_after: Duration,
    connect: impl Fn(SocketAddr) -> F,
) -> io::Result<T> {
    let mut waiting = addresses.iter();
    let mut running = FuturesUnordered::new();
    let mut failure = None;
    loop {
        running.extend(waiting.next().map(|address| connect(*address)));
        tokio::select! {
            biased;
            ended = running.next() => match ended {
                Some(Ok(connection)) => return Ok(connection),
                // The next one is tried at once.
                Some(Err(error)) => failure = failure.or(Some(error)),
                None => {
                    let none = || io::Error::new(io::ErrorKind::NotFound, "the name has no address");
                    return Err(failure.unwrap_or_else(none));
                }
            },
            () = tokio::time::sleep(next_after), if waiting.len() > 0 => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn address(text: &str) -> SocketAddr {
        text.parse().unwrap()
    }

    fn run<T>(work: impl Future<Output = T>) -> T {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_time()
            .build();
        runtime.unwrap().block_on(work)
    }

    /// A first address that drops packets once used up the whole connect timeout.
    #[test]
    fn an_address_that_drops_packets_does_not_delay_the_next_one() {
        let all = [
            address("10.0.0.1:1"),
            address("10.0.0.2:1"),
            address("10.0.0.3:1"),
        ];
        let connect = |to: SocketAddr| async move {
            if to != all[2] {
                std::future::pending::<()>().await;
            }
            Ok(to)
        };
        let found = run(first_of(&all, Duration::from_millis(1), connect)).unwrap();
        assert_eq!(found, all[2]);
    }

    #[test]
    fn a_refusing_address_is_followed_at_once_and_the_first_error_is_reported() {
        let all = [address("10.0.0.1:1"), address("10.0.0.2:1")];
        let refused = |to: SocketAddr| async move {
            Err::<(), _>(io::Error::new(io::ErrorKind::ConnectionRefused, to.to_string()))
        };
        // An hour, which the test does not wait for.
        let hour = Duration::from_secs(3600);
        let failure = run(first_of(&all, hour, refused)).unwrap_err();
        assert_eq!(failure.to_string(), "10.0.0.1:1");
        let second = |to: SocketAddr| async move {
            if to == all[0] {
                Err(io::Error::from(io::ErrorKind::ConnectionRefused))
            } else {
                Ok(to)
            }
        };
        assert_eq!(run(first_of(&all, hour, second)).unwrap(), all[1]);
        let none = run(first_of(&[], hour, second)).unwrap_err();
        assert_eq!(none.kind(), io::ErrorKind::NotFound);
    }

    #[test]
    fn the_versions_of_ip_take_turns() {
        let list = |text: &[&str]| text.iter().map(|one| address(one)).collect::<Vec<_>>();
        let given = list(&["[::1]:1", "[::2]:1", "[::3]:1", "1.1.1.1:1", "1.1.1.2:1"]);
        let expected = list(&["[::1]:1", "1.1.1.1:1", "[::2]:1", "1.1.1.2:1", "[::3]:1"]);
        assert_eq!(in_turns(given), expected);
        assert_eq!(in_turns(Vec::new()), []);
    }
}
