//! Errors of the registry client: [`ClientError`], and its diagnostics.

use std::io;
use std::time::Duration;

use crate::diag::{Class, Diagnostic};
use crate::oci::auth::credentials::CredentialsError;
use crate::oci::client::retry::is_transient_status;
use crate::oci::client::tls::TlsError;
use crate::reference::Digest;

/// How a connection failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Link {
    /// It could not be established.
    Connect,
    /// The server's name could not be resolved.
    Resolve,
    /// A proxy refused it.
    Proxy,
    /// No response or progress within the timeout.
    Timeout,
    /// It was closed too early.
    Cut,
    /// The server's certificate is not trusted.
    Untrusted,
    /// The server's certificate is for other names.
    WrongName,
    /// A certificate is of X.509 version 1.
    Version1,
    /// The server answered a TLS handshake in plain HTTP.
    PlainHttp,
    /// The server does not use plain HTTP on this port, but probably TLS.
    NotHttp,
    /// The server requested a client certificate, got none, and closed the connection.
    NoIdentity,
    /// Another TLS error.
    Tls,
}

/// Why a request to a registry failed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ClientError {
    /// No response.
    #[error("{action}: {reason}{}", tries(*.attempts))]
    Link {
        /// The request: method and URL.
        action: String,
        /// How it failed.
        link: Link,
        /// The root cause.
        reason: String,
        /// Attempts made.
        attempts: u32,
    },
    /// A proxy that refused the request.
    #[error("{action}: the proxy {proxy} answered {status}{}{}", shown(.detail), tries(*.attempts))]
    Proxy {
        /// The request: method and URL.
        action: String,
        /// Its address, and the variable that names it.
        proxy: String,
        /// The HTTP status.
        status: u16,
        /// The proxy's message, one line.
        detail: Option<String>,
        /// Attempts made.
        attempts: u32,
    },
    /// A response with an error status.
    #[error("{action}: the {} answered {status}{}{}", if *.redirected { "server" } else { "registry" }, shown(.detail), tries(*.attempts))]
    Status {
        /// The request: method and URL.
        action: String,
        /// The HTTP status.
        status: u16,
        /// The registry's message, one line.
        detail: Option<String>,
        /// With 401 and no credentials: the locations that were searched. Otherwise where they came from.
        searched: Vec<String>,
        /// Whether credentials were sent.
        authenticated: bool,
        /// Whether the registry authenticated us but the token lacks a scope (`insufficient_scope`).
        lacks_scope: bool,
        /// Whether it is the response of a server that the registry redirected to.
        redirected: bool,
        /// Attempts made.
        attempts: u32,
    },
    /// A response that is inconsistent, or that the specification forbids.
    #[error("{action}: {message}")]
    Protocol {
        /// The request: method and URL.
        action: String,
        /// What is wrong with the response.
        message: String,
    },
    /// The deadline has passed.
    #[error("the deadline of {} s has passed{}", .limit.as_secs_f32(), last.as_ref().map(|error| format!("; until then: {error}")).unwrap_or_default())]
    Deadline {
        /// The deadline's duration.
        limit: Duration,
        /// The last error until then.
        last: Option<String>,
    },
    /// A credentials file is broken.
    #[error(transparent)]
    Credentials(#[from] CredentialsError),
    /// TLS can't be set up.
    #[error(transparent)]
    Tls(#[from] TlsError),
    /// The local blob can't be read.
    #[error("the blob {digest} can't be read: {source}")]
    Source {
        /// The blob.
        digest: Digest,
        /// Why.
        source: io::Error,
    },
    /// Received data can't be written.
    #[error("{what} can't be written: {}", crate::fsio::reason(.source))]
    Sink {
        /// `the blob sha256:…`, or a file's path.
        what: String,
        /// Why.
        source: io::Error,
    },
    /// The client can't be set up with these options.
    #[error("{0}")]
    Setup(String),
    /// The async runtime can't be started.
    #[error("no network client can be started: {0}")]
    Runtime(io::Error),
}

fn tries(attempts: u32) -> String {
    if attempts > 1 {
        format!(" ({attempts} attempts)")
    } else {
        String::new()
    }
}

fn shown(detail: &Option<String>) -> String {
    detail
        .as_ref()
        .map(|text| format!(": {text}"))
        .unwrap_or_default()
}

impl ClientError {
    /// What kind of failure it is.
    pub fn class(&self) -> Class {
        match self {
            Self::Link { link, .. } => match link {
                Link::Connect | Link::Resolve | Link::Timeout | Link::Cut => Class::Network,
                // Retrying does not help: the user must change something.
                Link::Untrusted
                | Link::WrongName
                | Link::Version1
                | Link::PlainHttp
                | Link::NotHttp
                | Link::NoIdentity
                | Link::Tls
                | Link::Proxy => Class::Protocol,
            },
            Self::Status { status, .. } => match status {
                401 | 403 => Class::Auth,
                status if is_transient_status(*status) => Class::Registry,
                _ => Class::Refused,
            },
            Self::Proxy { status, .. } => match status {
                401 | 407 => Class::Auth,
                status if is_transient_status(*status) => Class::Registry,
                _ => Class::Refused,
            },
            Self::Protocol { .. } => Class::Protocol,
            Self::Deadline { .. } => Class::Network,
            Self::Credentials(_) | Self::Tls(_) | Self::Setup(_) => Class::Config,
            Self::Source { .. } | Self::Sink { .. } | Self::Runtime(_) => Class::Io,
        }
    }

    /// Whether the registry's message has this error code.
    pub(in crate::oci) fn says(&self, code: &str) -> bool {
        matches!(self, Self::Status { detail: Some(detail), .. } if detail.contains(code))
    }

    /// Redacts the other side's messages.
    pub(in crate::oci) fn hiding(mut self, hide: &dyn Fn(&str) -> String) -> Self {
        if let Self::Protocol {
            action: one,
            message: other,
        }
        | Self::Link {
            action: one,
            reason: other,
            ..
        } = &mut self
        {
            *one = hide(one);
            *other = hide(other);
        }
        self
    }

    /// Marks it as the response of a server that is no registry: one that the registry redirected to, or a web server.
    pub(crate) fn redirected(mut self) -> Self {
        if let Self::Status { redirected, .. } = &mut self {
            *redirected = true;
        }
        self
    }

    /// Sets the number of attempts.
    pub(in crate::oci) fn after(mut self, made: u32) -> Self {
        if let Self::Link { attempts, .. } | Self::Status { attempts, .. } | Self::Proxy { attempts, .. } =
            &mut self
        {
            *attempts = made;
        }
        self
    }

    /// The diagnostic, with reason and hint.
    pub fn diagnostic(&self) -> Diagnostic {
        let plain = Diagnostic::error(self.class(), self.to_string());
        match self {
            Self::Link { link, .. } => match link_hint(*link) {
                Some(hint) => plain.hint(hint),
                None => plain,
            },
            Self::Proxy { status, .. } => plain.hint(if *status == 407 {
                "the proxy asks for a user and a password: `http://USER:PASSWORD@HOST:PORT` in the variable"
            } else {
                "the proxy decides what may be reached: ask who runs it, or name the registry in NO_PROXY"
            }),
            Self::Status {
                status,
                searched,
                authenticated,
                lacks_scope,
                redirected,
                detail,
                action,
                ..
            } => {
                if *redirected {
                    return plain
                        .note("the registry redirects to this server, and no credentials were sent to it")
                        .hint("it is the registry's storage: ask who runs it, or try again where the link has expired");
                }
                let plain = status_hint(plain, *status, searched, (*authenticated, *lacks_scope));
                let plain = match (*status, action.starts_with("POST ")) {
                    (404, true) => plain
                        .hint("if the registry does not make repositories by itself, make this one first"),
                    (405, _) if action.starts_with("DELETE ") => plain.hint(
                        "the CNCF registry deletes with REGISTRY_STORAGE_DELETE_ENABLED=true; others have a setting or an API of their own",
                    ),
                    (413, _) => {
                        plain.hint("the registry, or a proxy in front of it, limits the size of uploads")
                    }
                    _ => plain,
                };
                // The response to HEAD has no body with that text.
                let tls_only = detail.as_deref().is_none_or(is_tls_only) && action.contains(" http://");
                if *status == 400 && tls_only {
                    plain.hint("if the registry speaks TLS, leave out `--plain-http`")
                } else {
                    plain
                }
            }
            _ => plain,
        }
    }
}

/// The messages of Go's and nginx's servers for plain HTTP on a TLS port.
fn is_tls_only(detail: &str) -> bool {
    let detail = detail.to_ascii_lowercase();
    detail.contains("http request to an https server") || detail.contains("plain http request was sent")
}

fn link_hint(link: Link) -> Option<&'static str> {
    match link {
        Link::NoIdentity => {
            Some("the registry requires a client certificate: `--cert-file` and `--key-file`")
        }
        Link::Untrusted => {
            Some("if the registry has a private CA, give its certificate with `--ca-file` (or SSL_CERT_FILE)")
        }
        Link::WrongName => {
            Some("reach the registry by a name that its certificate has, or have one issued for this name")
        }
        Link::Version1 => Some("have it issued again as version 3, with the server's name in subjectAltName"),
        Link::PlainHttp => Some("the registry answers in plain HTTP: use `--plain-http` if that is intended"),
        Link::NotHttp => Some("the server does not speak plain HTTP here: leave out `--plain-http`"),
        Link::Resolve => Some("check the registry's name"),
        Link::Connect | Link::Timeout | Link::Cut | Link::Tls | Link::Proxy => None,
    }
}

