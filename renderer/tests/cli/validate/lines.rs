//! Broken manifests: each is found once, at the template's line that is marked.

use std::collections::BTreeMap;

use super::{findings, shop};

/// What marks the line; it renders to nothing.
const MARK: &str = "{{/*!*/}}";

const HELPERS: &str = r#"{{- define "labels" -}}
app: shop
tier: web
{{- end }}
{{- define "ports" -}}
- name: http
  containerPort: 80
- name: https
  containerPort: 443
{{- end }}
"#;

/// A Deployment around a part of its container.
fn deployment(container: &str) -> String {
    format!(
        "apiVersion: apps/v1\nkind: Deployment\nmetadata: {{name: shop}}\nspec:\n  selector: {{matchLabels: {{app: a}}}}\n  \
         template:\n    metadata: {{labels: {{app: a}}}}\n    spec:\n      containers:\n      - name: a\n        image: b\n{container}\n"
    )
}

fn service(ports: &str) -> String {
    format!("apiVersion: v1\nkind: Service\nmetadata: {{name: shop}}\nspec:\n  ports:\n{ports}\n")
}

fn config(more: &str) -> String {
    format!("apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: shop\n{more}\n")
}

/// A broken manifest: its template, further files, the rule and the field.
struct Broken {
    template: String,
    files: Vec<(&'static str, &'static str)>,
    expected: &'static str,
}

fn one(template: impl Into<String>, expected: &'static str) -> Broken {
    Broken {
        template: template.into(),
        files: Vec::new(),
        expected,
    }
}

fn with(
    template: impl Into<String>,
    files: &[(&'static str, &'static str)],
    expected: &'static str,
) -> Broken {
    Broken {
        files: files.to_vec(),
        ..one(template, expected)
    }
}

/// Written as they stand in the template.
fn plain() -> Vec<Broken> {
    vec![
        one(
            deployment("        imagePullPolcy: Always{{/*!*/}}"),
            "unknown-field spec.template.spec.containers[0].imagePullPolcy",
        ),
        one(
            deployment("        imagePullPolicy: always{{/*!*/}}"),
            "unsupported-value spec.template.spec.containers[0].imagePullPolicy",
        ),
        one(
            deployment("        stdin: \"true\"{{/*!*/}}"),
            "wrong-type spec.template.spec.containers[0].stdin",
        ),
        one(
            deployment("        args: run{{/*!*/}}"),
            "wrong-type spec.template.spec.containers[0].args",
        ),
        one(
            deployment("        resources: {limits: {cpu: 1 core}}{{/*!*/}}"),
            "invalid-value spec.template.spec.containers[0].resources.limits.cpu",
        ),
        one(
            deployment("        env:\n        - value: x{{/*!*/}}"),
            "missing-field spec.template.spec.containers[0].env[0].name",
        ),
        one(
            deployment("        env: [{name: A, value: 1}]{{/*!*/}}"),
            "wrong-type spec.template.spec.containers[0].env[0].value",
        ),
        one(
            deployment("        ports:\n        - containerPort: 80.5{{/*!*/}}"),
            "wrong-type spec.template.spec.containers[0].ports[0].containerPort",
        ),
        one(
            deployment("        ports:\n        - containerPort: 99999999999{{/*!*/}}"),
            "wrong-type spec.template.spec.containers[0].ports[0].containerPort",
        ),
        one(deployment("        image: c{{/*!*/}}"), "duplicate-field image"),
        one(
            "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: a}\nspec:{{/*!*/}}\n  template: {}\n",
            "missing-field spec.selector",
        ),
        one(
            "apiVersion: batch/v1beta1{{/*!*/}}\nkind: CronJob\nmetadata: {name: a}\n",
            "removed-api apiVersion",
        ),
        one(
            "apiVersion: policy/v1beta1{{/*!*/}}\nkind: PodSecurityPolicy\nmetadata: {name: a}\n",
            "removed-api apiVersion",
        ),
        one(
            "apiVersion: apps/v1\nkind: Deploymnet{{/*!*/}}\nmetadata: {name: a}\n",
            "unknown-kind kind",
        ),
        one(
            "apiVersion: v1\nkind: Ingress{{/*!*/}}\nmetadata: {name: a}\n",
            "unknown-kind kind",
        ),
        one(
            "apiVersion: v1\nkind: ConfigMap\nmetadata:{{/*!*/}}\n  labels: {a: b}\n",
            "missing-field metadata.name",
        ),
        one(
            "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: Shop_1{{/*!*/}}\n",
            "invalid-value metadata.name",
        ),
        one("apiVersion: v1{{/*!*/}}\nmetadata: {name: a}\n", "no-object kind"),
        one(
            "# a comment\n---\napiVersion: v1\nkind: Secret\nmetadata: {name: a}\ndata:\n  a: '?'{{/*!*/}}\n",
            "invalid-value data.a",
        ),
        one(
            "apiVersion: v1\nkind: List\nitems:\n- apiVersion: v1\n  kind: Secret\n  metadata: {name: a}\n  dta: {}{{/*!*/}}\n",
            "unknown-field items[0].dta",
        ),
        one(
            config("  creationTimestamp: now{{/*!*/}}"),
            "invalid-value metadata.creationTimestamp",
        ),
        one(service("  - port: 80\n  - {{/*!*/}}"), "wrong-type spec.ports[1]"),
    ]
}

