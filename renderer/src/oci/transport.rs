//! One request, one answer: the reqwest clients (plain and TLS, made when first needed),
//! redirects, time limits, and what a failed connection means. Knows nothing of registries but
//! their origin, which alone receives our Authorization.

use std::cell::{Cell, OnceCell, RefCell};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use bytes::Bytes;
use reqwest::header::{
    ACCEPT, AUTHORIZATION, CONTENT_LENGTH, CONTENT_TYPE, HeaderMap, HeaderValue, LOCATION,
};
use reqwest::{Method, Url};
use tokio::sync::Semaphore;
use tokio::time::Instant;

use super::auth::Challenge;
use super::body::Upload;
use super::broken::Broken;
use super::error::ClientError;
use super::retry::{self, Cause};
use super::tls;
use super::{ClientOptions, Progress};
use crate::package::artifact::Blob;
use crate::world::World;

/// Redirects followed for one request.
pub(super) const MAX_REDIRECTS: usize = 5;
/// The most that is read of a body that explains a failure, in bytes.
const MAX_EXPLANATION: usize = 64 << 10;
/// How long making a connection may take.
const CONNECT_LIMIT: Duration = Duration::from_secs(10);
/// How often a running upload's progress is looked at.
const TICK: Duration = Duration::from_millis(100);

/// A request, as often as it has to be sent.
#[derive(Clone)]
pub(super) struct Call<'c> {
    pub(super) method: Method,
    pub(super) url: Url,
    pub(super) accept: Option<&'static str>,
    pub(super) content_type: Option<&'c str>,
    pub(super) payload: Payload<'c>,
}

/// What a request carries.
#[derive(Clone)]
pub(super) enum Payload<'c> {
    None,
    Bytes(Bytes),
    Blob(&'c Blob),
}

/// An answer whose body has not been read.
pub(super) struct Reply {
    pub(super) status: u16,
    pub(super) headers: HeaderMap,
    /// Where it came from, after redirects.
    pub(super) url: Url,
    /// Method and URL, for messages.
    pub(super) action: String,
    response: reqwest::Response,
}

/// A failure, and whether trying again may help.
#[derive(Debug)]
pub(super) struct Fault {
    pub(super) error: ClientError,
    pub(super) cause: Option<Cause>,
    pub(super) retry_after: Option<Duration>,
}

impl From<ClientError> for Fault {
    fn from(error: ClientError) -> Self {
        Self {
            error,
            cause: None,
            retry_after: None,
        }
    }
}

impl Call<'_> {
    pub(super) fn new(method: Method, url: Url) -> Self {
        Self {
            method,
            url,
            accept: None,
            content_type: None,
            payload: Payload::None,
        }
    }

    /// Method and URL for people: no user, no query (tokens and upload states live there).
    pub(super) fn action(&self) -> String {
        let url = &self.url;
        let query = if url.query().is_some() { "?…" } else { "" };
        format!("{} {}{}{query}", self.method, origin(url), url.path())
    }
}

/// `scheme://host[:port]`, which is what may share an Authorization header.
pub(super) fn origin(url: &Url) -> String {
    url.origin().ascii_serialization()
}

/// Where requests leave.
pub(super) struct Transport<'a> {
    options: &'a ClientOptions,
    world: &'a dyn World,
    progress: &'a dyn Progress,
    plain: OnceCell<reqwest::Client>,
    secure: OnceCell<reqwest::Client>,
    /// A server wanted a client certificate, and we have none.
    identity_asked: Arc<AtomicBool>,
    /// Something came back over TLS: it can do without.
    answered: Cell<bool>,
    /// How many requests may be on their way at once, and so how many connections there are.
    limit: Option<Semaphore>,
    /// The registry that has asked who we are, and how.
    asked: RefCell<Option<(String, Challenge)>>,
}

impl<'a> Transport<'a> {
    pub(super) fn new(
        options: &'a ClientOptions,
        world: &'a dyn World,
        progress: &'a dyn Progress,
        limit: Option<usize>,
    ) -> Self {
        Self {
            limit: limit.map(Semaphore::new),
            asked: RefCell::default(),
            options,
            world,
            progress,
            plain: OnceCell::new(),
            secure: OnceCell::new(),
            identity_asked: Arc::default(),
            answered: Cell::new(false),
        }
    }

    /// How a registry has asked before.
    pub(super) fn foreseen(&self, url: &Url) -> Option<Challenge> {
        let asked = self.asked.borrow();
        asked
            .as_ref()
            .filter(|(known, _)| *known == origin(url))
            .map(|(_, challenge)| challenge.clone())
    }

    /// It has asked so.
    pub(super) fn note(&self, url: &Url, challenge: &Challenge) {
        *self.asked.borrow_mut() = Some((origin(url), challenge.clone()));
    }

