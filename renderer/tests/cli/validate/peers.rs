//! The same manifests for `validate`, kubeconform with the same schemas, and a real API server; and the embedded schemas
//! beside what that server publishes.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;

use serde_json::{Map, Value};
use testbed::{Cluster, ClusterSetup, Tool};

use super::json_schemas::{Schemas, VERSION, enum_values, items};
use super::{shop, validate};
use crate::Run;

/// Whether `validate`, kubeconform and the API server accept a manifest.
type Verdicts = [bool; 3];

const ALL: Verdicts = [true; 3];
const NONE: Verdicts = [false; 3];
/// What kubeconform's schemas don't say.
const NOT_KUBECONFORM: Verdicts = [false, true, false];

/// `kind`, the rest of the manifest, and the verdicts.
const MANIFESTS: &[(&str, &str, Verdicts)] = &[
    ("v1 ConfigMap", "data: {a: b}", ALL),
    ("v1 ConfigMap", "data: {a: null}", ALL),
    ("v1 ConfigMap", "data: null", ALL),
    ("v1 ConfigMap", "data: {a: 1}", NONE),
    ("v1 ConfigMap", "data: {a: true}", NONE),
    ("v1 ConfigMap", "dta: {}", NONE),
    ("v1 ConfigMap", "data: []", NONE),
    ("v1 ConfigMap", "immutable: yes", ALL),
    ("v1 ConfigMap", "immutable: \"yes\"", NONE),
    ("v1 ConfigMap", "binaryData: {a: YQ==}", ALL),
    ("v1 ConfigMap", "binaryData: {a: '?'}", NOT_KUBECONFORM),
    ("v1 Secret", "data: {a: YQ}", NOT_KUBECONFORM),
    ("v1 Secret", "type: Opaque\nstringData: {a: 1}", NONE),
    ("v1 Service", "spec: {ports: [{port: 80}]}", ALL),
    ("v1 Service", "spec: {ports: [{port: 80, targetPort: http}]}", ALL),
    ("v1 Service", "spec: {ports: [{port: 80.0}]}", ALL),
    ("v1 Service", "spec: {ports: [{port: \"80\"}]}", NONE),
    ("v1 Service", "spec: {ports: [{port: 80.5}]}", NONE),
    (
        "v1 Service",
        "spec: {ports: [{port: 99999999999}]}",
        NOT_KUBECONFORM,
    ),
    ("v1 Service", "spec: {ports: [{port: 80, targetPort: 1.5}]}", NONE),
    ("v1 Service", "spec: {ports: [{port: 80, protocol: tcp}]}", NONE),
    ("v1 Service", "spec: {ports: [{}]}", NONE),
    ("v1 Service", "spec: {ports: [{port: 80}], type: Extern}", NONE),
    (
        "v1 PersistentVolumeClaim",
        "spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}",
        ALL,
    ),
    (
        "v1 PersistentVolumeClaim",
        "spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1}}}",
        ALL,
    ),
    (
        "v1 PersistentVolumeClaim",
        "spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1GB}}}",
        NOT_KUBECONFORM,
    ),
    (
        "v1 PersistentVolumeClaim",
        "spec: {accessModes: [Write], resources: {requests: {storage: 1Gi}}}",
        NONE,
    ),
    (
        "batch/v1 Job",
        "spec: {template: {spec: {restartPolicy: Never, containers: [{name: a, image: b}]}}}",
        ALL,
    ),
    (
        "batch/v1 Job",
        "spec: {template: {spec: {restartPolicy: never, containers: [{name: a, image: b}]}}}",
        NONE,
    ),
    (
        "batch/v1 Job",
        "spec: {template: {spec: {restartPolicy: Never, containers: [{image: b}]}}}",
        NONE,
    ),
    (
        "batch/v1 Job",
        "spec: {template: {spec: {restartPolicy: Never}}}",
        NONE,
    ),
    (
        "batch/v1 CronJob",
        "spec: {jobTemplate: {spec: {template: {spec: {restartPolicy: Never, containers: [{name: a, image: b}]}}}}}",
        NONE,
    ),
    (
        "apps/v1 Deployment",
        "spec: {template: {metadata: {labels: {a: b}}, spec: {containers: [{name: a, image: b}]}}}",
        NONE,
    ),
    (
        "networking.k8s.io/v1 Ingress",
        "spec: {rules: [{http: {paths: [{path: /, backend: {service: {name: a, port: {number: 80}}}}]}}]}",
        NONE,
    ),
    (
        "networking.k8s.io/v1 Ingress",
        "spec: {defaultBackend: {serviceName: a, servicePort: 80}}",
        NONE,
    ),
    (
        "policy/v1 PodDisruptionBudget",
        "spec: {minAvailable: 50%, selector: {matchLabels: {a: b}}}",
        ALL,
    ),
    ("policy/v1 PodDisruptionBudget", "spec: {minAvailable: [1]}", NONE),
    (
        "batch/v1 Job",
        "metadata: {name: a, creationTimestamp: null}\nspec: {template: {spec: {restartPolicy: Never, containers: [{name: a, image: b}]}}}",
        ALL,
    ),
    (
        "v1 ConfigMap",
        "metadata: {name: a, creationTimestamp: today}",
        NOT_KUBECONFORM,
    ),
    ("v1 ConfigMap", "metadata: {name: A}", NOT_KUBECONFORM),
    // The server decodes null as an empty text, and an empty enum as the default; a template hardly means it.
    (
        "batch/v1 Job",
        "spec: {template: {spec: {restartPolicy: Never, containers: [{name: a, image: b, args: [null]}]}}}",
        [false, false, true],
    ),
    (
        "v1 Service",
        "spec: {ports: [{port: 80}], type: ''}",
        [true, false, true],
    ),
    // Rules of the server that are in no schema.
    ("networking.k8s.io/v1 Ingress", "spec: {}", [true, true, false]),
    (
        "v1 Service",
        "spec: {ports: [{port: 70000}]}",
        [true, true, false],
    ),
];

