//! Reads that a push does not need: manifests, blobs, tags, and whether the registry accepts the credentials. Every
//! response is checked against the request.

use std::io::{self, Write};

use http::Method;
use sha2::Digest as _;
use url::Url;

use crate::oci::cache::Tee;
use crate::oci::client::exchange::{Call, Reply, RequestFailure, same_origin};
use crate::oci::client::image::Descriptor;
use crate::oci::client::link_header;
use crate::oci::client::manifest::ANY_MANIFEST;
use crate::oci::client::{Client, MAX_MANIFEST};
use crate::oci::error::ClientError;
use crate::oci::failure::Failure;
use crate::reference::{At, Digest, Tag};

/// The maximum size of a response to `GET /v2/`, in bytes.
const MAX_PING: usize = 64 << 10;
/// The page size of lists of tags.
const PAGE: usize = 1000;
/// The maximum size of a page of tags, in bytes.
const MAX_PAGE: usize = 8 << 20;
/// The maximum number of pages of tags.
const MAX_PAGES: usize = 1000;

#[derive(serde::Deserialize)]
struct TagPage {
    tags: Option<Vec<String>>,
}

impl Client<'_> {
    /// Checks that the registry accepts the credentials (`GET /v2/`); returns whether it requested any.
    pub(in crate::oci) async fn ping(&self) -> Result<bool, ClientError> {
        self.persistently(async || {
            let reply = self.exchange(&Call::new(Method::GET, self.base.clone())).await?;
            if reply.status != 200 {
                return Err(self.unexpected(reply, "200").await);
            }
            let is_page = reply
                .header("content-type")
                .is_some_and(|kind| kind.contains("html"));
            let action = reply.action();
            // Read to the end, so that the connection is closed cleanly.
            let body = self.transport.body(reply, MAX_PING).await?;
            if is_page || body.trim_ascii_start().starts_with(b"<") {
                let message =
                    "this is a web page, not a registry's API: the credentials were not checked".to_owned();
                return Err(ClientError::Protocol { action, message }.into());
            }
            Ok(self.is_authenticated())
        })
        .await
    }

    /// A manifest's bytes, checked against the requested digest, or the one that the registry reports.
    pub(in crate::oci) async fn manifest(&self, at: &At) -> Result<Vec<u8>, ClientError> {
        let url = self.url(&format!("manifests/{at}"))?;
        self.persistently(async || {
            let mut call = Call::new(Method::GET, url.clone());
            call.accept = Some(ANY_MANIFEST);
            let reply = self.exchange(&call).await?;
            if reply.status != 200 {
                return Err(self.unexpected(reply, "200").await);
            }
            let named = reply.header("docker-content-digest").map(str::to_owned);
            let lie = |message: String| ClientError::Protocol {
                action: call.action(),
                message,
            };
            let bytes = self.transport.body(reply, MAX_MANIFEST).await?;
            let digest = Digest::from_sha256(&sha2::Sha256::digest(&bytes).into());
            if let At::Digest(wanted) = at
                && *wanted != digest
            {
                return Err(lie(format!("the registry sent the manifest {digest}")).into());
            }
            if let Some(named) = named
                && named.starts_with("sha256:")
                && named != digest.as_str()
            {
                let named = self.transport.sent().hide(&named);
                let named: String = named.chars().take(80).collect();
                let message = format!("the registry calls it {named:?} and sent {digest}");
                return Err(lie(message).into());
            }
            Ok(bytes)
        })
        .await
    }

    /// Streams a blob to the writer that `open` returns for each attempt; returns the writer that got all of it, with
    /// size and digest checked.
    pub(in crate::oci) async fn blob<W: Write>(
        &self,
        blob: &Descriptor,
        open: impl Fn() -> io::Result<W>,
    ) -> Result<W, ClientError> {
        let url = self.url(&format!("blobs/{}", blob.digest))?;
        self.persistently(async || {
            let reply = self.start_blob(&url, blob).await?;
            let mut out = open().map_err(|source| sink(blob, source))?;
            self.receive(reply, blob, &mut out).await?;
            Ok(out)
        })
        .await
    }

    async fn start_blob(&self, url: &Url, blob: &Descriptor) -> Result<Reply, RequestFailure> {
        let reply = self.exchange(&Call::new(Method::GET, url.clone())).await?;
        if reply.status != 200 {
            return Err(self.unexpected(reply, "200").await);
        }
        if let Some(length) = reply.length().filter(|length| *length != blob.size) {
            let message = format!("the registry sends {length} bytes, the blob has {}", blob.size);
            return Err(reply.protocol(message).into());
        }
        Ok(reply)
    }

    /// As [`Client::blob`], but from the cache if it has the blob.
    pub(in crate::oci) async fn cached_blob<W: Write>(
        &self,
        blob: &Descriptor,
        open: impl Fn() -> io::Result<W>,
    ) -> Result<W, Failure> {
        let Some(cache) = &self.options.cache else {
            return Ok(self.blob(blob, open).await?);
        };
        let found = cache.read(blob, self.world, &open);
        if let Some(out) = found.map_err(|source| sink(blob, source))? {
            self.progress
                .trace(&format!("{} comes from the cache", blob.digest));
            return Ok(out);
        }
        let tee = self
            .blob(blob, || Ok(Tee::new(open()?, cache.draft(&blob.digest))))
            .await?;
        Ok(tee.keep())
    }

    /// Streams the body of a response to a writer, with size and digest checked.
    async fn receive(
        &self,
        reply: Reply,
        blob: &Descriptor,
        out: &mut dyn Write,
    ) -> Result<(), RequestFailure> {
        let action = reply.action();
        let lie = |message: String| ClientError::Protocol {
            action: action.clone(),
            message,
        };
        let mut hash = sha2::Sha256::new();
        let mut received = 0;
        self.transport
            .each_piece(reply, |piece| {
                received += piece.len() as u64;
                if received > blob.size {
                    return Err(lie(format!(
                        "the registry sends more than the blob's {} bytes",
                        blob.size
                    )));
                }
                hash.update(piece);
                out.write_all(piece).map_err(|source| sink(blob, source))?;
                self.progress.blob_progress(&blob.digest, received);
                Ok(())
            })
            .await?;
        let digest = Digest::from_sha256(&hash.finalize().into());
        if received != blob.size {
            let message = format!("the registry sent {received} bytes, the blob has {}", blob.size);
            return Err(lie(message).into());
        }
        if digest != blob.digest {
            let message = format!("the registry sent other bytes: their digest is {digest}");
            return Err(lie(message).into());
        }
        out.flush().map_err(|source| sink(blob, source))?;
        Ok(())
    }

    /// All tags, in the registry's order.
    pub(in crate::oci) async fn tags(&self) -> Result<Vec<Tag>, ClientError> {
        let mut url = self.url("tags/list")?;
        url.query_pairs_mut().append_pair("n", &PAGE.to_string());
        let mut all = Vec::new();
        for _ in 0..MAX_PAGES {
            let (tags, next) = self.persistently(async || self.tag_page(&url).await).await?;
            all.extend(tags);
            match next {
                Some(next) => url = next,
                None => return Ok(all),
            }
        }
        Err(ClientError::Protocol {
            action: Call::new(Method::GET, url).action(),
            message: format!("the list of tags has more than {MAX_PAGES} pages"),
        })
    }

    async fn tag_page(&self, url: &Url) -> Result<(Vec<Tag>, Option<Url>), RequestFailure> {
        let reply = self.exchange(&Call::new(Method::GET, url.clone())).await?;
        if reply.status != 200 {
            return Err(self.unexpected(reply, "200").await);
        }
        let next = self.next_page(&reply)?;
        let action = reply.action();
        let body = self.transport.body(reply, MAX_PAGE).await?;
        let lie = |message: String| ClientError::Protocol {
            action: action.clone(),
            message,
        };
        let page: TagPage = serde_json::from_slice(&body)
            .map_err(|error| lie(format!("the answer is not a list of tags: {error}")))?;
        let tags = page.tags.unwrap_or_default();
        // Pages without tags that have a next one would never end.
        let next = next.filter(|_| !tags.is_empty());
        let tags = tags.iter().filter_map(|tag| self.usable(tag)).collect();
        Ok((tags, next))
    }

    /// A tag that the specification does not allow can't be requested.
    fn usable(&self, tag: &str) -> Option<Tag> {
        match tag.parse() {
            Ok(tag) => Some(tag),
            Err(error) => {
                self.progress
                    .trace(&format!("in the list of tags: {error}: passed over"));
                None
            }
        }
    }

    /// The URL of the next page: `Link: </v2/a/tags/list?n=2&last=b>; rel="next"`.
    pub(in crate::oci) fn next_page(&self, reply: &Reply) -> Result<Option<Url>, ClientError> {
        let headers = reply.headers.get_all("link").iter();
        let Some(target) = link_header::next(headers.filter_map(|value| value.to_str().ok())) else {
            return Ok(None);
        };
        let next = reply.url.join(&target).ok();
        match next.filter(|next| same_origin(next, &self.base)) {
            Some(next) if next == reply.url => Err(reply.protocol("the next page of tags is this one")),
            Some(next) => Ok(Some(next)),
            None => Err(reply.protocol("the next page of tags is not in this registry")),
        }
    }
}

fn sink(blob: &Descriptor, source: io::Error) -> ClientError {
    ClientError::Sink {
        what: format!("the blob {}", blob.digest),
        source,
    }
}
