//! The part of a registry's API (OCI distribution specification 1.1) that pushes use, with retries. Every method is one
//! complete operation that can be repeated, as [`crate::oci::client::retry`] decides.

pub(in crate::oci) mod authorize;
pub(in crate::oci) mod body;
pub(in crate::oci) mod cancellation;
pub(in crate::oci) mod connection_error;
pub(in crate::oci) mod connector;
pub(in crate::oci) mod dial;
#[cfg(feature = "cli")]
pub(crate) mod endpoint;
pub(in crate::oci) mod exchange;
pub(in crate::oci) mod http;
pub(in crate::oci) mod image;
pub(in crate::oci) mod link_header;
pub(in crate::oci) mod manifest;
mod minimum_rate;
pub(in crate::oci) mod no_proxy;
pub(in crate::oci) mod proxy;
pub(in crate::oci) mod read;
pub(in crate::oci) mod redaction;
pub(in crate::oci) mod referrers;
pub mod retry;
pub(in crate::oci) mod server_verifier;
pub(in crate::oci) mod tls;
pub(in crate::oci) mod transport;
pub(in crate::oci) mod tunnel;

use std::cell::RefCell;
use std::rc::Rc;

use ::http::Method;
use url::Url;

use crate::oci::auth::challenge::Session;
use crate::oci::client::exchange::{Call, Payload, Reply, RequestFailure, same_origin};
use crate::oci::client::retry::{Cause, Decision};
use crate::oci::client::transport::Transport;
use crate::oci::error::ClientError;
use crate::oci::{ClientOptions, Progress};
use crate::package::artifact::{Artifact, ArtifactBlob};
use crate::reference::{At, Digest, Host, Repository, Tag};
use crate::world::World;

/// The maximum size of a manifest, in bytes: what registries must at least accept.
pub(in crate::oci) const MAX_MANIFEST: usize = 4 << 20;

/// The resource of a client, and the scope of its tokens.
#[derive(Debug, Clone, Copy)]
pub(in crate::oci) enum AccessScope<'a> {
    /// A registry as a whole, to check credentials.
    Host(&'a Host),
    /// Reading a repository.
    Read(&'a Repository),
    /// Deleting in a repository.
    Delete(&'a Repository),
    /// Writing to a repository, possibly mounting blobs of another one in the same registry.
    Write(&'a Repository, Option<&'a Repository>),
}

/// A client for one repository of one registry.
pub(in crate::oci) struct Client<'a> {
    pub(in crate::oci) subject: AccessScope<'a>,
    pub(in crate::oci) base: Url,
    pub(in crate::oci) options: &'a ClientOptions,
    pub(in crate::oci) world: &'a dyn World,
    pub(in crate::oci) progress: &'a dyn Progress,
    pub(in crate::oci) transport: Rc<Transport<'a>>,
    pub(in crate::oci) session: RefCell<Session>,
    /// One request at a time gets a token; the others wait and share it.
    pub(in crate::oci) asking: tokio::sync::Mutex<()>,
}

impl AccessScope<'_> {
    pub(in crate::oci) fn host(&self) -> &str {
        match self {
            Self::Host(host) => host.as_str(),
            Self::Read(repository) | Self::Delete(repository) | Self::Write(repository, _) => {
                repository.host()
            }
        }
    }

    pub(in crate::oci) fn path(&self) -> &str {
        match self {
            Self::Host(_) => "",
            Self::Read(repository) | Self::Delete(repository) | Self::Write(repository, _) => {
                repository.path()
            }
        }
    }

    /// The scopes for the token server.
    pub(in crate::oci) fn scopes(&self) -> Vec<String> {
        match self {
            Self::Host(_) => Vec::new(),
            Self::Read(repository) => vec![format!("repository:{}:pull", repository.path())],
            Self::Delete(repository) => vec![format!("repository:{}:pull,delete", repository.path())],
            Self::Write(repository, from) => {
                let own = format!("repository:{}:pull,push", repository.path());
                let other = from.map(|from| format!("repository:{}:pull", from.path()));
                std::iter::once(own).chain(other).collect()
            }
        }
    }
}

impl<'a> Client<'a> {
    pub(in crate::oci) fn new(
        subject: AccessScope<'a>,
        options: &'a ClientOptions,
        world: &'a dyn World,
        progress: &'a dyn Progress,
    ) -> Result<Self, ClientError> {
        let transport = Rc::new(Transport::new(options, world, progress, None));
        Self::over(transport, subject, options, world, progress)
    }

