//! Settings from a file: YAML, by the flags' names.
//!
//! They become arguments for those flags that neither the command line nor the environment gives.

use std::ffi::OsString;
use std::sync::Arc;

use clap::parser::ValueSource;
use clap::{Arg, ArgMatches, Command};
use solar_render::decode::Decoder;
use solar_render::diag::{Class, Diagnostic, Result};
use solar_render::source::Source;
use solar_render::yaml::{self, Kind, Limits, Node};

/// The largest file, in bytes.
const MAX_BYTES: usize = 256 * 1024;
/// Settings are lists in a map; this leaves some margin.
const MAX_DEPTH: usize = 8;
const MAX_NODES: usize = 10_000;

/// The arguments that a file adds to the given ones.
pub(super) fn arguments(
    source: &Arc<Source>,
    command: &Command,
    given: &ArgMatches,
) -> Result<Vec<OsString>> {
    let limits = Limits {
        bytes: MAX_BYTES,
        depth: MAX_DEPTH,
        nodes: MAX_NODES,
    };
    if source.text().len() > MAX_BYTES {
        let message = format!("{} is larger than {MAX_BYTES} bytes", source.name());
        return Err(Diagnostic::error(Class::Config, message).into());
    }
    let node = yaml::parse(source, Class::Config, &limits)?;
    if matches!(node.kind, Kind::Null) {
        return Ok(Vec::new());
    }
    let mut decoder = Decoder::new(source, Class::Config);
    let found = top(&mut decoder, &node, command, given);
    decoder.finish(found)
}

fn top(decoder: &mut Decoder, node: &Node, command: &Command, given: &ArgMatches) -> Option<Vec<OsString>> {
    let top = decoder.object(node, "")?;
    let flags: Vec<&Arg> = command
        .get_arguments()
        .filter(|arg| may_be_in_a_file(arg))
        .collect();
    let names: Vec<&str> = flags.iter().filter_map(|arg| arg.get_long()).collect();
    top.only(decoder, &names);
    let mut found = Vec::new();
    for flag in flags {
        let Some(name) = flag.get_long() else { continue };
        let Some(node) = top.get(name) else { continue };
        let text = text(decoder, node, name)?;
        check_choice(decoder, node, flag, &text);
        let by_default = matches!(
            given.value_source(flag.get_id().as_str()),
            None | Some(ValueSource::DefaultValue)
        );
        if by_default {
            found.push(OsString::from(format!("--{name}={text}")));
        }
    }
    Some(found)
}

/// Checks the value of a flag with fixed choices here, since clap's error would not have the location in the file.
fn check_choice(decoder: &mut Decoder, node: &Node, flag: &Arg, text: &str) {
    let choices = flag.get_possible_values();
    if choices.is_empty() || choices.iter().any(|choice| choice.matches(text, false)) {
        return;
    }
    let names: Vec<&str> = choices.iter().map(|choice| choice.get_name()).collect();
    let name = flag.get_long().unwrap_or_default();
    decoder.report(
        node.span,
        format!("{name}: {text:?} is none of its values"),
        |one| one.hint(format!("give one of {}", names.join(", "))),
    );
}

/// A settings file must not name another settings file.
fn may_be_in_a_file(arg: &Arg) -> bool {
    !matches!(arg.get_long(), None | Some("config" | "help" | "version"))
}

/// A scalar as written, or a list of them joined by commas.
fn text(decoder: &mut Decoder, node: &Node, name: &str) -> Option<String> {
    match &node.kind {
        Kind::String(text) => Some(text.clone()),
        Kind::Bool(_) | Kind::Number(_) => Some(decoder.source().slice(node.span).to_owned()),
        Kind::Seq(items) => {
            let parts: Option<Vec<String>> = items
                .iter()
                .map(|item| text_of_item(decoder, item, name))
                .collect();
            parts.map(|parts| parts.join(","))
        }
        Kind::Map(_) | Kind::Null => {
            decoder.wrong_type(node, name, "text, a number, true or false, or a list of them");
            None
        }
    }
}

fn text_of_item(decoder: &mut Decoder, item: &Node, name: &str) -> Option<String> {
    if let Kind::Seq(_) = item.kind {
        decoder.wrong_type(item, name, "a list of texts");
        return None;
    }
    let part = text(decoder, item, name)?;
    if part.contains(',') {
        decoder.report(item.span, format!("{name}: {part:?} holds a comma"), |one| {
            one.note("the items of a list are separated by commas")
        });
        return None;
    }
    Some(part)
}

#[cfg(test)]
mod tests {
    use super::super::args::Cli;
    use super::*;
    use clap::CommandFactory as _;

    fn read(text: &str, given: &[&str]) -> std::result::Result<Vec<String>, String> {
        let command = Cli::command();
        let all = ["solar-operator"].iter().chain(given);
        let matches = command.clone().try_get_matches_from(all).expect("arguments");
        let found = arguments(&Source::new("settings.yaml", text), &command, &matches);
        let text = |word: OsString| word.to_string_lossy().into_owned();
        found
            .map(|words| words.into_iter().map(text).collect())
            .map_err(|problems| problems.to_string())
    }

    #[test]
    fn settings_become_arguments_by_the_flags_names() {
        let text = "concurrency: 8\nleader-elect: true\nlease-duration: 30s\nwatch-namespaces: [a, b]\n";
        let mut words = read(text, &[]).expect("arguments");
        words.sort();
        assert_eq!(
            words,
            [
                "--concurrency=8",
                "--leader-elect=true",
                "--lease-duration=30s",
                "--watch-namespaces=a,b"
            ]
        );
        assert!(read("", &[]).expect("arguments").is_empty());
    }

    #[test]
    fn the_command_line_wins() {
        let words = read("concurrency: 8\nlease-name: x\n", &["--concurrency=2"]).expect("arguments");
        assert_eq!(words, ["--lease-name=x"]);
    }

    #[test]
    fn mistakes_are_reported_with_their_location() {
        let problem = read("concurency: 8\n", &[]).expect_err("a mistake");
        assert!(
            problem.contains("settings.yaml:1:1: unknown field `concurency`"),
            "{problem}"
        );
        let problem = read("log-level: loud\nleader-elect: perhaps\n", &[]).expect_err("mistakes");
        for part in [
            "settings.yaml:1:12: log-level: \"loud\"",
            "settings.yaml:2:15: leader-elect: \"perhaps\"",
        ] {
            assert!(problem.contains(part), "{part} in {problem}");
        }
        for text in [
            "config: x",
            "concurrency: {a: 1}",
            "watch-namespaces: [[a]]",
            "renderer-args: ['a,b']",
            "- a",
        ] {
            assert!(read(text, &[]).is_err(), "{text}");
        }
    }
}
