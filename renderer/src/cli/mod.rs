//! The command line: arguments in, exit code out.
//!
//! [`run`] parses, watches for signals, runs one command and prints its result. A panic
//! is caught and reported like any other failure, without a backtrace.

mod args;
mod cache;
mod chart_args;
mod ci;
mod commands;
mod copy;
mod csv;
mod definition;
mod dependency;
mod dependency_list;
mod draw;
mod fetch;
mod files;
mod functions;
mod helm;
mod images;
mod lint;
mod lint_args;
mod output;
mod progress;
mod publish;
mod publish_rows;
mod pull;
mod registry;
mod registry_args;
mod shipping;
mod show;
mod sign;
mod sign_args;
mod signals;
mod source;
mod source_args;
mod template;
mod template_args;
mod template_files;
mod verify;

use std::ffi::OsString;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};

use clap::{ArgMatches, Args as _, FromArgMatches as _};

use crate::diag::{Class, Diagnostic, Diagnostics, did_you_mean};
use crate::oci::without_credentials;
use crate::report::{self, MAX_DOCUMENT, Report, list_to_bounded_json, list_to_json};
use crate::world::{System, World};
use args::{Cli, Command, Global, Output, Render};
use output::{Finish, Printer};
use signals::Signals;

/// What a command did for one chart.
pub(crate) struct Outcome {
    /// For machines.
    pub(crate) report: Report,
    /// For people: what standard output says.
    pub(crate) text: String,
    /// What went wrong, if it did.
    pub(crate) problem: Option<Diagnostics>,
}

/// What a command did.
pub(crate) enum Done {
    /// One result.
    One(Box<Outcome>),
    /// A list of results, also when it has one element.
    Many(Vec<Outcome>),
    /// A result of another form.
    Document {
        /// For machines: one line.
        json: String,
        /// For people.
        text: String,
    },
    /// A result of another form that may be a failure all the same.
    Findings {
        /// For machines: one line.
        json: String,
        /// For people.
        text: String,
        /// What makes it a failure.
        problem: Option<Diagnostics>,
    },
}

/// What a command works with.
pub(crate) struct Context<'a> {
    pub(crate) world: &'a dyn World,
    pub(crate) printer: &'a Printer,
    pub(crate) signals: &'a Signals,
    /// Called as `solar-renderer`.
    pub(crate) as_solar: bool,
}

impl Outcome {
    /// A failure of which nothing more is known.
    pub(crate) fn failed(problem: Diagnostics) -> Self {
        Self {
            report: Report::failure(&problem),
            text: String::new(),
            problem: Some(problem),
        }
    }
}

