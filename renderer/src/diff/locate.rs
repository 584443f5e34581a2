//! The template's line for each change: the templates that printed one are run once more and traced.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::path::begin;
use super::{FieldPath, ObjectSide, RenderedDocument, Role, Side};
use crate::diag::Class;
use crate::engine::manifest::Manifest;
use crate::engine::{ParsedChart, RenderRequest};
use crate::template::Origins;
use crate::yaml::{self, Node};

/// The most changes whose lines are searched: each may take a search of all texts that were included.
pub const MAX_LOCATED: usize = 1_000;
/// The name of a text that `tpl` renders, as in Helm.
const TPL_NAME: &str = "gotpl";

/// A line of a template, or of a file in `crds/`.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct TemplateLine {
    /// The template: `shop/templates/a.yaml`.
    pub template: String,
    /// The line, from 1.
    pub line: usize,
}

/// Finds the lines of one side's changes.
pub struct Locator<'l> {
    side: Side,
    documents: &'l [RenderedDocument],
    traced: BTreeMap<Arc<str>, Origins>,
    /// The documents that were parsed, by number.
    parsed: BTreeMap<usize, Option<Node>>,
    left: usize,
}

impl<'l> Locator<'l> {
    /// Runs the templates that printed these objects.
    pub fn new<'o>(
        side: Side,
        documents: &'l [RenderedDocument],
        objects: impl Iterator<Item = &'o ObjectSide>,
        chart: &ParsedChart,
        request: &RenderRequest,
    ) -> Self {
        let templates = objects.filter(|one| one.role != Role::Crd);
        let names: BTreeSet<Arc<str>> = templates.map(|one| Arc::clone(&one.source)).collect();
        Self {
            side,
            documents,
            traced: traced(chart, request, names),
            parsed: BTreeMap::new(),
            left: MAX_LOCATED,
        }
    }

    /// The line that printed a field of an object, as far as that is known.
    pub fn line(&mut self, object: &ObjectSide, path: &FieldPath) -> Option<TemplateLine> {
        self.left = self.left.checked_sub(1)?;
        let manifest = &self.documents.get(object.document)?.manifest;
        let root = self.parsed.entry(object.document).or_insert_with(|| {
            yaml::parse(manifest.source_text(), Class::Template, &yaml::Limits::default()).ok()
        });
        let offset = match root {
            Some(root) => {
                let node = match object.item {
                    Some(item) => root.get("items")?.items().get(item)?,
                    None => root,
                };
                match path.steps().is_empty() {
                    true => begin(node),
                    false => path.offset(node, self.side)?,
                }
            }
            None => 0,
        };
        let (line, column) = manifest.position(offset);
        match object.role {
            Role::Crd => Some(TemplateLine {
                template: object.source.to_string(),
                line,
            }),
            Role::Manifest | Role::Hook => self.printed_by(manifest, line, column),
        }
    }

    /// Of a text that `tpl` renders, the line of the call.
    fn printed_by(&self, manifest: &Manifest, line: usize, column: usize) -> Option<TemplateLine> {
        let origin = self.traced.get(&manifest.source)?.find(line, column)?;
        let callers = origin.trace.into_iter().map(|(_, location)| location);
        let mut locations = std::iter::once(origin.location).chain(callers);
        let location = locations.find(|location| location.source.name() != TPL_NAME)?;
        Some(TemplateLine {
            template: location.source.name().to_owned(),
            line: location.position().line,
        })
    }
}

/// The origins of what these templates print. They are run alone first, which fails where one includes another template
/// by its path.
fn traced(
    chart: &ParsedChart,
    request: &RenderRequest,
    names: BTreeSet<Arc<str>>,
) -> BTreeMap<Arc<str>, Origins> {
    if names.is_empty() {
        return BTreeMap::new();
    }
    let chosen = names.clone();
    let alone = RenderRequest {
        only: Some(Arc::new(move |name: &str| chosen.contains(name))),
        ..request.clone()
    };
    match chart.run_traced(&alone, true, names.clone()) {
        Ok((_, problems, traced)) if problems.is_empty() => traced,
        _ => {
            let all = chart.run_traced(request, true, names);
            all.map(|(.., traced)| traced).unwrap_or_default()
        }
    }
}
