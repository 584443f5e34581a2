//! `tags`

use super::args::tags::Tags;
use super::client::client_options;
use super::context::{Context, Done, Outcome};
use super::progress::Progress;
use crate::diag::{Class, Diagnostic, Result};
use crate::oci;
use crate::report::{self, TagEntry};

/// `tags`
pub(crate) fn tags(args: &Tags, context: &Context<'_>) -> Done {
    match list(args, context) {
        Ok(done) => done,
        Err(problem) => Done::One(Box::new(Outcome::failed(problem))),
    }
}

fn list(args: &Tags, context: &Context<'_>) -> Result<Done> {
    let place = &args.place.place;
    if args.place.at().is_some() {
        let one = Diagnostic::error(
            Class::Usage,
            "all tags are listed: leave out the tag and the digest",
        );
        return Err(one.hint(format!("{place} is the repository")).into());
    }
    let client = client_options(&args.registry)?;
    let progress = Progress::new(context.printer, "reading");
    let tags = oci::tags(place, &client, context.world, &progress)?;
    let entries: Vec<TagEntry> = tags
        .into_iter()
        .map(|one| TagEntry {
            tag: one.tag.to_string(),
            version: one.version,
        })
        .collect();
    let line = |entry: &TagEntry| format!("{}\n", entry.version.as_ref().unwrap_or(&entry.tag));
    Ok(Done::Document {
        text: entries.iter().map(line).collect(),
        json: report::tags_to_json(&place.to_string(), &entries),
    })
}
