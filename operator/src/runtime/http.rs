//! `/healthz`, `/readyz` and `/metrics`; the latter over TLS and for those alone whom the cluster allows it, if asked for.

use std::convert::Infallible;
use std::net::SocketAddr;
use std::time::Duration;

use http_body_util::Full;
use hyper::body::{Bytes, Incoming};
use hyper::header::{CONTENT_TYPE, WWW_AUTHENTICATE};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Request, Response, StatusCode};
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream};
use tokio::time::{Instant, sleep, timeout};
use tokio_rustls::TlsAcceptor;

use super::health::Health;
use super::metrics::Metrics;
use super::metrics_access::{Access, MetricsAccess};
use super::server_tls::ServerTls;

const PROMETHEUS: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";
/// How long a client may take for the TLS handshake, and to send its request.
const HEADER_LIMIT: Duration = Duration::from_secs(10);
/// How long to wait after a connection can't be accepted.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);

/// What this listener serves.
#[derive(Clone)]
pub(super) struct Pages {
    /// What `/healthz` and `/readyz` report.
    pub(super) state: Health,
    /// The source of `/metrics`, if it is served here.
    pub(super) metrics: Option<Metrics>,
    /// Whether `/healthz` and `/readyz` are served here.
    pub(super) health: bool,
    /// Who may read `/metrics`; everybody if it is `None`.
    pub(super) access: Option<MetricsAccess>,
    /// The certificate, if these pages are served over TLS.
    pub(super) tls: Option<ServerTls>,
}

/// Serves until the future is dropped.
pub(super) async fn serve(listener: TcpListener, pages: Pages) {
    loop {
        let Ok((stream, _)) = listener.accept().await else {
            sleep(ACCEPT_PAUSE).await;
            continue;
        };
        tokio::spawn(connection(stream, pages.clone()));
    }
}

async fn connection(stream: TcpStream, pages: Pages) {
    let Some(tls) = &pages.tls else {
        return answers(stream, pages).await;
    };
    let accepted = TlsAcceptor::from(tls.config().await).accept(stream);
    match timeout(HEADER_LIMIT, accepted).await {
        Ok(Ok(stream)) => answers(stream, pages).await,
        Ok(Err(error)) => tracing::debug!(%error, "TLS handshake"),
        Err(_) => tracing::debug!("TLS handshake: no end in time"),
    }
}

async fn answers(stream: impl AsyncRead + AsyncWrite + Unpin, pages: Pages) {
    let pages = &pages;
    let service = service_fn(|request| async move { Ok::<_, Infallible>(pages.answer(&request).await) });
    let mut server = http1::Builder::new();
    server.timer(TokioTimer::new()).header_read_timeout(HEADER_LIMIT);
    if let Err(error) = server.serve_connection(TokioIo::new(stream), service).await {
        tracing::debug!(%error, "serving");
    }
}

/// The address that was bound, with the port that the system chose.
pub(super) fn address(listener: &TcpListener) -> Option<SocketAddr> {
    listener.local_addr().ok()
}

impl Pages {
    async fn answer(&self, request: &Request<Incoming>) -> Response<Full<Bytes>> {
        match (request.uri().path(), &self.metrics) {
            ("/healthz", _) if self.health => check(self.state.not_alive(Instant::now())),
            ("/readyz", _) if self.health => check(self.state.not_ready(Instant::now())),
            ("/metrics", Some(metrics)) => {
                let access = match &self.access {
                    Some(access) => access.check(request.headers()).await,
                    None => Access::Allowed,
                };
                match access {
                    Access::Allowed => exposition(metrics),
                    Access::Unauthenticated => {
                        let mut response = text(StatusCode::UNAUTHORIZED, "unauthorized\n");
                        let scheme = hyper::header::HeaderValue::from_static("Bearer");
                        response.headers_mut().insert(WWW_AUTHENTICATE, scheme);
                        response
                    }
                    Access::Forbidden => text(StatusCode::FORBIDDEN, "the user may not get /metrics\n"),
                    Access::Unknown => {
                        text(StatusCode::SERVICE_UNAVAILABLE, "the API server can't be asked\n")
                    }
                }
            }
            _ => text(StatusCode::NOT_FOUND, "not found\n"),
        }
    }
}

fn exposition(metrics: &Metrics) -> Response<Full<Bytes>> {
    let mut response = text(StatusCode::OK, &metrics.text());
    if let Ok(kind) = PROMETHEUS.parse() {
        response.headers_mut().insert(CONTENT_TYPE, kind);
    }
    response
}

fn check(problem: Option<String>) -> Response<Full<Bytes>> {
    match problem {
        None => text(StatusCode::OK, "ok\n"),
        Some(problem) => text(StatusCode::SERVICE_UNAVAILABLE, &format!("{problem}\n")),
    }
}

fn text(status: StatusCode, body: &str) -> Response<Full<Bytes>> {
    let mut response = Response::new(Full::new(Bytes::copy_from_slice(body.as_bytes())));
    *response.status_mut() = status;
    response
}
