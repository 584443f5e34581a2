//! `render`

use std::path::Path;

use super::args::render::Render;
use super::chart_files;
use super::context::{Context, Outcome};
use super::input::{folder_of, packer};
use super::push::{check_expected, describe, failed, ship};
use crate::config::Config;
use crate::diag::{Class, Diagnostic, Result};
use crate::oci;
use crate::pipeline::{self, Prepared};
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
        (Some(folder), Some(chart)) => chart_files::write_chart(chart, folder),
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
    let config = pipeline::read_expected_config(&args.config, std::io::stdin(), context.world)?;
    let time = args.time.render_timeout;
    let prepared = pipeline::from_config_within(&config, folder_of(&args.config), time, &mut packer())?;
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
