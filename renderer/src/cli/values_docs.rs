//! `values docs`: prints, writes or checks the README.md of charts.

use super::args::values::ValuesDocsArgs;
use super::chart_texts::{ChartText, ChartTexts};
use super::context::{CommandOutcome, CommandResult};
use crate::report::documents::Document as _;
use crate::report::values::{ChartReadmeEntry, ValuesDocsDocument};
use crate::value_docs::readme;

/// The maximum size of a README.md, in bytes.
const MAX_README_BYTES: usize = 16 * 1024 * 1024;

/// `values docs`
pub(crate) fn docs(args: &ValuesDocsArgs) -> CommandResult {
    let texts = ChartTexts {
        charts: &args.charts,
        ignore_file: Some(&args.ignore_file),
        file: &args.output_file,
        noun: "README",
        command: "values docs",
        write: args.write,
        check: args.check,
        limit: MAX_README_BYTES,
    };
    let options = match args.options() {
        Ok(options) => options,
        Err(problem) => return CommandResult::One(Box::new(CommandOutcome::failed(problem))),
    };
    texts.run(|chart| readme(chart, &options), document)
}

fn document(charts: Vec<ChartText>) -> String {
    let entries = charts.into_iter().map(|one| ChartReadmeEntry {
        chart: one.chart,
        outcome: one.outcome,
        text: one.text,
    });
    ValuesDocsDocument {
        charts: entries.collect(),
    }
    .to_json()
}
