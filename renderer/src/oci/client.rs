//! A registry's API (OCI distribution specification 1.1) as far as a push needs it, with
//! authentication and retries. Every method is one whole operation: it can be repeated, and is,
//! as [`super::retry`] decides.

use std::cell::RefCell;
use std::time::Duration;

use bytes::Bytes;
use reqwest::{Method, Url};
use sha2::Digest as _;

use super::auth::{self, Challenge, Held, Session, TokenAnswer};
use super::credentials::{self, Credentials, Found};
use super::error::ClientError;
use super::retry::{self, Cause, Decision};
use super::transport::{Call, Fault, Payload, Reply, Transport, origin};
use super::{ClientOptions, Progress};
use crate::package::artifact::{Artifact, Blob};
use crate::reference::{Digest, Repository, Tag};
use crate::world::World;

/// The largest manifest that is read, in bytes: what registries must at least accept.
pub(super) const MAX_MANIFEST: usize = 4 << 20;
/// The largest answer of a token server that is read, in bytes.
pub(super) const MAX_TOKEN: usize = 1 << 20;

const ANY_MANIFEST: &str = "application/vnd.oci.image.manifest.v1+json, application/vnd.oci.image.index.v1+json, application/vnd.docker.distribution.manifest.v2+json, application/vnd.docker.distribution.manifest.list.v2+json";

/// A client for one repository of one registry.
pub(super) struct Client<'a> {
    repository: &'a Repository,
    base: Url,
    options: &'a ClientOptions,
    world: &'a dyn World,
    progress: &'a dyn Progress,
    transport: Transport<'a>,
    session: RefCell<Session>,
    /// One at a time asks for a token; the others wait and share it.
    asking: tokio::sync::Mutex<()>,
}

impl<'a> Client<'a> {
    pub(super) fn new(
        repository: &'a Repository,
        options: &'a ClientOptions,
        world: &'a dyn World,
        progress: &'a dyn Progress,
    ) -> Result<Self, ClientError> {
        let host = match repository.host() {
            "docker.io" | "index.docker.io" => "registry-1.docker.io",
            host => host,
        };
        let scheme = if options.plain_http { "http" } else { "https" };
        let base = Url::parse(&format!("{scheme}://{host}/v2/"))
            .map_err(|error| ClientError::Setup(format!("{host:?} makes no URL: {error}")))?;
        Ok(Self {
            repository,
            base,
            options,
            world,
            progress,
            transport: Transport::new(options, world, progress),
            session: RefCell::default(),
            asking: tokio::sync::Mutex::new(()),
        })
    }

    /// Whether requests carry the user's credentials by now.
    pub(super) fn is_authenticated(&self) -> bool {
        let session = self.session.borrow();
        session.held.as_ref().is_some_and(|held| held.authenticated)
    }

    /// The digest at a tag, or `None` when there is no such tag.
    pub(super) async fn head_manifest(
        &self,
        tag: &Tag,
        ours: (&Digest, u64),
    ) -> Result<Option<Digest>, ClientError> {
        let url = self.url(&format!("manifests/{tag}"))?;
        self.persistently(async || {
            let mut call = Call::new(Method::HEAD, url.clone());
            call.accept = Some(ANY_MANIFEST);
            let reply = self.exchange(&call).await?;
            match reply.status {
                404 => return Ok(None),
                200 => {}
                _ => return Err(self.refuse(reply).await),
            }
            match reply.header("docker-content-digest").map(str::parse::<Digest>) {
                Some(Ok(digest)) => {
                    // 0: proxies strip the length of a body that they don't pass.
                    let length = reply.length().filter(|length| ![0, ours.1].contains(length));
                    if digest == *ours.0
                        && let Some(length) = length
                    {
                        let message = format!(
                            "the registry reports {digest} with {length} bytes, which has {}",
                            ours.1
                        );
                        return Err(reply.protocol(message).into());
                    }
                    Ok(Some(digest))
                }
                // Another algorithm, or none: hash it ourselves.
                None => self.hash_manifest(&url).await.map(Some),
                Some(Err(_)) if is_sha512(&reply) => self.hash_manifest(&url).await.map(Some),
                Some(Err(error)) => Err(reply.protocol(format!("Docker-Content-Digest: {error}")).into()),
            }
        })
        .await
    }

    async fn hash_manifest(&self, url: &Url) -> Result<Digest, Fault> {
        let mut call = Call::new(Method::GET, url.clone());
        call.accept = Some(ANY_MANIFEST);
        let reply = self.exchange(&call).await?;
        if reply.status != 200 {
            return Err(self.refuse(reply).await);
        }
        if reply.length() == Some(0) {
            return Err(reply.protocol("the manifest is empty".to_owned()).into());
        }
        let bytes = self.transport.body(reply, MAX_MANIFEST).await?;
        Ok(Digest::from_sha256(&sha2::Sha256::digest(&bytes).into()))
    }

