//! Which proxy is asked for what: the usual variables, read through the world.

use std::sync::Arc;

use hyper_util::client::proxy::matcher::Matcher;
use url::Url;

use crate::oci::error::ClientError;
use crate::world::World;

/// What runs on this machine is not asked through a proxy, as in Go.
const THIS_MACHINE: &str = "localhost,127.0.0.0/8,::1";

/// A proxy, and for what it is asked.
pub(in crate::oci) struct Proxy {
    pub(in crate::oci) matcher: Arc<Matcher>,
    /// It is spoken to over TLS.
    pub(in crate::oci) over_tls: bool,
}

/// The usual variable that names a proxy, and what it holds.
pub(in crate::oci) fn variable(world: &dyn World, secure: bool) -> Option<(&'static str, String)> {
    let names: [&str; 4] = if secure {
        ["https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY"]
    } else {
        ["http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"]
    };
    names.into_iter().find_map(|name| Some((name, world.env(name)?)))
}

/// The proxy that the environment names.
pub(in crate::oci) fn find(world: &dyn World, secure: bool) -> Result<Option<Proxy>, ClientError> {
    let Some((name, proxy)) = variable(world, secure) else {
        return Ok(None);
    };
    let proxy = proxy.trim();
    let full = if proxy.contains("://") {
        proxy.to_owned()
    } else {
        format!("http://{proxy}")
    };
    // It may hold a password: it is not shown.
    let url = Url::parse(&full)
        .ok()
        .filter(Url::has_host)
        .ok_or_else(|| ClientError::Setup(format!("{name} does not hold a proxy's URL")))?;
    if !matches!(url.scheme(), "http" | "https") {
        let scheme = url.scheme();
        let message = format!("{name} names a proxy of the kind {scheme:?}: http and https are known");
        return Err(ClientError::Setup(message));
    }
    let excluded = ["no_proxy", "NO_PROXY"]
        .iter()
        .find_map(|name| world.env(name))
        .unwrap_or_default();
    if excluded.split(',').any(|entry| entry.trim() == "*") {
        return Ok(None);
    }
    let excluded = format!("{THIS_MACHINE},{}", without_ports(&excluded));
    let matcher = Arc::new(Matcher::builder().all(full).no(excluded).build());
    let over_tls = url.scheme() == "https";
    Ok(Some(Proxy { matcher, over_tls }))
}

/// `host:port` becomes `host`: the matcher knows no ports there, Go does.
fn without_ports(excluded: &str) -> String {
    let plain = |entry: &str| match entry.trim().rsplit_once(':') {
        Some((host, port)) if !host.contains(':') && port.bytes().all(|digit| digit.is_ascii_digit()) => {
            host.to_owned()
        }
        _ => entry.trim().to_owned(),
    };
    excluded.split(',').map(plain).collect::<Vec<_>>().join(",")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hosts_without_a_proxy_are_taken_with_ports_and_without() {
        assert_eq!(
            without_ports("a.example:443, .b.example,10.0.0.0/8,::1,[::1]:5000,*"),
            "a.example,.b.example,10.0.0.0/8,::1,[::1]:5000,*"
        );
    }
}
