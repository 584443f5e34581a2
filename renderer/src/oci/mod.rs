//! Destinations and sources of charts: registries, OCI image layouts on disk, folders.
//!
//! In: a finished [`Artifact`] and a [`Target`]. [`resolve`] turns the target into a
//! [`Destination`] by Helm's rules; [`push`] writes the artifact there under the push policy, the same for all three.
//! Nothing here makes or changes a manifest.
//!
//! # Guarantees
//! - The same digest at the destination: `unchanged`, and nothing is written.
//! - Another digest at the destination: the tag is not moved, unless [`IfExists`] allows it.
//! - Blobs are written before the manifests that refer to them; no incomplete file has its final name.
//! - Secrets appear in no error, no trace line and no `Debug`.

use std::fmt;
use std::path::{Path, PathBuf};
use std::time::Duration;

pub use self::auth::credentials;
pub use self::auth::credentials::{AmbientHost, Credentials, HOST_VARIABLE, Secret};
pub use self::auth::helper::end_helpers;
pub use self::cache::{BlobCache, CacheUsage, Retention, VARIABLE as CACHE_VARIABLE};
pub use self::client::cancellation::Cancellation;
pub use self::client::retry;
pub use self::client::retry::RetryPolicy;
pub use self::client::tls::{TlsError, TlsOptions};
pub use self::copy::{Copied, CopiedKind, CopyOptions, copy};
pub use self::delete::{DeleteOptions, Deleted, delete};
pub use self::download::{Download, Downloader, Page, RequestHeaders, ResumableSink};
pub use self::error::{ClientError, Link};
pub use self::failure::Failure;
pub use self::layout::LayoutError;
pub use self::layout::archive_file::FileError;
pub(crate) use self::layout::archive_file::provenance_of;
pub use self::login::{Kept, LoginError, login, logout};
pub use self::pull::fetch;
pub use self::pull::tags::{Listed, tags};
pub use self::pull::{PullOptions, Pulled, Vouched, pull, verify_provenance};
pub(crate) use self::pull::{check_provenance, taken};
pub use self::push::equivalence::{Equivalent, Sameness};
pub use self::push::policy::{IfExists, PushOptions, Pushed, TagResult};
pub use self::push::publish::{Batch, Finished, Going, Ready, publish};
pub use self::sign::files;
pub use self::sign::{
    CosignSigner, KeyError, MAX_KEY_FILE, NewPair, SignatureFormat, SigningKey, Subjected, VerifyingKey,
    sign, verify,
};
use crate::diag::{Class, Diagnostic, Diagnostics};
use crate::package::artifact::Artifact;
use crate::reference::{Digest, Reference, Tag, Target, WHY_CHARTS_ARE_NAMED, mismatches};
use crate::world::World;

mod auth;
mod cache;
pub(crate) mod client;
mod copy;
mod delete;
mod download;
mod error;
mod failure;
#[cfg(fuzzing)]
pub mod fuzzing;
mod layout;
mod login;
mod pull;
mod push;
mod sign;

/// The exact destination of a chart.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Destination {
    /// A tag in a registry.
    Registry(Reference),
    /// A tag in an image layout on disk.
    Layout {
        /// The layout's folder.
        dir: PathBuf,
        /// The tag.
        tag: Tag,
    },
    /// An archive.
    File {
        /// The file.
        path: PathBuf,
    },
}

/// The options of the registry client.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct ClientOptions {
    /// `http://` instead of `https://`.
    pub plain_http: bool,
    /// Trusted roots and the client certificate.
    pub tls: TlsOptions,
    /// Credentials from the command line.
    pub credentials: Option<Credentials>,
    /// The registry that the environment's credentials are for.
    pub ambient_host: AmbientHost,
    /// A credentials file to read before all others (`--registry-config`).
    pub registry_config: Option<PathBuf>,
    /// The idle timeout of a request: no response, and no byte of its body transferred. A response's body that comes with
    /// less than 1 KiB a second over this time counts as cut.
    pub timeout: Duration,
    /// How long all requests over one set of connections may take, including retries.
    pub deadline: Option<Duration>,
    /// After how long without a response [`Progress::waiting`] is called.
    pub notice_after: Duration,
    /// The retry policy.
    pub retry: RetryPolicy,
    /// The cache of blobs that are read.
    pub cache: Option<BlobCache>,
    /// The User-Agent header.
    pub user_agent: String,
}

impl Default for ClientOptions {
    /// HTTPS, the system's roots, no explicit credentials, 60 s.
    fn default() -> Self {
        Self {
            plain_http: false,
            tls: TlsOptions::default(),
            credentials: None,
            ambient_host: AmbientHost::default(),
            registry_config: None,
            timeout: Duration::from_secs(60),
            deadline: None,
            notice_after: Duration::from_secs(2),
            retry: RetryPolicy::default(),
            cache: None,
            user_agent: concat!("solar-render/", env!("CARGO_PKG_VERSION")).to_owned(),
        }
    }
}

