//! `failedTemplate` and `notFailedTemplate`, and what other assertions say when nothing was rendered.

use std::collections::BTreeSet;

use super::assertion::{Assertion, Check, Pattern};
use super::check::{compared, message, missing, raw};
use super::documents::{Document, RenderFailure};
use super::outcome::Failure;
use super::select::SelectedTemplate;

/// The message when nothing failed.
const NOT_FAILED: &str = "the template did not fail";
/// The message for parameters that exclude each other.
const BOTH: &str = "single attribute 'errorMessage' or 'errorPattern' supported at the same time";
/// The characters for which a pattern is tried as a text, too.
const SPECIAL: [char; 14] = [
    '\\', '.', '+', '*', '?', '(', ')', '|', '[', ']', '{', '}', '^', '$',
];

/// Whether a test expects that its chart can't be rendered; otherwise such a failure is an error of the test.
pub(super) fn is_expected(asserts: &[Assertion], failure: &RenderFailure) -> bool {
    asserts.iter().any(|assertion| match &assertion.check {
        // Without a template there is no message to compare with.
        Check::FailedTemplate { message, .. } if !assertion.kind.is_negative => {
            !failure.templates.is_empty() || message.is_none()
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
    if failure.templates.is_empty() {
        return in_template(assertion, failure).into_iter().collect();
    }
    let of_name = |name: &String| {
        let found = match (failure.templates.contains(name), &assertion.check) {
            (true, _) => in_template(assertion, failure),
            (false, Check::FailedTemplate { message, pattern }) if !assertion.kind.is_negative => {
                match (message, pattern, assertion.not) {
                    (Some(_), Some(_), _) => Some(self::message(BOTH)),
                    (.., true) => None,
                    (.., false) => Some(self::message(NOT_FAILED)),
                }
            }
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
        (Some(_), Some(_)) => return Some(message(BOTH)),
        (Some(wanted), None) => (*wanted == failure.message, "to equal", wanted.clone()),
        (None, Some(pattern)) => {
            let found = occurs(pattern, &failure.message, !assertion.not);
            (found, "to match", pattern.text.clone())
        }
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

/// Whether a pattern occurs in a message. One that is no expression is a text; one that has characters of expressions is
/// tried as a text, too, if it does not give what is `wanted`.
fn occurs(pattern: &Pattern, text: &str, wanted: bool) -> bool {
    let has_text = text.contains(&pattern.text);
    match &pattern.compiled {
        Err(_) => has_text,
        Ok(regex) => match regex.is_match(text) {
            found if found != wanted && pattern.text.contains(SPECIAL) => has_text,
            found => found,
        },
    }
}

/// The failures when the templates were rendered.
pub(super) fn not_failed(assertion: &Assertion, template: &SelectedTemplate<'_>) -> Vec<Failure> {
    let Check::FailedTemplate {
        message: wanted,
        pattern,
    } = &assertion.check
    else {
        return Vec::new();
    };
    let (is_negative, documents) = (assertion.is_negative(), &template.documents);
    // Texts such as NOTES.txt are compared, as if they were messages.
    let holds = |document: &Document| {
        let text = raw(document);
        match (wanted, pattern, text.as_str()) {
            (Some(wanted), ..) => (text.as_str() == Some(wanted)) != is_negative,
            (None, Some(pattern), Some(text)) => occurs(pattern, text, !is_negative) != is_negative,
            _ => true,
        }
    };
    let failure = match (wanted, pattern) {
        (Some(_), Some(_)) if assertion.kind.is_negative => BOTH,
        _ if !assertion.kind.is_negative => NOT_FAILED,
        _ if documents.is_empty() && !is_negative => NOT_FAILED,
        _ if documents.iter().any(|(_, document)| !holds(document)) => match is_negative {
            true => "the template's text is the message",
            false => NOT_FAILED,
        },
        _ => return Vec::new(),
    };
    vec![message(failure)]
}
