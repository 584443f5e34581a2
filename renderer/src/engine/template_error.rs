//! Diagnostics of template errors: the reason and its location, the trace, and suggestions.

use std::fmt::Write as _;
use std::sync::Arc;

use super::functions::functions;
use crate::diag::{Class, Diagnostic, Diagnostics, did_you_mean};
use crate::source::Location;
use crate::template::{Detail, Error, ParseError, Related, Unknown, print};

/// How many frames of a trace are shown from either end.
const SHOWN_FRAMES: usize = 8;

/// Why a chart can't be rendered.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub enum TemplateError {
    /// A text can't be parsed.
    Parse(Box<ParseError>),
    /// A template failed.
    Run {
        /// The error with its location.
        error: Box<Error>,
        /// The names of all templates.
        names: Vec<String>,
    },
    /// A template's output is not UTF-8.
    NotText {
        /// The template's name.
        name: Arc<str>,
        /// The location of invalid UTF-8 in its text.
        place: Option<Location>,
    },
}

impl TemplateError {
    /// The diagnostic.
    pub fn diagnostic(&self) -> Diagnostic {
        match self {
            Self::Parse(error) => of_parse(error),
            Self::Run { error, names } => of_run(error, names),
            Self::NotText { name, place } => not_text(name, place.as_ref()),
        }
    }

    /// Whether an included template is missing.
    pub fn is_missing_template(&self) -> bool {
        match self {
            Self::Run { error, .. } => matches!(error.root().detail, Detail::NoTemplate(_)),
            _ => false,
        }
    }

    /// Helm 4.3.1's message, byte for byte; our message where Helm has none.
    pub fn helm_text(&self) -> String {
        match self {
            Self::Parse(error) => {
                let name = error.location.source.name();
                let last = error.message.rsplit(": ").next().unwrap_or("");
                format!("parse error at ({name}:{}): {last}", error.line)
            }
            Self::Run { error, .. } => helm_text(error),
            Self::NotText { .. } => self.diagnostic().message,
        }
    }
}

impl From<TemplateError> for Diagnostics {
    fn from(problem: TemplateError) -> Self {
        problem.diagnostic().into()
    }
}

