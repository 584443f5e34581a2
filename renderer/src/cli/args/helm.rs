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
const NO_REPOSITORIES: &str = "this command uses no chart repositories";
const NO_REPOSITORY_CACHE: &str = "indexes of repositories are not kept; --cache-dir says where archives are";
const NO_SIGNING: &str = "signing with PGP is not supported; `helm package --sign` on the folder makes a .prov \
                          file, which `push` sends along";
/// Flags of `helm package` alone.
const PACKAGE: &[Refused] = &[
    flag("sign", NO_SIGNING),
    value("key", NO_SIGNING),
    value("keyring", NO_SIGNING),
    value("passphrase-file", NO_SIGNING),
];

/// Flags of `helm pull` alone.
const PULL: &[Refused] = &[flag("pass-credentials", NO_PASSING)];

/// Flags of `helm lint` alone.
const LINT: &[Refused] = &[value("registry-config", FROM_DISK)];

const NO_PASSING: &str = "credentials never go to another host than the one they are for";
const FROM_DISK: &str = "charts are read from disk here; `solar-render pull` fetches one";
const NO_PLUGINS: &str = "nothing is run on what was rendered; send it through a pipe instead";
const NO_DNS: &str = "what is rendered must not depend on a network: getHostByName gives \"\"";

/// Flags of `helm template` alone.
const TEMPLATE: &[Refused] = &[
    flag("enable-dns", NO_DNS),
    flag(
        "validate",
        "no cluster is spoken to here; send the output to `kubectl apply --dry-run=server -f -`",
    ),
    value("post-renderer", NO_PLUGINS),
    value("post-renderer-args", NO_PLUGINS),
    flag("pass-credentials", NO_PASSING),
];

/// What `helm template` takes for the sake of `helm install`, and does nothing about: the name, whether a value
/// may follow, whether it must follow.
const WITHOUT_EFFECT: &[(&str, Value)] = &[
    ("atomic", Value::Switch),
    ("create-namespace", Value::Switch),
    ("description", Value::Next),
    ("disable-openapi-validation", Value::Switch),
    ("force", Value::Switch),
    ("force-conflicts", Value::Switch),
    ("force-replace", Value::Switch),
    ("hide-notes", Value::Switch),
    ("labels", Value::Next),
    ("replace", Value::Switch),
    ("rollback-on-failure", Value::Switch),
    ("server-side", Value::Switch),
    ("take-ownership", Value::Switch),
    ("wait", Value::Switch),
    ("wait-for-jobs", Value::Switch),
];

/// How a flag's value is given.
#[derive(Clone, Copy)]
enum Value {
    /// Behind `=`, if at all.
    Switch,
    /// In the next word.
    Next,
}

/// Adds [`WITHOUT_EFFECT`], hidden.
fn add_without_effect(command: Command) -> Command {
    command.args(WITHOUT_EFFECT.iter().map(|(name, value)| {
        let arg = Arg::new(*name).long(*name).hide(true).action(ArgAction::Append);
        let arg = if *name == "labels" { arg.short('l') } else { arg };
        match value {
            Value::Switch => arg
                .num_args(0..=1)
                .require_equals(true)
                .default_missing_value("true"),
            Value::Next => arg.allow_hyphen_values(true),
        }
    }))
}

const NO_JSONPATH: &str = "send `-o json` through a tool that knows paths instead";

/// Flags of all of `helm show`'s commands.
const SHOW: &[Refused] = &[
    flag("pass-credentials", NO_PASSING),
    value("jsonpath", NO_JSONPATH),
];

/// Flags of `helm dependency list` alone.
const LISTED: &[Refused] = &[value("registry-config", FROM_DISK)];

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
    value("content-cache", NO_REPOSITORY_CACHE),
    value("repository-cache", NO_REPOSITORY_CACHE),
    value("repository-config", NO_REPOSITORIES),
    value("colour", "it is called --color here"),
    flag("debug", "it is called --verbose here"),
];

/// The commands that have Helm's names; `login` and `logout` are below `registry` there.
const SHARED: &[&str] = &[
    "package", "push", "pull", "login", "logout", "verify", "template", "lint",
];

