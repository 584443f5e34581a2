//! A request and its response, as values: what is sent, what came back before its body is read, and why it failed.

use std::time::Duration;

use bytes::Bytes;
use http::header::{LOCATION, TRANSFER_ENCODING};
use http::{HeaderMap, Method, Version};
use hyper::body::Incoming;
use url::Url;

use crate::oci::client::retry::Cause;
use crate::oci::error::ClientError;
use crate::package::artifact::ArtifactBlob;

/// A request that can be sent repeatedly.
#[derive(Clone)]
pub(in crate::oci) struct Call<'c> {
    pub(in crate::oci) method: Method,
    pub(in crate::oci) url: Url,
    pub(in crate::oci) accept: Option<&'static str>,
    pub(in crate::oci) content_type: Option<&'c str>,
    pub(in crate::oci) payload: Payload<'c>,
    /// Further headers, which may be secrets: only sent to the call's own origin.
    pub(in crate::oci) headers: Option<&'c HeaderMap>,
    /// The first byte of the body to send.
    pub(in crate::oci) from_byte: u64,
}

/// The body of a request.
#[derive(Clone)]
pub(in crate::oci) enum Payload<'c> {
    None,
    Bytes(Bytes),
    Blob(&'c ArtifactBlob),
}

/// A response whose body has not been read.
pub(in crate::oci) struct Reply {
    pub(in crate::oci) status: u16,
    pub(in crate::oci) headers: HeaderMap,
    /// The URL that it came from, after redirects.
    pub(in crate::oci) url: Url,
    pub(super) method: Method,
    pub(super) version: Version,
    pub(super) body: Incoming,
}

/// Why a request failed, and whether a retry may succeed.
#[derive(Debug)]
pub(in crate::oci) struct RequestFailure {
    pub(in crate::oci) error: ClientError,
    pub(in crate::oci) cause: Option<Cause>,
    pub(in crate::oci) retry_after: Option<Duration>,
}

impl RequestFailure {
    pub(in crate::oci) fn hiding(self, hide: &dyn Fn(&str) -> String) -> Self {
        Self {
            error: self.error.hiding(hide),
            ..self
        }
    }
}

impl From<ClientError> for RequestFailure {
    fn from(error: ClientError) -> Self {
        Self {
            error,
            cause: None,
            retry_after: None,
        }
    }
}

impl Call<'_> {
    pub(in crate::oci) fn new(method: Method, url: Url) -> Self {
        Self {
            method,
            url,
            accept: None,
            content_type: None,
            payload: Payload::None,
            headers: None,
            from_byte: 0,
        }
    }

    /// Method and URL, for messages.
    pub(in crate::oci) fn action(&self) -> String {
        action(&self.method, &self.url)
    }
}

/// Without the user and the query, which may contain tokens and upload states.
pub(super) fn action(method: &Method, url: &Url) -> String {
    let query = if url.query().is_some() { "?…" } else { "" };
    format!("{method} {}{}{query}", origin(url), url.path())
}

/// `scheme://host[:port]`: the scope of an Authorization header.
pub(in crate::oci) fn origin(url: &Url) -> String {
    url.origin().ascii_serialization()
}

/// Whether both have the same origin. Called several times for each request, so it doesn't allocate.
pub(in crate::oci) fn same_origin(one: &Url, other: &Url) -> bool {
    one.scheme() == other.scheme()
        && one.host_str() == other.host_str()
        && one.port_or_known_default() == other.port_or_known_default()
}

impl Reply {
    /// The request that it answers, for messages.
    pub(in crate::oci) fn action(&self) -> String {
        action(&self.method, &self.url)
    }

    pub(in crate::oci) fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name)?.to_str().ok()
    }

    /// Content-Length; after HEAD, the length of the omitted body.
    pub(in crate::oci) fn length(&self) -> Option<u64> {
        self.header("content-length")?.parse().ok()
    }

    /// Whether the body's end is marked. Otherwise it ends where the connection ends (RFC 9112, 6.3), and one that was
    /// cut can't be told from a complete one.
    pub(in crate::oci) fn is_delimited(&self) -> bool {
        self.version >= Version::HTTP_2
            || self.length().is_some()
            || self.headers.contains_key(TRANSFER_ENCODING)
    }

    pub(in crate::oci) fn protocol(&self, message: impl Into<String>) -> ClientError {
        ClientError::Protocol {
            action: self.action(),
            message: message.into(),
        }
    }

    /// The URL of the Location header; refused if it would leave TLS.
    pub(in crate::oci) fn location(&self) -> Result<Url, ClientError> {
        let text = self
            .headers
            .get(LOCATION)
            .and_then(|value| value.to_str().ok())
            .ok_or_else(|| self.protocol("the answer has no Location"))?;
        let url = self
            .url
            .join(text)
            .map_err(|_| self.protocol("the Location is not a URL"))?;
        if !matches!(url.scheme(), "http" | "https") {
            return Err(self.protocol(format!("the Location has the scheme {:?}", url.scheme())));
        }
        if self.url.scheme() == "https" && url.scheme() == "http" {
            let message = format!(
                "the Location leads from TLS to plain HTTP ({}): a proxy in front of the registry probably does not pass X-Forwarded-Proto",
                origin(&url)
            );
            return Err(self.protocol(message));
        }
        Ok(url)
    }
}
