//! Called as `helm`: only Helm's commands, exit code 1 for every failure; commands that need a cluster or plugins are
//! refused, or delegated to the Helm that SOLAR_HELM names.

use std::convert::Infallible;
use std::ffi::OsString;
use std::io;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::args::unsupported_commands::elsewhere;
use super::argv::{first_word, next_word};
use crate::diag::{Class, Diagnostic, Diagnostics, did_you_mean};
use crate::fsio;
use crate::world::World;

/// The variable with the Helm binary for unsupported commands.
pub(crate) const VARIABLE: &str = "SOLAR_HELM";

/// Helm's commands that are supported under the same names.
const COMMANDS: &[&str] = &[
    "completion",
    "create",
    "dependency",
    "env",
    "lint",
    "package",
    "plugin",
    "pull",
    "push",
    "registry",
    "repo",
    "search",
    "show",
    "template",
    "verify",
    "version",
];

/// The subcommands of Helm's commands that are not supported.
const BELOW: &[(&str, &[&str])] = &[
    (
        "plugin",
        &[
            "install",
            "add",
            "package",
            "uninstall",
            "rm",
            "remove",
            "update",
            "up",
            "verify",
        ],
    ),
    ("search", &["hub"]),
];

/// The kind of a Helm command line.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Asked {
    /// A supported command.
    Known,
    /// An unsupported command of Helm.
    Elsewhere(String),
    /// Not a command of Helm.
    Unknown(String),
}

/// The command line of `helm`: without our own commands.
pub(crate) fn definition(command: clap::Command) -> clap::Command {
    let own: Vec<String> = command
        .get_subcommands()
        .map(|sub| sub.get_name().to_owned())
        .filter(|name| !COMMANDS.contains(&name.as_str()))
        .collect();
    let command = command
        .name("helm")
        .bin_name("helm")
        .about("Helm's commands that need no cluster, by solar-render")
        .after_help(
            "Every failure exits with 1. SOLAR_HELM=/path/to/helm gets the commands that need a cluster.",
        );
    let command = command.mut_subcommand("completion", |sub| sub.arg_required_else_help(true));
    own.iter().fold(command, |command, name| {
        command.mut_subcommand(name, |sub| sub.hide(true))
    })
}

/// Classifies a command line; flags may precede the command.
pub(crate) fn asked(definition: &clap::Command, arguments: &[OsString]) -> Asked {
    let Some(at) = first_word(definition, arguments) else {
        return Asked::Known;
    };
    let word = |at: usize| arguments.get(at).and_then(|word| word.to_str()).unwrap_or("");
    let name = word(at);
    if name == "help" || name.starts_with("__complete") {
        return Asked::Known;
    }
    if let Some(found) = definition.find_subcommand(name)
        && COMMANDS.contains(&found.get_name())
    {
        let below = BELOW.iter().find(|(above, _)| *above == found.get_name());
        let next = next_word(definition, arguments, at + 1).map_or("", word);
        return match below.filter(|(_, names)| names.contains(&next)) {
            Some(_) => Asked::Elsewhere(format!("{name} {next}")),
            None => Asked::Known,
        };
    }
    match elsewhere(name) {
        Some(_) => Asked::Elsewhere(name.to_owned()),
        None => Asked::Unknown(name.to_owned()),
    }
}

/// Refuses an unsupported command, unless SOLAR_HELM is set: then this process executes that Helm.
pub(crate) fn refuse_or_hand_over(
    asked: &Asked,
    arguments: &[OsString],
    world: &dyn World,
) -> Option<Diagnostics> {
    match asked {
        Asked::Known => None,
        Asked::Unknown(name) => {
            let one = Diagnostic::error(Class::Usage, format!("unknown command \"{name}\" for \"helm\""));
            Some(match did_you_mean(name, COMMANDS.iter().copied()) {
                Some(near) => one.hint(format!("did you mean `{near}`?")).into(),
                None => one
                    .hint(format!(
                        "if it is one of solar-render's own: `solar-render {name}`"
                    ))
                    .into(),
            })
        }
        Asked::Elsewhere(name) => match real_helm(world) {
            Some(helm) => Some(hand_over(&helm, arguments).err()?),
            None => {
                let first = name.split(' ').next().unwrap_or_default();
                let one = elsewhere(name).or_else(|| elsewhere(first)).unwrap_or_else(|| {
                    Diagnostic::error(Class::Usage, format!("there is no command `{name}`"))
                });
                Some(
                    one.hint(format!("{VARIABLE}=/path/to/helm delegates it to that Helm"))
                        .into(),
                )
            }
        },
    }
}

/// The Helm that SOLAR_HELM names.
pub(crate) fn real_helm(world: &dyn World) -> Option<PathBuf> {
    world.env(VARIABLE).map(PathBuf::from)
}

/// Executes the other program. It only returns if that fails.
pub(crate) fn hand_over(helm: &Path, arguments: &[OsString]) -> Result<Infallible, Diagnostics> {
    let usage = |message: String| Diagnostics::from(Diagnostic::error(Class::Usage, message));
    let real = |path: &Path| path.canonicalize().ok();
    let own = std::env::current_exe().ok().and_then(|path| real(&path));
    if own.is_some() && real(helm) == own {
        return Err(usage(format!(
            "{VARIABLE} is {}, which is solar-render itself",
            helm.display()
        )));
    }
    let error: io::Error = Command::new(helm).args(arguments.iter().skip(1)).exec();
    Err(usage(format!(
        "can't run {}, which {VARIABLE} names: {}",
        helm.display(),
        fsio::reason(&error)
    )))
}

/// Helm's exit code for one of ours: 1 for every failure; codes of signals are kept.
pub(crate) fn exit_code(code: u8) -> u8 {
    match code {
        0 | 130 | 143 => code,
        _ => 1,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_are_found_after_global_flags() {
        let definition = definition(super::super::args::definition::definition());
        let asked = |line: &str| {
            let words: Vec<OsString> = line.split(' ').map(OsString::from).collect();
            asked(&definition, &words)
        };
        for known in [
            "helm",
            "helm --help",
            "helm template x .",
            "helm -n x --debug template x .",
            "helm --kube-context=c --kubeconfig k dep build",
            "helm inspect values x",
            "helm fetch x",
            "helm plugin list",
            "helm help template",
        ] {
            assert_eq!(asked(known), Asked::Known, "{known}");
        }
        for (line, name) in [
            ("helm --kube-context c install x y", "install"),
            ("helm delete x", "delete"),
            ("helm -n x upgrade --install a b", "upgrade"),
            ("helm plugin install x", "plugin install"),
            ("helm plugin --debug -n x install x", "plugin install"),
            ("helm search hub x", "search hub"),
        ] {
            assert_eq!(asked(line), Asked::Elsewhere(name.to_owned()), "{line}");
        }
        // A command of our own, which Helm doesn't have.
        assert_eq!(asked("helm publish x"), Asked::Unknown("publish".to_owned()));
    }

    #[test]
    fn every_failure_is_1() {
        let codes = [0, 1, 2, 3, 4, 5, 10, 70, 130, 143].map(exit_code);
        assert_eq!(codes, [0, 1, 1, 1, 1, 1, 1, 1, 130, 143]);
    }
}
