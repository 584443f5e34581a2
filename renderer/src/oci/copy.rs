//! A chart from one place to another: its manifest byte for byte, its blobs only where they are
//! missing, and within one registry without coming here at all.

use std::fs;
use std::io::{self, Write};
use std::sync::Arc;

use super::client::{Client, Subject};
use super::image::{Descriptor, Image};
use super::origin::{Origin, disk, not_a_chart};
use super::policy::{Failure, PushOptions, Pushed};
use super::push::Push;
use super::{ClientOptions, Destination, Progress, layout, layout_read, resolve};
use crate::diag::{Class, Diagnostic, Result};
use crate::package::MEMORY_LIMIT;
use crate::package::artifact::{Artifact, Blob, BlobSource, Content};
use crate::reference::{Locator, Place, Reference, Repository, Tag, Target};
use crate::world::World;

/// What is asked of a copy.
#[derive(Debug, Clone, Default)]
pub struct CopyOptions {
    /// The policy at the destination.
    pub push: PushOptions,
    /// As [`resolve`] has it.
    pub allow_mismatch: bool,
    /// Without tag and digest, take a version before a release, too.
    pub devel: bool,
}

/// What a copy came to.
#[derive(Debug)]
pub struct Copied {
    /// The chart; its blobs hold no bytes.
    pub artifact: Artifact,
    /// Where it went, or should have gone.
    pub destination: Destination,
    /// What the push part came to.
    pub result: std::result::Result<Pushed, Failure>,
}

/// Copies a chart. `from` and `to` are how the two registries are spoken to. Blocks until it is
/// done.
///
/// # Errors
/// The source, or a target that does not fit the chart. What fails at the destination is in
/// [`Copied::result`].
pub fn copy(
    locator: &Locator,
    target: &Target,
    options: &CopyOptions,
    (from, to): (&ClientOptions, &ClientOptions),
    world: &dyn World,
    progress: &dyn Progress,
) -> Result<Copied> {
    if let Target::File { .. } = target {
        let one = Diagnostic::error(Class::Usage, "a copy goes to oci:// or oci-layout:");
        return Err(one.hint("`pull` gets an archive into a folder").into());
    }
    let runtime = super::runtime().map_err(Failure::from)?;
    let result = runtime.block_on(async {
        let origin = Origin::open(&locator.place, from, world, progress)?;
        let at = origin.resolve(locator, options.devel, None).await?;
        let reference = locator.place.with(&at);
        let image = origin.image(&at, &reference).await?;
        // What has no archive is no chart, and would break whoever pulls it.
        image.layer().map_err(|reason| not_a_chart(&reference, reason))?;
        let named = origin.named(&image, &reference).await?;
        let artifact = artifact(&image, (named.name, named.version), &locator.place);
        let destination = resolve(target, &artifact, options.allow_mismatch)?;
        let copy = Copy {
            origin: &origin,
            place: &locator.place,
            artifact: &artifact,
            options: &options.push,
        };
        let result = copy.run(&destination, to, world, progress).await;
        Ok(Copied {
            artifact,
            destination,
            result,
        })
    });
    runtime.shutdown_background();
    result
}

/// A layout's blobs are on disk already; a registry's come when they are needed.
fn artifact(image: &Image, (name, version): (String, String), place: &Place) -> Artifact {
    let blobs = std::iter::once(&image.config)
        .chain(&image.layers)
        .map(|descriptor| Blob {
            media_type: media_type(&descriptor.media_type),
            digest: descriptor.digest.clone(),
            size: descriptor.size,
            content: match place {
                Place::Layout(dir) => Content::Stream(Arc::new(OnDisk {
                    path: layout_read::blob_path(dir, &descriptor.digest),
                })),
                Place::Registry(_) => Content::Memory(Arc::from([])),
            },
        })
        .collect();
    Artifact {
        name,
        version,
        manifest: image.bytes.clone(),
        digest: image.digest.clone(),
        blobs,
    }
}

/// The manifest has the real one; what we do with a blob depends on ours alone.
fn media_type(text: &str) -> &'static str {
    [
        Artifact::CONFIG_TYPE,
        Artifact::LAYER_TYPE,
        Artifact::PROVENANCE_TYPE,
    ]
    .into_iter()
    .find(|known| *known == text)
    .unwrap_or("application/octet-stream")
}

