//! Making connections: TCP, TLS, and a proxy on the way.

use std::future::Future;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use http::Uri;
use hyper::rt::{Read, ReadBufCursor, Write};
use hyper_rustls::HttpsConnector;
use hyper_util::client::legacy::connect::proxy::Tunnel;
use hyper_util::client::legacy::connect::{Connected, Connection, HttpConnector};
use hyper_util::client::proxy::matcher::Matcher;
use rustls::ClientConfig;
use tower_service::Service;

type BoxError = Box<dyn std::error::Error + Send + Sync>;

/// Makes connections, each within `limit`.
#[derive(Debug, Clone)]
pub(crate) struct Connector {
    tcp: HttpConnector,
    tls: Arc<ClientConfig>,
    proxy: Option<Arc<Matcher>>,
    limit: Duration,
}

/// One connection, of whatever layers.
pub(crate) struct Stream {
    inner: Box<dyn Layers>,
    /// It ends at a proxy that is to forward requests.
    forwards: bool,
}

trait Layers: Read + Write + Connection + Send + Unpin {}

impl<T: Read + Write + Connection + Send + Unpin> Layers for T {}

impl Connector {
    pub(crate) fn new(tls: ClientConfig, proxy: Option<Arc<Matcher>>, limit: Duration) -> Self {
        let mut tcp = HttpConnector::new();
        tcp.enforce_http(false);
        tcp.set_nodelay(true);
        Self {
            tcp,
            tls: Arc::new(tls),
            proxy,
            limit,
        }
    }

    async fn connect(self, to: Uri) -> Result<Stream, BoxError> {
        let Some(proxy) = self.proxy.as_ref().and_then(|proxy| proxy.intercept(&to)) else {
            let stream = HttpsConnector::from((self.tcp, self.tls)).call(to).await?;
            return Ok(Stream::new(stream, false));
        };
        // To the proxy itself HTTP/1.1 is spoken.
        let mut tls = ClientConfig::clone(&self.tls);
        tls.alpn_protocols.clear();
        let mut to_proxy = HttpsConnector::from((self.tcp, tls));
        if to.scheme_str() == Some("http") {
            let stream = to_proxy.call(proxy.uri().clone()).await?;
            return Ok(Stream::new(stream, true));
        }
        let mut tunnel = Tunnel::new(proxy.uri().clone(), to_proxy);
        if let Some(header) = proxy.basic_auth() {
            tunnel = tunnel.with_auth(header.clone());
        }
        let stream = HttpsConnector::from((tunnel, self.tls)).call(to).await?;
        Ok(Stream::new(stream, false))
    }
}

impl Service<Uri> for Connector {
    type Response = Stream;
    type Error = BoxError;
    type Future = Pin<Box<dyn Future<Output = Result<Stream, BoxError>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, to: Uri) -> Self::Future {
        let limit = self.limit;
        let connecting = self.clone().connect(to);
        Box::pin(async move {
            let timeout = |_| io::Error::new(io::ErrorKind::TimedOut, "operation timed out");
            tokio::time::timeout(limit, connecting).await.map_err(timeout)?
        })
    }
}

impl Stream {
    fn new(inner: impl Layers + 'static, forwards: bool) -> Self {
        let inner = Box::new(inner);
        Self { inner, forwards }
    }
}

impl Connection for Stream {
    fn connected(&self) -> Connected {
        self.inner.connected().proxy(self.forwards)
    }
}

impl Read for Stream {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: ReadBufCursor<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.inner).poll_read(context, buffer)
    }
}

impl Write for Stream {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.inner).poll_write(context, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.inner).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.inner).poll_shutdown(context)
    }

    fn is_write_vectored(&self) -> bool {
        self.inner.is_write_vectored()
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        pieces: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.inner).poll_write_vectored(context, pieces)
    }
}
