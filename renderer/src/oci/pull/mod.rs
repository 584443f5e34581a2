//! Pulls a chart to a folder: the archive as it is, or unpacked.
//!
//! The tag is resolved once; manifest, config, archive and provenance are checked against their digests while they are
//! read, and a file only gets its final name when it is complete.

pub(in crate::oci) mod chart_source;
pub mod fetch;
pub(in crate::oci) mod tags;

use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::SystemTime;

use crate::chart::archive;
use crate::chart::metadata::Metadata;
use crate::diag::{Class, Diagnostic, Result};
use crate::fsio::{self, AtomicDir, AtomicFile};
use crate::oci::client::image::{ChartManifest, Descriptor, NamedDescriptor};
use crate::oci::failure::Failure;
use crate::oci::layout::archive_file::provenance_of;
use crate::oci::pull::chart_source::{ChartSource, disk, make_dir, not_a_chart};
use crate::oci::sign::{self, Subjected, VerifyingKey};
use crate::oci::{ClientOptions, Progress};
use crate::provenance::{self, Claim, Keyring, Signer};
use crate::reference::{Digest, Locator};
use crate::report::Outcome;
use crate::semver::Constraint;
use crate::world::World;

/// The options of a pull.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct PullOptions {
    /// The folder for the archive; created if it doesn't exist.
    pub destination: PathBuf,
    /// Unpack the archive into `<this folder>/<chart name>` instead.
    pub untar: Option<PathBuf>,
    /// Also get the provenance file.
    pub provenance: bool,
    /// Without tag and digest, pre-release versions count too.
    pub devel: bool,
    /// Without tag and digest, take the newest version in this range.
    pub range: Option<Constraint>,
    /// Fail unless the chart has this digest.
    pub expect_digest: Option<Digest>,
    /// Fail unless this key signed the chart.
    pub verify_by: Option<VerifyingKey>,
    /// Fail unless the provenance file is signed by a key of this keyring.
    pub keyring: Option<Arc<Keyring>>,
}

/// What was pulled.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Pulled {
    /// The reference, with the requested tag or digest.
    pub reference: String,
    /// The manifest's digest and size in bytes; `None` for a web server's archive.
    pub manifest: Option<(Digest, u64)>,
    /// The archive's digest and size in bytes.
    pub layer: (Digest, u64),
    /// The archive, or the folder it was unpacked to.
    pub path: PathBuf,
    /// Whether there is a provenance file, if it was requested.
    pub provenance: bool,
    /// The signer, if verification was requested.
    pub signer: Option<Signer>,
}

/// Pulls a chart. Blocks until it is done.
///
/// # Errors
/// No file has its final name then, except the provenance file if the archive failed after it.
pub fn pull(
    locator: &Locator,
    options: &PullOptions,
    client: &ClientOptions,
    world: &dyn World,
    progress: &dyn Progress,
) -> Result<Pulled> {
    let runtime = crate::oci::runtime().map_err(Failure::from)?;
    let result = runtime.block_on(async {
        let pull = PullRun::open(locator, options, client, world, progress).await?;
        pull.run(world.now()).await
    });
    runtime.shutdown_background();
    result
}

fn check_expected(
    image: &ChartManifest,
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

struct PullRun<'a> {
    origin: ChartSource<'a>,
    reference: String,
    image: ChartManifest,
    named: NamedDescriptor,
    options: &'a PullOptions,
    progress: &'a dyn Progress,
}

impl<'a> PullRun<'a> {
    /// Resolves the chart, and checks what can be checked before blobs are fetched.
    async fn open(
        locator: &'a Locator,
        options: &'a PullOptions,
        client: &'a ClientOptions,
        world: &'a dyn World,
        progress: &'a dyn Progress,
    ) -> Result<Self> {
        let origin = ChartSource::open(&locator.place, client, world, progress)?;
        let at = origin
            .resolve(locator, options.devel, options.range.as_ref())
            .await?;
        let reference = locator.place.with(&at);
        let image = origin.image(&at, &reference).await?;
        check_expected(&image, &reference, options.expect_digest.as_ref())?;
        if let Some(key) = &options.verify_by {
            sign::check(sign::Shelf::from(&origin), &reference, &image.digest, key).await?;
        }
        Ok(Self {
            named: origin.named(&image, &reference).await?,
            origin,
            reference,
            image,
            options,
            progress,
        })
    }

    fn file(&self) -> String {
        format!("{}-{}.tgz", self.named.name, self.named.version)
    }

    /// The archive's descriptor, its provenance file if requested, and the signer.
    async fn vouched(&self, now: SystemTime) -> Result<(&Descriptor, Option<Vec<u8>>, Option<Signer>)> {
        let layer = self
            .image
            .layer()
            .map_err(|reason| not_a_chart(&self.reference, reason))?;
        let provenance = self.provenance().await?;
        let file = self.file();
        let archive = (file.as_str(), &layer.digest);
        let text = provenance.as_deref();
        let signer = check_provenance(archive, &self.reference, text, self.options, now)?;
        Ok((layer, provenance, signer))
    }

