//! One request, one response: the clients (plain and TLS, created on first use), redirects, timeouts, and
//! classification of connection errors. Of registries it only knows the origin, which alone receives the Authorization
//! header.

use std::borrow::Cow;
use std::cell::{Cell, OnceCell, RefCell};
use std::fmt::Display;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use crate::oci::client::http::{Body, HttpClient, ResponseFuture};
use bytes::Bytes;
use http::header::{
    ACCEPT, AUTHORIZATION, CONTENT_LENGTH, CONTENT_TYPE, PROXY_AUTHORIZATION, RANGE, USER_AGENT,
};
use http::{HeaderMap, HeaderValue, Method, Uri};
use http_body_util::BodyExt as _;
use hyper::body::Incoming;
use hyper_util::client::proxy::matcher::Intercept;
use tokio::sync::Semaphore;
use tokio::time::Instant;
use url::Url;

use crate::oci::auth::challenge::Challenge;
use crate::oci::client::body::Upload;
use crate::oci::client::connection_error::ConnectionFailure;
use crate::oci::client::exchange::{Call, Payload, Reply, RequestFailure, action, same_origin};
use crate::oci::client::minimum_rate::MinimumRate;
use crate::oci::client::proxy::{self, Kind, Proxy};
use crate::oci::client::redaction::Sent;
use crate::oci::client::retry::{self, Cause};
use crate::oci::client::tls;
use crate::oci::error::{ClientError, summary};
use crate::oci::{ClientOptions, Progress};
use crate::package::artifact::ArtifactBlob;
use crate::world::World;

/// The maximum number of redirects of one request.
pub(in crate::oci) const MAX_REDIRECTS: usize = 5;
/// The maximum size of an error body, in bytes.
const MAX_EXPLANATION: usize = 64 << 10;
/// The connect timeout.
const CONNECT_LIMIT: Duration = Duration::from_secs(10);
/// The maximum number of idle connections.
const MAX_IDLE: usize = 8;
/// How often a running upload's progress is checked.
const TICK: Duration = Duration::from_millis(100);

/// The connections of one scheme.
struct SchemeClient {
    http: HttpClient,
    proxy: Option<Proxy>,
    /// The User-Agent header.
    agent: HeaderValue,
}

/// Sends requests.
pub(in crate::oci) struct Transport<'a> {
    options: &'a ClientOptions,
    world: &'a dyn World,
    progress: &'a dyn Progress,
    plain: OnceCell<SchemeClient>,
    secure: OnceCell<SchemeClient>,
    /// Whether a server requested a client certificate that we don't have.
    identity_asked: Arc<AtomicBool>,
    /// Whether a response came over TLS: then the server doesn't require one.
    answered: Cell<bool>,
    /// Limits concurrent requests, and so the number of connections.
    limit: Option<Semaphore>,
    /// The registry that sent a challenge, and the challenge.
    asked: RefCell<Option<(Url, Challenge)>>,
    sent: Sent,
    began: Instant,
    /// Whether the notice about waiting was printed.
    noticed: Cell<bool>,
}

impl<'a> Transport<'a> {
    pub(in crate::oci) fn new(
        options: &'a ClientOptions,
        world: &'a dyn World,
        progress: &'a dyn Progress,
        limit: Option<usize>,
    ) -> Self {
        Self {
            limit: limit.map(Semaphore::new),
            asked: RefCell::default(),
            sent: Sent::default(),
            options,
            world,
            progress,
            plain: OnceCell::new(),
            secure: OnceCell::new(),
            identity_asked: Arc::default(),
            answered: Cell::new(false),
            began: Instant::now(),
            noticed: Cell::new(false),
        }
    }

    /// The deadline of all requests.
    pub(in crate::oci) fn deadline(&self) -> Option<Instant> {
        self.options
            .deadline
            .and_then(|limit| self.began.checked_add(limit))
    }

    /// The error that the deadline has passed; `last` is the error until then.
    pub(in crate::oci) fn too_late(&self, last: Option<ClientError>) -> ClientError {
        ClientError::Deadline {
            limit: self.options.deadline.unwrap_or_default(),
            last: last.map(|error| error.to_string()),
        }
    }

    /// Reports once what it is waiting for.
    pub(in crate::oci) fn notice(&self, what: &str) {
        if !self.noticed.replace(true) {
            self.announce(what);
        }
    }

