//! `apply`: a chart's objects in a cluster, server-side: what that would change, or done.

use std::collections::BTreeSet;
use std::sync::Arc;

use serde_json::{Value as Json, json};
use solar_server_side_apply::{ObjectKey, PreparedObject, Scopes, apply as apply_all};

use super::apply_errors::{located, refusals};
use super::apply_report::{AppliedObject, ApplyReport, dry_run_report};
use super::args::apply::ApplyArgs;
use super::context::{CommandOutcome, CommandResult, Context};
use super::diff_sides::{LoadedSide, named};
use super::namespace::namespace;
use super::real_paths::with_real_path;
use super::remote_schemas::schema_store;
use super::remote_values::web_options;
use super::request::merged;
use crate::cluster::client::{ApplyOptions, Session};
use crate::cluster::credentials::credentials;
use crate::cluster::dry_run::{ComesWith, DryRun, dry_run};
use crate::cluster::error::ApiError;
use crate::cluster::kubeconfig::{Connection, KubeconfigChoice, connection};
use crate::cluster::lookup::ClusterLookup;
use crate::cluster::objects::{ChartObject, objects};
use crate::diag::{Class, Diagnostic, Diagnostics, Result};
use crate::diff::{Rendering, Role, split_crds};
use crate::engine::capabilities::{Capabilities, KubeVersion};
use crate::engine::manifest::ManifestFilter;
use crate::engine::release::{Release, check_name};
use crate::engine::{ParsedChart, RenderRequest};
use crate::world::Fixed;

/// The most hooks that a message names.
const MAX_NAMED: usize = 5;

/// `apply`
pub(crate) fn apply(args: &ApplyArgs, context: &Context<'_>) -> CommandResult {
    match run(args, context) {
        Ok(done) => done,
        Err(problem) => CommandResult::One(Box::new(CommandOutcome::failed(problem))),
    }
}

/// A chart as it was rendered for a cluster.
pub(super) struct RenderedFor<'r> {
    pub(super) side: &'r LoadedSide,
    pub(super) rendering: &'r Rendering,
    pub(super) chart: &'r ParsedChart,
    pub(super) request: &'r RenderRequest,
    /// The context of the kubeconfig.
    pub(super) context: &'r str,
    pub(super) objects: &'r [ChartObject],
}

fn run(args: &ApplyArgs, context: &Context<'_>) -> Result<CommandResult> {
    check_name(&args.release_name)?;
    let release = &args.release.namespace;
    let choice = KubeconfigChoice {
        file: release.kubeconfig.clone(),
        context: release.kube_context.clone(),
    };
    let connection = connection(&choice, context.world)?;
    let side = named(&args.chart, None, &args.fetch, context)?;
    let session = Arc::new(connect(args, &connection, context)?);
    let request = request(args, &session, context)?;
    let chart = ParsedChart::new(Arc::clone(&side.loaded));
    let rendering = render(&chart, &request, &side, context)?;
    let list = objects(&rendering).map_err(|problem| located(problem, &side))?;
    let rendered = RenderedFor {
        side: &side,
        rendering: &rendering,
        chart: &chart,
        request: &request,
        context: &connection.context,
        objects: &list,
    };
    if !args.dry_run {
        refuse_hooks(args, &rendered)?;
    }
    let prepared = prepare(&session, &rendered);
    let created = release_namespace(args, &session, &rendered, &prepared)?;
    match args.dry_run {
        true => dry(args, &session, &rendered, (prepared, created), context),
        false => applied(&session, &rendered, (prepared, created), context),
    }
}

fn connect(args: &ApplyArgs, connection: &Connection, context: &Context<'_>) -> Result<Session> {
    let mut session = Session::connect(connection, credentials(connection)?, context.world)?;
    session.cluster.options = ApplyOptions {
        dry_run: args.dry_run,
        force: args.force_conflicts,
    };
    Ok(session)
}