    /// A client that shares the connections of `transport`.
    pub(in crate::oci) fn over(
        transport: Rc<Transport<'a>>,
        subject: AccessScope<'a>,
        options: &'a ClientOptions,
        world: &'a dyn World,
        progress: &'a dyn Progress,
    ) -> Result<Self, ClientError> {
        let host = match subject.host() {
            "docker.io" | "index.docker.io" => "registry-1.docker.io",
            host => host,
        };
        let scheme = if options.plain_http { "http" } else { "https" };
        let base = Url::parse(&format!("{scheme}://{host}/v2/"))
            .map_err(|error| ClientError::Setup(format!("{host:?} makes no URL: {error}")))?;
        Ok(Self {
            subject,
            base,
            options,
            world,
            progress,
            transport,
            session: RefCell::default(),
            asking: tokio::sync::Mutex::new(()),
        })
    }

    /// Whether requests are authenticated with the user's credentials.
    pub(in crate::oci) fn is_authenticated(&self) -> bool {
        let session = self.session.borrow();
        session.held.as_ref().is_some_and(|held| held.authenticated)
    }

    /// Whether the repository has the blob.
    pub(in crate::oci) async fn has_blob(&self, blob: &ArtifactBlob) -> Result<bool, ClientError> {
        let url = self.url(&format!("blobs/{}", blob.digest))?;
        self.persistently(async || {
            let reply = self.exchange(&Call::new(Method::HEAD, url.clone())).await?;
            match reply.status {
                // Some gateways don't support HEAD: sending the blob again costs less than reading it.
                404 | 405 | 501 => return Ok(false),
                200 => {}
                _ => return Err(self.refuse(reply).await),
            }
            self.check_digest(&reply, &blob.digest)?;
            match reply.length() {
                Some(length) if length != 0 && length != blob.size => {
                    let message = format!("the registry reports {length} bytes, the blob has {}", blob.size);
                    Err(reply.protocol(message).into())
                }
                _ => Ok(true),
            }
        })
        .await
    }

    /// Starts an upload session, and returns its location.
    async fn begin(&self, start: &Url) -> Result<Url, ClientError> {
        self.persistently(async || {
            let reply = self.exchange(&Call::new(Method::POST, start.clone())).await?;
            if reply.status != 202 {
                return Err(self.unexpected(reply, "202").await);
            }
            Ok(reply.location()?)
        })
        .await
    }

    /// Uploads a blob: POST, then one PUT. Each attempt at the PUT begins with a new POST, because the state of a
    /// failed session is unknown; the POST has attempts of its own.
    pub(in crate::oci) async fn upload(&self, blob: &ArtifactBlob) -> Result<(), ClientError> {
        let start = self.url("blobs/uploads/")?;
        self.persistently(async || {
            let mut call = Call::new(Method::PUT, self.begin(&start).await?);
            call.url
                .query_pairs_mut()
                .append_pair("digest", blob.digest.as_str());
            call.content_type = Some("application/octet-stream");
            call.payload = Payload::Blob(blob);
            let reply = self.exchange(&call).await?;
            match reply.status {
                201 => Ok(self.check_digest(&reply, &blob.digest)?),
                404 | 416 => {
                    let mut fault = self.refuse(reply).await;
                    fault.cause = Some(Cause::SessionLost);
                    Err(fault)
                }
                _ => Err(self.unexpected(reply, "201").await),
            }
        })
        .await
    }

    /// Mounts a blob from another repository of this registry; `false` if the registry did not mount it.
    pub(in crate::oci) async fn mount(
        &self,
        blob: &ArtifactBlob,
        from: &Repository,
    ) -> Result<bool, ClientError> {
        let mut url = self.url("blobs/uploads/")?;
        url.query_pairs_mut()
            .append_pair("mount", blob.digest.as_str())
            .append_pair("from", from.path());
        self.persistently(async || {
            let reply = self.exchange(&Call::new(Method::POST, url.clone())).await?;
            match reply.status {
                201 => Ok(self.check_digest(&reply, &blob.digest).map(|()| true)?),
                // An upload session was started instead, or the other repository isn't readable: send the blob.
                202 | 400..=407 | 409..=428 => Ok(false),
                _ => Err(self.unexpected(reply, "201 or 202").await),
            }
        })
        .await
    }

    /// Puts the manifest under the tag, byte for byte.
    pub(in crate::oci) async fn put_manifest(
        &self,
        tag: &Tag,
        artifact: &Artifact,
    ) -> Result<(), ClientError> {
        let at = At::Tag(tag.clone());
        self.put(&at, Artifact::MANIFEST_TYPE, &artifact.manifest, &artifact.digest)
            .await
            .map(|_| ())
    }

    /// A URL below the repository's.
    pub(in crate::oci) fn url(&self, rest: &str) -> Result<Url, ClientError> {
        let path = self.subject.path();
        self.base
            .join(&format!("{path}/{rest}"))
            .map_err(|error| ClientError::Setup(format!("{path} makes no URL: {error}")))
    }

