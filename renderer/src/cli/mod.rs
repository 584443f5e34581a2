//! The command line: arguments in, exit code out.
//!
//! [`run`] parses, watches for signals, runs one command and prints its result. A panic
//! is caught and reported like any other failure, without a backtrace.
//!
//! `args` is the command line as data, a file for each command; the file of the same name here
//! is what the command does. Imports lead from the commands to what they share, and never back.

mod annotation;
mod args;
mod argv;
mod cache;
mod chart_files;
mod chart_location;
mod ci;
mod client;
mod context;
mod copy;
mod csv;
mod delete;
mod dependency;
mod dependency_list;
mod digest;
mod exit;
mod fetch;
mod functions;
mod images;
mod input;
mod keys;
mod lint;
mod lint_gate;
mod login;
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
mod render;
mod render_diagnostic;
mod request;
mod show;
mod sign;
mod signals;
mod tags;
mod template;
mod template_files;
mod verify;
mod version;
mod wrong_kind;

use std::ffi::OsString;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;

use clap::{ArgMatches, FromArgMatches as _};

use crate::diag::Diagnostics;
use crate::report;
use crate::world::System;
use args::cli::{Cli, Command};
use args::{definition, helm};
use argv::{
    early_printer, mistyped_command, usage, with_default_command, with_help_command, with_leading_flags,
};
use context::{CommandOutcome, CommandResult, Context};
use exit::{conclude, internal};
use printer::Printer;

/// Runs the command line and returns the exit code.
pub fn run(arguments: impl IntoIterator<Item = OsString>) -> u8 {
    let arguments: Vec<OsString> = arguments.into_iter().collect();
    let world = System;
    let as_solar = arguments
        .first()
        .is_some_and(|name| Path::new(name).file_stem() == Some("solar-renderer".as_ref()));
    let definition = definition::definition();
    let arguments = if as_solar {
        arguments
    } else {
        with_leading_flags(&definition, with_help_command(arguments))
    };
    if let Some(problem) = mistyped_command(&definition, &arguments).filter(|_| !as_solar) {
        return conclude(
            &early_printer(&arguments, &world),
            CommandResult::One(Box::new(CommandOutcome::failed(problem))),
        );
    }
    let arguments = with_default_command(&definition, arguments, as_solar);
    let matches = match definition.try_get_matches_from(&arguments) {
        Ok(matches) => matches,
        Err(error) => return usage(&error, &arguments, &world),
    };
    let cli = match Cli::from_arg_matches(&matches) {
        Ok(cli) => cli,
        Err(error) => return usage(&error, &arguments, &world),
    };
    let mut global = cli.global.clone();
    global.verbose |= helm::is_debug(&matches) && !global.quiet;
    let printer = Printer::new(&global, &world);
    if let Err(problem) = printer.check_result_file() {
        let failed = CommandResult::One(Box::new(CommandOutcome::failed(problem)));
        return conclude(&printer.without_result_file(), failed);
    }
    let signals = signals::watch(printer.clone());
    // The hook would print the panic's place; the report says what a user can use.
    std::panic::set_hook(Box::new(|_| {}));
    let context = Context {
        world: &world,
        printer: &printer,
        signals: &signals,
        as_solar,
    };
    let done = catch_unwind(AssertUnwindSafe(|| execute(&cli.command, &matches, &context)));
    let done = done.unwrap_or_else(|panic| {
        CommandResult::One(Box::new(CommandOutcome::failed(internal(panic.as_ref()))))
    });
    while signals.is_ending() {
        // A helper that the handler has ended once made a refusal of it. The process ends with the handler's code.
        std::thread::park();
    }
    conclude(&printer, done)
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
        Command::Functions => functions::list(),
        Command::Template(args) => template::template(args, context),
        Command::Lint(args) => lint::lint(args, context),
        Command::Images(args) => images::list(args, context),
        Command::Show(args) => show::show(args, context),
        Command::Reference => {
            let text = reference::markdown();
            let json = report::text_to_json(&[("reference", &text)]);
            CommandResult::Document { json, text }
        }
        Command::Version(args) => version::version(args),
        Command::Completion { shell } => {
            let text = manual::completion(*shell);
            let json = report::text_to_json(&[("shell", &shell.to_string()), ("script", &text)]);
            CommandResult::Document { json, text }
        }
        Command::Man { dir } => match manual::man(dir) {
            Ok(()) => {
                let dir = dir.display().to_string();
                CommandResult::Document {
                    json: report::text_to_json(&[("file", &dir)]),
                    text: format!("Manual pages: {dir}\n"),
                }
            }
            Err(problem) => CommandResult::One(Box::new(CommandOutcome::failed(problem))),
        },
    }
}
