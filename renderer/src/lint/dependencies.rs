//! The checks of the dependencies in Chart.yaml, and of `charts/`.

use super::linted_chart::LintedChart;
use super::{Linter, chartfile, rules};

/// All checks, in Helm's order.
pub(super) fn check(place: &LintedChart, linter: &mut Linter) {
    let refused = |linter: &mut Linter, words: &str| {
        let words = format!("unable to load chart\n\t{words}");
        linter.report("", &rules::CHART_LOAD, Some(words));
    };
    if let Some(words) = chartfile::validate(place) {
        return refused(linter, &words);
    }
    let chart = match &place.loaded {
        Ok(chart) => chart,
        Err(problem) => {
            refused(linter, &problem.to_string());
            if let Some(one) = problem.iter().next() {
                linter.explain(one.clone());
            }
            return;
        }
    };
    let declared = chart.details.dependencies();
    let found: Vec<&str> = chart.dependencies.iter().map(|one| one.name()).collect();
    let stray: Vec<&str> = found
        .iter()
        .copied()
        .filter(|name| declared.iter().all(|one| one.name != *name))
        .collect();
    let words = (!stray.is_empty()).then(|| {
        format!(
            "chart metadata is missing these dependencies: {}",
            stray.join(",")
        )
    });
    linter.report(&place.shown, &rules::DEPENDENCY_UNDECLARED, words);
    let mut keys: Vec<&str> = Vec::new();
    let mut twice: Vec<&str> = Vec::new();
    for one in declared {
        if keys.contains(&one.key()) {
            twice.push(one.key());
        }
        keys.push(one.key());
    }
    let words =
        (!twice.is_empty()).then(|| format!("multiple dependencies with name or alias: {}", twice.join(",")));
    linter.report(&place.shown, &rules::DEPENDENCY_UNIQUE, words);
    let missing: Vec<&str> = declared
        .iter()
        .map(|one| one.name.as_str())
        .filter(|name| !found.contains(name))
        .collect();
    let words = (!missing.is_empty()).then(|| {
        format!(
            "chart directory is missing these dependencies: {}",
            missing.join(",")
        )
    });
    linter.report(&place.shown, &rules::DEPENDENCY_MISSING, words);
}
