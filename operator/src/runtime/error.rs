//! Why a reconcile fails.

use std::time::Duration;

/// Why a reconcile failed; it is requeued with backoff.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The API server refused, or did not answer.
    #[error("{doing}: {}", api_message(cause))]
    Api {
        /// What was being done.
        doing: &'static str,
        /// Why it was not.
        cause: Box<kube::Error>,
    },
    /// The object can't be written as JSON.
    #[error("writing an object as JSON: {0}")]
    Json(#[from] serde_json::Error),
    /// The object is there and can't be decoded: another version of the CRD, or none that we know.
    #[error("the object can't be decoded: {0}")]
    Unreadable(serde_json::Error),
    /// The object was changed in between: reconcile it again.
    #[error("resourceVersion conflict")]
    Changed,
    /// It took too long.
    #[error("no end after {0:?}")]
    Timeout(Duration),
    /// An error of ours.
    #[error("internal error: {0}")]
    Panic(String),
}

impl Error {
    /// Maps an error of the API, with what was being done.
    pub fn api(doing: &'static str) -> impl FnOnce(kube::Error) -> Self {
        move |cause| Self::Api {
            doing,
            cause: Box::new(cause),
        }
    }
}

/// The API server's message, without the rest of its answer; else what went wrong on the way to it.
pub fn api_message(error: &kube::Error) -> String {
    match error {
        kube::Error::Api(status) if !status.message.is_empty() => {
            format!("{} ({})", status.message, status.code)
        }
        other => with_causes(other),
    }
}

/// An error's text with those of its causes that it doesn't repeat: "client error (Connect)" alone helps nobody.
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
