//! Downloads from web servers that can be continued: a file's bytes go to a [`ResumableSink`], and a body that is cut is
//! requested again from where it ended (RFC 9110, 14).
//!
//! Of a file it only knows the size; whoever gives the sink verifies the content. No size that a server reports is
//! trusted: a body longer than expected, or than the limit, ends the download.

use std::cell::RefCell;
use std::fmt;
use std::io;

use http::header::{AUTHORIZATION, CONTENT_RANGE};
use http::{HeaderMap, HeaderName, HeaderValue, Method};
use url::Url;

use crate::oci::client::link_header;
use crate::oci::client::persistently;
use crate::oci::client::retry::Cause;
use crate::oci::client::transport::{Call, Reply, RequestFailure, Transport, same_origin};
use crate::oci::error::{ClientError, Link};
use crate::oci::failure::Failure;
use crate::oci::{ClientOptions, Progress, Secret};
use crate::world::World;

/// A connection that was cut counts as no failed attempt when it carried this many bytes: of a file of 100 GB, a
/// connection may be cut more often than a request is retried.
const PROGRESS_BYTES: u64 = 1 << 20;

/// Downloads over shared connections. Every method blocks until it is done.
pub struct Downloader<'a> {
    runtime: tokio::runtime::Runtime,
    transport: Transport<'a>,
    options: &'a ClientOptions,
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
    /// The connection was cut after some of it.
    Progress,
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
            options,
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
                return Err(self.refuse(reply, headers).await);
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
        let sink = RefCell::new(sink);
        let all = async {
            loop {
                let tried = self.persistently(async || self.attempt(download, &sink).await);
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
        sink: &RefCell<&mut dyn ResumableSink>,
    ) -> Result<Attempt, RequestFailure> {
        let failed = |source: io::Error| ClientError::Sink {
            what: shown(download.url),
            source,
        };
        let from = sink.borrow().received();
        if download.size == Some(from) {
            return Ok(Attempt::Complete);
        }
        let reply = self.get(download.url, download.headers, from).await?;
        let from = match reply.status {
            // The server doesn't send parts.
            200 if from > 0 => {
                sink.borrow_mut().restart().map_err(failed)?;
                0
            }
            200 => 0,
            206 if from > 0 => check_range(&reply, from, download.size)?,
            // What is there is no beginning of the file.
            416 if from > 0 => {
                sink.borrow_mut().restart().map_err(failed)?;
                let reason = "the server has no such part of the file";
                return Err(cut(&reply.action(), reason.to_owned()));
            }
            _ => return Err(self.refuse(reply, download.headers).await),
        };
        check_length(&reply, from, download)?;
        let limit = download.size.unwrap_or(download.limit).min(download.limit);
        let action = reply.action();
        let mut received = from;
        let read = self.transport.each_piece(reply, |piece| {
            received = received.saturating_add(piece.len() as u64);
            if received > limit {
                let message = format!("the server sends more than {limit} bytes");
                let action = action.clone();
                return Err(ClientError::Protocol { action, message });
            }
            sink.borrow_mut().append(piece).map_err(failed)
        });
        let failure = match read.await {
            // A body without Content-Length ends where the connection ends.
            Ok(()) => match download.size.filter(|size| received < *size) {
                Some(size) => cut(&action, format!("the server sent {received} of {size} bytes")),
                None => return Ok(Attempt::Complete),
            },
            Err(failure) => failure,
        };
        let is_cut = matches!(failure.error, ClientError::Link { .. });
        match received.saturating_sub(from) >= PROGRESS_BYTES && is_cut {
            true => Ok(Attempt::Progress),
            false => Err(failure),
        }
    }

    async fn get(&self, url: &Url, headers: &RequestHeaders, from: u64) -> Result<Reply, RequestFailure> {
        let mut call = Call::new(Method::GET, url.clone());
        call.headers = Some(&headers.0);
        call.from_byte = from;
        self.transport.send(&call, None).await
    }

    async fn refuse(&self, reply: Reply, headers: &RequestHeaders) -> RequestFailure {
        if reply.status < 400 {
            let message = format!("the server answered {}, expected 200", reply.status);
            return reply.protocol(message).into();
        }
        self.transport
            .refuse(reply, Vec::new(), !headers.is_empty())
            .await
    }

    async fn persistently<T>(
        &self,
        operation: impl AsyncFn() -> Result<T, RequestFailure>,
    ) -> Result<T, ClientError> {
        let (world, progress) = (self.world, self.progress);
        persistently(&self.transport, self.options, world, progress, operation).await
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

/// The URL for messages, without its query, which may contain a signature.
fn shown(url: &Url) -> String {
    format!("{}{}", url.origin().ascii_serialization(), url.path())
}

/// Checks that a part begins where it should: `Content-Range: bytes 100-199/200`.
fn check_range(reply: &Reply, from: u64, size: Option<u64>) -> Result<u64, ClientError> {
    let text = reply.header(CONTENT_RANGE.as_str()).unwrap_or_default();
    let range = text.strip_prefix("bytes ").and_then(|rest| rest.split_once('/'));
    let begins = range.and_then(|(range, _)| range.split_once('-')?.0.parse().ok());
    let total = range.and_then(|(_, total)| total.parse::<u64>().ok());
    if begins != Some(from) {
        let message = format!("the server sent the part {text:?}, expected one from byte {from}");
        return Err(reply.protocol(message));
    }
    match total.zip(size) {
        Some((total, size)) if total != size => {
            Err(reply.protocol(format!("the file has {size} bytes, the server reports {total}")))
        }
        _ => Ok(from),
    }
}

fn check_length(reply: &Reply, from: u64, download: &Download<'_>) -> Result<(), ClientError> {
    let Some(length) = reply.length() else {
        return Ok(());
    };
    let total = from.saturating_add(length);
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
