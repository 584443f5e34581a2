//! `push`, `pull`, `registry`: the same output.

use std::fs;

use testbed::Registry;

use super::{Home, give_charts};
use crate::Run;

#[test]
#[ignore = "needs servers or peers: .ci/test runs it"]
fn registries_are_filled_and_read_as_by_helm() {
    let registry = Registry::start();
    let (helm, ours) = (Home::helm(), Home::ours());
    give_charts([&helm, &ours]);
    let mut wrong = Vec::new();
    for (home, other) in [(&helm, "theirs"), (&ours, "own")] {
        assert_eq!(home.sh("helm package shop").code, 0);
        fs::write(home.at("to"), format!("oci://{}/{other}", registry.host())).unwrap();
    }
    for line in [
        "helm push shop-1.0.0.tgz $(cat to) --plain-http",
        "sed -i s/hello/changed/ shop/values.yaml && helm package shop && helm push shop-1.0.0.tgz $(cat to) --plain-http",
        "helm pull $(cat to)/shop --plain-http -d . && ls",
        "helm pull $(cat to)/shop --plain-http --version 9",
        "helm show values $(cat to)/shop --plain-http",
        "helm template x $(cat to)/shop --plain-http --version '^1'",
    ] {
        let masked = |run: Run| {
            let text = run.stdout.replace("/theirs", "/HERE").replace("/own", "/HERE");
            let lines = text.lines().map(|line| match line.split_once("sha256:") {
                // Times in the archives differ, and so do the digests.
                Some((before, _)) => format!("{before}sha256:…"),
                None => line.to_owned(),
            });
            (run.code, lines.collect::<Vec<_>>().join("\n"), run.stderr)
        };
        let (theirs, own) = (masked(helm.sh(line)), masked(ours.sh(line)));
        if (theirs.0, &theirs.1) != (own.0, &own.1) {
            wrong.push(format!("{line}\nhelm {theirs:?}\nours {own:?}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
