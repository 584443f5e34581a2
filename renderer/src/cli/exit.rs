//! Ends a run: prints its result in the requested form, and returns its exit code.

use super::context::CommandResult;
use super::printer::{Finish, Printer};
use crate::diag::{Class, Diagnostic, Diagnostics};
use crate::report::{MAX_DOCUMENT, Report, list_to_bounded_json, list_to_json};

/// Prints the result; the exit code is that of the failure with the highest [`Class::weight`].
pub(crate) fn conclude(printer: &Printer, done: CommandResult) -> u8 {
    let (outcomes, list) = match done {
        CommandResult::One(outcome) => (vec![*outcome], false),
        CommandResult::Many(outcomes) => (outcomes, true),
        CommandResult::Document { json, text } => {
            let short = if json.len() > MAX_DOCUMENT {
                Report::default().to_json()
            } else {
                json.clone()
            };
            return finish(printer, &json, &short, &text, &[]);
        }
        CommandResult::Findings { json, text, problem } => {
            let report = problem.as_ref().map_or_else(Report::default, Report::failure);
            let short = report.to_json();
            let problems: Vec<&Diagnostics> = problem.iter().collect();
            return finish(printer, &json, &short, &text, &problems);
        }
    };
    let problems: Vec<&Diagnostics> = outcomes.iter().filter_map(|one| one.problem.as_ref()).collect();
    let reports: Vec<Report> = outcomes.iter().map(|one| one.report.clone()).collect();
    let text: String = outcomes.iter().map(|one| one.text.as_str()).collect();
    let (json, short) = match reports.as_slice() {
        [one] if !list => (one.to_whole_json(), one.to_json()),
        many => (list_to_json(many), list_to_bounded_json(many)),
    };
    finish(printer, &json, &short, &text, &problems)
}

/// `short` is used where the result's length is limited.
fn finish(printer: &Printer, json: &str, short: &str, text: &str, problems: &[&Diagnostics]) -> u8 {
    let classes = problems.iter().map(|problem| problem.class());
    let code = classes
        .min_by_key(|class| class.weight())
        .map_or(0, Class::exit_code);
    match printer.finish(json, short, text, problems) {
        Finish::Done => code,
        Finish::Lost if code == 0 => Class::Io.exit_code(),
        Finish::Lost => code,
        Finish::Before => loop {
            // A signal handler is ending the process with its own code.
            std::thread::park();
        },
    }
}

pub(crate) fn internal(panic: &(dyn std::any::Any + Send)) -> Diagnostics {
    let text = panic
        .downcast_ref::<String>()
        .map(String::as_str)
        .or(panic.downcast_ref::<&str>().copied());
    let message = format!("internal error (a bug): {}", text.unwrap_or("unknown reason"));
    Diagnostic::error(Class::Internal, message)
        .hint("please report it with the input that caused it")
        .into()
}
