//! A push to a registry: HEAD, blobs, manifest, HEAD.

pub(in crate::oci) mod policy;
pub(in crate::oci) mod publish;

use futures_util::future::try_join_all;

use crate::oci::client::{Client, Subject};
use crate::oci::copy::Supply;
use crate::oci::error::ClientError;
use crate::oci::push::policy::{Failure, Plan, PushOptions, Pushed, Tagged, all_tags, plan, pushed};
use crate::oci::sign;
use crate::oci::{ClientOptions, Progress};
use crate::package::artifact::{Artifact, Blob};
use crate::reference::{Digest, Reference, Tag};
use crate::report::Outcome;
use crate::world::World;

/// From this size on another look at the tag costs next to nothing beside what was sent.
const LOOK_AGAIN_BYTES: u64 = 256 << 10;

/// Pushes from this thread, with a runtime of its own.
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
        let subject = Subject::Write(&reference.repository, None);
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
    // A name that is still being resolved must not keep us.
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
    /// Where the blobs' bytes are, when the artifact itself does not have them.
    pub(in crate::oci) supply: Option<Supply<'a>>,
}

/// A tag, and what follows from what is there.
struct Spot<'t> {
    tag: &'t Tag,
    plan: Plan,
    existing: Option<Digest>,
}

impl Push<'_> {
    /// Looks, sends what is missing, and looks again.
    pub(in crate::oci) async fn run(&self) -> Result<Pushed, Failure> {
        let tags = all_tags(&self.reference.tag, &self.options.tags);
        let mut spots = self.look(&tags).await?;
        if self.options.check || !spots.iter().any(Spot::sends) {
            return self.finish(spots).await;
        }
        let known = self.client.is_authenticated();
        send_blobs(&self.client, self.artifact, self.supply.as_ref(), self.progress).await?;
        // The first look may have been a stranger's, from whom registries hide what they hold.
        let was_strange = !known && self.client.is_authenticated();
        if was_strange || self.is_large() {
            spots = self.look(&tags).await?;
        }
        for spot in spots.iter().filter(|spot| spot.sends()) {
            self.place(spot.tag).await?;
        }
        self.finish(spots).await
    }

    /// Whether sending it takes so long that somebody may have been quicker.
    fn is_large(&self) -> bool {
        let blobs = self.artifact.blobs.iter();
        blobs.map(|blob| blob.size).sum::<u64>() >= LOOK_AGAIN_BYTES
    }

    /// Puts the manifest at a tag, and sees that it stays.
    async fn place(&self, tag: &Tag) -> Result<(), Failure> {
        self.client.put_manifest(tag, self.artifact).await?;
        match self.head(tag).await? {
            Some(digest) if digest == self.artifact.digest => Ok(()),
            Some(winner) => Err(Failure::Overtaken {
                reference: self.shown(tag),
                ours: self.artifact.digest.clone(),
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

    async fn head(&self, tag: &Tag) -> Result<Option<Digest>, ClientError> {
        let ours = (&self.artifact.digest, self.artifact.size());
        self.client.head_manifest(tag, ours).await
    }

    /// What is there, and what follows from it; a conflict at one tag is one for all.
    async fn look<'t>(&self, tags: &[&'t Tag]) -> Result<Vec<Spot<'t>>, Failure> {
        let mut spots = Vec::new();
        for tag in tags {
            let found = self.head(tag).await?;
            let same = found.as_ref().map(|digest| *digest == self.artifact.digest);
            let existing = found.filter(|_| same == Some(false));
            let plan = plan(same, self.options.if_exists);
            if plan == Plan::Conflict {
                return Err(Failure::Conflict {
                    reference: self.shown(tag),
                    ours: self.artifact.digest.clone(),
                    existing,
                });
            }
            spots.push(Spot { tag, plan, existing });
        }
        Ok(spots)
    }

    async fn finish(&self, spots: Vec<Spot<'_>>) -> Result<Pushed, Failure> {
        let list: Vec<Tagged> = spots.into_iter().filter_map(Spot::into_tagged).collect();
        let ours = list.iter().any(|one| one.outcome != Outcome::Skipped);
        // There is one spot at least, and none of them is a conflict.
        let mut pushed = pushed(self.reference.to_string(), list).ok_or_else(|| Failure::Conflict {
            reference: self.reference.to_string(),
            ours: self.artifact.digest.clone(),
            existing: None,
        })?;
        if let Some(signer) = self
            .options
            .signer
            .as_ref()
            .filter(|_| ours && !self.options.check)
        {
            let target = sign::Target {
                repository: &self.reference.repository,
                digest: &self.artifact.digest,
                manifest: &self.artifact.manifest,
            };
            pushed.signature = Some(target.sign(&self.client, signer).await?);
        }
        Ok(pushed)
    }
}

/// All blobs at once, an artifact has few; their bytes come from the artifact, or the supply.
pub(in crate::oci) async fn send_blobs(
    client: &Client<'_>,
    artifact: &Artifact,
    supply: Option<&Supply<'_>>,
    progress: &dyn Progress,
) -> Result<(), Failure> {
    let sends = artifact
        .blobs
        .iter()
        .map(|blob| send_blob(client, blob, supply, progress));
    try_join_all(sends).await?;
    Ok(())
}

async fn send_blob(
    client: &Client<'_>,
    blob: &Blob,
    supply: Option<&Supply<'_>>,
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

async fn send_from(client: &Client<'_>, supply: &Supply<'_>, blob: &Blob) -> Result<(), Failure> {
    if let Some(from) = supply.mount
        && client.mount(blob, from).await?
    {
        return Ok(());
    }
    Ok(client.upload(&supply.fetch(blob).await?).await?)
}

impl Spot<'_> {
    fn sends(&self) -> bool {
        matches!(self.plan, Plan::Send(_))
    }

    fn into_tagged(self) -> Option<Tagged> {
        let (Plan::Send(outcome) | Plan::Done(outcome)) = self.plan else {
            return None;
        };
        Some(Tagged {
            tag: self.tag.clone(),
            outcome,
            existing_digest: self.existing,
        })
    }
}
