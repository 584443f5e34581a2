//! What CI reads: annotations, the list of mistakes, results as a file.

use crate::{Run, command};

fn folder(files: &[(&str, &str)]) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    for (path, text) in files {
        let path = folder.path().join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }
    folder
}

const CHART: (&str, &str) = ("shop/Chart.yaml", "apiVersion: v2\nname: shop\nversion: 1.0.0\n");

/// Its name is not its folder's.
const STORE: (&str, &str) = ("shop/Chart.yaml", "apiVersion: v2\nname: store\nversion: 1.0.0\n");

#[test]
fn each_mistake_of_a_config_is_an_entry_with_its_place() {
    let folder = folder(&[(
        "c.yaml",
        "type: release\nrelease:\n  chart: {nam: x}\n  inputs: {}\n",
    )]);
    let mut render = command();
    render.current_dir(folder.path()).args(["c.yaml", "-o", "json"]);
    let run = Run::of(render.env("GITHUB_ACTIONS", "true"));
    let error = run.json()["error"].clone();
    let errors = error["errors"].as_array().unwrap();
    let nam = errors
        .iter()
        .find(|one| one["message"].as_str().unwrap().contains("nam"))
        .unwrap();
    assert!(errors.len() > 1, "{error:#}");
    assert_eq!(
        (nam["file"].as_str(), nam["line"].as_u64(), nam["class"].as_str()),
        (Some("c.yaml"), Some(3), Some("config"))
    );
    assert!(nam["column"].as_u64().is_some_and(|column| column > 1), "{nam:#}");
    assert!(
        run.stderr.contains("::error file=c.yaml,line=3,col="),
        "{}",
        run.stderr
    );
}

#[test]
fn a_mistake_in_a_template_names_the_real_file() {
    let folder = folder(&[CHART, ("shop/templates/a.yaml", "x: 1\ny: {{ .Values.a.b.c }}\n")]);
    let mut template = command();
    template
        .current_dir(folder.path())
        .args(["template", "./shop", "-o", "json"]);
    let run = Run::of(template.env("GITHUB_ACTIONS", "true"));
    assert_eq!(run.code, 1);
    assert!(
        run.stderr.contains("--> ./shop/templates/a.yaml:2"),
        "{}",
        run.stderr
    );
    assert!(
        run.stderr
            .contains("::error file=./shop/templates/a.yaml,line=2,"),
        "{}",
        run.stderr
    );
    assert_eq!(
        run.json()["error"]["errors"][0]["file"],
        "./shop/templates/a.yaml"
    );
}

#[test]
fn lint_annotates_and_keeps_notes_and_hints() {
    let folder = folder(&[
        STORE,
        ("shop/values.yaml", "image: {tag: 1}\n"),
        (
            "shop/templates/a.yaml",
            "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: x}\ndata: {a: {{ .Values.image.tog | quote }}}\n",
        ),
        ("b/Chart.yaml", "apiVersion: v2\nname: b\nversion: nope\n"),
    ]);
    let mut lint = command();
    lint.current_dir(folder.path())
        .args(["lint", "shop", "b", "-o", "json"]);
    let run = Run::of(lint.env("GITHUB_ACTIONS", "true"));
    let findings = run.json()["findings"].as_array().unwrap().clone();
    let has = |key: &str| {
        findings
            .iter()
            .any(|one| one[key].as_array().is_some_and(|list| !list.is_empty()))
    };
    assert!(has("notes") || has("hints"), "{findings:#?}");
    assert!(
        run.stderr
            .contains("::warning file=shop/templates/a.yaml,line=4,"),
        "{}",
        run.stderr
    );
    let heading = run.stderr.find("==> shop\n").unwrap();
    assert!(run.stderr[heading..].contains("image.tog"), "{}", run.stderr);
}

