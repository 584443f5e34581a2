//! The command line's definition: that of the commands, with Helm's flags from `helm`.
//!
//! A command's options are defined when it is called: defining those of all commands would take longer than rendering a
//! release.

use clap::builder::Resettable;
use clap::{Arg, Args, Command};

use super::apply::ApplyArgs;
use super::artifact::ArtifactArgs;
use super::cli::{Cli, root};
use super::compare::CompareArgs;
use super::completion::CompletionArgs;
use super::copy::CopyArgs;
use super::create::CreateArgs;
use super::delete::DeleteArgs;
use super::dependency::{DependencyArgs, DependencyListArgs};
use super::diff::DiffArgs;
use super::digest::DigestArgs;
use super::env::EnvArgs;
use super::global::GlobalFlags;
use super::helm::{add_refused, add_refused_below};
use super::images::ImagesArgs;
use super::lint::LintArgs;
use super::login::{LoginArgs, LogoutArgs};
use super::package::PackageArgs;
use super::plugin::PluginListArgs;
use super::publish::PublishArgs;
use super::pull::PullArgs;
use super::push::PushArgs;
use super::render::RenderArgs;
use super::repo::{RepoAddArgs, RepoIndexArgs, RepoListArgs, RepoRemoveArgs, RepoUpdateArgs};
use super::search::SearchRepoArgs;
use super::show::ShowArgs;
use super::sign::{GenerateKeyPairArgs, SignArgs};
use super::tags::TagsArgs;
use super::template::TemplateArgs;
use super::test::TestArgs;
use super::validate::ValidateArgs;
use super::values::{ValuesCheckArgs, ValuesDocsArgs, ValuesSchemaArgs};
use super::verify::VerifyArgs;
use super::version::VersionArgs;

/// Defines the options of a command.
type Define = fn(Command) -> Command;

const COMMANDS: &[(&str, Define)] = &[
    ("render", options::<RenderArgs>),
    ("package", as_in_helm::<PackageArgs>),
    ("digest", options::<DigestArgs>),
    ("push", as_in_helm::<PushArgs>),
    ("publish", options::<PublishArgs>),
    ("pull", as_in_helm::<PullArgs>),
    ("copy", options::<CopyArgs>),
    ("artifact", options::<Box<ArtifactArgs>>),
    ("tags", options::<TagsArgs>),
    ("delete", options::<DeleteArgs>),
    ("sign", options::<SignArgs>),
    ("verify", as_in_helm::<VerifyArgs>),
    ("generate-key-pair", options::<GenerateKeyPairArgs>),
    ("login", as_in_helm::<LoginArgs>),
    ("logout", as_in_helm::<LogoutArgs>),
    ("template", as_in_helm::<Box<TemplateArgs>>),
    ("version", as_in_helm::<VersionArgs>),
    ("completion", as_in_helm::<CompletionArgs>),
    ("create", as_in_helm::<CreateArgs>),
    ("env", as_in_helm::<EnvArgs>),
    ("show", |command| add_refused_below(options::<ShowArgs>(command))),
    ("lint", as_in_helm::<Box<LintArgs>>),
    ("images", options::<Box<ImagesArgs>>),
    ("test", options::<Box<TestArgs>>),
    ("validate", options::<Box<ValidateArgs>>),
    ("diff", options::<Box<DiffArgs>>),
    ("apply", options::<Box<ApplyArgs>>),
    ("compare", options::<Box<CompareArgs>>),
];

const BELOW_DEPENDENCY: &[(&str, Define)] = &[
    ("list", as_in_helm::<DependencyListArgs>),
    ("build", as_in_helm::<DependencyArgs>),
    ("update", as_in_helm::<DependencyArgs>),
];

const BELOW_REGISTRY: &[(&str, Define)] = &[
    ("login", as_in_helm::<LoginArgs>),
    ("logout", as_in_helm::<LogoutArgs>),
];

const BELOW_REPO: &[(&str, Define)] = &[
    ("add", as_in_helm::<RepoAddArgs>),
    ("list", as_in_helm::<RepoListArgs>),
    ("update", as_in_helm::<RepoUpdateArgs>),
    ("remove", as_in_helm::<RepoRemoveArgs>),
    ("index", as_in_helm::<RepoIndexArgs>),
];

const BELOW_VALUES: &[(&str, Define)] = &[
    ("check", options::<Box<ValuesCheckArgs>>),
    ("schema", options::<ValuesSchemaArgs>),
    ("docs", options::<Box<ValuesDocsArgs>>),
];

