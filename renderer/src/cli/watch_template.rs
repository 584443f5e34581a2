//! `template --watch`: the output, then what is different of it after each change, template by template.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use super::args::global::OutputFormat;
use super::args::rendering::{LookupFlags, ValueFlags};
use super::args::template::TemplateArgs;
use super::chart_location::ChartLocation;
use super::context::{CommandOutcome, CommandResult, Context};
use super::csv;
use super::diff_text::{CYAN, GREEN, Paint, RED};
use super::input::{files_of_config, is_config};
use super::line_diff::line_diff;
use super::template::rendered;
use super::watch::{Round, Watched, watch};
use crate::diag::{Class, Diagnostic, Result};
use crate::draw::Style;
use crate::engine::manifest::printed_by_template;

/// `template --watch`
pub(super) fn watch_template(args: &TemplateArgs, context: &Context<'_>) -> CommandResult {
    match paths(args, context) {
        Ok((chart, paths)) => {
            let watched = Watched {
                paths,
                is_written: &|_| false,
            };
            let mut last = None;
            watch(&watched, context, &mut || round(args, &chart, &mut last, context))
        }
        Err(problem) => CommandResult::One(Box::new(CommandOutcome::failed(problem))),
    }
}

/// One rendering; `last` is what the last one that did not fail has printed.
fn round(args: &TemplateArgs, chart: &Path, last: &mut Option<String>, context: &Context<'_>) -> Round {
    let (text, problem) = match rendered(args, context) {
        CommandResult::Document { text, .. } => (text, None),
        CommandResult::One(outcome) => (outcome.text, outcome.problem),
        // Not of this command.
        CommandResult::Many(_) | CommandResult::Findings { .. } => (String::new(), None),
    };
    let files = match is_config(chart) {
        true => files_of_config(chart),
        false => Vec::new(),
    };
    if let Some(problem) = problem {
        for one in problem.iter() {
            context.printer.error(one);
        }
        let notice = Some("not rendered: the last output stays".to_owned()).filter(|_| last.is_some());
        return Round { text, notice, files };
    }
    let (text, notice) = match last.replace(text.clone()) {
        None => (text, None),
        Some(before) => {
            let changes = Changes::between(&before, &text);
            let paint = Paint(context.printer.output_style() == Style::Ansi);
            (
                changes.text(&paint),
                Some(format!("rendered again: {}", changes.summary())),
            )
        }
    };
    Round { text, notice, files }
}

/// The chart, and the files that flags name.
///
/// # Errors
/// Class usage: something is not a file that can be read again.
fn paths(args: &TemplateArgs, context: &Context<'_>) -> Result<(PathBuf, Vec<PathBuf>)> {
    refuse_documents(context)?;
    let rendering = &args.rendering;
    // What is wrong with the words is said by the rendering.
    let chart = rendering
        .name_and_chart
        .get(1)
        .or(rendering.name_and_chart.first());
    let chart = chart.cloned().unwrap_or_default();
    if ChartLocation::of(&chart, &args.fetch.repositories)? != ChartLocation::Disk {
        let one = Diagnostic::error(
            Class::Usage,
            format!("--watch watches files, and {chart} is elsewhere"),
        );
        return Err(one
            .hint(format!(
                "`solar-render pull {chart} --untar` makes a folder of it"
            ))
            .into());
    }
    let chart = PathBuf::from(chart);
    let mut paths = vec![chart.clone()];
    paths.extend(flag_files(&rendering.input.values, &rendering.lookup)?);
    paths.extend(rendering.input.schemas.schema_location.clone());
    Ok((chart, paths))
}

/// Documents are for programs, which read one.
///
/// # Errors
/// Class usage: another form than text is asked for.
pub(super) fn refuse_documents(context: &Context<'_>) -> Result<()> {
    let printer = context.printer;
    if printer.format() == OutputFormat::Text && printer.result_file().is_none() {
        return Ok(());
    }
    let message = "--watch prints text: other formats of -o and --result-file are for one run";
    let one = Diagnostic::error(Class::Usage, message);
    Err(one.hint("leave out --watch").into())
}

