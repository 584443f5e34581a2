//! The checks of templates: that they run, and of their output.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::lenient_values::prepare_as_found;
use super::linted_chart::{EntryKind, LintedChart};
use super::schema::{Checked, helm_message};
use super::{Finding, LintOptions, Linter, Rule, chartfile, objects, rules, undefined, unread};
use crate::chart::load::Loaded;
use crate::diag::Diagnostics;
use crate::engine::release::Release;
use crate::engine::{
    Program, ProgramUnit, RENDERED_LINES, RenderInput, RenderOutput, TemplateError, blame, defaults, unit,
};
use crate::funcs::ClusterObjects;
use crate::source::Location;
use crate::template::print::quote;
use crate::value::Map;
use crate::values::dependencies::{Enabled, PreparedValues};
use crate::values::schema::{self, Level};
use crate::world::System;

const FOLDER: &str = "templates/";
/// The release's name while linting.
const RELEASE: &str = "test-release";

/// All checks, in Helm's order, and our own.
pub(super) fn check(place: &LintedChart, options: &LintOptions, linter: &mut Linter) {
    match place.find("templates") {
        EntryKind::Nothing => {
            let words = "directory does not exist".to_owned();
            linter.report(FOLDER, &rules::TEMPLATES_FOLDER, Some(words));
            return;
        }
        EntryKind::File => {
            let words = "not a directory".to_owned();
            linter.report(FOLDER, &rules::TEMPLATES_NOT_A_FOLDER, Some(words));
            return;
        }
        EntryKind::Folder => {}
    }
    let chart = match (&place.loaded, chartfile::validate(place)) {
        (Ok(chart), None) => chart,
        (_, Some(words)) => {
            linter.report(FOLDER, &rules::CHART_LOAD, Some(words));
            return;
        }
        (Err(problem), None) => {
            refused(linter, &rules::CHART_LOAD, problem);
            return;
        }
    };
    // As in Helm, errors here are left to `template`.
    let Ok(prepared) = prepare_as_found(chart, &options.values) else {
        return;
    };
    let mut helms = true;
    let places = options.places.search();
    if !options.skip_schema
        && let Err(found) = schema::validate_with(
            &level(&prepared),
            &prepared.values,
            &|path| places.find(path, &defaults(&prepared.root, path)),
            &*options.schemas,
        )
    {
        let message = helm_message(&found, Checked::Tree);
        linter.report(FOLDER, &rules::VALUES_SCHEMA, Some(message));
        let placed = found.listed.into_iter().filter(|one| one.location.is_some());
        placed.for_each(|one| linter.own(FOLDER, &rules::VALUES_SCHEMA, one.into_diagnostic()));
        // Helm ends here; we continue, so that users see errors in templates in the same run.
        helms = false;
    }
    unread::check(chart, options, linter);
    if let Some(ran) = run(&prepared, options, linter, helms) {
        if helms && ran.is_whole {
            each_template(chart, &ran.output, options, linter);
        } else {
            for (path, name, text) in texts(chart, &ran.output) {
                objects::unreadable(linter, path, &name, text);
            }
        }
        blame_templates(chart, &prepared, &ran.program, options, linter);
        undefined(&ran, chart, &prepared.values, linter);
    }
}

fn refused(linter: &mut Linter, rule: &'static Rule, problem: &Diagnostics) {
    linter.report(FOLDER, rule, Some(problem.to_string()));
    if let Some(one) = problem.iter().next() {
        linter.explain(one.clone());
    }
}

fn level(prepared: &PreparedValues) -> Level<'_> {
    fn of(one: &Enabled) -> Level<'_> {
        Level {
            chart: one.name(),
            schema: one.chart.schema.as_ref(),
            // The loader limits the nesting of charts.
            children: one.children.iter().map(of).collect(),
        }
    }
    of(&prepared.root)
}

/// The result of running the templates, as far as possible.
struct Ran {
    program: Program,
    output: RenderOutput,
    /// Whether all templates could be run.
    is_whole: bool,
    /// The locations of the reported failures.
    reported: Vec<Location>,
}

/// Runs every template that can be parsed: a diagnostic for each failure, and Helm's message for the first if Helm gets
/// to it.
fn run(prepared: &PreparedValues, options: &LintOptions, linter: &mut Linter, helms: bool) -> Option<Ran> {
    let (mut reported, mut is_whole) = (Vec::new(), true);
    let mut root = unit(&prepared.root);
    let program = match Program::try_new(root.clone()) {
        Ok(Ok(program)) => program,
        Ok(Err(problems)) => {
            tell(linter, &rules::TEMPLATE_SYNTAX, &problems, helms, &mut reported);
            is_whole = false;
            leave_out(&mut root, &problems);
            Program::try_new(root).ok()?.ok()?
        }
        Err(problem) => {
            refused(linter, &rules::TEMPLATE_SYNTAX, &problem);
            return None;
        }
    };
    match run_program(&program, prepared, options, BTreeSet::new()) {
        Ok((output, mut problems)) => {
            // A missing template may be defined in a file that can't be parsed.
            problems.retain(|one| is_whole || !one.is_missing_template());
            tell(
                linter,
                &rules::TEMPLATE_RENDER,
                &problems,
                helms && is_whole,
                &mut reported,
            );
            Some(Ran {
                program,
                output,
                is_whole: is_whole && problems.is_empty(),
                reported,
            })
        }
        Err(problem) if helms && is_whole => {
            refused(linter, &rules::TEMPLATE_RENDER, &problem);
            None
        }
        Err(_) => None,
    }
}

