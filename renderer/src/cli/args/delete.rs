//! `delete`

use clap::Args;

use super::registry::RegistryFlags;
use crate::reference::{Digest, Locator, ReferenceError};

const DELETE_HELP: &str = "\
A tag's manifest is deleted with it unless another tag names it, too. Tags that share a manifest go together in one
run: `solar-render delete REF:1.0.0 REF:latest`. Blobs are removed by the registry's garbage collection. What is not
there is a success.

Example:
  solar-render delete oci://ghcr.io/acme/charts/shop:1.0.0 --dry-run";

/// `delete`
#[derive(Args, Debug)]
#[command(after_help = DELETE_HELP)]
pub(crate) struct DeleteArgs {
    /// The tags: oci://HOST/PATH:TAG, with @DIGEST only while the tag names that digest; or a manifest without tags:
    /// oci://HOST/PATH@DIGEST
    #[arg(value_name = "REF", required = true, value_parser = in_a_registry)]
    pub(crate) references: Vec<Locator>,
    /// Fail, before anything is deleted, unless the tag names this digest
    #[arg(long, value_name = "DIGEST")]
    pub(crate) expect_digest: Option<Digest>,
    /// Delete nothing: say what would be deleted
    #[arg(long, visible_alias = "check")]
    pub(crate) dry_run: bool,
    /// Compare a tag's manifest with those of at most N other tags; where a repository has more, delete the tag alone
    /// if the registry can
    #[arg(long, value_name = "N")]
    pub(crate) max_compared_tags: Option<usize>,
    #[command(flatten)]
    pub(crate) registry: RegistryFlags,
}

/// Refuses whole repositories, and names of a cluster's releases, which this program doesn't manage.
fn in_a_registry(text: &str) -> Result<Locator, String> {
    if !text.starts_with("oci://") {
        return Err(
            "expected oci://HOST/PATH:TAG: tags in registries are deleted; releases are by `helm uninstall`"
                .to_owned(),
        );
    }
    let locator: Locator = text.parse().map_err(|error: ReferenceError| error.to_string())?;
    match locator.at() {
        Some(_) => Ok(locator),
        None => Err(format!(
            "name a tag: {text}:TAG (`solar-render tags {text}` lists them)"
        )),
    }
}