/// A file that is fetched, for [`Progress::file_started`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FetchedFile<'f> {
    /// Its path in the artifact.
    pub name: &'f str,
    /// Which one it is, from 1.
    pub number: usize,
    /// How many there are.
    pub of: usize,
    /// Its size in bytes, if it is known.
    pub size: Option<u64>,
}

/// Receives the progress of a push or an import. Every method has an empty default.
pub trait Progress {
    /// A missing blob is about to be sent; `size` in bytes.
    fn blob_started(&self, _digest: &Digest, _size: u64) {}
    /// `sent` bytes of it were sent; a retry starts at 0 again.
    fn blob_progress(&self, _digest: &Digest, _sent: u64) {}
    /// The destination has the blob; `sent` is false if it already had it.
    fn blob_done(&self, _digest: &Digest, _sent: bool) {}
    /// A file of an import is about to be fetched.
    fn file_started(&self, _file: &FetchedFile<'_>) {}
    /// `received` bytes of it are there; after a damaged part it starts at 0 again.
    fn file_progress(&self, _received: u64) {}
    /// It is complete.
    fn file_done(&self) {}
    /// No response has come for a while ([`ClientOptions::notice_after`]): the pending request, in one line without
    /// secrets. Called once for all clients that share connections.
    fn waiting(&self, _line: &str) {}
    /// A line for `-v`, without secrets.
    fn trace(&self, _line: &str) {}
    /// Whether trace lines are used; formatting them costs time.
    fn traces(&self) -> bool {
        true
    }
}

/// Ignores all progress.
#[derive(Debug, Default, Clone, Copy)]
pub struct Silent;

impl Progress for Silent {
    fn traces(&self) -> bool {
        false
    }
}

/// Applies the tag rules: without a tag, `/<chart name>:<version>` is appended as in Helm, with `+` as `_`. With one
/// the reference is exact, and must name this chart and version unless `allow_mismatch`: Helm and Flux rely on it. Uses
/// neither network nor disk.
///
/// # Errors
/// Class `Config`: a mismatch, or a chart whose name or version can't be in a reference.
/// Name and version mismatches are reported together.
pub fn resolve(
    target: &Target,
    artifact: &Artifact,
    allow_mismatch: bool,
) -> Result<Destination, Diagnostics> {
    let invalid = |error: crate::reference::ReferenceError| {
        Diagnostics::from(Diagnostic::error(Class::Config, error.to_string()).note(format!(
            "the chart is {} version {}",
            artifact.name, artifact.version
        )))
    };
    let version_tag = || Tag::from_version(&artifact.version).map_err(invalid);
    match target {
        Target::Registry { base, tag: None } => {
            let repository = format!("{base}/{}", artifact.name).parse().map_err(invalid)?;
            let tag = version_tag()?;
            Ok(Destination::Registry(Reference { repository, tag }))
        }
        Target::Registry { base, tag: Some(tag) } => {
            let repository: crate::reference::Repository = base.parse().map_err(invalid)?;
            if !allow_mismatch {
                check(artifact, tag, Some(repository.name()))?;
            }
            let tag = tag.clone();
            Ok(Destination::Registry(Reference { repository, tag }))
        }
        Target::Layout { dir, tag: None } => {
            let dir = dir.join(file_name(artifact, &artifact.name)?);
            let tag = version_tag()?;
            Ok(Destination::Layout { dir, tag })
        }
        Target::Layout { dir, tag: Some(tag) } => {
            if !allow_mismatch {
                check(artifact, tag, None)?;
            }
            let (dir, tag) = (dir.clone(), tag.clone());
            Ok(Destination::Layout { dir, tag })
        }
        Target::File { dir } => {
            let name = artifact.archive_name();
            let path = dir.join(file_name(artifact, &name)?);
            Ok(Destination::File { path })
        }
    }
}

fn check(artifact: &Artifact, tag: &Tag, last: Option<&str>) -> Result<(), Diagnostics> {
    let hint = "leave the tag out and both are appended, or lift the rule with `--allow-mismatch`";
    let found = mismatches(last, tag, &artifact.name, &artifact.version);
    let mut list: Vec<_> = found
        .into_iter()
        .map(|message| Diagnostic::error(Class::Config, message))
        .collect();
    if let Some(last) = list.pop() {
        list.push(last.note(WHY_CHARTS_ARE_NAMED).hint(hint));
    }
    Diagnostics::or(list, ())
}

/// A file name that can't leave the folder it is joined to.
fn file_name<'n>(artifact: &Artifact, name: &'n str) -> Result<&'n Path, Diagnostics> {
    let path = Path::new(name);
    if path.file_name() == Some(path.as_os_str()) && !name.contains('\\') {
        return Ok(path);
    }
    let Artifact { name, version, .. } = artifact;
    let message = format!("the chart's name {name:?} and version {version:?} make no file name");
    Err(Diagnostic::error(Class::Config, message).into())
}

