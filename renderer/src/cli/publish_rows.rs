//! The results of `publish`, in the order of the charts.

use std::path::{Path, PathBuf};

use super::context::{CalledAs, CommandOutcome, Context};
use super::input::name_input;
use super::printer::Printer;
use super::push::outcome;
use super::{ci, signals};
use crate::diag::{Class, Diagnostic, Diagnostics};
use crate::oci::{Finished, Going};
use crate::pipeline::{Delivered, delivered, describe};
use crate::report::{self, Report};

/// One row of the table.
pub(super) struct PublishRow {
    /// The path of the input.
    input: PathBuf,
    /// The chart's name and version, once they are known.
    chart: Option<(String, String)>,
    pub(super) outcome: CommandOutcome,
    /// The row of an identical chart, which was sent instead.
    twin: Option<usize>,
}

/// All rows.
pub(super) struct PublishRows<'a> {
    inputs: &'a [PathBuf],
    check: bool,
    context: &'a Context<'a>,
    rows: Vec<Option<PublishRow>>,
}

impl<'a> PublishRows<'a> {
    pub(super) fn new(inputs: &'a [PathBuf], check: bool, context: &'a Context<'a>) -> Self {
        Self {
            inputs,
            check,
            context,
            rows: inputs.iter().map(|_| None).collect(),
        }
    }

    /// Records the result of a chart.
    pub(super) fn tell(&mut self, number: usize, finished: Finished) {
        let Some(input) = self.inputs.get(number) else {
            return;
        };
        let mut made = self.row_of(input, finished);
        made.outcome.report.input = Some(input.display().to_string());
        if let Some(row) = self.rows.get_mut(number) {
            *row = Some(made);
        }
    }

    /// Returns all rows when the run has ended.
    pub(super) fn finish(self) -> Vec<PublishRow> {
        let mut rows: Vec<PublishRow> = self.rows.into_iter().flatten().collect();
        for number in 0..rows.len() {
            let first = rows.get(number).and_then(|row| rows.get(row.twin?));
            let became = first.map(|first| first.outcome.report.clone());
            if let (Some(became), Some(row)) = (became, rows.get_mut(number)) {
                row.outcome.report = like(became, row.outcome.report.input.take());
            }
        }
        if let Some(class) = self.context.signals.caught() {
            say_stopped(&mut rows, class);
        }
        rows
    }

    fn row_of(&self, input: &Path, finished: Finished) -> PublishRow {
        let (chart, outcome, twin) = match finished {
            Finished::Unmade(problem) => {
                let named = problem.into_vec().into_iter().map(|one| name_input(one, input));
                let problem = Diagnostics::from_vec(named.collect());
                let outcome =
                    problem.map_or_else(|| CommandOutcome::failed(internal()), CommandOutcome::failed);
                return PublishRow::new(input, None, outcome, None);
            }
            Finished::Stopped { going } => {
                let outcome = self.stopped(going.as_deref());
                let chart = going.map(|going| (going.name, going.version));
                return PublishRow::new(input, chart, outcome, None);
            }
            Finished::Sent(ready, result) => {
                for warning in &ready.warnings {
                    self.context.printer.warn(&name_input(warning.clone(), input));
                }
                let mut report = describe(&ready.artifact);
                report.reference = Some(ready.destination.to_string());
                let mut outcome = outcome(delivered(report, result), CalledAs::SolarRender);
                if self.check {
                    outcome.report.would = outcome.report.outcome.take();
                }
                (ready, outcome, None)
            }
            Finished::Taken { ready, by, same } => {
                let mut report = describe(&ready.artifact);
                report.reference = Some(ready.destination.to_string());
                let outcome = if same {
                    CommandOutcome {
                        report,
                        text: String::new(),
                        problem: None,
                    }
                } else {
                    failed_with(report, self.clash(input, by, &ready.destination.to_string()))
                };
                (ready, outcome, same.then_some(by))
            }
        };
        let chart = (chart.artifact.name.clone(), chart.artifact.version.clone());
        PublishRow::new(input, Some(chart), outcome, twin)
    }

