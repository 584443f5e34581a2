//! The flags of the push policy.

use clap::{Args, ValueEnum};

use super::sign::SigningFlags;
use crate::oci::IfExists;
use crate::reference::{Digest, Tag};

/// What may happen at the target.
#[derive(Args, Debug, Clone)]
#[command(next_help_heading = "Policy")]
pub(crate) struct PolicyFlags {
    /// What to do when another digest is at the tag [default: fail]
    #[arg(long, value_enum, value_name = "WHAT")]
    pub(crate) if_exists: Option<IfExistsChoice>,
    /// Fail, before anything is sent, unless the digest is this one
    #[arg(long, value_name = "DIGEST")]
    pub(crate) expect_digest: Option<Digest>,
    /// Also give the chart this tag, by the same policy; may be repeated
    #[arg(long, value_name = "TAG")]
    pub(crate) tag: Vec<Tag>,
    /// Also move this tag to the chart, whatever is there (latest, 1.2): `--if-exists` is about the version; may be
    /// repeated
    #[arg(long, value_name = "TAG")]
    pub(crate) move_tag: Vec<Tag>,
    /// Allow a tag or a repository that does not match the chart's name or version
    #[arg(long, value_name = "BOOL", num_args = 0..=1, require_equals = true, default_value = "false", default_missing_value = "true")]
    pub(crate) allow_mismatch: bool,
    #[command(flatten)]
    pub(crate) signing: SigningFlags,
}

/// What to do when another digest is at the tag.
#[derive(ValueEnum, Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum IfExistsChoice {
    /// Refuse, and move nothing
    Fail,
    /// Leave it, and succeed
    Skip,
    /// Move the tag
    Replace,
}

impl From<IfExistsChoice> for IfExists {
    fn from(exists: IfExistsChoice) -> Self {
        match exists {
            IfExistsChoice::Fail => Self::Fail,
            IfExistsChoice::Skip => Self::Skip,
            IfExistsChoice::Replace => Self::Replace,
        }
    }
}
