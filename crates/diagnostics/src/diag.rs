//! Errors and warnings for users: [`Diagnostic`].
//!
//! A diagnostic says what happened, where, why, and what to do. It is data: the CLI renders it with an excerpt, the
//! report has its first line, tests compare it. Steps that can find several independent mistakes return them together
//! as [`Diagnostics`]. Texts are masked when they are set: no URL in one shows a password or token.

use std::borrow::Cow;
use std::fmt;

use crate::credentials::without_credentials;
use crate::source::Location;

/// The class of a failure, which decides the exit code. In the order of exit codes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Class {
    /// The input config, or the file that holds it.
    Config,
    /// A template of a blueprint or a chart.
    Template,
    /// A chart folder or archive.
    Chart,
    /// Values given to a chart.
    Values,
    /// The command line.
    Usage,
    /// The tag has another digest.
    Conflict,
    /// The digest is not the expected one.
    Digest,
    /// No signature is valid.
    Signature,
    /// 401 or 403.
    Auth,
    /// Any other 4xx.
    Refused,
    /// The registry's response is inconsistent or violates the specification.
    Protocol,
    /// 5xx, 408 or 429 after retries.
    Registry,
    /// No response after retries.
    Network,
    /// An I/O error.
    Io,
    /// What was compared is not the same.
    Different,
    /// An internal error: a bug.
    Internal,
    /// SIGINT.
    Interrupted,
    /// SIGTERM.
    Terminated,
}

impl Class {
    /// Every class, in the order of the exit codes.
    pub const ALL: [Self; 18] = [
        Self::Config,
        Self::Template,
        Self::Chart,
        Self::Values,
        Self::Usage,
        Self::Conflict,
        Self::Digest,
        Self::Signature,
        Self::Auth,
        Self::Refused,
        Self::Protocol,
        Self::Registry,
        Self::Network,
        Self::Io,
        Self::Different,
        Self::Internal,
        Self::Interrupted,
        Self::Terminated,
    ];

    /// The name in reports.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Config => "config",
            Self::Template => "template",
            Self::Chart => "chart",
            Self::Values => "values",
            Self::Usage => "usage",
            Self::Conflict => "conflict",
            Self::Digest => "digest",
            Self::Signature => "signature",
            Self::Auth => "auth",
            Self::Refused => "refused",
            Self::Protocol => "protocol",
            Self::Registry => "registry",
            Self::Network => "network",
            Self::Io => "io",
            Self::Different => "different",
            Self::Internal => "internal",
            Self::Interrupted | Self::Terminated => "cancelled",
        }
    }

    /// The process's exit code.
    pub fn exit_code(self) -> u8 {
        match self {
            Self::Config | Self::Template | Self::Chart | Self::Values => 1,
            Self::Usage => 2,
            Self::Conflict | Self::Digest | Self::Signature => 3,
            Self::Auth | Self::Refused | Self::Protocol => 4,
            Self::Registry | Self::Network | Self::Io => 5,
            Self::Different => 10,
            Self::Internal => 70,
            Self::Interrupted => 130,
            Self::Terminated => 143,
        }
    }

    /// Whether a retry may succeed.
    pub fn is_transient(self) -> bool {
        self.exit_code() >= 5 && self != Self::Different
    }

    /// The class with the lowest weight decides for several errors: an interruption, then an internal error, then a
    /// wrong command line, then the lowest exit code. So the result doesn't depend on their order, and a temporary
    /// error hides no permanent one.
    pub fn weight(self) -> u8 {
        match self {
            Self::Interrupted | Self::Terminated => 0,
            Self::Internal => 1,
            Self::Usage => 2,
            other => 3 + other as u8,
        }
    }
}

/// The severity of a diagnostic.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Severity {
    /// The work can't be done.
    Error,
    /// The work is done, but the user should know something.
    Warning,
}

/// One message to the user.
#[derive(Debug, Clone)]
pub struct Diagnostic {
    /// Error or warning.
    pub severity: Severity,
    /// The class of the failure.
    pub class: Class,
    /// The message: one sentence, lower case, no full stop.
    pub message: String,
    /// The location, if it is in a text.
    pub location: Option<Location>,
    /// A short label for the location.
    pub label: Option<String>,
    /// The reasons.
    pub notes: Vec<String>,
    /// Hints on what to do.
    pub hints: Vec<String>,
    /// The trace, innermost first (an include in an include).
    pub trace: Vec<(String, Option<Location>)>,
}

/// One or more diagnostics of which at least one is an error.
#[derive(Debug, Clone)]
pub struct Diagnostics(Vec<Diagnostic>);

/// The result of a step that parses users' input.
pub type Result<T> = std::result::Result<T, Diagnostics>;

impl Diagnostic {
    /// An error without a location.
    pub fn error(class: Class, message: impl Into<String>) -> Self {
        Self {
            severity: Severity::Error,
            class,
            message: masked(message.into()),
            location: None,
            label: None,
            notes: Vec::new(),
            hints: Vec::new(),
            trace: Vec::new(),
        }
    }

