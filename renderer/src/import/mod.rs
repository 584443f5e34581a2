//! Imports files from where they are, packs them as an OCI artifact and pushes that: [`run`].
//!
//! In: a [`Source`] (a web server, Hugging Face, a registry), a [`Format`], a target. Out: a report, as of a chart's
//! push. Nothing here knows of command lines or Kubernetes.
//!
//! # Guarantees
//! - The digest is a function of the files: their paths and bytes. It depends on no time, machine or source.
//! - Every file is verified: by the SHA-256 that the caller or Hugging Face gives, or by its Git object.
//! - Files are never held in memory. What is in the working folder already, and verified, is not fetched again; a file
//!   that is there in part is continued.
//! - A name that a server reports is never a path on the disk: files are stored by their checksums.

mod file_path;
mod hub;
mod listing;
mod model_config;
mod pack;
mod pattern;
mod private_files;
mod safetensors;
mod source;
mod workspace;

use std::path::PathBuf;

use url::Url;

pub use self::pattern::{MAX_PATTERN, MAX_PATTERNS, Patterns};
pub use self::source::{DEFAULT_REVISION, HubRepository, Source, SourceError};
use self::workspace::{Checksum, Explain, StoredFile, Workspace};
use crate::diag::{Class, Diagnostic, Diagnostics, Result};
use crate::import::file_path::FilePath;
use crate::oci::{
    self, ClientError, ClientOptions, CopyOptions, Destination, Downloader, Failure, FetchedFile,
    PushOptions, RequestHeaders, Secret,
};
use crate::package::Packer;
use crate::package::artifact::Artifact;
use crate::pipeline::{Delivered, Observer, delivered, describe};
use crate::reference::{Locator, Target};
use crate::report::{ContentReport, Report};
use crate::world::World;

/// The default maximum size of all files together, in bytes.
pub const DEFAULT_MAX_BYTES: u64 = 1 << 40;
/// The tag of models and files, unless another one is given.
const DEFAULT_TAG: &str = "latest";

/// The form of the artifact.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Format {
    /// A model in the format of CNCF's ModelPack: a layer for each file, as it is.
    ModelPack,
    /// A Helm chart: the archive, with the digest that a push of it has.
    Chart,
    /// Any files: a layer for each, with its name as title, as ORAS has them.
    Raw,
}

/// What to import, and where to push it.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct ImportRequest {
    /// The source.
    pub source: Source,
    /// The form of the artifact.
    pub format: Format,
    /// The target.
    pub target: Target,
    /// The folder for the files; created if it doesn't exist.
    pub workdir: PathBuf,
    /// The maximum size of all files together, in bytes.
    pub max_bytes: u64,
    /// For charts: as for a push.
    pub allow_mismatch: bool,
    /// The push policy.
    pub push: PushOptions,
    /// The options for the source's server.
    pub from: ClientOptions,
    /// The headers for a web server.
    pub headers: RequestHeaders,
    /// The options for the target's registry.
    pub to: ClientOptions,
}

impl ImportRequest {
    /// An import with the defaults of the command line: at most [`DEFAULT_MAX_BYTES`], without headers.
    pub fn new(source: Source, format: Format, target: Target, workdir: PathBuf) -> Self {
        Self {
            source,
            format,
            target,
            workdir,
            max_bytes: DEFAULT_MAX_BYTES,
            allow_mismatch: false,
            push: PushOptions::default(),
            from: ClientOptions::default(),
            headers: RequestHeaders::default(),
            to: ClientOptions::default(),
        }
    }
}

/// A file at the source.
struct RemoteFile {
    path: FilePath,
    url: Url,
    size: Option<u64>,
    checksum: Checksum,
}

/// A file of the artifact.
struct ImportedFile {
    path: FilePath,
    stored: StoredFile,
}

/// A packed artifact, and what its report has beyond the digest.
struct Packed {
    artifact: Artifact,
    report: Report,
}

/// Imports, packs and pushes. Blocks until it is done.
pub fn run(request: &ImportRequest, world: &dyn World, observer: &dyn Observer) -> Delivered {
    if let Source::Registry(locator) = &request.source {
        return copy(request, locator, world, observer)
            .unwrap_or_else(|problem| Delivered::failed(Report::default(), problem));
    }
    let packed = match import_and_pack(request, world, observer) {
        Ok(packed) => packed,
        Err(problem) => return Delivered::failed(Report::default(), problem),
    };
    let Packed { artifact, mut report } = packed;
    let destination = match destination(request, &artifact) {
        Ok(destination) => destination,
        Err(problem) => return Delivered::failed(report, problem),
    };
    report.reference = Some(destination.to_string());
    observer.sending(&report);
    let options = PushOptions {
        exact: request.format != Format::Chart,
        ..request.push.clone()
    };
    let progress = observer.progress();
    let pushed = oci::push(&artifact, &destination, &options, &request.to, world, progress);
    finished(request.format, report, pushed)
}

