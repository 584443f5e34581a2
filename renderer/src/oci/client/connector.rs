//! Makes connections: TCP, TLS, and proxies.

use std::future::Future;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use http::Uri;
use hyper::rt::{Read, ReadBufCursor, Write};
use hyper::upgrade::Upgraded;
use hyper_rustls::{DefaultServerNameResolver, FixedServerNameResolver, HttpsConnector, ResolveServerName};
use hyper_util::client::legacy::connect::proxy::SocksV5;
use hyper_util::client::legacy::connect::{Connected, Connection};
use hyper_util::client::proxy::matcher::Intercept;
use rustls::ClientConfig;
use rustls_pki_types::ServerName;
use tower_service::Service;

use crate::oci::client::dial::Dialer;
use crate::oci::client::proxy::{Kind, Proxy};
use crate::oci::client::tunnel;

type BoxError = Box<dyn std::error::Error + Send + Sync>;

/// Makes connections, each within `limit`.
#[derive(Debug, Clone)]
pub(crate) struct Connector {
    tls: Arc<ClientConfig>,
    proxy: Option<Proxy>,
    limit: Duration,
    /// The name that the server's certificate must have, if it is not that of the URL.
    server_name: Option<ServerName<'static>>,
}

/// One connection, of whatever layers.
pub(crate) struct ConnectionStream {
    inner: Box<dyn Layers>,
    /// Whether it ends at a proxy that forwards requests.
    forwards: bool,
}

trait Layers: Read + Write + Connection + Send + Unpin {}

impl<T: Read + Write + Connection + Send + Unpin> Layers for T {}

impl Connector {
    pub(crate) fn new(tls: ClientConfig, proxy: Option<Proxy>, limit: Duration) -> Self {
        Self {
            tls: Arc::new(tls),
            proxy,
            limit,
            server_name: None,
        }
    }

    /// Servers have this name, whatever the URL says.
    #[cfg(feature = "cli")]
    pub(crate) fn with_server_name(mut self, name: Option<ServerName<'static>>) -> Self {
        self.server_name = name;
        self
    }

    async fn connect(self, to: Uri) -> Result<ConnectionStream, BoxError> {
        let proxy = self.proxy.as_ref();
        let Some((proxy, intercept)) = proxy.and_then(|proxy| Some((proxy, proxy.for_uri(&to)?))) else {
            return Ok(ConnectionStream::new(self.with_tls(Dialer, to).await?, false));
        };
        if proxy.kind == Kind::Socks {
            let mut socks = SocksV5::new(intercept.uri().clone(), Dialer);
            if let Some((user, password)) = intercept.raw_auth() {
                socks = socks.with_auth(user.to_owned(), password.to_owned());
            }
            return Ok(ConnectionStream::new(
                self.with_tls(socks, with_port(to)?).await?,
                false,
            ));
        }
        let connection = self.to_proxy(&intercept).await?;
        if to.scheme_str() == Some("http") {
            return Ok(ConnectionStream::new(connection, true));
        }
        let tunnel = tunnel::open(connection, &to, intercept.basic_auth()).await?;
        let made = Made(Some(ConnectionStream::new(Tunneled(tunnel), false)));
        Ok(ConnectionStream::new(self.with_tls(made, to).await?, false))
    }

    /// Makes a connection with `way`, and TLS over it for https.
    async fn with_tls<S>(
        &self,
        way: S,
        to: Uri,
    ) -> Result<<HttpsConnector<S> as Service<Uri>>::Response, BoxError>
    where
        S: Service<Uri>,
        S::Response: Layers + 'static,
        S::Future: Send + 'static,
        S::Error: Into<BoxError>,
    {
        let names: Arc<dyn ResolveServerName + Send + Sync> = match &self.server_name {
            Some(name) => Arc::new(FixedServerNameResolver::new(name.clone())),
            None => Arc::new(DefaultServerNameResolver::default()),
        };
        HttpsConnector::new(way, Arc::clone(&self.tls), false, names)
            .call(to)
            .await
    }

    /// Connects to the proxy itself, with HTTP/1.1.
    async fn to_proxy(&self, intercept: &Intercept) -> Result<ConnectionStream, BoxError> {
        let mut tls = ClientConfig::clone(&self.tls);
        tls.alpn_protocols.clear();
        let stream = HttpsConnector::from((Dialer, tls))
            .call(intercept.uri().clone())
            .await?;
        Ok(ConnectionStream::new(stream, false))
    }
}

/// Adds the port explicitly: a SOCKS proxy needs it.
fn with_port(to: Uri) -> Result<Uri, http::Error> {
    let port = if to.scheme_str() == Some("http") { 80 } else { 443 };
    let authority = format!(
        "{}:{}",
        to.host().unwrap_or_default(),
        to.port_u16().unwrap_or(port)
    );
    let mut parts = to.into_parts();
    parts.authority = Some(authority.parse()?);
    Ok(Uri::from_parts(parts)?)
}

/// An existing connection as a connector.
struct Made(Option<ConnectionStream>);

impl Service<Uri> for Made {
    type Response = ConnectionStream;
    type Error = io::Error;
    type Future = std::future::Ready<io::Result<ConnectionStream>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, _: Uri) -> Self::Future {
        let taken = || io::Error::other("the tunnel is in use");
        std::future::ready(self.0.take().ok_or_else(taken))
    }
}

/// A tunnel through a proxy.
struct Tunneled(Upgraded);

impl Connection for Tunneled {
    fn connected(&self) -> Connected {
        Connected::new()
    }
}

impl Service<Uri> for Connector {
    type Response = ConnectionStream;
    type Error = BoxError;
    type Future = Pin<Box<dyn Future<Output = Result<ConnectionStream, BoxError>> + Send>>;

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

impl ConnectionStream {
    fn new(inner: impl Layers + 'static, forwards: bool) -> Self {
        let inner = Box::new(inner);
        Self { inner, forwards }
    }
}

impl Connection for ConnectionStream {
    fn connected(&self) -> Connected {
        self.inner.connected().proxy(self.forwards)
    }
}

impl Read for ConnectionStream {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: ReadBufCursor<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.inner).poll_read(context, buffer)
    }
}

impl Write for ConnectionStream {
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

impl Read for Tunneled {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: ReadBufCursor<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_read(context, buffer)
    }
}

impl Write for Tunneled {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.0).poll_write(context, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_shutdown(context)
    }

    fn is_write_vectored(&self) -> bool {
        self.0.is_write_vectored()
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        pieces: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.0).poll_write_vectored(context, pieces)
    }
}
