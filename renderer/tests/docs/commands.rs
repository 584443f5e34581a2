//! Calls of a program in code blocks, held against its own `--help`.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::Command;

use super::markdown::{Block, Page};

/// Where a new command begins.
const SEPARATORS: &[&str] = &["\n", "&&", "||", "|", ";", "&", "$(", "<(", "(", ")"];
/// Words in front of a command that are not the command.
const KEYWORDS: &[&str] = &["if", "then", "else", "!", "do", "while", "time", "nice"];

/// What a command's help lists.
#[derive(Clone, Default)]
struct Help {
    flags: BTreeSet<String>,
    commands: BTreeSet<String>,
}

/// A program with its helps.
pub(crate) struct Program {
    name: &'static str,
    binary: PathBuf,
    /// The command that is meant when none is named.
    default: &'static [&'static str],
    helps: RefCell<BTreeMap<Vec<String>, Help>>,
}

impl Program {
    pub(crate) fn new(name: &'static str, binary: &str, default: &'static [&'static str]) -> Self {
        Self {
            name,
            binary: Path::new(binary).to_owned(),
            default,
            helps: RefCell::default(),
        }
    }

    /// What is wrong with the calls in a page's blocks.
    pub(crate) fn problems(&self, page: &Page) -> Vec<String> {
        let mut problems = Vec::new();
        for block in page.blocks() {
            for call in self.calls(&block) {
                if let Err(problem) = self.check(&call) {
                    let call = call.join(" ");
                    problems.push(format!(
                        "{}:{}: {} {call}: {problem}",
                        page.path, block.line, self.name
                    ));
                }
            }
        }
        problems
    }

    /// What is wrong with the flags that a page names between backticks: those that neither this program nor
    /// `others` have.
    pub(crate) fn unknown_flags(&self, page: &Page, others: &[&str]) -> Vec<String> {
        let known = self.all_flags(&[]);
        let spans = page.spans().into_iter();
        spans
            .filter_map(|(line, span)| {
                let flag = span.split([' ', '=', '[', ',']).next()?;
                let unknown = flag.len() > 2
                    && flag.starts_with("--")
                    && !known.contains(flag)
                    && !others.contains(&flag);
                unknown.then(|| format!("{}:{line}: no command has the flag `{flag}`", page.path))
            })
            .collect()
    }

    fn all_flags(&self, above: &[String]) -> BTreeSet<String> {
        let help = self.help(above);
        let mut flags = help.flags;
        for command in help.commands.iter().filter(|command| *command != "help") {
            flags.extend(self.all_flags(&[above, std::slice::from_ref(command)].concat()));
        }
        flags
    }

    /// The arguments of each call in a block.
    fn calls(&self, block: &Block) -> Vec<Vec<String>> {
        let script = match block.language.as_str() {
            "sh" => block.body.clone(),
            "yaml" => steps(&block.body),
            _ => return Vec::new(),
        };
        commands(&script)
            .iter()
            .filter_map(|words| self.arguments(words))
            .collect()
    }

    /// The arguments, when the words call this program.
    fn arguments(&self, words: &[String]) -> Option<Vec<String>> {
        let mut words = words
            .iter()
            .skip_while(|word| KEYWORDS.contains(&word.as_str()) || is_assignment(word));
        let first = words.next()?;
        let rest: Vec<String> = words.cloned().collect();
        if first.rsplit('/').next() == Some(self.name) {
            return Some(rest);
        }
        let cargo = first == "cargo"
            && rest
                .windows(2)
                .any(|pair| pair[0] == "-p" && pair[1] == self.name);
        let dashes = rest.iter().position(|word| word == "--")?;
        let runs = cargo && rest.first().is_some_and(|word| word == "run");
        runs.then(|| rest[dashes + 1..].to_vec())
    }

    fn check(&self, call: &[String]) -> Result<(), String> {
        let mut path: Vec<String> = Vec::new();
        let mut help = self.help(&path);
        let mut words = call.iter().peekable();
        while let Some(word) = words.next_if(|word| help.commands.contains(*word)) {
            path.push(word.clone());
            help = self.help(&path);
        }
        if path.is_empty() {
            help.flags.extend(
                self.help(&self.default.iter().map(ToString::to_string).collect::<Vec<_>>())
                    .flags,
            );
            // Without a command the first argument is a file.
            let first = words
                .peek()
                .filter(|word| !word.starts_with('-') && !word.contains(['.', '/']));
            if let Some(first) = first {
                return Err(format!("there is no command {first}"));
            }
        } else if let (false, Some(first)) = (help.commands.is_empty(), words.peek()) {
            return Err(format!("there is no command {first} below {}", path.join(" ")));
        }
        for word in words.filter(|word| word.starts_with('-') && word.len() > 1) {
            let flag = word.split('=').next().unwrap_or(word);
            if !help.flags.contains(flag) {
                return Err(format!("there is no flag {flag}"));
            }
        }
        Ok(())
    }

    fn help(&self, path: &[String]) -> Help {
        if let Some(help) = self.helps.borrow().get(path) {
            return help.clone();
        }
        let mut command = Command::new(&self.binary);
        let output = command.env_clear().args(path).arg("--help").output().unwrap();
        let text = String::from_utf8(output.stdout).unwrap();
        assert!(text.contains("Usage:"), "{path:?} has no help");
        let help = read_help(&text);
        self.helps.borrow_mut().insert(path.to_vec(), help.clone());
        help
    }
}

fn read_help(text: &str) -> Help {
    let mut help = Help::default();
    let mut in_commands = false;
    for line in text.lines() {
        if !line.starts_with(' ') {
            in_commands = line == "Commands:";
        }
        let trimmed = line.trim_start();
        if in_commands && line.len() - trimmed.len() == 2 {
            help.commands
                .extend(trimmed.split_whitespace().next().map(str::to_owned));
        }
        if trimmed.starts_with('-') && line.starts_with(' ') {
            let words = trimmed.split([' ', ',', '=', '[']);
            let flags = words.take_while(|word| word.is_empty() || word.starts_with('-'));
            help.flags
                .extend(flags.filter(|word| word.len() > 1).map(str::to_owned));
        }
    }
    help
}

/// What a CI's configuration runs.
fn steps(yaml: &str) -> String {
    let keys = ["run: ", "script: ", "- "];
    let lines = yaml.lines().map(|line| {
        let line = line.trim_start().trim_start_matches("- ");
        let found = keys.iter().find_map(|key| line.strip_prefix(key));
        found.unwrap_or(line).to_owned()
    });
    lines.collect::<Vec<_>>().join("\n")
}

fn is_assignment(word: &str) -> bool {
    let name = word.split('=').next().unwrap_or("");
    word.contains('=') && !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
}

/// A script's commands as words. Quotes keep words together, comments and here-documents are left out.
fn commands(script: &str) -> Vec<Vec<String>> {
    let script = script.replace("\\\n", " ");
    let mut commands = vec![Vec::new()];
    let mut here: Option<String> = None;
    for line in script.lines() {
        if let Some(end) = &here {
            if line == end {
                here = None;
            }
            continue;
        }
        here = line
            .split_once("<<")
            .map(|(_, end)| end.trim_matches(['\'', '"', ' ']).to_owned());
        words(line, &mut commands);
        commands.push(Vec::new());
    }
    commands.retain(|words| !words.is_empty());
    commands
}

fn words(line: &str, commands: &mut Vec<Vec<String>>) {
    let mut rest = line;
    let mut word = String::new();
    let end = |word: &mut String, commands: &mut Vec<Vec<String>>| {
        if !word.is_empty()
            && let Some(last) = commands.last_mut()
        {
            last.push(std::mem::take(word));
        }
    };
    while let Some(c) = rest.chars().next() {
        if word.is_empty() && c == '#' {
            break;
        }
        if c == '\'' {
            let (inside, after) = rest[1..].split_once('\'').unwrap_or((&rest[1..], ""));
            word.push_str(inside);
            rest = after;
        } else if let Some(separator) = SEPARATORS.iter().find(|one| rest.starts_with(**one)) {
            end(&mut word, commands);
            commands.push(Vec::new());
            rest = &rest[separator.len()..];
        } else {
            // Within double quotes `$(` begins a command too, so quotes only count as whitespace here.
            if c.is_whitespace() || c == '"' {
                end(&mut word, commands);
            } else {
                word.push(c);
            }
            rest = &rest[c.len_utf8()..];
        }
    }
    end(&mut word, commands);
}
