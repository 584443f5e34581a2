//! A chart from its place to a folder: the archive as it is, or unpacked.
//!
//! The tag is resolved once; manifest, config, archive and provenance are checked against their
//! digests while they come, and a file has its final name only when it is whole.

use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use super::image::{Descriptor, Image, Named};
use super::origin::{Origin, disk, make_dir, not_a_chart};
use super::policy::Failure;
use super::sign::{self, VerifyingKey};
use super::{ClientOptions, Progress};
use crate::chart::archive;
use crate::chart::metadata::Metadata;
use crate::diag::{Class, Diagnostic, Result};
use crate::fsio::{AtomicDir, AtomicFile};
use crate::reference::{Digest, Locator};
use crate::semver::Constraint;
use crate::world::World;

/// What is asked of a pull.
#[derive(Debug, Clone, Default)]
pub struct PullOptions {
    /// The folder that gets the archive; made if need be.
    pub destination: PathBuf,
    /// Unpack it into `<this folder>/<chart name>` instead.
    pub untar: Option<PathBuf>,
    /// Also get the provenance file.
    pub provenance: bool,
    /// Without tag and digest, take a version before a release, too.
    pub devel: bool,
    /// Without tag and digest, take the newest version in this range.
    pub range: Option<Constraint>,
    /// Fail unless the chart has this digest.
    pub expect_digest: Option<Digest>,
    /// Fail unless this key signed the chart.
    pub verify_by: Option<VerifyingKey>,
}

/// What was pulled.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pulled {
    /// From where, with the tag or digest that was asked for.
    pub reference: String,
    /// The manifest's digest.
    pub digest: Digest,
    /// The manifest's size in bytes.
    pub size: u64,
    /// The archive's digest and size in bytes.
    pub layer: (Digest, u64),
    /// The archive, or the folder it was unpacked to.
    pub path: PathBuf,
    /// The provenance file, where there is one and it was asked for.
    pub provenance: Option<PathBuf>,
}

/// Pulls a chart. Blocks until it is done.
///
/// # Errors
/// Nothing is at its final name then, except the provenance file when the archive failed after it.
pub fn pull(
    locator: &Locator,
    options: &PullOptions,
    client: &ClientOptions,
    world: &dyn World,
    progress: &dyn Progress,
) -> Result<Pulled> {
    let runtime = super::runtime().map_err(Failure::from)?;
    let result = runtime.block_on(async {
        let origin = Origin::open(&locator.place, client, world, progress)?;
        let at = origin
            .resolve(locator, options.devel, options.range.as_ref())
            .await?;
        let reference = locator.place.with(&at);
        let image = origin.image(&at, &reference).await?;
        check_expected(&image, &reference, options.expect_digest.as_ref())?;
        if let Some(key) = &options.verify_by {
            match &origin {
                Origin::Registry(client) => sign::check(client, &reference, &image.digest, key).await?,
                Origin::Layout(_) => return Err(Failure::NoSignatures(reference).into()),
            }
        }
        let pull = Pull {
            named: origin.named(&image, &reference).await?,
            origin,
            reference,
            image,
            options,
            progress,
        };
        pull.run().await
    });
    runtime.shutdown_background();
    result
}

fn check_expected(
    image: &Image,
    reference: &str,
    expected: Option<&Digest>,
) -> std::result::Result<(), Failure> {
    match expected {
        Some(expected) if *expected != image.digest => Err(Failure::Unexpected {
            reference: reference.to_owned(),
            expected: expected.clone(),
            found: image.digest.clone(),
        }),
        _ => Ok(()),
    }
}

struct Pull<'a> {
    origin: Origin<'a>,
    reference: String,
    image: Image,
    named: Named,
    options: &'a PullOptions,
    progress: &'a dyn Progress,
}