/// The request of the rendering: with the cluster's version and API versions, and its objects for `lookup`.
fn request(args: &ApplyArgs, session: &Arc<Session>, context: &Context<'_>) -> Result<RenderRequest> {
    let cluster = &session.cluster;
    let client = web_options(&args.fetch.registry);
    let (values, places) = merged(&args.values, &client, context)?;
    let kube_version = KubeVersion::parse(&cluster.version)
        .map_err(|why| Diagnostic::error(Class::Protocol, format!("the cluster's version: {why}")))?;
    let request = RenderRequest {
        values,
        places,
        release: Release {
            name: args.release_name.clone(),
            namespace: namespace(&args.release.namespace, context),
            is_upgrade: args.release.is_upgrade,
            revision: 1,
        },
        capabilities: Capabilities {
            kube_version,
            api_versions: cluster.api_versions(),
        },
        skip_schema: args.skip_schema_validation,
        schemas: schema_store(&args.schemas, client, false, context)?,
        seeded: Arc::clone(&context.seeded),
        limits: args.limits.limits(),
        cluster: Arc::new(ClusterLookup::new(session)),
        ..RenderRequest::new(&args.release_name)
    };
    if !args.dry_run {
        return Ok(request);
    }
    // Nothing of it is kept, and the templates that say which line printed a change have to print the same again.
    Ok(RenderRequest {
        world: Arc::new(Fixed {
            now: context.world.now(),
            ..Fixed::default()
        }),
        seed: Some(context.world.entropy()),
        ..request
    })
}

fn render(
    chart: &ParsedChart,
    request: &RenderRequest,
    side: &LoadedSide,
    context: &Context<'_>,
) -> Result<Rendering> {
    let rendering = Rendering::of(chart, request, ManifestFilter::default());
    let mut rendering = rendering.map_err(|problem| located(problem, side))?;
    // Into objects: all files of `crds/` are new to nothing.
    split_crds(&mut Rendering::default(), &mut rendering);
    for warning in &rendering.warnings {
        let warning = warning.clone();
        context.printer.warn(&match &side.root {
            Some(root) => with_real_path(warning, root),
            None => warning,
        });
    }
    Ok(rendering)
}

/// The chart's objects as they are sent; for each its number among the chart's. Those of unknown kinds are errors.
struct Prepared {
    sent: Vec<(usize, PreparedObject)>,
    refused: Vec<(usize, ApiError)>,
}

fn prepare(session: &Session, rendered: &RenderedFor<'_>) -> Prepared {
    let cluster = &session.cluster;
    let scopes = Scopes::new(&cluster, rendered.objects.iter().map(|one| &one.object));
    let mut prepared = Prepared {
        sent: Vec::new(),
        refused: Vec::new(),
    };
    for (number, one) in rendered.objects.iter().enumerate() {
        match scopes.prepare(&one.object, &rendered.request.release.namespace) {
            Ok(object) => prepared.sent.push((number, object)),
            Err(error) => prepared.refused.push((number, error)),
        }
    }
    prepared
}

/// What is known of the release's namespace.
#[derive(Clone, Copy, PartialEq, Eq)]
enum ReleaseNamespace {
    /// It exists, the chart has it, no object is in it, or the user may not ask for it.
    NotNeeded,
    /// It is created first.
    Created,
}

/// # Errors
/// Class usage: it doesn't exist, and is not to be created.
fn release_namespace(
    args: &ApplyArgs,
    session: &Session,
    rendered: &RenderedFor<'_>,
    prepared: &Prepared,
) -> Result<ReleaseNamespace> {
    let name = &rendered.request.release.namespace;
    let is_in = prepared.sent.iter().any(|(_, one)| one.key.namespace == *name);
    let is_own = prepared
        .sent
        .iter()
        .any(|(_, one)| one.key == namespace_of(name).key);
    if !is_in || is_own {
        return Ok(ReleaseNamespace::NotNeeded);
    }
    let namespace = namespace_of(name);
    let live = session.cluster.live(&namespace.object, &namespace.key);
    match session.runtime.block_on(live) {
        Ok(None) if args.create_namespace => Ok(ReleaseNamespace::Created),
        Ok(None) => {
            let message = format!(
                "the cluster of the context {:?} has no namespace {name:?}",
                rendered.context
            );
            let one = Diagnostic::error(Class::Usage, message);
            Err(one
                .hint("--create-namespace creates it; -n names another one")
                .into())
        }
        Err(error) if error.is_unreachable() => Err(unreachable(rendered, &error)),
        // Users of one namespace may not ask for it; the objects themselves say what is wrong.
        Ok(Some(_)) | Err(_) => Ok(ReleaseNamespace::NotNeeded),
    }
}

