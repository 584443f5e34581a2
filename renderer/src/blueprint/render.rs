//! Renders templates with minijinja, and turns its errors into diagnostics with locations.

use std::collections::BTreeMap;
use std::io;
use std::sync::Arc;

use minijinja::syntax::SyntaxConfig;
use minijinja::{Environment, Error, ErrorKind, UndefinedBehavior};

use super::blocks::{self, Mistake};
use super::{Files, SUFFIX, convert, filters, guard};
use crate::config::ChartInfo;
use crate::diag::{Class, Diagnostic, Diagnostics, Result, did_you_mean};
use crate::fsio::text_of;
use crate::source::{Location, Source, Span};
use crate::value::{Map, Value};

/// The maximum number of steps of a template: an endless loop ends well within a second, and no value nests too deeply
/// for the stack.
pub const MAX_STEPS: u64 = 1_000_000;
/// The maximum total output of a blueprint's templates, in bytes.
pub const MAX_OUTPUT_BYTES: usize = 16 * 1024 * 1024;

/// A blueprint whose templates are compiled.
pub(super) struct CompiledBlueprint {
    environment: Environment<'static>,
    /// The path in the chart, and the template's name.
    templates: Vec<(String, String)>,
    copies: Files,
    sources: BTreeMap<String, Arc<Source>>,
}

impl CompiledBlueprint {
    /// Compiles every template; all errors are reported together.
    pub(super) fn compile(name: &str, files: Files) -> Result<Self> {
        let mut blueprint = Self {
            environment: environment()?,
            templates: Vec::new(),
            copies: Vec::new(),
            sources: BTreeMap::new(),
        };
        let mut problems = Vec::new();
        for (path, content) in files {
            let Some(target) = path.strip_suffix(SUFFIX) else {
                blueprint.copies.push((path, content));
                continue;
            };
            let source = match text_of(&format!("{name}/{path}"), content, Class::Template) {
                Ok(source) => source,
                Err(found) => {
                    problems.extend(found.into_vec());
                    continue;
                }
            };
            blueprint.sources.insert(path.clone(), Arc::clone(&source));
            blueprint.templates.push((target.to_owned(), path.clone()));
            if let Err((span, message)) = guard::check(source.text()) {
                let location = Location::new(&source, span);
                problems.push(Diagnostic::error(Class::Template, message).at(location));
                continue;
            }
            let text = source.text().to_owned();
            if let Err(error) = blueprint.environment.add_template_owned(path.clone(), text) {
                problems.push(blueprint.diagnostic(&path, &error));
            }
        }
        for (target, template) in &blueprint.templates {
            if blueprint.copies.iter().any(|(path, _)| path == target) {
                let message =
                    format!("{name} holds both {target} and {template}, which become the same file");
                problems.push(Diagnostic::error(Class::Template, message));
            }
        }
        Diagnostics::or(problems, blueprint)
    }

    /// Renders every template; all errors are reported together.
    pub(super) fn render(&self, chart: &ChartInfo, input: &Value) -> Result<Files> {
        self.render_scope(scope(chart, input))
    }

    /// As [`CompiledBlueprint::render`], with other names in scope.
    pub(super) fn render_scope(&self, scope: Map) -> Result<Files> {
        let names: Vec<String> = scope.iter().map(|(name, _)| format!("`{name}`")).collect();
        let is_config = scope.get("input").is_some();
        let scope = convert::to_template(&Value::Map(scope));
        let mut files = self.copies.clone();
        let mut problems = Vec::new();
        let mut left = MAX_OUTPUT_BYTES;
        for (target, name) in &self.templates {
            match self.render_one(name, &scope, &mut left) {
                Ok(bytes) => files.push((target.clone(), bytes)),
                Err(error) => {
                    let mut one = self.diagnostic(name, &error);
                    if error.kind() == ErrorKind::UndefinedError {
                        one = with_scope(one, &names, is_config);
                    }
                    problems.push(one);
                }
            }
        }
        Diagnostics::or(problems, files)
    }

    fn render_one(
        &self,
        name: &str,
        scope: &minijinja::Value,
        left: &mut usize,
    ) -> std::result::Result<Vec<u8>, Error> {
        let mut out = Bounded {
            bytes: Vec::new(),
            left: *left,
            exceeded: false,
        };
        let rendered = self
            .environment
            .get_template(name)?
            .render_captured_to(scope.clone(), &mut out);
        if out.exceeded {
            let limit = crate::fsio::size(MAX_OUTPUT_BYTES as u64);
            let message = format!("the blueprint's templates write more than {limit}");
            return Err(Error::new(ErrorKind::WriteFailure, message));
        }
        rendered?;
        *left = out.left;
        Ok(out.bytes)
    }

    fn diagnostic(&self, template: &str, error: &Error) -> Diagnostic {
        let mut one = Diagnostic::error(Class::Template, message(error));
        // An included template's error names that template.
        let name = error
            .name()
            .filter(|name| self.sources.contains_key(*name))
            .unwrap_or(template);
        if let Some(source) = self.sources.get(name) {
            one = one.at(Location::new(source, span(error, source)));
            if name != template {
                one = one.note(format!("included by {template}"));
            }
        }
        match error.kind() {
            ErrorKind::SyntaxError => match self.sources.get(name) {
                Some(source) => with_structure(one, error, source),
                None => one,
            },
            ErrorKind::UnknownFilter => match unknown_filter(error) {
                Some(name) => one.hint(format!("did you mean `{name}`?")),
                None => one,
            },
            ErrorKind::OutOfFuel => one.note(format!("a template may take {MAX_STEPS} steps")),
            _ => one,
        }
    }
}

