//! Maps the API server's refusals to create an object to the reason that blocks the task.

use std::time::Duration;

use kube::core::response::StatusCause;

use crate::jobs::conditions::Reason;

/// When a task is requeued that a user must unblock.
pub(super) const MENDING_INTERVAL: Duration = Duration::from_secs(30);
/// When a task is requeued whose name another object has: objects of a deleted task with the same name are collected
/// within seconds.
const CONFLICT_INTERVAL: Duration = Duration::from_secs(10);
/// When a task is requeued that waits for a deletion that no watch delivers.
const GOING_INTERVAL: Duration = Duration::from_secs(2);

/// Why there is no Job yet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Blocked {
    pub(super) reason: Reason,
    pub(super) message: String,
    /// When to reconcile again; `None`: a change will wake it.
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

    /// A permanent cause, since the spec is immutable.
    pub(super) fn terminal(reason: Reason, message: impl Into<String>) -> Self {
        Self {
            reason,
            message: message.into(),
            requeue: None,
        }
    }

    /// An object of the last run, or one that another client deletes, is still being deleted: for a moment, or as long
    /// as a finalizer keeps it.
    pub(super) fn going(what: &str) -> Self {
        Self {
            reason: Reason::DoesNotExist,
            message: format!("{what} is still being deleted"),
            requeue: Some(GOING_INTERVAL),
        }
    }

    /// The cause behind a refusal to create an object in a namespace; `None` if it may pass by itself.
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
            // Admission refuses with 403, or with a code of its own; schema validation with 422.
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
