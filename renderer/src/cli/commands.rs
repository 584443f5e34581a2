//! The commands, a function each: arguments to an [`Outcome`].

use std::fs::File;
use std::io::Read as _;
use std::path::Path;

use super::args::{DigestArgs, Package, Push, PushVersions, Render};
use super::dependency::{Wanted, update_first};
use super::shipping::{check_expected, client_options, describe, failed, ship};
use super::source_args::Provenance;
use super::{Context, Done, Outcome, files};
use crate::config::Config;
use crate::diag::{Class, Diagnostic, Diagnostics, Result};
use crate::oci::{self, ClientOptions};
use crate::package::Packer;
use crate::package::artifact::Artifact;
use crate::pipeline::{self, Prepared, Versions};
use crate::reference::Target;
use crate::report::{self, Report};

/// `render`
pub(crate) fn render(args: &Render, context: &Context<'_>) -> Outcome {
    let prepared = match prepare_render(args, context) {
        Ok(prepared) => prepared,
        Err(problem) => return Outcome::failed(problem),
    };
    let (config, prepared) = prepared;
    let artifact = &prepared.artifact;
    let report = describe(artifact);
    if let Err(problem) = check_expected(artifact, args.policy.expect_digest.as_ref()) {
        return failed(report, problem);
    }
    let kept = match (&args.output_dir, &prepared.chart) {
        (Some(folder), Some(chart)) => files::write_chart(chart, folder),
        _ => Ok(()),
    };
    if let Err(problem) = kept {
        return failed(report, problem);
    }
    let rendered = rendered_text(args, &config, context.as_solar);
    match &args.url {
        Some(target) if !skips_push(args) => {
            let mut outcome = ship(artifact, target, &args.policy, &args.registry, context);
            if context.as_solar && outcome.problem.is_none() {
                outcome.text = format!("{rendered}{}", outcome.text);
            }
            outcome
        }
        target => not_pushed(args, target.as_ref(), &prepared, report, &rendered),
    }
}

/// A target that is named is checked even when nothing is sent there.
fn not_pushed(
    args: &Render,
    target: Option<&Target>,
    prepared: &Prepared,
    report: Report,
    rendered: &str,
) -> Outcome {
    let destination = target
        .map(|target| oci::resolve(target, &prepared.artifact, args.policy.allow_mismatch))
        .transpose();
    let destination = match destination {
        Ok(destination) => destination,
        Err(problem) => return failed(report, problem),
    };
    let text = format!("{rendered}Digest: {}\n", prepared.artifact.digest);
    let reference = destination.map(|destination| destination.to_string());
    let report = Report {
        outcome: Some(report::Outcome::Rendered),
        reference,
        ..report
    };
    Outcome {
        report,
        text,
        problem: None,
    }
}

fn skips_push(args: &Render) -> bool {
    args.skip_push || !args.push
}

fn prepare_render(args: &Render, context: &Context<'_>) -> Result<(Config, Prepared)> {
    if context.as_solar && args.url.is_none() && !skips_push(args) {
        let one = Diagnostic::error(Class::Usage, "--url is missing");
        return Err(one.hint("say where the chart goes, or --skip-push").into());
    }
    if args.registry.password_stdin && args.config == Path::new("-") {
        let message = "standard input can't be both the config and the password";
        return Err(Diagnostic::error(Class::Usage, message).into());
    }
    let config = pipeline::read_config(&args.config, std::io::stdin())?;
    let prepared = pipeline::from_config(&config, folder_of(&args.config), &mut packer())?;
    Ok((config, prepared))
}

fn rendered_text(args: &Render, config: &Config, as_solar: bool) -> String {
    let place = args
        .output_dir
        .as_ref()
        .map_or(String::new(), |folder| format!(" to {}", folder.display()));
    if as_solar {
        return format!("Rendered {}{place}\n", config.type_name());
    }
    format!(
        "Rendered: {} {}{place}\n",
        config.chart().name,
        config.chart().version
    )
}

/// `package`
pub(crate) fn package(args: &Package, context: &Context<'_>) -> Done {
    if args.expect_digest.is_some() && args.charts.len() > 1 {
        let one = Diagnostic::error(Class::Usage, "--expect-digest goes with one chart");
        return Done::One(Box::new(Outcome::failed(one.into())));
    }
    // The password may come from standard input, which is read once.
    let client = args
        .dependency_update
        .then(|| client_options(&args.registry))
        .transpose();
    let client = match client {
        Ok(client) => client.map(|client| ClientOptions {
            cache: args.cache.find(context),
            ..client
        }),
        Err(problem) => return Done::One(Box::new(Outcome::failed(problem))),
    };
    let mut packer = packer();
    let mut outcomes: Vec<Outcome> = args
        .charts
        .iter()
        .map(|chart| package_one(chart, args, client.as_ref(), &mut packer, context))
        .collect();
    match outcomes.pop() {
        Some(one) if outcomes.is_empty() => Done::One(Box::new(one)),
        last => Done::Many(outcomes.into_iter().chain(last).collect()),
    }
}

