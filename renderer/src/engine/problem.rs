//! The language's errors as diagnostics: the reason and its place, the way there, what
//! may have been meant.

use std::fmt::Write as _;
use std::sync::Arc;

use super::functions::functions;
use crate::diag::{Class, Diagnostic, Diagnostics, did_you_mean};
use crate::template::{Detail, Error, ParseError, Unknown, print};

/// How many templates on the way to a mistake are shown from either end.
const SHOWN_FRAMES: usize = 8;

/// Why a chart can't be rendered.
#[derive(Debug, Clone)]
pub enum Problem {
    /// A text is no template.
    Parse(Box<ParseError>),
    /// A template could not be run to its end.
    Run {
        /// Where and why.
        error: Box<Error>,
        /// Every name that could be included.
        names: Vec<String>,
    },
    /// A template's output is not UTF-8; the template's name.
    NotText(Arc<str>),
}

impl Problem {
    /// For people.
    pub fn diagnostic(&self) -> Diagnostic {
        match self {
            Self::Parse(error) => of_parse(error),
            Self::Run { error, names } => of_run(error, names),
            Self::NotText(name) => not_text(name),
        }
    }

    /// What Helm 4.3.1 says, to the byte; what it has no words for is in ours.
    pub fn helm_text(&self) -> String {
        match self {
            Self::Parse(error) => {
                let name = error.location.source.name();
                let last = error.message.rsplit(": ").next().unwrap_or("");
                format!("parse error at ({name}:{}): {last}", error.line)
            }
            Self::Run { error, .. } => helm_text(error),
            Self::NotText(_) => self.diagnostic().message,
        }
    }
}

impl From<Problem> for Diagnostics {
    fn from(problem: Problem) -> Self {
        problem.diagnostic().into()
    }
}

/// Helm's form of Go's error: a line for the place, the template and the reason each. Where a
/// function's own words are in the chain, Helm leaves Go's text as it is.
fn helm_text(error: &Error) -> String {
    // The words of `fail` and `required` stand alone, with the outermost place.
    if let Detail::Words(words) = &error.root().detail {
        return format!("execution error at ({}): {words}", error.go_location());
    }
    let mut out = String::new();
    for one in error.chain() {
        let Some(expression) = one.expression.as_ref().filter(|_| !one.by_function) else {
            return error.to_string();
        };
        let message = one.message.split(" template:").next().unwrap_or("").trim_end();
        // Writing to a String can't fail.
        let _ = writeln!(
            out,
            "{}\n  executing {} at <{expression}>:\n    {message}",
            one.go_location(),
            print::quote(&one.template)
        );
        if let (Detail::NoTemplate(wanted), true) = (&one.detail, one.message.contains(" associated with ")) {
            let _ = writeln!(
                out,
                "template: no template {} associated with template \"gotpl\"",
                print::quote(wanted)
            );
        }
    }
    out.trim().to_owned()
}

/// A text that is no template.
fn of_parse(error: &ParseError) -> Diagnostic {
    let one = Diagnostic::error(Class::Template, error.message.clone()).at(error.location.clone());
    match &error.unknown {
        Some(Unknown::Function(name)) => {
            let one = one.label("no function has this name");
            match did_you_mean(name, functions().names()) {
                Some(near) => one.hint(format!("did you mean `{near}`?")),
                None => one.hint("solar-render functions lists them all"),
            }
        }
        Some(Unknown::Variable(name, known)) => {
            let one = one.label("not defined here");
            match did_you_mean(name, known.iter().map(String::as_str)) {
                Some(near) if near != "$" => one.hint(format!("did you mean `{near}`?")),
                _ => one.hint(format!(
                    "define it before: {{{{ {name} := … }}}}, in this block or around it"
                )),
            }
        }
        None => one,
    }
}

/// A template that could not be run to its end; `names` are all that can be included.
fn of_run(error: &Error, names: &[String]) -> Diagnostic {
    let root = error.root();
    let message = match &root.detail {
        Detail::Words(words) => words.clone(),
        _ => root.message.clone(),
    };
    let mut one = Diagnostic::error(Class::Template, message).at(root.location.clone());
    if let Some(expression) = &root.expression {
        one = one.label(format!("at <{}>", first_line(expression)));
    }
    one = explain(one, root, names);
    let mut frames: Vec<&Error> = error.chain().collect();
    frames.pop();
    frames.reverse();
    // What includes itself goes round and round: the ends of the way say it all.
    let left_out = frames.len().saturating_sub(2 * SHOWN_FRAMES);
    for (index, frame) in frames.iter().enumerate() {
        if left_out > 0 && index == SHOWN_FRAMES {
            one.trace
                .push((format!("… and {left_out} more like these"), None));
        }
        if (SHOWN_FRAMES..SHOWN_FRAMES + left_out).contains(&index) {
            continue;
        }
        let words = format!(
            "from {} in {}",
            frame.expression.as_deref().map_or("", first_line),
            frame.template
        );
        one.trace.push((words, Some(frame.location.clone())));
    }
    one
}

fn first_line(text: &str) -> &str {
    text.lines().next().unwrap_or("")
}

fn explain(one: Diagnostic, root: &Error, names: &[String]) -> Diagnostic {
    match &root.detail {
        Detail::NilField { path, known } => {
            let shown = |names: &[std::sync::Arc<str>]| {
                names.iter().map(|name| format!(".{name}")).collect::<String>()
            };
            let nil = shown(path.get(..path.len().saturating_sub(1)).unwrap_or_default());
            let exists = shown(path.get(..*known).unwrap_or_default());
            let one = if nil.is_empty() {
                one.note("the value before the field is nil")
            } else if exists.is_empty() {
                one.note(format!("`{nil}` is nil"))
            } else {
                one.note(format!("`{nil}` is nil; the nearest that exists is `{exists}`"))
            };
            one.hint("set the value, or write `(…).field` in parentheses, which gives nothing for nil")
        }
        Detail::NoTemplate(wanted) => match did_you_mean(wanted, names.iter().map(String::as_str)) {
            Some(near) => one.hint(format!("did you mean {near:?}?")),
            None => {
                one.hint("no template of the chart or its dependencies defines it; is a dependency missing?")
            }
        },
        Detail::Limit => one.note("this limit keeps a template from filling the memory or running for ever"),
        Detail::Words(_) => one.note("the chart's own words: its author asks for this"),
        Detail::None => one,
    }
}

/// A template whose output is not UTF-8, which YAML must be.
fn not_text(name: &str) -> Diagnostic {
    Diagnostic::error(Class::Template, format!("the output of {name} is not UTF-8"))
        .note("Helm's YAML reader refuses such a manifest")
        .hint("encode binary data with b64enc; trunc and substr cut bytes, not characters")
}
