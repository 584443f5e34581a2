//! `template`: the rendered manifests of a chart, as `helm template` prints them.

use std::mem::ManuallyDrop;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::args::template::TemplateArgs;
use super::context::{CommandOutcome, CommandResult, Context};
use super::dependency::{DependencyInputs, update_first};
use super::fetch;
use super::real_paths::{with_real_path, with_real_paths};
use super::request::{filter, request_of};
use super::template_files::write_files;
use super::validate::{located, print_findings, versions};
use super::validate_report::ValidateReport;
use super::watch_template::watch_template;
use crate::chart::load::Loaded;
use crate::diag::{Class, Diagnostic, Diagnostics, Result};
use crate::engine::manifest::{Crd, Manifest, ManifestFilter, Manifests, print_texts};
use crate::engine::release::Release;
use crate::engine::show::show_only;
use crate::engine::{ParsedChart, RenderRequest, RenderedChart};
use crate::fsio;
use crate::report::documents::{
    AnyValue, Document as _, HookEntry, ObjectEntry, ReleaseEntry, TemplateDocument,
};
use crate::report::{Outcome, Report};
use crate::validate::{CrdSchemas, ValidateOptions, Validated, validate as validate_chart};
use crate::value::Value;
use crate::values::dependencies::missing_charts;

/// `template`
pub(crate) fn template(args: &TemplateArgs, context: &Context<'_>) -> CommandResult {
    if args.watch {
        return watch_template(args, context);
    }
    rendered(args, context)
}

/// One rendering.
pub(super) fn rendered(args: &TemplateArgs, context: &Context<'_>) -> CommandResult {
    match run(args, context) {
        Ok(done) => done,
        Err(problem) => failed(problem, String::new()),
    }
}

fn failed(problem: Diagnostics, text: String) -> CommandResult {
    let report = Report::failure(&problem);
    CommandResult::One(Box::new(CommandOutcome {
        report,
        text,
        problem: Some(problem),
    }))
}

fn run(args: &TemplateArgs, context: &Context<'_>) -> Result<CommandResult> {
    let (chart, request) = request(args, context)?;
    let loaded = load(&chart, args, context)?;
    // Leaked on purpose if the process ends soon: dropping a large chart costs time.
    let sources = ManuallyDrop::new(ParsedChart::new(loaded));
    let done = run_loaded(args, (&sources, &chart), &request, context);
    if args.watch {
        drop(ManuallyDrop::into_inner(sources));
    }
    done
}

fn run_loaded(
    args: &TemplateArgs,
    (sources, chart): (&ParsedChart, &Path),
    request: &RenderRequest,
    context: &Context<'_>,
) -> Result<CommandResult> {
    let located = |problem| with_real_paths(problem, chart);
    let rendered = sources.render(request).map_err(located)?;
    for warning in &rendered.warnings {
        context.printer.warn(&with_real_path(warning.clone(), chart));
    }
    warn_of_impure(&rendered, args.watch, context);
    let choice = filter(args.shown.hooks);
    let RenderedChart {
        texts,
        crds,
        impure,
        predictable,
        ..
    } = rendered;
    let kept = args.debug.then(|| print_texts(&texts));
    let manifests = match sources.manifests(request, texts, args.shown.render_subchart_notes) {
        Ok(manifests) => manifests,
        Err(problem) => {
            let problem = explained(located(problem), args.debug);
            return Ok(failed(problem, kept.unwrap_or_default()));
        }
    };
    if args.validate
        && let Some(problem) = validate_objects(args, (sources, chart), request, context)?
    {
        return Ok(failed(problem, String::new()));
    }
    let crds = if args.shown.include_crds { crds } else { Vec::new() };
    for crd in &crds {
        fsio::check_text(&crd.name, crd.body.read()?, Class::Chart)?;
    }
    let (before, printed) = printed(args, &request.release, (&manifests, &crds), choice)?;
    let shown = match args.shown.show_only.is_empty() {
        true => printed,
        false => show_only(&printed, &args.shown.show_only)?,
    };
    // Avoids copying the output of a large chart.
    let text = match before.is_empty() {
        true => shown,
        false => before + &shown,
    };
    let json = if context.printer.wants_json() {
        document(
            &request.release,
            &manifests,
            &crds,
            choice,
            [&impure, &predictable],
        )
    } else {
        String::new()
    };
    Ok(CommandResult::Document { json, text })
}

/// What is printed of the manifests, after the names of the files that were written.
fn printed(
    args: &TemplateArgs,
    release: &Release,
    (manifests, crds): (&Manifests, &[Crd]),
    choice: ManifestFilter,
) -> Result<(String, String)> {
    let Some(folder) = &args.shown.output_dir else {
        return Ok((String::new(), manifests.print(crds, choice)));
    };
    let below = args.shown.release_name.then_some(release.name.as_str());
    Ok((
        write_files(manifests, crds, choice, folder, below)?,
        "\n".to_owned(),
    ))
}

