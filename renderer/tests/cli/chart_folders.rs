//! Folders of charts, where a command takes charts.

use std::fs;

use crate::as_helm::Home;
use crate::dependency::chart;
use crate::{Run, command, tree};

/// `publish charts` and `compare charts` took such a folder, but `dependency build` and `lint` once failed, and offered
/// one of its charts.
#[test]
fn dependencies_and_lint_take_a_folder_of_charts_but_helm_by_name_does_not() {
    let folder = tempfile::tempdir().unwrap();
    let charts = folder.path().join("charts");
    chart(&charts.join("blog"), "blog", "1.0.0", &[]);
    let needs = "{name: blog, version: 1.0.0, repository: 'file://../blog'}".to_owned();
    chart(&charts.join("shop"), "shop", "1.0.0", &[needs]);
    let run = |words: &[&str]| Run::of(command().args(words).arg(&charts).current_dir(folder.path()));

    let helm = Home::ours();
    for words in [&["dependency", "build"][..], &["lint"]] {
        let run = Run::of(helm.command("helm").args(words).arg(&charts));
        assert_eq!(run.code, 1, "{words:?}: {}", run.stdout);
    }

    let built = run(&["dependency", "build"]);
    assert_eq!(built.code, 0, "{}", built.stderr);
    assert!(built.stdout.contains("Saved: blog 1.0.0"), "{}", built.stdout);
    let archives = tree(&charts.join("shop/charts"));
    assert_eq!(archives.len(), 1, "{archives:?}");
    let linted = run(&["lint"]);
    assert_eq!(linted.code, 0, "{}\n{}", linted.stdout, linted.stderr);
    assert!(
        linted.stdout.contains("2 chart(s) linted, 0 chart(s) failed"),
        "{}",
        linted.stdout
    );

    let packed = run(&["package"]);
    let hint = format!("it holds 2 charts: name each one, as in `{}/*`", charts.display());
    assert!(
        packed.code == 1 && packed.stderr.contains(&hint),
        "{}",
        packed.stderr
    );
    fs::remove_dir_all(charts.join("shop")).unwrap();
    let packed = run(&["package"]);
    let hint = format!("did you mean {}?", charts.join("blog").display());
    assert!(packed.stderr.contains(&hint), "{}", packed.stderr);
}

/// The hint once was a command for the current folder.
#[test]
fn a_missing_dependency_is_fetched_by_the_command_of_the_hint() {
    let folder = tempfile::tempdir().unwrap();
    let (shop, blog) = (folder.path().join("shop"), folder.path().join("blog"));
    chart(&blog, "blog", "1.0.0", &[]);
    let needs = "{name: blog, version: 1.0.0, repository: 'file://../blog'}".to_owned();
    chart(&shop, "shop", "1.0.0", &[needs]);
    let package = || Run::of(command().arg("package").arg(&shop).arg("-d").arg(folder.path()));
    let run = package();
    let hint = run.stderr.split_once("`solar-render ").unwrap().1;
    let words = hint.split_once('`').unwrap().0.split(' ');
    assert_eq!(Run::of(command().args(words)).code, 0, "{hint}");
    assert_eq!(package().code, 0);
}
