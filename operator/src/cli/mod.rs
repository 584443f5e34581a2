//! The command line: arguments in, exit code out.

mod args;
mod cluster;
mod export;
mod file;
mod logs;
mod preflight;
mod printable;
mod quantity;
mod settings;
mod task;

use std::ffi::OsString;
use std::io::{ErrorKind, Write as _};
use std::path::Path;

use clap::{CommandFactory as _, FromArgMatches as _};
use hyper::Response;
use hyper::header::{HeaderValue, USER_AGENT};
use kube::Client;
use kube::client::{ClientBuilder, DynBody};
use solar_render::diag::{Class, Diagnostic, Diagnostics};
use solar_render::draw::Style;
use solar_render::source::Source;
use solar_render::world::{System, World};

use tower::BoxError;
use tower::util::MapResultLayer;

use crate::api;
use crate::controllers;
use crate::controllers::cluster_addon;
use crate::controllers::rendertask::TaskMetrics;
use crate::runtime;
use crate::runtime::Metrics;
use args::{Cli, Command, Run};
use settings::Environment;

const DONE: u8 = 0;
const FAILED: u8 = 1;
const USAGE: u8 = 2;

const AGENT: &str = concat!("solar-operator/", env!("CARGO_PKG_VERSION"));
const NAMESPACE_FILE: &str = "/var/run/secrets/kubernetes.io/serviceaccount/namespace";

/// Runs the command line and returns the exit code.
pub fn run(arguments: impl IntoIterator<Item = OsString>) -> u8 {
    let arguments: Vec<OsString> = arguments.into_iter().collect();
    let matches = match Cli::command().try_get_matches_from(&arguments) {
        Ok(matches) => matches,
        Err(error) => return usage(&error),
    };
    let cli = match Cli::from_arg_matches(&matches) {
        Ok(cli) => cli,
        Err(error) => return usage(&error),
    };
    let done = match cli.command {
        Some(Command::Crds) => api::crds_yaml()
            .map_err(|error| Diagnostic::error(Class::Internal, format!("the CRDs as JSON: {error}")).into()),
        Some(Command::Task(args)) => task::task(&args),
        Some(Command::Completion { shell }) => {
            let mut script = Vec::new();
            clap_complete::generate(shell, &mut Cli::command(), "solar-operator", &mut script);
            Ok(String::from_utf8_lossy(&script).into_owned())
        }
        Some(Command::Man { dir }) => man(&dir).map(|()| String::new()),
        Some(Command::Preflight(args)) => {
            let (text, problems) = preflight::preflight(&args);
            let printed = print(&text);
            return match problems {
                Some(problems) => fail(&problems),
                None => printed.map_or_else(|problems| fail(&problems), |()| DONE),
            };
        }
        Some(Command::Evaluate) => return evaluate(),
        Some(Command::Export(args)) => export::export(&args).map(|()| String::new()),
        Some(Command::Run(_)) | None => return operate(arguments, &matches),
    };
    let printed = done.and_then(|text| print(&text));
    printed.map_or_else(|problems| fail(&problems), |()| DONE)
}

/// What the operator starts for templates: its own program with limits.
fn evaluate() -> u8 {
    match cluster_addon::evaluate() {
        Ok(()) => DONE,
        Err(_) => FAILED,
    }
}

/// Prints a text on standard output. A reader that has had enough is no failure.
fn print(text: &str) -> Result<(), Diagnostics> {
    let mut out = std::io::stdout().lock();
    let printed = out.write_all(text.as_bytes()).and_then(|()| out.flush());
    match printed {
        Err(error) if error.kind() != ErrorKind::BrokenPipe => {
            let message = format!("can't write to standard output: {error}");
            Err(Diagnostic::error(Class::Io, message).into())
        }
        _ => Ok(()),
    }
}

fn man(folder: &Path) -> Result<(), Diagnostics> {
    let cannot = |error: std::io::Error| {
        let message = format!("can't write the manual pages to {}: {error}", folder.display());
        Diagnostic::error(Class::Io, message).hint("name a folder that can be written to")
    };
    std::fs::create_dir_all(folder).map_err(cannot)?;
    Ok(clap_mangen::generate_to(Cli::command(), folder).map_err(cannot)?)
}

fn operate(arguments: Vec<OsString>, matches: &clap::ArgMatches) -> u8 {
    let args = match run_args(arguments, matches) {
        Ok(args) => args,
        Err(code) => return code,
    };
    logs::start(args.log_format, args.log_level);
    install_tls();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = match runtime {
        Ok(runtime) => runtime,
        Err(error) => return fail(&Diagnostic::error(Class::Io, format!("can't start: {error}")).into()),
    };
    match runtime.block_on(connect_and_run(&args)) {
        Ok(()) => DONE,
        Err(problems) => fail(&problems),
    }
}

/// Two providers in one binary would be a coin toss.
fn install_tls() {
    if rustls::crypto::aws_lc_rs::default_provider()
        .install_default()
        .is_err()
    {
        tracing::debug!("a TLS provider is there already");
    }
}

