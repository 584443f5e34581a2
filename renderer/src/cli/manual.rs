//! `completion` and `man`, generated from the command line's definition.

use std::fs;
use std::path::Path;

use clap::{Arg, ArgAction, Command};

use super::args::definition::definition;
use super::as_helm;
use super::context::{CalledAs, CommandOutcome, CommandResult};
use crate::diag::{Class, Result};
use crate::fsio;
use crate::report;

/// `completion`
pub(crate) fn completion(shell: clap_complete::Shell, called_as: CalledAs) -> CommandResult {
    let text = completion_script(shell, called_as);
    let json = report::text_to_json(&[("shell", &shell.to_string()), ("script", &text)]);
    CommandResult::Document { json, text }
}

fn completion_script(shell: clap_complete::Shell, called_as: CalledAs) -> String {
    let mut bytes = Vec::new();
    let (mut definition, name) = match called_as {
        CalledAs::Helm => (as_helm::definition(definition()), "helm"),
        CalledAs::SolarRender | CalledAs::SolarRenderer => (definition(), "solar-render"),
    };
    clap_complete::generate(shell, &mut definition, name, &mut bytes);
    let script = String::from_utf8_lossy(&bytes).into_owned();
    match shell {
        // clap_complete's bash script uses different state names for setting and matching a command whose name has a
        // dash, so nothing would be completed after a subcommand.
        clap_complete::Shell::Bash => script.replace("solar__subcmd__render", "solar__render"),
        _ => script,
    }
}

/// `man`
pub(crate) fn man(folder: &Path) -> CommandResult {
    match write_pages(folder) {
        Ok(()) => {
            let shown = folder.display().to_string();
            CommandResult::Document {
                json: report::text_to_json(&[("file", &shown)]),
                text: format!("Manual pages: {shown}\n"),
            }
        }
        Err(problem) => CommandResult::One(Box::new(CommandOutcome::failed(problem))),
    }
}

/// Writes the manual pages of all commands.
fn write_pages(folder: &Path) -> Result<()> {
    let cannot = |error: std::io::Error| fsio::cannot("write", folder, &error, Class::Usage);
    fs::create_dir_all(folder).map_err(cannot)?;
    clap_mangen::generate_to(with_synopses(definition()), folder).map_err(cannot)?;
    Ok(())
}

/// Replaces clap_mangen's synopses, which omit the values of options.
fn with_synopses(mut command: Command) -> Command {
    command.build();
    with_synopsis(command)
}

fn with_synopsis(command: Command) -> Command {
    let synopsis = synopsis(&command);
    command.mut_subcommands(with_synopsis).override_usage(synopsis)
}

/// `solar-render push [-q|--quiet] [--tag TAG]... DIR|TGZ TARGET`
fn synopsis(command: &Command) -> String {
    let name = command.get_bin_name().unwrap_or_else(|| command.get_name());
    let mut parts = vec![name.to_owned()];
    let shown = command.get_arguments().filter(|arg| !arg.is_hide_set());
    let (positionals, options): (Vec<&Arg>, Vec<&Arg>) = shown.partition(|arg| arg.is_positional());
    parts.extend(options.into_iter().map(option));
    parts.extend(positionals.into_iter().map(positional));
    if command.has_subcommands() {
        parts.push("COMMAND".to_owned());
    }
    parts.join(" ")
}

fn option(arg: &Arg) -> String {
    let short = arg.get_short().map(|short| format!("-{short}"));
    let long = arg.get_long().map(|long| format!("--{long}"));
    let mut text: String = [short, long].into_iter().flatten().collect::<Vec<_>>().join("|");
    // Helm's boolean flags also accept `=false`, which the synopsis omits.
    if arg.get_action().takes_values() && !arg.is_require_equals_set() {
        text = format!("{text} {}", value(arg));
    }
    let text = if arg.is_required_set() {
        text
    } else {
        format!("[{text}]")
    };
    match arg.get_action() {
        ArgAction::Append | ArgAction::Count => format!("{text}..."),
        _ => text,
    }
}

fn positional(arg: &Arg) -> String {
    let (value, repeats) = (value(arg), matches!(arg.get_action(), ArgAction::Append));
    let value = if arg.is_required_set() {
        value
    } else {
        format!("[{value}]")
    };
    // `[NAME] CHART` already shows several values.
    if repeats && !value.contains(' ') {
        format!("{value}...")
    } else {
        value
    }
}

fn value(arg: &Arg) -> String {
    match arg.get_value_names() {
        Some([name, ..]) => name.to_string(),
        _ => arg.get_id().to_string().to_uppercase(),
    }
}