    /// Reports what it is waiting for.
    pub(in crate::oci) fn announce(&self, what: &str) {
        self.progress.waiting(&self.sent.hide(what));
    }

    /// The challenge that a registry sent earlier.
    pub(in crate::oci) fn foreseen(&self, url: &Url) -> Option<Challenge> {
        let asked = self.asked.borrow();
        asked
            .as_ref()
            .filter(|(known, _)| same_origin(known, url))
            .map(|(_, challenge)| challenge.clone())
    }

    /// Records a registry's challenge.
    pub(in crate::oci) fn note(&self, url: &Url, challenge: &Challenge) {
        *self.asked.borrow_mut() = Some((url.clone(), challenge.clone()));
    }

    /// The secrets that were sent, for redaction.
    pub(in crate::oci) fn sent(&self) -> &Sent {
        &self.sent
    }

    /// Sends `call`, following redirects. `authorization` and the call's headers are only sent to its own origin.
    pub(in crate::oci) async fn send(
        &self,
        call: &Call<'_>,
        authorization: Option<&HeaderValue>,
    ) -> Result<Reply, RequestFailure> {
        let home = &call.url;
        let mut call = Cow::Borrowed(call);
        for _ in 0..=MAX_REDIRECTS {
            let at_home = same_origin(&call.url, home);
            let header = authorization.filter(|_| at_home);
            if !at_home && call.headers.is_some() {
                call.to_mut().headers = None;
            }
            let reply = self.once(&call, header).await?;
            if !matches!(reply.status, 301 | 302 | 303 | 307 | 308) {
                return Ok(reply);
            }
            // Clients differ in whether they turn other redirects into GET.
            let keeps_method = matches!(reply.status, 307 | 308);
            if !keeps_method && call.method != Method::GET && call.method != Method::HEAD {
                let message = format!("unexpected redirect with status {}", reply.status);
                return Err(reply.protocol(message).into());
            }
            call.to_mut().url = reply.location()?;
        }
        let message = format!("more than {MAX_REDIRECTS} redirects");
        Err(ClientError::Protocol {
            action: call.action(),
            message,
        }
        .into())
    }

    async fn once(
        &self,
        call: &Call<'_>,
        authorization: Option<&HeaderValue>,
    ) -> Result<Reply, RequestFailure> {
        let secure = call.url.scheme() == "https";
        let client = self.client(secure)?;
        if let Some(proxy) = &client.proxy {
            proxy.check(&call.url)?;
        }
        let upload = match &call.payload {
            Payload::None => Upload::short(Bytes::new()),
            Payload::Bytes(bytes) => Upload::short(bytes.clone()),
            Payload::Blob(blob) => Upload::of(blob),
        };
        let request = self.request(client, call, authorization, (upload.size, upload.body))?;
        let blob = match &call.payload {
            Payload::Blob(blob) => Some(*blob),
            _ => None,
        };
        let sent = self
            .guarded(client.http.request(request), &upload.sent, (call, blob))
            .await;
        if let Some(source) = Upload::take_fault(&upload.fault) {
            // Only blobs have a local source that can fail.
            return Err(match blob {
                Some(blob) => ClientError::Source {
                    digest: blob.digest.clone(),
                    source,
                },
                None => ClientError::Runtime(source),
            }
            .into());
        }
        match sent {
            Ok(mut response) => {
                let status = response.status().as_u16();
                self.trace(call, &status);
                self.answered.set(self.answered.get() || secure);
                Ok(Reply {
                    status,
                    method: call.method.clone(),
                    url: call.url.clone(),
                    version: response.version(),
                    headers: std::mem::take(response.headers_mut()),
                    body: response.into_body(),
                })
            }
            Err(failure) => {
                let proxy = client.proxy.as_ref();
                let failure = failure.through(proxy.filter(|proxy| proxy.for_url(&call.url).is_some()));
                self.trace(call, &failure.reason);
                let asked = self.identity_asked.load(Ordering::Relaxed) && !self.answered.get();
                Err(failure.after_asking(asked).into_fault(call.action()))
            }
        }
    }

    fn trace(&self, call: &Call<'_>, what: &dyn Display) {
        if self.progress.traces() {
            let line = format!("{} -> {what}", call.action());
            self.progress.trace(&self.sent.hide(&line));
        }
    }

