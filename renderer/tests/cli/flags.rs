//! Flags and commands as people and pipelines that come from Helm write them.

use std::path::Path;
use std::process::{Command, Stdio};

use crate::{Run, binary, command};

fn chart() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    std::fs::create_dir_all(folder.path().join("c/templates")).unwrap();
    let write = |path: &str, text: &str| std::fs::write(folder.path().join(path), text).unwrap();
    write("c/Chart.yaml", "apiVersion: v2\nname: c\nversion: 1.0.0\n");
    write("c/templates/a.yaml", "ns: {{ .Release.Namespace }}\n");
    folder
}

fn run(folder: &Path, words: &[&str]) -> Run {
    Run::of(command().current_dir(folder).args(words))
}

#[test]
fn helms_global_flags_stand_in_front_of_the_command_too() {
    let folder = chart();
    let cases: &[&[&str]] = &[
        &["-n", "prod", "template", "c"],
        &["-nprod", "template", "c"],
        &["--namespace=prod", "template", "c"],
        &["--debug", "--namespace", "prod", "template", "c"],
        &["-o", "text", "-n", "prod", "--kube-context", "x", "template", "c"],
    ];
    for words in cases {
        let run = run(folder.path(), words);
        assert_eq!(
            run.stdout, "---\n# Source: c/templates/a.yaml\nns: prod\n",
            "{words:?} {}",
            run.stderr
        );
    }
    let shown = run(
        folder.path(),
        &["--registry-config", "none", "show", "chart", "c"],
    );
    assert!(
        shown.code == 0 && shown.stdout.contains("name: c\n"),
        "{}",
        shown.stderr
    );
}

#[test]
fn help_and_version_are_commands_too() {
    let folder = chart();
    let all = run(folder.path(), &["help"]);
    assert!(
        all.code == 0 && all.stdout == run(folder.path(), &["--help"]).stdout,
        "{}",
        all.stderr
    );
    let one = run(folder.path(), &["help", "template"]);
    assert!(
        one.code == 0 && one.stdout == run(folder.path(), &["template", "--help"]).stdout,
        "{}",
        one.stderr
    );
    let version = run(folder.path(), &["version"]);
    assert!(
        version.stdout.starts_with("solar-render 0."),
        "{}",
        version.stdout
    );
    assert_eq!(
        run(folder.path(), &["version", "--short"]).stdout,
        format!("v{}\n", env!("CARGO_PKG_VERSION"))
    );
    let json = run(folder.path(), &["version", "-o", "json"]).json();
    assert_eq!(json["version"], env!("CARGO_PKG_VERSION"));
}

#[test]
fn flags_that_change_nothing_here_are_accepted() {
    let folder = chart();
    let without_effect = [
        "--kubeconfig=x",
        "--kube-context=x",
        "--kube-as-user=x",
        "--qps=5",
        "--burst-limit=100",
        "--content-cache=x",
        "--repository-cache=x",
        "--pass-credentials",
        "--colour=never",
        "--debug",
    ];
    for command in [
        &["template", "c"] as &[&str],
        &["lint", "c"],
        &["package", "c"],
        &["show", "chart", "c"],
    ] {
        for flag in without_effect {
            let run = run(folder.path(), &[command, &[flag]].concat());
            assert_eq!(run.code, 0, "{command:?} {flag}: {}", run.stderr);
        }
    }
    let given = run(
        folder.path(),
        &["template", "c", "--version", "9.9.9", "--timeout", "5m0s"],
    );
    assert_eq!(given.code, 0, "{}", given.stderr);
}

#[test]
fn commands_that_need_a_cluster_say_why_they_are_not_here() {
    let folder = chart();
    for word in [
        "install",
        "upgrade",
        "get",
        "status",
        "rollback",
        "uninstall",
        "list",
    ] {
        let run = run(folder.path(), &[word, "x"]);
        assert!(
            run.code == 2
                && run.stderr.contains("solar-render keeps no releases in clusters")
                && !run.stderr.contains("did you mean"),
            "{word}: {}",
            run.stderr
        );
    }
}

