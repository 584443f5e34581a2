//! What a failed connection means: from hyper's nest of errors to one [`Link`] and the root
//! cause in words.

use std::error::Error as StdError;
use std::time::Duration;

use crate::oci::client::retry::Cause;
use crate::oci::client::transport::Fault;
use crate::oci::error::{ClientError, Link};

/// How a connection failed, and the root cause in words.
pub(in crate::oci) struct Broken {
    link: Link,
    pub(in crate::oci) reason: String,
}

impl Broken {
    pub(in crate::oci) fn timeout(limit: Duration) -> Self {
        Self {
            link: Link::Timeout,
            reason: format!("no answer in {} s", limit.as_secs_f32()),
        }
    }

    /// `asked`: the server has asked for a client certificate that we don't have, and has said
    /// nothing since.
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
        loop {
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
                rustls::Error::InvalidCertificate(_) => Link::Untrusted,
                rustls::Error::InvalidMessage(rustls::InvalidMessage::InvalidContentType) => Link::PlainHttp,
                _ => Link::Tls,
            };
            return Self {
                link,
                reason: tls.to_string(),
            };
        }
        let reason = root.to_string();
        let reason = reason.split(" (os error").next().unwrap_or_default().to_owned();
        let link = if connecting && !not_http {
            Link::Connect
        } else if late {
            Link::Timeout
        } else if not_http {
            Link::NotHttp
        } else {
            Link::Cut
        };
        Self { link, reason }
    }

    /// Says so where nothing was reached: the proxy may be at fault.
    pub(in crate::oci) fn beside_proxy(mut self, variable: Option<&str>) -> Self {
        if let (Link::Connect, Some(variable)) = (self.link, variable) {
            self.reason.push_str(&format!(" ({variable} is set)"));
        }
        self
    }

    pub(in crate::oci) fn into_fault(self, action: String) -> Fault {
        let cause = match self.link {
            Link::Connect => Some(Cause::Connect),
            Link::Timeout => Some(Cause::Timeout),
            Link::Cut => Some(Cause::Cut),
            Link::Untrusted | Link::PlainHttp | Link::NotHttp | Link::NoIdentity | Link::Tls => None,
        };
        Fault {
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

/// An I/O error's `source()` passes over the error it wraps, and they come nested.
fn rustls_error<'e>(error: &'e (dyn StdError + 'static)) -> Option<&'e rustls::Error> {
    let mut error = error;
    while let Some(inner) = error
        .downcast_ref::<std::io::Error>()
        .and_then(std::io::Error::get_ref)
    {
        error = inner;
    }
    error.downcast_ref::<rustls::Error>()
}