/// The commands with subcommands whose options are defined when they are called.
const GROUPS: &[(&str, &[(&str, Define)])] = &[
    ("dependency", BELOW_DEPENDENCY),
    ("registry", BELOW_REGISTRY),
    ("repo", BELOW_REPO),
    ("search", &[("repo", as_in_helm::<SearchRepoArgs>)]),
    ("values", BELOW_VALUES),
    ("plugin", &[("list", as_in_helm::<PluginListArgs>)]),
];

/// The whole command line.
pub(crate) fn definition() -> Command {
    let command = deferred(Cli::augment_args(root()), COMMANDS);
    GROUPS.iter().fold(command, |command, (name, below)| {
        command.mut_subcommand(name, |sub| deferred(sub, below))
    })
}

/// The command line with one of its commands, which parses as the whole does: clap would copy the global flags into
/// all of them first.
pub(crate) fn with_one_command(whole: &Command, name: &str) -> Option<Command> {
    let command = whole.find_subcommand(name)?.clone();
    Some(GlobalFlags::augment_args(root()).subcommand(command))
}

fn deferred(command: Command, commands: &[(&'static str, Define)]) -> Command {
    commands.iter().fold(command, |command, (name, define)| {
        command.mut_subcommand(name, |sub| sub.defer(*define))
    })
}

/// Only the options: clap would otherwise use the type's documentation as the command's description.
fn options<T: Args>(command: Command) -> Command {
    let about = command.get_about().cloned();
    let long_about = command.get_long_about().cloned();
    let command = T::augment_args(command).mut_args(without_noise);
    command
        .about(Resettable::from(about))
        .long_about(Resettable::from(long_about))
}

/// Hides redundant details: `--flag[=BOOL]` already shows its values, and an empty default is useless.
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
    use clap::FromArgMatches as _;

    use super::*;
    use crate::cli::argv::with_default_command;

    #[test]
    fn the_definitions_are_consistent() {
        definition().debug_assert();
    }

    /// Many once had none.
    #[test]
    fn every_command_has_examples_that_parse() {
        fn check(command: &Command, path: &str, count: &mut usize) {
            for one in command.get_subcommands().filter(|one| !one.is_hide_set()) {
                let path = format!("{path} {}", one.get_name());
                if one.has_subcommands() {
                    check(one, &path, count);
                    continue;
                }
                let help = one.get_after_help().map(ToString::to_string).unwrap_or_default();
                let (_, examples) = help.split_once("Example").unwrap_or_else(|| panic!("{path}"));
                for line in examples.lines().filter(|line| line.starts_with("  ")) {
                    let line = line
                        .trim_start()
                        .trim_start_matches("source <(")
                        .trim_end_matches(')');
                    let words = line.split(" && ").next().unwrap().split(" < ").next().unwrap();
                    let words = words
                        .split(" > ")
                        .next()
                        .unwrap()
                        .replace("'{{ .Version }}'", "x");
                    let words = words
                        .split(' ')
                        .map(|word| word.trim_matches('\'').into())
                        .collect();
                    let words = with_default_command(&definition(), words, false);
                    if let Err(error) = definition().try_get_matches_from(words) {
                        panic!("{line}: {error}");
                    }
                    *count += 1;
                }
            }
        }
        let (mut built, mut count) = (definition(), 0);
        built.build();
        check(&built, "", &mut count);
        assert!(count > 35, "{count}");
    }

    #[test]
    fn a_command_by_itself_has_the_same_help_and_errors() {
        let whole = definition();
        for command in whole.get_subcommands() {
            let name = command.get_name();
            let shown = |definition: Command, argument: Option<&str>| {
                let arguments = ["solar-render", name].into_iter().chain(argument);
                match definition.try_get_matches_from(arguments) {
                    Ok(matches) => format!("{:?}", Cli::from_arg_matches(&matches).unwrap()),
                    Err(error) => error.render().to_string(),
                }
            };
            let arguments = [
                "--help",
                "-h",
                "--outptu",
                "--version",
                "tempalte",
                "-ojson",
                "-q",
            ];
            for argument in arguments.map(Some).into_iter().chain([None]) {
                let alone = with_one_command(&whole, name).unwrap();
                assert_eq!(
                    shown(alone, argument),
                    shown(definition(), argument),
                    "{name} {argument:?}"
                );
            }
        }
        assert!(with_one_command(&whole, "tempalte").is_none());
    }

    #[test]
    fn a_commands_help_begins_with_its_description_in_the_list() {
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
