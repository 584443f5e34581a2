//! Helm's flags on the commands that have Helm's names.
//!
//! Each is implemented under its own name, or listed here and refused with the reason: a script written for Helm gets
//! an explanation instead of "unexpected argument". A test checks Helm's help.

use clap::{Arg, ArgAction, ArgMatches, Command};

use crate::diag::{Class, Diagnostic};

/// A refused flag of Helm: name, whether it takes a value, short form, reason.
struct RefusedFlag {
    name: &'static str,
    takes_value: bool,
    short: Option<char>,
    reason: &'static str,
}

const fn flag(name: &'static str, reason: &'static str) -> RefusedFlag {
    RefusedFlag {
        name,
        takes_value: false,
        short: None,
        reason,
    }
}

const fn value(name: &'static str, reason: &'static str) -> RefusedFlag {
    RefusedFlag {
        name,
        takes_value: true,
        short: None,
        reason,
    }
}

const NO_PLUGINS: &str = "nothing is run on what was rendered; send it through a pipe instead";
const NO_DNS: &str = "what is rendered must not depend on a network: getHostByName gives \"\"";

/// Flags of `helm template` alone.
const TEMPLATE: &[RefusedFlag] = &[
    flag("enable-dns", NO_DNS),
    value("post-renderer", NO_PLUGINS),
    value("post-renderer-args", NO_PLUGINS),
];

/// Flags that `helm template` shares with `helm install` and ignores: the name, and how its value is given.
const WITHOUT_EFFECT: &[(&str, FlagValue)] = &[
    ("atomic", FlagValue::Switch),
    ("create-namespace", FlagValue::Switch),
    ("description", FlagValue::Next),
    ("disable-openapi-validation", FlagValue::Switch),
    ("force", FlagValue::Switch),
    ("force-conflicts", FlagValue::Switch),
    ("force-replace", FlagValue::Switch),
    ("hide-notes", FlagValue::Switch),
    ("labels", FlagValue::Next),
    ("replace", FlagValue::Switch),
    ("rollback-on-failure", FlagValue::Switch),
    ("server-side", FlagValue::Switch),
    ("take-ownership", FlagValue::Switch),
    ("wait", FlagValue::Switch),
    ("wait-for-jobs", FlagValue::Switch),
];

/// How a flag's value is given.
#[derive(Clone, Copy)]
enum FlagValue {
    /// Optional, after `=`.
    Switch,
    /// In the next argument.
    Next,
}

/// Adds flags that are accepted and change nothing, hidden, unless the command has them.
fn add_without_effect(command: Command, flags: &'static [(&'static str, FlagValue)]) -> Command {
    let has = |name: &str| command.get_arguments().any(|arg| arg.get_long() == Some(name));
    let missing: Vec<_> = flags.iter().filter(|(name, _)| !has(name)).collect();
    command.args(missing.into_iter().map(|(name, value)| {
        let arg = Arg::new(*name).long(*name).hide(true).action(ArgAction::Append);
        let arg = match *name {
            "labels" => arg.short('l'),
            "namespace" => arg.short('n'),
            _ => arg,
        };
        let arg = match *name {
            "labels" => arg.value_parser(labels),
            "wait" => arg.value_parser(wait_strategy),
            _ if matches!(value, FlagValue::Switch) => arg.value_parser(boolean),
            _ => arg,
        };
        match value {
            FlagValue::Switch => arg
                .num_args(0..=1)
                .require_equals(true)
                .default_missing_value("true"),
            FlagValue::Next => arg.allow_hyphen_values(true),
        }
    }))
}

/// Helm validates such values although it ignores them.
fn labels(text: &str) -> Result<String, String> {
    if text.contains('=') {
        return Ok(text.to_owned());
    }
    Err(format!("{text} must be formatted as key=value"))
}

/// As Go's `strconv.ParseBool`.
fn boolean(text: &str) -> Result<String, &'static str> {
    const BOOLEANS: &[&str] = &[
        "1", "t", "T", "TRUE", "true", "True", "0", "f", "F", "FALSE", "false", "False",
    ];
    if BOOLEANS.contains(&text) {
        return Ok(text.to_owned());
    }
    Err("expected true or false")
}

fn wait_strategy(text: &str) -> Result<String, &'static str> {
    const STRATEGIES: &[&str] = &["watcher", "hookOnly", "legacy", "true", "false"];
    if STRATEGIES.contains(&text) {
        return Ok(text.to_owned());
    }
    Err("expected watcher, hookOnly or legacy")
}