/// The arguments, with those of the file where neither the command line nor the environment has any.
fn run_args(mut arguments: Vec<OsString>, matches: &clap::ArgMatches) -> Result<Run, u8> {
    let inner = matches.subcommand_matches("run").unwrap_or(matches);
    let args = Run::from_arg_matches(inner).map_err(|error| usage(&error))?;
    let Some(path) = &args.config else {
        return Ok(args);
    };
    let name = path.display().to_string();
    let text = std::fs::read_to_string(path).map_err(|error| {
        let problem = Diagnostic::error(Class::Io, format!("can't read {name}: {error}"));
        fail(&problem.hint("--config names a YAML file of settings").into())
    })?;
    let command = Cli::command();
    let more =
        file::arguments(&Source::new(name.as_str(), text), &command, inner).map_err(|all| fail(&all))?;
    arguments.extend(more);
    let matches = command
        .try_get_matches_from(&arguments)
        .map_err(|error| usage(&error))?;
    let inner = matches.subcommand_matches("run").unwrap_or(&matches);
    Run::from_arg_matches(inner).map_err(|error| usage(&error))
}

async fn connect_and_run(args: &Run) -> Result<(), Diagnostics> {
    let config = kube::Config::infer().await.map_err(|error| {
        Diagnostic::error(Class::Config, format!("no cluster to work for: {error}"))
            .note("KUBECONFIG, ~/.kube/config and the pod's service account were tried")
            .hint("set KUBECONFIG, or run in a pod")
            .into()
    });
    let around = surroundings(&System, config.as_ref().ok());
    let (mut settings, mut config) = match (settings::settings(args, &around), config) {
        (Ok(settings), Ok(config)) => (settings, config),
        (Err(mut problems), Err(more)) => {
            problems.extend(more);
            return Err(problems);
        }
        (Err(problems), _) | (_, Err(problems)) => return Err(problems),
    };
    settings.run.identity.server = config.cluster_url.to_string();
    // The user agent, for the API server's audit log and metrics.
    config.headers.push((USER_AGENT, HeaderValue::from_static(AGENT)));
    let metrics = Metrics::default();
    let client = client(config, &metrics)
        .map_err(|error| Diagnostic::error(Class::Config, format!("the cluster's connection: {error}")))?;
    if let Some(cluster_addons) = &mut settings.cluster_addons {
        cluster_addons.version = cluster::cluster_api_version(&client).await?;
    }
    let tasks = TaskMetrics::new(&metrics);
    runtime::run(client, metrics, settings.run, |cx| {
        controllers::all(
            cx,
            &settings.tasks,
            settings.pipeline,
            settings.artifacts.as_ref(),
            settings.cluster_addons.as_ref(),
            &tasks,
        )
    })
    .await
    .map_err(|error| explained(&error).into())
}

/// A client that counts errors of the API server.
fn client(config: kube::Config, metrics: &Metrics) -> Result<Client, kube::Error> {
    type Answer = Result<Response<Box<DynBody>>, BoxError>;
    let metrics = metrics.clone();
    let count = MapResultLayer::new(move |answer: Answer| {
        match &answer {
            Ok(response) if response.status().is_client_error() || response.status().is_server_error() => {
                metrics.api_error(Some(response.status().as_u16()));
            }
            Ok(_) => {}
            Err(_) => metrics.api_error(None),
        }
        answer
    });
    Ok(ClientBuilder::try_from(config)?.with_layer(&count).build())
}

fn explained(error: &runtime::RunError) -> Diagnostic {
    match error {
        runtime::RunError::Selection(_) => Diagnostic::error(Class::Usage, error.to_string())
            .note("--label-selector and --field-selector are written as kubectl's -l and --field-selector")
            .hint("kubectl get rendertasks -A -l SELECTOR --field-selector SELECTOR tries them"),
        runtime::RunError::Controllers(_) => Diagnostic::error(Class::Internal, error.to_string()),
        _ => Diagnostic::error(Class::Io, error.to_string()),
    }
}

fn surroundings(world: &dyn World, config: Option<&kube::Config>) -> Environment {
    let in_cluster = || {
        let text = std::fs::read_to_string(NAMESPACE_FILE).ok()?;
        Some(text.trim().to_owned()).filter(|text| !text.is_empty())
    };
    let namespace = world
        .env("POD_NAMESPACE")
        .or_else(in_cluster)
        .or_else(|| config.map(|config| config.default_namespace.clone()))
        .unwrap_or_else(|| "default".to_owned());
    // Two processes on one host, or a restarted one, need different identities.
    let host = world
        .env("POD_NAME")
        .or_else(|| world.env("HOSTNAME"))
        .unwrap_or_else(|| "solar-operator".to_owned());
    Environment {
        namespace,
        identity: format!("{host}_{:016x}", world.entropy()),
    }
}

fn usage(error: &clap::Error) -> u8 {
    // Printing help to a closed pipe is not an error.
    let _ = error.print();
    if error.use_stderr() { USAGE } else { DONE }
}

fn fail(problems: &Diagnostics) -> u8 {
    let _ = std::io::stderr().write_all(problems.draw(Style::Plain).as_bytes());
    match problems.class() {
        Class::Usage => USAGE,
        _ => FAILED,
    }
}
