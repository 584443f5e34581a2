//! The arguments before clap parses them: the default command, mistyped commands, and the output format of a
//! command line that is invalid.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use clap::Args as _;
use clap::error::ErrorKind;

use super::args::global::{GlobalFlags, OutputFormat};
use super::args::helm;
use super::args::render::RenderArgs;
use super::args::unsupported_commands::elsewhere;
use super::context::CalledAs;
use super::printer::{self, Printer};
use crate::credentials::without_credentials;
use crate::diag::{Class, Diagnostic, Diagnostics, did_you_mean};
use crate::report::Report;
use crate::world::World;

/// The exit code of a command whose result is only text.
fn written(result: std::io::Result<()>) -> u8 {
    match result {
        Ok(()) => 0,
        Err(error) => {
            printer::to_stderr(&format!(
                "error: can't write to standard output: {}\n",
                crate::fsio::reason(&error)
            ));
            Class::Io.exit_code()
        }
    }
}

/// Help and version are not errors; everything else is a usage error, which is also reported as a result.
pub(crate) fn usage(
    error: &clap::Error,
    arguments: &[OsString],
    called_as: CalledAs,
    world: &dyn World,
) -> u8 {
    if !error.use_stderr() {
        let text = if printer::is_colored(world) {
            error.render().ansi().to_string()
        } else {
            error.render().to_string()
        };
        return written(printer::to_stdout(&text));
    }
    if error.kind() == ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand {
        // As Helm does.
        if called_as.is_helm() {
            return written(printer::to_stdout(&error.render().to_string()));
        }
        printer::to_stderr(&error.render().to_string());
        return Class::Usage.exit_code();
    }
    let problem = Diagnostics::from(diagnosed(&without_credentials(&error.render().to_string())));
    let json = Report::failure(&problem).to_json();
    early_printer(arguments, world).finish(&json, &json, "", &[&problem]);
    problem.class().exit_code()
}

/// Clap's message as a diagnostic: the error, the usage, and suggestions.
fn diagnosed(text: &str) -> Diagnostic {
    let lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
    let (mut message, mut hints, mut usage) = (Vec::new(), Vec::new(), Vec::new());
    for line in lines {
        if let Some(tip) = line.strip_prefix("tip: ") {
            // An unknown flag is never meant as an argument.
            if !tip.contains("as a value, use '-- ") {
                hints.push(tip);
            }
        } else if line.starts_with("For more information") {
            break;
        } else if !usage.is_empty() || line.starts_with("Usage:") {
            usage.push(line);
        } else {
            message.push(line);
        }
    }
    let message = message.join(" ").trim_start_matches("error: ").to_owned();
    let mut one = Diagnostic::error(Class::Usage, message);
    if !usage.is_empty() {
        one = one.note(usage.join(" ").replacen("Usage:", "usage:", 1));
    }
    hints.into_iter().fold(one, Diagnostic::hint)
}

/// A printer for a command line that can't be parsed.
pub(crate) fn early_printer(arguments: &[OsString], world: &dyn World) -> Printer {
    let global = GlobalFlags {
        output: wanted_output(arguments),
        result_file: wanted_file(arguments),
        ..GlobalFlags::default()
    };
    Printer::new(&global, world)
}

/// The error for a first argument that can only be a mistyped command: a bare word that is neither a command nor a
/// file.
pub(crate) fn mistyped_command(definition: &clap::Command, arguments: &[OsString]) -> Option<Diagnostics> {
    let word = arguments.get(1)?.to_str()?;
    let commands = || {
        definition
            .get_subcommands()
            .flat_map(clap::Command::get_name_and_visible_aliases)
    };
    let known = |name| definition.find_subcommand(name).is_some();
    let bare = word.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'-') && !word.starts_with('-');
    if !bare || word.is_empty() || known(word) || Path::new(word).exists() {
        return None;
    }
    if let Some(one) = elsewhere(word) {
        return Some(one.into());
    }
    let one = Diagnostic::error(Class::Usage, format!("`{word}` is neither a command nor a file"));
    Some(match did_you_mean(word, commands()) {
        Some(name) => one.hint(format!("did you mean `{name}`?")).into(),
        None => one.hint("solar-render --help lists the commands").into(),
    })
}