    /// Sends `call`, following redirects. `authorization` goes to the call's own origin only.
    pub(super) async fn send(
        &self,
        call: &Call<'_>,
        authorization: Option<&HeaderValue>,
    ) -> Result<Reply, Fault> {
        let home = call.url.origin();
        let mut call = call.clone();
        for _ in 0..=MAX_REDIRECTS {
            let header = authorization.filter(|_| call.url.origin() == home);
            let reply = self.once(&call, header).await?;
            if !matches!(reply.status, 301 | 302 | 303 | 307 | 308) {
                return Ok(reply);
            }
            // The others turn into GET in some clients and not in others.
            let keeps_method = matches!(reply.status, 307 | 308);
            if !keeps_method && call.method != Method::GET && call.method != Method::HEAD {
                let message = format!("a redirect with status {} is no answer to this", reply.status);
                return Err(reply.protocol(message).into());
            }
            call.url = reply.location()?;
        }
        let message = format!("more than {MAX_REDIRECTS} redirects");
        Err(ClientError::Protocol {
            action: call.action(),
            message,
        }
        .into())
    }

    async fn once(&self, call: &Call<'_>, authorization: Option<&HeaderValue>) -> Result<Reply, Fault> {
        let client = self.client(call.url.scheme() == "https")?;
        let mut request = client.request(call.method.clone(), call.url.clone());
        if let Some(accept) = call.accept {
            request = request.header(ACCEPT, accept);
        }
        if let Some(content_type) = call.content_type {
            request = request.header(CONTENT_TYPE, content_type);
        }
        if let Some(authorization) = authorization {
            request = request.header(AUTHORIZATION, authorization.clone());
        }
        let upload = match &call.payload {
            Payload::None => Upload::short(Bytes::new()),
            Payload::Bytes(bytes) => Upload::short(bytes.clone()),
            Payload::Blob(blob) => Upload::of(blob),
        };
        if call.method == Method::POST || call.method == Method::PUT {
            request = request.header(CONTENT_LENGTH, upload.size).body(upload.body);
        }
        let blob = match &call.payload {
            Payload::Blob(blob) => Some(*blob),
            _ => None,
        };
        let sent = self.guarded(request.send(), &upload.sent, blob).await;
        let action = call.action();
        if let Some(source) = Upload::take_fault(&upload.fault) {
            // Only blobs have a side of ours that can fail.
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
            Ok(response) => {
                let status = response.status().as_u16();
                self.progress.trace(&format!("{action} -> {status}"));
                self.answered
                    .set(self.answered.get() || call.url.scheme() == "https");
                Ok(Reply {
                    status,
                    headers: response.headers().clone(),
                    url: response.url().clone(),
                    action,
                    response,
                })
            }
            Err(failure) => {
                let proxy = self.proxy_variable(call.url.scheme() == "https");
                let failure = failure.beside_proxy(proxy.map(|(name, _)| name));
                self.progress.trace(&format!("{action} -> {}", failure.reason));
                let asked = self.identity_asked.load(Ordering::Relaxed) && !self.answered.get();
                Err(failure.after_asking(asked).into_fault(action))
            }
        }
    }

