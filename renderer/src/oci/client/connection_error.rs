//! Classifies a failed connection: from hyper's nested errors to one [`Link`] and the text of the root cause.

use std::error::Error as StdError;
use std::time::Duration;

use rustls::CertificateError;

use crate::oci::client::dial::ResolveError;
use crate::oci::client::exchange::RequestFailure;
use crate::oci::client::minimum_rate::MINIMUM_BYTES_PER_SECOND;
use crate::oci::client::proxy::Proxy;
use crate::oci::client::retry::Cause;
use crate::oci::client::tunnel::ProxyRefused;
use crate::oci::error::{ClientError, Link, summary};

/// How a connection failed, and the root cause as text.
pub(in crate::oci) struct ConnectionFailure {
    link: Link,
    pub(in crate::oci) reason: String,
    /// The response of a proxy that refused the connection.
    refused: Option<Explained>,
    /// The proxy that was used: the variable that names it, and its address.
    proxy: Option<String>,
}

/// A proxy's response.
struct Explained {
    status: u16,
    detail: Option<String>,
}

impl ConnectionFailure {
    pub(in crate::oci) fn timeout(limit: Duration) -> Self {
        Self {
            link: Link::Timeout,
            reason: format!("no answer in {} s", limit.as_secs_f32()),
            refused: None,
            proxy: None,
        }
    }

    /// The body came with `rate` bytes a second, on average over `window`.
    pub(in crate::oci) fn slow(rate: u64, window: Duration) -> Self {
        Self {
            reason: format!(
                "only {rate} bytes a second came in {} s, the minimum is {MINIMUM_BYTES_PER_SECOND}",
                window.as_secs_f32()
            ),
            ..Self::timeout(window)
        }
    }

    /// `asked`: the server requested a client certificate that we don't have, and has sent nothing since.
    pub(in crate::oci) fn after_asking(mut self, asked: bool) -> Self {
        if asked && matches!(self.link, Link::Cut | Link::Tls) {
            self.link = Link::NoIdentity;
        }
        self
    }

    /// `connecting`: there was no connection yet.
    pub(in crate::oci) fn new(error: &(dyn StdError + 'static), connecting: bool) -> Self {
        let mut root = error;
        let mut tls = None;
        let mut not_http = false;
        let mut late = false;
        let mut unresolved = false;
        let mut refused = None;
        loop {
            unresolved |= inner_most(root).is::<ResolveError>();
            refused = refused.or_else(|| root.downcast_ref::<ProxyRefused>().map(Explained::of));
            tls = tls.or_else(|| rustls_error(root));
            not_http |= root.to_string().contains("invalid HTTP version parsed");
            let io = root.downcast_ref::<std::io::Error>();
            late |= io.is_some_and(|error| error.kind() == std::io::ErrorKind::TimedOut);
            match root.source() {
                Some(source) => root = source,
                None => break,
            }
        }
        if let Some(tls) = tls {
            let link = match tls {
                rustls::Error::InvalidCertificate(
                    CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. },
                ) => Link::WrongName,
                rustls::Error::InvalidCertificate(error) if is_version_1(error) => Link::Version1,
                rustls::Error::InvalidCertificate(_) => Link::Untrusted,
                rustls::Error::InvalidMessage(rustls::InvalidMessage::InvalidContentType) => Link::PlainHttp,
                _ => Link::Tls,
            };
            return Self {
                link,
                reason: tls_reason(tls),
                refused: None,
                proxy: None,
            };
        }
        let reason = root.to_string();
        let reason = reason.split(" (os error").next().unwrap_or_default().to_owned();
        let link = if refused.is_some() {
            Link::Proxy
        } else if unresolved {
            Link::Resolve
        } else if connecting && !not_http {
            Link::Connect
        } else if late {
            Link::Timeout
        } else if not_http {
            Link::NotHttp
        } else {
            Link::Cut
        };
        Self {
            link,
            reason,
            refused,
            proxy: None,
        }
    }

    /// Adds the proxy that was used: it may be the cause if the server was not reached.
    pub(in crate::oci) fn through(mut self, proxy: Option<&Proxy>) -> Self {
        let Some(proxy) = proxy else { return self };
        let named = proxy.named();
        if matches!(self.link, Link::Connect | Link::Resolve) {
            self.reason.push_str(&format!(", by the proxy {named}"));
        }
        self.proxy = Some(named);
        self
    }

    pub(in crate::oci) fn into_fault(self, action: String) -> RequestFailure {
        if let Some(Explained { status, detail }) = self.refused {
            let proxy = self.proxy.unwrap_or_else(|| "in between".to_owned());
            return RequestFailure {
                error: ClientError::Proxy {
                    action,
                    proxy,
                    status,
                    detail,
                    attempts: 1,
                },
                cause: Some(Cause::Status(status)),
                retry_after: None,
            };
        }
        let cause = match self.link {
            Link::Resolve => Some(Cause::Resolve),
            Link::Connect => Some(Cause::Connect),
            Link::Timeout => Some(Cause::Timeout),
            Link::Cut => Some(Cause::Cut),
            Link::Untrusted
            | Link::WrongName
            | Link::Version1
            | Link::PlainHttp
            | Link::NotHttp
            | Link::NoIdentity
            | Link::Tls
            | Link::Proxy => None,
        };
        RequestFailure {
            error: ClientError::Link {
                action,
                link: self.link,
                reason: self.reason,
                attempts: 1,
            },
            cause,
            retry_after: None,
        }
    }
}

/// The TLS error in terms of certificates.
pub(in crate::oci) fn tls_reason(error: &rustls::Error) -> String {
    match error {
        rustls::Error::InvalidCertificate(inner) if is_version_1(inner) => {
            "the certificate is of X.509 version 1, which has neither names nor key usage".to_owned()
        }
        other => other.to_string(),
    }
}

fn is_version_1(error: &CertificateError) -> bool {
    match error {
        CertificateError::Other(other) => {
            other.0.downcast_ref::<webpki::Error>() == Some(&webpki::Error::UnsupportedCertVersion)
        }
        _ => false,
    }
}

impl Explained {
    fn of(refused: &ProxyRefused) -> Self {
        Self {
            status: refused.status,
            detail: summary(&refused.content_type, &refused.body, &str::to_owned),
        }
    }
}

fn rustls_error<'e>(error: &'e (dyn StdError + 'static)) -> Option<&'e rustls::Error> {
    inner_most(error).downcast_ref()
}

/// An I/O error's `source()` skips the error it wraps, and they are nested.
fn inner_most<'e>(error: &'e (dyn StdError + 'static)) -> &'e (dyn StdError + 'static) {
    let mut error = error;
    while let Some(inner) = error
        .downcast_ref::<std::io::Error>()
        .and_then(std::io::Error::get_ref)
    {
        error = inner;
    }
    error
}