fn status_hint(
    mut plain: Diagnostic,
    status: u16,
    searched: &[String],
    (authenticated, lacks_scope): (bool, bool),
) -> Diagnostic {
    if !matches!(status, 401 | 403) {
        return plain;
    }
    if authenticated {
        for place in searched {
            plain = plain.note(format!("credentials from {place} were sent"));
        }
        return plain.hint(if status == 401 && !lacks_scope {
            "check the user name and the password or token"
        } else {
            "the account may not do this in this repository"
        });
    }
    for place in searched {
        plain = plain.note(format!("searched for credentials: {place}"));
    }
    plain.hint("log in with `solar-render login`, or set REGISTRY_USERNAME and REGISTRY_PASSWORD")
}

/// The message of a registry's error body, in one line: `{"errors":[{"code","message"}]}`, or the first line of plain
/// text. HTML pages are ignored. `hide` redacts secrets.
pub(in crate::oci) fn summary(
    content_type: &str,
    body: &[u8],
    hide: &dyn Fn(&str) -> String,
) -> Option<String> {
    #[derive(serde::Deserialize)]
    struct Errors {
        errors: Vec<One>,
    }
    #[derive(serde::Deserialize)]
    struct One {
        code: Option<String>,
        message: Option<String>,
    }
    if let Ok(list) = serde_json::from_slice::<Errors>(body) {
        let lines: Vec<String> = list
            .errors
            .into_iter()
            .filter_map(|one| match (one.code, one.message) {
                (Some(code), Some(message)) if !message.is_empty() => Some(format!("{code}: {message}")),
                (Some(text), _) | (None, Some(text)) => Some(text),
                (None, None) => None,
            })
            .collect();
        return one_line(&hide(&lines.join("; ")));
    }
    let text = std::str::from_utf8(body).ok()?;
    if let Some(reason) = of_storage(text) {
        return one_line(&hide(&reason));
    }
    if content_type.contains("html") || text.trim_start().starts_with('<') {
        return None;
    }
    one_line(&hide(text.trim().lines().next().unwrap_or("")))
}