/// `--validate`: prints what is wrong; the error if something is.
fn validate_objects(
    args: &TemplateArgs,
    (sources, chart): (&ParsedChart, &Path),
    request: &RenderRequest,
    context: &Context<'_>,
) -> Result<Option<Diagnostics>> {
    let given = &args.rendering.input.cluster.kube_version;
    let given: Vec<String> = Some(given.clone())
        .filter(|text| !text.is_empty())
        .into_iter()
        .collect();
    let versions = versions(&given)?;
    let options = ValidateOptions {
        versions: &versions,
        crds: &CrdSchemas::default(),
        hooks: filter(args.shown.hooks),
        requires_schemas: false,
    };
    let mut validated = Validated::default();
    validate_chart(sources, request, None, &options, &mut validated);
    validated.warnings.clear();
    located(&mut validated, chart);
    let report = ValidateReport {
        versions: versions.iter().map(|(version, _)| version.number()).collect(),
        charts: vec![(chart.display().to_string(), validated)],
        strict: false,
    };
    print_findings(&report, context);
    Ok(report.problem())
}

fn load(chart: &Path, args: &TemplateArgs, context: &Context<'_>) -> Result<Arc<Loaded>> {
    let fetch = &args.fetch;
    let loaded = fetch::load(chart, fetch, context)?;
    if !args.dependency_update || !chart.is_dir() || missing_charts(&loaded).is_empty() {
        return Ok(loaded);
    }
    let wanted = DependencyInputs {
        known: &fetch.repositories.known,
        provenance: &fetch.provenance,
    };
    update_first(chart, wanted, &fetch.client(context)?, context)?;
    fetch::load(chart, fetch, context)
}

/// The chart and the request, from the command line.
fn request(args: &TemplateArgs, context: &Context<'_>) -> Result<(PathBuf, RenderRequest)> {
    refuse_a_cluster(args)?;
    request_of(&args.rendering, &args.fetch.registry, context)
}

fn refuse_a_cluster(args: &TemplateArgs) -> Result<()> {
    let given = args.dry_run.as_str();
    if matches!(
        given,
        "client" | "unset" | "true" | "1" | "t" | "T" | "TRUE" | "True"
    ) {
        return Ok(());
    }
    let one = Diagnostic::error(Class::Usage, format!("invalid dry-run value (\"{given}\")"));
    Err(one
        .note("`template` never contacts a cluster: only `client` is possible; `solar-render apply --dry-run` asks one")
        .into())
}

fn explained(problem: Diagnostics, debug: bool) -> Diagnostics {
    let mut list = problem.into_vec();
    if let Some(last) = list.last_mut().filter(|_| !debug) {
        last.hints.push("--debug prints what was rendered".to_owned());
    }
    list.into_iter().collect()
}

/// Warns about functions with different results in every run, and about secrets that `--frozen` makes public.
fn warn_of_impure(rendered: &RenderedChart, watches: bool, context: &Context<'_>) {
    let warn = |message: String, hints: &[&str]| {
        let one = Diagnostic::warning(Class::Template, message);
        let one = hints.iter().fold(one, |one, hint| one.hint(*hint));
        context.printer.warn(&one);
    };
    let RenderedChart {
        impure, predictable, ..
    } = rendered;
    if !impure.is_empty() && (watches || context.printer.is_verbose()) {
        let names = impure.join(", ");
        let hint: &[&str] = match watches {
            true => &["with --frozen they are the same in each rendering"],
            false => &[],
        };
        warn(
            format!("results of these functions differ between runs: {names}"),
            hint,
        );
    }
    if !predictable.is_empty() {
        let names = predictable.join(", ");
        warn(
            format!(
                "with --frozen, keys, passwords and other secrets from these functions are public: {names}"
            ),
            &[
                "anyone who runs --frozen gets the same ones: compare such output, never install it",
                "render without --frozen, or give secrets as values",
            ],
        );
    }
}

/// The machine-readable result: the objects in the order in which they are printed.
fn document(
    release: &Release,
    all: &Manifests,
    crds: &[Crd],
    choice: ManifestFilter,
    noted: [&[&str]; 2],
) -> String {
    let crds = crds.iter().flat_map(|crd| {
        let texts = vec![(Arc::from(crd.name.as_str()), crd.body.text().into_owned())];
        Manifests::new("", texts, false).map_or_else(|_| Vec::new(), |all| all.manifests)
    });
    let crds: Vec<Manifest> = crds.collect();
    let manifests = crds.iter().chain(&all.manifests).chain(all.chosen_hooks(choice));
    let names = |names: &[&str]| names.iter().map(|&name| name.to_owned()).collect();
    let [impure, predictable] = noted;
    let document = TemplateDocument {
        outcome: Outcome::Rendered,
        release: ReleaseEntry {
            name: release.name.clone(),
            namespace: release.namespace.clone(),
        },
        objects: manifests.filter_map(entry).collect(),
        impure: names(impure),
        predictable: names(predictable),
        notes: all.notes.clone(),
    };
    document.to_json()
}

/// An object with its source; `None` if there are only comments.
fn entry(manifest: &Manifest) -> Option<ObjectEntry> {
    let object = manifest.object();
    if object == Value::Null {
        return None;
    }
    let hook = manifest.hook.as_ref().map(|hook| HookEntry {
        events: hook.events.iter().map(|&event| event.to_owned()).collect(),
        weight: hook.weight,
        delete_policies: hook.delete_policies.clone(),
        output_log_policies: hook.output_log_policies.clone(),
    });
    Some(ObjectEntry {
        source: manifest.source.to_string(),
        object: AnyValue(object),
        hook,
    })
}
