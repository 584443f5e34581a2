//! Requests as JSON, and what comes of them.
#![allow(clippy::unwrap_used, reason = "a test that can't go on should stop")]

use serde_json::{Value, json};
use solar_playground::respond;

fn ask(request: &Value) -> Value {
    serde_json::from_str(&respond(&request.to_string())).unwrap()
}

fn render(template: &str, values: &str) -> Value {
    ask(&json!({
        "ask": "render",
        "files": [
            {"path": "Chart.yaml", "text": "{apiVersion: v2, name: shop, version: 1.0.0}"},
            {"path": "values.yaml", "text": "color: red"},
            {"path": "templates/a.yaml", "text": template},
            {"path": "logo.bin", "bytes": "/w=="},
        ],
        "values": values,
        "release": "one",
        "namespace": "prod",
        "kubeVersion": "1.31",
        "includeCrds": false,
        "now": 86_400_000,
        "random": "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=",
    }))
}

#[test]
fn a_chart_is_rendered_with_values_time_and_files() {
    let template = "a: {{ .Values.color }} {{ .Release.Namespace }} {{ now | unixEpoch }} {{ .Files.Get \"logo.bin\" | b64enc }}";
    let answer = render(template, "color: blue");
    assert_eq!(
        answer["output"],
        "---\n# Source: shop/templates/a.yaml\na: blue prod 86400 /w==\n"
    );
    assert_eq!(
        (&answer["objects"], &answer["diagnostics"]),
        (&json!(1), &json!([]))
    );
}

#[test]
fn errors_have_locations_in_the_charts_files() {
    let error = &render("a: 1\nb: {{ .Values.color.shade }}", "")["diagnostics"][0];
    assert_eq!(error["at"]["file"], "templates/a.yaml");
    assert_eq!(
        (&error["at"]["line"], &error["excerpt"]),
        (&json!(2), &json!("b: {{ .Values.color.shade }}"))
    );
    // What is rendered and is no YAML, too.
    let error = &render("a: 1\n- {{ .Values.color }}", "")["diagnostics"][0];
    assert_eq!(
        (&error["at"]["file"], &error["at"]["line"]),
        (&json!("templates/a.yaml"), &json!(2)),
        "{error}"
    );
    let error = &render("a: 1", "color: [")["diagnostics"][0];
    assert_eq!(error["at"]["file"], "values given");
}

#[test]
fn random_bytes_are_the_requests() {
    let template = "a: {{ uuidv4 }}{{ uuidv4 }}";
    assert_eq!(render(template, "")["output"], render(template, "")["output"]);
    let twice = render("a: {{ eq uuidv4 uuidv4 }}", "");
    assert!(twice["output"].as_str().unwrap().contains("a: false"), "{twice}");
}

#[test]
fn what_is_no_request_or_no_archive_is_an_error() {
    let answer = ask(&json!({"ask": "print"}));
    let message = answer["diagnostics"][0]["message"].as_str().unwrap();
    assert!(
        message.starts_with("the request is not as expected: "),
        "{message}"
    );
    let answer = ask(&json!({"ask": "unpack", "name": "a.tgz", "archive": "AAAA"}));
    let message = answer["diagnostics"][0]["message"].as_str().unwrap();
    assert!(message.contains("a.tgz can't be read as a .tgz"), "{message}");
}

#[test]
fn what_helmignore_excludes_is_no_part_of_the_chart() {
    let text = |path: &str, text: &str| json!({"path": path, "text": text});
    let answer = ask(&json!({
        "ask": "render",
        "files": [
            text("Chart.yaml", "{apiVersion: v2, name: shop, version: 1.0.0}"),
            text(".helmignore", "*.txt\nold/\n"),
            text("a.txt", ""),
            text("old/b.yaml", ""),
            text("c.yaml", ""),
            text("templates/a.yaml", "a: {{ range $path, $_ := .Files.Glob \"**\" }}{{ $path }} {{ end }}"),
        ],
        "values": "", "release": "one", "namespace": "prod", "kubeVersion": "", "includeCrds": false, "now": 0, "random": "",
    }));
    assert_eq!(
        answer["output"],
        "---\n# Source: shop/templates/a.yaml\na: .helmignore c.yaml\n"
    );
}