/// The output format, also if the rest of the command line is invalid.
fn wanted_output(arguments: &[OsString]) -> OutputFormat {
    let words: Vec<&str> = arguments.iter().filter_map(|word| word.to_str()).collect();
    let asks_for = |format: &str| {
        let joined = ["-o", "-o=", "--output="].map(|flag| format!("{flag}{format}"));
        let apart = words
            .windows(2)
            .any(|pair| matches!(pair, ["-o" | "--output", given] if *given == format));
        apart || words.iter().any(|word| joined.iter().any(|one| one == word))
    };
    if asks_for("json") {
        OutputFormat::Json
    } else if asks_for("yaml") {
        OutputFormat::Yaml
    } else {
        OutputFormat::Text
    }
}

/// The result file, also if the rest of the command line is invalid.
fn wanted_file(arguments: &[OsString]) -> Option<PathBuf> {
    let mut words = arguments.iter().map(|word| word.to_string_lossy());
    let apart = words
        .by_ref()
        .find_map(|word| match word.strip_prefix("--result-file") {
            Some("") => Some(None),
            Some(rest) => rest.strip_prefix('=').map(|path| Some(PathBuf::from(path))),
            None => None,
        })?;
    apart.or_else(|| words.next().map(|path| PathBuf::from(path.as_ref())))
}

/// `help COMMAND` means `COMMAND --help`.
pub(crate) fn with_help_command(mut arguments: Vec<OsString>) -> Vec<OsString> {
    let is_help = arguments.get(1).is_some_and(|word| word == "help");
    if is_help && !Path::new("help").exists() {
        arguments.remove(1);
        arguments.push("--help".into());
    }
    arguments
}

fn takes_value(definition: &clap::Command, word: &str) -> bool {
    let names = |arg: &clap::Arg| {
        let long = arg.get_long().map(|name| format!("--{name}"));
        let short = arg.get_short().map(|name| format!("-{name}"));
        arg.get_action().takes_values() && [long, short].iter().flatten().any(|name| name == word)
    };
    definition.get_arguments().any(names)
}

/// The position of the first argument that is neither a global flag, ours or Helm's, nor the value of one.
pub(crate) fn first_word(definition: &clap::Command, arguments: &[OsString]) -> Option<usize> {
    next_word(definition, arguments, 1)
}

/// As [`first_word`], from a position on.
pub(crate) fn next_word(definition: &clap::Command, arguments: &[OsString], from: usize) -> Option<usize> {
    let mut at = from;
    loop {
        let text = arguments.get(at)?.to_str().unwrap_or("");
        if text == "-" || !text.starts_with('-') {
            return Some(at);
        }
        let takes_next = match helm::global_flag(text) {
            Some(flag) => flag.takes_next,
            None => takes_value(definition, text),
        };
        at += if takes_next { 2 } else { 1 };
    }
}

/// Helm accepts its global flags before the command too: moves them after it. Called as Helm, those that no command
/// follows are dropped: Helm shows its help, or a group's.
pub(crate) fn with_leading_flags(
    definition: &clap::Command,
    called_as: CalledAs,
    arguments: Vec<OsString>,
) -> Vec<OsString> {
    let (mut front, mut moved) = (Vec::new(), Vec::new());
    let mut words = arguments.iter();
    front.extend(words.next());
    let command = loop {
        let Some(word) = words.next() else {
            return match called_as.is_helm() {
                true => front.into_iter().cloned().collect(),
                false => arguments,
            };
        };
        let text = word.to_str().unwrap_or("");
        if text == "-" || !text.starts_with('-') {
            break word;
        }
        let (target, takes_next) = match helm::global_flag(text) {
            Some(flag) => (&mut moved, flag.takes_next),
            None => (&mut front, takes_value(definition, text)),
        };
        target.push(word);
        if takes_next {
            target.extend(words.next());
        }
    };
    let known = command.to_str().and_then(|name| definition.find_subcommand(name));
    let Some(known) = known else {
        return arguments;
    };
    front.push(command);
    // The subcommands take the flags, not their parent.
    if BELOW.contains(&known.get_name()) {
        let group = front.len();
        while let Some(word) = words.next() {
            let flag = word.to_str().and_then(helm::global_flag);
            let target = if flag.is_some() { &mut moved } else { &mut front };
            target.push(word);
            match flag {
                Some(flag) if flag.takes_next => target.extend(words.next()),
                Some(_) => {}
                None => break,
            }
        }
        if front.len() == group && called_as.is_helm() {
            moved.clear();
        }
    }
    front.into_iter().chain(moved).chain(words).cloned().collect()
}

/// The commands with subcommands; the shells are such in Helm.
const BELOW: &[&str] = &[
    "cache",
    "completion",
    "dependency",
    "plugin",
    "registry",
    "repo",
    "search",
    "show",
];

