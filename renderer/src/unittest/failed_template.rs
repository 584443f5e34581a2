//! `failedTemplate` and `notFailedTemplate`, and what other assertions say when nothing was rendered.

use std::collections::BTreeSet;

use super::assertion::{Assertion, Check};
use super::check::{compared, message, missing};
use super::documents::RenderFailure;
use super::outcome::Failure;

/// Whether a test expects that its chart can't be rendered; otherwise such a failure is an error of the test.
pub(super) fn is_expected(asserts: &[Assertion], failure: &RenderFailure) -> bool {
    asserts.iter().any(|assertion| match &assertion.check {
        // Without a template there is no message to compare with.
        Check::FailedTemplate { message, .. } if !assertion.kind.is_negative => {
            failure.template.is_some() || message.is_none()
        }
        _ => false,
    })
}

/// The failures of an assertion when nothing was rendered.
pub(super) fn check(
    assertion: &Assertion,
    names: &BTreeSet<String>,
    failure: &RenderFailure,
) -> Vec<Failure> {
    let Some(template) = &failure.template else {
        return in_template(assertion, failure).into_iter().collect();
    };
    let of_name = |name: &String| {
        let found = match (name == template, &assertion.check) {
            (true, _) => in_template(assertion, failure),
            (false, Check::FailedTemplate { .. }) => Some(message("the template did not fail")),
            (false, _) => Some(missing(name)),
        };
        found.map(|one| Failure {
            template: Some(name.clone()),
            ..one
        })
    };
    names.iter().filter_map(of_name).collect()
}

fn in_template(assertion: &Assertion, failure: &RenderFailure) -> Option<Failure> {
    let Check::FailedTemplate {
        message: wanted,
        pattern,
    } = &assertion.check
    else {
        return Some(message(format!("the template failed: {}", failure.message)));
    };
    if assertion.kind.is_negative {
        return Some(message(format!("the template failed: {}", failure.message)));
    }
    let (holds, what, expected) = match (wanted, pattern) {
        (Some(_), Some(_)) => {
            return Some(message(
                "single attribute 'errorMessage' or 'errorPattern' supported at the same time",
            ));
        }
        (Some(wanted), None) => (*wanted == failure.message, "to equal", wanted.clone()),
        (None, Some(pattern)) => match &pattern.compiled {
            Ok(regex) => (regex.is_match(&failure.message), "to match", pattern.text.clone()),
            Err(why) => return Some(message(why.clone())),
        },
        // Any failure will do, also with `not`.
        (None, None) => return None,
    };
    if holds != assertion.not {
        return None;
    }
    let what = match assertion.not {
        true => format!("expected the message not {what}"),
        false => format!("expected the message {what}"),
    };
    Some(compared(&what, expected, failure.message.clone()))
}

/// The failures when the templates were rendered.
pub(super) fn not_failed(assertion: &Assertion, is_empty: bool) -> Vec<Failure> {
    let fails = match assertion.kind.is_negative {
        // What was rendered did not fail, with or without `not`; only of nothing the opposite is said.
        true => assertion.not && is_empty,
        false => true,
    };
    match fails {
        true => vec![message("the template did not fail")],
        false => Vec::new(),
    }
}
