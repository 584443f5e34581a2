//! The command line: arguments in, exit code out.
//!
//! [`run`] parses, watches for signals, runs one command and prints its result. A panic
//! is caught and reported like any other failure, without a backtrace.
//!
//! `args` is the command line as data, a file for each command; the file with the same name here implements the
//! command. Commands import shared modules, never the other way round.

mod annotation;
mod apply;
mod apply_errors;
mod apply_report;
mod args;
mod argv;
mod artifact;
mod as_helm;
mod cache;
mod chart_files;
mod chart_location;
mod chart_runs;
mod chart_search;
mod chart_texts;
mod child_process;
mod ci;
mod client;
mod compare;
mod compare_cases;
mod compare_report;
mod context;
mod copy;
mod create;
mod csv;
mod delete;
mod dependency;
mod dependency_list;
mod diff;
mod diff_document;
mod diff_html;
mod diff_lines;
mod diff_markdown;
mod diff_report;
mod diff_sides;
#[cfg(test)]
mod diff_tests;
mod diff_text;
mod digest;
mod env;
mod exit;
mod fetch;
mod finding_formats;
mod functions;
mod git_revision;
mod git_tree;
mod helm_program;
mod images;
mod input;
mod json_path;
mod keys;
mod line_diff;
mod lint;
mod lint_gate;
mod lint_report;
mod login;
mod lookup_files;
mod manual;
mod namespace;
mod package;
mod printer;
mod progress;
mod provenance;
mod publish;
mod publish_rows;
mod pull;
mod push;
mod real_paths;
mod reference;
mod remote_schemas;
mod remote_values;
mod render;
mod repo;
mod request;
mod search;
mod show;
mod sign;
mod signals;
mod table;
mod tags;
mod template;
mod template_files;
mod test;
mod test_ci;
mod test_findings;
mod test_junit;
mod test_report;
mod validate;
mod validate_report;
mod values_check;
mod values_check_report;
mod values_docs;
mod values_input;
mod values_schema;
mod verify;
mod version;
mod watch;
mod watch_template;
mod watch_test;
mod wrong_kind;
mod xml;

use std::ffi::OsString;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use clap::{ArgMatches, FromArgMatches as _};

use crate::diag::{Class, Diagnostic, Diagnostics};
use crate::report;
use crate::world::System;
use args::cli::{Cli, Command};
use args::login::RegistryCommand;
use args::plugin::PluginCommand;
use args::values::ValuesCommand;
use args::{definition, helm};
use argv::{
    early_printer, mistyped_command, usage, with_default_command, with_help_command, with_leading_flags,
};
use context::{CalledAs, CommandOutcome, CommandResult, Context};
use exit::{conclude, internal};
use printer::Printer;
use values_input::ValuesInput;

/// Runs the command line and returns the exit code.
pub fn run(arguments: impl IntoIterator<Item = OsString>) -> u8 {
    let arguments: Vec<OsString> = arguments.into_iter().collect();
    let program = arguments.first().map(|name| name.to_string_lossy().into_owned());
    let program = program.unwrap_or_default();
    let called_as = CalledAs::of(&program);
    let code = run_as(called_as, &program, arguments);
    match called_as {
        CalledAs::Helm => as_helm::exit_code(code),
        CalledAs::SolarRender | CalledAs::SolarRenderer => code,
    }
}

fn run_as(called_as: CalledAs, program: &str, arguments: Vec<OsString>) -> u8 {
    let world = System;
    let given = arguments.clone();
    let definition = match called_as {
        CalledAs::Helm => as_helm::definition(definition::definition()),
        CalledAs::SolarRender | CalledAs::SolarRenderer => definition::definition(),
    };
    let refused = match called_as {
        CalledAs::Helm => {
            let asked = as_helm::asked(&definition, &arguments);
            as_helm::refuse_or_hand_over(&asked, &arguments, &world)
        }
        CalledAs::SolarRender | CalledAs::SolarRenderer => None,
    };
    let arguments = match called_as {
        CalledAs::SolarRenderer => arguments,
        _ => with_leading_flags(&definition, called_as, with_help_command(arguments)),
    };
    let mistyped = || match called_as {
        CalledAs::SolarRender => mistyped_command(&definition, &arguments),
        _ => None,
    };
    if let Some(problem) = refused.or_else(mistyped) {
        return conclude(
            &early_printer(&arguments, &world),
            CommandResult::One(Box::new(CommandOutcome::failed(problem))),
        );
    }
    let arguments = match called_as {
        CalledAs::Helm => arguments,
        _ => with_default_command(&definition, arguments, called_as.is_solar()),
    };
    run_understood(called_as, program, definition, (&arguments, &given))
}

