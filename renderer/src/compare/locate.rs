//! The template's line for each difference: the templates are run once more and traced.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::{Difference, DifferenceKind};
use crate::engine::manifest::{Manifest, Manifests};
use crate::engine::{ParsedChart, RenderRequest, Traced};
use crate::source::{Location, Source};
use crate::template::Origin;

/// Where each difference was printed, as far as that is known: not when the templates can't be rendered here, for
/// documents that only Helm prints, and for lines that are not found in what is rendered now.
pub fn locate(
    chart: &ParsedChart,
    request: &RenderRequest,
    differences: &[Difference],
) -> Vec<Option<Origin>> {
    let names: BTreeSet<Arc<str>> = differences
        .iter()
        .map(|one| Arc::from(one.source.as_str()))
        .collect();
    let Ok((rendered, _, origins)) = chart.run_traced(request, true, names) else {
        return vec![None; differences.len()];
    };
    let texts: Vec<Arc<Source>> = rendered
        .texts
        .iter()
        .map(|(name, text)| Source::new(&**name, text.as_str()))
        .collect();
    let crds: Vec<Arc<Source>> = rendered
        .crds
        .iter()
        .map(|crd| Source::new(crd.name.as_str(), crd.body.text()))
        .collect();
    let manifests = Manifests::new(&rendered.chart, rendered.texts, false).unwrap_or_default();
    let find = |one: &Difference| {
        if let Some(crd) = crds.iter().find(|crd| crd.name() == one.source) {
            return in_file(crd, one);
        }
        let whole = texts.iter().find(|text| text.name() == one.source)?;
        in_template(whole, &manifests, &origins, one)
    };
    differences.iter().map(find).collect()
}

/// CRDs are printed as they are.
fn in_file(crd: &Arc<Source>, one: &Difference) -> Option<Origin> {
    let wanted = one.ours.first().filter(|line| !line.trim().is_empty())?;
    let mut found = crd.text().match_indices(wanted.as_str()).map(|(at, _)| at);
    let (at, None) = (found.next()?, found.next()) else {
        return None;
    };
    Some(Origin {
        location: Location::new(crd, crate::source::Span::new(at, at + wanted.len())),
        trace: Vec::new(),
    })
}

fn in_template(whole: &Source, manifests: &Manifests, origins: &Traced, one: &Difference) -> Option<Origin> {
    if one.kind == DifferenceKind::OnlyHelm || one.kind == DifferenceKind::Blanks {
        return None;
    }
    let all = manifests.manifests.iter().chain(&manifests.hooks);
    let manifest = all
        .filter(|manifest| *manifest.source == *one.source)
        .nth(one.document)?;
    let line = line_in(manifest, one)?;
    let before = whole.text().get(..manifest.start())?.matches('\n').count();
    // A document may begin within a line: behind `---`.
    let first = manifest.start()
        - whole
            .text()
            .get(..manifest.start())?
            .rfind('\n')
            .map_or(0, |at| at + 1);
    let column = one.position.column + if line == 0 { first } else { 0 };
    origins
        .get(one.source.as_str())?
        .find(before + line + 1, column + 1)
}

/// The line that is meant: generated texts may have more or fewer lines now.
fn line_in(manifest: &Manifest, one: &Difference) -> Option<usize> {
    let lines: Vec<&str> = manifest.text().split('\n').collect();
    let wanted = one.ours.first().map(String::as_str);
    let Some(wanted) = wanted.filter(|_| one.kind == DifferenceKind::Lines) else {
        return lines.get(one.position.line).map(|_| one.position.line);
    };
    if lines.get(one.position.line) == Some(&wanted) {
        return Some(one.position.line);
    }
    let mut found = lines.iter().enumerate().filter(|(_, line)| **line == wanted);
    match (found.next(), found.next()) {
        (Some((number, _)), None) => Some(number),
        _ => None,
    }
}
