//! The same manifests for `validate`, kubeconform with the same schemas, and a real API server; and the embedded schemas
//! beside what that server publishes.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::Read as _;
use std::path::Path;

use serde_json::{Map, Value, json};
use testbed::{Cluster, ClusterSetup, Tool};

use super::{shop, validate};
use crate::Run;

/// The version of testbed's API server, and its bit in the embedded schemas.
const VERSION: (&str, u32) = ("1.34", 1 << 5);

/// The embedded schemas of one version, read without the program's own code.
struct Schemas {
    /// By API version and kind: the number of the definition.
    kinds: BTreeMap<(String, String), usize>,
    /// By number: the fields, each with its type, and whether it is required.
    definitions: BTreeMap<usize, Vec<(String, String, bool)>>,
}

impl Schemas {
    fn read() -> Self {
        let packed = include_bytes!("../../../src/validate/kubernetes.txt.gz");
        let mut text = String::new();
        flate2::read::GzDecoder::new(packed.as_slice())
            .read_to_string(&mut text)
            .unwrap();
        let mut all = Self {
            kinds: BTreeMap::new(),
            definitions: BTreeMap::new(),
        };
        for line in text.lines().skip(1) {
            let words: Vec<&str> = line.split(' ').collect();
            if u32::from_str_radix(words[1], 16).unwrap() & VERSION.1 == 0 {
                continue;
            }
            match words[0] {
                "kind" => {
                    let key = (words[2].to_owned(), words[3].to_owned());
                    all.kinds.insert(key, words[4].parse().unwrap());
                }
                _ => {
                    let fields = words[3..].iter().filter(|field| !field.is_empty()).map(|field| {
                        let (name, kind) = field.split_once(':').unwrap();
                        let plain = name.trim_end_matches('!');
                        (plain.to_owned(), kind.to_owned(), name.ends_with('!'))
                    });
                    all.definitions
                        .insert(words[2].parse().unwrap(), fields.collect());
                }
            }
        }
        all
    }

    /// JSON Schemas in the form and under the names that kubeconform expects.
    fn write(&self, folder: &Path) {
        for ((api, kind), number) in &self.kinds {
            let (group, version) = api.rsplit_once('/').unwrap_or(("", api));
            let group = group.split('.').next().unwrap();
            let parts = [kind.to_lowercase(), group.to_owned(), version.to_owned()];
            let parts: Vec<String> = parts.into_iter().filter(|part| !part.is_empty()).collect();
            let mut definitions = Map::new();
            self.collect(*number, &mut definitions);
            let schema = json!({"$ref": format!("#/definitions/d{number}"), "definitions": definitions});
            fs::write(
                folder.join(format!("{}.json", parts.join("-"))),
                schema.to_string(),
            )
            .unwrap();
        }
    }

    /// A definition and those that it refers to.
    fn collect(&self, number: usize, definitions: &mut Map<String, Value>) {
        let name = format!("d{number}");
        if definitions.contains_key(&name) {
            return;
        }
        definitions.insert(name, self.definition(number));
        for (_, kind, _) in &self.definitions[&number] {
            for other in kind.split('|').filter_map(|kind| kind.split_once('#')) {
                self.collect(other.1.parse().unwrap(), definitions);
            }
        }
    }

    fn definition(&self, number: usize) -> Value {
        let fields = &self.definitions[&number];
        let or_null = |schema: Value| json!({"anyOf": [schema, {"type": "null"}]});
        let properties: Map<String, Value> = fields
            .iter()
            .map(|(name, kind, required)| match required {
                true => (name.clone(), schema(kind)),
                false => (name.clone(), or_null(schema(kind))),
            })
            .collect();
        let required: Vec<&String> = fields
            .iter()
            .filter(|field| field.2)
            .map(|field| &field.0)
            .collect();
        let mut out = json!({"type": "object", "properties": properties, "additionalProperties": false});
        // Draft 4, which kubeconform reads, knows no empty list here.
        if !required.is_empty() {
            out["required"] = json!(required);
        }
        out
    }
}

fn schema(kind: &str) -> Value {
    if kind.contains('|') {
        return json!({"anyOf": kind.split('|').map(schema).collect::<Vec<_>>()});
    }
    let rest = &kind[1..];
    match kind.chars().next().unwrap() {
        's' | 'y' | 't' => json!({"type": "string"}),
        'i' | 'l' => json!({"type": "integer"}),
        'n' => json!({"type": "number"}),
        'b' => json!({"type": "boolean"}),
        'q' => json!({"type": ["string", "number"]}),
        'x' => json!({"type": ["string", "integer"]}),
        'o' => json!({"type": "object"}),
        '*' => json!({}),
        '#' => json!({"$ref": format!("#/definitions/d{rest}")}),
        '<' => json!({"type": "object", "additionalProperties": {"anyOf": [schema(rest), {"type": "null"}]}}),
        '(' => {
            let values: Vec<String> = enum_values(kind);
            json!({"type": "string", "enum": values})
        }
        '[' => json!({"type": "array", "items": schema(items(rest))}),
        other => panic!("{other}"),
    }
}

/// The type of a list's items, without its keys.
fn items(rest: &str) -> &str {
    rest.strip_prefix('@')
        .map_or(rest, |rest| rest.split_once('@').unwrap().1)
}

fn enum_values(kind: &str) -> Vec<String> {
    let inner = kind.trim_start_matches('(').trim_end_matches(')');
    inner.split(',').map(|value| value.replace('_', " ")).collect()
}

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
