//! Deletes tags and their manifests in registries.
//!
//! Most registries delete every tag of a manifest with it. So a manifest is only deleted, by its digest, if no other
//! tag names it; otherwise only the tag is deleted, if the registry supports that (distribution 3 does, 2.8 does not).
//! Blobs are left to the registry's garbage collection; signatures and other referrers are kept.
//!
//! # Guarantees
//! - A manifest with a tag that is not deleted in the same run is kept.
//! - A missing tag or manifest is a success.
//!
//! # Caveats
//! Registries have no compare-and-swap: a tag that is pushed for the manifest meanwhile may be deleted with it.

use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

use futures_util::stream::{self, StreamExt as _, TryStreamExt as _};

use crate::diag::Class;
use crate::oci::client::transport::Transport;
use crate::oci::client::{AccessScope, Client};
use crate::oci::error::ClientError;
use crate::oci::failure::Failure;
use crate::oci::{ClientOptions, Progress};
use crate::reference::{ArtifactStore, At, Digest, Locator, Repository, Tag};
use crate::world::World;

/// The maximum number of tags of a repository that are compared with a digest.
const MAX_COMPARED: usize = 20_000;
/// How many of them are requested concurrently.
const CONCURRENT: usize = 8;
/// The maximum number of tags in a message.
const MAX_SHOWN: usize = 10;

/// The options of a deletion.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct DeleteOptions {
    /// Refuse to delete another digest than this one.
    pub expect_digest: Option<Digest>,
    /// Only report what would be deleted.
    pub check: bool,
    /// In a repository with more tags than this, only the tag is deleted, if the registry supports that: comparing its
    /// manifest with the others takes a request for each. `None`: the built-in maximum.
    pub max_compared_tags: Option<usize>,
}

/// The result for one reference.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Deleted {
    /// The digest it named; `None` if it did not exist.
    pub digest: Option<Digest>,
    /// Why the manifest is kept without this tag, if it is.
    pub kept: Option<String>,
}

/// Deletes the references; each has a result of its own, in their order. `going` is called before the first deleting
/// request for a reference. Blocks until it is done.
///
/// A tag is deleted, and its manifest unless another tag names it; if the reference also has a digest, the tag must
/// have that one. A digest alone is deleted if no tag names it.
///
/// # Errors
/// Only if nothing can be done at all.
pub fn delete(
    references: &[Locator],
    options: &DeleteOptions,
    client: &ClientOptions,
    world: &dyn World,
    progress: &dyn Progress,
    going: &dyn Fn(&Locator, &Digest),
) -> Result<Vec<Result<Deleted, Failure>>, Failure> {
    let runtime = crate::oci::runtime()?;
    let transport = Rc::new(Transport::new(client, world, progress, Some(CONCURRENT)));
    let results = runtime.block_on(async {
        let mut tagged = KnownTags::new(references);
        let mut results = Vec::with_capacity(references.len());
        for reference in references {
            let ArtifactStore::Registry(repository) = &reference.place else {
                let message = format!("{}: only tags in registries can be deleted", reference.place);
                results.push(Err(Failure::NotDeletable(message)));
                continue;
            };
            let subject = AccessScope::Delete(repository);
            let transport = Rc::clone(&transport);
            let one = match Client::over(transport, subject, client, world, progress) {
                Ok(client) => {
                    let deletion = Deletion {
                        client,
                        repository,
                        reference,
                        options,
                        going,
                    };
                    deletion.run(&mut tagged).await
                }
                Err(error) => Err(error.into()),
            };
            results.push(one);
        }
        results
    });
    // A pending name resolution must not delay the exit.
    runtime.shutdown_background();
    Ok(results)
}

/// The digests of all tags, requested once for each repository.
struct KnownTags {
    /// The tags that this run deletes.
    doomed: BTreeSet<(String, Tag)>,
    known: BTreeMap<String, Others>,
}

/// The tags of a repository.
enum Others {
    Tags(BTreeMap<Tag, Digest>),
    /// They can't be listed, for this reason.
    Unknown(String),
    /// There are more than the limit.
    Many,
}

impl KnownTags {
    fn new(references: &[Locator]) -> Self {
        let doomed = references
            .iter()
            .filter_map(|one| Some((one.place.to_string(), one.tag.clone()?)))
            .collect();
        Self {
            doomed,
            known: BTreeMap::new(),
        }
    }

