//! Every flag of Helm's commands that have our names is implemented here, or refused by name.

use std::process::Command;

use testbed::Tool;

use crate::{Run, command};

/// The long flags that a command's help lists, and whether they take a value.
fn helm_flags(words: &[&str]) -> Vec<(String, bool)> {
    let home = tempfile::tempdir().unwrap();
    let help = testbed::run(Tool::Helm.command(home.path()).args(words).arg("--help"));
    help.lines()
        .filter_map(|line| {
            let (_, rest) = line.split_once("--")?;
            let starts = line.trim_start().starts_with('-');
            let mut words = rest.split_whitespace();
            let name = words.next().filter(|_| starts)?.to_owned();
            let types = [
                "string",
                "strings",
                "stringArray",
                "stringToString",
                "int",
                "uint",
                "float32",
                "duration",
                "postRendererString",
                "postRendererArgsSlice",
            ];
            let value = types.contains(&words.next().unwrap_or(""));
            Some((name, value))
        })
        .collect()
}

#[test]
#[ignore = "needs servers or peers: .ci/test runs it"]
fn each_of_helms_flags_is_known() {
    let commands: [(&[&str], &[&str]); 16] = [
        (&["lint"], &["no-such-chart"]),
        (&["dependency", "build"], &["no-such-chart"]),
        (&["dependency", "update"], &["no-such-chart"]),
        (&["verify"], &["no-such.tgz"]),
        (&["show", "all"], &["no-such-chart"]),
        (&["show", "chart"], &["no-such-chart"]),
        (&["show", "crds"], &["no-such-chart"]),
        (&["show", "readme"], &["no-such-chart"]),
        (&["show", "values"], &["no-such-chart"]),
        (&["dependency", "list"], &["no-such-chart"]),
        (&["template"], &["no-such-chart"]),
        (&["pull"], &["oci-layout:nowhere"]),
        (&["package"], &["no-such-chart"]),
        (&["push"], &["no-such-chart", "file:nowhere"]),
        (&["registry", "login"], &["127.0.0.1:1"]),
        (&["registry", "logout"], &["127.0.0.1:1"]),
    ];
    for (words, arguments) in commands {
        // What is below `registry` there stands alone here.
        let ours = words.strip_prefix(&["registry"]).unwrap_or(words);
        let subcommand = ours.join(" ");
        let flags = helm_flags(words);
        assert!(flags.len() > 15, "Helm's help was not understood: {flags:?}");
        for (name, takes_value) in flags {
            let mut call: &mut Command = &mut command();
            call = call.args(ours).args(arguments);
            call = call.arg(format!("--{name}"));
            if takes_value {
                call = call.arg(if name == "color" { "never" } else { "1" });
            }
            let run = Run::of(call);
            assert!(
                !run.stderr.contains("unexpected argument"),
                "{subcommand} --{name}: {}",
                run.stderr
            );
            if run.stderr.contains("is not supported") {
                assert!(
                    run.code == 2 && run.stderr.contains("note:"),
                    "{subcommand} --{name}: {}",
                    run.stderr
                );
            }
        }
    }
}

#[test]
fn of_a_flag_that_is_given_twice_the_last_counts_as_in_helm() {
    let chart = tempfile::tempdir().unwrap();
    let write = |path: &str, text: &str| std::fs::write(chart.path().join(path), text).unwrap();
    std::fs::create_dir(chart.path().join("templates")).unwrap();
    write("Chart.yaml", "apiVersion: v2\nname: x\nversion: 1.0.0\n");
    write(
        "templates/a.yaml",
        "a: {{ .Release.IsUpgrade }} {{ .Release.Namespace }}\n",
    );
    let flags = ["--is-upgrade=true", "--is-upgrade=false", "-n", "a", "-n", "b"];
    let run = Run::of(command().args(["template", "r"]).arg(chart.path()).args(flags));
    assert_eq!(
        run.stdout, "---\n# Source: x/templates/a.yaml\na: false b\n",
        "{}",
        run.stderr
    );
}

#[test]
fn values_of_flags_without_effect_are_checked_as_in_helm() {
    let chart = tempfile::tempdir().unwrap();
    std::fs::write(
        chart.path().join("Chart.yaml"),
        "apiVersion: v2\nname: x\nversion: 1.0.0\n",
    )
    .unwrap();
    let template = |flag: &[&str]| Run::of(command().arg("template").arg(chart.path()).args(flag));
    for good in [
        &["--labels", "a=1,b"][..],
        &["--wait=legacy"],
        &["--wait"],
        &["--atomic=T"],
    ] {
        let run = template(good);
        assert_eq!(run.code, 0, "{good:?}: {}", run.stderr);
    }
    for bad in [
        &["--labels", "a"][..],
        &["--wait=1"],
        &["--atomic=yes"],
        &["--bogus"],
    ] {
        let run = template(bad);
        assert_eq!(run.code, 2, "{bad:?}: {}", run.stderr);
        assert!(!run.stderr.contains("as a value, use"), "{}", run.stderr);
    }
}

#[test]
fn a_version_that_is_none_is_an_error_of_the_flag() {
    let run = Run::of(command().args(["package", ".", "--version", "bogus"]));
    assert!(
        run.code == 2 && run.stderr.contains("'bogus' for '--version") && run.stderr.contains("SemVer"),
        "{}",
        run.stderr
    );
}
