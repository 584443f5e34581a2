//! Downloads from web servers that can be continued: a file's bytes go to a [`ResumableSink`], and a body that is cut is
//! requested again from where it ended (RFC 9110, 14). A server that sends a wrong part is asked for the whole file.
//!
//! Of a file it only knows the size; whoever gives the sink verifies the content. No size that a server reports is
//! trusted: a body longer than expected, or than the limit, ends the download.

use std::cell::{Cell, RefCell};
use std::fmt;
use std::io;
use std::time::Duration;

use http::header::{AUTHORIZATION, CONTENT_RANGE};
use http::{HeaderMap, HeaderName, HeaderValue, Method};
use url::Url;

use crate::oci::client::exchange::{Call, Reply, RequestFailure, same_origin};
use crate::oci::client::link_header;
use crate::oci::client::persistently;
use crate::oci::client::retry::Cause;
use crate::oci::client::transport::Transport;
use crate::oci::error::{ClientError, Link};
use crate::oci::failure::Failure;
use crate::oci::{ClientOptions, Progress, RetryPolicy, Secret};
use crate::world::World;

/// A connection that was cut counts as no failed attempt when it carried this many bytes: of a file of 100 GB, a
/// connection may be cut more often than a request is retried.
const PROGRESS_BYTES: u64 = 1 << 20;
/// The maximum delay that a server may request: limits of Hugging Face are reset every five minutes.
const RETRY_AFTER_CAP: Duration = Duration::from_secs(5 * 60);

/// Downloads over shared connections. Every method blocks until it is done.
pub struct Downloader<'a> {
    runtime: tokio::runtime::Runtime,
    transport: Transport<'a>,
    /// With this module's limit of a requested delay.
    options: ClientOptions,
    world: &'a dyn World,
    progress: &'a dyn Progress,
}

/// Request headers that may be secrets. They are only sent to the origin of the requested URL, and can't be printed.
#[derive(Clone, Default)]
pub struct RequestHeaders(HeaderMap);

/// A page of a list.
#[derive(Debug)]
pub struct Page {
    /// The body.
    pub body: Vec<u8>,
    /// The URL of the next page, which has the same origin.
    pub next: Option<Url>,
}

/// A file to download.
#[derive(Debug, Clone, Copy)]
pub struct Download<'d> {
    /// Its URL.
    pub url: &'d Url,
    /// The headers for the URL's origin.
    pub headers: &'d RequestHeaders,
    /// Its size in bytes, if it is known.
    pub size: Option<u64>,
    /// The maximum size in bytes.
    pub limit: u64,
}

/// The end of an attempt that did not fail.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Attempt {
    /// The file is complete.
    Complete,
    /// There is more to request, at once: the connection was cut after some of it, or parts are not requested any more.
    Continue,
}

/// A part of a file that is not the requested one.
struct WrongPart;

/// What is known of a download from attempt to attempt.
struct Transfer<'s> {
    sink: RefCell<&'s mut dyn ResumableSink>,
    /// The sink's.
    name: String,
    /// Whether parts are requested: not any more when the server sent a wrong one.
    ranges: Cell<bool>,
    /// The most bytes that the sink had. Bytes that are sent a second time are no progress.
    furthest: Cell<u64>,
}

/// Receives a file's bytes in order.
pub trait ResumableSink {
    /// How many bytes it has.
    fn received(&self) -> u64;
    /// Adds bytes at the end.
    ///
    /// # Errors
    /// An I/O error, which ends the download.
    fn append(&mut self, bytes: &[u8]) -> io::Result<()>;
    /// Drops all bytes: the server begins again.
    ///
    /// # Errors
    /// An I/O error, which ends the download.
    fn restart(&mut self) -> io::Result<()>;
    /// Its name, for messages.
    fn name(&self) -> String;
    /// Whether its bytes are the whole file. Decides where neither the caller nor the server has its size.
    fn is_complete(&self) -> bool;
}

impl Transfer<'_> {
    fn is_complete(&self, download: &Download<'_>, received: u64) -> bool {
        match download.size {
            Some(size) => size == received,
            None => received > 0 && self.sink.borrow().is_complete(),
        }
    }

    fn restart(&self) -> Result<(), ClientError> {
        let restarted = self.sink.borrow_mut().restart();
        restarted.map_err(|source| self.failed(source))
    }

    fn failed(&self, source: io::Error) -> ClientError {
        ClientError::Sink {
            what: self.name.clone(),
            source,
        }
    }
}

impl RequestHeaders {
    /// Adds a header. `false` if the name or the value fits no header.
    #[must_use]
    pub fn insert(&mut self, name: &str, value: &Secret) -> bool {
        let name = HeaderName::try_from(name).ok();
        let Some((name, value)) = name.zip(sensitive(value.expose())) else {
            return false;
        };
        self.0.insert(name, value);
        true
    }