/// Removes the texts that can't be parsed from a chart and its subcharts.
fn leave_out(unit: &mut ProgramUnit, problems: &[TemplateError]) {
    let path = unit.path.clone();
    unit.templates.retain(|(name, _)| {
        let name = format!("{path}/{name}");
        !problems
            .iter()
            .any(|one| matches!(one, TemplateError::Parse(error) if error.location.source.name() == name))
    });
    for child in &mut unit.children {
        leave_out(child, problems);
    }
}

fn run_program(
    program: &Program,
    prepared: &PreparedValues,
    options: &LintOptions,
    traced: BTreeSet<Arc<str>>,
) -> Result<(RenderOutput, Vec<TemplateError>), Diagnostics> {
    let release = Release {
        name: RELEASE.to_owned(),
        namespace: options.namespace.clone(),
        is_upgrade: false,
        revision: 0,
    };
    // Helm sets neither IsInstall nor IsUpgrade.
    let mut release = release.to_map();
    release.insert("IsInstall", false.into());
    let capabilities = || options.capabilities.to_val();
    let input = RenderInput {
        values: &prepared.values,
        release: &release,
        capabilities: &capabilities,
        world: Arc::new(System),
        seed: None,
        lint: true,
        limits: options.limits.clone(),
        traced,
        cluster: Arc::new(ClusterObjects::default()),
        seeded: Arc::default(),
    };
    program.run(&input, false)
}

/// Moves locations in rendered texts to the templates that printed them.
fn blame_templates(
    chart: &Loaded,
    prepared: &PreparedValues,
    program: &Program,
    options: &LintOptions,
    linter: &mut Linter,
) {
    let mut rendered: Vec<&mut Finding> = linter
        .findings
        .iter_mut()
        .filter(|one| one.rule == &rules::YAML_SYNTAX && one.diagnostic.is_some())
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

fn tell(
    linter: &mut Linter,
    rule: &'static Rule,
    problems: &[TemplateError],
    helms: bool,
    reported: &mut Vec<Location>,
) {
    for (index, problem) in problems.iter().enumerate() {
        let diagnostic = problem.diagnostic();
        reported.extend(diagnostic.location.clone());
        if helms && index == 0 {
            linter.report(FOLDER, rule, Some(problem.helm_text()));
            linter.explain(diagnostic);
        } else {
            linter.own(FOLDER, rule, diagnostic);
        }
    }
}

/// Each template of the chart itself: its path, its full name, and its output.
fn texts<'c>(
    chart: &'c Loaded,
    output: &'c RenderOutput,
) -> impl Iterator<Item = (&'c str, String, &'c str)> {
    chart.templates.iter().map(|template| {
        let name = format!("{}/{}", chart.name(), template.name);
        let found = output.texts.iter().find(|(known, _)| **known == *name);
        let text = found.map_or("", |(_, text)| text.as_str());
        (template.name.as_str(), name, text)
    })
}

/// The checks of each template of the chart itself; Helm's end at the first file that is not YAML.
fn each_template(chart: &Loaded, output: &RenderOutput, options: &LintOptions, linter: &mut Linter) {
    let kubernetes = &options.capabilities.kube_version;
    let number = |text: &str| text.parse().unwrap_or(0);
    let kubernetes = (number(&kubernetes.major), number(&kubernetes.minor));
    let mut readable = true;
    for (path, name, text) in texts(chart, output) {
        if !readable {
            objects::unreadable(linter, path, &name, text);
            continue;
        }
        linter.report(path, &rules::TEMPLATE_EXTENSION, extension(path));
        if !objects::is_yaml(path) || text.trim().is_empty() {
            continue;
        }
        linter.report(path, &rules::TOP_INDENT, top_indent(text));
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

/// The maximum length of a line in Go's scanner, in bytes.
const LONG_LINE: usize = 64 << 10;

fn top_indent(text: &str) -> Option<String> {
    let first = text
        .split('\n')
        .find(|line| !line.trim().is_empty() || line.len() >= LONG_LINE)?;
    if first.len() >= LONG_LINE {
        return Some("bufio.Scanner: token too long".to_owned());
    }
    (first.starts_with([' ', '\t'])).then(|| {
        format!(
            "document starts with an illegal indent: {}, which may cause parsing problems",
            quote(first)
        )
    })
}

fn undefined(ran: &Ran, chart: &Loaded, values: &Map, linter: &mut Linter) {
    for one in undefined::find(&ran.program, chart, values) {
        let line = one.location.position().line;
        let is_told = |reported: &Location| {
            reported.source.name() == one.location.source.name() && reported.position().line == line
        };
        if ran.reported.iter().any(is_told) {
            continue;
        }
        let name = one.location.source.name();
        let file = name.split_once('/').map_or(name, |(_, rest)| rest).to_owned();
        linter.own(&file, &rules::UNDEFINED_VALUE, one.diagnostic());
    }
}
