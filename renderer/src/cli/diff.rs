//! `diff`: what differs between two charts, two revisions or two sets of values, object by object.

use std::sync::Arc;

use super::args::diff::DiffArgs;
use super::args::rendering::ValueFlags;
use super::context::{CommandOutcome, CommandResult, Context};
use super::csv;
use super::diff_report::DiffReport;
use super::diff_sides::{Comparison, LoadedSide, without_repetition};
use super::lookup_files::lookup_objects;
use super::namespace::namespace;
use super::real_paths::{with_real_path, with_real_paths};
use super::remote_schemas::schema_store;
use super::remote_values::web_options;
use super::request::{filter, frozen_request, merged_silently};
use crate::diag::{Class, Diagnostic, Diagnostics, Result};
use crate::diff::{DiffOptions, Rendering, diff as compare, split_crds};
use crate::engine::capabilities::Capabilities;
use crate::engine::release::{Release, check_name};
use crate::engine::{ParsedChart, RenderRequest};
use crate::funcs::ClusterObjects;
use crate::parallel::both;
use crate::value::Map;
use crate::values::ValueOrigins;

/// `diff`
pub(crate) fn diff(args: &DiffArgs, context: &Context<'_>) -> CommandResult {
    match run(args, context) {
        Ok(done) => done,
        Err(problem) => CommandResult::One(Box::new(CommandOutcome::failed(problem))),
    }
}

/// The values of a side, and where each was set.
type SideValues = (Map, ValueOrigins);

fn run(args: &DiffArgs, context: &Context<'_>) -> Result<CommandResult> {
    let comparison = Comparison::of(args)?;
    check_name(&args.release_name)?;
    let cluster = cluster(args, context)?;
    let [from_values, to_values] = values(args, context)?;
    let requests = [
        request(args, from_values, &cluster, context)?,
        request(args, to_values, &cluster, context)?,
    ];
    let [from, to] = comparison.sides(args, context)?;
    let [from_request, to_request] = &requests;
    let parsed_from = Arc::new(ParsedChart::new(Arc::clone(&from.loaded)));
    let parsed_to = match Arc::ptr_eq(&from.loaded, &to.loaded) {
        true => Arc::clone(&parsed_from),
        false => Arc::new(ParsedChart::new(Arc::clone(&to.loaded))),
    };
    let hooks = filter(args.hooks);
    let (older, newer) = both(
        || Rendering::of(&parsed_from, from_request, hooks),
        || Rendering::of(&parsed_to, to_request, hooks),
    );
    let (mut older, mut newer) = rendered((older, &from), (newer, &to))?;
    split_crds(&mut older, &mut newer);
    for warning in &newer.warnings {
        let warning = warning.clone();
        context.printer.warn(&match &to.root {
            Some(root) => with_real_path(warning, root),
            None => warning,
        });
    }
    let options = DiffOptions {
        shows_secrets: args.show_secrets,
        ..DiffOptions::new(&to_request.release.namespace)
    };
    let found = compare(&older.documents, &newer.documents, &options);
    let report = DiffReport::new(
        found,
        (&from, &older, &parsed_from, from_request),
        (&to, &newer, &parsed_to, to_request),
    );
    let problem = (args.exit_code && !report.diff.is_empty()).then(|| {
        let message = format!("the charts differ: {}", report.summary());
        Diagnostics::from(Diagnostic::error(Class::Different, message))
    });
    Ok(report.findings(context.printer, problem))
}

/// Both renderings, or what is wrong with them and on which side.
fn rendered(
    (older, from): (Result<Rendering>, &LoadedSide),
    (newer, to): (Result<Rendering>, &LoadedSide),
) -> Result<(Rendering, Rendering)> {
    match (older, newer) {
        (Ok(older), Ok(newer)) => Ok((older, newer)),
        (Err(problem), Ok(_)) => Err(noted(problem, from, "older")),
        (Ok(_), Err(problem)) => Err(noted(problem, to, "newer")),
        (Err(problem), Err(other)) => Err(without_repetition(
            noted(problem, from, "older"),
            noted(other, to, "newer"),
        )),
    }
}

fn noted(problem: Diagnostics, side: &LoadedSide, which: &str) -> Diagnostics {
    let note = format!("{} is the {which} side", side.label);
    let list = located(problem, side).into_vec().into_iter();
    list.map(|one| one.note(note.clone())).collect()
}

fn located(problem: Diagnostics, side: &LoadedSide) -> Diagnostics {
    match &side.root {
        Some(root) => with_real_paths(problem, root),
        None => problem,
    }
}

/// The values of both sides. Those that both have are read once, unless one has others, too.
fn values(args: &DiffArgs, context: &Context<'_>) -> Result<[SideValues; 2]> {
    let shared = &args.input.values;
    let client = web_options(&args.fetch.registry);
    let own = [&args.sides.from_values, &args.sides.to_values];
    if own.iter().all(|files| files.is_empty()) {
        let (values, places) = merged_silently(shared, &client, context)?;
        for warning in places.warnings() {
            context.printer.warn(&warning);
        }
        return Ok([(values.clone(), places.clone()), (values, places)]);
    }
    let reads_input = |files: &[String]| files.iter().any(|file| file == "-");
    if reads_input(&csv::fields("--values", &shared.values)?) {
        let message =
            "--values - can't be given with --from-values or --to-values: standard input is read once";
        return Err(Diagnostic::error(Class::Usage, message).into());
    }
    let merge = |files: &[String]| {
        let mut flags = shared.clone();
        flags.values.extend_from_slice(files);
        merged_silently(&flags, &client, context)
    };
    let [from, to] = own;
    if reads_input(&csv::fields("--from-values", from)?) && reads_input(&csv::fields("--to-values", to)?) {
        let message = "only one of --from-values and --to-values can be standard input";
        return Err(Diagnostic::error(Class::Usage, message).into());
    }
    Ok([merge(from)?, merge(to)?])
}

/// `.Capabilities` of both sides.
fn capabilities(args: &DiffArgs) -> Result<Capabilities> {
    let flags = &args.input.cluster;
    let api_versions = csv::fields("--api-versions", &flags.api_versions)?;
    Capabilities::with(Some(&flags.kube_version), &api_versions)
}

/// What `lookup` finds on both sides.
fn cluster(args: &DiffArgs, context: &Context<'_>) -> Result<Arc<ClusterObjects>> {
    let of_side = |files: &[String]| ValueFlags {
        values: files.to_vec(),
        ..ValueFlags::default()
    };
    let (from, to) = (of_side(&args.sides.from_values), of_side(&args.sides.to_values));
    let values = [&args.input.values, &from, &to];
    lookup_objects(&args.lookup, &values, &capabilities(args)?, context)
}

/// The request of a rendering: always as with `--frozen`, so that what is generated is no difference.
fn request(
    args: &DiffArgs,
    (values, places): SideValues,
    cluster: &Arc<ClusterObjects>,
    context: &Context<'_>,
) -> Result<RenderRequest> {
    let input = &args.input;
    Ok(RenderRequest {
        values,
        places,
        release: Release {
            name: args.release_name.clone(),
            namespace: namespace(&input.release.namespace, context),
            is_upgrade: input.release.is_upgrade,
            revision: 1,
        },
        capabilities: capabilities(args)?,
        skip_schema: input.skip_schema_validation,
        schemas: schema_store(&input.schemas, web_options(&args.fetch.registry), true, context)?,
        limits: args.limits.limits(),
        cluster: Arc::<ClusterObjects>::clone(cluster),
        ..frozen_request(&args.release_name, context)
    })
}
