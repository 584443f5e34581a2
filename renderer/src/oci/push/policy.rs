//! The push policy as a pure function, and what a push comes to.

use crate::diag::{Class, Diagnostic, Diagnostics};
use crate::reference::{Digest, Tag};
use crate::report::Outcome;

use crate::oci::error::ClientError;
use crate::oci::layout::LayoutError;
use crate::oci::layout::archive_file::FileError;
use crate::oci::sign::{KeyError, Signer};

/// What to do when another digest is at the destination.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum IfExists {
    /// Fail: a version, once published, does not change.
    #[default]
    Fail,
    /// Put ours in its place.
    Replace,
    /// Leave it; that is success.
    Skip,
}

/// What is asked of a push.
#[derive(Debug, Clone, Default)]
pub struct PushOptions {
    /// When another digest is there.
    pub if_exists: IfExists,
    /// Fail before anything is sent unless the chart has this digest.
    pub expect_digest: Option<Digest>,
    /// Other tags of the same repository or layout that the chart gets, too. Archives have none.
    pub tags: Vec<Tag>,
    /// Only look, and say what would be done.
    pub check: bool,
    /// Sign what is at the tag afterwards, unless that is another chart. Registries only.
    pub signer: Option<Signer>,
}

/// What a push came to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pushed {
    /// Created, unchanged, replaced or skipped.
    pub outcome: Outcome,
    /// Where the chart is, as in the report.
    pub reference: String,
    /// The digest that was, or is, there instead of ours: with `replaced` and `skipped`. None for
    /// archives, which have no manifest.
    pub existing_digest: Option<Digest>,
    /// What became of the other tags, in the order asked for.
    pub tags: Vec<Tagged>,
    /// Signed or unchanged, where it was asked for.
    pub signature: Option<Outcome>,
}

/// What became of one of several tags.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tagged {
    /// The tag.
    pub tag: Tag,
    /// Created, unchanged, replaced or skipped.
    pub outcome: Outcome,
    /// The digest that was, or is, there instead of ours.
    pub existing_digest: Option<Digest>,
}