/// Runs the command, given its parsed and raw arguments.
fn run_understood(
    called_as: CalledAs,
    program: &str,
    definition: clap::Command,
    (arguments, given): (&[OsString], &[OsString]),
) -> u8 {
    let world = System;
    let first = arguments.get(1).and_then(|word| word.to_str());
    let alone = first.filter(|_| !called_as.is_helm());
    let alone = alone.and_then(|name| definition::with_one_command(&definition, name));
    let matches = match alone.unwrap_or(definition).try_get_matches_from(arguments) {
        Ok(matches) => matches,
        Err(error) => return usage(&error, arguments, called_as, &world),
    };
    let cli = match Cli::from_arg_matches(&matches) {
        Ok(cli) => cli,
        Err(error) => return usage(&error, arguments, called_as, &world),
    };
    let mut global = cli.global.clone();
    global.verbose |= helm::is_debug(&matches) && !global.quiet;
    let printer = match called_as {
        CalledAs::Helm => Printer::new(&global, &world).without_termination_message(),
        _ => Printer::new(&global, &world),
    };
    if called_as.is_helm()
        && let Some(helm) = as_helm::real_helm(&world)
        && has_refused_flags(&matches)
        && let Err(problem) = as_helm::hand_over(&helm, given)
    {
        return conclude(
            &printer,
            CommandResult::One(Box::new(CommandOutcome::failed(problem))),
        );
    }
    if let Some(problem) = refused_format(&cli) {
        let failed = CommandResult::One(Box::new(CommandOutcome::failed(problem)));
        return conclude(&printer, failed);
    }
    if let Err(problem) = printer.check_result_file() {
        let failed = CommandResult::One(Box::new(CommandOutcome::failed(problem)));
        return conclude(&printer.without_result_file(), failed);
    }
    let signals = signals::watch(printer.clone());
    // The default hook would print the panic's location; the report has what a user needs.
    std::panic::set_hook(Box::new(|_| {}));
    let context = Context {
        world: &world,
        printer: &printer,
        signals: &signals,
        seeded: Arc::default(),
        values_input: ValuesInput::default(),
        called_as,
        program,
    };
    let done = catch_unwind(AssertUnwindSafe(|| execute(&cli.command, &matches, &context)));
    let done = done.unwrap_or_else(|panic| {
        CommandResult::One(Box::new(CommandOutcome::failed(internal(panic.as_ref()))))
    });
    while signals.is_ending() {
        // A helper killed by the handler once caused a refusal. The process ends with the handler's exit code.
        std::thread::park();
    }
    conclude(&printer, done)
}

/// The error about a format that the command does not have.
fn refused_format(cli: &Cli) -> Option<Diagnostics> {
    let output = cli.global.output;
    let (is_refused, message) = match output.is_for_findings() {
        true => (
            !has_findings(&cli.command),
            "junit, sarif, github and gitlab are formats of `lint`, `test`, `validate` and `values check` alone",
        ),
        false => (
            output.is_for_differences() && !has_differences(&cli.command),
            "markdown and html are formats of `diff` and `apply --dry-run` alone",
        ),
    };
    if !is_refused {
        return None;
    }
    let one = Diagnostic::error(Class::Usage, message);
    let hint = match cli.command {
        Command::Diff(_) => "-o takes text, json, yaml, markdown or html here",
        Command::Apply(_) => "with --dry-run, -o takes text, json, yaml, markdown or html",
        _ => "-o takes text, json or yaml here",
    };
    Some(one.hint(hint).into())
}

