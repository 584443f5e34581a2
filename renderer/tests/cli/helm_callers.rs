//! Programs that call `helm`: with ours by that name they give what they give with Helm.

use std::fs;

use testbed::Tool;

use crate::Run;
use crate::as_helm::Home;
use crate::dependency::chart;

/// A home with the charts that the setups use.
fn with_charts(home: Home) -> Home {
    let shop = home.at("charts/shop");
    chart(&shop, "shop", "1.0.0", &[]);
    fs::create_dir_all(shop.join("crds")).unwrap();
    let files = [
        ("values.yaml", "greeting: hello\nreplicas: 1\nlist: [a, b]\n"),
        (
            "templates/x.yaml",
            "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: {{ .Release.Name }}-x\n  namespace: {{ .Release.Namespace }}\ndata:\n  greeting: {{ .Values.greeting | quote }}\n  replicas: {{ .Values.replicas | quote }}\n  list: {{ .Values.list | toJson | quote }}\n  kube: {{ .Capabilities.KubeVersion.Version }}\n  monitoring: {{ .Capabilities.APIVersions.Has \"monitoring.coreos.com/v1\" | quote }}\n",
        ),
        (
            "templates/hook.yaml",
            "apiVersion: v1\nkind: Pod\nmetadata:\n  name: {{ .Release.Name }}-test\n  annotations: {helm.sh/hook: test}\nspec: {containers: [{name: a, image: b}]}\n",
        ),
        (
            "crds/c.yaml",
            "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: {name: c.example.com}\n",
        ),
    ];
    for (path, text) in files {
        fs::write(shop.join(path), text).unwrap();
    }
    fs::write(home.at("prod.yaml"), "greeting: prod\nlist: [c]\n").unwrap();
    home
}

/// The same file and command line in both homes; what is not the same.
fn differences(file: &str, setups: &[&str], tool: Tool, lines: &[&[&str]]) -> Vec<String> {
    let homes = [with_charts(Home::helm()), with_charts(Home::ours())];
    let program = tool.path();
    let mut wrong = Vec::new();
    for setup in setups {
        for words in lines {
            let [theirs, own] = homes.each_ref().map(|home| {
                fs::write(home.at(file), setup).unwrap();
                let run = Run::of(home.command(program.to_str().unwrap()).args(*words));
                let here = home.folder.path().display().to_string();
                (run.code, run.stdout.replace(&here, "HERE"), run.stderr)
            });
            if (theirs.0, &theirs.1) != (own.0, &own.1) {
                wrong.push(format!("{words:?} {setup}\nhelm {theirs:?}\nours {own:?}"));
            }
            assert!(
                !theirs.1.is_empty() || theirs.0 != 0,
                "nothing was compared: {words:?} {setup} {theirs:?}"
            );
        }
    }
    wrong
}

#[test]
#[ignore = "needs servers or peers: .ci/test runs it"]
fn kustomize_builds_the_same_with_us() {
    let setups = [
        "helmCharts: [{name: shop, releaseName: one}]\n",
        "helmCharts: [{name: shop, releaseName: one, namespace: ns}]\n",
        "helmCharts: [{name: shop, releaseName: one, valuesInline: {greeting: inline, replicas: 3}}]\n",
        "helmCharts: [{name: shop, releaseName: one, valuesFile: prod.yaml}]\n",
        "helmCharts: [{name: shop, releaseName: one, valuesFile: prod.yaml, valuesInline: {list: [z]}, valuesMerge: merge}]\n",
        "helmCharts: [{name: shop, releaseName: one, includeCRDs: true}]\n",
        "helmCharts: [{name: shop, releaseName: one, skipTests: true}]\n",
        "helmCharts: [{name: shop, releaseName: one, skipHooks: true, additionalValuesFiles: [prod.yaml]}]\n",
        "helmCharts: [{name: shop, releaseName: one, kubeVersion: 1.30.0, apiVersions: [monitoring.coreos.com/v1]}]\n",
        "namePrefix: pre-\ncommonAnnotations: {a: b}\nhelmCharts: [{name: shop, releaseName: one}, {name: shop, releaseName: two}]\n",
        "helmCharts: [{name: missing, releaseName: one}]\n",
    ];
    let build: &[&str] = &["build", "--enable-helm", "."];
    let wrong = differences("kustomization.yaml", &setups, Tool::Kustomize, &[build]);
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
#[ignore = "needs servers or peers: .ci/test runs it"]
fn helmfile_builds_templates_and_lints_the_same_with_us() {
    let setups = [
        "releases: [{name: one, chart: ./charts/shop}]\n",
        "releases: [{name: one, namespace: ns, chart: ./charts/shop}]\n",
        "releases: [{name: one, chart: ./charts/shop, values: [{greeting: inline}]}]\n",
        "releases: [{name: one, chart: ./charts/shop, values: [prod.yaml, {replicas: 7}]}]\n",
        "releases: [{name: one, chart: ./charts/shop, set: [{name: greeting, value: set}]}]\n",
        "releases: [{name: one, chart: ./charts/shop}, {name: two, chart: ./charts/shop}]\n",
        "releases: [{name: one, chart: ./charts/shop, installed: false}, {name: two, chart: ./charts/shop}]\n",
        "kubeVersion: v1.30.0\nreleases: [{name: one, chart: ./charts/shop}]\n",
        "apiVersions: [monitoring.coreos.com/v1]\nreleases: [{name: one, chart: ./charts/shop}]\n",
        "helmDefaults: {args: [--no-hooks]}\nreleases: [{name: one, chart: ./charts/shop}]\n",
        "releases: [{name: one, chart: ./charts/missing}]\n",
    ];
    let lines: [&[&str]; 3] = [&["build"], &["template", "--include-crds"], &["lint"]];
    let wrong = differences("helmfile.yaml", &setups, Tool::Helmfile, &lines);
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
