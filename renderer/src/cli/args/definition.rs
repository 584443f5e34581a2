//! The command line's definition: that of the commands, with Helm's flags from `helm`.
//!
//! A command gets its options when it is called: to define those of all commands would take
//! longer than to render a release.

use clap::builder::Resettable;
use clap::{Arg, Args, Command, CommandFactory as _};

use super::cli::Cli;
use super::copy::Copy;
use super::dependency::{Dependencies, DependencyList};
use super::digest::DigestArgs;
use super::helm::{add_refused, add_refused_below};
use super::images::Images;
use super::lint::Lint;
use super::login::{Login, Logout};
use super::package::Package;
use super::publish::Publish;
use super::pull::Pull;
use super::push::Push;
use super::render::Render;
use super::show::Show;
use super::sign::{GenerateKeyPair, Sign};
use super::tags::Tags;
use super::template::Template;
use super::verify::Verify;
use super::version::VersionArgs;

/// How a command gets its options.
type Define = fn(Command) -> Command;

const COMMANDS: &[(&str, Define)] = &[
    ("render", options::<Render>),
    ("package", as_in_helm::<Package>),
    ("digest", options::<DigestArgs>),
    ("push", as_in_helm::<Push>),
    ("publish", options::<Publish>),
    ("pull", as_in_helm::<Pull>),
    ("copy", options::<Copy>),
    ("tags", options::<Tags>),
    ("sign", options::<Sign>),
    ("verify", as_in_helm::<Verify>),
    ("generate-key-pair", options::<GenerateKeyPair>),
    ("login", as_in_helm::<Login>),
    ("logout", as_in_helm::<Logout>),
    ("template", as_in_helm::<Box<Template>>),
    ("version", as_in_helm::<VersionArgs>),
    ("show", |command| add_refused_below(options::<Show>(command))),
    ("lint", as_in_helm::<Box<Lint>>),
    ("images", options::<Box<Images>>),
];

const BELOW_DEPENDENCY: &[(&str, Define)] = &[
    ("list", as_in_helm::<DependencyList>),
    ("build", as_in_helm::<Dependencies>),
    ("update", as_in_helm::<Dependencies>),
];

/// The whole command line.
pub(crate) fn definition() -> Command {
    let command = deferred(Cli::command(), COMMANDS);
    command.mut_subcommand("dependency", |sub| deferred(sub, BELOW_DEPENDENCY))
}

fn deferred(command: Command, commands: &[(&'static str, Define)]) -> Command {
    commands.iter().fold(command, |command, (name, define)| {
        command.mut_subcommand(name, |sub| sub.defer(*define))
    })
}

/// The options alone: clap would describe the command by what is said of the type.
fn options<T: Args>(command: Command) -> Command {
    let about = command.get_about().cloned();
    let long_about = command.get_long_about().cloned();
    let command = T::augment_args(command).mut_args(without_noise);
    command
        .about(Resettable::from(about))
        .long_about(Resettable::from(long_about))
}

/// `--flag[=BOOL]` says what it takes; that a text is empty by default says nothing.
fn without_noise(arg: Arg) -> Arg {
    let is_bool = arg.is_require_equals_set();
    let is_empty = arg.get_default_values() == [""];
    let arg = if is_bool {
        arg.hide_possible_values(true)
    } else {
        arg
    };
    if is_bool || is_empty {
        arg.hide_default_value(true)
    } else {
        arg
    }
}

fn as_in_helm<T: Args>(command: Command) -> Command {
    add_refused(options::<T>(command))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_definitions_are_consistent() {
        definition().debug_assert();
    }

    #[test]
    fn a_commands_help_begins_with_what_the_list_says_of_it() {
        fn check(listed: &Command, built: &Command) {
            for one in listed.get_subcommands() {
                let name = one.get_name();
                let other = built.find_subcommand(name).unwrap();
                let about = |command: &Command| command.get_about().map(ToString::to_string);
                assert!(about(one).is_some(), "{name}");
                assert_eq!(about(other), about(one), "{name}");
                check(one, other);
            }
        }
        let mut built = definition();
        built.build();
        check(&definition(), &built);
    }
}
