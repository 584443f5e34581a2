//! Helm's messages about values that violate a schema.

use crate::values::schema::SchemaViolations;

/// Whether only the chart was checked, or its subcharts too.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Checked {
    Alone,
    Tree,
}

/// A line for each violation, followed by its causes; with subcharts, each chart's name precedes its violations.
pub(super) fn helm_message(found: &SchemaViolations, checked: Checked) -> String {
    let mut out = String::new();
    if checked == Checked::Tree {
        out.push_str(SchemaViolations::HEADLINE);
        out.push('\n');
    }
    let mut last = None;
    for one in &found.listed {
        if checked == Checked::Tree && last != Some(&one.chart) {
            out.push_str(&format!("{}:\n", one.chart));
            last = Some(&one.chart);
        }
        out.push_str(&format!("- {}\n", one.message));
        for cause in &one.causes {
            out.push_str(&format!("  - {cause}\n"));
        }
    }
    out
}