struct Copy<'a> {
    origin: &'a Origin<'a>,
    place: &'a Place,
    artifact: &'a Artifact,
    options: &'a PushOptions,
}

impl Copy<'_> {
    async fn run(
        &self,
        destination: &Destination,
        client: &ClientOptions,
        world: &dyn World,
        progress: &dyn Progress,
    ) -> std::result::Result<Pushed, Failure> {
        if let Some(expected) = &self.options.expect_digest
            && *expected != self.artifact.digest
        {
            return Err(Failure::Expected {
                expected: expected.clone(),
                ours: self.artifact.digest.clone(),
            });
        }
        if self.options.signer.is_some() && !matches!(destination, Destination::Registry(_)) {
            return Err(Failure::NoSignatures(destination.to_string()));
        }
        match destination {
            Destination::Registry(reference) => self.to_registry(reference, client, world, progress).await,
            Destination::Layout { dir, tag } => self.to_layout(dir, tag, progress).await,
            Destination::File { path } => Err(disk(path, "written", io::ErrorKind::Unsupported.into())),
        }
    }

    async fn to_registry(
        &self,
        reference: &Reference,
        client: &ClientOptions,
        world: &dyn World,
        progress: &dyn Progress,
    ) -> std::result::Result<Pushed, Failure> {
        let (supply, mount) = match self.place {
            Place::Layout(_) => (None, None),
            Place::Registry(source) => {
                let mount = Some(source).filter(|source| source.host() == reference.repository.host());
                let origin = self.origin;
                (Some(Supply { origin, mount }), mount)
            }
        };
        let subject = Subject::Write(&reference.repository, mount);
        let push = Push {
            client: Client::new(subject, client, world, progress)?,
            artifact: self.artifact,
            reference,
            options: self.options,
            progress,
            supply,
        };
        push.run().await
    }

    async fn to_layout(
        &self,
        dir: &std::path::Path,
        tag: &Tag,
        progress: &dyn Progress,
    ) -> std::result::Result<Pushed, Failure> {
        let mut artifact = self.artifact.clone();
        if let Place::Registry(_) = self.place {
            let supply = Supply {
                origin: self.origin,
                mount: None,
            };
            let missing = layout::missing(&artifact, dir, tag, self.options)?;
            for blob in &mut artifact.blobs {
                if missing.contains(&blob.digest) {
                    progress.blob_started(&blob.digest, blob.size);
                    *blob = supply.fetch(blob).await?;
                }
            }
        }
        layout::push(&artifact, dir, tag, self.options, progress)
    }
}

/// Where the bytes of blobs are that an artifact does not have itself.
pub(super) struct Supply<'a> {
    origin: &'a Origin<'a>,
    /// A repository of the registry that is pushed to, which has them.
    pub(super) mount: Option<&'a Repository>,
}

impl Supply<'_> {
    /// The blob with its bytes, size and digest checked: in memory when it is small, else on disk.
    pub(super) async fn fetch(&self, blob: &Blob) -> std::result::Result<Blob, Failure> {
        let wanted = Descriptor {
            media_type: blob.media_type.to_owned(),
            digest: blob.digest.clone(),
            size: blob.size,
        };
        let content = if blob.size <= MEMORY_LIMIT {
            let bytes = self.origin.blob(&wanted, || Ok(Vec::new())).await?;
            Content::Memory(Arc::from(bytes))
        } else {
            let file = self.origin.blob(&wanted, tempfile::NamedTempFile::new).await?;
            Content::Stream(Arc::new(Spooled { file }))
        };
        Ok(Blob {
            content,
            ..blob.clone()
        })
    }
}

/// A blob in a temporary file, which goes with it.
struct Spooled {
    file: tempfile::NamedTempFile,
}

impl BlobSource for Spooled {
    fn write_to(&self, out: &mut dyn Write) -> io::Result<()> {
        io::copy(&mut fs::File::open(self.file.path())?, out).map(|_| ())
    }
}

/// A blob of a layout.
struct OnDisk {
    path: std::path::PathBuf,
}

impl BlobSource for OnDisk {
    fn write_to(&self, out: &mut dyn Write) -> io::Result<()> {
        io::copy(&mut fs::File::open(&self.path)?, out).map(|_| ())
    }
}