    /// Adds a bearer token. `false` if it fits no header.
    #[must_use]
    pub fn bearer(&mut self, token: &Secret) -> bool {
        let value = sensitive(&format!("Bearer {}", token.expose()));
        value.is_some_and(|value| self.0.insert(AUTHORIZATION, value).is_none())
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

fn sensitive(text: &str) -> Option<HeaderValue> {
    let mut value = HeaderValue::from_str(text).ok()?;
    value.set_sensitive(true);
    Some(value)
}

impl fmt::Debug for RequestHeaders {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.0.keys()).finish()
    }
}

impl<'a> Downloader<'a> {
    /// A downloader without connections.
    ///
    /// # Errors
    /// Only if the async runtime can't be started.
    pub fn new(
        options: &'a ClientOptions,
        world: &'a dyn World,
        progress: &'a dyn Progress,
    ) -> Result<Self, Failure> {
        Ok(Self {
            runtime: crate::oci::runtime()?,
            transport: Transport::new(options, world, progress, None),
            options: patient(options),
            world,
            progress,
        })
    }

    /// Reads a page of at most `limit` bytes.
    ///
    /// # Errors
    /// A server that is unreachable or refuses the request; a longer body; a next page at another origin.
    pub fn page(&self, url: &Url, headers: &RequestHeaders, limit: usize) -> Result<Page, Failure> {
        let read = self.persistently(async || {
            let reply = self.get(url, headers, 0).await?;
            if reply.status != 200 {
                return Err(self.refuse(reply, url, headers).await);
            }
            let next = next_page(&reply, url)?;
            let body = self.transport.body(reply, limit).await?;
            Ok(Page { body, next })
        });
        Ok(self.runtime.block_on(read)?)
    }

    /// Downloads a file, beginning with the first byte that the sink doesn't have.
    ///
    /// # Errors
    /// A server that is unreachable, refuses the request, or sends more or fewer bytes than it should; an error of the
    /// sink.
    pub fn file(&self, download: &Download<'_>, sink: &mut dyn ResumableSink) -> Result<(), Failure> {
        let transfer = Transfer {
            ranges: Cell::new(true),
            furthest: Cell::new(sink.received()),
            name: sink.name(),
            sink: RefCell::new(sink),
        };
        let all = async {
            loop {
                let tried = self.persistently(async || self.attempt(download, &transfer).await);
                if tried.await? == Attempt::Complete {
                    return Ok::<_, ClientError>(());
                }
            }
        };
        Ok(self.runtime.block_on(all)?)
    }

    async fn attempt(
        &self,
        download: &Download<'_>,
        transfer: &Transfer<'_>,
    ) -> Result<Attempt, RequestFailure> {
        let received = transfer.sink.borrow().received();
        if transfer.is_complete(download, received) {
            return Ok(Attempt::Complete);
        }
        let first = if transfer.ranges.get() { received } else { 0 };
        let reply = self.get(download.url, download.headers, first).await?;
        let total = match reply.status {
            200 => {
                // The server doesn't send parts.
                if received > 0 {
                    transfer.restart()?;
                }
                reply.length()
            }
            206 if first > 0 => match total_of_part(&reply, first, download.size) {
                Ok(total) => total,
                Err(WrongPart) => {
                    transfer.ranges.set(false);
                    transfer.restart()?;
                    return Ok(Attempt::Continue);
                }
            },
            // What is there is no beginning of the file.
            416 if first > 0 => {
                transfer.restart()?;
                let reason = "the server has no such part of the file";
                return Err(cut(&reply.action(), reason.to_owned()));
            }
            _ => return Err(self.refuse(reply, download.url, download.headers).await),
        };
        check_total(&reply, total, download)?;
        self.receive(reply, total, download, transfer).await
    }

