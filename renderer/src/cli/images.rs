//! `images`: the container images that a rendered chart uses.

use super::args::images::ImagesArgs;
use super::context::{CommandOutcome, CommandResult, Context};
use super::real_paths::{with_real_path, with_real_paths};
use super::request::request_of;
use crate::diag::Result;
use crate::engine::images::{ImageReference, images};
use crate::engine::manifest::{Manifest, ManifestFilter, Manifests};
use crate::engine::{ParsedChart, RenderRequest};
use crate::report::SCHEMA;
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
    let (path, request) = request_of(
        &args.name_and_chart,
        &args.values,
        &args.release,
        &args.cluster,
        args.frozen,
        context,
    )?;
    let loaded = super::fetch::load(&path, &args.fetch, context)?;
    let located = |problem| with_real_paths(problem, &path);
    let chart = ParsedChart::new(Arc::clone(&loaded));
    let request = RenderRequest {
        skip_schema: args.skip_schema_validation,
        ..request
    };
    let rendered = chart.render(&request).map_err(located)?;
    for warning in &rendered.warnings {
        context.printer.warn(&with_real_path(warning.clone(), &path));
    }
    let all = Manifests::new(&rendered.chart, rendered.texts, false)
        .map_err(|problem| located(chart.blame(&request, problem)))?;
    let choice = ManifestFilter {
        no_hooks: args.no_hooks,
        skip_tests: args.skip_tests,
    };
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
    let images = found.iter().map(|image| {
        let uses = image.uses.iter().map(|one| {
            let texts = [
                ("source", &one.source),
                ("apiVersion", &one.api_version),
                ("kind", &one.kind),
                ("name", &one.name),
                ("namespace", &one.namespace),
                ("field", &one.field),
            ];
            let texts = texts.into_iter().filter(|(_, text)| !text.is_empty());
            let texts = texts.map(|(key, text)| (key, Value::from(text.as_str())));
            Value::Map(texts.chain([("exact", Value::Bool(one.is_exact))]).collect())
        });
        let fields = [
            ("image", Value::from(image.name.as_str())),
            ("uses", Value::List(uses.collect())),
        ];
        Value::Map(fields.into_iter().collect())
    });
    let fields = [
        ("schema", Value::from(i64::from(SCHEMA))),
        ("outcome", Value::from("rendered")),
        ("images", Value::List(images.collect())),
    ];
    Value::Map(fields.into_iter().collect()).to_json()
}
