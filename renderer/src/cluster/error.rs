//! Why a request to a cluster has failed.

use serde::Deserialize;

use crate::diag::Class;

/// Why a request to a cluster has failed. What of it is shown of a Secret: [`ApiError::without_values`].
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum ApiError {
    /// There was no answer: other requests would have none, either.
    #[error("{0}")]
    Unreachable(String),
    /// The API server's answer.
    #[error("{message}")]
    Refused {
        /// The HTTP status.
        code: u16,
        /// One word: `Invalid`, `Forbidden`.
        reason: String,
        message: String,
        /// The fields that it is about, as `spec.ports[0].port`.
        fields: Vec<String>,
    },
    /// The kind is not served.
    #[error("the cluster has no kind {0}")]
    NoKind(String),
    /// The response is none of an API server.
    #[error("{0}")]
    Protocol(String),
}

#[derive(Deserialize)]
struct Status {
    #[serde(default)]
    kind: String,
    #[serde(default)]
    message: String,
    #[serde(default)]
    reason: String,
    #[serde(default)]
    details: Option<Details>,
}

#[derive(Deserialize)]
struct Details {
    #[serde(default)]
    causes: Vec<Cause>,
}

#[derive(Deserialize)]
struct Cause {
    #[serde(default)]
    field: String,
}

impl ApiError {
    /// The error of a response with a status that is no success.
    pub(crate) fn of_response(code: u16, body: &[u8]) -> Self {
        let status = serde_json::from_slice::<Status>(body).ok();
        let Some(status) = status.filter(|status| status.kind == "Status") else {
            return Self::Refused {
                code,
                reason: String::new(),
                message: format!("the server answers {code}, and not as an API server of Kubernetes does"),
                fields: Vec::new(),
            };
        };
        let causes = status.details.map(|details| details.causes).unwrap_or_default();
        let fields = causes
            .into_iter()
            .map(|cause| cause.field.trim_start_matches('.').to_owned());
        Self::Refused {
            code,
            reason: status.reason,
            message: match status.message.is_empty() {
                true => format!("the API server answers {code}"),
                false => status.message,
            },
            fields: fields.filter(|field| !field.is_empty()).collect(),
        }
    }

    pub(crate) fn is_unreachable(&self) -> bool {
        matches!(self, Self::Unreachable(_))
    }

    pub(crate) fn is_not_found(&self) -> bool {
        matches!(self, Self::Refused { code: 404, .. })
    }

    /// Whether another field manager has a field.
    pub(crate) fn is_conflict(&self) -> bool {
        matches!(self, Self::Refused { code: 409, .. })
    }

    /// The fields that it is about.
    pub(crate) fn fields(&self) -> &[String] {
        match self {
            Self::Refused { fields, .. } => fields,
            Self::Unreachable(_) | Self::NoKind(_) | Self::Protocol(_) => &[],
        }
    }

    /// Of an object whose values are secret: an API server quotes values that it can't take.
    #[must_use]
    pub(crate) fn without_values(self) -> Self {
        match self {
            // These name users, objects and fields.
            Self::Refused {
                code: 401 | 403 | 404 | 409,
                ..
            } => self,
            Self::Refused {
                code, reason, fields, ..
            } => {
                let about = match fields.is_empty() {
                    true => String::new(),
                    false => format!(": {}", fields.join(", ")),
                };
                Self::Refused {
                    message: format!(
                        "the API server answers {code} {reason}{about}; its message may quote the Secret, and is not shown"
                    ),
                    code,
                    reason,
                    fields,
                }
            }
            other => other,
        }
    }

    /// The class of the failure.
    pub(crate) fn class(&self) -> Class {
        match self {
            Self::Unreachable(_) => Class::Network,
            Self::NoKind(_) => Class::Template,
            Self::Protocol(_) => Class::Protocol,
            Self::Refused { code: 401 | 403, .. } => Class::Auth,
            Self::Refused { code: 409, .. } => Class::Conflict,
            // The object is wrong.
            Self::Refused { code: 400 | 422, .. } => Class::Template,
            Self::Refused {
                code: 408 | 429 | 500..,
                ..
            } => Class::Registry,
            Self::Refused { .. } => Class::Refused,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn refused(code: u16, body: &serde_json::Value) -> ApiError {
        ApiError::of_response(code, body.to_string().as_bytes())
    }

    #[test]
    fn a_status_is_an_error_with_its_class_and_fields() {
        let status = |reason: &str, causes: serde_json::Value| json!({"kind": "Status", "reason": reason, "message": "no", "details": {"causes": causes}});
        let causes = json!([{"field": ".spec.replicas", "message": "x"}, {"message": "y"}]);
        let table = [
            (422, "Invalid", Class::Template, 1),
            (400, "BadRequest", Class::Template, 1),
            (403, "Forbidden", Class::Auth, 4),
            (409, "Conflict", Class::Conflict, 3),
            (404, "NotFound", Class::Refused, 4),
            (429, "TooManyRequests", Class::Registry, 5),
            (500, "InternalError", Class::Registry, 5),
        ];
        for (code, reason, class, exit) in table {
            let found = refused(code, &status(reason, causes.clone()));
            assert_eq!(
                (found.class(), found.class().exit_code()),
                (class, exit),
                "{code}"
            );
            assert_eq!(found.fields(), ["spec.replicas"]);
            assert_eq!(found.to_string(), "no");
        }
    }

    #[test]
    fn a_proxy_that_answers_is_no_api_server() {
        for body in ["<html>", "{}", ""] {
            let found = ApiError::of_response(502, body.as_bytes());
            assert!(found.to_string().contains("502"), "{found}");
        }
    }

    /// An API server quotes what it can't decode.
    #[test]
    fn messages_about_secrets_have_no_values() {
        let status = |reason: &str| {
            json!({"kind": "Status", "reason": reason, "message": "expected string, got 4711",
                "details": {"causes": [{"field": "data.password"}]}})
        };
        for code in [400, 422, 500] {
            let shown = refused(code, &status("Invalid")).without_values().to_string();
            assert!(
                !shown.contains("4711") && shown.contains("data.password"),
                "{shown}"
            );
        }
        let shown = refused(403, &status("Forbidden")).without_values().to_string();
        assert!(shown.contains("expected"), "{shown}");
    }
}