fn package_one(
    chart: &Path,
    args: &Package,
    client: Option<&ClientOptions>,
    packer: &mut Packer,
    context: &Context<'_>,
) -> Outcome {
    let versions = Versions {
        version: args.versions.version.as_deref(),
        app_version: args.versions.app_version.as_deref(),
    };
    let prepared = update_dependencies(chart, args, client, context)
        .and_then(|()| pipeline::stamp(context.world))
        .and_then(|stamp| pipeline::from_folder(chart, versions, stamp, packer));
    let prepared = match prepared {
        Ok(prepared) => prepared,
        Err(problem) => return Outcome::failed(problem),
    };
    warn(&prepared, context);
    let report = describe(&prepared.artifact);
    match save(&prepared.artifact, args, context) {
        Ok(pushed) => {
            let path = pushed
                .reference
                .strip_prefix("file:")
                .unwrap_or(&pushed.reference);
            let digest = &prepared.artifact.digest;
            let text = format!("Successfully packaged chart and saved it to: {path}\nDigest: {digest}\n");
            let report = Report {
                outcome: Some(pushed.outcome),
                reference: Some(pushed.reference),
                ..report
            };
            Outcome {
                report,
                text,
                problem: None,
            }
        }
        Err(problem) => failed(report, problem),
    }
}

fn update_dependencies(
    chart: &Path,
    args: &Package,
    client: Option<&ClientOptions>,
    context: &Context<'_>,
) -> Result<()> {
    let Some(client) = client else { return Ok(()) };
    let wanted = Wanted {
        chart,
        known: &args.known,
        provenance: &Provenance::default(),
    };
    update_first(wanted, client, context)
}

/// As with Helm, a package that is there is replaced: it is what the folder makes.
fn save(artifact: &Artifact, args: &Package, context: &Context<'_>) -> Result<oci::Pushed> {
    check_expected(artifact, args.expect_digest.as_ref())?;
    let target = Target::File {
        dir: args.destination.clone(),
    };
    let destination = oci::resolve(&target, artifact, false)?;
    let options = oci::PushOptions {
        if_exists: oci::IfExists::Replace,
        ..oci::PushOptions::default()
    };
    let client = oci::ClientOptions::default();
    oci::push(
        artifact,
        &destination,
        &options,
        &client,
        context.world,
        &oci::Silent,
    )
    .map_err(|failure| failure.diagnostic().into())
}

/// `digest`
pub(crate) fn digest(args: &DigestArgs, context: &Context<'_>) -> Outcome {
    let versions = PushVersions {
        version: args.versions.version.clone(),
        app_version: args.versions.app_version.clone(),
    };
    let prepared = match prepare_any(&args.input, &versions, context) {
        Ok(prepared) => prepared,
        Err(problem) => return Outcome::failed(problem),
    };
    warn(&prepared, context);
    let artifact = &prepared.artifact;
    let report = describe(artifact);
    if let Err(problem) = check_expected(artifact, args.expect_digest.as_ref()) {
        return failed(report, problem);
    }
    let report = Report {
        outcome: Some(report::Outcome::Rendered),
        ..report
    };
    Outcome {
        report,
        text: format!("{}\n", artifact.digest),
        problem: None,
    }
}

/// `push`
pub(crate) fn push(args: &Push, context: &Context<'_>) -> Outcome {
    let prepared = match prepare_push(args, context) {
        Ok(prepared) => prepared,
        Err(problem) => return Outcome::failed(problem),
    };
    warn(&prepared, context);
    ship(
        &prepared.artifact,
        &args.target,
        &args.policy,
        &args.registry,
        context,
    )
}

fn prepare_push(args: &Push, context: &Context<'_>) -> Result<Prepared> {
    if !args.chart.is_dir() && !is_archive(&args.chart) {
        let problem = if args.chart.exists() {
            "is neither a chart folder nor an archive"
        } else {
            "does not exist"
        };
        let one = Diagnostic::error(Class::Chart, format!("{} {problem}", args.chart.display()));
        return Err(one
            .hint("a config is pushed by `solar-render CONFIG --url TARGET`")
            .into());
    }
    prepare_any(&args.chart, &args.versions, context)
}

/// A chart folder, an archive or a config, told apart by what is there.
fn prepare_any(input: &Path, versions: &PushVersions, context: &Context<'_>) -> Result<Prepared> {
    let PushVersions { version, app_version } = versions;
    let given = version.is_some() || app_version.is_some();
    if input != Path::new("-") && input.is_dir() {
        let versions = Versions {
            version: version.as_deref(),
            app_version: app_version.as_deref(),
        };
        return pipeline::from_folder(input, versions, pipeline::stamp(context.world)?, &mut packer());
    }
    if given {
        let message = "--version and --app-version go with a chart folder";
        return Err(Diagnostics::from(Diagnostic::error(Class::Usage, message)));
    }
    if input != Path::new("-") && is_archive(input) {
        return pipeline::from_archive(input, &mut packer());
    }
    let config = pipeline::read_config(input, std::io::stdin())?;
    pipeline::from_config(&config, folder_of(input), &mut packer())
}

/// By name, or by gzip's first bytes.
pub(crate) fn is_archive(path: &Path) -> bool {
    if path.extension().is_some_and(|extension| extension == "tgz") {
        return path.exists();
    }
    let mut magic = [0; 2];
    // What is read of a pipe is gone.
    path.is_file()
        && File::open(path)
            .and_then(|mut file| file.read_exact(&mut magic))
            .is_ok()
        && magic == [0x1f, 0x8b]
}

/// The folder that a config's paths are relative to.
pub(crate) fn folder_of(config: &Path) -> &Path {
    config.parent().unwrap_or(Path::new(""))
}

fn packer() -> Packer {
    Packer::new(crate::parallel::processors())
}

fn warn(prepared: &Prepared, context: &Context<'_>) {
    for warning in prepared.chart.iter().flat_map(|chart| &chart.warnings) {
        context.printer.warn(warning);
    }
}
