//! What needs a cluster, and exit codes.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use super::Home;
use crate::dependency::chart;
use crate::{Run, binary};

fn script(home: &Home, text: &str) -> PathBuf {
    let path = home.at("real-helm");
    fs::write(&path, text).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    path
}

#[test]
fn what_needs_a_cluster_is_refused_or_handed_to_the_helm_that_is_named() {
    let home = Home::ours();
    chart(&home.at("c"), "c", "1.0.0", &[]);
    let run = |words: &[&str], real: Option<&Path>| {
        let mut command = home.command("helm");
        if let Some(real) = real {
            command.env("SOLAR_HELM", real);
        }
        Run::of(command.args(words))
    };
    let cases: [&[&str]; 6] = [
        &["install", "a", "b"],
        &["-n", "x", "--kube-context", "k", "upgrade", "a", "b"],
        &["delete", "a"],
        &["plugin", "install", "x"],
        &["search", "hub", "x"],
        &["template", "x", "c", "--enable-dns"],
    ];
    let real = script(&home, "#!/bin/sh\necho \"real: $*\"\nexit 7\n");
    for words in cases {
        let refused = run(words, None);
        assert!(
            refused.code == 1 && refused.stdout.is_empty() && refused.stderr.contains("note:"),
            "{words:?}: {}",
            refused.stderr
        );
        let handed = run(words, Some(&real));
        assert_eq!(
            (handed.code, handed.stdout),
            (7, format!("real: {}\n", words.join(" "))),
            "{words:?}"
        );
    }
    // What is here stays here.
    let own = run(&["template", "x", "c"], Some(&real));
    assert_eq!(
        (own.code, own.stdout.starts_with("---\n")),
        (0, true),
        "{}",
        own.stderr
    );
    for (real, reason) in [
        (binary(), "which is solar-render itself"),
        (Path::new("/nowhere"), "can't run /nowhere"),
    ] {
        let failed = run(&["list"], Some(real));
        assert!(
            failed.code == 1 && failed.stderr.contains(reason),
            "{}",
            failed.stderr
        );
    }
}

#[test]
fn every_failure_is_1_and_our_own_commands_are_not_helms() {
    let home = Home::ours();
    for words in [
        ["template", "x", "nowhere"].as_slice(),
        &["template", "--nope"],
        &["push", "nowhere", "oci://127.0.0.1:1/x"],
        &["publish", "."],
        &["digest", "."],
        &["nope"],
        &["pull", "oci://127.0.0.1:1/x/y", "--retries", "0"],
    ] {
        let run = Run::of(home.command("helm").args(words));
        assert_eq!(run.code, 1, "{words:?}: {}", run.stderr);
    }
    let help = Run::of(home.command("helm").arg("--help"));
    assert!(
        help.stdout.contains("Usage: helm") && !help.stdout.contains("publish"),
        "{}",
        help.stdout
    );
    let script = Run::of(home.command("helm").args(["completion", "bash"])).stdout;
    assert!(script.contains("_helm()"), "{script}");
    // The pod that it runs in is another program's.
    let log = Run::of(
        home.command("helm")
            .env("POD_NAME", "p")
            .args(["template", "x", "nowhere"]),
    );
    assert_eq!(log.code, 1);
}
