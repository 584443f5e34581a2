//! HTTP/1.1 and HTTP/2 over kept connections, through TLS and proxies: hyper's client, put together.
//!
//! It is independent of registries, redirects, credentials and timeouts, except the connect timeout.

use std::io;
use std::time::Duration;

use bytes::Bytes;
use http::Request;
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{Either, Full};
use hyper_util::client::legacy;
pub(crate) use hyper_util::client::legacy::ResponseFuture;
use hyper_util::rt::TokioExecutor;
use rustls::ClientConfig;

use crate::oci::client::connector::Connector;
use crate::oci::client::proxy::Proxy;

/// A request body: bytes in memory, or a stream.
pub(crate) type Body = Either<Full<Bytes>, UnsyncBoxBody<Bytes, io::Error>>;

/// A client that keeps its connections. It lives on the tokio runtime that it is first used on.
#[derive(Debug)]
pub(crate) struct HttpClient {
    pool: legacy::Client<Connector, Body>,
}

impl HttpClient {
    /// Creates a client without connections. `limit` is the connect timeout, including name resolution and TLS; `idle`
    /// is the maximum of idle connections per server. `tls` also applies to connections to the proxy itself.
    pub(crate) fn new(tls: ClientConfig, proxy: Option<Proxy>, limit: Duration, idle: usize) -> Self {
        Self::over(Connector::new(tls, proxy, limit), idle)
    }

    /// A client that makes its connections with this.
    pub(crate) fn over(connector: Connector, idle: usize) -> Self {
        let mut builder = legacy::Client::builder(TokioExecutor::new());
        Self {
            pool: builder.pool_max_idle_per_host(idle).build(connector),
        }
    }

    /// Sends a request, and waits for the head of the response.
    pub(crate) fn request(&self, request: Request<Body>) -> ResponseFuture {
        self.pool.request(request)
    }
}
