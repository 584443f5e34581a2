//! What a test's rendering gave: documents by template, or a failure.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, OnceLock};

use regex::Regex;

use super::data::{document_data, document_text};
use crate::diag::{Class, Diagnostic, Diagnostics};
use crate::engine::release::name_rule;
use crate::engine::{RENDERED_LINES, TemplateError, manifest};
use crate::source::{Location, Source, Span};
use crate::template::Detail;
use crate::value::{Map, Value};
use crate::yaml;

/// The key of a text that is no manifest, such as that of NOTES.txt.
pub(super) const RAW: &str = "raw";

/// A document of a template's output.
#[derive(Debug)]
pub(super) struct Document {
    /// Its data; a map.
    pub(super) value: Value,
    /// The line of the output that it begins in, from 1.
    pub(super) first_line: usize,
    /// Its text.
    pub(super) text: Arc<Source>,
}

/// The output of the templates.
#[derive(Debug)]
pub(super) enum Rendered {
    /// The documents of each template, by full name.
    Documents(BTreeMap<Arc<str>, Vec<Document>>),
    /// Nothing could be rendered.
    Failed(RenderFailure),
}

/// Why nothing could be rendered.
#[derive(Debug)]
pub(super) struct RenderFailure {
    /// The templates that failed, by full name: one, or those that an error in a partial counts for; none when it is not
    /// known which one.
    pub(super) templates: BTreeSet<String>,
    /// The reason alone, as helm-unittest compares it.
    pub(super) message: String,
    /// Our own description.
    pub(super) problem: Diagnostics,
}

impl RenderFailure {
    /// A template's error.
    pub(super) fn of_template(error: &TemplateError) -> Self {
        let whole = helm_3_text(error);
        let (template, message) = parts(&whole);
        Self {
            templates: template.into_iter().collect(),
            message,
            problem: error.diagnostic().into(),
        }
    }

    /// A release's name that helm-unittest refuses, for a reason in its words.
    pub(super) fn of_name(problem: Diagnostics) -> Self {
        Self {
            templates: BTreeSet::new(),
            message: name_rule(),
            problem,
        }
    }

    /// An error that is no template's: of values, for example.
    pub(super) fn of_chart(problem: Diagnostics) -> Self {
        let whole: Vec<&str> = problem.iter().map(|one| one.message.as_str()).collect();
        Self {
            templates: BTreeSet::new(),
            message: whole.join("\n"),
            problem,
        }
    }
}

/// Helm 3's message, which is Go's; Helm 4 writes another.
fn helm_3_text(error: &TemplateError) -> String {
    match error {
        TemplateError::Run { error, .. } => match &error.root().detail {
            Detail::Words(words) => format!("execution error at ({}): {words}", error.go_location()),
            _ => error.to_string(),
        },
        _ => error.helm_text(),
    }
}

/// How helm-unittest takes a message apart: the template, and the reason. The expression is not greedy: behind a column of
/// several digits the reason begins with `executing`, behind one of a single digit it begins after the failed action.
const REASON: &str = r"(?msU)^(?:.+: |.+ \()(?:(.+):[0-9]+:[0-9]+).+(?:.+>)*: (.+)$";

/// The template and the reason in a message. Of a message with several lines the reason is all but the first.
fn parts(whole: &str) -> (Option<String>, String) {
    static CELL: OnceLock<Option<Regex>> = OnceLock::new();
    let regex = CELL.get_or_init(|| Regex::new(REASON).ok());
    let groups = regex.as_ref().and_then(|regex| regex.captures(whole));
    let found = groups.and_then(|groups| Some((groups.get(1)?.as_str(), groups.get(2)?.as_str())));
    let Some((template, reason)) = found else {
        return (None, whole.to_owned());
    };
    let reason = whole.split_once('\n').map_or(reason, |(_, rest)| rest);
    (Some(template.to_owned()), reason.to_owned())
}

