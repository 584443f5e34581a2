//! `solar-operator export`: the YAML on standard output, what is not in it on standard error.

use std::collections::BTreeSet;
use std::io::{self, ErrorKind, Write as _};

use solar_render::config::names as rules;
use solar_render::diag::{Class, Diagnostic, Diagnostics};

use super::args::ExportArgs;
use super::cluster::with_client;
use super::draw;
use crate::export::{ExportError, Output, Summary, export as write};

/// Standard output and standard error.
struct Streams;

impl Output for Streams {
    fn yaml(&mut self, text: &str) -> io::Result<()> {
        io::stdout().write_all(text.as_bytes())
    }

    fn note(&mut self, text: &str) {
        // Whoever has closed standard error reads nothing of it.
        let _ = writeln!(io::stderr(), "{}", draw::line(text));
    }
}

/// Prints the objects of the cluster.
pub(super) fn export(args: &ExportArgs) -> Result<(), Diagnostics> {
    let namespaces = namespaces(&args.namespace)?;
    let summary = with_client(&args.cluster, async |client| {
        match write(&client, &namespaces, &mut Streams).await {
            // A reader that has had enough is no failure.
            Err(ExportError::Write(error)) if error.kind() == ErrorKind::BrokenPipe => Ok(Summary::default()),
            Err(error) => Err(explained(&error).into()),
            Ok(summary) => {
                io::stdout()
                    .flush()
                    .map_err(|error| explained(&ExportError::Write(error)))?;
                Ok(summary)
            }
        }
    })?;
    let counts = summary.exported.iter();
    let counts: Vec<String> = counts.map(|(kind, count)| format!("{count} {kind}")).collect();
    if !counts.is_empty() {
        Streams.note(&format!("exported: {}", counts.join(", ")));
    }
    match summary.unreadable {
        0 => Ok(()),
        count => {
            let message = format!("the export is not complete: {count} objects can't be read");
            Err(Diagnostic::error(Class::Config, message)
                .hint("they are named above")
                .into())
        }
    }
}

/// Each once.
fn namespaces(given: &[String]) -> Result<BTreeSet<String>, Diagnostics> {
    let words = given
        .iter()
        .map(|word| word.trim())
        .filter(|word| !word.is_empty());
    let namespaces: BTreeSet<String> = words.map(str::to_owned).collect();
    let wrong = namespaces.iter().filter_map(|name| {
        let why = rules::namespace(name).err()?;
        let message = format!("--namespace: {name:?} {why}");
        Some(Diagnostic::error(Class::Usage, message))
    });
    let wrong: Vec<Diagnostic> = wrong.collect();
    Diagnostics::or(wrong, namespaces)
}

fn explained(error: &ExportError) -> Diagnostic {
    let incomplete = "the export is not complete";
    let problem = Diagnostic::error(Class::Io, error.to_string()).note(incomplete);
    match error {
        ExportError::NotServed => Diagnostic::error(Class::Config, error.to_string())
            .hint("is it the right cluster? --context names another one of the kubeconfig"),
        ExportError::List { .. } => problem.hint("the account has to get and list all kinds of the group"),
        ExportError::Expired { .. } => problem.hint("run it again, or with --namespace for some at a time"),
        ExportError::Write(_) => problem.hint("is there room for it?"),
    }
}