/// Says which names there are.
fn with_scope(one: Diagnostic, names: &[String], is_config: bool) -> Diagnostic {
    let names = match names.split_last() {
        Some((last, rest)) if !rest.is_empty() => format!("{} and {last}", rest.join(", ")),
        _ => names.concat(),
    };
    one.note(format!("in scope are {names}")).hint(if is_config {
        "give it in the config's `input`, or write `| default(…)`"
    } else {
        "write `| default(…)` where it may be missing"
    })
}

/// The names in a blueprint's scope.
pub(super) fn scope(chart: &ChartInfo, input: &Value) -> Map {
    let names = [("chart", chart.to_value()), ("input", input.clone())];
    names.into_iter().collect()
}

fn environment() -> Result<Environment<'static>> {
    let syntax = SyntaxConfig::builder()
        .block_delimiters("<%", "%>")
        .variable_delimiters("<<", ">>")
        .comment_delimiters("<#", "#>")
        .keep_trailing_newline(true)
        .build()
        .map_err(|error| Diagnostic::error(Class::Internal, error.to_string()))?;
    let mut environment = Environment::new();
    environment.set_syntax(syntax);
    environment.set_undefined_behavior(UndefinedBehavior::Strict);
    environment.set_auto_escape_callback(|_| minijinja::AutoEscape::None);
    environment.set_fuel(Some(MAX_STEPS));
    environment.set_debug(true);
    // A namespace can contain itself, which would overflow when printed or compared; the others create large output
    // from a small width or count, which would fill the memory.
    for name in ["namespace", "debug"] {
        environment.remove_global(name);
    }
    for name in ["batch", "slice", "format", "pprint", "indent"] {
        environment.remove_filter(name);
    }
    filters::add(&mut environment);
    Ok(environment)
}

/// Moves the error to where the unclosed block or delimiter was opened: minijinja reports where it detected that.
fn with_structure(one: Diagnostic, error: &Error, source: &Arc<Source>) -> Diagnostic {
    let noticed = span(error, source).end;
    let line = |span: Span| source.position(span.start).line;
    match blocks::mistake(source.text()) {
        Some(Mistake::Delimiter(at, closing)) if at.start <= noticed => {
            let opening = source.slice(at);
            let message = format!("syntax error: `{opening}` has no `{closing}`");
            Diagnostic::error(Class::Template, message).at(Location::new(source, at))
        }
        Some(Mistake::Block(at, keyword))
            if error.detail().is_some_and(|text| text.contains("end of input")) =>
        {
            let opening = source.slice(at);
            let message = format!("syntax error: `{opening}` has no `<% end{keyword} %>`");
            Diagnostic::error(Class::Template, message).at(Location::new(source, at))
        }
        Some(Mistake::End { at, keyword, open }) if Some(line(at)) == error.line() => {
            let mut one = one
                .at(Location::new(source, at))
                .label(format!("no `{keyword}` is open here"));
            if let Some((open, keyword)) = open {
                one.trace.push((
                    format!("the block that is open is a `{keyword}`,"),
                    Some(Location::new(source, open)),
                ));
            }
            one
        }
        _ => one,
    }
}

fn message(error: &Error) -> String {
    let what = match error.kind() {
        ErrorKind::UndefinedError => {
            let detail = error
                .detail()
                .and_then(|detail| detail.strip_suffix(" is undefined"));
            return detail.map_or_else(
                || "undefined value".to_owned(),
                |detail| format!("{detail} is not defined"),
            );
        }
        ErrorKind::OutOfFuel => "the template takes too long".to_owned(),
        kind => kind.to_string(),
    };
    error
        .detail()
        .map_or(what.clone(), |detail| format!("{what}: {detail}"))
}

fn span(error: &Error, source: &Source) -> Span {
    if let Some(range) = error.range() {
        return Span::new(range.start, range.end);
    }
    let Some(line) = error.line() else {
        return Span::default();
    };
    let start: usize = source
        .text()
        .split_inclusive('\n')
        .take(line.saturating_sub(1))
        .map(str::len)
        .sum();
    let length = source
        .text()
        .get(start..)
        .and_then(|rest| rest.lines().next())
        .map_or(0, str::len);
    Span::new(start, start + length)
}

fn unknown_filter(error: &Error) -> Option<&'static str> {
    let given = error
        .detail()?
        .split_whitespace()
        .find(|word| word.len() > 1 && *word != "filter")?;
    did_you_mean(
        given,
        [
            "literal", "toYaml", "toJson", "default", "indent", "join", "length", "lower", "upper", "trim",
        ],
    )
}

/// A writer with a size limit.
struct Bounded {
    bytes: Vec<u8>,
    left: usize,
    exceeded: bool,
}

impl io::Write for Bounded {
    fn write(&mut self, data: &[u8]) -> io::Result<usize> {
        match self.left.checked_sub(data.len()) {
            Some(left) => {
                self.left = left;
                self.bytes.extend_from_slice(data);
                Ok(data.len())
            }
            None => {
                self.exceeded = true;
                Err(io::ErrorKind::FileTooLarge.into())
            }
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
