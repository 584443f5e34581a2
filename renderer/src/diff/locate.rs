//! The template's line for each change: the templates that printed one are run once more and traced.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::path::begin;
use super::{FieldPath, ObjectSide, RenderedDocument, Role, Side};
use crate::diag::Class;
use crate::engine::manifest::Manifest;
use crate::engine::{ParsedChart, RenderRequest};
use crate::source::{Location, Source, Span};
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
        let side = self.side;
        let located = self.locate(object, |node| match path.steps().is_empty() {
            true => Some(begin(node)),
            false => path.offset(node, side),
        });
        located.map(|location| line_of(&location))
    }

    /// As [`Locator::line`], of an object that was compared in another form than its document's: of as much of the path as
    /// the document has.
    pub fn nearest_line(&mut self, object: &ObjectSide, path: &FieldPath) -> Option<TemplateLine> {
        let located = self.locate(object, |node| Some(path.nearest_offset(node)));
        located.map(|location| line_of(&location))
    }

    /// Where a part of an object was printed; the part is searched in its document.
    pub fn locate(
        &mut self,
        object: &ObjectSide,
        part: impl FnOnce(&Node) -> Option<u32>,
    ) -> Option<Location> {
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
                part(node)?
            }
            None => 0,
        };
        match object.role {
            Role::Crd => Some(in_file(manifest, offset)),
            Role::Manifest | Role::Hook => {
                let (line, column) = manifest.position(offset);
                self.printed_by(manifest, line, column)
            }
        }
    }

    /// Of a text that `tpl` renders, the line of the call.
    fn printed_by(&self, manifest: &Manifest, line: usize, column: usize) -> Option<Location> {
        let origin = self.traced.get(&manifest.source)?.find(line, column)?;
        let callers = origin.trace.into_iter().map(|(_, location)| location);
        let mut locations = std::iter::once(origin.location).chain(callers);
        locations.find(|location| location.source.name() != TPL_NAME)
    }
}

/// A location in a file of `crds/`, of which a manifest is one document: the source has as many lines before it as the file.
fn in_file(manifest: &Manifest, offset: u32) -> Location {
    let (first, _) = manifest.position(0);
    let lead = "\n".repeat(first.saturating_sub(1));
    let start = lead.len() + usize::try_from(offset).unwrap_or_default();
    let source = Source::new(&*manifest.source, lead + manifest.text());
    Location::new(&source, Span::new(start, start))
}

fn line_of(location: &Location) -> TemplateLine {
    TemplateLine {
        template: location.source.name().to_owned(),
        line: location.position().line,
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
