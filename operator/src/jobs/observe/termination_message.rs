//! The termination message of a container, parsed.

use std::str::FromStr as _;

use solar_render::reference::Digest;
use solar_render::report::{ErrorReport, Outcome, Report, SCHEMA};

use crate::jobs::conditions::Reason;
use crate::jobs::snapshot::PodEnd;

const DIGEST_PREFIX: &str = "sha256:";
const DIGEST_LENGTH: usize = 71;

/// A container's termination message.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct TerminationMessage {
    /// What the renderer did.
    pub(super) outcome: Option<Outcome>,
    /// The digest that the tag has.
    pub(super) digest: Option<Digest>,
    /// The digest of the rendered chart, if the tag has another one that was kept.
    pub(super) rendered: Option<Digest>,
    /// The outcome of signing the chart, if it was requested.
    pub(super) signature: Option<Outcome>,
    /// The error.
    pub(super) failure: Option<ErrorReport>,
    /// What else an import reports.
    pub(super) reported: Reported,
}

/// What an import reports beside the digest.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Reported {
    /// Where the artifact is.
    pub reference: Option<String>,
    /// The size of its files, in bytes.
    pub content_size: Option<u64>,
    /// The commit that it was imported from.
    pub revision: Option<String>,
}

impl TerminationMessage {
    /// Parses the renderer's result, which is one JSON document, or text with a digest.
    pub(super) fn parse(message: &str) -> Self {
        Self::result(message.trim()).unwrap_or_else(|| Self {
            digest: last_digest(message),
            ..Self::default()
        })
    }

    fn result(message: &str) -> Option<Self> {
        let mut document: serde_json::Value = serde_json::from_str(message).ok()?;
        if document.get("schema")?.as_u64()? != u64::from(SCHEMA) {
            return None;
        }
        // A list with one result is equivalent; a list with several is ambiguous.
        if let Some([only]) = document
            .get("results")
            .and_then(|list| list.as_array())
            .map(Vec::as_slice)
        {
            document = only.clone();
        }
        let report: Report = serde_json::from_value(document).ok()?;
        let parse = |text: Option<String>| text.and_then(|text| Digest::from_str(&text).ok());
        let (rendered, existing) = (parse(report.digest), parse(report.existing_digest));
        let (digest, rendered) = if report.outcome == Some(Outcome::Skipped) {
            (existing, rendered)
        } else {
            (rendered, None)
        };
        Some(Self {
            outcome: report.outcome,
            digest,
            rendered,
            signature: report.signature,
            failure: report.error,
            reported: Reported {
                reference: report.reference,
                content_size: report.content.map(|content| content.size),
                revision: report.revision,
            },
        })
    }
}

/// The class of a pod's end: the outcome, the error's class, or the kubelet's reason.
pub(super) fn class(end: &PodEnd, message: &TerminationMessage) -> String {
    let from_result = message
        .failure
        .as_ref()
        .map(|failure| failure.class.as_str())
        .or(message.outcome.map(Outcome::as_str));
    from_result.unwrap_or(&end.reason).to_owned()
}

/// The reason for a class of error; `None` for an unknown class.
pub(super) fn reason_of_class(class: &str) -> Option<Reason> {
    Some(match class {
        "config" | "template" | "chart" | "values" | "usage" => Reason::ConfigInvalid,
        "conflict" | "digest" | "signature" => Reason::Conflict,
        "auth" => Reason::AuthFailed,
        "refused" | "protocol" => Reason::RegistryRefused,
        "registry" | "network" => Reason::RegistryUnavailable,
        "io" => Reason::InputOutput,
        "internal" | "OOMKilled" => Reason::RendererCrashed,
        "cancelled" => Reason::Cancelled,
        "Evicted" => Reason::Evicted,
        _ => return None,
    })
}

/// The reason for one of the renderer's exit codes.
pub(super) fn reason_of_exit_code(code: i32) -> Option<Reason> {
    Some(match code {
        1 | 2 => Reason::ConfigInvalid,
        3 => Reason::Conflict,
        4 => Reason::RegistryRefused,
        _ => return None,
    })
}