/// Runs the command line and returns the exit code.
pub fn run(arguments: impl IntoIterator<Item = OsString>) -> u8 {
    let arguments: Vec<OsString> = arguments.into_iter().collect();
    let world = System;
    let as_solar = arguments
        .first()
        .is_some_and(|name| Path::new(name).file_stem() == Some("solar-renderer".as_ref()));
    let definition = definition::definition();
    if let Some(problem) = mistyped_command(&definition, &arguments).filter(|_| !as_solar) {
        return conclude(
            &early_printer(&arguments, &world),
            Done::One(Box::new(Outcome::failed(problem))),
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
    let printer = Printer::new(&cli.global, &world);
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
    let done = done.unwrap_or_else(|panic| Done::One(Box::new(Outcome::failed(internal(panic.as_ref())))));
    conclude(&printer, done)
}

fn execute(command: &Command, matches: &ArgMatches, context: &Context<'_>) -> Done {
    if let Some((name, matches)) = matches.subcommand()
        && let Some(refused) = Diagnostics::from_vec(helm::refusals(name, matches))
    {
        return Done::One(Box::new(Outcome::failed(refused)));
    }
    match command {
        Command::Render(args) => Done::One(Box::new(commands::render(args, context))),
        Command::Package(args) => commands::package(args, context),
        Command::Digest(args) => Done::One(Box::new(commands::digest(args, context))),
        Command::Push(args) => Done::One(Box::new(commands::push(args, context))),
        Command::Publish(args) => publish::publish(args, context),
        Command::Pull(args) => pull::pull(args, context),
        Command::Copy(args) => Done::One(Box::new(copy::copy(args, context))),
        Command::Tags(args) => registry::tags(args, context),
        Command::Sign(args) => Done::One(Box::new(sign::sign(args, context))),
        Command::Verify(args) => Done::One(Box::new(verify::verify(args, context))),
        Command::GenerateKeyPair(args) => Done::One(Box::new(sign::generate_key_pair(args, context))),
        Command::Dependency(command) => dependency::dependency(command, context),
        Command::Cache(command) => cache::cache(command, context),
        Command::Login(args) => Done::One(Box::new(registry::login(args, context))),
        Command::Logout(args) => Done::One(Box::new(registry::logout(args, context))),
        Command::Functions => functions::list(),
        Command::Template(args) => template::template(args, context),
        Command::Lint(args) => lint::lint(args, context),
        Command::Images(args) => images::list(args, context),
        Command::Show(args) => show::show(args, context),
        Command::Completion { shell } => {
            let text = files::completion(*shell);
            let json = report::text_to_json(&[("shell", &shell.to_string()), ("script", &text)]);
            Done::Document { json, text }
        }
        Command::Man { dir } => match files::man(dir) {
            Ok(()) => {
                let dir = dir.display().to_string();
                Done::Document {
                    json: report::text_to_json(&[("file", &dir)]),
                    text: format!("Manual pages: {dir}\n"),
                }
            }
            Err(problem) => Done::One(Box::new(Outcome::failed(problem))),
        },
    }
}

/// Prints the result; the exit code is that of the failure that [`Class::weight`] puts first.
fn conclude(printer: &Printer, done: Done) -> u8 {
    let (outcomes, list) = match done {
        Done::One(outcome) => (vec![*outcome], false),
        Done::Many(outcomes) => (outcomes, true),
        Done::Document { json, text } => {
            let short = if json.len() > MAX_DOCUMENT {
                Report::default().to_json()
            } else {
                json.clone()
            };
            return finish(printer, &json, &short, &text, &[]);
        }
        Done::Findings { json, text, problem } => {
            let report = problem.as_ref().map_or_else(Report::default, Report::failure);
            let short = report.to_json();
            let problems: Vec<&Diagnostics> = problem.iter().collect();
            return finish(printer, &json, &short, &text, &problems);
        }
    };
    let problems: Vec<&Diagnostics> = outcomes.iter().filter_map(|one| one.problem.as_ref()).collect();
    let reports: Vec<Report> = outcomes.iter().map(|one| one.report.clone()).collect();
    let text: String = outcomes.iter().map(|one| one.text.as_str()).collect();
    let (json, short) = match reports.as_slice() {
        [one] if !list => (one.to_json(), one.to_json()),
        many => (list_to_json(many), list_to_bounded_json(many)),
    };
    finish(printer, &json, &short, &text, &problems)
}

/// `short` is for where the result's length is limited.
fn finish(printer: &Printer, json: &str, short: &str, text: &str, problems: &[&Diagnostics]) -> u8 {
    let classes = problems.iter().map(|problem| problem.class());
    let code = classes
        .min_by_key(|class| class.weight())
        .map_or(0, Class::exit_code);
    match printer.finish(json, short, text, problems) {
        Finish::Done => code,
        Finish::Lost if code == 0 => Class::Io.exit_code(),
        Finish::Lost => code,
        Finish::Before => loop {
            // A signal's handler is ending the process with its own code.
            std::thread::park();
        },
    }
}

fn internal(panic: &(dyn std::any::Any + Send)) -> Diagnostics {
    let text = panic
        .downcast_ref::<String>()
        .map(String::as_str)
        .or(panic.downcast_ref::<&str>().copied());
    let message = format!(
        "this is a fault of solar-render: {}",
        text.unwrap_or("no reason is known")
    );
    Diagnostic::error(Class::Internal, message)
        .hint("please report it with the input that led here")
        .into()
}

/// The exit code of a text that is the whole result.
fn written(result: std::io::Result<()>) -> u8 {
    match result {
        Ok(()) => 0,
        Err(error) => {
            output::to_stderr(&format!(
                "error: can't write to standard output: {}\n",
                crate::fsio::reason(&error)
            ));
            Class::Io.exit_code()
        }
    }
}

/// Help and version are no errors; everything else is a usage error, and a result too.
fn usage(error: &clap::Error, arguments: &[OsString], world: &dyn World) -> u8 {
    if !error.use_stderr() {
        let text = if output::is_colored(world) {
            error.render().ansi().to_string()
        } else {
            error.render().to_string()
        };
        return written(output::to_stdout(&text));
    }
    let colored = output::is_colored(world);
    let shown = if colored {
        error.render().ansi().to_string()
    } else {
        error.render().to_string()
    };
    output::to_stderr(&without_credentials(&shown));
    let text = without_credentials(&error.render().to_string());
    let lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
    let message = lines
        .take_while(|line| !line.starts_with("Usage:") && !line.starts_with("For more information"))
        .collect::<Vec<_>>()
        .join(" ");
    let message = message.trim_start_matches("error: ").to_owned();
    let problem = Diagnostics::from(Diagnostic::error(Class::Usage, message));
    let json = Report::failure(&problem).to_json();
    early_printer(arguments, world).finish(&json, &json, "", &[]);
    problem.class().exit_code()
}

/// A printer for a command line that could not be understood.
fn early_printer(arguments: &[OsString], world: &dyn World) -> Printer {
    let global = Global {
        output: wanted_output(arguments),
        result_file: wanted_file(arguments),
        ..Global::default()
    };
    Printer::new(&global, world)
}

/// A first word that can only have been meant as a command: a bare word that is no command
/// and no file.
fn mistyped_command(definition: &clap::Command, arguments: &[OsString]) -> Option<Diagnostics> {
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
    let one = Diagnostic::error(Class::Usage, format!("`{word}` is neither a command nor a file"));
    Some(match did_you_mean(word, commands()) {
        Some(name) => one.hint(format!("did you mean `{name}`?")).into(),
        None => one.hint("solar-render --help lists the commands").into(),
    })
}

/// `-o json` counts even when the rest of the line is wrong.
fn wanted_output(arguments: &[OsString]) -> Output {
    let words: Vec<&str> = arguments.iter().filter_map(|word| word.to_str()).collect();
    let joined = ["-ojson", "-o=json", "--output=json"];
    let apart = words
        .windows(2)
        .any(|pair| matches!(pair, ["-o" | "--output", "json"]));
    if apart || words.iter().any(|word| joined.contains(word)) {
        Output::Json
    } else {
        Output::Text
    }
}

/// `--result-file FILE` too.
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

/// `solar-render CONFIG` means `solar-render render CONFIG`: the first word that is no
/// option and no option's value decides.
fn with_default_command(
    definition: &clap::Command,
    mut arguments: Vec<OsString>,
    always: bool,
) -> Vec<OsString> {
    let takes_value = |word: &str| {
        let render = Render::augment_args(clap::Command::new("render"));
        let known = definition.get_arguments().chain(render.get_arguments());
        known
            .filter(|arg| arg.get_action().takes_values() && !arg.is_require_equals_set())
            .any(|arg| {
                let long = word
                    .strip_prefix("--")
                    .is_some_and(|name| arg.get_long() == Some(name));
                // The last of joined short options may take the next word: -qo json.
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

    #[test]
    fn credentials_in_a_url_are_not_quoted() {
        let cases = [
            (
                "'oci://u:p@h/a' and oci://h/b@c",
                "'oci://***@h/a' and oci://h/b@c",
            ),
            ("oci://u:p@w@h", "oci://***@h"),
            ("none", "none"),
        ];
        for (text, expected) in cases {
            assert_eq!(without_credentials(text), expected);
        }
    }

    #[test]
    fn a_config_alone_is_rendered() {
        let definition = definition::definition();
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
