//! Errors of pushes, pulls, copies and signatures: [`Failure`], its class and its hints.

use crate::diag::{Class, Diagnostic, Diagnostics};
use crate::oci::error::ClientError;
use crate::oci::layout::LayoutError;
use crate::oci::layout::archive_file::FileError;
use crate::oci::sign::KeyError;
use crate::reference::Digest;

/// Why a chart could not be pushed, pulled, copied or signed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Failure {
    /// The tag has another digest, and was not moved.
    #[error("{reference} already holds {}, and this chart is {ours}", existing_or(.existing.as_ref()))]
    Conflict {
        /// The reference.
        reference: String,
        /// The chart's.
        ours: Digest,
        /// The existing one, if it is a manifest.
        existing: Option<Digest>,
        /// Whether it is the tag of the chart's version, not a movable one.
        is_version: bool,
    },
    /// Another client pushed at the same time and overwrote the tag: registries have no compare-and-swap.
    #[error("{reference} holds {winner}: another push put it there right after ours, which is {ours}")]
    Overtaken {
        /// The reference.
        reference: String,
        /// The chart's.
        ours: Digest,
        /// The one that the tag has afterwards.
        winner: Digest,
    },
    /// The chart is not the expected one. Nothing was sent.
    #[error("the chart's digest is {ours}, expected was {expected}")]
    Expected {
        /// The expected digest.
        expected: Digest,
        /// The chart's.
        ours: Digest,
    },
    /// The chart that was found is not the expected one. Nothing was written.
    #[error("{reference} is {found}, expected was {expected}")]
    Unexpected {
        /// The reference.
        reference: String,
        /// The expected digest.
        expected: Digest,
        /// The existing digest.
        found: Digest,
    },
    /// The artifact is not a chart.
    #[error("{reference} is not a chart: {reason}")]
    NotAChart {
        /// The reference.
        reference: String,
        /// Why not.
        reason: String,
    },
    /// Neither tag nor digest was given, and no tag is a version.
    #[error("{place} has no matching version among its {tags} tags")]
    NoVersion {
        /// The reference.
        place: String,
        /// How many tags there are.
        tags: usize,
    },
    /// No signature is valid.
    #[error("{reference} is not signed by this key: {}", unsigned(.reasons))]
    Unsigned {
        /// The reference.
        reference: String,
        /// The digest that must be signed.
        digest: Digest,
        /// Why the existing signatures are not valid.
        reasons: Vec<String>,
    },
    /// The chart can't be signed.
    #[error("the chart can't be signed: {0}")]
    Key(KeyError),
    /// Only charts in registries can be signed.
    #[error("{0}: only charts in registries can be signed")]
    NoSignatures(String),
    /// The manifest has other tags, which would be deleted with it.
    #[error("{reference} is not deleted: {reason}")]
    NotDeleted {
        /// The reference.
        reference: String,
        /// Why it is not deleted.
        reason: String,
    },
    /// This kind of reference can't be deleted.
    #[error("{0}")]
    NotDeletable(String),
    /// An error of the registry client.
    #[error(transparent)]
    Client(#[from] ClientError),
    /// An error of an image layout.
    #[error(transparent)]
    Layout(#[from] LayoutError),
    /// An error of an archive.
    #[error(transparent)]
    File(#[from] FileError),
}

fn unsigned(reasons: &[String]) -> &'static str {
    if reasons.is_empty() {
        "there are no signatures"
    } else {
        "none of its signatures is good"
    }
}

fn existing_or(existing: Option<&Digest>) -> String {
    existing.map_or_else(|| "other bytes".to_owned(), Digest::to_string)
}

impl Failure {
    /// What kind of failure it is; decides the exit code.
    pub fn class(&self) -> Class {
        match self {
            Self::Conflict { .. } | Self::Overtaken { .. } => Class::Conflict,
            Self::Expected { .. } | Self::Unexpected { .. } => Class::Digest,
            Self::NotAChart { .. } => Class::Chart,
            Self::NoVersion { .. } | Self::NotDeleted { .. } => Class::Refused,
            Self::Unsigned { .. } => Class::Signature,
            Self::Key(_) => Class::Io,
            Self::NoSignatures(_) | Self::NotDeletable(_) => Class::Usage,
            Self::Client(error) => error.class(),
            Self::Layout(error) => error.class(),
            Self::File(error) => error.class(),
        }
    }

    /// Whether the requested artifact doesn't exist.
    pub fn is_missing(&self) -> bool {
        matches!(
            self,
            Self::Client(ClientError::Status {
                status: 404 | 410,
                ..
            })
        )
    }

    /// Which of several tags it is about.
    pub fn reference(&self) -> Option<&str> {
        match self {
            Self::Conflict { reference, .. } | Self::Overtaken { reference, .. } => Some(reference),
            _ => None,
        }
    }

    /// The digest found at the destination, when it is another one.
    pub fn existing_digest(&self) -> Option<&Digest> {
        match self {
            Self::Conflict { existing, .. } => existing.as_ref(),
            Self::Overtaken { winner, .. } => Some(winner),
            Self::Unexpected { found, .. } => Some(found),
            Self::Expected { .. }
            | Self::NotAChart { .. }
            | Self::NoVersion { .. }
            | Self::Unsigned { .. }
            | Self::Key(_)
            | Self::NoSignatures(_)
            | Self::NotDeleted { .. }
            | Self::NotDeletable(_)
            | Self::Client(_)
            | Self::Layout(_)
            | Self::File(_) => None,
        }
    }

    /// The diagnostic, with reasons and hints.
    pub fn diagnostic(&self) -> Diagnostic {
        match self {
            Self::Client(error) => error.diagnostic(),
            Self::Conflict { is_version, .. } => Diagnostic::error(self.class(), self.to_string())
                .note("nothing was moved")
                .hint(if *is_version {
                    "raise the chart's version, or use `--if-exists replace` or `--if-exists skip`"
                } else {
                    "a tag that moves from version to version is given with `--move-tag`"
                }),
            Self::Overtaken { .. } => Diagnostic::error(self.class(), self.to_string())
                .hint("see that only one job pushes this version, and push again"),
            Self::Expected { .. } => {
                Diagnostic::error(self.class(), self.to_string()).note("nothing was sent")
            }
            Self::Unexpected { .. } => {
                Diagnostic::error(self.class(), self.to_string()).note("nothing was written")
            }
            Self::NoVersion { .. } => Diagnostic::error(self.class(), self.to_string())
                .hint("`solar-render tags` lists them; `--devel` takes versions before a release, too"),
            Self::Unsigned { digest, reasons, .. } => reasons.iter().fold(
                Diagnostic::error(self.class(), self.to_string()).note(format!("its digest is {digest}")),
                |one, reason| one.note(reason.clone()),
            ),
            Self::NotDeleted { .. } => Diagnostic::error(self.class(), self.to_string())
                .hint("delete all of the manifest's tags in one run"),
            Self::NotAChart { .. }
            | Self::Key(_)
            | Self::NoSignatures(_)
            | Self::NotDeletable(_)
            | Self::Layout(_)
            | Self::File(_) => Diagnostic::error(self.class(), self.to_string()),
        }
    }
}

impl From<Failure> for Diagnostics {
    fn from(failure: Failure) -> Self {
        failure.diagnostic().into()
    }
}
