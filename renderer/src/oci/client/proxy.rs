//! Chooses the proxy for a server: the usual variables, read through the world as Go's programs read them.

use std::fmt;
use std::sync::Arc;

use http::Uri;
use hyper_util::client::proxy::matcher::{Intercept, Matcher};
use url::Url;

use crate::oci::client::no_proxy::NoProxy;
use crate::oci::error::ClientError;
use crate::world::World;

/// A proxy, and the servers it is used for. Cheap to clone.
#[derive(Clone)]
pub(in crate::oci) struct Proxy {
    /// Has the proxy's address and its credentials.
    matcher: Arc<Matcher>,
    no_proxy: Arc<NoProxy>,
    /// The variable that names it.
    pub(in crate::oci) variable: &'static str,
    /// Its address, for messages.
    pub(in crate::oci) shown: String,
    pub(in crate::oci) kind: Kind,
}

/// The protocol of a proxy.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::oci) enum Kind {
    /// HTTP, over TLS or not.
    Http { over_tls: bool },
    /// SOCKS 5; names are resolved by the proxy, as in Go for both `socks5` and `socks5h`.
    Socks,
    /// An unknown scheme: an error only for servers that would be accessed through it.
    Unknown(String),
}

impl fmt::Debug for Proxy {
    /// Omits the credentials.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Proxy({})", self.shown)
    }
}

impl Proxy {
    /// Variable and address, for messages.
    pub(in crate::oci) fn named(&self) -> String {
        format!("{} ({})", self.shown, self.variable)
    }

    /// Whether a server is accessed through it, and the proxy's own address.
    pub(in crate::oci) fn for_url(&self, url: &Url) -> Option<Intercept> {
        if self.no_proxy.covers(url) {
            return None;
        }
        self.matcher.intercept(&Uri::try_from(url.as_str()).ok()?)
    }

    /// As [`Proxy::for_url`].
    pub(in crate::oci) fn for_uri(&self, uri: &Uri) -> Option<Intercept> {
        self.for_url(&Url::parse(&uri.to_string()).ok()?)
    }

    /// An error for a server that would be accessed through a proxy of an unknown kind.
    pub(in crate::oci) fn check(&self, url: &Url) -> Result<(), ClientError> {
        match &self.kind {
            Kind::Unknown(scheme) if !self.no_proxy.covers(url) => Err(ClientError::Setup(format!(
                "{} names a proxy of the kind {scheme:?}: http, https and socks5 are known",
                self.variable
            ))),
            _ => Ok(()),
        }
    }
}

/// The variable that names a proxy, and its value.
fn variable(world: &dyn World, secure: bool) -> Option<(&'static str, String)> {
    let names: [&str; 4] = if secure {
        ["https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY"]
    } else {
        ["http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"]
    };
    names
        .into_iter()
        .find_map(|name| Some((name, world.env(name).filter(|text| !text.trim().is_empty())?)))
}

/// The proxy that the environment names.
pub(in crate::oci) fn find(world: &dyn World, secure: bool) -> Result<Option<Proxy>, ClientError> {
    let Some((variable, proxy)) = variable(world, secure) else {
        return Ok(None);
    };
    let excluded = ["no_proxy", "NO_PROXY"]
        .iter()
        .find_map(|name| world.env(name))
        .unwrap_or_default();
    of(variable, &proxy, &excluded).map(Some)
}

/// The proxy with this URL, which `variable` has named, for all servers but the excluded ones.
pub(in crate::oci) fn of(variable: &'static str, proxy: &str, excluded: &str) -> Result<Proxy, ClientError> {
    let proxy = proxy.trim();
    let full = if proxy.contains("://") {
        proxy.to_owned()
    } else {
        format!("http://{proxy}")
    };
    // It may contain a password, so it is not shown.
    let url = Url::parse(&full)
        .ok()
        .filter(Url::has_host)
        .ok_or_else(|| ClientError::Setup(format!("{variable} does not hold a proxy's URL")))?;
    let kind = match url.scheme() {
        "http" => Kind::Http { over_tls: false },
        "https" => Kind::Http { over_tls: true },
        "socks5" | "socks5h" => Kind::Socks,
        other => Kind::Unknown(other.to_owned()),
    };
    let port = url.port().map_or_else(String::new, |port| format!(":{port}"));
    Ok(Proxy {
        matcher: Arc::new(Matcher::builder().all(full).build()),
        no_proxy: Arc::new(NoProxy::parse(excluded)),
        variable,
        shown: format!("{}://{}{port}", url.scheme(), url.host_str().unwrap_or_default()),
        kind,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::world::Fixed;

    fn found(env: &[(&str, &str)]) -> Result<Option<Proxy>, ClientError> {
        find(&Fixed::with_env(env), true)
    }

    /// A SOCKS proxy in ALL_PROXY once failed every request, even to servers in NO_PROXY.
    #[test]
    fn an_unknown_kind_of_proxy_is_an_error_only_where_it_is_used() {
        let url = |text: &str| Url::parse(text).unwrap();
        let socks = found(&[("ALL_PROXY", "socks5h://u:p@p.test:1080")])
            .unwrap()
            .unwrap();
        assert_eq!(
            (&socks.kind, socks.shown.as_str()),
            (&Kind::Socks, "socks5h://p.test:1080")
        );
        let intercept = socks.for_url(&url("https://reg.test/")).unwrap();
        assert_eq!(intercept.raw_auth(), Some(("u", "p")));
        let odd = found(&[("ALL_PROXY", "socks4://p.test"), ("NO_PROXY", "*.in.test")])
            .unwrap()
            .unwrap();
        assert!(odd.check(&url("https://a.in.test/")).is_ok());
        assert!(odd.for_url(&url("https://a.in.test/")).is_none());
        let refused = odd.check(&url("https://reg.test/")).unwrap_err();
        assert!(refused.to_string().contains("\"socks4\""), "{refused}");
        assert!(found(&[("HTTPS_PROXY", "http://u:hunter2@:x")]).is_err());
        assert!(found(&[("HTTPS_PROXY", " ")]).unwrap().is_none());
    }
}
