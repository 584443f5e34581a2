//! `lookup` of Helm on a real API server beside ours in the objects that the server has.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use testbed::{Cluster, ClusterSetup, Tool};

use crate::dependency::chart;
use crate::{Run, command};

/// A kind of a CRD, with whatever fields.
const CRD: &str = "\
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: widgets.example.com}
spec:
  group: example.com
  scope: Namespaced
  names: {plural: widgets, singular: widget, kind: Widget, listKind: WidgetList}
  versions:
  - name: v1
    served: true
    storage: true
    schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}
";

/// Secrets, since nothing else makes any: the order of the namespaces `a` and `a-b` is that of etcd's keys.
const OBJECTS: &str = "\
apiVersion: v1
kind: Namespace
metadata: {name: a, labels: {team: red}}
---
apiVersion: v1
kind: Namespace
metadata: {name: a-b}
---
apiVersion: v1
kind: Namespace
metadata: {name: empty}
---
apiVersion: v1
kind: Secret
metadata: {name: db, namespace: a, annotations: {note: \"yes\"}}
stringData: {password: kept, number: \"7\", lines: \"a\\nb\\n\"}
---
apiVersion: v1
kind: Secret
metadata: {name: b, namespace: a}
type: example.com/other
---
apiVersion: v1
kind: Secret
metadata: {name: z, namespace: a-b}
immutable: true
---
apiVersion: v1
kind: Service
metadata: {name: web, namespace: a}
spec: {clusterIP: None, selector: {app: web}, ports: [{name: http, port: 80, targetPort: http}, {name: x, port: 81}]}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, namespace: a}
spec:
  replicas: 3
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec: {containers: [{name: web, image: nginx, resources: {limits: {cpu: 0.5, memory: 1Gi}}}]}
---
apiVersion: storage.k8s.io/v1
kind: StorageClass
metadata: {name: slow, annotations: {storageclass.kubernetes.io/is-default-class: \"true\"}}
provisioner: example.com/disks
---
apiVersion: storage.k8s.io/v1
kind: StorageClass
metadata: {name: fast}
provisioner: example.com/disks
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: \"solar:reader\"}
rules: [{apiGroups: [\"\"], resources: [pods], verbs: [get]}]
---
apiVersion: example.com/v1
kind: Widget
metadata: {name: w, namespace: a}
spec: {whole: 3, big: 9007199254740993, half: 0.5, exponent: 1e21, yes: true, no: null, text: \"1\", nested: [[1], {a: 2}]}
";

/// What is exported: kinds, of all namespaces.
const KINDS: [&str; 7] = [
    "namespaces",
    "secrets",
    "services",
    "deployments",
    "storageclasses",
    "clusterroles",
    "widgets.example.com",
];

/// A line for each form, in the namespace `a`.
const FORMS: &[&str] = &[
    // A single object, whole and by its fields.
    r#"{{ lookup "v1" "Secret" "a" "db" | toYaml }}"#,
    r#"{{ lookup "v1" "Secret" "a" "db" | toJson }}"#,
    r#"{{ (lookup "v1" "Secret" .Release.Namespace "db").data.password | b64dec }}"#,
    r#"{{ index (lookup "v1" "Secret" .Release.Namespace "db").data "number" }}"#,
    r#"{{ index (lookup "v1" "Secret" "a" "db") "metadata" "annotations" "note" | quote }}"#,
    r#"{{ get (lookup "v1" "Secret" "a" "db") "kind" }}"#,
    r#"{{ hasKey (lookup "v1" "Secret" "a" "db") "immutable" }} {{ hasKey (lookup "v1" "Secret" "a-b" "z") "immutable" }}"#,
    // The usual ways to keep a password.
    r#"{{ $old := lookup "v1" "Secret" .Release.Namespace "db" }}{{ if $old }}{{ $old.data.password }}{{ else }}none{{ end }}"#,
    r#"{{ $old := lookup "v1" "Secret" .Release.Namespace "other" }}{{ if $old }}{{ $old.data.password }}{{ else }}none{{ end }}"#,
    r#"{{ with (lookup "v1" "Secret" .Release.Namespace "db") }}{{ .data.password }}{{ end }}"#,
    r#"{{ dig "data" "password" "none" (lookup "v1" "Secret" "a" "db") }} {{ dig "data" "password" "none" (lookup "v1" "Secret" "a" "other") }}"#,
    r#"{{ (lookup "v1" "Secret" "a" "other").data | default (dict "password" "none") | toJson }}"#,
    r#"{{ ((lookup "v1" "Secret" "a" "other").data).password | default "none" }}"#,
    // What is missing is an empty map.
    r#"{{ lookup "v1" "Secret" "a" "other" | toJson }} {{ lookup "v1" "Secret" "nowhere" "db" | toJson }}"#,
    r#"{{ lookup "v1" "Secret" "" "db" | toJson }} {{ empty (lookup "v1" "Secret" "a" "other") }}"#,
    r#"{{ kindOf (lookup "v1" "Secret" "a" "other") }} {{ typeOf (lookup "v1" "Secret" "a" "other") }}"#,
    // Lists of a namespace, and of all, in the server's order.
    r#"{{ range (lookup "v1" "Secret" "a" "").items }}{{ .metadata.namespace }}/{{ .metadata.name }} {{ end }}"#,
    r#"{{ range (lookup "v1" "Secret" "" "").items }}{{ .metadata.namespace }}/{{ .metadata.name }} {{ end }}"#,
    r#"{{ $l := lookup "v1" "Secret" "a" "" }}{{ $l.kind }} {{ $l.apiVersion }} {{ len $l.items }} {{ keys $l | sortAlpha }} {{ typeOf $l }} {{ typeOf $l.items }}"#,
    r#"{{ $l := lookup "v1" "Secret" "a" "" }}{{ omit $l "metadata" | toYaml }}"#,
    r#"{{ (first (lookup "v1" "Secret" "a" "").items).metadata.name }}"#,
    r#"{{ range $i, $e := (lookup "v1" "Secret" "a" "").items }}{{ $i }}{{ $e.type }} {{ end }}"#,
    // Lists without objects.
    r#"{{ $l := lookup "v1" "Secret" "empty" "" }}{{ $l.kind }} {{ len $l.items }} {{ $l.items | toJson }} {{ typeOf $l.items }}"#,
    r#"{{ $l := lookup "v1" "Secret" "nowhere" "" }}{{ $l.kind }} {{ len $l.items }}"#,
    r#"{{ $l := lookup "v1" "ReplicationController" "" "" }}{{ $l.kind }} {{ $l.apiVersion }} {{ len $l.items }}"#,
    r#"{{ $l := lookup "policy/v1" "PodDisruptionBudget" "a" "" }}{{ if $l }}{{ $l.kind }} {{ len $l.items }}{{ end }}"#,
    r#"{{ $l := lookup "example.com/v1" "Widget" "empty" "" }}{{ $l.kind }} {{ len $l.items }}"#,
    // Kinds without namespaces, with a namespace that doesn't count.
    r#"{{ (lookup "v1" "Namespace" "" "a").metadata.labels | toJson }} {{ (lookup "v1" "Namespace" "nowhere" "a").metadata.name }}"#,
    r#"{{ lookup "v1" "Namespace" "" "nowhere" | toJson }}"#,
    r#"{{ range (lookup "storage.k8s.io/v1" "StorageClass" "" "").items }}{{ .metadata.name }} {{ end }}"#,
    r#"{{ range (lookup "storage.k8s.io/v1" "StorageClass" "a" "").items }}{{ .metadata.name }}{{ .metadata.annotations | toJson }} {{ end }}"#,
    r#"{{ (lookup "rbac.authorization.k8s.io/v1" "ClusterRole" "" "solar:reader").rules | toYaml }}"#,
    // Numbers and other types.
    r#"{{ $d := lookup "apps/v1" "Deployment" "a" "web" }}{{ $d.spec.replicas }} {{ kindOf $d.spec.replicas }} {{ add $d.spec.replicas 1 }} {{ printf "%d %v" $d.spec.replicas $d.spec.replicas }}"#,
    r#"{{ (lookup "apps/v1" "Deployment" "a" "web").spec.template.spec.containers | toYaml }}"#,
    r#"{{ (index (lookup "v1" "Service" "a" "web").spec.ports 1).port }} {{ (index (lookup "v1" "Service" "a" "web").spec.ports 0) | toJson }}"#,
    r#"{{ $w := lookup "example.com/v1" "Widget" "a" "w" }}{{ range $k, $v := $w.spec }}{{ $k }}={{ $v }} {{ kindOf $v }} {{ typeOf $v }}|{{ end }}"#,
    r#"{{ (lookup "example.com/v1" "Widget" "a" "w").spec | toYaml }} {{ (lookup "example.com/v1" "Widget" "a" "w").spec | toJson }}"#,
    r#"{{ eq (lookup "apps/v1" "Deployment" "a" "web").spec.replicas 3 }} {{ eq (int (lookup "apps/v1" "Deployment" "a" "web").spec.replicas) 3 }}"#,
    r#"{{ range $k, $v := lookup "v1" "Secret" "a" "b" }}{{ $k }} {{ end }}"#,
    r#"{{ $_ := set (lookup "v1" "Secret" "a" "b") "kind" "Mine" }}{{ (lookup "v1" "Secret" "a" "b").kind }}"#,
];

/// A chart with a template for each form.
fn chart_of_forms(folder: &Path) {
    chart(folder, "forms", "1.0.0", &[]);
    fs::remove_file(folder.join("templates/x.yaml")).unwrap();
    for (number, form) in FORMS.iter().enumerate() {
        let text = format!(
            "apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: f{number}}}\ndata:\n  result: {{{{ include \"form{number}\" . | quote }}}}\n"
        );
        fs::write(folder.join(format!("templates/f{number:02}.yaml")), text).unwrap();
        let text = format!("{{{{ define \"form{number}\" }}}}{form}{{{{ end }}}}");
        fs::write(folder.join(format!("templates/_f{number:02}.tpl")), text).unwrap();
    }
}

/// The document of each form.
fn results(output: &str) -> BTreeMap<usize, String> {
    let documents = output.split("---\n# Source: forms/templates/f").skip(1);
    documents
        .map(|text| (text[..2].parse().unwrap(), text.to_owned()))
        .collect()
}

#[test]
#[ignore = "needs servers or peers: .ci/test runs it"]
fn helm_finds_on_an_api_server_what_we_find_in_its_objects() {
    let cluster = Cluster::start(&ClusterSetup {
        crds: CRD,
        ..ClusterSetup::default()
    });
    cluster.apply(OBJECTS);
    let folder = tempfile::tempdir().unwrap();
    let forms = folder.path().join("forms");
    chart_of_forms(&forms);
    let mut helm = Tool::Helm.command(folder.path());
    helm.args([
        "template",
        "r",
        "forms",
        "-n",
        "a",
        "--dry-run=server",
        "--kubeconfig",
    ])
    .arg(cluster.kubeconfig());
    // The controllers write statuses at any time: the objects are the same if they are before and after.
    let (mut theirs, mut exported) = (Run::of(&mut helm), export(&cluster));
    while let again = export(&cluster)
        && again != exported
    {
        (theirs, exported) = (Run::of(&mut helm), export(&cluster));
    }
    assert_eq!(theirs.code, 0, "{}", theirs.stderr);
    let theirs = results(&theirs.stdout);
    assert_eq!(theirs.len(), FORMS.len());
    let of_server = cluster.kubectl(&["get", "--raw", "/api/v1/secrets"]);
    let rest: Vec<&str> = KINDS.into_iter().filter(|kind| *kind != "secrets").collect();
    let files = [
        ("all.json", exported.clone()),
        ("all.yaml", get(&cluster, &KINDS.join(","), "yaml")),
        ("secrets.json", of_server),
        ("rest.yaml", get(&cluster, &rest.join(","), "yaml")),
    ];
    for (name, text) in files {
        fs::write(folder.path().join(name), text).unwrap();
    }
    for files in [&["all.json"][..], &["all.yaml"], &["secrets.json", "rest.yaml"]] {
        let mut ours = command();
        ours.current_dir(folder.path())
            .args(["template", "r", "forms", "-n", "a"]);
        for file in files {
            ours.args(["--lookup-file", file]);
        }
        let ours = Run::of(&mut ours);
        assert_eq!((ours.code, &*ours.stderr), (0, ""), "{files:?}");
        let ours = results(&ours.stdout);
        let mut wrong = Vec::new();
        for (number, form) in FORMS.iter().enumerate() {
            let (theirs, ours) = (&theirs[&number], ours.get(&number));
            if ours != Some(theirs) {
                wrong.push(format!("{form}\nhelm: {theirs}\nours: {ours:?}"));
            }
        }
        assert!(wrong.is_empty(), "{files:?}\n{}", wrong.join("\n"));
    }
}

fn get(cluster: &Cluster, kinds: &str, form: &str) -> String {
    cluster.kubectl(&["get", kinds, "-A", "-o", form, "--show-managed-fields"])
}

fn export(cluster: &Cluster) -> String {
    get(cluster, &KINDS.join(","), "json")
}

/// What a file can't know: a server refuses kinds that it doesn't serve.
#[test]
#[ignore = "needs servers or peers: .ci/test runs it"]
fn kinds_that_no_server_serves_are_empty_in_files_and_errors_of_helm() {
    let cluster = Cluster::start(&ClusterSetup::default());
    let folder = tempfile::tempdir().unwrap();
    let forms = folder.path().join("forms");
    chart(&forms, "forms", "1.0.0", &[]);
    for (api_version, name) in [("nothing.example.com/v1", "a"), ("nothing.example.com/v1", "")] {
        let text = format!("# {{{{ lookup {api_version:?} \"Thing\" \"a\" {name:?} | toJson }}}}\n");
        fs::write(forms.join("templates/x.yaml"), text).unwrap();
        let mut helm = Tool::Helm.command(folder.path());
        helm.args(["template", "r", "forms", "--dry-run=server", "--kubeconfig"])
            .arg(cluster.kubeconfig());
        let theirs = Run::of(&mut helm);
        assert!(
            theirs.code == 1 && theirs.stderr.contains("could not find the requested resource"),
            "{}",
            theirs.stderr
        );
        fs::write(folder.path().join("none.yaml"), "").unwrap();
        let mut ours = command();
        ours.current_dir(folder.path())
            .args(["template", "r", "forms", "--lookup-file", "none.yaml"]);
        let ours = Run::of(&mut ours);
        assert_eq!(
            ours.stdout, "---\n# Source: forms/templates/x.yaml\n# {}\n",
            "{}",
            ours.stderr
        );
    }
}