    /// Waits for its turn, and then for the answer as long as bytes move, and `timeout` longer.
    async fn guarded(
        &self,
        sending: impl Future<Output = reqwest::Result<reqwest::Response>>,
        sent: &AtomicU64,
        blob: Option<&Blob>,
    ) -> Result<reqwest::Response, Broken> {
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
                result = &mut sending => return result.map_err(|error| Broken::from_reqwest(&error)),
                () = tokio::time::sleep(TICK.min(self.options.timeout)) => {
                    let now = sent.load(Ordering::Relaxed);
                    if now != seen {
                        seen = now;
                        since = Instant::now();
                        if let Some(blob) = blob {
                            self.progress.blob_progress(&blob.digest, now);
                        }
                    } else if since.elapsed() >= self.options.timeout {
                        return Err(Broken::timeout(self.options.timeout));
                    }
                }
            }
        }
    }

    fn client(&self, secure: bool) -> Result<&reqwest::Client, ClientError> {
        let cell = if secure { &self.secure } else { &self.plain };
        if let Some(client) = cell.get() {
            return Ok(client);
        }
        let config = if secure {
            tls::config(&self.options.tls, self.world, Arc::clone(&self.identity_asked))?
        } else {
            tls::unused()?
        };
        let mut builder = reqwest::Client::builder()
            .tls_backend_preconfigured(config)
            .redirect(reqwest::redirect::Policy::none())
            .referer(false)
            .user_agent(&self.options.user_agent)
            .connect_timeout(CONNECT_LIMIT.min(self.options.timeout))
            .pool_max_idle_per_host(8)
            .no_proxy();
        if let Some(proxy) = self.proxy(secure)? {
            builder = builder.proxy(proxy);
        }
        let client = builder
            .build()
            .map_err(|error| ClientError::Setup(format!("the HTTP client can't be set up: {error}")))?;
        Ok(cell.get_or_init(|| client))
    }

    /// The usual variable that names a proxy, and what it holds; read through the world and not by reqwest.
    fn proxy_variable(&self, secure: bool) -> Option<(&'static str, String)> {
        let names: [&str; 4] = if secure {
            ["https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY"]
        } else {
            ["http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"]
        };
        names
            .into_iter()
            .find_map(|name| Some((name, self.world.env(name)?)))
    }

    fn proxy(&self, secure: bool) -> Result<Option<reqwest::Proxy>, ClientError> {
        let Some((name, url)) = self.proxy_variable(secure) else {
            return Ok(None);
        };
        if let Some((scheme, _)) = url
            .split_once("://")
            .filter(|(scheme, _)| !matches!(*scheme, "http" | "https"))
        {
            let message = format!("{name} names a proxy of the kind {scheme:?}: http and https are known");
            return Err(ClientError::Setup(message));
        }
        let excluded = ["no_proxy", "NO_PROXY"]
            .iter()
            .find_map(|name| self.world.env(name))
            .unwrap_or_default();
        if excluded.split(',').any(|entry| entry.trim() == "*") {
            return Ok(None);
        }
        // As Go does: what runs on this machine is not asked through a proxy.
        let excluded = format!("localhost,127.0.0.0/8,::1,{}", without_ports(&excluded));
        // The URL may hold a password: it is not shown.
        let proxy = reqwest::Proxy::all(url)
            .map_err(|_| ClientError::Setup(format!("{name} does not hold a proxy's URL")))?;
        Ok(Some(proxy.no_proxy(reqwest::NoProxy::from_string(&excluded))))
    }

    /// The wall clock, for dates in Retry-After.
    fn retry_after(&self, headers: &HeaderMap) -> Option<Duration> {
        let text = headers.get("retry-after")?.to_str().ok()?;
        retry::parse_retry_after(text, self.world.now())
    }

    /// The failure that an unwelcome status is. Reads the explanation.
    pub(super) async fn refuse(&self, reply: Reply, looked: Vec<String>, authenticated: bool) -> Fault {
        let retry_after = self.retry_after(&reply.headers);
        let content_type = reply.header("content-type").unwrap_or_default().to_owned();
        let (status, action) = (reply.status, reply.action.clone());
        let body = self.body(reply, MAX_EXPLANATION).await.unwrap_or_default();
        Fault {
            error: ClientError::Status {
                action,
                status,
                detail: super::error::summary(&content_type, &body),
                looked,
                authenticated,
                attempts: 1,
            },
            cause: Some(Cause::Status(status)),
            retry_after,
        }
    }

    /// The body, of at most `limit` bytes.
    pub(super) async fn body(&self, reply: Reply, limit: usize) -> Result<Vec<u8>, Fault> {
        let mut bytes = Vec::new();
        let action = reply.action.clone();
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

    /// The body as it comes; what `take` refuses ends it.
    pub(super) async fn each_piece(
        &self,
        reply: Reply,
        mut take: impl FnMut(&[u8]) -> Result<(), ClientError>,
    ) -> Result<(), Fault> {
        let Reply {
            mut response, action, ..
        } = reply;
        loop {
            match tokio::time::timeout(self.options.timeout, response.chunk()).await {
                Ok(Ok(Some(piece))) => take(&piece)?,
                Ok(Ok(None)) => return Ok(()),
                Ok(Err(error)) => return Err(Broken::from_reqwest(&error).into_fault(action)),
                Err(_) => return Err(Broken::timeout(self.options.timeout).into_fault(action)),
            }
        }
    }
}

/// `host:port` becomes `host`: reqwest knows no ports there, Go does.
fn without_ports(excluded: &str) -> String {
    let plain = |entry: &str| match entry.trim().rsplit_once(':') {
        Some((host, port)) if !host.contains(':') && port.bytes().all(|digit| digit.is_ascii_digit()) => {
            host.to_owned()
        }
        _ => entry.trim().to_owned(),
    };
    excluded.split(',').map(plain).collect::<Vec<_>>().join(",")
}

impl Reply {
    pub(super) fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name)?.to_str().ok()
    }

    /// Content-Length, which after HEAD is that of the body left out.
    pub(super) fn length(&self) -> Option<u64> {
        self.header("content-length")?.parse().ok()
    }

    pub(super) fn protocol(&self, message: impl Into<String>) -> ClientError {
        ClientError::Protocol {
            action: self.action.clone(),
            message: message.into(),
        }
    }

    /// Where the Location header points; refused where it would leave TLS.
    pub(super) fn location(&self) -> Result<Url, ClientError> {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hosts_without_a_proxy_are_taken_with_ports_and_without() {
        assert_eq!(
            without_ports("a.example:443, .b.example,10.0.0.0/8,::1,[::1]:5000,*"),
            "a.example,.b.example,10.0.0.0/8,::1,[::1]:5000,*"
        );
    }
}