/// The documents of a template's output; none if it is neither YAML nor text by its name.
///
/// # Errors
/// Class template: an output that is not YAML, or a document that is no map.
pub(super) fn documents(name: &str, text: String) -> Result<Option<Vec<Document>>, Diagnostics> {
    let extension = name.rsplit_once('.').map_or("", |(_, extension)| extension);
    match extension {
        "yaml" | "yml" | "tpl" => {}
        "txt" => return Ok(Some(raw(name, text))),
        _ => return Ok(None),
    }
    let whole = Source::new(name, text);
    let mut out = Vec::new();
    for range in manifest::split(whole.text()) {
        let start = range.start;
        let piece = match range.len() == whole.text().len() {
            true => Arc::clone(&whole),
            false => Source::new(name, whole.text().get(range).unwrap_or("")),
        };
        let node = yaml::parse(&piece, Class::Template, &yaml::Limits::default())
            .map_err(|error| of_output(error.within(&whole, start).into()))?;
        match document_data(&node, &piece) {
            Value::Null => {}
            value @ Value::Map(_) => out.push(Document {
                value,
                first_line: 1 + whole.text().get(..start).unwrap_or("").matches('\n').count(),
                text: piece,
            }),
            other => {
                let message = format!("a document of {name} is {}, not a map", other.kind());
                let at = Location::new(&whole, Span::new(start, start + piece.text().trim_end().len()));
                return Err(of_output(
                    Diagnostic::error(Class::Template, message).at(at).into(),
                ));
            }
        }
    }
    Ok(Some(out))
}

/// An error with a location in a template's output.
fn of_output(problem: Diagnostics) -> Diagnostics {
    let list = problem.into_vec().into_iter();
    list.map(|one| one.note(RENDERED_LINES)).collect()
}

/// A text as the only document; none if it is blank.
fn raw(name: &str, text: String) -> Vec<Document> {
    if text.trim().is_empty() {
        return Vec::new();
    }
    let map: Map = [(RAW, document_text(&text))].into_iter().collect();
    vec![Document {
        value: Value::Map(map),
        first_line: 1,
        text: Source::new(name, text),
    }]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reasons_are_cut_as_in_helm_unittest() {
        let cases = [
            (
                "execution error at (c/templates/a.yaml:1:3): nope: it fails",
                Some("c/templates/a.yaml"),
                "nope: it fails",
            ),
            (
                "execution error at (c/templates/a.yaml:1:3): one\ntwo\nthree",
                Some("c/templates/a.yaml"),
                "two\nthree",
            ),
            (
                "execution error at (c/templates/a.yaml:1:3): ",
                None,
                "execution error at (c/templates/a.yaml:1:3): ",
            ),
            (
                "template: c/templates/a.yaml:1:13: executing \"c/templates/a.yaml\" at <.Values.x.y>: nil pointer",
                Some("c/templates/a.yaml"),
                "executing \"c/templates/a.yaml\" at <.Values.x.y>: nil pointer",
            ),
            (
                "template: c/templates/a.yaml:1:13: executing \"c/templates/a.yaml\" at <index .Values.l 9>: error calling index: out of range",
                Some("c/templates/a.yaml"),
                "executing \"c/templates/a.yaml\" at <index .Values.l 9>: error calling index: out of range",
            ),
            (
                "execution error at (c/templates/a.yaml:1:3): boom\n",
                Some("c/templates/a.yaml"),
                "",
            ),
            (
                "execution error at (c/templates/a.yaml:1:3): \nvalues:\n two\n",
                Some("c/templates/a.yaml"),
                "values:\n two\n",
            ),
            (
                "template: c/templates/a.yaml:1:7: executing \"c/templates/a.yaml\" at <$.Values.x.y>: nil pointer",
                Some("c/templates/a.yaml"),
                "nil pointer",
            ),
            (
                "template: a.yaml:1:7: executing \"a.yaml\" at <include \"b\" .>: error calling include: template: b:1:2: executing \"b\" at <.x.y>: nil",
                Some("a.yaml"),
                "error calling include: template: b:1:2: executing \"b\" at <.x.y>: nil",
            ),
            (
                "parse error at (a.yaml:1): x",
                None,
                "parse error at (a.yaml:1): x",
            ),
        ];
        for (whole, template, message) in cases {
            let (found, reason) = parts(whole);
            assert_eq!(
                (found.as_deref(), reason.as_str()),
                (template, message),
                "{whole}"
            );
        }
    }
}
