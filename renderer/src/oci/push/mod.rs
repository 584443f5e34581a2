//! A push to a registry: HEAD, blobs, manifest, HEAD.

pub(in crate::oci) mod equivalence;
pub(in crate::oci) mod policy;
pub(in crate::oci) mod publish;

use futures_util::stream::{self, StreamExt as _, TryStreamExt as _};

use crate::oci::client::manifest::ManifestRead;
use crate::oci::client::{AccessScope, Client};
use crate::oci::copy::blob_fetcher::BlobFetcher;
use crate::oci::error::ClientError;
use crate::oci::failure::Failure;
use crate::oci::push::equivalence::Equivalent;
use crate::oci::push::policy::{
    IfExists, Plan, PushOptions, Pushed, TagResult, all_tags, is_version, plan, pushed,
};
use crate::oci::sign::{self, CosignSigner};
use crate::oci::{ClientOptions, Progress};
use crate::package::artifact::{Artifact, ArtifactBlob};
use crate::reference::{At, Digest, Reference, Tag};
use crate::report::Outcome;
use crate::world::World;

/// How many blobs are sent at a time: a chart has few, a model may have hundreds.
const CONCURRENT_BLOBS: usize = 4;
/// From this size on, the cost of reading the tag again is negligible.
const REREAD_BYTES: u64 = 256 << 10;

/// Pushes from this thread, with its own runtime.
pub(in crate::oci) fn push(
    artifact: &Artifact,
    reference: &Reference,
    options: &PushOptions,
    client: &ClientOptions,
    world: &dyn World,
    progress: &dyn Progress,
) -> Result<Pushed, Failure> {
    let runtime = crate::oci::runtime()?;
    let result = runtime.block_on(async {
        let subject = AccessScope::Write(&reference.repository, None);
        let push = Push {
            client: Client::new(subject, client, world, progress)?,
            artifact,
            reference,
            options,
            progress,
            supply: None,
        };
        push.run().await
    });
    // A pending name resolution must not delay the exit.
    runtime.shutdown_background();
    result
}

/// A push to one repository.
pub(in crate::oci) struct Push<'a> {
    pub(in crate::oci) client: Client<'a>,
    pub(in crate::oci) artifact: &'a Artifact,
    pub(in crate::oci) reference: &'a Reference,
    pub(in crate::oci) options: &'a PushOptions,
    pub(in crate::oci) progress: &'a dyn Progress,
    /// The source of the blobs' bytes, if the artifact itself does not hold them.
    pub(in crate::oci) supply: Option<BlobFetcher<'a>>,
}

/// A tag, its current state and the plan that follows.
struct TagState<'t> {
    tag: &'t Tag,
    plan: Plan,
    /// The existing manifest, if it differs from the intended one.
    existing: Option<ManifestRead>,
    /// Set if the existing manifest is the same chart.
    equivalent: Option<Equivalent>,
}

/// All tags of a push.
struct Reconciled<'t> {
    own: TagState<'t>,
    others: Vec<TagState<'t>>,
}

/// The intended manifest of a tag.
#[derive(Clone, Copy)]
struct TagTarget<'w> {
    digest: &'w Digest,
    bytes: &'w [u8],
    media_type: &'static str,
}

