//! Errors of a reconcile.

use std::time::Duration;

/// Why a reconcile failed; it is requeued with backoff.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The API server refused a request, or did not answer.
    #[error("{doing}: {}", api_message(cause))]
    Api {
        /// What was being done.
        doing: &'static str,
        /// The client's error.
        cause: Box<kube::Error>,
    },
    /// The object can't be written as JSON.
    #[error("writing an object as JSON: {0}")]
    Json(#[from] serde_json::Error),
    /// The object exists but can't be decoded: it was written with another version of the CRD.
    #[error("the object can't be decoded: {0}")]
    Unreadable(serde_json::Error),
    /// Another client changed the object in the meantime: reconcile it again.
    #[error("resourceVersion conflict")]
    Changed,
    /// The reconcile took too long.
    #[error("timed out after {0:?}")]
    Timeout(Duration),
    /// An internal error: the reconcile panicked.
    #[error("internal error: {0}")]
    Panic(String),
}

impl Error {
    /// Maps an error of the client, with the operation that failed.
    pub fn api(doing: &'static str) -> impl FnOnce(kube::Error) -> Self {
        move |cause| Self::Api {
            doing,
            cause: Box::new(cause),
        }
    }
}

/// The message of the API server's Status, or the transport error with its causes.
pub fn api_message(error: &kube::Error) -> String {
    match error {
        kube::Error::Api(status) if !status.message.is_empty() => {
            format!("{} ({})", status.message, status.code)
        }
        other => with_causes(other),
    }
}

/// An error's text with those of its causes that it doesn't repeat: "client error (Connect)" alone doesn't say why.
fn with_causes(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(one) = cause {
        let more = one.to_string();
        if !text.contains(&more) {
            text.push_str(": ");
            text.push_str(&more);
        }
        cause = one.source();
    }
    text
}