#[test]
fn publish_names_its_charts_and_writes_the_results_to_a_file() {
    let folder = folder(&[
        (
            "charts/a_b/Chart.yaml",
            "apiVersion: v2\nname: a-b\nversion: 1.0.0\n",
        ),
        (
            "charts/a.b/Chart.yaml",
            "apiVersion: v2\nname: a.b\nversion: 2.0.0\n",
        ),
        ("tmp/x", ""),
        ("output", ""),
    ]);
    let mut publish = command();
    publish
        .current_dir(folder.path())
        .env("GITHUB_OUTPUT", "output")
        .env("RUNNER_TEMP", folder.path().join("tmp"))
        .args([
            "publish",
            "charts",
            "oci-layout:l",
            "-o",
            "json",
            "--dotenv",
            "env",
        ]);
    let run = Run::of(&mut publish);
    let results = run.json()["results"].clone();
    assert_eq!(
        (&results[0]["name"], &results[0]["version"]),
        (&"a.b".into(), &"2.0.0".into()),
        "{results:#}"
    );
    let output = std::fs::read_to_string(folder.path().join("output")).unwrap();
    let file = output
        .lines()
        .find_map(|line| line.strip_prefix("results-file="))
        .unwrap();
    assert_eq!(std::fs::read_to_string(file).unwrap(), run.stdout);
    assert!(
        run.stderr.contains("a-b and a.b share the variable DIGEST_A_B"),
        "{}",
        run.stderr
    );
    let mut check = command();
    check
        .current_dir(folder.path())
        .args(["publish", "charts", "oci-layout:l", "--dry-run"]);
    assert_eq!(Run::of(&mut check).code, 0);
}

#[test]
fn the_wrong_kind_of_file_is_named_with_the_command_that_takes_it() {
    let folder = folder(&[
        CHART,
        ("values.yaml", "image: {tag: 1}\nreplicas: 2\n"),
        ("pod.yaml", "apiVersion: v1\nkind: Pod\n"),
    ]);
    let run = |words: &[&str]| Run::of(command().current_dir(folder.path()).args(words));
    assert_eq!(run(&["package", "shop"]).code, 0);
    for (words, what, hint) in [
        (
            &["values.yaml"] as &[&str],
            "values.yaml is what looks like a values file, not a config",
            "template CHART -f values.yaml",
        ),
        (
            &["template", "values.yaml"],
            "values.yaml is what looks like a values file, not a config",
            "-f values.yaml",
        ),
        (
            &["pod.yaml"],
            "pod.yaml is a Kubernetes manifest, not a config",
            "type: release",
        ),
        (
            &["shop/Chart.yaml"],
            "shop/Chart.yaml is the Chart.yaml of a chart folder, not a config",
            "push shop TARGET",
        ),
        (
            &["render", "shop"],
            "shop is a chart folder, not a config",
            "push shop TARGET",
        ),
        (
            &["render", "shop-1.0.0.tgz"],
            "shop-1.0.0.tgz is a chart archive, not a config",
            "push shop-1.0.0.tgz",
        ),
    ] {
        let run = run(words);
        assert_eq!(run.code, 1, "{}", run.stderr);
        assert!(
            run.stderr.contains(what) && run.stderr.contains(hint),
            "{}",
            run.stderr
        );
        assert_eq!(run.stderr.matches("error: ").count(), 1, "{}", run.stderr);
    }
}

#[test]
fn commands_that_take_charts_take_configs() {
    let folder = folder(&[(
        "c.yaml",
        "type: bootstrap\nbootstrap:\n  chart: {name: edge, description: d, version: 1.0.0, appVersion: '1'}\n  input: {releases: {shop: {repository: h/shop, tag: 2.1.0}}}\n",
    )]);
    let run = |words: &[&str]| Run::of(command().current_dir(folder.path()).args(words));
    let template = run(&["template", "x", "c.yaml"]);
    assert!(
        template.code == 0 && template.stdout.contains("name: \"x-shop\""),
        "{}",
        template.stderr
    );
    let lint = run(&["lint", "c.yaml"]);
    assert!(
        lint.code == 0 && lint.stdout.contains("==> Linting c.yaml"),
        "{}{}",
        lint.stdout,
        lint.stderr
    );
    assert_eq!(run(&["images", "c.yaml"]).code, 0);
    let package = run(&["package", "c.yaml"]);
    assert!(
        package.code == 0 && folder.path().join("edge-1.0.0.tgz").exists(),
        "{}",
        package.stderr
    );
    assert_eq!(
        package
            .stdout
            .lines()
            .last()
            .unwrap()
            .trim_start_matches("Digest: "),
        run(&["digest", "c.yaml"]).stdout.trim()
    );
}
