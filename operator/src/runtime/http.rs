//! `/healthz`, `/readyz` and `/metrics`.

use std::convert::Infallible;
use std::net::SocketAddr;
use std::time::Duration;

use http_body_util::Full;
use hyper::body::{Bytes, Incoming};
use hyper::header::CONTENT_TYPE;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Request, Response, StatusCode};
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::net::TcpListener;
use tokio::time::{Instant, sleep};

use super::health::Health;
use super::metrics::Metrics;

const PROMETHEUS: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";
/// How long a client may take to send its request.
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
}

/// Serves until the future is dropped.
pub(super) async fn serve(listener: TcpListener, pages: Pages) {
    loop {
        let Ok((stream, _)) = listener.accept().await else {
            sleep(ACCEPT_PAUSE).await;
            continue;
        };
        let pages = pages.clone();
        tokio::spawn(async move {
            let service = service_fn(move |request| {
                let answer = pages.answer(&request);
                async move { Ok::<_, Infallible>(answer) }
            });
            let mut server = http1::Builder::new();
            server.timer(TokioTimer::new()).header_read_timeout(HEADER_LIMIT);
            if let Err(error) = server.serve_connection(TokioIo::new(stream), service).await {
                tracing::debug!(%error, "serving");
            }
        });
    }
}

/// The address that was bound, with the port that the system chose.
pub(super) fn address(listener: &TcpListener) -> Option<SocketAddr> {
    listener.local_addr().ok()
}

impl Pages {
    fn answer(&self, request: &Request<Incoming>) -> Response<Full<Bytes>> {
        match (request.uri().path(), &self.metrics) {
            ("/healthz", _) if self.health => check(self.state.not_alive(Instant::now())),
            ("/readyz", _) if self.health => check(self.state.not_ready(Instant::now())),
            ("/metrics", Some(metrics)) => {
                let mut response = text(StatusCode::OK, &metrics.text());
                if let Ok(kind) = PROMETHEUS.parse() {
                    response.headers_mut().insert(CONTENT_TYPE, kind);
                }
                response
            }
            _ => text(StatusCode::NOT_FOUND, "not found\n"),
        }
    }
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