    fn clash(&self, input: &Path, by: usize, destination: &str) -> Diagnostics {
        let other = self.inputs.get(by).map(|other| other.display().to_string());
        let message = format!(
            "{} and {} are different charts with one destination, {destination}",
            other.unwrap_or_default(),
            input.display()
        );
        Diagnostic::error(Class::Config, message)
            .note("nothing was sent for the second one")
            .hint("each chart of a run needs a name and version of its own")
            .into()
    }

    /// The reason is reported once for all charts: see [`say_stopped`].
    fn stopped(&self, going: Option<&Going>) -> CommandOutcome {
        let class = self.context.signals.caught().unwrap_or(Class::Terminated);
        let verb = signals::verb(class);
        let Some(going) = going else {
            let one = Diagnostic::error(class, format!("{verb} by a signal before it was sent"));
            return CommandOutcome {
                problem: None,
                ..CommandOutcome::failed(one.into())
            };
        };
        let one = Diagnostic::error(class, format!("{verb} by a signal while it was on its way"))
            .note(signals::UNKNOWN);
        let report = Report {
            reference: Some(going.destination.clone()),
            ..Report::default()
        };
        CommandOutcome {
            problem: None,
            ..failed_with(report.with_digest(&going.digest, going.size), one.into())
        }
    }
}

impl PublishRow {
    fn new(
        input: &Path,
        chart: Option<(String, String)>,
        outcome: CommandOutcome,
        twin: Option<usize>,
    ) -> Self {
        Self {
            input: input.to_owned(),
            chart,
            outcome,
            twin,
        }
    }

    pub(super) fn cells(&self) -> ci::ChartRow {
        let report = &self.outcome.report;
        let (chart, version) = self
            .chart
            .clone()
            .unwrap_or_else(|| (self.input.display().to_string(), "-".to_owned()));
        let outcome = match (&report.error, report.outcome, report.would) {
            (Some(error), ..) => format!("failed: {}", error.class),
            (None, Some(outcome), _) => outcome.as_str().to_owned(),
            (None, None, Some(report::Outcome::Unchanged)) => "unchanged".to_owned(),
            (None, None, Some(would)) => format!("would be {}", would.as_str()),
            (None, None, None) => "-".to_owned(),
        };
        ci::ChartRow {
            chart,
            version,
            outcome,
            digest: report.digest.clone(),
            error: report.error.as_ref().map(|error| error.message.clone()),
        }
    }
}

/// Annotations for the errors, each with the chart's path.
pub(super) fn annotate(rows: &[PublishRow], printer: &Printer) {
    for row in rows {
        let title = row.input.display().to_string();
        for one in row.outcome.problem.iter().flat_map(Diagnostics::iter) {
            printer.annotate(one, Some(&title));
        }
    }
    printer.errors_are_annotated();
}

/// The report of a chart that is identical to the one with the report `became`: it is unchanged.
fn like(became: Report, input: Option<String>) -> Report {
    let unchanged = |done: report::Outcome| match done {
        report::Outcome::Created | report::Outcome::Replaced => report::Outcome::Unchanged,
        other => other,
    };
    Report {
        outcome: became.outcome.map(unchanged),
        would: became.would.map(unchanged),
        input,
        ..became
    }
}

/// Reports the signal once, with the first chart that is not done.
fn say_stopped(rows: &mut [PublishRow], class: Class) {
    let all = rows.len();
    let done = rows
        .iter()
        .filter(|row| row.outcome.report.error.is_none())
        .count();
    let Some(first) = rows.iter_mut().find(|row| row.outcome.report.error.is_some()) else {
        return;
    };
    let message = format!(
        "{} by a signal: {done} of {all} charts are done",
        signals::verb(class)
    );
    let mut problem = Diagnostics::from(
        Diagnostic::error(class, message).hint("run it again: charts that are done are only compared"),
    );
    if let Some(own) = first.outcome.problem.take() {
        problem.extend(own);
    }
    first.outcome.problem = Some(problem);
}

/// A failure with the chart's details.
fn failed_with(report: Report, problem: Diagnostics) -> CommandOutcome {
    outcome(Delivered::failed(report, problem), CalledAs::SolarRender)
}

fn internal() -> Diagnostics {
    Diagnostic::error(Class::Internal, "a failure without a reason").into()
}