    /// Runs an operation until it succeeds, can't, or the attempts are used up.
    pub(in crate::oci) async fn persistently<T>(
        &self,
        operation: impl AsyncFn() -> Result<T, RequestFailure>,
    ) -> Result<T, ClientError> {
        let (world, progress) = (self.world, self.progress);
        persistently(&self.transport, self.options, world, progress, operation).await
    }

    /// Sends a request, and answers one challenge.
    pub(in crate::oci) async fn exchange(&self, call: &Call<'_>) -> Result<Reply, RequestFailure> {
        // A Location may be at another origin, to which no credentials are sent.
        let at_home = same_origin(&call.url, &self.base);
        if at_home && self.session.borrow().held.is_none() {
            self.foresee().await?;
        }
        let used = self.session.borrow().current().filter(|_| at_home);
        let reply = self
            .transport
            .send(call, used.as_ref().map(|held| &held.header))
            .await?;
        if reply.status != 401 || !at_home || !same_origin(&reply.url, &self.base) {
            return Ok(reply);
        }
        match self.answer(&reply, used).await? {
            Some(held) => self.transport.send(call, Some(&held.header)).await,
            None => Ok(reply),
        }
    }

    pub(in crate::oci) async fn refuse(&self, reply: Reply) -> RequestFailure {
        if same_origin(&reply.url, &self.base) {
            let authenticated = self.is_authenticated();
            return self.transport.refuse(reply, self.searched(), authenticated).await;
        }
        // The response is of a redirect's target, to which no credentials were sent.
        let mut fault = self.transport.refuse(reply, Vec::new(), false).await;
        fault.error = fault.error.redirected();
        fault
    }

    /// Where credentials were found, or searched for.
    pub(in crate::oci) fn searched(&self) -> Vec<String> {
        let session = self.session.borrow();
        let found = session.found.as_ref();
        found.map(|found| found.searched.clone()).unwrap_or_default()
    }

    /// Checks that the digest that the registry reports is ours.
    pub(in crate::oci) fn check_digest(&self, reply: &Reply, ours: &Digest) -> Result<(), ClientError> {
        match reply.header("docker-content-digest") {
            Some(theirs) if theirs != ours.as_str() && !theirs.starts_with("sha512:") => {
                let theirs = self.transport.sent().hide(theirs);
                let shown: String = theirs.chars().take(80).collect();
                Err(reply.protocol(format!("the registry reports the digest {shown}, ours is {ours}")))
            }
            _ => Ok(()),
        }
    }

    /// An unexpected status: a protocol error if it is neither success nor failure, else a refusal.
    pub(in crate::oci) async fn unexpected(&self, reply: Reply, wanted: &str) -> RequestFailure {
        if reply.status < 400 {
            let message = format!("the registry answered {}, expected {wanted}", reply.status);
            return reply.protocol(message).into();
        }
        self.refuse(reply).await
    }
}

/// Runs an operation until it succeeds, can't, or the attempts are used up.
pub(in crate::oci) async fn persistently<T>(
    transport: &Transport<'_>,
    options: &ClientOptions,
    world: &dyn World,
    progress: &dyn Progress,
    operation: impl AsyncFn() -> Result<T, RequestFailure>,
) -> Result<T, ClientError> {
    let mut attempt = 1;
    let mut last = None;
    let begun = tokio::time::Instant::now();
    loop {
        let ended = match transport.deadline() {
            None => operation().await,
            Some(end) => match tokio::time::timeout_at(end, operation()).await {
                Ok(ended) => ended,
                Err(_) => return Err(transport.too_late(last)),
            },
        };
        let fault = match ended {
            Ok(value) => return Ok(value),
            Err(fault) => fault.hiding(&|text| transport.sent().hide(text)),
        };
        let decision = match fault.cause {
            Some(cause) => retry::decide(&options.retry, attempt, cause, fault.retry_after, world.entropy()),
            None => Decision::GiveUp,
        };
        match decision {
            Decision::GiveUp => return Err(fault.error.after(attempt)),
            Decision::Retry(wait) => {
                let (of, error) = (options.retry.attempts, &fault.error);
                progress.trace(&format!("attempt {attempt} of {of}: {error}; again in {wait:?}"));
                let next_attempt = attempt + 1;
                if wait > options.retry.cap {
                    // The server requested a long delay: each one is announced.
                    let seconds = wait.as_secs();
                    transport.announce(&format!(
                        "{error}; attempt {next_attempt} of {of} follows in {seconds} s"
                    ));
                } else if begun.elapsed() + wait >= options.notice_after {
                    transport.notice(&format!("{error}; attempt {next_attempt} of {of} follows"));
                }
                let next = tokio::time::Instant::now() + wait;
                if transport.deadline().is_some_and(|end| next >= end) {
                    return Err(transport.too_late(Some(fault.error)));
                }
                tokio::time::sleep_until(next).await;
                last = Some(fault.error);
            }
        }
        attempt += 1;
    }
}
