//! What is wrong with an object: a [`Violation`] in its text, and a [`ChartFinding`] in the chart.

use crate::diag::{Class, Diagnostic, Severity};
use crate::source::{Location, Span};

/// What a finding is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub enum Rule {
    /// A field that the kind does not have.
    UnknownField,
    /// A field that is set twice.
    DuplicateField,
    /// A value of another type.
    WrongType,
    /// A required field that is not set.
    MissingField,
    /// A value that is none of those that are allowed.
    UnsupportedValue,
    /// A quantity, time or base64 text that can't be read, or a value outside its limits.
    InvalidValue,
    /// Two items of a list with the same key.
    DuplicateItem,
    /// An API version that this Kubernetes version does not serve.
    RemovedApi,
    /// An API version that will be removed.
    DeprecatedApi,
    /// A kind that its API version does not have.
    UnknownKind,
    /// A kind of which neither Kubernetes nor a CRD has a schema.
    NoSchema,
    /// A CRD that can't be used.
    InvalidCrd,
    /// A document that is no object.
    NoObject,
    /// The chart can't be rendered.
    Rendering,
}

impl Rule {
    /// All rules.
    pub const ALL: [Self; 14] = [
        Self::UnknownField,
        Self::DuplicateField,
        Self::WrongType,
        Self::MissingField,
        Self::UnsupportedValue,
        Self::InvalidValue,
        Self::DuplicateItem,
        Self::RemovedApi,
        Self::DeprecatedApi,
        Self::UnknownKind,
        Self::NoSchema,
        Self::InvalidCrd,
        Self::NoObject,
        Self::Rendering,
    ];

    /// Its id.
    pub fn id(self) -> &'static str {
        match self {
            Self::UnknownField => "unknown-field",
            Self::DuplicateField => "duplicate-field",
            Self::WrongType => "wrong-type",
            Self::MissingField => "missing-field",
            Self::UnsupportedValue => "unsupported-value",
            Self::InvalidValue => "invalid-value",
            Self::DuplicateItem => "duplicate-item",
            Self::RemovedApi => "removed-api",
            Self::DeprecatedApi => "deprecated-api",
            Self::UnknownKind => "unknown-kind",
            Self::NoSchema => "no-schema",
            Self::InvalidCrd => "invalid-crd",
            Self::NoObject => "no-object",
            Self::Rendering => "rendering",
        }
    }

    /// What it finds, in one line.
    pub fn doc(self) -> &'static str {
        match self {
            Self::UnknownField => "a field that the kind does not have",
            Self::DuplicateField => "a field that is set twice in the same map",
            Self::WrongType => "a value of another type than the field's",
            Self::MissingField => "a required field that is not set",
            Self::UnsupportedValue => "a value that is none of those that are allowed",
            Self::InvalidValue => {
                "a quantity, a time, base64 or another format that can't be read, or a value outside its limits"
            }
            Self::DuplicateItem => "two items of a list with the same key, which server-side apply refuses",
            Self::RemovedApi => "an API version that the Kubernetes version does not serve",
            Self::DeprecatedApi => "an API version that a later Kubernetes version does not serve",
            Self::UnknownKind => "a kind that its API version does not have",
            Self::NoSchema => "a kind of which neither Kubernetes nor a CRD has a schema",
            Self::InvalidCrd => "a CRD that can't be used to validate",
            Self::NoObject => "a document without apiVersion, kind or name",
            Self::Rendering => "a chart that can't be rendered",
        }
    }
}

/// A mistake in an object's text.
#[derive(Debug, Clone)]
pub(super) struct Violation {
    pub(super) rule: Rule,
    pub(super) severity: Severity,
    /// The field.
    pub(super) path: String,
    pub(super) message: String,
    /// Where it is in the manifest's text.
    pub(super) span: Span,
    pub(super) notes: Vec<String>,
    pub(super) hints: Vec<String>,
}

