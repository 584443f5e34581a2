//! What Helm says of values that don't fit a schema.

use crate::diag::Diagnostics;
use crate::values::schema;

/// A line for each violation, causes below it; each chart's name before its own when there are names.
pub(super) fn words(problem: &Diagnostics, of_charts: bool) -> String {
    let mut all = problem.iter();
    let mut out = String::new();
    if let (Some(headline), true) = (all.next(), of_charts) {
        let text = headline.message.as_str();
        let end = text
            .find(schema::HEADLINE)
            .map_or(0, |at| at + schema::HEADLINE.len());
        out.push_str(text.get(..end).unwrap_or(text));
        out.push('\n');
    }
    let mut last = None;
    for one in all {
        let (chart, message) = one.message.split_once(": ").unwrap_or(("", &one.message));
        if of_charts && last != Some(chart) {
            out.push_str(&format!("{chart}:\n"));
            last = Some(chart);
        }
        out.push_str(&format!("- {message}\n"));
        for cause in &one.notes {
            out.push_str(&format!("  - {cause}\n"));
        }
    }
    out
}
