//! The reference of the command line as Markdown, from its definition: docs/reference/cli.md.

use clap::{Arg, Command};

use super::args::definition::definition;

const HEAD: &str = "# Command line

Generated from the definition of the command line; do not edit: `solar-render reference > docs/reference/cli.md`.
";

/// The whole page.
pub(crate) fn markdown() -> String {
    let mut root = definition();
    root.build();
    let mut text = HEAD.to_owned();
    command(&root, "solar-render", &mut text);
    text
}

fn command(command_: &Command, path: &str, out: &mut String) {
    let about = command_.get_about().map(ToString::to_string).unwrap_or_default();
    let usage = command_.clone().bin_name(path).render_usage().to_string();
    let usage = usage.trim_start_matches("Usage: ");
    out.push_str(&format!("\n## {path}\n\n{about}.\n\n```\n{usage}\n```\n"));
    let aliases: Vec<String> = command_
        .get_all_aliases()
        .map(|name| format!("`{name}`"))
        .collect();
    if !aliases.is_empty() {
        out.push_str(&format!("\nAlso: {}.\n", aliases.join(", ")));
    }
    arguments(command_, path == "solar-render", out);
    if let Some(after) = command_.get_after_help() {
        out.push_str(&format!("\n```\n{after}\n```\n"));
    }
    for below in command_.get_subcommands().filter(|below| !below.is_hide_set()) {
        command(below, &format!("{path} {}", below.get_name()), out);
    }
}

/// The arguments by heading, in the order of the help; global options only for the root.
fn arguments(command: &Command, is_root: bool, out: &mut String) {
    let shown = |arg: &&Arg| !arg.is_hide_set() && (is_root || !arg.is_global_set());
    // The arguments that clap adds to every command.
    let is_own = |arg: &&Arg| {
        use clap::ArgAction::{Help, HelpLong, HelpShort, Version};
        !matches!(arg.get_action(), Help | HelpLong | HelpShort | Version)
    };
    let args: Vec<&Arg> = command.get_arguments().filter(shown).filter(is_own).collect();
    let mut headings: Vec<Option<&str>> = Vec::new();
    for arg in &args {
        if !headings.contains(&arg.get_help_heading()) {
            headings.push(arg.get_help_heading());
        }
    }
    for heading in headings {
        out.push_str(&heading.map_or_else(|| "\n".to_owned(), |heading| format!("\n**{heading}**\n\n")));
        for arg in args.iter().filter(|arg| arg.get_help_heading() == heading) {
            out.push_str(&line(arg));
        }
    }
}

fn line(arg: &Arg) -> String {
    let short = arg
        .get_short()
        .map_or(String::new(), |short| format!("-{short}, "));
    let help = arg.get_help().map(ToString::to_string).unwrap_or_default();
    let mut details = Vec::new();
    if !arg.is_hide_possible_values_set() {
        let values = arg.get_possible_values();
        let names: Vec<&str> = values
            .iter()
            .map(clap::builder::PossibleValue::get_name)
            .collect();
        if !names.is_empty() {
            details.push(format!("one of `{}`", names.join("`, `")));
        }
    }
    let defaults: Vec<String> = arg
        .get_default_values()
        .iter()
        .map(|value| value.to_string_lossy().into_owned())
        .collect();
    let is_shown = arg.get_action().takes_values() && !arg.is_hide_default_value_set();
    if is_shown && !defaults.is_empty() {
        details.push(format!("default `{}`", defaults.join(",")));
    }
    let details = if details.is_empty() {
        String::new()
    } else {
        format!(" ({})", details.join("; "))
    };
    format!(
        "- `{short}{}`: {}{details}\n",
        arg.to_string().trim_end_matches("..."),
        help.replace('\n', " ")
    )
}
