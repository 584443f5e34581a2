//! A push to a registry: HEAD, blobs, manifest, HEAD.

use futures_util::future::try_join_all;

use super::client::Client;
use super::error::ClientError;
use super::policy::{Failure, IfExists, Plan, Pushed, plan};
use super::{ClientOptions, Progress};
use crate::package::artifact::{Artifact, Blob};
use crate::reference::{Digest, Reference};
use crate::world::World;

/// Pushes from this thread, with a runtime of its own.
pub(super) fn push(
    artifact: &Artifact,
    reference: &Reference,
    if_exists: IfExists,
    options: &ClientOptions,
    world: &dyn World,
    progress: &dyn Progress,
) -> Result<Pushed, Failure> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_io()
        .enable_time()
        .build()
        .map_err(ClientError::Runtime)?;
    let result = runtime.block_on(async {
        let client = Client::new(&reference.repository, options, world, progress)?;
        let push = Push {
            client,
            artifact,
            reference,
            if_exists,
            progress,
        };
        push.run().await
    });
    // A name that is still being resolved must not keep us.
    runtime.shutdown_background();
    result
}

struct Push<'a> {
    client: Client<'a>,
    artifact: &'a Artifact,
    reference: &'a Reference,
    if_exists: IfExists,
    progress: &'a dyn Progress,
}

impl Push<'_> {
    async fn run(&self) -> Result<Pushed, Failure> {
        let (mut next, mut existing) = self.look().await?;
        if let Plan::Done(_) = next {
            return self.finish(next, existing);
        }
        let known = self.client.is_authenticated();
        self.send_blobs().await?;
        if !known && self.client.is_authenticated() {
            // The first look was a stranger's, from whom registries may hide what they hold.
            (next, existing) = self.look().await?;
            if let Plan::Done(_) = next {
                return self.finish(next, existing);
            }
        }
        self.client
            .put_manifest(&self.reference.tag, self.artifact)
            .await?;
        match self.head().await? {
            Some(digest) if digest == self.artifact.digest => self.finish(next, existing),
            Some(winner) => Err(Failure::Overtaken {
                reference: self.reference.to_string(),
                ours: self.artifact.digest.clone(),
                winner,
            }),
            None => Err(ClientError::Protocol {
                action: format!("HEAD {}", self.reference),
                message: "the registry took the manifest and does not have it".to_owned(),
            }
            .into()),
        }
    }

    async fn head(&self) -> Result<Option<Digest>, ClientError> {
        let ours = (&self.artifact.digest, self.artifact.size());
        self.client.head_manifest(&self.reference.tag, ours).await
    }

    /// What is there, and what follows from it.
    async fn look(&self) -> Result<(Plan, Option<Digest>), Failure> {
        let found = self.head().await?;
        let same = found.as_ref().map(|digest| *digest == self.artifact.digest);
        let existing = found.filter(|_| same == Some(false));
        match plan(same, self.if_exists) {
            Plan::Conflict => Err(Failure::Conflict {
                reference: self.reference.to_string(),
                ours: self.artifact.digest.clone(),
                existing,
            }),
            next => Ok((next, existing)),
        }
    }

    fn finish(&self, plan: Plan, existing_digest: Option<Digest>) -> Result<Pushed, Failure> {
        let (Plan::Send(outcome) | Plan::Done(outcome)) = plan else {
            return Err(Failure::Conflict {
                reference: self.reference.to_string(),
                ours: self.artifact.digest.clone(),
                existing: existing_digest,
            });
        };
        Ok(Pushed {
            outcome,
            reference: self.reference.to_string(),
            existing_digest,
        })
    }

    /// All blobs at once: an artifact has three at most.
    async fn send_blobs(&self) -> Result<(), ClientError> {
        try_join_all(self.artifact.blobs.iter().map(|blob| self.send_blob(blob))).await?;
        Ok(())
    }

    async fn send_blob(&self, blob: &Blob) -> Result<(), ClientError> {
        let there = self.client.has_blob(blob).await?;
        if !there {
            self.progress.blob_started(&blob.digest, blob.size);
            self.client.upload(blob).await?;
        }
        self.progress.blob_done(&blob.digest, !there);
        Ok(())
    }
}
