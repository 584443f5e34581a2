//! HTTP/1.1 and HTTP/2 over kept connections, through TLS and proxies: hyper's client, put together.
//!
//! A crate of its own because hyper is generic: what it makes of our types is compiled with the crate that
//! names them, and so made for speed, which for the rest of the program is made for size. It knows nothing of
//! registries, redirects, credentials or time limits but the one for connecting.

mod connector;

use std::io;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::Request;
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{Either, Full};
use hyper_util::client::legacy;
pub use hyper_util::client::legacy::ResponseFuture;
use hyper_util::client::proxy::matcher::Matcher;
use hyper_util::rt::TokioExecutor;
use rustls::ClientConfig;

use self::connector::Connector;

/// What a request carries: bytes at hand, or a stream of them.
pub type Body = Either<Full<Bytes>, UnsyncBoxBody<Bytes, io::Error>>;

/// A client that keeps its connections. It lives on the tokio runtime that it is first used on.
#[derive(Debug)]
pub struct Client {
    pool: legacy::Client<Connector, Body>,
}

impl Client {
    /// Nothing is connected to yet. `limit` is how long making a connection may take, names and TLS included;
    /// `idle` is how many connections to one server are kept while nothing is on its way. To the proxy itself
    /// `tls` holds, too.
    pub fn new(tls: ClientConfig, proxy: Option<Arc<Matcher>>, limit: Duration, idle: usize) -> Self {
        let connector = Connector::new(tls, proxy, limit);
        let mut builder = legacy::Client::builder(TokioExecutor::new());
        Self {
            pool: builder.pool_max_idle_per_host(idle).build(connector),
        }
    }

    /// Sends, and waits for the head of the answer.
    pub fn request(&self, request: Request<Body>) -> ResponseFuture {
        self.pool.request(request)
    }
}
