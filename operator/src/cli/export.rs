//! `solar-operator export`: the YAML on standard output, what is not in it on standard error.
//!
//! Standard output gets the YAML once all of it was read: a part of it could be applied as if it were all.

use std::collections::BTreeSet;
use std::io::{self, ErrorKind, Seek as _, Write};

use kube::Client;
use solar_render::config::names as rules;
use solar_render::diag::{Class, Diagnostic, Diagnostics};
use tempfile::SpooledTempFile;

use super::args::ExportArgs;
use super::cluster::with_client;
use super::printable;
use crate::export::{ExportError, Output, Summary, export as write};

/// How many bytes of YAML are kept in memory; more are in a temporary file.
const MAX_IN_MEMORY: usize = 16 << 20;

/// YAML until it is complete, and standard error.
struct Streams {
    yaml: SpooledTempFile,
}

impl Output for Streams {
    fn yaml(&mut self, text: &str) -> io::Result<()> {
        self.yaml.write_all(text.as_bytes())
    }

    fn note(&mut self, text: &str) {
        note(text);
    }
}

fn note(text: &str) {
    // Whoever has closed standard error reads nothing of it.
    let _ = writeln!(io::stderr(), "{}", printable::line(text));
}

/// Prints the objects of the cluster.
pub(super) fn export(args: &ExportArgs) -> Result<(), Diagnostics> {
    let namespaces = namespaces(&args.namespace)?;
    let summary = with_client(&args.cluster, async |client| {
        match write_whole(&client, &namespaces, &mut io::stdout()).await {
            // A reader that has had enough is no failure.
            Err(ExportError::Write(error)) if error.kind() == ErrorKind::BrokenPipe => Ok(Summary::default()),
            Err(error) => Err(explained(&error).into()),
            Ok(summary) => Ok(summary),
        }
    })?;
    let counts = summary.exported.iter();
    let counts: Vec<String> = counts.map(|(kind, count)| format!("{count} {kind}")).collect();
    if !counts.is_empty() {
        note(&format!("exported: {}", counts.join(", ")));
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

/// Writes all of the YAML, or nothing.
async fn write_whole(
    client: &Client,
    namespaces: &BTreeSet<String>,
    out: &mut impl Write,
) -> Result<Summary, ExportError> {
    let mut streams = Streams {
        yaml: SpooledTempFile::new(MAX_IN_MEMORY),
    };
    let summary = write(client, namespaces, &mut streams).await?;
    streams.yaml.rewind()?;
    io::copy(&mut streams.yaml, out)?;
    out.flush()?;
    Ok(summary)
}

/// Each once.
fn namespaces(given: &[String]) -> Result<BTreeSet<String>, Diagnostics> {
    let words = given
        .iter()
        .map(|word| word.trim())
        .filter(|word| !word.is_empty());
    let namespaces: BTreeSet<String> = words.map(str::to_owned).collect();
    if namespaces.is_empty() && !given.is_empty() {
        // An empty variable must not export the whole cluster.
        let problem = Diagnostic::error(Class::Usage, "--namespace: it is empty");
        return Err(problem.hint("leave it out to export all namespaces").into());
    }
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
        ExportError::List { cause, .. } => match cause.as_ref() {
            kube::Error::Api(status) if matches!(status.code, 401 | 403) => {
                problem.hint("the account has to get and list all kinds of the group")
            }
            _ => problem,
        },
        ExportError::Repeated { .. } => problem.hint("a proxy in between may have cached the page"),
        ExportError::Expired { .. } => problem.hint("run it again, or with --namespace for some at a time"),
        ExportError::Write(_) => problem.hint("is there room for it?"),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::tests::{api, refusal, run};

    /// What an API server's lists become, of which the third is answered by `last`.
    fn written(last: (u16, Value)) -> (Result<Summary, ExportError>, String) {
        const GROUP: &str = "/apis/solar.opendefense.cloud/v1alpha1";
        let answer = move |_: &str, path: &str, _: Value| {
            if path == GROUP {
                let resource = |(name, kind)| json!({"name": name, "kind": kind, "namespaced": true, "singularName": "", "verbs": ["list"]});
                let kinds = [
                    ("registries", "Registry"),
                    ("releases", "Release"),
                    ("targets", "Target"),
                ];
                return Some((
                    200,
                    json!({"groupVersion": "v", "resources": kinds.map(resource)}),
                ));
            }
            if path.ends_with("/targets") {
                return Some(last.clone());
            }
            let item = json!({"metadata": {"name": "a", "namespace": "tenant"}, "spec": {}});
            Some((200, json!({"metadata": {}, "items": [item]})))
        };
        let mut out = Vec::new();
        let ended = run(async {
            let client = api(answer);
            write_whole(&client, &BTreeSet::new(), &mut out).await
        });
        (ended, String::from_utf8(out).expect("YAML"))
    }

    /// `--namespace "$UNSET"` once exported the whole cluster.
    #[test]
    fn an_empty_namespace_is_refused() {
        let given = |words: &[&str]| {
            let words: Vec<String> = words.iter().map(|word| (*word).to_owned()).collect();
            namespaces(&words)
        };
        assert_eq!(given(&[]).expect("all namespaces"), BTreeSet::new());
        for empty in [&[""][..], &[" ", ""]] {
            let problem = given(empty).expect_err("nothing is named");
            assert!(
                problem.to_string().contains("--namespace: it is empty"),
                "{problem}"
            );
        }
        let one = given(&["", "tenant"]).expect("one namespace");
        assert_eq!(one, BTreeSet::from(["tenant".to_owned()]));
    }

    /// A server error once had the hint about rights, too.
    #[test]
    fn only_a_refusal_has_the_hint_about_rights() {
        for (status, reason, has_hint) in [
            (401, "Unauthorized", true),
            (403, "Forbidden", true),
            (500, "InternalError", false),
        ] {
            let (ended, _) = written(refusal(status, reason));
            let problem = explained(&ended.expect_err("a refusal"));
            assert_eq!(
                format!("{problem:?}").contains("has to get and list"),
                has_hint,
                "{problem:?}"
            );
        }
    }

    /// Standard output once had the objects that were read until then, which can be applied.
    #[test]
    fn an_export_that_fails_writes_nothing() {
        for failure in [
            refusal(403, "Forbidden"),
            refusal(500, "InternalError"),
            (200, json!("<html>")),
        ] {
            let (ended, yaml) = written(failure);
            assert!(matches!(ended, Err(ExportError::List { .. })), "{ended:?}");
            assert_eq!(yaml, "");
        }
        let (ended, yaml) = written((200, json!({"metadata": {}, "items": []})));
        assert_eq!(ended.expect("an export").exported.len(), 2);
        assert_eq!(yaml.matches("\n---\n").count(), 2, "{yaml}");
    }
}
