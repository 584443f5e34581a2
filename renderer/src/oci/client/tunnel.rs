//! A tunnel through an HTTP proxy: CONNECT (RFC 9110, 9.3.6). The error body of a refusing proxy is kept.

use std::fmt;

use bytes::Bytes;
use http::header::{HOST, PROXY_AUTHORIZATION};
use http::{HeaderValue, Method, Request, Uri};
use http_body_util::{BodyExt as _, Empty, Limited};
use hyper::client::conn::http1;
use hyper::rt::{Read, Write};
use hyper::upgrade::Upgraded;

type BoxError = Box<dyn std::error::Error + Send + Sync>;

/// The maximum size of a proxy's error body, in bytes.
const MAX_EXPLANATION: usize = 64 << 10;

/// A proxy that refused the tunnel.
#[derive(Debug)]
pub(in crate::oci) struct ProxyRefused {
    pub(in crate::oci) status: u16,
    pub(in crate::oci) content_type: String,
    pub(in crate::oci) body: Bytes,
}

impl fmt::Display for ProxyRefused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the proxy answered {}", self.status)
    }
}

impl std::error::Error for ProxyRefused {}

/// Opens a tunnel to a server through the proxy at the other end of `connection`.
pub(in crate::oci) async fn open<C: Read + Write + Send + Unpin + 'static>(
    connection: C,
    to: &Uri,
    authorization: Option<&HeaderValue>,
) -> Result<Upgraded, BoxError> {
    let host = to.host().unwrap_or_default();
    let authority = format!("{host}:{}", to.port_u16().unwrap_or(443));
    let mut request = Request::builder()
        .method(Method::CONNECT)
        .uri(&authority)
        .header(HOST, &authority);
    if let Some(authorization) = authorization {
        request = request.header(PROXY_AUTHORIZATION, authorization);
    }
    let (mut sender, driver) = http1::handshake(connection).await?;
    // The task ends when the tunnel is open or refused.
    tokio::spawn(driver.with_upgrades());
    let response = sender.send_request(request.body(Empty::<Bytes>::new())?).await?;
    if response.status().is_success() {
        return Ok(hyper::upgrade::on(response).await?);
    }
    let content_type = response
        .headers()
        .get("content-type")
        .and_then(|value| value.to_str().ok());
    let (status, content_type) = (
        response.status().as_u16(),
        content_type.unwrap_or_default().to_owned(),
    );
    // A body that is too long or truncated is ignored.
    let body = Limited::new(response.into_body(), MAX_EXPLANATION)
        .collect()
        .await;
    Err(ProxyRefused {
        status,
        content_type,
        body: body.map(http_body_util::Collected::to_bytes).unwrap_or_default(),
    }
    .into())
}