impl Push<'_> {
    /// Reads the tags, sends what is missing, and checks the tags afterwards.
    pub(in crate::oci) async fn run(&self) -> Result<Pushed, Failure> {
        let mut state = self.reconcile_all().await?;
        if self.options.check || !state.all().any(TagState::sends) {
            return self.finish(state).await;
        }
        let known = self.client.is_authenticated();
        if self.sends_ours(&state) {
            send_blobs(&self.client, self.artifact, self.supply.as_ref(), self.progress).await?;
        }
        // The first read may have been unauthenticated, and registries hide tags from unauthenticated clients.
        let was_unauthenticated = !known && self.client.is_authenticated();
        if was_unauthenticated || self.is_large() {
            state = self.reconcile_all().await?;
        }
        for one in state.all().filter(|one| one.sends()) {
            self.place(one.tag, self.wanted(&state.own, one.tag)).await?;
        }
        self.finish(state).await
    }

    /// Whether sending it takes so long that another client may have pushed meanwhile.
    fn is_large(&self) -> bool {
        let blobs = self.artifact.blobs.iter();
        blobs.map(|blob| blob.size).sum::<u64>() >= REREAD_BYTES
    }

    fn sends_ours(&self, state: &Reconciled<'_>) -> bool {
        let ours = |one: &TagState<'_>| *self.wanted(&state.own, one.tag).digest == self.artifact.digest;
        state.all().any(|one| one.sends() && ours(one))
    }

    fn ours(&self) -> TagTarget<'_> {
        TagTarget {
            digest: &self.artifact.digest,
            bytes: &self.artifact.manifest,
            media_type: Artifact::MANIFEST_TYPE,
        }
    }

    /// The intended manifest of a tag: ours, unless the version's tag keeps another one, which the tag must then match.
    /// A movable tag always does.
    fn wanted<'w>(&'w self, own: &'w TagState<'_>, tag: &Tag) -> TagTarget<'w> {
        let moves = self.options.moved_tags.contains(tag);
        let is_kept = own.equivalent.is_some() || (moves && own.plan == Plan::Done(Outcome::Skipped));
        match own.existing.as_ref().filter(|_| is_kept && tag != own.tag) {
            Some(kept) => TagTarget {
                digest: &kept.digest,
                bytes: &kept.bytes,
                media_type: kept.media_type,
            },
            None => self.ours(),
        }
    }

    /// Puts a manifest under a tag, and checks that the tag has it.
    async fn place(&self, tag: &Tag, wanted: TagTarget<'_>) -> Result<(), Failure> {
        let at = At::Tag(tag.clone());
        self.client
            .put(&at, wanted.media_type, wanted.bytes, wanted.digest)
            .await?;
        match self.head(tag, wanted).await? {
            Some(digest) if digest == *wanted.digest => Ok(()),
            Some(winner) => Err(Failure::Overtaken {
                reference: self.shown(tag),
                ours: wanted.digest.clone(),
                winner,
            }),
            None => Err(ClientError::Protocol {
                action: format!("HEAD {}", self.shown(tag)),
                message: "the registry took the manifest and does not have it".to_owned(),
            }
            .into()),
        }
    }

    fn shown(&self, tag: &Tag) -> String {
        format!("{}:{tag}", self.reference.repository)
    }

    async fn head(&self, tag: &Tag, wanted: TagTarget<'_>) -> Result<Option<Digest>, ClientError> {
        let size = wanted.bytes.len() as u64;
        self.client.head_manifest(tag, (wanted.digest, size)).await
    }

    /// Reads all tags and plans for each; a conflict of one tag fails all.
    async fn reconcile_all(&self) -> Result<Reconciled<'_>, Failure> {
        let mut tags = all_tags(&self.reference.tag, self.options).into_iter();
        let (tag, if_exists) = tags
            .next()
            .unwrap_or((&self.reference.tag, self.options.if_exists));
        let own = self.reconcile(tag, if_exists, self.ours()).await?;
        let mut others = Vec::new();
        for (tag, if_exists) in tags {
            let wanted = self.wanted(&own, tag);
            others.push(self.reconcile(tag, if_exists, wanted).await?);
        }
        Ok(Reconciled { own, others })
    }

    /// Reads one tag and plans for it.
    async fn reconcile<'t>(
        &self,
        tag: &'t Tag,
        if_exists: IfExists,
        wanted: TagTarget<'_>,
    ) -> Result<TagState<'t>, Failure> {
        let found = self.head(tag, wanted).await?;
        let differs = found.as_ref().is_some_and(|digest| digest != wanted.digest);
        let (mut existing, mut equivalent) = (None, None);
        let same = if differs {
            // This also checks that it is a manifest: with `skip` nothing else is done.
            existing = self.client.read_manifest(tag).await?;
            let found = existing.as_ref().ok_or_else(|| ClientError::Protocol {
                action: format!("GET {}", self.shown(tag)),
                message: "the registry has the manifest when asked with HEAD, and not with GET".to_owned(),
            })?;
            Some(found.digest == *wanted.digest)
        } else {
            found.map(|_| true)
        };
        if same == Some(true) {
            existing = None;
        }
        let may_be_equivalent = !self.options.exact
            && self.options.expect_digest.is_none()
            && if_exists != IfExists::Replace
            && *wanted.digest == self.artifact.digest;
        if let Some(found) = existing.as_ref().filter(|_| may_be_equivalent) {
            equivalent = equivalence::find(&self.client, self.artifact, found).await?;
        }
        let plan = plan(same.map(|same| same || equivalent.is_some()), if_exists);
        if plan == Plan::Conflict {
            return Err(Failure::Conflict {
                reference: self.shown(tag),
                ours: self.artifact.digest.clone(),
                existing: existing.map(|found| found.digest),
                is_version: is_version(self.artifact, tag),
            });
        }
        Ok(TagState {
            tag,
            plan,
            existing,
            equivalent,
        })
    }

    async fn finish(&self, state: Reconciled<'_>) -> Result<Pushed, Failure> {
        let signature = match &self.options.signer {
            Some(signer) if !self.options.check => self.sign(&state, signer).await?,
            _ => None,
        };
        let equivalent = state.own.equivalent.clone().map(Box::new);
        let list: Vec<TagResult> = std::iter::once(state.own)
            .chain(state.others)
            .filter_map(TagState::into_tagged)
            .collect();
        // There is one tag at least, and none of them is a conflict.
        let pushed = pushed(self.reference.to_string(), list).ok_or_else(|| Failure::Conflict {
            reference: self.reference.to_string(),
            ours: self.artifact.digest.clone(),
            existing: None,
            is_version: true,
        })?;
        Ok(Pushed {
            signature,
            equivalent,
            ..pushed
        })
    }

    /// Signs the manifests of the tags, unless all tags have another chart.
    async fn sign(&self, state: &Reconciled<'_>, signer: &CosignSigner) -> Result<Option<Outcome>, Failure> {
        if state.all().all(|one| one.plan == Plan::Done(Outcome::Skipped)) {
            return Ok(None);
        }
        let same_chart = state
            .own
            .existing
            .as_ref()
            .filter(|_| state.own.equivalent.is_some());
        let target = sign::SignTarget {
            repository: &self.reference.repository,
            digest: same_chart.map_or(&self.artifact.digest, |found| &found.digest),
            manifest: same_chart.map_or(&self.artifact.manifest, |found| &found.bytes),
        };
        target.sign(&self.client, signer).await.map(Some)
    }
}

