//! Fetches archives from registries and web servers to files, for dependencies.

use std::io::{self, Write};
use std::path::Path;
use std::rc::Rc;

use http::{HeaderValue, Method};
use sha2::Digest as _;
use url::Url;

use crate::oci::auth::challenge as auth;
use crate::oci::cache::{BlobCache, Tee};
use crate::oci::client::exchange::{Call, RequestFailure};
use crate::oci::client::image::{Descriptor, MAX_LAYER};
use crate::oci::client::transport::Transport;
use crate::oci::client::{AccessScope, Client, persistently};
use crate::oci::error::ClientError;
use crate::oci::failure::Failure;
use crate::oci::pull::chart_source::{ChartSource, disk, not_a_chart};
use crate::oci::{ClientOptions, Progress, Secret};
use crate::reference::{ArtifactStore, At, Digest, Repository, Tag};
use crate::world::World;

/// Fetches over shared connections. Every method blocks until it is done.
pub struct Fetcher<'a> {
    runtime: tokio::runtime::Runtime,
    transport: Rc<Transport<'a>>,
    options: &'a ClientOptions,
    world: &'a dyn World,
    progress: &'a dyn Progress,
}

/// Credentials of a web server.
#[derive(Debug, Clone)]
pub struct WebUser {
    /// The user name.
    pub username: String,
    /// The password.
    pub password: Secret,
}

