//! Versions of Kubernetes, CRDs, values files of `ci/`, exit codes.

use std::fs;

use super::{findings, rules, shop, validate};
use crate::{Run, command};

const CRON: &str = "apiVersion: batch/v1\nkind: CronJob\nmetadata: {name: a}\nspec:\n  schedule: '* * * * *'\n  jobTemplate: {spec: \
                    {template: {spec: {containers: [{name: a, image: b}]}}}}\n";

#[test]
fn several_versions_cost_one_rendering_unless_templates_read_the_version() {
    let folder = tempfile::tempdir().unwrap();
    let limited = "apiVersion: flowcontrol.apiserver.k8s.io/v1beta3\nkind: FlowSchema\nmetadata: {name: a}\nspec: \
                   {priorityLevelConfiguration: {name: b}}\n";
    let shop = shop(
        folder.path(),
        &[("templates/a.yaml", CRON), ("templates/b.yaml", limited)],
    );
    let versions = [
        "--kube-version",
        "1.29",
        "--kube-version",
        "1.31,v1.34.2",
        "-o",
        "json",
    ];
    let json = validate(&shop, &versions).json();
    assert_eq!(
        json["versions"],
        serde_json::json!(["1.29.6", "1.31.14", "1.34.4"])
    );
    assert_eq!(json["charts"][0]["renderings"], 1);
    assert_eq!(json["charts"][0]["objects"], 2);
    let findings = json["findings"].as_array().unwrap();
    let shown: Vec<String> = findings
        .iter()
        .map(|one| format!("{} {} {}", one["rule"], one["severity"], one["versions"]))
        .collect();
    assert_eq!(
        shown,
        [
            "\"deprecated-api\" \"warning\" [\"1.29.6\",\"1.31.14\"]",
            "\"removed-api\" \"error\" [\"1.34.4\"]",
        ]
    );
    let reads = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n{{ if semverCompare \">=1.32-0\" \
                 .Capabilities.KubeVersion.Version }}dta: {}{{ end }}\n";
    fs::write(shop.join("templates/b.yaml"), reads).unwrap();
    let json = validate(&shop, &versions).json();
    assert_eq!(json["charts"][0]["renderings"], 3);
    let findings = json["findings"].as_array().unwrap();
    assert_eq!(findings.len(), 1, "{json}");
    assert_eq!(findings[0]["rule"], "unknown-field");
    assert_eq!(findings[0]["versions"], serde_json::json!(["1.34.4"]));
}

#[test]
fn a_version_without_schemas_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let shop = shop(folder.path(), &[("templates/a.yaml", CRON)]);
    let run = validate(&shop, &["--kube-version", "1.12"]);
    assert_eq!(run.code, 2, "{}", run.stderr);
    assert!(
        run.stderr.contains("1.29, 1.30") && run.stderr.contains("1.37"),
        "{}",
        run.stderr
    );
}

#[test]
fn a_chart_that_requires_another_version_or_fails_is_a_finding() {
    let folder = tempfile::tempdir().unwrap();
    let files = [
        (
            "Chart.yaml",
            "apiVersion: v2\nname: shop\nversion: 1.0.0\nkubeVersion: '>=1.33-0'\n",
        ),
        ("templates/a.yaml", CRON),
    ];
    let shop_ = shop(folder.path(), &files);
    let found = findings(&shop_, &["--kube-version", "1.34,1.31"]);
    assert_eq!(found.len(), 1, "{found:?}");
    assert_eq!(found[0]["rule"], "rendering");
    assert_eq!(found[0]["versions"], serde_json::json!(["1.31.14"]));
    let other = tempfile::tempdir().unwrap();
    let broken = shop(other.path(), &[("templates/a.yaml", "{{ fail \"no\" }}")]);
    let run = validate(&broken, &[]);
    assert_eq!(run.code, 1, "{}", run.stderr);
    assert!(run.stderr.contains("templates/a.yaml:1"), "{}", run.stderr);
}

const CRD: &str = "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: {name: shops.example.com}\nspec:\n  \
                   group: example.com\n  scope: Namespaced\n  names: {kind: Shop, plural: shops, singular: shop}\n  versions:\n  - name: \
                   v1\n    served: true\n    storage: true\n    schema:\n      openAPIV3Schema:\n        type: object\n        properties:\n          \
                   spec:\n            type: object\n            required: [size]\n            properties:\n              \
                   size: {type: integer, minimum: 1, maximum: 9}\n              color: {type: string, enum: [red, blue]}\n              \
                   code: {type: string, pattern: '^[A-Z]+$', maxLength: 3}\n              port: {x-kubernetes-int-or-string: true}\n              \
                   free: {type: object, x-kubernetes-preserve-unknown-fields: true}\n              any: {type: object, \
                   additionalProperties: {type: string}}\n              set: {type: array, items: {type: string}, x-kubernetes-list-type: set}\n              \
                   maybe: {type: string, nullable: true}\n              either:\n                type: object\n                properties: {a: {type: string}, b: {type: string}}\n                \
                   oneOf: [{required: [a]}, {required: [b]}]\n";

/// A custom object's spec, and what is wrong with it.
const CUSTOM: &[(&str, &str)] = &[
    (
        "{size: 1, color: red, code: ABC, port: 80, free: {x: 1}, any: {y: z}, set: [a, b], maybe: null, either: {a: x}}",
        "",
    ),
    ("{size: 1, port: http}", ""),
    ("{size: 3.0}", ""),
    ("{size: null}", "missing-field spec.size"),
    ("{}", "missing-field spec.size"),
    ("{size: \"1\"}", "wrong-type spec.size"),
    ("{size: 10}", "invalid-value spec.size"),
    ("{size: 0}", "invalid-value spec.size"),
    ("{size: 1, color: green}", "unsupported-value spec.color"),
    ("{size: 1, code: abc}", "invalid-value spec.code"),
    ("{size: 1, code: ABCD}", "invalid-value spec.code"),
    ("{size: 1, port: 1.5}", "wrong-type spec.port"),
    ("{size: 1, colour: red}", "unknown-field spec.colour"),
    ("{size: 1, any: {z: 1}}", "wrong-type spec.any.z"),
    ("{size: 1, set: [a, a]}", "duplicate-item spec.set[1]"),
    ("{size: 1, set: [null]}", "wrong-type spec.set[0]"),
    ("{size: 1, either: {a: x, b: z}}", "invalid-value spec.either"),
    ("{size: 1, either: {}}", "invalid-value spec.either"),
    ("[]", "wrong-type spec"),
];

#[test]
fn custom_objects_are_checked_against_the_chart_s_own_crds_and_given_ones() {
    let folder = tempfile::tempdir().unwrap();
    let object =
        |spec: &str| format!("apiVersion: example.com/v1\nkind: Shop\nmetadata: {{name: a}}\nspec: {spec}\n");
    let own = shop(
        folder.path(),
        &[("crds/shop.yaml", CRD), ("templates/a.yaml", "")],
    );
    for (spec, expected) in CUSTOM {
        fs::write(own.join("templates/a.yaml"), object(spec)).unwrap();
        let expected: Vec<&str> = Some(*expected)
            .filter(|text| !text.is_empty())
            .into_iter()
            .collect();
        assert_eq!(rules(&own, &[]), expected, "{spec}");
    }
    // A CRD among the templates, in a file, in a folder, in another chart.
    fs::write(
        own.join("templates/a.yaml"),
        object("{size: 1}").replace("name: a", "nam: a, name: b"),
    )
    .unwrap();
    let unknown = ["unknown-field metadata.nam"];
    assert_eq!(rules(&own, &[]), unknown);
    fs::remove_file(own.join("crds/shop.yaml")).unwrap();
    assert_eq!(rules(&own, &[]), ["no-schema apiVersion"]);
    assert_eq!(validate(&own, &[]).code, 0);
    assert_eq!(validate(&own, &["--require-schemas"]).code, 1);
    assert_eq!(validate(&own, &["--strict"]).code, 1);
    fs::write(own.join("templates/crd.yaml"), CRD).unwrap();
    assert_eq!(rules(&own, &[]), unknown);
    fs::remove_file(own.join("templates/crd.yaml")).unwrap();
    let crds = folder.path().join("crds");
    fs::create_dir_all(crds.join("below")).unwrap();
    fs::write(crds.join("below/shop.yaml"), CRD).unwrap();
    let other = folder.path().join("operator");
    fs::create_dir_all(other.join("templates")).unwrap();
    fs::write(
        other.join("Chart.yaml"),
        "apiVersion: v2\nname: operator\nversion: 1.0.0\n",
    )
    .unwrap();
    fs::write(other.join("templates/crd.yaml"), CRD).unwrap();
    for given in [crds.join("below/shop.yaml"), crds, other] {
        let given = given.display().to_string();
        assert_eq!(rules(&own, &["--crds", &given]), unknown, "{given}");
    }
    let empty = tempfile::tempdir().unwrap();
    let run = validate(&own, &["--crds", &empty.path().display().to_string()]);
    assert_eq!(run.code, 2, "{}", run.stderr);
}

#[test]
fn each_values_file_of_ci_is_rendered() {
    let folder = tempfile::tempdir().unwrap();
    let template =
        "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata: {a: {{ .Values.a | toJson }}}\n";
    let files = [
        ("values.yaml", "a: b\n"),
        ("ci/one-values.yaml", "a: 1\n"),
        ("ci/two,2-values.yaml", "a: 1\n"),
        ("ci/good-values.yaml", "a: text\n"),
        ("ci/other.yaml", "a: 1\n"),
        ("templates/a.yaml", template),
    ];
    let shop = shop(folder.path(), &files);
    assert_eq!(validate(&shop, &[]).code, 0);
    let found = findings(&shop, &["--ci"]);
    assert_eq!(found.len(), 1, "{found:?}");
    let values: Vec<&str> = found[0]["values"]
        .as_array()
        .unwrap()
        .iter()
        .map(|one| one.as_str().unwrap())
        .collect();
    assert!(
        values[0].ends_with("one-values.yaml") && values[1].ends_with("two,2-values.yaml"),
        "{values:?}"
    );
    // Flags are merged over them.
    assert_eq!(validate(&shop, &["--ci", "--set", "a=x"]).code, 0);
}

#[test]
fn configs_folders_of_charts_and_hooks_are_taken() {
    let folder = tempfile::tempdir().unwrap();
    let hook = "apiVersion: v1\nkind: Pod\nmetadata:\n  name: a\n  annotations: {helm.sh/hook: test}\nspec: {container: []}\n";
    shop(folder.path(), &[("templates/a.yaml", hook)]);
    let unknown = "unknown-field spec.container";
    let missing = "missing-field spec.containers";
    assert_eq!(rules(folder.path(), &[]), [unknown, missing]);
    assert_eq!(validate(folder.path(), &["--skip-tests"]).code, 0);
    let config = crate::testdata().join("release.yaml");
    let json = validate(&config, &["-o", "json"]).json();
    assert_eq!(json["total"]["objects"], 3, "{json}");
    assert_eq!(json["total"]["errors"], 0, "{json}");
}

#[test]
fn template_validates_too() {
    let folder = tempfile::tempdir().unwrap();
    let shop = shop(
        folder.path(),
        &[(
            "templates/a.yaml",
            "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndta: {}\n",
        )],
    );
    let run = |more: &[&str]| Run::of(command().arg("template").arg(&shop).args(more));
    assert_eq!(run(&[]).code, 0);
    let refused = run(&["--validate", "--kube-version", "1.30"]);
    assert_eq!((refused.code, refused.stdout.as_str()), (1, ""));
    assert!(
        refused.stderr.contains("templates/a.yaml:4:1"),
        "{}",
        refused.stderr
    );
    assert_eq!(run(&["--validate", "--kube-version", "1.3"]).code, 2);
    fs::write(shop.join("templates/a.yaml"), CRON).unwrap();
    let good = run(&["--validate"]);
    assert_eq!((good.code, good.stdout), (0, run(&[]).stdout));
}

#[test]
fn a_chart_with_very_many_mistakes_lists_a_thousand() {
    let folder = tempfile::tempdir().unwrap();
    let template = "{{- range until 1100 }}\n---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: a-{{ . }}}\ndta: {}\n{{- end }}\n";
    let shop = shop(folder.path(), &[("templates/a.yaml", template)]);
    let json = validate(&shop, &["-o", "json"]).json();
    assert_eq!(json["findings"].as_array().unwrap().len(), 1000);
    assert_eq!(json["charts"][0]["omitted"], 100);
}