/// Whether a command prints differences.
fn has_differences(command: &Command) -> bool {
    match command {
        Command::Diff(_) => true,
        Command::Apply(args) => args.dry_run,
        _ => false,
    }
}

/// Whether a command's findings have formats of their own.
fn has_findings(command: &Command) -> bool {
    match command {
        Command::Test(_) | Command::Validate(_) | Command::Values(ValuesCommand::Check(_)) => true,
        Command::Lint(args) => !args.rules,
        _ => false,
    }
}

/// Whether a refused flag of Helm is given.
fn has_refused_flags(matches: &ArgMatches) -> bool {
    let (name, matches) = matches.subcommand().unzip();
    name.zip(matches)
        .is_some_and(|(name, matches)| !helm::refusals(name, matches).is_empty())
}

fn execute(command: &Command, matches: &ArgMatches, context: &Context<'_>) -> CommandResult {
    if let Some((name, matches)) = matches.subcommand()
        && let Some(refused) = Diagnostics::from_vec(helm::refusals(name, matches))
    {
        return CommandResult::One(Box::new(CommandOutcome::failed(refused)));
    }
    match command {
        Command::Render(args) => CommandResult::One(Box::new(render::render(args, context))),
        Command::Package(args) => package::package(args, context),
        Command::Digest(args) => CommandResult::One(Box::new(digest::digest(args, context))),
        Command::Push(args) => CommandResult::One(Box::new(push::push(args, context))),
        Command::Publish(args) => publish::publish(args, context),
        Command::Pull(args) => pull::pull(args, context),
        Command::Copy(args) => CommandResult::One(Box::new(copy::copy(args, context))),
        Command::Artifact(args) => CommandResult::One(Box::new(artifact::artifact(args, context))),
        Command::Tags(args) => tags::tags(args, context),
        Command::Delete(args) => delete::delete(args, context),
        Command::Sign(args) => CommandResult::One(Box::new(sign::sign(args, context))),
        Command::Verify(args) => CommandResult::One(Box::new(verify::verify(args, context))),
        Command::GenerateKeyPair(args) => {
            CommandResult::One(Box::new(sign::generate_key_pair(args, context)))
        }
        Command::Dependency(command) => dependency::dependency(command, context),
        Command::Cache(command) => cache::cache(command, context),
        Command::Login(args) => CommandResult::One(Box::new(login::login(args, context))),
        Command::Logout(args) => CommandResult::One(Box::new(login::logout(args, context))),
        Command::Registry(command) => CommandResult::One(Box::new(match command {
            RegistryCommand::Login(args) => login::login(args, context),
            RegistryCommand::Logout(args) => login::logout(args, context),
        })),
        Command::Repo(command) => repo::repo(command, context),
        Command::Search(command) => search::search(command, context),
        Command::Create(args) => create::create(args, context),
        Command::Env(args) => env::env(args, context),
        Command::Plugin(PluginCommand::List(_)) => version::no_plugins(context),
        Command::Functions => functions::list(),
        Command::Template(args) => template::template(args, context),
        Command::Lint(args) => lint::lint(args, context),
        Command::Images(args) => images::list(args, context),
        Command::Test(args) => test::test(args, context),
        Command::Values(ValuesCommand::Check(args)) => values_check::check(args, context),
        Command::Values(ValuesCommand::Schema(args)) => values_schema::schema(args, context),
        Command::Values(ValuesCommand::Docs(args)) => values_docs::docs(args),
        Command::Validate(args) => validate::validate(args, context),
        Command::Diff(args) => diff::diff(args, context),
        Command::Apply(args) => apply::apply(args, context),
        Command::Compare(args) => compare::compare(args, context),
        Command::Show(args) => show::show(args, context),
        Command::Reference => {
            let text = reference::markdown();
            let json = report::text_to_json(&[("reference", &text)]);
            CommandResult::Document { json, text }
        }
        Command::Version(args) => version::version(args, context),
        Command::Completion(args) => manual::completion(args.shell, context.called_as),
        Command::Man { dir } => manual::man(dir),
    }
}