/// Helm's global flags that change nothing here: no cluster is contacted, and indexes of repositories are not cached.
const GLOBAL: &[(&str, FlagValue)] = &[
    ("burst-limit", FlagValue::Next),
    ("qps", FlagValue::Next),
    ("kube-apiserver", FlagValue::Next),
    ("kube-as-group", FlagValue::Next),
    ("kube-as-user", FlagValue::Next),
    ("kube-ca-file", FlagValue::Next),
    ("kube-context", FlagValue::Next),
    ("kube-insecure-skip-tls-verify", FlagValue::Switch),
    ("kube-tls-server-name", FlagValue::Next),
    ("kube-token", FlagValue::Next),
    ("kubeconfig", FlagValue::Next),
    ("namespace", FlagValue::Next),
    ("content-cache", FlagValue::Next),
    ("registry-config", FlagValue::Next),
    ("repository-cache", FlagValue::Next),
    ("repository-config", FlagValue::Next),
    ("pass-credentials", FlagValue::Switch),
    ("debug", FlagValue::Switch),
];

/// Parses one of Helm's global flags: `-n`, `--namespace`, `--namespace=x`.
pub(crate) fn global_flag(word: &str) -> Option<GlobalFlag> {
    let name = word.strip_prefix("--").unwrap_or("");
    let name = if word.starts_with("-n") && !word.starts_with("--") {
        "namespace"
    } else {
        name
    };
    let (name, joined) = match name.split_once('=') {
        Some((name, _)) => (name, true),
        None => (name, word.len() > 2 && !word.starts_with("--")),
    };
    let (_, value) = GLOBAL.iter().find(|(known, _)| *known == name)?;
    Some(GlobalFlag {
        takes_next: matches!(value, FlagValue::Next) && !joined,
    })
}

/// One of Helm's global flags.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct GlobalFlag {
    /// Whether the next argument is its value.
    pub(crate) takes_next: bool,
}

/// Whether Helm's `--debug` was given to a command that has no such flag of its own: it means `--verbose`.
pub(crate) fn is_debug(matches: &ArgMatches) -> bool {
    let Some((_, matches)) = matches.subcommand() else {
        return false;
    };
    let last = matches
        .try_get_many::<String>("debug")
        .ok()
        .flatten()
        .and_then(Iterator::last);
    last.is_some_and(|value| value == "true") || is_debug(matches)
}

/// The commands that have Helm's names; `login` and `logout` are below `registry` there.
const SHARED: &[&str] = &[
    "package", "push", "pull", "login", "logout", "verify", "template", "lint", "version",
];

/// The commands with Helm's names that are below `dependency`.
const DEPENDENCY: &[&str] = &["build", "update", "list"];

/// The commands with Helm's names that are below `show`.
const PARTS: &[&str] = &["all", "chart", "crds", "readme", "values"];

fn refused(command: &str) -> &'static [RefusedFlag] {
    match command {
        "template" => TEMPLATE,
        _ => &[],
    }
}

/// Adds the refused flags, hidden, to a command that has Helm's name, and Helm's short forms.
pub(crate) fn add_refused(command: Command) -> Command {
    let name = command.get_name().to_owned();
    let command = match name.as_str() {
        "login" => login(command),
        "template" => add_without_effect(command, WITHOUT_EFFECT),
        _ => command,
    };
    let here = |one: &&RefusedFlag| {
        command
            .get_arguments()
            .any(|arg| arg.get_long() == Some(one.name))
    };
    let missing: Vec<&RefusedFlag> = refused(&name).iter().filter(|one| !here(one)).collect();
    let command = command.args(missing.into_iter().map(hidden));
    add_without_effect(command, GLOBAL).mut_args(last_wins)
}

/// As [`add_refused`], to the commands of [`PARTS`] below one.
pub(crate) fn add_refused_below(command: Command) -> Command {
    PARTS
        .iter()
        .fold(command, |command, part| command.mut_subcommand(part, add_refused))
}

/// `login` writes the file that other commands read.
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

/// In Helm, the last value of a repeated flag wins.
fn last_wins(arg: Arg) -> Arg {
    if arg.is_positional() || arg.is_global_set() || !matches!(arg.get_action(), ArgAction::Set) {
        return arg;
    }
    let own = arg.get_id().clone();
    arg.overrides_with(own)
}

fn hidden(one: &RefusedFlag) -> Arg {
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

/// The errors for the given flags that are refused.
pub(crate) fn refusals(command: &str, matches: &ArgMatches) -> Vec<Diagnostic> {
    let inner = [("dependency", DEPENDENCY), ("show", PARTS)];
    let inner = inner.iter().find(|(name, _)| *name == command);
    if let (Some((above, names)), Some((below, matches))) = (inner, matches.subcommand()) {
        return refused_by(below, above, names, matches);
    }
    refused_by(command, "", SHARED, matches)
}

fn refused_by(command: &str, above: &str, names: &[&str], matches: &ArgMatches) -> Vec<Diagnostic> {
    let given = |one: &&RefusedFlag| {
        names.contains(&command)
            && matches.ids().any(|id| id.as_str() == one.name)
            && matches.value_source(one.name) == Some(clap::parser::ValueSource::CommandLine)
    };
    refused(command)
        .iter()
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
