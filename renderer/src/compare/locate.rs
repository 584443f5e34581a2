//! The template's line for each difference: the templates are run once more and traced.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::{Difference, DifferenceKind};
use crate::engine::manifest::{Manifest, Manifests};
use crate::engine::{ParsedChart, RenderRequest};
use crate::source::{Location, Source};
use crate::template::{Origin, Origins};

/// The most differences of a chart whose lines are searched: each may take a search of all texts that were included.
pub const MAX_LOCATED: usize = 1_000;

/// Where each of the first differences was printed, as far as that is known: not when the templates can't be rendered here, for
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
    let Ok((rendered, _, origins)) = chart.run_traced(request, true, names.clone()) else {
        return vec![None; differences.len()];
    };
    let crds: BTreeMap<&str, Arc<Source>> = rendered
        .crds
        .iter()
        .rev()
        .map(|crd| (crd.name.as_str(), Source::new(crd.name.as_str(), crd.body.text())))
        .collect();
    let texts = rendered.texts.iter().filter(|(name, _)| names.contains(name));
    let texts: BTreeMap<Arc<str>, Arc<Source>> = texts
        .map(|(name, text)| (Arc::clone(name), Source::new(&**name, text.as_str())))
        .collect();
    let manifests = Manifests::new(&rendered.chart, rendered.texts, false).unwrap_or_default();
    let mut by_template: BTreeMap<&str, Vec<&Manifest>> = BTreeMap::new();
    for manifest in manifests.manifests.iter().chain(&manifests.hooks) {
        by_template.entry(&manifest.source).or_default().push(manifest);
    }
    let find = |one: &Difference| {
        let template = one.source.as_str();
        if let Some(crd) = crds.get(template) {
            return in_file(crd, one);
        }
        if one.kind == DifferenceKind::OnlyHelm || one.kind == DifferenceKind::Blanks {
            return None;
        }
        let manifest = by_template.get(template)?.get(one.document)?;
        in_template(texts.get(template)?, manifest, origins.get(template)?, one)
    };
    let found = differences.iter().take(MAX_LOCATED).map(find);
    let rest = differences.len().saturating_sub(MAX_LOCATED);
    found.chain(std::iter::repeat_n(None, rest)).collect()
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

fn in_template(whole: &Source, manifest: &Manifest, origins: &Origins, one: &Difference) -> Option<Origin> {
    let line = line_in(manifest, one)?;
    // A document may begin within a line: behind `---`.
    let start = whole.position(u32::try_from(manifest.start()).ok()?);
    let before = if line == 0 { start.column } else { 1 };
    origins.find(start.line + line, before + one.position.column)
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