/// Sends the blobs, several at a time; their bytes come from the artifact, or the supply.
pub(in crate::oci) async fn send_blobs(
    client: &Client<'_>,
    artifact: &Artifact,
    supply: Option<&BlobFetcher<'_>>,
    progress: &dyn Progress,
) -> Result<(), Failure> {
    let sends = artifact
        .blobs
        .iter()
        .map(|blob| send_blob(client, blob, supply, progress));
    stream::iter(sends)
        .buffer_unordered(CONCURRENT_BLOBS)
        .try_collect()
        .await
}

async fn send_blob(
    client: &Client<'_>,
    blob: &ArtifactBlob,
    supply: Option<&BlobFetcher<'_>>,
    progress: &dyn Progress,
) -> Result<(), Failure> {
    let there = client.has_blob(blob).await?;
    if !there {
        progress.blob_started(&blob.digest, blob.size);
        match supply {
            None => client.upload(blob).await?,
            Some(supply) => send_from(client, supply, blob).await?,
        }
    }
    progress.blob_done(&blob.digest, !there);
    Ok(())
}

async fn send_from(
    client: &Client<'_>,
    supply: &BlobFetcher<'_>,
    blob: &ArtifactBlob,
) -> Result<(), Failure> {
    if let Some(from) = supply.mount
        && client.mount(blob, from).await?
    {
        return Ok(());
    }
    Ok(client.upload(&supply.fetch(blob).await?).await?)
}

impl<'t> Reconciled<'t> {
    fn all(&self) -> impl Iterator<Item = &TagState<'t>> {
        std::iter::once(&self.own).chain(&self.others)
    }
}

impl TagState<'_> {
    fn sends(&self) -> bool {
        matches!(self.plan, Plan::Send(_))
    }

    fn into_tagged(self) -> Option<TagResult> {
        let (Plan::Send(outcome) | Plan::Done(outcome)) = self.plan else {
            return None;
        };
        Some(TagResult {
            tag: self.tag.clone(),
            outcome,
            existing_digest: self.existing.map(|found| found.digest),
        })
    }
}
