//! `values schema`: prints, writes or checks the values.schema.json of charts.

use std::path::Path;

use super::args::rendering::ValueFlags;
use super::args::values::ValuesSchemaArgs;
use super::chart_runs::{ci_files, with_ci_file};
use super::chart_texts::{ChartText, ChartTexts};
use super::context::{CommandResult, Context};
use super::request::merged_silently;
use crate::chart::load;
use crate::diag::Result;
use crate::oci::ClientOptions;
use crate::report::documents::Document as _;
use crate::report::values::{ChartSchemaEntry, ValuesSchemaDocument};
use crate::value::Map;
use crate::value_schema::schema_of;

/// The maximum size of a values.schema.json that is compared, in bytes: no chart's is as large.
const MAX_SCHEMA_BYTES: usize = 16 * 1024 * 1024;

/// `values schema`
pub(crate) fn schema(args: &ValuesSchemaArgs, context: &Context<'_>) -> CommandResult {
    let texts = ChartTexts {
        charts: &args.charts,
        ignore_file: None,
        file: Path::new("values.schema.json"),
        noun: "schema",
        command: "values schema",
        write: args.write,
        check: args.check,
        limit: MAX_SCHEMA_BYTES,
    };
    texts.run(|chart| of_chart(chart, context), document)
}

fn of_chart(chart: &Path, context: &Context<'_>) -> Result<String> {
    let loaded = load::load(chart)?;
    let mut given = Vec::new();
    for file in ci_files(chart)? {
        let flags = with_ci_file(&ValueFlags::default(), &file);
        given.push(merged_silently(&flags, &ClientOptions::default(), context)?.0);
    }
    schema_of(&loaded, &given.iter().collect::<Vec<&Map>>())
}

fn document(charts: Vec<ChartText>) -> String {
    let entries = charts.into_iter().map(|one| ChartSchemaEntry {
        chart: one.chart,
        outcome: one.outcome,
        text: one.text,
    });
    ValuesSchemaDocument {
        charts: entries.collect(),
    }
    .to_json()
}