/// `solar-render CONFIG` means `solar-render render CONFIG`: the first argument that is neither an option nor an
/// option's value decides.
pub(crate) fn with_default_command(
    definition: &clap::Command,
    mut arguments: Vec<OsString>,
    always: bool,
) -> Vec<OsString> {
    let takes_value = |word: &str| {
        let render = RenderArgs::augment_args(clap::Command::new("render"));
        let known = definition.get_arguments().chain(render.get_arguments());
        known
            .filter(|arg| arg.get_action().takes_values() && !arg.is_require_equals_set())
            .any(|arg| {
                let long = word
                    .strip_prefix("--")
                    .is_some_and(|name| arg.get_long() == Some(name));
                // The last of joined short options may take the next argument: -qo json.
                let short = word
                    .strip_prefix('-')
                    .is_some_and(|names| !names.starts_with('-') && names.chars().last() == arg.get_short());
                long || short
            })
    };
    let mut words = arguments
        .iter()
        .skip(1)
        .map(|word| word.to_str().unwrap_or("CONFIG"));
    let mut first = None;
    while let Some(word) = words.next() {
        if word == "-" || !word.starts_with('-') {
            first = Some(word);
            break;
        }
        if matches!(word, "-V" | "--version") || (matches!(word, "-h" | "--help") && !always) {
            return arguments;
        }
        if takes_value(word) {
            words.next();
        }
    }
    let named = first.is_some_and(|word| definition.find_subcommand(word).is_some());
    if arguments.len() > 1 && (always || !named) {
        arguments.insert(1, "render".into());
    }
    arguments
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::args::definition::definition;

    /// Between a group and its command they were once refused.
    #[test]
    fn helms_flags_may_stand_before_a_command_and_before_the_one_below_it() {
        let definition = definition();
        for (given, expected) in [
            ("x -n a template b", "x template -n a b"),
            ("x repo --debug list", "x repo list --debug"),
            (
                "x --debug repo -n a list -o json",
                "x repo list --debug -n a -o json",
            ),
            (
                "x dependency --namespace a --debug=true list d",
                "x dependency list --namespace a --debug=true d",
            ),
            ("x show --debug values c", "x show values --debug c"),
            ("x repo --help", "x repo --help"),
            ("x repo --nosuch list", "x repo --nosuch list"),
            ("x repo --debug", "x repo --debug"),
            ("x template --debug c", "x template --debug c"),
        ] {
            let words = given.split(' ').map(OsString::from).collect();
            let found = with_leading_flags(&definition, CalledAs::SolarRender, words);
            assert_eq!(found.join(std::ffi::OsStr::new(" ")), expected, "{given}");
        }
        for (given, expected) in [
            ("x repo --debug", "x repo"),
            ("x -n a show", "x show"),
            ("x --debug", "x"),
            ("x completion --debug", "x completion"),
            ("x completion --debug bash", "x completion bash --debug"),
            ("x repo --debug list", "x repo list --debug"),
            ("x repo --debug --help", "x repo --help --debug"),
            ("x --debug lint", "x lint --debug"),
        ] {
            let words = given.split(' ').map(OsString::from).collect();
            let found = with_leading_flags(&definition, CalledAs::Helm, words);
            assert_eq!(found.join(std::ffi::OsStr::new(" ")), expected, "{given}");
        }
    }

    #[test]
    fn a_config_alone_is_rendered() {
        let definition = definition();
        let command = |words: &[&str], always| {
            let arguments = words.iter().map(OsString::from).collect();
            let out = with_default_command(&definition, arguments, always);
            out.get(1).and_then(|word| word.to_str()).map(str::to_owned)
        };
        assert_eq!(command(&["x", "c.yaml"], false).as_deref(), Some("render"));
        assert_eq!(command(&["x", "-"], false).as_deref(), Some("render"));
        assert_eq!(
            command(&["x", "--url", "digest", "c.yaml"], false).as_deref(),
            Some("render")
        );
        assert_eq!(
            command(&["x", "--plain-http", "c.yaml"], false).as_deref(),
            Some("render")
        );
        assert_eq!(
            command(&["x", "-o", "json", "digest", "c.yaml"], false).as_deref(),
            Some("-o")
        );
        assert_eq!(
            command(&["x", "digest", "c.yaml"], false).as_deref(),
            Some("digest")
        );
        assert_eq!(command(&["x", "--help"], false).as_deref(), Some("--help"));
        assert_eq!(command(&["x"], false), None);
        assert_eq!(
            command(&["x", "digest"], true).as_deref(),
            Some("render"),
            "a file of that name"
        );
    }
}