/// Global flags of Helm that commands of ours have.
const OWN: &[(&str, &[&str])] = &[("template", &["namespace", "debug"]), ("lint", &["namespace"])];

/// The commands with Helm's names that are below `dependency`.
const DEPENDENCY: &[&str] = &["build", "update", "list"];

/// The commands with Helm's names that are below `show`.
const PARTS: &[&str] = &["all", "chart", "crds", "readme", "values"];

fn refused(command: &str) -> impl Iterator<Item = &'static Refused> {
    let has = OWN.iter().find(|(name, _)| *name == command);
    let has = has.map_or(&[] as &[&str], |(_, flags)| flags);
    let own = match command {
        "template" => TEMPLATE,
        "lint" => LINT,
        "package" => PACKAGE,
        "pull" => PULL,
        "all" | "chart" | "crds" | "readme" | "values" => SHOW,
        "list" => LISTED,
        _ => &[],
    };
    let global = GLOBAL.iter().filter(move |one| !has.contains(&one.name));
    own.iter().chain(global)
}

/// Adds the refused flags, hidden, to a command that has Helm's name, and Helm's short forms.
pub(crate) fn add_refused(command: Command) -> Command {
    let name = command.get_name().to_owned();
    let command = match name.as_str() {
        "login" => login(command),
        "template" => add_without_effect(command),
        _ => command,
    };
    let here = |one: &&Refused| {
        command
            .get_arguments()
            .any(|arg| arg.get_long() == Some(one.name))
    };
    let missing: Vec<&Refused> = refused(&name).filter(|one| !here(one)).collect();
    command.args(missing.into_iter().map(hidden)).mut_args(last_wins)
}

/// As [`add_refused`], to the commands of [`PARTS`] below one.
pub(crate) fn add_refused_below(command: Command) -> Command {
    PARTS
        .iter()
        .fold(command, |command, part| command.mut_subcommand(part, add_refused))
}

/// It writes where the others read.
fn login(command: Command) -> Command {
    command
        .mut_arg("registry_config", |arg| {
            arg.help("The credentials file to write, instead of Docker's")
        })
        .mut_arg("username", |arg| {
            arg.short('u').help("The user; else REGISTRY_USERNAME")
        })
        .mut_arg("password", |arg| arg.short('p'))
        .mut_arg("insecure_skip_tls_verify", |arg| arg.alias("insecure"))
}

/// Of a flag that is given twice Helm takes the last.
fn last_wins(arg: Arg) -> Arg {
    if arg.is_positional() || arg.is_global_set() || !matches!(arg.get_action(), ArgAction::Set) {
        return arg;
    }
    let own = arg.get_id().clone();
    arg.overrides_with(own)
}

fn hidden(one: &Refused) -> Arg {
    let arg = Arg::new(one.name).long(one.name).hide(true);
    let arg = match one.short {
        Some(short) => arg.short(short),
        None => arg,
    };
    arg.action(if one.takes_value {
        ArgAction::Append
    } else {
        ArgAction::SetTrue
    })
}

/// The refusals for the flags that were given.
pub(crate) fn refusals(command: &str, matches: &ArgMatches) -> Vec<Diagnostic> {
    let inner = [("dependency", DEPENDENCY), ("show", PARTS)];
    let inner = inner.iter().find(|(name, _)| *name == command);
    if let (Some((above, names)), Some((below, matches))) = (inner, matches.subcommand()) {
        return refused_by(below, above, names, matches);
    }
    refused_by(command, "", SHARED, matches)
}

fn refused_by(command: &str, above: &str, names: &[&str], matches: &ArgMatches) -> Vec<Diagnostic> {
    let given = |one: &&Refused| {
        names.contains(&command)
            && matches.ids().any(|id| id.as_str() == one.name)
            && matches.value_source(one.name) == Some(clap::parser::ValueSource::CommandLine)
    };
    refused(command)
        .filter(given)
        .map(|one| {
            let command = format!("{above} {command}");
            let message = format!(
                "Helm's --{} is not supported by `{}`",
                one.name,
                command.trim_start()
            );
            Diagnostic::error(Class::Usage, message).note(one.reason)
        })
        .collect()
}