fn import_and_pack(request: &ImportRequest, world: &dyn World, observer: &dyn Observer) -> Result<Packed> {
    check_target(request)?;
    let progress = observer.progress();
    let downloader = Downloader::new(&request.from, world, progress)?;
    let (files, revision) = match &request.source {
        Source::Web { url, sha256 } => {
            let file = RemoteFile {
                path: FilePath::of_url(url)?,
                url: url.clone(),
                size: None,
                checksum: Checksum::Sha256(sha256.clone()),
            };
            let headers = &request.headers;
            let explain = |failure, _: &FilePath| of_web_server(failure, headers);
            let files = fetch(request, vec![file], headers, &downloader, (progress, &explain))?;
            (files, None)
        }
        Source::Hub { repository, patterns } => {
            if request.format == Format::Chart {
                let one = Diagnostic::error(Class::Usage, "a chart can't come from Hugging Face");
                return Err(one.hint("charts come from https:// and oci:// sources").into());
            }
            let hub = hub::Hub::new(&downloader, world)?;
            let listing = hub.files(repository, patterns)?;
            let explain =
                |failure, path: &FilePath| hub.explain(failure, format_args!("{path} of {repository}"));
            let files = fetch(
                request,
                listing.files,
                hub.headers(),
                &downloader,
                (progress, &explain),
            )?;
            (files, Some(listing.commit))
        }
        Source::Registry(_) => (Vec::new(), None),
    };
    pack(request.format, &files, revision)
}

