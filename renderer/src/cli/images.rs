//! `images`: the container images that a rendered chart uses.

use super::args::images::ImagesArgs;
use super::context::{CommandOutcome, CommandResult, Context};
use super::real_paths::{with_real_path, with_real_paths};
use super::request::{filter, request_of};
use crate::diag::Result;
use crate::engine::ParsedChart;
use crate::engine::images::{ImageReference, Use, images};
use crate::engine::manifest::Manifest;
use crate::report::Outcome;
use crate::report::documents::{Document as _, ImageEntry, ImageUse, ImagesDocument};
use crate::value::Value;
use std::sync::Arc;

/// `images`
pub(crate) fn list(args: &ImagesArgs, context: &Context<'_>) -> CommandResult {
    match run(args, context) {
        Ok(done) => done,
        Err(problem) => CommandResult::One(Box::new(CommandOutcome::failed(problem))),
    }
}

fn run(args: &ImagesArgs, context: &Context<'_>) -> Result<CommandResult> {
    let (path, request) = request_of(&args.rendering, &args.fetch.registry, context)?;
    let loaded = super::fetch::load(&path, &args.fetch, context)?;
    let located = |problem| with_real_paths(problem, &path);
    let chart = ParsedChart::new(Arc::clone(&loaded));
    let rendered = chart.render(&request).map_err(located)?;
    for warning in &rendered.warnings {
        context.printer.warn(&with_real_path(warning.clone(), &path));
    }
    let all = chart
        .manifests(&request, rendered.texts, false)
        .map_err(located)?;
    let choice = filter(args.hooks);
    let manifests = all.manifests.iter().chain(all.chosen_hooks(choice));
    let objects: Vec<(&Manifest, Value)> = manifests.map(|one| (one, one.object())).collect();
    let found = images(
        objects
            .iter()
            .map(|(manifest, object)| (&*manifest.source, object)),
    );
    let text = found.iter().map(|image| format!("{}\n", image.name)).collect();
    Ok(CommandResult::Document {
        json: document(&found),
        text,
    })
}

fn document(found: &[ImageReference]) -> String {
    let images = found.iter().map(|image| ImageEntry {
        image: image.name.clone(),
        uses: image.uses.iter().cloned().map(image_use).collect(),
    });
    let document = ImagesDocument {
        outcome: Outcome::Rendered,
        images: images.collect(),
    };
    document.to_json()
}

fn image_use(one: Use) -> ImageUse {
    let Use {
        source,
        api_version,
        kind,
        name,
        namespace,
        field,
        is_exact: exact,
    } = one;
    ImageUse {
        source,
        api_version,
        kind,
        name,
        namespace,
        field,
        exact,
    }
}