    /// Why a manifest is kept without one of its tags; `None` if it isn't. With a limit, the reason may be that the
    /// tags were not compared.
    async fn why_kept(
        &mut self,
        client: &Client<'_>,
        repository: &Repository,
        digest: &Digest,
        limit: Option<usize>,
    ) -> Result<Option<String>, ClientError> {
        let name = repository.to_string();
        let is_enough = match self.known.get(&name) {
            None => false,
            Some(Others::Many) => limit.is_some(),
            Some(_) => true,
        };
        if !is_enough {
            self.known.insert(name.clone(), tags_of(client, limit).await?);
        }
        Ok(match self.known.get(&name) {
            Some(Others::Tags(tags)) => {
                let others = tags.iter().filter(|(_, other)| *other == digest);
                let others: Vec<&str> = others
                    .filter(|(tag, _)| !self.doomed.contains(&(name.clone(), (*tag).clone())))
                    .map(|(tag, _)| tag.as_str())
                    .collect();
                (!others.is_empty()).then(|| named_by(&others))
            }
            Some(Others::Unknown(reason)) => Some(format!("other tags may name its manifest: {reason}")),
            Some(Others::Many) => {
                let limit = limit.unwrap_or(MAX_COMPARED);
                Some(format!(
                    "other tags may name its manifest: there are more than {limit}, which were not compared"
                ))
            }
            None => None,
        })
    }
}

fn named_by(tags: &[&str]) -> String {
    let shown = tags.get(..MAX_SHOWN).unwrap_or(tags).join(", ");
    let more = tags.len().saturating_sub(MAX_SHOWN);
    match (tags.len(), more) {
        (1, _) => format!("the tag {shown} names its manifest, too"),
        (_, 0) => format!("the tags {shown} name its manifest, too"),
        (_, more) => format!("the tags {shown} and {more} others name its manifest, too"),
    }
}

/// All tags with their digests, unless there are more than a limit. If the registry does not support listing them, they
/// are unknown.
async fn tags_of(client: &Client<'_>, limit: Option<usize>) -> Result<Others, ClientError> {
    let tags = match client.tags().await {
        Ok(tags) if tags.len() > MAX_COMPARED => {
            return Ok(Others::Unknown(format!("there are more than {MAX_COMPARED}")));
        }
        Ok(tags) if limit.is_some_and(|limit| tags.len() > limit) => return Ok(Others::Many),
        Ok(tags) => tags,
        Err(error) if matches!(error.class(), Class::Auth | Class::Refused | Class::Protocol) => {
            return Ok(Others::Unknown(error.to_string()));
        }
        Err(error) => return Err(error),
    };
    let digests = stream::iter(tags).map(|tag| async {
        let digest = client.digest_at(&tag).await?;
        Ok::<_, ClientError>(digest.map(|digest| (tag, digest)))
    });
    let found: Vec<Option<(Tag, Digest)>> = digests.buffer_unordered(CONCURRENT).try_collect().await?;
    Ok(Others::Tags(found.into_iter().flatten().collect()))
}

/// The deletion of one reference.
struct Deletion<'a> {
    client: Client<'a>,
    repository: &'a Repository,
    reference: &'a Locator,
    options: &'a DeleteOptions,
    going: &'a dyn Fn(&Locator, &Digest),
}