    /// Waits for a permit, and then for the response, until no byte has moved for `timeout`.
    async fn guarded(
        &self,
        sending: ResponseFuture,
        sent: &AtomicU64,
        (call, blob): (&Call<'_>, Option<&ArtifactBlob>),
    ) -> Result<http::Response<Incoming>, ConnectionFailure> {
        let _turn = match &self.limit {
            Some(limit) => limit.acquire().await.ok(),
            None => None,
        };
        let mut sending = std::pin::pin!(sending);
        let mut seen = 0;
        let mut since = Instant::now();
        loop {
            tokio::select! {
                biased;
                result = &mut sending => return result.map_err(|error| ConnectionFailure::new(&error, error.is_connect())),
                () = tokio::time::sleep(TICK.min(self.options.timeout)) => {
                    let now = sent.load(Ordering::Relaxed);
                    if now != seen {
                        seen = now;
                        since = Instant::now();
                        if let Some(blob) = blob {
                            self.progress.blob_progress(&blob.digest, now);
                        }
                    } else if since.elapsed() >= self.options.timeout {
                        return Err(ConnectionFailure::timeout(self.options.timeout));
                    } else if since.elapsed() >= self.options.notice_after {
                        self.notice(&format!("{}: no answer yet", call.action()));
                    }
                }
            }
        }
    }

    fn client(&self, secure: bool) -> Result<&SchemeClient, ClientError> {
        let cell = if secure { &self.secure } else { &self.plain };
        if let Some(client) = cell.get() {
            return Ok(client);
        }
        let proxy = proxy::find(self.world, secure)?;
        // Without TLS the system's roots need not be read.
        let to_proxy = proxy.as_ref().map(|proxy| &proxy.kind);
        let config = if secure || to_proxy == Some(&Kind::Http { over_tls: true }) {
            tls::config(&self.options.tls, self.world, Arc::clone(&self.identity_asked))?
        } else {
            tls::unused()?
        };
        let limit = CONNECT_LIMIT.min(self.options.timeout);
        let http = HttpClient::new(config, proxy.clone(), limit, MAX_IDLE);
        let agent = HeaderValue::try_from(&self.options.user_agent)
            .map_err(|error| ClientError::Setup(format!("the user agent fits no header: {error}")))?;
        Ok(cell.get_or_init(|| SchemeClient { http, proxy, agent }))
    }

    /// Builds a request with its body.
    fn request(
        &self,
        client: &SchemeClient,
        call: &Call<'_>,
        authorization: Option<&HeaderValue>,
        upload: (u64, Body),
    ) -> Result<http::Request<Body>, ClientError> {
        let unfit =
            |error: &dyn Display| ClientError::Setup(format!("{} can't be sent: {error}", call.action()));
        let uri = Uri::try_from(call.url.as_str()).map_err(|error| unfit(&error))?;
        let forwarder = client
            .proxy
            .as_ref()
            .filter(|_| call.url.scheme() == "http")
            .and_then(|proxy| proxy.for_url(&call.url));
        let (size, body) = upload;
        let mut request = http::Request::new(body);
        *request.method_mut() = call.method.clone();
        *request.uri_mut() = uri;
        let headers = request.headers_mut();
        headers.insert(ACCEPT, HeaderValue::from_static(call.accept.unwrap_or("*/*")));
        headers.insert(USER_AGENT, client.agent.clone());
        if let Some(content_type) = call.content_type {
            let content_type = HeaderValue::try_from(content_type).map_err(|error| unfit(&error))?;
            headers.insert(CONTENT_TYPE, content_type);
        }
        for (name, value) in call.headers.into_iter().flatten() {
            self.sent.note_header(value);
            headers.insert(name, value.clone());
        }
        if call.from_byte > 0 {
            let range = HeaderValue::try_from(format!("bytes={}-", call.from_byte));
            headers.insert(RANGE, range.map_err(|error| unfit(&error))?);
        }
        if let Some(authorization) = authorization {
            self.sent.note_header(authorization);
            headers.insert(AUTHORIZATION, authorization.clone());
        }
        if let Some(header) = forwarder.as_ref().and_then(Intercept::basic_auth) {
            self.sent.note_header(header);
            headers.insert(PROXY_AUTHORIZATION, header.clone());
        }
        if call.method == Method::POST || call.method == Method::PUT {
            headers.insert(CONTENT_LENGTH, HeaderValue::from(size));
        }
        Ok(request)
    }

    /// The delay of Retry-After, whose dates are compared with the wall clock, or that until a used up limit is reset.
    fn retry_after(&self, reply: &Reply) -> Option<Duration> {
        let asked = reply.header("retry-after");
        let asked = asked.and_then(|text| retry::parse_retry_after(text, self.world.now()));
        let limit = reply.header("ratelimit").filter(|_| reply.status == 429);
        asked.or_else(|| retry::parse_rate_limit(limit?))
    }

    /// The error for a failure status. Reads the error body.
    pub(in crate::oci) async fn refuse(
        &self,
        reply: Reply,
        searched: Vec<String>,
        authenticated: bool,
    ) -> RequestFailure {
        let proxy = self.refusing_proxy(&reply);
        let retry_after = self.retry_after(&reply);
        let lacks_scope = has_insufficient_scope(&reply.headers);
        let content_type = reply.header("content-type").unwrap_or_default().to_owned();
        let (status, action) = (reply.status, reply.action());
        let body = self.body(reply, MAX_EXPLANATION).await.unwrap_or_default();
        let detail = summary(&content_type, &body, &|text| self.sent.hide(text));
        RequestFailure {
            error: match proxy {
                Some(proxy) => ClientError::Proxy {
                    action,
                    proxy,
                    status,
                    detail,
                    attempts: 1,
                },
                None => ClientError::Status {
                    action,
                    status,
                    detail,
                    lacks_scope,
                    redirected: false,
                    searched,
                    authenticated,
                    attempts: 1,
                },
            },
            cause: Some(Cause::Status(status)),
            retry_after,
        }
    }

    /// The proxy that refused to forward the request: with 407, or with a 403 that is not a registry's.
    fn refusing_proxy(&self, reply: &Reply) -> Option<String> {
        let is_plain = reply.url.scheme() == "http";
        let proxy = self.client(!is_plain).ok()?.proxy.as_ref()?;
        let forwards = is_plain && matches!(proxy.kind, Kind::Http { .. });
        let refuses = match reply.status {
            407 => true,
            403 => forwards && proxy.for_url(&reply.url).is_some() && !is_of_registry(reply),
            _ => false,
        };
        refuses.then(|| proxy.named())
    }

    /// The body, of at most `limit` bytes.
    pub(in crate::oci) async fn body(&self, reply: Reply, limit: usize) -> Result<Vec<u8>, RequestFailure> {
        let mut bytes = Vec::new();
        let action = reply.action();
        self.each_piece(reply, |piece| {
            if bytes.len() + piece.len() > limit {
                let message = format!("the answer is longer than {limit} bytes");
                let action = action.clone();
                return Err(ClientError::Protocol { action, message });
            }
            bytes.extend_from_slice(piece);
            Ok(())
        })
        .await?;
        Ok(bytes)
    }

    /// Streams the body to `take`, until that fails, or the body stops or comes too slowly.
    pub(in crate::oci) async fn each_piece(
        &self,
        reply: Reply,
        mut take: impl FnMut(&[u8]) -> Result<(), ClientError>,
    ) -> Result<(), RequestFailure> {
        let Reply {
            mut body,
            method,
            url,
            ..
        } = reply;
        let mut rate = MinimumRate::new(self.options.timeout, Instant::now());
        let broken = loop {
            match tokio::time::timeout(self.options.timeout, body.frame()).await {
                Ok(Some(Ok(frame))) => {
                    // Trailers are ignored.
                    let Some(piece) = frame.data_ref() else {
                        continue;
                    };
                    take(piece)?;
                    if let Err(found) = rate.add(piece.len(), Instant::now()) {
                        break ConnectionFailure::slow(found, self.options.timeout);
                    }
                }
                Ok(None) => return Ok(()),
                Ok(Some(Err(error))) => break ConnectionFailure::new(&error, false),
                Err(_) => break ConnectionFailure::timeout(self.options.timeout),
            }
        };
        Err(broken.into_fault(action(&method, &url)))
    }
}

/// Whether the response has the distribution specification's header, or errors in its format.
fn is_of_registry(reply: &Reply) -> bool {
    reply.headers.contains_key("docker-distribution-api-version")
        || reply
            .header("content-type")
            .is_some_and(|kind| kind.contains("json"))
}

/// Whether the token lacks the scope (RFC 6750, 3.1).
fn has_insufficient_scope(headers: &HeaderMap) -> bool {
    let mut asked = headers.get_all("www-authenticate").iter();
    asked.any(|value| {
        value
            .to_str()
            .is_ok_and(|text| text.contains("insufficient_scope"))
    })
}