impl<'a> Fetcher<'a> {
    /// A fetcher without connections.
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
            transport: Rc::new(Transport::new(options, world, progress, None)),
            options,
            world,
            progress,
        })
    }

    fn client<'c>(&'c self, repository: &'c Repository) -> Result<Client<'c>, ClientError>
    where
        'a: 'c,
    {
        let transport = Rc::clone(&self.transport);
        Client::over(
            transport,
            AccessScope::Read(repository),
            self.options,
            self.world,
            self.progress,
        )
    }

    /// A repository's tags.
    ///
    /// # Errors
    /// A registry that is unreachable, refuses the request, or is inconsistent.
    pub fn tags(&self, repository: &Repository) -> Result<Vec<Tag>, Failure> {
        let client = self.client(repository)?;
        Ok(self.runtime.block_on(client.tags())?)
    }

    /// Fetches a chart's archive from a registry; returns its digest, and the provenance file if requested and present.
    /// The tag is resolved once.
    ///
    /// # Errors
    /// As [`Fetcher::tags`]; not a chart; not the expected archive; an I/O error.
    pub fn chart(
        &self,
        repository: &Repository,
        tag: &Tag,
        expected: Option<&Digest>,
        provenance: bool,
        to: &Path,
    ) -> Result<(Digest, Option<Vec<u8>>), Failure> {
        let place = ArtifactStore::Registry(repository.clone());
        let at = At::Tag(tag.clone());
        let reference = place.with(&at);
        self.runtime.block_on(async {
            let origin = ChartSource::Registry(Box::new(self.client(repository)?));
            let image = origin.image(&at, &reference).await?;
            let layer = image.layer().map_err(|reason| not_a_chart(&reference, reason))?;
            check(&reference, expected, &layer.digest)?;
            let signed = match image.provenance().filter(|_| provenance) {
                Some(blob) => Some(origin.blob(blob, || Ok(Vec::new())).await?),
                None => None,
            };
            origin.blob(layer, || std::fs::File::create(to)).await?;
            Ok((layer.digest.clone(), signed))
        })
    }

    /// Copies an archive from the cache.
    ///
    /// # Errors
    /// An I/O error.
    pub fn cached(&self, digest: &Digest, to: &Path) -> Result<bool, Failure> {
        let Some(cache) = &self.options.cache else {
            return Ok(false);
        };
        let blob = any_size(digest);
        let found = cache.read(&blob, self.world, || std::fs::File::create(to));
        Ok(found.map_err(|source| disk(to, "written", source))?.is_some())
    }

    /// Fetches a small file from a web server, of at most `limit` bytes.
    ///
    /// # Errors
    /// A server that is unreachable or refuses the request; a longer file.
    pub fn text(&self, url: &Url, user: Option<&WebUser>, limit: usize) -> Result<Vec<u8>, Failure> {
        let header = header_of(user);
        let got = self.runtime.block_on(self.persistently(async || {
            let reply = self.get(url, header.as_ref()).await?;
            self.transport.body(reply, limit).await
        }));
        Ok(got?)
    }

    /// Fetches an archive from a web server; returns its digest.
    ///
    /// # Errors
    /// A server that is unreachable or refuses the request; not the expected archive; an I/O error.
    pub fn archive(
        &self,
        url: &Url,
        user: Option<&WebUser>,
        expected: Option<&Digest>,
        to: &Path,
    ) -> Result<Digest, Failure> {
        let header = header_of(user);
        let sink = |source: io::Error| ClientError::Sink {
            what: format!("the archive {url}"),
            source,
        };
        let got = self.runtime.block_on(self.persistently(async || {
            let reply = self.get(url, header.as_ref()).await?;
            let action = reply.action();
            let file = std::fs::File::create(to).map_err(sink)?;
            // Its digest is only known when it is complete, so it is copied to the cache from the file.
            let mut out = Tee::new(file, None);
            let mut hash = sha2::Sha256::new();
            let mut size = 0u64;
            self.transport
                .each_piece(reply, |piece| {
                    size += piece.len() as u64;
                    if size > MAX_LAYER {
                        let message = format!("the archive is larger than {MAX_LAYER} bytes");
                        return Err(ClientError::Protocol {
                            action: action.clone(),
                            message,
                        });
                    }
                    hash.update(piece);
                    out.write_all(piece).map_err(sink)
                })
                .await?;
            out.flush().map_err(sink)?;
            Ok(Digest::from_sha256(&hash.finalize().into()))
        }));
        let digest = got?;
        check(url.as_str(), expected, &digest)?;
        if let Some(cache) = &self.options.cache {
            remember(cache, &digest, to);
        }
        Ok(digest)
    }

    async fn persistently<T>(
        &self,
        operation: impl AsyncFn() -> Result<T, RequestFailure>,
    ) -> Result<T, ClientError> {
        let (world, progress) = (self.world, self.progress);
        persistently(&self.transport, self.options, world, progress, operation).await
    }

    async fn get(
        &self,
        url: &Url,
        header: Option<&HeaderValue>,
    ) -> Result<crate::oci::client::exchange::Reply, RequestFailure> {
        let reply = self
            .transport
            .send(&Call::new(Method::GET, url.clone()), header)
            .await?;
        if reply.status == 200 {
            return Ok(reply);
        }
        Err(self.transport.refuse(reply, Vec::new(), header.is_some()).await)
    }
}

fn header_of(user: Option<&WebUser>) -> Option<HeaderValue> {
    let WebUser { username, password } = user?;
    auth::basic(username, password)
}

fn any_size(digest: &Digest) -> Descriptor {
    Descriptor {
        media_type: String::new(),
        digest: digest.clone(),
        size: MAX_LAYER,
    }
}

/// Copies the file to the cache; a failure only means another download.
fn remember(cache: &BlobCache, digest: &Digest, file: &Path) {
    let Some(mut draft) = cache.draft(digest) else {
        return;
    };
    let copied = std::fs::File::open(file).and_then(|mut file| io::copy(&mut file, &mut draft));
    if copied.is_ok() {
        let _ = draft.commit();
    }
}

fn check(reference: &str, expected: Option<&Digest>, found: &Digest) -> Result<(), Failure> {
    match expected {
        Some(expected) if expected != found => Err(Failure::Unexpected {
            reference: reference.to_owned(),
            expected: expected.clone(),
            found: found.clone(),
        }),
        _ => Ok(()),
    }
}
