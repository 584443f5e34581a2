//! `tags`

use super::args::tags::TagsArgs;
use super::client::client_options;
use super::context::{CommandOutcome, CommandResult, Context};
use super::progress::TerminalProgress;
use crate::diag::{Class, Diagnostic, Result};
use crate::oci;
use crate::report::TagEntry;
use crate::report::documents::{Document as _, TagsDocument};

/// `tags`
pub(crate) fn tags(args: &TagsArgs, context: &Context<'_>) -> CommandResult {
    match list(args, context) {
        Ok(done) => done,
        Err(problem) => CommandResult::One(Box::new(CommandOutcome::failed(problem))),
    }
}

fn list(args: &TagsArgs, context: &Context<'_>) -> Result<CommandResult> {
    let place = &args.place.place;
    if args.place.at().is_some() {
        let one = Diagnostic::error(
            Class::Usage,
            "all tags are listed: leave out the tag and the digest",
        );
        return Err(one.hint(format!("{place} is the repository")).into());
    }
    let client = client_options(&args.registry)?;
    let progress = TerminalProgress::new(context.printer, "reading");
    let tags = oci::tags(place, &client, context.world, &progress)?;
    let entries: Vec<TagEntry> = tags
        .into_iter()
        .map(|one| TagEntry {
            tag: one.tag.to_string(),
            version: one.version,
        })
        .collect();
    let line = |entry: &TagEntry| format!("{}\n", entry.version.as_ref().unwrap_or(&entry.tag));
    Ok(CommandResult::Document {
        text: entries.iter().map(line).collect(),
        json: TagsDocument {
            reference: place.to_string(),
            tags: entries,
        }
        .to_json(),
    })
}