/// The message of S3-compatible storage, to which registries redirect:
/// `<Error><Code>…</Code><Message>…</Message></Error>`.
fn of_storage(text: &str) -> Option<String> {
    let inside = |name: &str| {
        let rest = text.split_once(&format!("<{name}>"))?.1;
        Some(rest.split_once(&format!("</{name}>"))?.0)
    };
    inside("Error")?;
    match (inside("Code")?, inside("Message")) {
        (code, Some(message)) if !message.is_empty() => Some(format!("{code}: {message}")),
        (code, _) => Some(code.to_owned()),
    }
}

fn one_line(text: &str) -> Option<String> {
    const LONGEST: usize = 300;
    let clean: String = text
        .chars()
        .map(|character| if character.is_control() { ' ' } else { character })
        .collect();
    let clean = clean.trim();
    if clean.is_empty() {
        return None;
    }
    let end = clean.floor_char_boundary(LONGEST);
    let mark = if end < clean.len() { "…" } else { "" };
    Some(format!("{}{mark}", clean.get(..end).unwrap_or("")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn error_bodies_become_one_line() {
        let table: [(&str, &str, Option<&str>); 9] = [
            (
                "application/xml",
                "<?xml version=\"1.0\"?>\n<Error><Code>AccessDenied</Code><Message>Request has expired</Message></Error>",
                Some("AccessDenied: Request has expired"),
            ),
            ("text/html", "<html><Error></html>", None),
            (
                "application/json",
                r#"{"errors":[{"code":"DENIED","message":"no\nway","detail":{"x":1}},{"code":"X"}]}"#,
                Some("DENIED: no way; X"),
            ),
            ("application/json", r#"{"errors":[]}"#, None),
            (
                "application/json",
                r#"{"message":"x"}"#,
                Some(r#"{"message":"x"}"#),
            ),
            ("text/plain", "first\nsecond", Some("first")),
            ("text/html", "<html>", None),
            ("text/plain", "\u{1b}[31mred", Some("[31mred")),
            ("", "", None),
        ];
        for (content_type, body, expected) in table {
            assert_eq!(
                summary(content_type, body.as_bytes(), &str::to_owned).as_deref(),
                expected,
                "{body}"
            );
        }
        let long = summary("text/plain", "é".repeat(1000).as_bytes(), &str::to_owned).unwrap();
        assert!(long.len() < 310 && long.ends_with('…'));
    }
}
