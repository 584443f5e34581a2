//! `version`

use super::args::version::VersionArgs;
use super::context::CommandResult;
use crate::report::documents::{Document as _, VersionDocument};

/// The package's.
const VERSION: &str = env!("CARGO_PKG_VERSION");
/// The commit it was built from.
const COMMIT: &str = env!("SOLAR_COMMIT");

/// `version`
pub(crate) fn version(args: &VersionArgs) -> CommandResult {
    let text = if args.short {
        format!("v{VERSION}\n")
    } else {
        format!("solar-render {VERSION} (commit {COMMIT})\n")
    };
    CommandResult::Document {
        json: VersionDocument {
            version: VERSION,
            commit: COMMIT,
        }
        .to_json(),
        text,
    }
}