/// The last digest in the text: programs log others before they finish.
fn last_digest(text: &str) -> Option<Digest> {
    let mut rest = text;
    while let Some(start) = rest.rfind(DIGEST_PREFIX) {
        let candidate = rest
            .get(start..start + DIGEST_LENGTH)
            .or_else(|| text.get(start..start + DIGEST_LENGTH));
        let follows = text
            .get(start + DIGEST_LENGTH..)
            .and_then(|after| after.chars().next());
        let ends = !follows.is_some_and(|next| next.is_ascii_hexdigit());
        if let Some(digest) = candidate
            .filter(|_| ends)
            .and_then(|text| Digest::from_str(text).ok())
        {
            return Some(digest);
        }
        rest = rest.get(..start).unwrap_or("");
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn digest(letter: char) -> String {
        format!("sha256:{}", letter.to_string().repeat(64))
    }

    #[test]
    fn a_result_is_read_as_one() {
        let message = TerminationMessage::parse(&format!(
            "{{\"schema\":1,\"outcome\":\"created\",\"digest\":{:?},\"reference\":\"h/r:1\"}}\n",
            digest('a')
        ));
        assert_eq!(message.outcome, Some(Outcome::Created));
        assert_eq!(message.digest.expect("a digest").to_string(), digest('a'));
        let message = TerminationMessage::parse(
            r#"{"schema":1,"error":{"class":"auth","transient":false,"message":"401"}}"#,
        );
        assert_eq!(message.failure.expect("a failure").class, "auth");
    }

    #[test]
    fn a_list_with_one_result_is_that_result_and_one_with_several_is_ignored() {
        let one = format!("{{\"outcome\":\"created\",\"digest\":{:?}}}", digest('a'));
        let list =
            |items: &str| TerminationMessage::parse(&format!("{{\"schema\":1,\"results\":[{items}]}}"));
        let message = list(&one);
        assert_eq!(message.outcome, Some(Outcome::Created));
        assert_eq!(message.digest.expect("a digest").to_string(), digest('a'));
        assert_eq!(list(&format!("{one},{one}")), TerminationMessage::default());
        assert_eq!(list(""), TerminationMessage::default());
    }

    #[test]
    fn a_skip_without_the_existing_digest_has_none() {
        for existing in ["\"nonsense\"", "null"] {
            let message = TerminationMessage::parse(&format!(
                "{{\"schema\":1,\"outcome\":\"skipped\",\"digest\":{:?},\"existingDigest\":{existing}}}",
                digest('a'),
            ));
            assert_eq!((message.outcome, message.digest), (Some(Outcome::Skipped), None));
        }
    }

    #[test]
    fn a_skip_reports_the_existing_and_the_rendered_digest() {
        let message = TerminationMessage::parse(&format!(
            "{{\"schema\":1,\"outcome\":\"skipped\",\"digest\":{:?},\"existingDigest\":{:?}}}",
            digest('a'),
            digest('b')
        ));
        assert_eq!(message.digest.expect("a digest").to_string(), digest('b'));
        assert_eq!(message.rendered.expect("a digest").to_string(), digest('a'));
    }

    #[test]
    fn other_images_report_a_digest_as_text() {
        let found = |text: &str| {
            TerminationMessage::parse(text)
                .digest
                .map(|digest| digest.to_string())
        };
        assert_eq!(
            found(&format!("pushed h/r:1\nDigest: {}\n", digest('a'))),
            Some(digest('a'))
        );
        assert_eq!(
            found(&format!("{} then {}", digest('a'), digest('b'))),
            Some(digest('b'))
        );
        assert_eq!(
            found(&format!("{} then sha256:12", digest('a'))),
            Some(digest('a'))
        );
        assert_eq!(
            found(&format!("{}f", digest('a'))),
            None,
            "65 digits are no digest"
        );
        assert_eq!(found("nothing"), None);
        assert_eq!(
            found(&format!("{{\"digest\":{:?}}}", digest('c'))),
            Some(digest('c')),
            "no schema"
        );
        assert_eq!(found("sha256:é"), None);
    }
}
