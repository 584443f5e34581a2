//! The conditions Ready and Stalled of an Artifact. Pure.

use crate::runtime::conditions::{Finding, READY, STALLED};

/// The reasons of Ready.
pub(super) mod reasons {
    /// No Job runs, and the message says why.
    pub(crate) const JOB_NOT_CREATED: &str = "JobNotCreated";
    /// The Job's pod has not started.
    pub(crate) const JOB_PENDING: &str = "JobPending";
    /// The Job's pod runs.
    pub(crate) const JOB_RUNNING: &str = "JobRunning";
    /// The artifact was pushed.
    pub(crate) const SUCCEEDED: &str = "Succeeded";
    /// The artifact was pushed, and its Job is gone.
    pub(crate) const COMPLETED: &str = "Completed";
    /// The import has failed for good.
    pub(crate) const JOB_FAILED: &str = "JobFailed";
}

/// It gets there by itself.
pub(super) fn in_progress(reason: &'static str, message: &str) -> Vec<Finding<&'static str>> {
    vec![finding(READY, "Unknown", reason, message)]
}

/// Somebody has to do something first.
pub(super) fn blocked(message: &str) -> Vec<Finding<&'static str>> {
    vec![finding(READY, "False", reasons::JOB_NOT_CREATED, message)]
}

/// The artifact is in the registry.
pub(super) fn ready(reason: &'static str, message: &str) -> Vec<Finding<&'static str>> {
    vec![finding(READY, "True", reason, message)]
}

/// No further attempt is made.
pub(super) fn failed(message: &str) -> Vec<Finding<&'static str>> {
    vec![
        finding(READY, "False", reasons::JOB_FAILED, message),
        finding(STALLED, "True", reasons::JOB_FAILED, message),
    ]
}

fn finding(
    kind: &'static str,
    status: &'static str,
    reason: &'static str,
    message: &str,
) -> Finding<&'static str> {
    Finding {
        kind,
        status,
        reason,
        message: message.to_owned(),
    }
}