fn fetch(
    request: &ImportRequest,
    list: Vec<RemoteFile>,
    headers: &RequestHeaders,
    downloader: &Downloader<'_>,
    (progress, explain): (&dyn oci::Progress, Explain<'_>),
) -> Result<Vec<ImportedFile>> {
    let workspace = Workspace::open(&request.workdir)?;
    workspace.retain(list.iter().map(|file| &file.checksum))?;
    let mut left = request.max_bytes;
    check_size(&list, left)?;
    let mut files = Vec::new();
    let of = list.len();
    for (number, remote) in (1..).zip(list) {
        progress.file_started(&FetchedFile {
            name: remote.path.as_str(),
            number,
            of,
            size: remote.size,
        });
        let stored = workspace.fetch(&remote, headers, left, downloader, (progress, explain))?;
        progress.file_done();
        left = left.saturating_sub(stored.size);
        let path = remote.path;
        files.push(ImportedFile { path, stored });
    }
    Ok(files)
}

/// Says what a web server's refusal means.
fn of_web_server(failure: Failure, headers: &RequestHeaders) -> Diagnostics {
    let (error, status, redirected) = match failure {
        Failure::Client(
            error @ ClientError::Status {
                status, redirected, ..
            },
        ) => (error.redirected(), status, redirected),
        other => return other.into(),
    };
    let one = Diagnostic::error(error.class(), error.to_string());
    match (status, headers.is_empty()) {
        _ if redirected => {
            one.note("it was redirected to this server, which gets no headers of `--from-headers`")
        }
        (401 | 403, true) => {
            one.hint("a token or another header for the server is given with `--from-headers`")
        }
        (401 | 403, false) => one.hint("check the headers of `--from-headers`"),
        (404 | 410, _) => one.hint(
            "check the URL; some servers answer so when the headers of `--from-headers` are missing or wrong",
        ),
        _ => one,
    }
    .into()
}

fn check_size(list: &[RemoteFile], limit: u64) -> Result<()> {
    let total = list
        .iter()
        .fold(0u64, |sum, file| sum.saturating_add(file.size.unwrap_or(0)));
    if total <= limit {
        return Ok(());
    }
    let message = format!("the files have {total} bytes together, the limit is {limit}");
    Err(Diagnostic::error(Class::Refused, message)
        .hint("raise it with `--max-size`, or leave files out with `--include` and `--exclude`")
        .into())
}

fn pack(format: Format, files: &[ImportedFile], revision: Option<String>) -> Result<Packed> {
    let artifact = match (format, files) {
        (Format::ModelPack, files) => pack::model(files, &model_config::read(files)?)?,
        (Format::Raw, files) => pack::raw(files)?,
        (Format::Chart, [file]) => Packer::new(crate::parallel::processors())
            .wrap(&file.stored.path)
            .map_err(|problem| named(problem, file))?,
        (Format::Chart, _) => {
            return Err(Diagnostic::error(Class::Usage, "a chart is a single archive").into());
        }
    };
    let content = ContentReport {
        files: files.len() as u64,
        size: files.iter().map(|file| file.stored.size).sum(),
    };
    let report = match format {
        Format::Chart => describe(&artifact),
        Format::ModelPack | Format::Raw => Report::default().with_digest(&artifact.digest, artifact.size()),
    };
    Ok(Packed {
        report: Report {
            content: Some(content),
            revision,
            ..report
        },
        artifact,
    })
}

/// The path in the working folder says nothing to the user: the file's own name is added.
fn named(problem: Diagnostics, file: &ImportedFile) -> Diagnostics {
    let list = problem.into_vec().into_iter();
    list.map(|one| one.note(format!("the file is {}", file.path)))
        .collect()
}

/// Refuses, before anything is fetched, a target that the format can't have.
fn check_target(request: &ImportRequest) -> Result<()> {
    match (&request.target, request.format) {
        (Target::File { .. }, Format::ModelPack | Format::Raw) => {
            let one = Diagnostic::error(Class::Usage, "file: takes charts alone");
            Err(one.hint("use oci://HOST/PATH:TAG or oci-layout:DIR:TAG").into())
        }
        (Target::Registry { base, tag: None }, Format::ModelPack | Format::Raw) if !base.contains('/') => {
            let one = Diagnostic::error(Class::Usage, format!("oci://{base} names no repository"));
            Err(one.hint("use oci://HOST/PATH:TAG").into())
        }
        _ => Ok(()),
    }
}

fn destination(request: &ImportRequest, artifact: &Artifact) -> Result<Destination> {
    if request.format == Format::Chart {
        return oci::resolve(&request.target, artifact, request.allow_mismatch);
    }
    let target = match request.target.clone() {
        Target::Registry { base, tag } => Target::Registry {
            base,
            tag: Some(tag.map_or_else(default_tag, Ok)?),
        },
        Target::Layout { dir, tag } => Target::Layout {
            dir,
            tag: Some(tag.map_or_else(default_tag, Ok)?),
        },
        target @ Target::File { .. } => target,
    };
    oci::resolve(&target, artifact, true)
}

fn default_tag() -> Result<crate::reference::Tag> {
    let tag = DEFAULT_TAG.parse();
    tag.map_err(|error: crate::reference::ReferenceError| {
        Diagnostic::error(Class::Internal, error.to_string()).into()
    })
}

/// An artifact of a registry is copied byte for byte; the format only says what it must be.
fn copy(
    request: &ImportRequest,
    locator: &Locator,
    world: &dyn World,
    observer: &dyn Observer,
) -> Result<Delivered> {
    check_target(request)?;
    let workspace = Workspace::open(&request.workdir)?;
    workspace.retain_blobs()?;
    let target = match (request.format, request.target.clone()) {
        (Format::ModelPack | Format::Raw, Target::Registry { base, tag: None }) => Target::Registry {
            base,
            tag: Some(default_tag()?),
        },
        (Format::ModelPack | Format::Raw, Target::Layout { dir, tag: None }) => Target::Layout {
            dir,
            tag: Some(default_tag()?),
        },
        (_, target) => target,
    };
    let options = CopyOptions {
        push: request.push.clone(),
        allow_mismatch: request.allow_mismatch,
        kind: match request.format {
            Format::Chart => oci::CopiedKind::Chart,
            Format::ModelPack => oci::CopiedKind::Artifact(Some(pack::MODEL_TYPE)),
            Format::Raw => oci::CopiedKind::Artifact(None),
        },
        max_bytes: Some(request.max_bytes),
        exclusive_cache: true,
        ..CopyOptions::default()
    };
    let from = ClientOptions {
        cache: Some(workspace.blobs()),
        ..request.from.clone()
    };
    let clients = (&from, &request.to);
    let copied = oci::copy(locator, &target, &options, clients, world, observer.progress())?;
    let artifact = &copied.artifact;
    let report = match request.format {
        Format::Chart => describe(artifact),
        Format::ModelPack | Format::Raw => Report::default().with_digest(&artifact.digest, artifact.size()),
    };
    let layers = artifact.blobs.iter().skip(1);
    let content = ContentReport {
        files: layers.clone().count() as u64,
        size: layers.map(|blob| blob.size).sum(),
    };
    let report = Report {
        reference: Some(copied.destination.to_string()),
        content: Some(content),
        ..report
    };
    Ok(finished(request.format, report, copied.result))
}

/// A conflict is told in the words of what was pushed: a model has no version to raise.
fn finished(format: Format, report: Report, pushed: std::result::Result<oci::Pushed, Failure>) -> Delivered {
    let conflict = match &pushed {
        Err(Failure::Conflict {
            reference,
            ours,
            existing,
            ..
        }) if format != Format::Chart => {
            let existing = existing
                .as_ref()
                .map_or_else(|| "other bytes".to_owned(), ToString::to_string);
            let message = format!("{reference} already holds {existing}, and this artifact is {ours}");
            Some(
                Diagnostic::error(Class::Conflict, message)
                    .note("nothing was moved")
                    .hint("use another tag, or `--if-exists replace` or `--if-exists skip`"),
            )
        }
        _ => None,
    };
    let done = delivered(report, pushed);
    match conflict {
        Some(problem) => Delivered::failed(done.report, problem.into()),
        None => done,
    }
}

/// The token in the environment, which Hugging Face's own tools read too; an empty one counts as absent.
fn hub_token(world: &dyn World) -> Option<Secret> {
    let token = world.env("HF_TOKEN")?;
    let token = token.trim();
    (!token.is_empty()).then(|| Secret::new(token))
}
