//! The errors of a chart's objects in a cluster: at the templates' lines, and without what Secrets hold.

use std::sync::Arc;

use serde_json::Value as Json;

use super::apply::RenderedFor;
use super::diff_sides::LoadedSide;
use super::real_paths::with_real_paths;
use crate::cluster::error::ApiError;
use crate::cluster::objects::{ChartObject, offset_of_field};
use crate::diag::{Diagnostic, Diagnostics};
use crate::diff::locate::Locator;
use crate::diff::{ObjectId, ObjectSide, Side};
use crate::value::Value;

/// With the paths of files, where the chart is a folder.
pub(super) fn located(problem: Diagnostics, side: &LoadedSide) -> Diagnostics {
    match &side.root {
        Some(root) => with_real_paths(problem, root),
        None => problem,
    }
}

/// The errors of objects, at the lines that printed what they are about.
pub(super) fn refusals(mut refused: Vec<(usize, ApiError)>, rendered: &RenderedFor<'_>) -> Diagnostics {
    refused.sort_by_key(|(number, _)| *number);
    let sides: Vec<Option<ObjectSide>> = refused
        .iter()
        .map(|(number, _)| rendered.objects.get(*number).map(side_of))
        .collect();
    let mut locator = Locator::new(
        Side::To,
        &rendered.rendering.documents,
        sides.iter().flatten(),
        rendered.chart,
        rendered.request,
    );
    let mut all = Vec::new();
    for ((number, error), side) in refused.into_iter().zip(&sides) {
        let (Some(object), Some(side)) = (rendered.objects.get(number), side) else {
            continue;
        };
        all.push(refusal(object, side, error, &mut locator));
    }
    let all: Diagnostics = all.into_iter().collect();
    located(all, rendered.side)
}

fn refusal(
    object: &ChartObject,
    side: &ObjectSide,
    error: ApiError,
    locator: &mut Locator<'_>,
) -> Diagnostic {
    let is_secret = side.id.kind == "Secret";
    let error = if is_secret { error.without_values() } else { error };
    // An excerpt with a Secret's field would show its value.
    let field = error.fields().first().filter(|_| !is_secret);
    let at = locator.locate(side, |node| {
        let own = field.and_then(|field| offset_of_field(node, field));
        own.or_else(|| offset_of_field(node, "apiVersion"))
            .or(Some(node.span.start))
    });
    let name = side.id.shown("");
    let one = Diagnostic::error(error.class(), format!("{name}: {error}"));
    let one = match at {
        Some(at) => one.at(at),
        None => one.note(format!("{} prints it", object.source)),
    };
    match &error {
        error if error.is_conflict() && error.to_string().contains("conflict with") => {
            one.hint("--force-conflicts takes the fields over; leave them out of the chart to leave them to the other manager")
        }
        ApiError::NoKind(_) => one.hint("its CRD is neither in the cluster nor in the chart"),
        error if error.is_not_found() && error.to_string().starts_with("namespaces ") => {
            one.hint("add the Namespace to the chart, or create it first")
        }
        _ => one,
    }
}

/// Where an object of the chart is, for [`Locator`].
fn side_of(one: &ChartObject) -> ObjectSide {
    let text = |pointer: &str| {
        let found = one.object.pointer(pointer).and_then(Json::as_str);
        found.unwrap_or_default().to_owned()
    };
    let namespace = text("/metadata/namespace");
    ObjectSide {
        id: ObjectId {
            api_version: text("/apiVersion"),
            kind: text("/kind"),
            namespace: namespace.clone(),
            name: text("/metadata/name"),
        },
        role: one.role,
        installed_in: namespace,
        source: Arc::clone(&one.source),
        document: one.document,
        item: one.item,
        value: Value::Null,
    }
}
