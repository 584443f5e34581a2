//! What the API server's refusals to make an object mean for the task.

use std::time::Duration;

use kube::core::response::StatusCause;

use crate::jobs::conditions::Reason;

/// How soon to reconcile again what somebody else must mend.
pub(super) const MENDING_INTERVAL: Duration = Duration::from_secs(30);
/// How soon at a name that somebody else has: a namesake's leftovers go within seconds.
const CONFLICT_INTERVAL: Duration = Duration::from_secs(10);
/// How soon at what is being deleted, and no watch shows.
const GOING_INTERVAL: Duration = Duration::from_secs(2);

/// Why there is no Job yet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Blocked {
    pub(super) reason: Reason,
    pub(super) message: String,
    /// When to reconcile again; `None`: an event will wake it.
    pub(super) requeue: Option<Duration>,
}

impl Blocked {
    pub(super) fn new(reason: Reason, message: impl Into<String>) -> Self {
        let requeue = if reason == Reason::NameConflict {
            CONFLICT_INTERVAL
        } else {
            MENDING_INTERVAL
        };
        Self {
            reason,
            message: message.into(),
            requeue: Some(requeue),
        }
    }

    /// What stays so, since the spec does.
    pub(super) fn terminal(reason: Reason, message: impl Into<String>) -> Self {
        Self {
            reason,
            message: message.into(),
            requeue: None,
        }
    }

    /// What the last run left, or somebody else deletes, is there for a moment, or for as long as a finalizer holds it.
    pub(super) fn going(what: &str) -> Self {
        Self {
            reason: Reason::DoesNotExist,
            message: format!("{what} is still being deleted"),
            requeue: Some(GOING_INTERVAL),
        }
    }

    /// What a refusal to make an object in a namespace means; `None` when it may pass by itself.
    pub(super) fn from_refusal(error: &kube::Error, namespace: &str) -> Option<Self> {
        let kube::Error::Api(status) = error else {
            return None;
        };
        let details = status.details.as_ref();
        let causes: &[StatusCause] = details.map_or(&[], |details| &details.causes);
        let terminating = causes.iter().any(|cause| cause.reason == "NamespaceTerminating");
        match status.code {
            403 if terminating => Some(Self::new(
                Reason::NamespaceTerminating,
                format!("the namespace {namespace} is being deleted"),
            )),
            404 if details.is_some_and(|details| details.kind == "namespaces") => Some(Self::new(
                Reason::NamespaceNotFound,
                format!("there is no namespace {namespace}"),
            )),
            // Admission says no with 403, or with a code of its own; the schema with 422.
            400 | 403 | 413 | 422 => Some(Self::new(Reason::Forbidden, status.message.clone())),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use kube::core::Status;
    use kube::core::response::StatusDetails;

    fn error(code: u16, kind: &str, cause: &str) -> kube::Error {
        let details = StatusDetails {
            name: String::new(),
            group: String::new(),
            kind: kind.into(),
            uid: String::new(),
            causes: vec![StatusCause {
                reason: cause.into(),
                message: String::new(),
                field: String::new(),
            }],
            retry_after_seconds: 0,
        };
        let status = Status::failure("no", "Forbidden")
            .with_code(code)
            .with_details(details);
        kube::Error::Api(Box::new(status))
    }

    #[test]
    fn each_refusal_has_its_reason() {
        let table = [
            (
                error(403, "secrets", "NamespaceTerminating"),
                Some(Reason::NamespaceTerminating),
            ),
            (error(404, "namespaces", ""), Some(Reason::NamespaceNotFound)),
            (error(403, "jobs", ""), Some(Reason::Forbidden)),
            (error(422, "jobs", "FieldValueInvalid"), Some(Reason::Forbidden)),
            (error(404, "jobs", ""), None),
            (error(409, "jobs", ""), None),
            (error(500, "", ""), None),
            (error(429, "", ""), None),
        ];
        for (error, expected) in table {
            assert_eq!(
                Blocked::from_refusal(&error, "ns").map(|blocked| blocked.reason),
                expected,
                "{error}"
            );
        }
    }
}