#[test]
fn help_shows_neither_empty_defaults_nor_what_booleans_take_and_headings_do_not_leak() {
    let folder = chart();
    for command in ["template", "lint", "package", "images", "publish", "pull"] {
        let help = run(folder.path(), &[command, "--help"]).stdout;
        assert!(
            !help.contains("[default: \"\"]") && !help.contains("[default: ]"),
            "{help}"
        );
        assert!(!help.contains("[possible values: true, false]"), "{help}");
    }
    let help = run(folder.path(), &["template", "--help"]).stdout;
    let heading_of = |flag: &str| {
        let before = help.split(&format!("      {flag}")).next().unwrap();
        before
            .lines()
            .rev()
            .find(|line| !line.starts_with(' ') && line.ends_with(':'))
            .unwrap()
            .to_owned()
    };
    assert_eq!(heading_of("--frozen"), "Options:");
    assert_eq!(heading_of("--ca-file"), "Registry:");
    assert_eq!(heading_of("--result-file"), "Global options:");
    let help = run(folder.path(), &["lint", "--help"]).stdout;
    assert!(
        help.find("--strict").unwrap() < help.find("Values:").unwrap(),
        "{help}"
    );
}

#[test]
#[ignore = "needs servers or peers: .ci/test runs it"]
fn zsh_completes_commands_and_their_flags() {
    let folder = chart();
    for (name, lines) in [
        (
            "solar-render",
            vec![
                ("solar-render templ", "solar-render template"),
                ("solar-render template --fro", "solar-render template --frozen="),
                ("solar-render push --if", "solar-render push --if-exists="),
                (
                    "solar-render generate-key-pair --output-k",
                    "solar-render generate-key-pair --output-key-prefix=",
                ),
                ("solar-render show rea", "solar-render show readme"),
                (
                    "solar-render dependency update --keyr",
                    "solar-render dependency update --keyring=",
                ),
            ],
        ),
        (
            "helm",
            vec![
                ("helm repo upd", "helm repo update"),
                ("helm template --show-o", "helm template --show-only="),
            ],
        ),
    ] {
        let program = folder.path().join(name);
        std::os::unix::fs::symlink(binary(), &program).unwrap();
        let script = folder.path().join(format!("_{name}"));
        let printed = Run::of(Command::new(&program).args(["completion", "zsh"]));
        std::fs::write(&script, printed.stdout).unwrap();
        let (given, expected): (Vec<&str>, Vec<&str>) = lines.into_iter().unzip();
        assert_eq!(testbed::zsh_completes(&script, &given), expected);
    }
}

/// Once nothing was completed after a subcommand.
#[test]
#[ignore = "needs servers or peers: .ci/test runs it"]
fn bash_completes_commands_and_their_flags() {
    let folder = chart();
    let script = folder.path().join("completion.bash");
    std::fs::write(&script, run(folder.path(), &["completion", "bash"]).stdout).unwrap();
    let completed = |words: &str| {
        let program = "source \"$1\"; COMP_WORDS=($2 \"\"); [[ $2 == *' -'* ]] && COMP_WORDS=($2); \
                       COMP_CWORD=$((${#COMP_WORDS[@]} - 1)); \
                       _solar__render solar-render \"${COMP_WORDS[COMP_CWORD]}\" \"${COMP_WORDS[COMP_CWORD-1]}\"; \
                       echo \"${COMPREPLY[@]}\"";
        let mut bash = Command::new("bash");
        bash.args(["--norc", "-c", program, "bash"])
            .arg(&script)
            .arg(words);
        Run::of(&mut bash).stdout
    };
    assert!(
        completed("solar-render").contains("template"),
        "{}",
        completed("solar-render")
    );
    for (words, expected) in [
        ("solar-render template --fro", "--frozen"),
        ("solar-render push --if", "--if-exists"),
        ("solar-render generate-key-pair --output-k", "--output-key-prefix"),
        ("solar-render show", "readme"),
        ("solar-render dependency update --key", "--keyring"),
    ] {
        assert!(
            completed(words).contains(expected),
            "{words}: {}",
            completed(words)
        );
    }
}

#[test]
fn colors_can_be_forced() {
    let folder = chart();
    let colored = |name: &str, value: &str| {
        let mut template = command();
        template
            .current_dir(folder.path())
            .env(name, value)
            .args(["template", "missing"]);
        Run::of(template.stdin(Stdio::null())).stderr.contains('\x1b')
    };
    assert!(colored("FORCE_COLOR", "1") && colored("CLICOLOR_FORCE", "1"));
    assert!(!colored("FORCE_COLOR", "0") && !colored("NO_COLOR", "1"));
    assert!(binary().exists());
}

#[test]
fn a_wrong_command_line_is_reported_in_the_form_of_every_error() {
    let folder = chart();
    let run = run(folder.path(), &["push", "c", "oci://h/x", "--if-exist", "skip"]);
    assert_eq!(run.code, 2);
    assert!(
        run.stderr
            .starts_with("error: unexpected argument '--if-exist' found\n")
            && run.stderr.contains("help: ")
            && run.stderr.contains("--if-exists")
            && run.stderr.contains("note: usage: solar-render push"),
        "{}",
        run.stderr
    );
}
