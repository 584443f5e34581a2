//! `values schema`: prints, writes or checks the values.schema.json of charts.

use std::path::Path;

use super::args::rendering::ValueFlags;
use super::args::values::ValuesSchemaArgs;
use super::chart_runs::{ci_files, with_ci_file};
use super::chart_search::{expanded, find_all};
use super::context::{CommandOutcome, CommandResult, Context};
use super::line_diff::line_diff;
use super::request::merged_silently;
use crate::chart::load;
use crate::diag::{Class, Diagnostic, Diagnostics, Result};
use crate::fsio;
use crate::oci::ClientOptions;
use crate::report::documents::Document as _;
use crate::report::values::{ChartSchemaEntry, ValuesSchemaDocument};
use crate::value::Map;
use crate::value_schema::schema_of;

const FILE: &str = "values.schema.json";

/// `values schema`
pub(crate) fn schema(args: &ValuesSchemaArgs, context: &Context<'_>) -> CommandResult {
    match run(args, context) {
        Ok(done) => done,
        Err(problem) => CommandResult::One(Box::new(CommandOutcome::failed(problem))),
    }
}

fn run(args: &ValuesSchemaArgs, context: &Context<'_>) -> Result<CommandResult> {
    let charts = find_all(&expanded(&args.charts)?)?;
    if !args.write && !args.check && charts.len() > 1 {
        let message = format!("{} charts, and only one schema can be printed", charts.len());
        let one = Diagnostic::error(Class::Usage, message);
        return Err(one.hint("give one chart, --write or --check").into());
    }
    let (mut entries, mut text, mut problems) = (Vec::new(), String::new(), Vec::new());
    for chart in &charts {
        match of_chart(chart, args, context, &mut text) {
            Ok(entry) => entries.push(entry),
            Err(problem) => problems.extend(problem.into_vec()),
        }
    }
    let stale: Vec<&str> = entries
        .iter()
        .filter(|one| one.outcome == "stale")
        .map(|one| one.chart.as_str())
        .collect();
    if !stale.is_empty() {
        let message = format!("{FILE} is stale in {}", stale.join(", "));
        let one = Diagnostic::error(Class::Chart, message);
        problems.push(one.hint("run `solar-render values schema --write`"));
    }
    Ok(CommandResult::Findings {
        json: ValuesSchemaDocument { charts: entries }.to_json(),
        text,
        problem: Diagnostics::from_vec(problems),
    })
}

fn of_chart(
    chart: &Path,
    args: &ValuesSchemaArgs,
    context: &Context<'_>,
    text: &mut String,
) -> Result<ChartSchemaEntry> {
    if !chart.is_dir() {
        let message = format!("{} is not a chart's folder", chart.display());
        return Err(Diagnostic::error(Class::Usage, message).into());
    }
    let loaded = load::load(chart)?;
    let mut given = Vec::new();
    for file in ci_files(chart)? {
        let flags = with_ci_file(&ValueFlags::default(), &file);
        given.push(merged_silently(&flags, &ClientOptions::default(), context)?.0);
    }
    let schema = schema_of(&loaded, &given.iter().collect::<Vec<&Map>>())?;
    let path = chart.join(FILE);
    let known = loaded.schema.as_ref().map(|source| source.text());
    let is_same = known == Some(schema.as_str());
    let outcome = match (args.write, args.check) {
        (false, false) => {
            text.push_str(&schema);
            "printed"
        }
        _ if is_same => "unchanged",
        (true, _) => {
            fsio::write_over(&path, schema.as_bytes())
                .map_err(|error| fsio::cannot("write", &path, &error, Class::Io))?;
            text.push_str(&format!("{}: written\n", path.display()));
            "written"
        }
        (false, true) => {
            let lines = line_diff(known.unwrap_or(""), &schema).join("\n");
            text.push_str(&format!("{}:\n{lines}\n", path.display()));
            "stale"
        }
    };
    Ok(ChartSchemaEntry {
        chart: chart.display().to_string(),
        outcome,
        text: schema,
    })
}