/// Helm's format of Go's error: a line each for the location, the template and the reason. If a function's own message
/// is in the chain, Helm keeps Go's text.
fn helm_text(error: &Error) -> String {
    // The messages of `fail` and `required` are shown alone, with the outermost location.
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

/// The diagnostic of a parse error.
fn of_parse(error: &ParseError) -> Diagnostic {
    let mut one = Diagnostic::error(Class::Template, error.message.clone()).at(error.location.clone());
    if let Some(related) = &error.related {
        one = of_structure(one, related);
    }
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

/// Adds the related location that explains an error in the block structure.
fn of_structure(mut one: Diagnostic, related: &Related) -> Diagnostic {
    let shown = |at: &Location| first_line(at.source.slice(at.span)).to_owned();
    let (what, at) = match related {
        Related::Unclosed(at) => (format!("`{}` has no {{{{ end }}}}:", shown(at)), at),
        Related::NoneOpen(last) => {
            one = one.label("no block is open here");
            let Some((opened, end)) = last else { return one };
            let line = opened.position().line;
            (
                format!(
                    "the last block before it, `{}` of line {line}, ended",
                    shown(opened)
                ),
                end,
            )
        }
        Related::FirstElse(at) => ("the block has an `else` already,".to_owned(), at),
        Related::NoElse(at) => (format!("`{}` takes no `else`: it was opened", shown(at)), at),
        Related::FirstDefinition(at) => {
            one = one.label("defined again here");
            ("it is first defined".to_owned(), at)
        }
    };
    one.trace.push((what, Some(at.clone())));
    one
}

/// The diagnostic of a failed template; `names` are those of all templates.
fn of_run(error: &Error, names: &[String]) -> Diagnostic {
    let root = error.root();
    let message = match &root.detail {
        Detail::Words(words) if words.is_empty() => {
            "the chart raises an error with an empty message".to_owned()
        }
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
    if let Some(folded) = cycle(&frames) {
        one.trace.extend(folded);
        return one;
    }
    let left_out = frames.len().saturating_sub(2 * SHOWN_FRAMES);
    for (index, frame) in frames.iter().enumerate() {
        if left_out > 0 && index == SHOWN_FRAMES {
            one.trace
                .push((format!("… and {left_out} more like these"), None));
        }
        if (SHOWN_FRAMES..SHOWN_FRAMES + left_out).contains(&index) {
            continue;
        }
        one.trace.push(frame_note(frame));
    }
    one
}

fn frame_note(frame: &Error) -> (String, Option<Location>) {
    let words = format!(
        "from {} in {}",
        frame.expression.as_deref().map_or("", first_line),
        frame.template
    );
    (words, Some(frame.location.clone()))
}

/// The trace of an error in templates that include each other recursively: one cycle, its depth, and how it was
/// entered. The frames begin with the innermost.
fn cycle(frames: &[&Error]) -> Option<Vec<(String, Option<Location>)>> {
    if frames.len() <= 2 * SHOWN_FRAMES {
        return None;
    }
    let is_same = |one: &Error, other: &Error| {
        one.template == other.template && one.location.span == other.location.span
    };
    let (length, deep) = (1..=SHOWN_FRAMES).find_map(|length| {
        let pairs = frames.iter().zip(frames.iter().skip(length));
        let same = pairs.take_while(|(one, other)| is_same(one, other)).count();
        let deep = same + length;
        (same >= length && deep + SHOWN_FRAMES >= frames.len()).then_some((length, deep))
    })?;
    let round = frames.get(..length)?;
    // In the order in which they were entered.
    let entered = frames.get(deep - length..deep)?;
    let mut names: Vec<&str> = entered.iter().rev().map(|frame| &*frame.template).collect();
    names.extend(names.first().copied());
    let mut out: Vec<_> = round.iter().map(|frame| frame_note(frame)).collect();
    out.push((format!("{}, {} deep", names.join(" → "), grouped(deep)), None));
    out.extend(frames.iter().skip(deep).map(|frame| frame_note(frame)));
    Some(out)
}

/// `2,000`
fn grouped(number: usize) -> String {
    match number {
        0..1000 => number.to_string(),
        _ => format!("{},{:03}", grouped(number / 1000), number % 1000),
    }
}

fn first_line(text: &str) -> &str {
    text.lines().next().unwrap_or("")
}

fn explain(one: Diagnostic, root: &Error, names: &[String]) -> Diagnostic {
    match &root.detail {
        Detail::NilField { path, known, beside } => {
            let start = root.expression.as_deref().map_or("", variable);
            let shown = |names: &[Arc<str>]| {
                let names: String = names.iter().map(|name| format!(".{name}")).collect();
                if names.is_empty() || start == "$" {
                    names
                } else {
                    format!("{start}{names}")
                }
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
            let beside = beside.iter().flatten().map(|name| &**name);
            // An existing null is no typo.
            let near = path
                .get(*known)
                .and_then(|missing| did_you_mean(missing, beside).filter(|near| *near != &**missing));
            let one = match near {
                Some(near) => {
                    let mut meant: Vec<Arc<str>> = path.iter().take(*known).cloned().collect();
                    meant.push(near.into());
                    one.hint(format!("did you mean `{}`?", shown(&meant)))
                }
                None => one,
            };
            one.hint("set the value, or write `(…).field` in parentheses, which is empty for nil")
        }
        Detail::NoTemplate(wanted) => match did_you_mean(wanted, names.iter().map(String::as_str)) {
            Some(near) => one.hint(format!("did you mean {near:?}?")),
            None => {
                one.hint("no template of the chart or its dependencies defines it; is a dependency missing?")
            }
        },
        Detail::NoField { name, known } => match did_you_mean(name, known.iter().map(String::as_str)) {
            Some(near) => one.hint(format!("did you mean `{near}`?")),
            None => one,
        },
        Detail::Limit => one.note("this limit keeps a template from filling the memory or running for ever"),
        Detail::Memory => one
            .note("this limit keeps a template from filling the memory")
            .hint("--max-memory allows more"),
        Detail::Time => one
            .note("this limit keeps a template from running for ever")
            .hint("--render-timeout allows more"),
        Detail::Words(_) => one.note("this is the chart author's own message"),
        Detail::None => one,
    }
}

/// The variable that an expression starts with.
fn variable(expression: &str) -> &str {
    let name = expression.strip_prefix('$').map_or(0, |rest| {
        let other = |char: char| char != '_' && !char.is_alphanumeric();
        1 + rest.find(other).unwrap_or(rest.len())
    });
    expression.get(..name).unwrap_or("")
}

/// The diagnostic of a template whose output is not UTF-8, which YAML requires.
fn not_text(name: &str, place: Option<&Location>) -> Diagnostic {
    let one = Diagnostic::error(Class::Template, format!("the output of {name} is not UTF-8"))
        .note("Helm's YAML reader refuses such a manifest");
    if let Some(place) = place {
        let one = one.at(place.clone()).label("not UTF-8");
        return one.hint("save the file as UTF-8");
    }
    one.hint("encode binary data with b64enc; trunc and substr cut bytes, not characters")
}
