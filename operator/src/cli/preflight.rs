//! `solar-operator preflight`: whether a cluster is ready for the operator.

use solar_render::diag::{Class, Diagnostic, Diagnostics};

use super::args::{Format, PreflightArgs};
use super::cluster::with_client;
use super::printable;
use crate::preflight::{Check, Expected, ObserveError, checks, document, observe};

const CONNECTION: &str = "Connection";

/// What goes to standard output, and what is wrong.
pub(super) fn preflight(args: &PreflightArgs) -> (String, Option<Diagnostics>) {
    let expected = Expected {
        pipeline: args.pipeline,
        artifacts: args.artifacts,
        cluster_addons: args.cluster_addons,
        before_install: args.before_install,
    };
    let checked = with_client(&args.cluster, async |client| {
        let state = observe(&client, expected).await;
        let state = state.map_err(|error| explained(&error))?;
        Ok(checks(&state, expected))
    });
    let (checks, problems) = match checked {
        Ok(checks) => {
            let problems = checks.iter().filter_map(problem).collect();
            (checks, Diagnostics::from_vec(problems))
        }
        Err(problems) => {
            let failed = problems.iter().map(|one| {
                let hint = one.hints.join("; ");
                Check::failed(CONNECTION, one.message.clone(), hint)
            });
            (failed.collect(), Some(problems))
        }
    };
    let text = match args.output {
        Format::Json => format!("{}\n", document(&checks)),
        Format::Text => text(&checks),
    };
    (text, problems)
}

fn explained(error: &ObserveError) -> Diagnostic {
    match error {
        ObserveError::Crds(_) => Diagnostic::error(Class::Internal, error.to_string()),
        ObserveError::Connection(_) => Diagnostic::error(Class::Network, error.to_string())
            .hint("--kubeconfig names a kubeconfig, --context one of its contexts: the server, its CA and the credentials are in them"),
    }
}

/// What passed; what did not is on standard error.
fn text(checks: &[Check]) -> String {
    let passed = checks.iter().filter(|check| check.passed);
    passed
        .map(|check| format!("ok  {}: {}\n", check.name, printable::line(&check.message)))
        .collect()
}

fn problem(check: &Check) -> Option<Diagnostic> {
    let problem = || {
        let problem = Diagnostic::error(Class::Config, check.message.clone());
        match &check.hint {
            Some(hint) => problem.hint(hint.clone()),
            None => problem,
        }
    };
    (!check.passed).then(problem)
}