    async fn run(&self, now: SystemTime) -> Result<Pulled> {
        // Before the archive: an unsigned one is not even fetched.
        let (layer, provenance, signer) = self.vouched(now).await?;
        let path = self.options.destination.join(self.file());
        if let Some(text) = provenance.as_deref().filter(|_| self.options.keeps_provenance()) {
            // Also before the archive, so that a reader who finds the archive finds both.
            make_dir(&self.options.destination)?;
            let beside = provenance_of(&path);
            fsio::write_atomically(&beside, text).map_err(|source| disk(&beside, "written", source))?;
        }
        let path = match &self.options.untar {
            Some(folder) => self.unpack(layer, folder).await?,
            None => {
                self.save_archive(layer, &path).await?;
                path
            }
        };
        Ok(Pulled {
            reference: self.reference.clone(),
            manifest: Some((self.image.digest.clone(), self.image.bytes.len() as u64)),
            layer: (layer.digest.clone(), layer.size),
            path,
            provenance: provenance.is_some(),
            signer,
        })
    }

    async fn provenance(&self) -> std::result::Result<Option<Vec<u8>>, Failure> {
        let wanted = self.options.wants_provenance();
        match self.image.provenance().filter(|_| wanted) {
            Some(blob) => Ok(Some(self.fetch(blob, || Ok(Vec::new())).await?)),
            None => Ok(None),
        }
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

    /// Checks the archive before it gets its final name: it must be a chart, with the name and version of the config.
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
        // A folder of that name is reported before any blob is fetched.
        if path.is_dir() {
            let source = io::Error::from(io::ErrorKind::IsADirectory);
            return Err(disk(path, "written", source));
        }
        self.fetch(blob, || AtomicFile::create(path)).await
    }

    fn check_names(&self, found: &Metadata) -> Result<()> {
        let NamedDescriptor { name, version } = &self.named;
        if (&found.name, &found.version) == (name, version) {
            return Ok(());
        }
        let reason = format!(
            "its config says {name} {version}, its archive {} {}",
            found.name, found.version
        );
        Err(not_a_chart(&self.reference, reason).into())
    }

    /// The archive is complete and checked before its first file is unpacked.
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

/// A chart that was verified without fetching its archive.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Vouched {
    /// The chart.
    pub subjected: Subjected,
    /// The archive's digest and size in bytes.
    pub layer: (Digest, u64),
    /// The signer.
    pub signer: Signer,
}

/// Verifies that a chart's provenance file is signed by a key of the keyring, and is for its archive; the archive
/// itself is not fetched. Blocks until it is done.
///
/// # Errors
/// As [`pull`]; class [`Class::Signature`] if there is no signature.
pub fn verify_provenance(
    locator: &Locator,
    keyring: &Arc<Keyring>,
    expected: Option<&Digest>,
    client: &ClientOptions,
    world: &dyn World,
    progress: &dyn Progress,
) -> Result<Vouched> {
    let options = PullOptions {
        expect_digest: expected.cloned(),
        keyring: Some(Arc::clone(keyring)),
        ..PullOptions::default()
    };
    let runtime = crate::oci::runtime().map_err(Failure::from)?;
    let result = runtime.block_on(async {
        let pull = PullRun::open(locator, &options, client, world, progress).await?;
        let (layer, _, signer) = pull.vouched(world.now()).await?;
        let signer = signer.ok_or_else(|| provenance::missing(&pull.reference))?;
        Ok(Vouched {
            layer: (layer.digest.clone(), layer.size),
            signer,
            subjected: Subjected {
                reference: pull.reference.clone(),
                digest: pull.image.digest.clone(),
                size: pull.image.bytes.len() as u64,
                outcome: Outcome::Verified,
            },
        })
    });
    runtime.shutdown_background();
    result
}

impl PullOptions {
    /// Whether the provenance file is needed.
    pub(crate) fn wants_provenance(&self) -> bool {
        self.provenance || self.keyring.is_some()
    }

    /// Whether it is kept: as in Helm, next to an archive even if it was only verified.
    pub(crate) fn keeps_provenance(&self) -> bool {
        self.provenance || self.untar.is_none()
    }
}

/// The signer of the archive; an error if verification is requested and fails.
pub(crate) fn check_provenance(
    (file, digest): (&str, &Digest),
    reference: &str,
    provenance: Option<&[u8]>,
    options: &PullOptions,
    now: SystemTime,
) -> Result<Option<Signer>> {
    let Some(keyring) = &options.keyring else {
        return Ok(None);
    };
    let provenance = provenance.ok_or_else(|| provenance::missing(reference))?;
    let claim = Claim {
        file,
        digest,
        place: &format!("the provenance file of {reference}"),
        provenance,
    };
    provenance::verify(&claim, keyring, now).map(Some)
}

pub(crate) fn taken(target: &Path) -> Diagnostic {
    let message = format!("{} exists already", target.display());
    Diagnostic::error(Class::Usage, message)
        .note("nothing was written")
        .hint("remove it, or name another folder with --untardir")
}
