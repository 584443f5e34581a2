//! Helm's flags on the commands that have Helm's names.
//!
//! Each is implemented under its own name, or listed here and refused with the reason: a
//! script that comes from Helm learns what differs instead of "unexpected argument". A test
//! walks Helm's help.

use clap::{Arg, ArgAction, ArgMatches, Command};

use crate::diag::{Class, Diagnostic};

/// Why a flag of Helm's is refused: name, whether it takes a value, short form, reason.
struct Refused {
    name: &'static str,
    takes_value: bool,
    short: Option<char>,
    reason: &'static str,
}

const fn flag(name: &'static str, reason: &'static str) -> Refused {
    Refused {
        name,
        takes_value: false,
        short: None,
        reason,
    }
}

const fn value(name: &'static str, reason: &'static str) -> Refused {
    Refused {
        name,
        takes_value: true,
        short: None,
        reason,
    }
}

const NO_CLUSTER: &str = "no cluster is spoken to here";
const NO_REPOSITORIES: &str = "no chart repositories are used here";
const NO_SIGNING: &str = "signing with PGP is not supported; `helm package --sign` on the folder makes a .prov \
                          file, which `push` sends along";
const NO_VERIFYING: &str = "PGP is not supported; `--prov` gets the .prov file for `helm verify`, \
                            `--expect-digest` holds the chart to a digest, and `--verify-by` to a cosign key";
const NO_FETCHING: &str = "nothing is fetched while packaging; run `helm dependency build` before";

/// Flags of `helm package` alone.
const PACKAGE: &[Refused] = &[
    Refused {
        name: "dependency-update",
        takes_value: false,
        short: Some('u'),
        reason: NO_FETCHING,
    },
    flag("sign", NO_SIGNING),
    value("key", NO_SIGNING),
    value("keyring", NO_SIGNING),
    value("passphrase-file", NO_SIGNING),
    value("ca-file", NO_FETCHING),
    value("cert-file", NO_FETCHING),
    value("key-file", NO_FETCHING),
    flag("insecure-skip-tls-verify", NO_FETCHING),
    flag("plain-http", NO_FETCHING),
    value("username", NO_FETCHING),
    value("password", NO_FETCHING),
    value("registry-config", NO_FETCHING),
];

/// Flags of `helm pull` alone.
const PULL: &[Refused] = &[
    flag("verify", NO_VERIFYING),
    value("keyring", NO_VERIFYING),
    value("repo", NO_REPOSITORIES),
    flag(
        "pass-credentials",
        "credentials never go to another host than the registry's",
    ),
];

/// Flags of `helm verify` alone.
const VERIFY: &[Refused] = &[value("keyring", NO_VERIFYING)];

/// Helm's global flags.
const GLOBAL: &[Refused] = &[
    value("burst-limit", NO_CLUSTER),
    value("qps", NO_CLUSTER),
    value("kube-apiserver", NO_CLUSTER),
    value("kube-as-group", NO_CLUSTER),
    value("kube-as-user", NO_CLUSTER),
    value("kube-ca-file", NO_CLUSTER),
    value("kube-context", NO_CLUSTER),
    flag("kube-insecure-skip-tls-verify", NO_CLUSTER),
    value("kube-tls-server-name", NO_CLUSTER),
    value("kube-token", NO_CLUSTER),
    value("kubeconfig", NO_CLUSTER),
    Refused {
        name: "namespace",
        takes_value: true,
        short: Some('n'),
        reason: NO_CLUSTER,
    },
    value("content-cache", NO_REPOSITORIES),
    value("repository-cache", NO_REPOSITORIES),
    value("repository-config", NO_REPOSITORIES),
    value("colour", "it is called --color here"),
    flag("debug", "it is called --verbose here"),
];

/// The commands that have Helm's names; `login` and `logout` are below `registry` there.
const SHARED: &[&str] = &["package", "push", "pull", "login", "logout", "verify"];

fn refused(command: &str) -> impl Iterator<Item = &'static Refused> {
    let own = match command {
        "package" => PACKAGE,
        "pull" => PULL,
        "verify" => VERIFY,
        _ => &[],
    };
    own.iter().chain(GLOBAL)
}

/// Adds the refused flags, hidden, to the commands that have Helm's names, and Helm's short forms.
pub(crate) fn add_refused(command: Command) -> Command {
    let command = command.mut_subcommand("login", |sub| {
        sub.mut_arg("username", |arg| arg.short('u'))
            .mut_arg("password", |arg| arg.short('p'))
            .mut_arg("insecure_skip_tls_verify", |arg| arg.alias("insecure"))
    });
    SHARED.iter().fold(command, |command, name| {
        command.mut_subcommand(name, |sub| {
            sub.args(refused(name).map(|one| {
                let arg = Arg::new(one.name).long(one.name).hide(true);
                let arg = if let Some(short) = one.short {
                    arg.short(short)
                } else {
                    arg
                };
                let action = if one.takes_value {
                    ArgAction::Append
                } else {
                    ArgAction::SetTrue
                };
                arg.action(action)
            }))
        })
    })
}

/// The refusals for the flags that were given.
pub(crate) fn refusals(command: &str, matches: &ArgMatches) -> Vec<Diagnostic> {
    let known = SHARED.contains(&command);
    refused(command)
        .filter(|one| known && matches.value_source(one.name) == Some(clap::parser::ValueSource::CommandLine))
        .map(|one| {
            let message = format!("Helm's --{} is not supported by `{command}`", one.name);
            Diagnostic::error(Class::Usage, message).note(one.reason)
        })
        .collect()
}
