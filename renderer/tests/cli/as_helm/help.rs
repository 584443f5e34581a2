//! All of Helm's help is here, or refused with a reason.

use super::Home;
use crate::Run;

/// The commands that Helm's help lists below one.
fn commands_below(helm: &Home, words: &[String]) -> Vec<Vec<String>> {
    let run = Run::of(helm.command("helm").args(words).arg("--help"));
    assert_eq!(run.code, 0, "{words:?}");
    let list = run.stdout.split("Available Commands:").nth(1).unwrap_or("");
    let list = list.split("\n\n").next().unwrap_or("");
    let names = list.lines().filter_map(|line| line.split_whitespace().next());
    names
        .filter(|name| *name != "help")
        .flat_map(|name| {
            let below = [words, &[name.to_owned()]].concat();
            let deeper = commands_below(helm, &below);
            std::iter::once(below).chain(deeper)
        })
        .collect()
}

/// The long and short flags that a command's help lists.
fn flags_of(helm: &Home, words: &[String]) -> Vec<(String, bool)> {
    let run = Run::of(helm.command("helm").args(words).arg("--help"));
    let flags = run.stdout.lines().filter_map(|line| {
        let line = line.trim_start();
        let (names, _) = line.split_once("  ").filter(|_| line.starts_with('-'))?;
        Some(names.to_owned())
    });
    let each = flags.flat_map(|names| {
        let words: Vec<String> = names
            .split([' ', ','])
            .filter(|word| !word.is_empty())
            .map(str::to_owned)
            .collect();
        let takes_value = words.iter().any(|word| !word.starts_with('-'));
        words
            .into_iter()
            .filter(|word| word.starts_with('-') && word != "-h" && word != "--help")
            .map(move |word| (word, takes_value))
    });
    each.collect()
}

/// Each command is here with each flag, or is refused with the reason and a substitute.
#[test]
#[ignore = "needs servers or peers: .ci/test runs it"]
fn all_of_helms_help_is_here_or_refused_with_a_reason() {
    let (helm, ours) = (Home::helm(), Home::ours());
    let commands = commands_below(&helm, &[]);
    assert!(
        commands.len() > 50,
        "Helm's help was not understood: {commands:?}"
    );
    let (mut wrong, mut here, mut refused) = (Vec::new(), 0, 0);
    for words in commands {
        let shown = words.join(" ");
        let help = Run::of(ours.command("helm").args(&words).arg("--help"));
        if help.code != 0 {
            refused += 1;
            if help.code != 1 || !help.stderr.contains("note:") || !help.stderr.contains("help:") {
                wrong.push(format!("{shown}: {} {}", help.code, help.stderr));
            }
            continue;
        }
        here += 1;
        // A command with subcommands does nothing itself.
        if help.stdout.contains("\nCommands:\n") {
            continue;
        }
        let value = |name: &str| match name {
            "--color" | "--colour" => "never",
            "-o" | "--output" => "json",
            _ => "1",
        };
        for (name, takes_value) in flags_of(&helm, &words) {
            let mut call = ours.command("helm");
            call.args(&words).arg(&name);
            if takes_value {
                call.arg(value(&name));
            }
            let run = Run::of(&mut call);
            if run.stderr.contains("unexpected argument") {
                wrong.push(format!("{shown} {name}: {}", run.stderr));
            }
            if run.stderr.contains("is not supported") && !(run.code == 1 && run.stderr.contains("note:")) {
                wrong.push(format!("{shown} {name}: {} {}", run.code, run.stderr));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(here > 30 && refused > 15, "{here} {refused}");
}

/// Global flags alone once made it an error, as did `completion` without a shell.
#[test]
#[ignore = "needs servers or peers: .ci/test runs it"]
fn a_group_without_a_command_shows_its_help() {
    let (helm, ours) = (Home::helm(), Home::ours());
    for words in [
        "repo",
        "repo --debug",
        "--debug repo",
        "-n a search",
        "show --debug",
        "dependency --namespace a",
        "registry --debug",
        "plugin --debug",
        "completion",
        "completion --debug",
        "--debug",
    ] {
        for home in [&helm, &ours] {
            let run = Run::of(home.command("helm").args(words.split(' ')));
            assert_eq!((run.code, &*run.stderr), (0, ""), "{words}");
            assert!(run.stdout.contains("Usage:"), "{words} {}", run.stdout);
        }
    }
    for home in [&helm, &ours] {
        let run = Run::of(home.command("helm").args(["completion", "--debug", "bash"]));
        assert!(run.code == 0 && run.stdout.contains("complete"), "{}", run.stderr);
        let run = Run::of(home.command("helm").args(["completion", "bash", "x"]));
        assert_eq!(run.code, 1);
    }
}