/// Printed by actions, loops and functions.
fn printed() -> Vec<Broken> {
    vec![
        one(
            service("  {{- range list 80 443 }}\n  - name: p{{ . }}\n    port: {{ . | quote }}{{/*!*/}}\n  {{- end }}")
                .replace("list 80 443", "list 80"),
            "wrong-type spec.ports[0].port",
        ),
        one(
            service(
                "  {{- range $i, $p := list 80 443 }}\n  - port: {{ $p }}\n    name: p{{ $i }}\n    {{- if $i }}\n    \
                 protcol: TCP{{/*!*/}}\n    {{- end }}\n  {{- end }}",
            ),
            "unknown-field spec.ports[1].protcol",
        ),
        one(
            service("  {{- with dict \"port\" \"x\" }}\n  - {{ toYaml . }}{{/*!*/}}\n  {{- end }}"),
            "wrong-type spec.ports[0].port",
        ),
        with(
            deployment("        resources:\n          {{- toYaml .Values.resources | nindent 10 }}{{/*!*/}}"),
            &[("values.yaml", "resources: {limits: {memory: 1GB}}\n")],
            "invalid-value spec.template.spec.containers[0].resources.limits.memory",
        ),
        with(
            deployment("        env: {{ .Values.env | toJson }}{{/*!*/}}"),
            &[("values.yaml", "env: [{name: A, value: true}]\n")],
            "wrong-type spec.template.spec.containers[0].env[0].value",
        ),
        with(
            deployment("        securityContext:\n          {{- with .Values.context }}\n          {{- . | toYaml | nindent 10 }}{{/*!*/}}\n          {{- end }}"),
            &[("values.yaml", "context: {runAsUsr: 1}\n")],
            "unknown-field spec.template.spec.containers[0].securityContext.runAsUsr",
        ),
        with(
            config("data:\n  {{- range $key, $value := .Values.data }}\n  {{ $key }}: {{ $value }}{{/*!*/}}\n  {{- end }}"),
            &[("values.yaml", "data: {a: 1}\n")],
            "wrong-type data.a",
        ),
        one(
            config("data:\n  a: {{ \"yes\" }}{{/*!*/}}"),
            "wrong-type data.a",
        ),
        one(
            "{{- range list \"a\" \"b\" }}\n---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: {{ . }}}\n{{- if eq . \"b\" }}\n\
             dta: {}{{/*!*/}}\n{{- end }}\n{{- end }}\n",
            "unknown-field dta",
        ),
    ]
}