impl Deletion<'_> {
    async fn run(&self, tagged: &mut KnownTags) -> Result<Deleted, Failure> {
        let Some(at) = self
            .reference
            .tag
            .clone()
            .map(At::Tag)
            .or_else(|| self.reference.at())
        else {
            let message = format!("{}: a tag or a digest is missing", self.reference.place);
            return Err(Failure::NotDeletable(message));
        };
        let Some(digest) = self.find(&at).await? else {
            return Ok(Deleted {
                digest: None,
                kept: None,
            });
        };
        for expected in self.options.expect_digest.iter().chain(&self.reference.digest) {
            if *expected != digest {
                return Err(Failure::Unexpected {
                    reference: self.name(&at),
                    expected: expected.clone(),
                    found: digest,
                });
            }
        }
        let kept = match at {
            At::Digest(_) => self.untagged(tagged, &at, &digest).await?,
            At::Tag(tag) => self.tagged(tagged, &tag, &digest).await?,
        };
        Ok(Deleted {
            digest: Some(digest),
            kept,
        })
    }

    /// Deletes a manifest, unless a tag names it.
    async fn untagged(
        &self,
        tagged: &mut KnownTags,
        at: &At,
        digest: &Digest,
    ) -> Result<Option<String>, Failure> {
        if let Some(reason) = self.why_kept(tagged, digest, None).await? {
            return Err(Failure::NotDeleted {
                reference: self.name(at),
                reason,
            });
        }
        if !self.options.check {
            (self.going)(self.reference, digest);
            self.client.delete_manifest(at).await?;
        }
        Ok(None)
    }

    /// Deletes a tag, with its manifest if no other tag names it. Returns why the manifest is kept.
    async fn tagged(
        &self,
        tagged: &mut KnownTags,
        tag: &Tag,
        digest: &Digest,
    ) -> Result<Option<String>, Failure> {
        let limit = self.options.max_compared_tags;
        let kept = self.why_kept(tagged, digest, limit).await?;
        if self.options.check {
            return Ok(kept);
        }
        (self.going)(self.reference, digest);
        let kept = match kept {
            Some(reason) if limit.is_some() => match self.delete_tag(tag, digest).await {
                Ok(()) => return Ok(Some(reason)),
                // It only deletes manifests, so all tags must be compared.
                Err(error) if is_unsupported(&error) => self.why_kept(tagged, digest, None).await?,
                Err(error) => return Err(error.into()),
            },
            kept => kept,
        };
        match kept {
            Some(reason) => self.tag_alone(tag, digest, reason).await,
            None => self.with_manifest(tag, digest).await,
        }
    }

    async fn why_kept(
        &self,
        tagged: &mut KnownTags,
        digest: &Digest,
        limit: Option<usize>,
    ) -> Result<Option<String>, ClientError> {
        tagged
            .why_kept(&self.client, self.repository, digest, limit)
            .await
    }

    /// The digest of a tag, or the given one if it exists.
    async fn find(&self, at: &At) -> Result<Option<Digest>, ClientError> {
        match at {
            At::Tag(tag) => self.client.digest_at(tag).await,
            At::Digest(digest) => {
                let found = self.client.find_manifest(at).await?;
                Ok(found.map(|_| digest.clone()))
            }
        }
    }

    /// Deletes the tag of a manifest that has other tags.
    async fn tag_alone(&self, tag: &Tag, digest: &Digest, reason: String) -> Result<Option<String>, Failure> {
        match self.delete_tag(tag, digest).await {
            Ok(()) => Ok(Some(reason)),
            // Registries with deletion disabled answer 405 too, and the hint says how to enable it.
            Err(error)
                if is_unsupported(&error) && !matches!(error, ClientError::Status { status: 405, .. }) =>
            {
                Err(Failure::NotDeleted {
                    reference: self.name(&At::Tag(tag.clone())),
                    reason: format!("the registry deletes no tag without its manifest, and {reason}"),
                })
            }
            Err(error) => Err(error.into()),
        }
    }

    /// Deletes a tag with its manifest, which has no other tag.
    async fn with_manifest(&self, tag: &Tag, digest: &Digest) -> Result<Option<String>, Failure> {
        let manifest = At::Digest(digest.clone());
        let refused = match self.client.delete_manifest(&manifest).await {
            Ok(()) => {
                // Some registries keep tags of deleted manifests.
                if self.is_there(tag, digest).await? {
                    self.delete_tag(tag, digest).await?;
                }
                return Ok(None);
            }
            Err(error) if is_unsupported(&error) => error,
            Err(error) => return Err(error.into()),
        };
        // Google's registry doesn't delete a manifest that has a tag.
        if let Err(error) = self.delete_tag(tag, digest).await {
            return Err(if is_unsupported(&error) { refused } else { error }.into());
        }
        Ok(match self.client.delete_manifest(&manifest).await {
            Ok(()) => None,
            Err(error) if is_unsupported(&error) => Some(format!("the registry keeps the manifest: {error}")),
            Err(error) => return Err(error.into()),
        })
    }

    /// Registries that don't support this request may answer it with 200 or 404.
    async fn delete_tag(&self, tag: &Tag, digest: &Digest) -> Result<(), ClientError> {
        let at = At::Tag(tag.clone());
        self.client.delete_manifest(&at).await?;
        if self.is_there(tag, digest).await? {
            return Err(ClientError::Protocol {
                action: format!("DELETE {}", self.name(&at)),
                message: "the registry answered that the tag is deleted, and still serves it".to_owned(),
            });
        }
        Ok(())
    }

    async fn is_there(&self, tag: &Tag, digest: &Digest) -> Result<bool, ClientError> {
        Ok(self.client.digest_at(tag).await?.as_ref() == Some(digest))
    }

    fn name(&self, at: &At) -> String {
        self.reference.place.with(at)
    }
}

/// Whether the registry doesn't support this deletion.
fn is_unsupported(error: &ClientError) -> bool {
    matches!(
        error,
        ClientError::Status {
            status: 400 | 405 | 409 | 501,
            ..
        }
    )
}