/// Pushes `artifact` to `destination`. Blocks until it is done; requests are sent from this thread.
///
/// # Errors
/// [`Failure`], with the existing digest if it differs. If [`PushOptions::expect_digest`] differs, no request is sent.
pub fn push(
    artifact: &Artifact,
    destination: &Destination,
    options: &PushOptions,
    client: &ClientOptions,
    world: &dyn World,
    progress: &dyn Progress,
) -> Result<Pushed, Failure> {
    if let Some(expected) = &options.expect_digest
        && *expected != artifact.digest
    {
        return Err(Failure::Expected {
            expected: expected.clone(),
            ours: artifact.digest.clone(),
        });
    }
    if options.signer.is_some() && !matches!(destination, Destination::Registry(_)) {
        return Err(Failure::NoSignatures(destination.to_string()));
    }
    match destination {
        Destination::Registry(reference) => push::push(artifact, reference, options, client, world, progress),
        Destination::Layout { dir, tag } => layout::push(artifact, dir, tag, options, progress),
        Destination::File { path } => layout::archive_file::push(artifact, path, options),
    }
}

/// The runtime of the registry client, on this thread.
fn runtime() -> Result<tokio::runtime::Runtime, ClientError> {
    tokio::runtime::Builder::new_current_thread()
        .enable_io()
        .enable_time()
        .build()
        .map_err(ClientError::Runtime)
}

impl fmt::Display for Destination {
    /// The form in reports: `host/repo/name:1.0.0`, `oci-layout:DIR:tag`, `file:PATH`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Registry(reference) => write!(f, "{reference}"),
            Self::Layout { dir, tag } => write!(f, "oci-layout:{}:{tag}", dir.display()),
            Self::File { path } => write!(f, "file:{}", path.display()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn artifact(name: &str, version: &str) -> Artifact {
        Artifact {
            name: name.to_owned(),
            version: version.to_owned(),
            manifest: Vec::new(),
            digest: Digest::from_sha256(&[0; 32]),
            blobs: Vec::new(),
        }
    }

    #[test]
    fn targets_become_destinations_by_helms_rules() {
        let table = [
            ("oci://h", "h/app:1.0.0_b"),
            ("oci://h:5000/a/b", "h:5000/a/b/app:1.0.0_b"),
            ("oci://h/a/app:1.0.0_b", "h/a/app:1.0.0_b"),
            ("oci-layout:out", "oci-layout:out/app:1.0.0_b"),
            ("oci-layout:out:1.0.0_b", "oci-layout:out:1.0.0_b"),
            ("file:out", "file:out/app-1.0.0+b.tgz"),
        ];
        for (target, expected) in table {
            let target: Target = target.parse().unwrap();
            let destination = resolve(&target, &artifact("app", "1.0.0+b"), false).unwrap();
            assert_eq!(destination.to_string(), expected);
        }
    }

    #[test]
    fn a_tag_or_name_that_differs_from_the_charts_is_refused_with_both() {
        let table = [
            ("oci://h/a/app:2.0.0", 1, "\"2.0.0\"", "\"1.0.0\""),
            ("oci://h/a/other:1.0.0", 1, "\"other\"", "\"app\""),
            ("oci://h/a/other:2.0.0", 2, "\"other\"", "\"1.0.0\""),
            ("oci-layout:out:2.0.0", 1, "\"2.0.0\"", "\"1.0.0\""),
        ];
        for (text, count, theirs, ours) in table {
            let target: Target = text.parse().unwrap();
            let errors = resolve(&target, &artifact("app", "1.0.0"), false).unwrap_err();
            let shown = errors.to_string();
            assert_eq!(errors.iter().count(), count, "{shown}");
            assert_eq!(errors.class(), Class::Config);
            assert!(shown.contains(theirs) && shown.contains(ours), "{shown}");
            assert!(
                errors
                    .iter()
                    .any(|one| one.hints.iter().any(|hint| hint.contains("--allow-mismatch")))
            );
            assert!(
                resolve(&target, &artifact("app", "1.0.0"), true).is_ok(),
                "{text}"
            );
        }
    }

    #[test]
    fn names_that_fit_no_reference_or_file_are_refused() {
        let table = [
            ("oci://h/a", "App", "1.0.0"),
            ("oci://h/a", "app", "1.0.0~"),
            ("oci-layout:out", "../app", "1.0.0"),
            ("oci-layout:out", "..", "1.0.0"),
            ("file:out", "a/b", "1.0.0"),
            ("file:out", "a", "1/0"),
        ];
        for (target, name, version) in table {
            let target: Target = target.parse().unwrap();
            assert!(
                resolve(&target, &artifact(name, version), true).is_err(),
                "{name} {version}"
            );
        }
    }
}