impl Pull<'_> {
    async fn run(&self) -> Result<Pulled> {
        let layer = self
            .image
            .layer()
            .map_err(|reason| not_a_chart(&self.reference, reason))?;
        let file = format!("{}-{}.tgz", self.named.name, self.named.version);
        let file = self.options.destination.join(file);
        let provenance = match self.image.provenance().filter(|_| self.options.provenance) {
            Some(blob) => {
                let path = self
                    .options
                    .destination
                    .join(format!("{}-{}.tgz.prov", self.named.name, self.named.version));
                // Before the archive: whoever sees that one finds both.
                self.save(blob, &path).await?;
                Some(path)
            }
            None => None,
        };
        let path = match &self.options.untar {
            Some(folder) => self.unpack(layer, folder).await?,
            None => {
                self.save_archive(layer, &file).await?;
                file
            }
        };
        Ok(Pulled {
            reference: self.reference.clone(),
            digest: self.image.digest.clone(),
            size: self.image.bytes.len() as u64,
            layer: (layer.digest.clone(), layer.size),
            path,
            provenance,
        })
    }

    async fn fetch<W: Write>(
        &self,
        blob: &Descriptor,
        open: impl Fn() -> io::Result<W>,
    ) -> std::result::Result<W, Failure> {
        self.progress.blob_started(&blob.digest, blob.size);
        let got = self.origin.blob(blob, open).await?;
        self.progress.blob_done(&blob.digest, true);
        Ok(got)
    }

    async fn save(&self, blob: &Descriptor, path: &Path) -> std::result::Result<(), Failure> {
        let file = self.draft(blob, path).await?;
        file.commit().map_err(|source| disk(path, "written", source))
    }

    /// Looks into the archive before it has its name: what is no chart, or another than the
    /// config says, would be found by whoever uses it.
    async fn save_archive(&self, layer: &Descriptor, path: &Path) -> Result<()> {
        let draft = self.draft(layer, path).await?;
        let file = fs::File::open(draft.draft()).map_err(|source| disk(path, "read", source))?;
        let found = archive::inspect_reader(io::BufReader::new(file), &self.reference)?;
        self.check_names(&found.metadata)?;
        draft
            .commit()
            .map_err(|source| disk(path, "written", source).into())
    }

    async fn draft(&self, blob: &Descriptor, path: &Path) -> std::result::Result<AtomicFile, Failure> {
        make_dir(&self.options.destination)?;
        // A folder of that name is told before anything is fetched.
        if path.is_dir() {
            let source = io::Error::from(io::ErrorKind::IsADirectory);
            return Err(disk(path, "written", source));
        }
        self.fetch(blob, || AtomicFile::create(path)).await
    }

    fn check_names(&self, found: &Metadata) -> Result<()> {
        let Named { name, version } = &self.named;
        if (&found.name, &found.version) == (name, version) {
            return Ok(());
        }
        let reason = format!(
            "its config says {name} {version}, its archive {} {}",
            found.name, found.version
        );
        Err(not_a_chart(&self.reference, reason).into())
    }

    /// Whole and checked before the first file of it is unpacked.
    async fn unpack(&self, layer: &Descriptor, folder: &Path) -> Result<PathBuf> {
        let target = folder.join(&self.named.name);
        if target.symlink_metadata().is_ok() {
            return Err(taken(&target).into());
        }
        make_dir(folder)?;
        let draft = AtomicDir::create_in(folder).map_err(|source| disk(folder, "written", source))?;
        let packed = draft.path().join("chart.tgz");
        let file = self.fetch(layer, || fs::File::create(&packed)).await?;
        drop(file);
        let unpacked = draft.path().join("chart");
        fs::create_dir(&unpacked).map_err(|source| disk(&unpacked, "made", source))?;
        let file = fs::File::open(&packed).map_err(|source| disk(&packed, "read", source))?;
        let found = archive::unpack(io::BufReader::new(file), &self.reference, &unpacked)?.metadata;
        self.check_names(&found)?;
        let placed = draft.commit_new("chart", &target);
        if !placed.map_err(|source| disk(&target, "made", source))? {
            return Err(taken(&target).into());
        }
        Ok(target)
    }
}

fn taken(target: &Path) -> Diagnostic {
    let message = format!("{} exists already", target.display());
    Diagnostic::error(Class::Usage, message)
        .note("nothing was written")
        .hint("remove it, or name another folder with --untardir")
}
