//! The checks of the manifests in `crds/`, including those of subcharts.

use super::linted_chart::{EntryKind, LintedChart};
use super::{Linter, chartfile, objects, rules};
use crate::chart::load::Loaded;

/// All checks, in Helm's order.
pub(super) fn check(place: &LintedChart, linter: &mut Linter) {
    match place.find("crds") {
        EntryKind::Nothing => return,
        EntryKind::File => {
            linter.report(
                "crds/",
                &rules::CRDS_NOT_A_FOLDER,
                Some("not a directory".to_owned()),
            );
            return;
        }
        EntryKind::Folder => {}
    }
    let problem = chartfile::validate(place);
    let loaded = match (&place.loaded, problem) {
        (Ok(loaded), None) => loaded,
        (Err(problem), None) => {
            linter.report("crds/", &rules::CHART_LOAD, Some(problem.to_string()));
            return;
        }
        (_, words) => {
            linter.report("crds/", &rules::CHART_LOAD, words);
            return;
        }
    };
    of_chart(loaded, linter);
}

/// The first file that can't be read ends it, as in Helm.
fn of_chart(chart: &Loaded, linter: &mut Linter) -> bool {
    for (path, body) in chart.crds() {
        let text = match body.read() {
            Ok(bytes) => String::from_utf8_lossy(bytes),
            Err(problem) => {
                linter.report(path, &rules::CRD_FILE, Some(problem.to_string()));
                return false;
            }
        };
        let readable = objects::each(linter, path, path, &text, &mut |linter, object| {
            let foreign = !object.api_version.starts_with("apiextensions.k8s.io");
            let words = "apiVersion is not in 'apiextensions.k8s.io'".to_owned();
            linter.report(path, &rules::CRD_API_VERSION, foreign.then_some(words));
            let other = object.kind != "CustomResourceDefinition";
            let words = "object kind is not 'CustomResourceDefinition'".to_owned();
            linter.report(path, &rules::CRD_KIND, other.then_some(words));
        });
        if !readable {
            return false;
        }
    }
    // The loader limits the nesting of charts.
    chart.dependencies.iter().all(|one| of_chart(one, linter))
}
