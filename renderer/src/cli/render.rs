//! `render`

use std::path::Path;

use super::args::render::RenderArgs;
use super::context::{CommandOutcome, Context};
use super::input::{ArtifactSource, packer};
use super::push::{deliver, with_policy};
use crate::config::Config;
use crate::diag::{Class, Diagnostic, Result};
use crate::pipeline::{Request, VersionOverrides};

/// `render`
pub(crate) fn render(args: &RenderArgs, context: &Context<'_>) -> CommandOutcome {
    run(args, context).unwrap_or_else(CommandOutcome::failed)
}

fn run(args: &RenderArgs, context: &Context<'_>) -> Result<CommandOutcome> {
    check(args, context)?;
    let source = ArtifactSource::config(&args.config, context)?;
    let mut request = Request::new(source.input(VersionOverrides::default())?);
    request.target.clone_from(&args.url);
    request.skip_push = skips_push(args);
    request.render_timeout = args.time.render_timeout;
    let request = with_policy(request, &args.policy, &args.registry, context)?;
    let mut outcome = deliver(&request, args.output_dir.as_deref(), &mut packer(), context);
    let is_pushed = request.target.is_some() && !request.skip_push;
    if let (ArtifactSource::Config { config, .. }, None) = (&source, &outcome.problem) {
        let rendered = rendered_text(args, config, context.called_as.is_solar());
        let digest = outcome.report.digest.as_deref().unwrap_or_default();
        outcome.text = match (is_pushed, context.called_as.is_solar()) {
            (false, _) => format!("{rendered}Digest: {digest}\n"),
            (true, true) => format!("{rendered}{}", outcome.text),
            (true, false) => outcome.text,
        };
    }
    Ok(outcome)
}

fn check(args: &RenderArgs, context: &Context<'_>) -> Result<()> {
    if context.called_as.is_solar() && args.url.is_none() && !skips_push(args) {
        let one = Diagnostic::error(Class::Usage, "--url is missing");
        return Err(one.hint("say where the chart goes, or --skip-push").into());
    }
    if args.registry.password_stdin && args.config == Path::new("-") {
        let message = "standard input can't be both the config and the password";
        return Err(Diagnostic::error(Class::Usage, message).into());
    }
    Ok(())
}

fn skips_push(args: &RenderArgs) -> bool {
    args.skip_push || !args.push
}

fn rendered_text(args: &RenderArgs, config: &Config, as_solar: bool) -> String {
    let folder = args
        .output_dir
        .as_ref()
        .map_or(String::new(), |folder| format!(" to {}", folder.display()));
    if as_solar {
        return format!("Rendered {}{folder}\n", config.type_name());
    }
    format!(
        "Rendered: {} {}{folder}\n",
        config.chart().name,
        config.chart().version
    )
}