    /// Receives a body that continues what the sink has.
    async fn receive(
        &self,
        reply: Reply,
        total: Option<u64>,
        download: &Download<'_>,
        transfer: &Transfer<'_>,
    ) -> Result<Attempt, RequestFailure> {
        let expected = download.size.or(total);
        let limit = expected.unwrap_or(download.limit).min(download.limit);
        let (action, is_delimited) = (reply.action(), reply.is_delimited());
        let mut received = transfer.sink.borrow().received();
        let read = self.transport.each_piece(reply, |piece| {
            received = received.saturating_add(piece.len() as u64);
            if received > limit {
                let message = format!("the server sends more than {limit} bytes");
                let action = action.clone();
                return Err(ClientError::Protocol { action, message });
            }
            let appended = transfer.sink.borrow_mut().append(piece);
            appended.map_err(|source| transfer.failed(source))
        });
        let failure = match (read.await, expected) {
            (Err(failure), _) => failure,
            (Ok(()), Some(size)) if received < size => {
                cut(&action, format!("the server sent {received} of {size} bytes"))
            }
            (Ok(()), None) if !is_delimited && !transfer.sink.borrow().is_complete() => {
                let reason = format!(
                    "the server closed the connection after {received} bytes, which are not the whole file"
                );
                cut(&action, reason)
            }
            (Ok(()), _) => return Ok(Attempt::Complete),
        };
        let furthest = transfer.furthest.get();
        transfer.furthest.set(furthest.max(received));
        let is_cut = matches!(failure.error, ClientError::Link { .. });
        match received.saturating_sub(furthest) >= PROGRESS_BYTES && is_cut {
            true => Ok(Attempt::Continue),
            false => Err(failure),
        }
    }

    async fn get(&self, url: &Url, headers: &RequestHeaders, from: u64) -> Result<Reply, RequestFailure> {
        let mut call = Call::new(Method::GET, url.clone());
        call.headers = Some(&headers.0);
        call.from_byte = from;
        self.transport.send(&call, None).await
    }

    async fn refuse(&self, reply: Reply, requested: &Url, headers: &RequestHeaders) -> RequestFailure {
        if reply.status < 400 {
            let message = format!("the server answered {}, expected 200", reply.status);
            return reply.protocol(message).into();
        }
        let redirected = !same_origin(&reply.url, requested);
        let mut failure = self
            .transport
            .refuse(reply, Vec::new(), !headers.is_empty())
            .await;
        if redirected {
            if matches!(failure.cause, Some(Cause::Status(401 | 403))) {
                failure.cause = Some(Cause::LinkExpired);
            }
            failure.error = failure.error.redirected();
        }
        failure
    }

    async fn persistently<T>(
        &self,
        operation: impl AsyncFn() -> Result<T, RequestFailure>,
    ) -> Result<T, ClientError> {
        let (world, progress) = (self.world, self.progress);
        persistently(&self.transport, &self.options, world, progress, operation).await
    }
}

/// The options, with a longer delay that a server may request.
fn patient(options: &ClientOptions) -> ClientOptions {
    let retry_after_cap = options.retry.retry_after_cap.max(RETRY_AFTER_CAP);
    ClientOptions {
        retry: RetryPolicy {
            retry_after_cap,
            ..options.retry
        },
        ..options.clone()
    }
}

/// A transfer that ended too early, which is retried.
fn cut(action: &str, reason: String) -> RequestFailure {
    RequestFailure {
        error: ClientError::Link {
            action: action.to_owned(),
            link: Link::Cut,
            reason,
            attempts: 1,
        },
        cause: Some(Cause::Cut),
        retry_after: None,
    }
}

/// The file's size in `Content-Range: bytes 100-199/200`, if the server knows it. `Err` if the part does not begin
/// where it should, or is of a file of another size.
fn total_of_part(reply: &Reply, from: u64, size: Option<u64>) -> Result<Option<u64>, WrongPart> {
    let text = reply.header(CONTENT_RANGE.as_str()).unwrap_or_default();
    let range = text.strip_prefix("bytes ").and_then(|rest| rest.split_once('/'));
    let begins = range.and_then(|(range, _)| range.split_once('-')?.0.parse().ok());
    let total = range.and_then(|(_, total)| total.parse::<u64>().ok());
    match begins == Some(from) && total.zip(size).is_none_or(|(total, size)| total == size) {
        true => Ok(total),
        false => Err(WrongPart),
    }
}

fn check_total(reply: &Reply, total: Option<u64>, download: &Download<'_>) -> Result<(), ClientError> {
    let Some(total) = total else {
        return Ok(());
    };
    if let Some(size) = download.size.filter(|size| *size != total) {
        return Err(reply.protocol(format!("the file has {size} bytes, the server reports {total}")));
    }
    if total > download.limit {
        let limit = download.limit;
        return Err(reply.protocol(format!("the file has {total} bytes, the limit is {limit}")));
    }
    Ok(())
}

/// The next page is at the origin of the first one, wherever that was redirected to: the headers are for that origin.
fn next_page(reply: &Reply, home: &Url) -> Result<Option<Url>, ClientError> {
    let headers = reply.headers.get_all("link").iter();
    let Some(target) = link_header::next(headers.filter_map(|value| value.to_str().ok())) else {
        return Ok(None);
    };
    match reply.url.join(&target) {
        Ok(next) if next == reply.url => Err(reply.protocol("the next page is this one")),
        Ok(next) if same_origin(&next, home) => Ok(Some(next)),
        _ => Err(reply.protocol("the next page is on another server")),
    }
}