impl Violation {
    pub(super) fn error(rule: Rule, path: impl ToString, span: Span, message: impl Into<String>) -> Self {
        Self {
            rule,
            severity: Severity::Error,
            path: path.to_string(),
            message: message.into(),
            span,
            notes: Vec::new(),
            hints: Vec::new(),
        }
    }

    pub(super) fn warning(rule: Rule, path: impl ToString, span: Span, message: impl Into<String>) -> Self {
        Self {
            severity: Severity::Warning,
            ..Self::error(rule, path, span, message)
        }
    }

    pub(super) fn note(mut self, note: impl Into<String>) -> Self {
        self.notes.push(note.into());
        self
    }

    pub(super) fn hint(mut self, hint: Option<String>) -> Self {
        self.hints.extend(hint);
        self
    }
}

/// A mistake of a chart's objects, for one or several versions of Kubernetes.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct ChartFinding {
    /// What it is about.
    pub rule: Rule,
    /// Errors are what an API server refuses.
    pub severity: Severity,
    /// Chart, or of a chart that can't be rendered why.
    pub class: Class,
    /// The object's `apiVersion`; empty if it is about none.
    pub api_version: String,
    /// The object's `kind`.
    pub kind: String,
    /// The object's name.
    pub name: String,
    /// The field; empty for the whole object.
    pub field: String,
    /// What is wrong.
    pub message: String,
    /// The template's line that printed it.
    pub location: Option<Location>,
    /// The templates that called it, innermost first: what, and where.
    pub trace: Vec<(String, Option<Location>)>,
    /// The line of the output.
    pub printed: Option<String>,
    /// The versions of Kubernetes for which it holds.
    pub versions: Vec<&'static str>,
    /// The values files of `ci/` with which it was found; empty for the chart's own values.
    pub values: Vec<String>,
    /// Reasons.
    pub notes: Vec<String>,
    /// What to do.
    pub hints: Vec<String>,
}

impl ChartFinding {
    /// A finding about a chart that can't be rendered.
    pub fn of_diagnostic(rule: Rule, one: &Diagnostic, versions: Vec<&'static str>) -> Self {
        Self {
            rule,
            severity: Severity::Error,
            class: one.class,
            api_version: String::new(),
            kind: String::new(),
            name: String::new(),
            field: String::new(),
            message: one.message.clone(),
            location: one.location.clone(),
            trace: one.trace.clone(),
            printed: None,
            versions,
            values: Vec::new(),
            notes: one.notes.clone(),
            hints: one.hints.clone(),
        }
    }

    /// The object and the field: `Deployment shop: spec.replicas`.
    pub fn subject(&self) -> String {
        let object = [self.kind.as_str(), self.name.as_str()];
        let object: Vec<&str> = object.into_iter().filter(|part| !part.is_empty()).collect();
        let parts = [object.join(" "), self.field.clone()];
        let parts: Vec<String> = parts.into_iter().filter(|part| !part.is_empty()).collect();
        parts.join(": ")
    }

    /// The message with its object and field.
    pub fn full_message(&self) -> String {
        match self.subject().as_str() {
            "" => self.message.clone(),
            subject => format!("{subject}: {}", self.message),
        }
    }

    /// As a diagnostic, with its excerpt.
    pub fn to_diagnostic(&self) -> Diagnostic {
        let mut one = match self.severity {
            Severity::Error => Diagnostic::error(self.class, self.full_message()),
            Severity::Warning => Diagnostic::warning(self.class, self.full_message()),
        };
        one.location.clone_from(&self.location);
        one.trace.clone_from(&self.trace);
        if let Some(line) = &self.printed {
            one = one.note(format!("it renders to `{line}`"));
        }
        let one = self.notes.iter().fold(one, |one, note| one.note(note.clone()));
        self.hints.iter().fold(one, |one, hint| one.hint(hint.clone()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_rule_has_an_id_of_its_own() {
        let ids: std::collections::BTreeSet<&str> = Rule::ALL.iter().map(|rule| rule.id()).collect();
        assert_eq!(ids.len(), Rule::ALL.len());
    }
}
