//! Keys of given values that nothing in the chart reads: most are misspelt.

use super::{LintOptions, Linter, rules};
use crate::chart::load::Loaded;
use crate::diag::{Class, Diagnostic};
use crate::value_reads::{UnreadKey, ValueReads};
use crate::values::{Defaults, KeyOrigins};

const FOLDER: &str = "templates/";

pub(super) fn check(chart: &Loaded, options: &LintOptions, linter: &mut Linter) {
    if options.values.is_empty() {
        return;
    }
    let Ok(reads) = ValueReads::of(chart, &[&options.values]) else {
        return;
    };
    let origins = options.places.keys();
    for one in reads.unread(&options.values) {
        let diagnostic = Diagnostic::warning(Class::Values, message(&one));
        if let Some(diagnostic) = described(diagnostic, &one, &origins, &[]) {
            linter.own(FOLDER, &rules::UNREAD_VALUE, diagnostic);
        }
    }
}

/// The message about a key.
pub(super) fn message(one: &UnreadKey) -> String {
    format!("nothing in the chart reads `{}`", one.path.join("."))
}

/// Adds the location and what may be meant. `None` for a key that is there to be referred to by aliases.
pub(super) fn described(
    diagnostic: Diagnostic,
    one: &UnreadKey,
    origins: &KeyOrigins<'_>,
    defaults: &[Defaults<'_>],
) -> Option<Diagnostic> {
    let diagnostic = match origins.find(&one.path, defaults) {
        Some(origin) if origin.is_shared => return None,
        Some(origin) => diagnostic.at(origin.location),
        None => diagnostic,
    };
    Some(match &one.near {
        Some(near) => diagnostic.hint(format!("did you mean `{near}`?")),
        None => diagnostic,
    })
}
