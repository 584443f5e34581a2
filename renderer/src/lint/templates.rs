//! The checks of templates: that they run, and of what they give.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::objects::YAML_SYNTAX;
use super::place::{Found, Place};
use super::unit::prepare_as_found;
use super::{Finding, Linter, Options, Severity, chartfile, objects, undefined};
use crate::chart::load::Loaded;
use crate::diag::{Class, Diagnostic, Diagnostics};
use crate::engine::release::Release;
use crate::engine::{Input, Output, Problem, Program, RENDERED_LINES, blame, defaults, unit};
use crate::source::Location;
use crate::template::MAX_STEPS;
use crate::template::print::quote;
use crate::value::Map;
use crate::values::dependencies::{Enabled, Prepared};
use crate::values::schema::{self, Level};
use crate::world::System;

const FOLDER: &str = "templates/";
/// The release's name in everything that is linted.
const RELEASE: &str = "test-release";

/// All checks, in Helm's order, and our own.
pub(super) fn check(place: &Place, options: &Options, linter: &mut Linter) {
    match place.find("templates") {
        Found::Nothing => {
            let words = "directory does not exist".to_owned();
            linter.rule(Severity::Warning, FOLDER, "templates-folder", Some(words));
            return;
        }
        Found::File => {
            let words = "not a directory".to_owned();
            linter.rule(Severity::Error, FOLDER, "templates-folder", Some(words));
            return;
        }
        Found::Folder => {}
    }
    let chart = match (&place.loaded, chartfile::validate(place)) {
        (Ok(chart), None) => chart,
        (_, Some(words)) => {
            linter.rule(Severity::Error, FOLDER, "chart", Some(words));
            return;
        }
        (Err(problem), None) => {
            refused(linter, "chart", problem);
            return;
        }
    };
    // As in Helm, what goes wrong here is left to `template`.
    let Ok(prepared) = prepare_as_found(chart, &options.values) else {
        return;
    };
    if !options.skip_schema
        && let Err(problem) = schema::validate(&level(&prepared), &prepared.values, &|path| {
            options.places.find(path, &defaults(&prepared.root, path))
        })
    {
        let words = super::schema::words(&problem, true);
        linter.rule(Severity::Error, FOLDER, "values-schema", Some(words));
        let placed = problem
            .into_vec()
            .into_iter()
            .filter(|one| one.location.is_some());
        placed.for_each(|one| linter.own(FOLDER, "values-schema", one));
        return;
    }
    if let Some((program, output)) = run(&prepared, options, linter) {
        each_template(chart, &output, options, linter);
        blame_templates(chart, &prepared, &program, options, linter);
        undefined(&program, chart, &prepared.values, linter);
    }
}

fn refused(linter: &mut Linter, rule: &'static str, problem: &Diagnostics) {
    linter.rule(Severity::Error, FOLDER, rule, Some(problem.to_string()));
    if let Some(one) = problem.iter().next() {
        linter.explain(one.clone());
    }
}

fn level(prepared: &Prepared) -> Level<'_> {
    fn of(one: &Enabled) -> Level<'_> {
        Level {
            chart: one.name(),
            schema: one.chart.schema.as_ref().map(|schema| schema.as_slice()),
            // Charts nest no deeper than the loader allows.
            children: one.children.iter().map(of).collect(),
        }
    }
    of(&prepared.root)
}

/// Runs every template: Helm's words for the first failure, and a diagnostic for each.
fn run(prepared: &Prepared, options: &Options, linter: &mut Linter) -> Option<(Program, Output)> {
    let program = match Program::try_new(unit(&prepared.root)) {
        Ok(Ok(program)) => program,
        Ok(Err(problems)) => {
            tell(linter, "template-syntax", &problems);
            return None;
        }
        Err(problem) => {
            refused(linter, "template-syntax", &problem);
            return None;
        }
    };
    match run_program(&program, prepared, options, BTreeSet::new()) {
        Ok((output, problems)) if problems.is_empty() => Some((program, output)),
        Ok((_, problems)) => {
            tell(linter, "template-render", &problems);
            None
        }
        Err(problem) => {
            refused(linter, "template-render", &problem);
            None
        }
    }
}

fn run_program(
    program: &Program,
    prepared: &Prepared,
    options: &Options,
    traced: BTreeSet<Arc<str>>,
) -> Result<(Output, Vec<Problem>), Diagnostics> {
    let release = Release {
        name: RELEASE.to_owned(),
        namespace: options.namespace.clone(),
        is_upgrade: false,
        revision: 0,
    };
    // Helm leaves out what kind of operation it is: neither installing nor upgrading.
    let mut release = release.to_map();
    release.insert("IsInstall", false.into());
    let capabilities = || options.capabilities.to_val();
    let input = Input {
        values: &prepared.values,
        release: &release,
        capabilities: &capabilities,
        world: Arc::new(System),
        seed: None,
        lint: true,
        steps: MAX_STEPS,
        traced,
    };
    program.run(&input, false)
}