fn namespace_of(name: &str) -> PreparedObject {
    let object = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}});
    PreparedObject {
        key: ObjectKey::of(&object, ""),
        object,
    }
}

fn unreachable(rendered: &RenderedFor<'_>, error: &ApiError) -> Diagnostics {
    let message = format!("the cluster of the context {:?}: {error}", rendered.context);
    Diagnostic::error(error.class(), message).into()
}

/// `--dry-run`
fn dry(
    args: &ApplyArgs,
    session: &Session,
    rendered: &RenderedFor<'_>,
    (prepared, created): (Prepared, ReleaseNamespace),
    context: &Context<'_>,
) -> Result<CommandResult> {
    let name = &rendered.request.release.namespace;
    let new_namespace = (created == ReleaseNamespace::Created).then_some(name.as_str());
    let comes_with = ComesWith::of(rendered.objects.iter().map(|one| &one.object), new_namespace);
    let sent: Vec<PreparedObject> = prepared.sent.iter().map(|(_, one)| one.clone()).collect();
    let found = session
        .runtime
        .block_on(dry_run(&session.cluster, &sent, &comes_with));
    let found = found.map_err(|error| unreachable(rendered, &error))?;
    let mut refused = prepared.refused;
    let mut results: Vec<(usize, &PreparedObject, DryRun)> = Vec::new();
    for ((number, one), result) in prepared.sent.iter().zip(found) {
        match result {
            DryRun::Refused(error) => refused.push((*number, error)),
            result => results.push((*number, one, result)),
        }
    }
    let mut notes = Vec::new();
    if let Some(name) = new_namespace {
        notes.push(format!("the namespace {name} would be created first"));
    }
    let hooks = due_hooks(args, rendered);
    if !hooks.is_empty() {
        notes.push(format!(
            "{} not run by apply: {}",
            counted(hooks.len(), "hook is", "hooks are"),
            shortened(&hooks)
        ));
    }
    let report = dry_run_report(&results, rendered, notes, args.show_secrets);
    let problem = match refused.is_empty() {
        false => Some(refusals(refused, rendered)),
        true => (args.exit_code && !report.diff.is_empty()).then(|| {
            let message = format!("the cluster would change: {}", report.summary());
            Diagnostics::from(Diagnostic::error(Class::Different, message))
        }),
    };
    Ok(report.findings(context.printer, problem))
}

fn counted(count: usize, one: &str, many: &str) -> String {
    match count {
        1 => format!("1 {one}"),
        count => format!("{count} {many}"),
    }
}

fn shortened(names: &[String]) -> String {
    let shown: Vec<&str> = names.iter().take(MAX_NAMED).map(String::as_str).collect();
    match names.len().checked_sub(MAX_NAMED) {
        Some(more) if more > 0 => format!("{}, and {more} more", shown.join(", ")),
        _ => shown.join(", "),
    }
}

/// The hooks that Helm would run: before and after an installation, or with `--is-upgrade` an upgrade.
fn due_hooks(args: &ApplyArgs, rendered: &RenderedFor<'_>) -> Vec<String> {
    let due = match args.release.is_upgrade {
        true => ["pre-upgrade", "post-upgrade"],
        false => ["pre-install", "post-install"],
    };
    let hooks = rendered
        .rendering
        .documents
        .iter()
        .filter(|one| one.role == Role::Hook);
    let named = hooks.filter_map(|one| {
        let events = &one.manifest.hook.as_ref()?.events;
        let events: Vec<&str> = events
            .iter()
            .copied()
            .filter(|event| due.contains(event))
            .collect();
        (!events.is_empty()).then(|| {
            format!(
                "{} {} ({})",
                one.manifest.kind,
                one.manifest.name,
                events.join(", ")
            )
        })
    });
    named.collect()
}

/// A chart without its hooks may be half a chart.
fn refuse_hooks(args: &ApplyArgs, rendered: &RenderedFor<'_>) -> Result<()> {
    let hooks = due_hooks(args, rendered);
    if args.no_hooks || hooks.is_empty() {
        return Ok(());
    }
    let message = format!(
        "the chart has {} that apply does not run: {}",
        counted(hooks.len(), "hook", "hooks"),
        shortened(&hooks)
    );
    let one = Diagnostic::error(Class::Usage, message).note("nothing was applied");
    Err(one
        .hint("--no-hooks applies the chart without them; the operator's ClusterAddons and `helm install` run them")
        .into())
}