    /// Whether the repository has the blob.
    pub(super) async fn has_blob(&self, blob: &Blob) -> Result<bool, ClientError> {
        let url = self.url(&format!("blobs/{}", blob.digest))?;
        self.persistently(async || {
            let reply = self.exchange(&Call::new(Method::HEAD, url.clone())).await?;
            match reply.status {
                404 => return Ok(false),
                200 => {}
                _ => return Err(self.refuse(reply).await),
            }
            check_digest(&reply, &blob.digest)?;
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

    /// Uploads a blob: POST, then one PUT. Each attempt begins with a fresh POST, because what
    /// became of a failed session can't be known.
    pub(super) async fn upload(&self, blob: &Blob) -> Result<(), ClientError> {
        let start = self.url("blobs/uploads/")?;
        self.persistently(async || {
            let reply = self.exchange(&Call::new(Method::POST, start.clone())).await?;
            if reply.status != 202 {
                return Err(self.unexpected(reply, "202").await);
            }
            let mut call = Call::new(Method::PUT, reply.location()?);
            call.url
                .query_pairs_mut()
                .append_pair("digest", blob.digest.as_str());
            call.content_type = Some("application/octet-stream");
            call.payload = Payload::Blob(blob);
            let reply = self.exchange(&call).await?;
            match reply.status {
                201 => Ok(check_digest(&reply, &blob.digest)?),
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

    /// Puts the manifest at the tag, byte for byte.
    pub(super) async fn put_manifest(&self, tag: &Tag, artifact: &Artifact) -> Result<(), ClientError> {
        let url = self.url(&format!("manifests/{tag}"))?;
        let bytes = Bytes::copy_from_slice(&artifact.manifest);
        self.persistently(async || {
            let mut call = Call::new(Method::PUT, url.clone());
            call.content_type = Some(Artifact::MANIFEST_TYPE);
            call.payload = Payload::Bytes(bytes.clone());
            let reply = self.exchange(&call).await?;
            if reply.status != 201 {
                return Err(self.unexpected(reply, "201").await);
            }
            Ok(check_digest(&reply, &artifact.digest)?)
        })
        .await
    }

    fn url(&self, rest: &str) -> Result<Url, ClientError> {
        self.base
            .join(&format!("{}/{rest}", self.repository.path()))
            .map_err(|error| ClientError::Setup(format!("{} makes no URL: {error}", self.repository)))
    }

    /// Runs an operation until it succeeds, can't, or the attempts are used up.
    async fn persistently<T>(&self, operation: impl AsyncFn() -> Result<T, Fault>) -> Result<T, ClientError> {
        let mut attempt = 1;
        loop {
            let fault = match operation().await {
                Ok(value) => return Ok(value),
                Err(fault) => fault,
            };
            let decision = match fault.cause {
                Some(cause) => retry::decide(
                    &self.options.retry,
                    attempt,
                    cause,
                    fault.retry_after,
                    self.world.entropy(),
                ),
                None => Decision::GiveUp,
            };
            match decision {
                Decision::GiveUp => return Err(fault.error.after(attempt)),
                Decision::Retry(wait) => self.pause(&fault.error, attempt, wait).await,
            }
            attempt += 1;
        }
    }

    async fn pause(&self, error: &ClientError, attempt: u32, wait: Duration) {
        let of = self.options.retry.attempts;
        self.progress
            .trace(&format!("attempt {attempt} of {of}: {error}; again in {wait:?}"));
        tokio::time::sleep(wait).await;
    }

    /// Sends, and answers one challenge.
    async fn exchange(&self, call: &Call<'_>) -> Result<Reply, Fault> {
        // A Location may lead elsewhere: to another origin nothing of ours goes.
        let at_home = call.url.origin() == self.base.origin();
        let used = self.session.borrow().current().filter(|_| at_home);
        let reply = self
            .transport
            .send(call, used.as_ref().map(|held| &held.header))
            .await?;
        if reply.status != 401 || !at_home || reply.url.origin() != self.base.origin() {
            return Ok(reply);
        }
        match self.answer(&reply, used).await? {
            Some(held) => self.transport.send(call, Some(&held.header)).await,
            None => Ok(reply),
        }
    }

    /// The header that answers a 401, or `None` when there is none to give.
    async fn answer(&self, reply: &Reply, used: Option<Held>) -> Result<Option<Held>, Fault> {
        let _turn = self.asking.lock().await;
        let now = self.session.borrow().current();
        if let Some(held) = now
            && used.as_ref().is_none_or(|used| used.header != held.header)
        {
            // Another request has got one meanwhile.
            return Ok(Some(held));
        }
        let found = self.credentials()?;
        let headers = reply.headers.get_all("www-authenticate");
        let challenges = auth::parse_challenges(headers.iter().filter_map(|value| value.to_str().ok()));
        let Some(challenge) = auth::choose(challenges, found.credentials.as_ref()) else {
            return Ok(None);
        };
        let held = match (challenge.scheme.as_str(), &found.credentials) {
            ("bearer", Some(Credentials::RegistryToken(token))) => Held::bearer(token, true, None),
            ("bearer", credentials) => Some(self.fetch_token(reply, &challenge, credentials.as_ref()).await?),
            (_, Some(Credentials::Basic { username, password })) => Held::basic(username, password),
            _ => None,
        };
        if held
            .as_ref()
            .is_some_and(|held| used.is_some_and(|used| used.header == held.header))
        {
            // The very header that was refused.
            return Ok(None);
        }
        self.session.borrow_mut().held.clone_from(&held);
        Ok(held)
    }

    /// The user's credentials, searched for once and only when a registry asks.
    fn credentials(&self) -> Result<Found, ClientError> {
        if let Some(found) = &self.session.borrow().found {
            return Ok(found.clone());
        }
        let found = credentials::find(
            self.repository.host(),
            self.repository.path(),
            self.options.credentials.as_ref(),
            self.options.registry_config.as_deref(),
            self.world,
        )?;
        match (&found.credentials, found.looked.first()) {
            (Some(_), Some(place)) => self.progress.trace(&format!("credentials: from {place}")),
            _ => self.progress.trace("credentials: none found"),
        }
        self.session.borrow_mut().found = Some(found.clone());
        Ok(found)
    }

    async fn fetch_token(
        &self,
        reply: &Reply,
        challenge: &Challenge,
        credentials: Option<&Credentials>,
    ) -> Result<Held, Fault> {
        let realm = challenge.get("realm").and_then(|realm| Url::parse(realm).ok());
        let Some(mut realm) = realm.filter(|url| matches!(url.scheme(), "http" | "https")) else {
            return Err(reply
                .protocol("the challenge names no token server (realm)")
                .into());
        };
        if credentials.is_some() && self.base.scheme() == "https" && realm.scheme() == "http" {
            let message = format!(
                "credentials are not sent to the token server {}: it is plain HTTP, the registry is not",
                origin(&realm)
            );
            return Err(reply.protocol(message).into());
        }
        let scope = format!("repository:{}:pull,push", self.repository.path());
        let service = challenge.get("service").unwrap_or_default();
        let header;
        let call = if let Some(Credentials::IdentityToken(token)) = credentials {
            header = None;
            refresh_call(realm, service, &scope, token)
        } else {
            header = match credentials {
                Some(Credentials::Basic { username, password }) => auth::basic(username, password),
                _ => None,
            };
            if !service.is_empty() {
                realm.query_pairs_mut().append_pair("service", service);
            }
            realm.query_pairs_mut().append_pair("scope", &scope);
            Call::new(Method::GET, realm)
        };
        let reply = self.transport.send(&call, header.as_ref()).await?;
        if reply.status != 200 {
            let looked = self.looked();
            return Err(self.transport.refuse(reply, looked, credentials.is_some()).await);
        }
        let action = reply.action.clone();
        let body = self.transport.body(reply, MAX_TOKEN).await?;
        // serde's words could quote the token.
        serde_json::from_slice::<TokenAnswer>(&body)
            .ok()
            .and_then(TokenAnswer::into_token)
            .and_then(|(token, life)| Held::bearer(&token, credentials.is_some(), Some(life)))
            .ok_or_else(|| {
                let message = "the token server's answer holds no token".to_owned();
                ClientError::Protocol { action, message }.into()
            })
    }

    async fn refuse(&self, reply: Reply) -> Fault {
        let authenticated = self.is_authenticated();
        self.transport.refuse(reply, self.looked(), authenticated).await
    }

    /// Where credentials came from, or were looked for.
    fn looked(&self) -> Vec<String> {
        let session = self.session.borrow();
        let found = session.found.as_ref();
        found.map(|found| found.looked.clone()).unwrap_or_default()
    }

    /// A status that is neither success nor failure is a lie; the others are failures.
    async fn unexpected(&self, reply: Reply, wanted: &str) -> Fault {
        if reply.status < 400 {
            let message = format!(
                "the registry answered {} where only {wanted} is right",
                reply.status
            );
            return reply.protocol(message).into();
        }
        self.refuse(reply).await
    }
}

/// A token for an identity token (OAuth 2, `refresh_token`).
fn refresh_call(realm: Url, service: &str, scope: &str, token: &super::credentials::Secret) -> Call<'static> {
    // A URL's query has the encoding of a form.
    let mut form = realm.clone();
    form.query_pairs_mut()
        .clear()
        .append_pair("grant_type", "refresh_token")
        .append_pair("service", service)
        .append_pair("client_id", "solar-render")
        .append_pair("scope", scope)
        .append_pair("refresh_token", token.expose());
    let mut call = Call::new(Method::POST, realm);
    call.content_type = Some("application/x-www-form-urlencoded");
    call.payload = Payload::Bytes(Bytes::from(form.query().unwrap_or_default().to_owned()));
    call
}

fn is_sha512(reply: &Reply) -> bool {
    reply
        .header("docker-content-digest")
        .is_some_and(|text| text.starts_with("sha512:"))
}

/// A digest that the registry reports must be ours.
fn check_digest(reply: &Reply, ours: &Digest) -> Result<(), ClientError> {
    match reply.header("docker-content-digest") {
        Some(theirs) if theirs != ours.as_str() && !theirs.starts_with("sha512:") => {
            let shown: String = theirs.chars().take(80).collect();
            Err(reply.protocol(format!("the registry reports the digest {shown}, ours is {ours}")))
        }
        _ => Ok(()),
    }
}