/// Points what stands in rendered texts at the templates that printed it.
fn blame_templates(
    chart: &Loaded,
    prepared: &Prepared,
    program: &Program,
    options: &Options,
    linter: &mut Linter,
) {
    let mut rendered: Vec<&mut Finding> = linter
        .findings
        .iter_mut()
        .filter(|one| one.rule == YAML_SYNTAX && one.diagnostic.is_some())
        .collect();
    let full = |path: &str| -> Arc<str> { format!("{}/{path}", chart.name()).into() };
    let traced: BTreeSet<Arc<str>> = rendered.iter().map(|one| full(&one.path)).collect();
    if traced.is_empty() {
        return;
    }
    let Ok((output, _)) = run_program(program, prepared, options, traced) else {
        return;
    };
    for finding in &mut rendered {
        let Some(diagnostic) = finding.diagnostic.take() else {
            continue;
        };
        let blamed = blame(diagnostic.note(RENDERED_LINES).into(), &output.origins);
        finding.diagnostic = blamed.into_vec().into_iter().next();
        let location = finding.diagnostic.as_ref().and_then(|one| one.location.clone());
        finding.location = location;
    }
}

fn tell(linter: &mut Linter, rule: &'static str, problems: &[Problem]) {
    let mut all = problems.iter();
    if let Some(first) = all.next() {
        linter.rule(Severity::Error, FOLDER, rule, Some(first.helm_text()));
        linter.explain(first.diagnostic());
    }
    for other in all {
        linter.own(FOLDER, rule, other.diagnostic());
    }
}

/// The checks of each template of the chart itself; the first file that is no YAML ends Helm's.
fn each_template(chart: &Loaded, output: &Output, options: &Options, linter: &mut Linter) {
    let kubernetes = &options.capabilities.kube_version;
    let number = |text: &str| text.parse().unwrap_or(0);
    let kubernetes = (number(&kubernetes.major), number(&kubernetes.minor));
    let mut readable = true;
    for template in &chart.templates {
        let path = template.name.as_str();
        let name = format!("{}/{path}", chart.name());
        let found = output.texts.iter().find(|(known, _)| **known == *name);
        let text = found.map_or("", |(_, text)| text.as_str());
        if !readable {
            objects::unreadable(linter, path, &name, text);
            continue;
        }
        linter.rule(Severity::Error, path, "template-extension", extension(path));
        if !objects::is_yaml(path) || text.trim().is_empty() {
            continue;
        }
        linter.rule(Severity::Warning, path, "top-indent", top_indent(text));
        readable = objects::each(linter, path, &name, text, &mut |linter, object| {
            objects::check(linter, path, object, text, kubernetes);
        });
    }
}

fn extension(path: &str) -> Option<String> {
    let base = path.rsplit('/').next().unwrap_or(path);
    let extension = base.rfind('.').and_then(|at| base.get(at..)).unwrap_or("");
    let known = matches!(extension, ".yaml" | ".yml" | ".tpl" | ".txt");
    (!known).then(|| {
        format!("file extension '{extension}' not valid. Valid extensions are .yaml, .yml, .tpl, or .txt")
    })
}

fn top_indent(text: &str) -> Option<String> {
    let first = text.lines().find(|line| !line.trim().is_empty())?;
    (first.starts_with([' ', '\t'])).then(|| {
        format!(
            "document starts with an illegal indent: {}, which may cause parsing problems",
            quote(first)
        )
    })
}

fn undefined(program: &Program, chart: &Loaded, values: &Map, linter: &mut Linter) {
    for one in undefined::find(program, chart, values) {
        let path = one.path.join(".");
        let message = if one.is_fatal {
            let parent = one.path.get(..=one.missing).unwrap_or_default().join(".");
            format!(
                "`.Values.{parent}` is in no values file, so `.Values.{path}` is an error where it is reached"
            )
        } else {
            format!("`.Values.{path}` is in no values file, and nothing stands in for it")
        };
        let place = Location::new(&one.location.source, one.location.span);
        let mut diagnostic = Diagnostic::warning(Class::Values, message)
            .at(place)
            .label(if one.is_fatal { "of nil" } else { "always empty" });
        if let Some(near) = &one.near {
            diagnostic = diagnostic.hint(format!("did you mean `.Values.{near}`?"));
        } else {
            diagnostic = diagnostic.hint("give it a default in values.yaml, even a commented one, or here");
        }
        let name = one.location.source.name();
        let file = name.split_once('/').map_or(name, |(_, rest)| rest).to_owned();
        linter.own(&file, undefined::UNDEFINED_VALUE, diagnostic);
    }
}