/// Applies the objects.
fn applied(
    session: &Session,
    rendered: &RenderedFor<'_>,
    (prepared, created): (Prepared, ReleaseNamespace),
    context: &Context<'_>,
) -> Result<CommandResult> {
    let mut report = ApplyReport::new(rendered);
    let mut ended = Ok(());
    let mut errors: Vec<(usize, ApiError)> = prepared.refused;
    let mut server = &session.cluster;
    if created == ReleaseNamespace::Created {
        let own = [namespace_of(&rendered.request.release.namespace)];
        let mut refused = None;
        let sent = apply_all(&mut server, &own, |one, result| match result {
            Ok(applied) => report
                .objects
                .push(AppliedObject::new(&one.key, &one.object, None, Ok(applied))),
            Err(error) => refused = Some(error),
        });
        session
            .runtime
            .block_on(sent)
            .map_err(|error| unreachable(rendered, &error))?;
        if let Some(error) = refused {
            let message = format!("the namespace {}: {error}", rendered.request.release.namespace);
            return Err(Diagnostic::error(error.class(), message).into());
        }
    }
    let sent: Vec<PreparedObject> = prepared.sent.iter().map(|(_, one)| one.clone()).collect();
    if !sent.is_empty() {
        let mut numbers = prepared.sent.iter().map(|(number, _)| *number);
        let mut done = Vec::new();
        let sending = apply_all(&mut server, &sent, |one, result| {
            // One after the other, in their order.
            let number = numbers.next().unwrap_or_default();
            done.push((number, one.key.clone(), result));
        });
        ended = session.runtime.block_on(sending);
        for (number, key, result) in done {
            let object = rendered.objects.get(number);
            let kind = object.map_or(&Json::Null, |one| &one.object);
            let source = object.map(|one| &*one.source);
            report.objects.push(AppliedObject::new(
                &key,
                kind,
                source,
                result.as_ref().map(|one| *one),
            ));
            if let Err(error) = result {
                errors.push((number, error));
            }
        }
    }
    Ok(finish(report, ended, errors, (&prepared.sent, rendered), context))
}

/// The result: what was not tried is in it, too.
fn finish(
    mut report: ApplyReport,
    ended: std::result::Result<(), ApiError>,
    errors: Vec<(usize, ApiError)>,
    (sent, rendered): (&[(usize, PreparedObject)], &RenderedFor<'_>),
    context: &Context<'_>,
) -> CommandResult {
    let tried: BTreeSet<&ObjectKey> = report.objects.iter().map(|one| &one.key).collect();
    let untried: Vec<_> = sent.iter().filter(|(_, one)| !tried.contains(&one.key)).collect();
    let untried = untried.into_iter().map(|(number, one)| {
        let source = rendered.objects.get(*number).map(|one| &*one.source);
        AppliedObject::not_tried(&one.key, &one.object, source)
    });
    let untried: Vec<AppliedObject> = untried.collect();
    report.objects.extend(untried);
    for (number, error) in &errors {
        let Some(one) = rendered.objects.get(*number) else {
            continue;
        };
        if matches!(error, ApiError::NoKind(_)) {
            let key = ObjectKey::of(&one.object, "");
            report.objects.push(AppliedObject::new(
                &key,
                &one.object,
                Some(&one.source),
                Err(error),
            ));
        }
    }
    let mut problems = match errors.is_empty() {
        true => Vec::new(),
        false => refusals(errors, rendered).into_vec(),
    };
    if let Err(error) = ended {
        let left = report.objects.iter().filter(|one| one.is_untried()).count();
        let one = unreachable(rendered, &error).into_vec().into_iter();
        let note = format!(
            "{} not applied; apply again to go on",
            counted(left, "object was", "objects were")
        );
        problems.extend(one.map(|one| one.note(note.clone())));
    }
    CommandResult::Findings {
        json: report.json(),
        text: report.text(context.printer.output_style()),
        problem: Diagnostics::from_vec(problems),
    }
}