/// Why a push failed.
#[derive(Debug, thiserror::Error)]
pub enum Failure {
    /// Another digest is there. Nothing was moved.
    #[error("{reference} already holds {}, and this chart is {ours}", existing_or(.existing.as_ref()))]
    Conflict {
        /// Where.
        reference: String,
        /// The chart's.
        ours: Digest,
        /// The one found, where there is a manifest.
        existing: Option<Digest>,
    },
    /// Someone pushed at the same time, and won: registries have no compare-and-swap.
    #[error("{reference} holds {winner}: another push put it there right after ours, which is {ours}")]
    Overtaken {
        /// Where.
        reference: String,
        /// The chart's.
        ours: Digest,
        /// The one found afterwards.
        winner: Digest,
    },
    /// The chart is not the expected one. Nothing was sent.
    #[error("the chart's digest is {ours}, expected was {expected}")]
    Expected {
        /// The one asked for.
        expected: Digest,
        /// The chart's.
        ours: Digest,
    },
    /// The chart that was found is not the expected one. Nothing was written.
    #[error("{reference} is {found}, expected was {expected}")]
    Unexpected {
        /// Where.
        reference: String,
        /// The one asked for.
        expected: Digest,
        /// The one there.
        found: Digest,
    },
    /// What is there is no chart.
    #[error("{reference} is not a chart: {reason}")]
    NotAChart {
        /// Where.
        reference: String,
        /// Why not.
        reason: String,
    },
    /// Neither tag nor digest was given, and no tag is a version.
    #[error("{place} has no version that fits: none of its {tags} tags is one that is asked for")]
    NoVersion {
        /// Where.
        place: String,
        /// How many tags there are.
        tags: usize,
    },
    /// No signature there is good.
    #[error("{reference} is not signed by this key: {}", unsigned(.reasons))]
    Unsigned {
        /// Where.
        reference: String,
        /// What would have to be signed.
        digest: Digest,
        /// Why the signatures that are there are not good.
        reasons: Vec<String>,
    },
    /// A signature can't be made.
    #[error("the chart can't be signed: {0}")]
    Key(KeyError),
    /// Signatures are made in registries.
    #[error("{0}: only charts in registries can be signed")]
    NoSignatures(String),
    /// The registry.
    #[error(transparent)]
    Client(#[from] ClientError),
    /// The layout on disk.
    #[error(transparent)]
    Layout(#[from] LayoutError),
    /// The archive.
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

/// What to do next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::oci) enum Plan {
    /// Send, and call it so.
    Send(Outcome),
    /// Nothing to do, and call it so.
    Done(Outcome),
    /// Refuse.
    Conflict,
}

/// The policy: what is there (`same`: it is ours; `None`: nothing) decides.
pub(in crate::oci) fn plan(same: Option<bool>, if_exists: IfExists) -> Plan {
    match (same, if_exists) {
        (None, _) => Plan::Send(Outcome::Created),
        (Some(true), _) => Plan::Done(Outcome::Unchanged),
        (Some(false), IfExists::Fail) => Plan::Conflict,
        (Some(false), IfExists::Replace) => Plan::Send(Outcome::Replaced),
        (Some(false), IfExists::Skip) => Plan::Done(Outcome::Skipped),
    }
}

/// The tags to set: the chart's own first, none twice.
pub(in crate::oci) fn all_tags<'t>(own: &'t Tag, others: &'t [Tag]) -> Vec<&'t Tag> {
    let mut all = vec![own];
    for tag in others {
        if !all.contains(&tag) {
            all.push(tag);
        }
    }
    all
}

/// The chart's own tag and the others, as a push reports them.
pub(in crate::oci) fn pushed(reference: String, list: Vec<Tagged>) -> Option<Pushed> {
    let mut list = list.into_iter();
    let own = list.next()?;
    Some(Pushed {
        outcome: own.outcome,
        reference,
        existing_digest: own.existing_digest,
        tags: list.collect(),
        signature: None,
    })
}

impl Failure {
    /// What kind of failure it is; decides the exit code.
    pub fn class(&self) -> Class {
        match self {
            Self::Conflict { .. } | Self::Overtaken { .. } => Class::Conflict,
            Self::Expected { .. } | Self::Unexpected { .. } => Class::Digest,
            Self::NotAChart { .. } => Class::Chart,
            Self::NoVersion { .. } => Class::Refused,
            Self::Unsigned { .. } => Class::Signature,
            Self::Key(_) => Class::Io,
            Self::NoSignatures(_) => Class::Usage,
            Self::Client(error) => error.class(),
            Self::Layout(error) => error.class(),
            Self::File(error) => error.class(),
        }
    }

    /// Whether what was asked for is not there.
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
            | Self::Client(_)
            | Self::Layout(_)
            | Self::File(_) => None,
        }
    }

    /// With reasons and hints.
    pub fn diagnostic(&self) -> Diagnostic {
        match self {
            Self::Client(error) => error.diagnostic(),
            Self::Conflict { .. } => Diagnostic::error(self.class(), self.to_string())
                .note("nothing was moved")
                .hint("raise the chart's version, or use `--if-exists replace` or `--if-exists skip`"),
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
            Self::NotAChart { .. }
            | Self::Key(_)
            | Self::NoSignatures(_)
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_policy_has_three_states_and_three_answers() {
        use IfExists::{Fail, Replace, Skip};
        let table = [
            (None, Fail, Plan::Send(Outcome::Created)),
            (None, Replace, Plan::Send(Outcome::Created)),
            (None, Skip, Plan::Send(Outcome::Created)),
            (Some(true), Fail, Plan::Done(Outcome::Unchanged)),
            (Some(true), Replace, Plan::Done(Outcome::Unchanged)),
            (Some(true), Skip, Plan::Done(Outcome::Unchanged)),
            (Some(false), Fail, Plan::Conflict),
            (Some(false), Replace, Plan::Send(Outcome::Replaced)),
            (Some(false), Skip, Plan::Done(Outcome::Skipped)),
        ];
        for (same, if_exists, expected) in table {
            assert_eq!(plan(same, if_exists), expected, "{same:?} {if_exists:?}");
        }
    }
}