/// The files of the flags with values and objects; URLs are none.
///
/// # Errors
/// Class usage: standard input is among them.
pub(super) fn flag_files(values: &ValueFlags, lookup: &LookupFlags) -> Result<Vec<PathBuf>> {
    let mut names = csv::fields("--values", &values.values)?;
    let pairs = values.set_file.iter().flat_map(|given| given.split(','));
    names.extend(pairs.filter_map(|pair| Some(pair.split_once('=')?.1.to_owned())));
    names.extend(lookup.lookup_file.iter().cloned());
    if names.iter().any(|name| name.trim() == "-") {
        let one = Diagnostic::error(
            Class::Usage,
            "--watch reads files again, and standard input is read once",
        );
        return Err(one.hint("write it to a file").into());
    }
    let is_file = |name: &String| !name.contains("://");
    Ok(names.into_iter().filter(is_file).map(PathBuf::from).collect())
}

/// What is different between two outputs.
struct Changes {
    /// The lines of each template whose output is another.
    templates: Vec<(String, Vec<String>)>,
    /// Whether only the order is another.
    is_moved: bool,
}

impl Changes {
    fn between(before: &str, after: &str) -> Self {
        let (old, new) = (printed_by_template(before), printed_by_template(after));
        let names: Vec<&&str> = {
            let gone = old.keys().filter(|name| !new.contains_key(*name));
            let mut all: Vec<&&str> = gone.chain(new.keys()).collect();
            all.sort();
            all
        };
        let text = |all: &BTreeMap<&str, String>, name: &str| all.get(name).cloned().unwrap_or_default();
        let lines = names.into_iter().filter_map(|name| {
            let lines = line_diff(&text(&old, name), &text(&new, name));
            let is_same = !lines.iter().any(|line| line.starts_with(['-', '+']));
            (!is_same).then(|| ((*name).to_owned(), lines))
        });
        let templates: Vec<_> = lines.collect();
        Self {
            is_moved: templates.is_empty() && before != after,
            templates,
        }
    }

    fn text(&self, paint: &Paint) -> String {
        let mut out = String::new();
        for (name, lines) in &self.templates {
            // Writing to a String can't fail.
            let _ = writeln!(out, "{}", paint.with(CYAN, &format!("@@ {name} @@")));
            for line in lines {
                let shown = match line.as_bytes().first() {
                    Some(b'-') => paint.with(RED, line),
                    Some(b'+') => paint.with(GREEN, line),
                    _ => line.clone(),
                };
                let _ = writeln!(out, "{shown}");
            }
        }
        out
    }

    fn summary(&self) -> String {
        match (self.templates.len(), self.is_moved) {
            (0, false) => "the same output".to_owned(),
            (0, true) => "the same manifests in another order".to_owned(),
            (1, _) => "the output of 1 template is another".to_owned(),
            (count, _) => format!("the outputs of {count} templates are others"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ONE: &str = "---\n# Source: a/b.yaml\nx: 1\n\n---\n# Source: a/c.yaml\ny: 1\n";

    fn text(before: &str, after: &str) -> (String, String) {
        let changes = Changes::between(before, after);
        (changes.text(&Paint(false)), changes.summary())
    }

    #[test]
    fn changes_are_shown_for_each_template() {
        let other =
            "---\n# Source: a/b.yaml\nx: 2\n---\n# Source: a/b.yaml\nz: 1\n---\n# Source: a/d.yaml\ny: 1\n";
        let (shown, summary) = text(ONE, other);
        let expected =
            "@@ a/b.yaml @@\n- x: 1\n+ x: 2\n+ ---\n+ z: 1\n@@ a/c.yaml @@\n- y: 1\n@@ a/d.yaml @@\n+ y: 1\n";
        assert_eq!(
            (shown.as_str(), summary.as_str()),
            (expected, "the outputs of 3 templates are others")
        );
    }

    #[test]
    fn the_same_output_and_another_order_are_said() {
        let moved = "---\n# Source: a/c.yaml\ny: 1\n---\n# Source: a/b.yaml\nx: 1\n";
        assert_eq!(text(ONE, ONE), (String::new(), "the same output".to_owned()));
        assert_eq!(
            text(ONE, moved),
            (String::new(), "the same manifests in another order".to_owned())
        );
        let (shown, summary) = text("", ONE);
        assert!(
            shown.contains("+ x: 1") && summary.contains("2 templates"),
            "{shown} {summary}"
        );
    }
}