    /// A warning without a location.
    pub fn warning(class: Class, message: impl Into<String>) -> Self {
        Self {
            severity: Severity::Warning,
            ..Self::error(class, message)
        }
    }

    /// Sets the location.
    #[must_use]
    pub fn at(mut self, location: Location) -> Self {
        self.location = Some(location);
        self
    }

    /// Sets the label of the location.
    #[must_use]
    pub fn label(mut self, label: impl Into<String>) -> Self {
        self.label = Some(masked(label.into()));
        self
    }

    /// Adds a reason.
    #[must_use]
    pub fn note(mut self, note: impl Into<String>) -> Self {
        self.notes.push(masked(note.into()));
        self
    }

    /// Adds a hint.
    #[must_use]
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hints.push(masked(hint.into()));
        self
    }
}

fn masked(text: String) -> String {
    match without_credentials(&text) {
        Cow::Borrowed(_) => text,
        Cow::Owned(masked) => masked,
    }
}

impl fmt::Display for Diagnostic {
    /// `file:line:column: message`, on one line.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.location {
            Some(location) => write!(f, "{location}: {}", self.message),
            None => f.write_str(&self.message),
        }
    }
}

impl Diagnostics {
    /// Errors found together. `None` if the list is empty.
    pub fn from_vec(list: Vec<Diagnostic>) -> Option<Self> {
        (!list.is_empty()).then_some(Self(list))
    }

    /// `Ok(value)` if `list` has no error, else the whole list.
    pub fn or<T>(list: Vec<Diagnostic>, value: T) -> Result<T> {
        if list.iter().any(|one| one.severity == Severity::Error) {
            Err(Self(list))
        } else {
            Ok(value)
        }
    }

    /// All diagnostics, in the order found.
    pub fn iter(&self) -> std::slice::Iter<'_, Diagnostic> {
        self.0.iter()
    }

    /// All diagnostics.
    pub fn into_vec(self) -> Vec<Diagnostic> {
        self.0
    }

    /// The class of the errors: the one with the lowest [`Class::weight`].
    pub fn class(&self) -> Class {
        let errors = self.0.iter().filter(|one| one.severity == Severity::Error);
        errors
            .map(|one| one.class)
            .min_by_key(|class| class.weight())
            .unwrap_or(Class::Internal)
    }

    /// Appends the diagnostics of another step.
    pub fn extend(&mut self, other: Self) {
        self.0.extend(other.0);
    }
}

impl From<Diagnostic> for Diagnostics {
    fn from(one: Diagnostic) -> Self {
        Self(vec![one])
    }
}

impl FromIterator<Diagnostic> for Diagnostics {
    /// At least one of them must be an error.
    fn from_iter<T: IntoIterator<Item = Diagnostic>>(list: T) -> Self {
        Self(list.into_iter().collect())
    }
}

impl fmt::Display for Diagnostics {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, one) in self.0.iter().enumerate() {
            let separator = if index == 0 { "" } else { "; " };
            write!(f, "{separator}{one}")?;
        }
        Ok(())
    }
}

impl std::error::Error for Diagnostics {}

/// The most similar of `known` to `given`, if it is similar enough to be a typo.
pub fn did_you_mean<'a>(given: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    const LONGEST_COMPARED: usize = 100;
    if given.len() > LONGEST_COMPARED {
        return None;
    }
    let lower = given.to_lowercase();
    known
        .into_iter()
        .map(|name| (strsim::damerau_levenshtein(&lower, &name.to_lowercase()), name))
        .min_by_key(|(distance, _)| *distance)
        .filter(|(distance, name)| {
            let longer = name.chars().count().max(lower.chars().count());
            // Every name is similar to a one-letter name.
            *distance <= (longer / 3).max(1) && *distance < longer
        })
        .map(|(_, name)| name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_similar_name_is_suggested_and_others_are_not() {
        let known = ["repository", "tag", "insecure", "pullSecretName"];
        assert_eq!(did_you_mean("repositry", known), Some("repository"));
        assert_eq!(did_you_mean("pullsecretname", known), Some("pullSecretName"));
        assert_eq!(did_you_mean("tga", known), Some("tag"));
        assert_eq!(did_you_mean("zzz", known), None);
        assert_eq!(did_you_mean(&"x".repeat(100_000), known), None);
    }

    /// A message once printed the password of a `$ref`.
    #[test]
    fn no_text_shows_the_credentials_of_a_url() {
        let url = "https://user:sEcr3tpw@h/x?token=sEcr3tpw";
        let one = Diagnostic::error(Class::Chart, url)
            .note(url)
            .hint(url)
            .label(url);
        assert_eq!(one.message, "https://*************@h/x?token=********");
        assert!(!format!("{one:?}").contains("sEcr3tpw"), "{one:?}");
    }

    #[test]
    fn warnings_alone_are_no_failure() {
        assert!(Diagnostics::or(vec![Diagnostic::warning(Class::Chart, "w")], ()).is_ok());
        assert!(Diagnostics::or(vec![Diagnostic::error(Class::Chart, "e")], ()).is_err());
    }
}