fn manifest(kind: &str, rest: &str) -> String {
    let (api, kind) = kind.split_once(' ').unwrap();
    let metadata = match rest.contains("metadata: {name") && rest.starts_with("metadata") {
        true => "",
        false => "metadata: {name: a}\n",
    };
    format!("apiVersion: {api}\nkind: {kind}\n{metadata}{rest}\n")
}

#[test]
#[ignore = "needs servers or peers: .ci/test runs it"]
fn the_verdicts_are_those_of_kubeconform_and_of_an_api_server() {
    let folder = tempfile::tempdir().unwrap();
    let (schemas, manifests) = (folder.path().join("schemas"), folder.path().join("manifests"));
    fs::create_dir(&schemas).unwrap();
    fs::create_dir(&manifests).unwrap();
    Schemas::read().write(&schemas);
    let mut files = Vec::new();
    for (index, (kind, rest, _)) in MANIFESTS.iter().enumerate() {
        let text = manifest(kind, rest);
        fs::write(manifests.join(format!("{index:02}.yaml")), &text).unwrap();
        files.push((format!("templates/{index:02}.yaml"), text));
    }
    let files: Vec<(&str, &str)> = files
        .iter()
        .map(|(path, text)| (path.as_str(), text.as_str()))
        .collect();
    let shop = shop(folder.path(), &files);
    let json = validate(&shop, &["-o", "json", "--kube-version", VERSION.0]).json();
    let ours: BTreeSet<usize> = json["findings"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|one| one["severity"] == "error")
        .map(|one| number(one["file"].as_str().unwrap()))
        .collect();
    let mut kubeconform = Tool::Kubeconform.command(folder.path());
    let location = format!(
        "{}/{{{{.ResourceKind}}}}{{{{.KindSuffix}}}}.json",
        schemas.display()
    );
    kubeconform
        .args(["-strict", "-output", "json", "-schema-location", &location])
        .arg(&manifests);
    let output = Run::of(&mut kubeconform);
    let result: Value =
        serde_json::from_str(&output.stdout).unwrap_or_else(|_| panic!("{}{}", output.stdout, output.stderr));
    let theirs: BTreeMap<usize, String> = result["resources"]
        .as_array()
        .unwrap()
        .iter()
        .map(|one| (number(one["filename"].as_str().unwrap()), one["msg"].to_string()))
        .collect();
    let cluster = Cluster::start(&ClusterSetup::default());
    let mut wrong = Vec::new();
    for (index, (kind, rest, expected)) in MANIFESTS.iter().enumerate() {
        let path = manifests.join(format!("{index:02}.yaml"));
        let path = path.display().to_string();
        let arguments = ["create", "--dry-run=server", "--validate=strict", "-f", &path];
        let server = cluster.kubectl_command(&arguments).output().unwrap();
        let found = [
            !ours.contains(&index),
            !theirs.contains_key(&index),
            server.status.success(),
        ];
        if found != *expected {
            let said = String::from_utf8_lossy(&server.stderr);
            let kubeconform = theirs.get(&index);
            wrong.push(format!(
                "{kind} {rest}: {found:?}, expected {expected:?}: {said} {kubeconform:?}"
            ));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// The number in a manifest's file name.
fn number(path: &str) -> usize {
    let name = path.rsplit('/').next().unwrap();
    name.trim_end_matches(".yaml").parse().unwrap()
}

/// The embedded schemas beside those that a real API server publishes: fields, required ones, enums.
#[test]
#[ignore = "needs servers or peers: .ci/test runs it"]
fn the_embedded_schemas_are_those_that_an_api_server_publishes() {
    let cluster = Cluster::start(&ClusterSetup::default());
    let published: Value = serde_json::from_str(&cluster.kubectl(&["get", "--raw", "/openapi/v2"])).unwrap();
    let definitions = published["definitions"].as_object().unwrap();
    let ours = Schemas::read();
    let mut compared = BTreeSet::new();
    let mut kinds = 0;
    for (name, definition) in definitions {
        for kind in definition["x-kubernetes-group-version-kind"]
            .as_array()
            .into_iter()
            .flatten()
        {
            let text = |key: &str| kind[key].as_str().unwrap().to_owned();
            let api = match text("group").as_str() {
                "" => text("version"),
                group => format!("{group}/{}", text("version")),
            };
            // DeleteOptions and their like are no objects.
            if let Some(number) = ours.kinds.get(&(api, text("kind"))) {
                kinds += 1;
                compare(*number, name, &ours, definitions, &mut compared);
            }
        }
    }
    assert!(kinds > 60 && compared.len() > 300, "{kinds} {}", compared.len());
}

fn compare(
    number: usize,
    name: &str,
    ours: &Schemas,
    definitions: &Map<String, Value>,
    compared: &mut BTreeSet<String>,
) {
    if !compared.insert(name.to_owned()) {
        return;
    }
    let theirs = &definitions[name];
    let none = Map::new();
    let properties = theirs["properties"].as_object().unwrap_or(&none);
    let fields = &ours.definitions[&number];
    let own: BTreeSet<&str> = fields.iter().map(|field| field.0.as_str()).collect();
    let published: BTreeSet<&str> = properties.keys().map(String::as_str).collect();
    assert_eq!(own, published, "{name}");
    for (field, kind, required) in fields {
        let is_required = theirs["required"]
            .as_array()
            .is_some_and(|all| all.iter().any(|one| one == field));
        assert_eq!(*required, is_required, "{name}.{field}");
        let mut property = &properties[field];
        let mut kind = kind.as_str();
        // Into lists and maps.
        while let Some(rest) = kind.strip_prefix(['[', '<']) {
            let is_list = kind.starts_with('[');
            property = &property[if is_list { "items" } else { "additionalProperties" }];
            kind = items(rest);
        }
        if let Some(values) = property["enum"].as_array() {
            let published: BTreeSet<String> = values
                .iter()
                .map(|value| value.as_str().unwrap().to_owned())
                .collect();
            let own: BTreeSet<String> = enum_values(kind).into_iter().collect();
            assert_eq!(own, published, "{name}.{field}");
        } else {
            assert!(!kind.starts_with('('), "{name}.{field}");
        }
        if let (Some(number), Some(reference)) = (kind.strip_prefix('#'), property["$ref"].as_str())
            && !kind.contains('|')
        {
            let below = reference.rsplit('/').next().unwrap();
            compare(number.parse().unwrap(), below, ours, definitions, compared);
        }
    }
}