/// Printed by other templates.
fn included() -> Vec<Broken> {
    let labels = "  labels:\n    {{- include \"labels\" . | nindent 4 }}";
    let ports = "        ports:\n          {{- include \"ports\" . | nindent 10 }}";
    let helpers = |text: &'static str| [("templates/_helpers.tpl", text)];
    vec![
        with(
            config(labels),
            &helpers("{{- define \"labels\" -}}\napp: shop\nversion: 1.0{{/*!*/}}\n{{- end }}"),
            "wrong-type metadata.labels.version",
        ),
        with(
            deployment(ports),
            &helpers(
                "{{- define \"ports\" -}}\n- name: http\n  containerPort: 80\n- name: http2\n  containerPort: \"81\"{{/*!*/}}\n{{- end }}",
            ),
            "wrong-type spec.template.spec.containers[0].ports[1].containerPort",
        ),
        // The same line stands there twice: its neighbours tell which one it is.
        with(
            deployment(ports),
            &helpers(
                "{{- define \"ports\" -}}\n- name: http\n  containerPort: 80\n  extra: {}{{/*!*/}}\n- name: b\n  containerPort: 81\n{{- end }}",
            ),
            "unknown-field spec.template.spec.containers[0].ports[0].extra",
        ),
        with(
            deployment(
                "        ports:\n          {{- include \"ports\" . | nindent 10 }}\n        livenessProbe:\n          {{- include \"probe\" . | nindent 10 }}",
            ),
            &helpers(
                "{{- define \"ports\" -}}\n- name: http\n  containerPort: 80\n{{- end }}\n{{- define \"probe\" -}}\nhttpGet:\n  port: 80\ntcpSocket:\n  port: 80\n  prt: 80{{/*!*/}}\n{{- end }}",
            ),
            "unknown-field spec.template.spec.containers[0].livenessProbe.tcpSocket.prt",
        ),
        with(
            config(labels),
            &helpers(
                "{{- define \"labels\" -}}\napp: shop\n{{ include \"more\" . }}\n{{- end }}\n{{- define \"more\" -}}\non: true{{/*!*/}}\n{{- end }}",
            ),
            "wrong-type metadata.labels.true",
        ),
        with(
            "{{ include \"whole\" . }}",
            &helpers(
                "{{- define \"whole\" -}}\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\nbinryData: {}{{/*!*/}}\n{{- end }}",
            ),
            "unknown-field binryData",
        ),
        with(
            "{{- $text := include \"whole\" . }}\n{{ $text }}",
            &helpers(
                "{{- define \"whole\" -}}\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\nimmutable: 1{{/*!*/}}\n{{- end }}",
            ),
            "wrong-type immutable",
        ),
        with(
            "{{ template \"whole\" . }}",
            &helpers(
                "{{- define \"whole\" -}}\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata: []{{/*!*/}}\n{{- end }}",
            ),
            "wrong-type data",
        ),
        with(
            config("{{ tpl .Values.extra . }}{{/*!*/}}"),
            &[(
                "values.yaml",
                "extra: |\n  data:\n    name: {{ .Release.Name }}\n    port: {{ 80 }}\n",
            )],
            "wrong-type data.port",
        ),
        with(
            config("data:\n  {{- tpl (toYaml .Values.data) . | nindent 2 }}{{/*!*/}}"),
            &[("values.yaml", "data: {a: \"{{ .Release.Name }}\", b: 3}\n")],
            "wrong-type data.b",
        ),
        with(
            config(
                "data:\n  {{- include \"render\" (dict \"value\" .Values.data \"context\" .) | nindent 2 }}",
            ),
            &[
                (
                    "templates/_render.tpl",
                    "{{- define \"render\" -}}\n{{- tpl (.value | toYaml) .context }}{{/*!*/}}\n{{- end }}",
                ),
                ("values.yaml", "data: {a: \"{{ .Release.Name }}\", b: 3}\n"),
            ],
            "wrong-type data.b",
        ),
        with(
            config("  {{- include \"meta\" . | fromYaml | toYaml | nindent 2 }}{{/*!*/}}"),
            &helpers("{{- define \"meta\" -}}\nlabels: {a: 1}\n{{- end }}"),
            "wrong-type metadata.labels.a",
        ),
    ]
}

/// The file and the line with the mark.
fn marked(files: &BTreeMap<&str, &str>) -> (String, usize) {
    let mut found = files.iter().flat_map(|(path, text)| {
        let lines = text.lines().enumerate();
        let marked = lines.filter(|(_, line)| line.contains(MARK));
        marked.map(|(index, _)| ((*path).to_owned(), index + 1))
    });
    let first = found.next().unwrap();
    assert_eq!(found.next(), None, "one mark");
    first
}

#[test]
fn forty_broken_manifests_are_found_at_their_line() {
    let mut count = 0;
    let mut wrong = Vec::new();
    for broken in plain().into_iter().chain(printed()).chain(included()) {
        let mut files = BTreeMap::from([
            ("templates/_helpers.tpl", HELPERS),
            ("templates/a.yaml", broken.template.as_str()),
        ]);
        files.extend(broken.files.iter().copied());
        let folder = tempfile::tempdir().unwrap();
        let all: Vec<(&str, &str)> = files.iter().map(|(path, text)| (*path, *text)).collect();
        let shop = shop(folder.path(), &all);
        let (path, line) = marked(&files);
        let found: Vec<String> = findings(&shop, &[])
            .iter()
            .map(|one| {
                let text = |key: &str| one[key].as_str().unwrap_or_default().to_owned();
                let file = text("file").replace(&format!("{}/", shop.display()), "");
                format!("{} {} at {file}:{}", text("rule"), text("field"), one["line"])
            })
            .collect();
        let expected = format!("{} at {path}:{line}", broken.expected);
        if found != [expected.clone()] {
            wrong.push(format!("expected {expected}\nfound    {found:#?}"));
        }
        count += 1;
    }
    assert!(
        wrong.is_empty(),
        "{} of {count}:\n{}",
        wrong.len(),
        wrong.join("\n")
    );
    assert!(count >= 40, "{count}");
}

#[test]
fn a_finding_names_the_templates_that_included_the_line() {
    let folder = tempfile::tempdir().unwrap();
    let template = config("  labels:\n    {{- include \"outer\" . | nindent 4 }}");
    let helpers = "{{- define \"outer\" -}}\na: b\n{{ include \"inner\" . }}\n{{- end }}\n{{- define \"inner\" -}}\nc: 1\n{{- end }}\n";
    let files = [
        ("templates/a.yaml", template.as_str()),
        ("templates/_helpers.tpl", helpers),
    ];
    let shop = shop(folder.path(), &files);
    let trace = &findings(&shop, &[])[0]["trace"];
    let shown: Vec<String> = trace
        .as_array()
        .unwrap()
        .iter()
        .map(|one| format!("{} {}", one["included"].as_str().unwrap(), one["line"]))
        .collect();
    assert_eq!(shown, ["included as \"inner\" 3", "included as \"outer\" 6"]);
}
