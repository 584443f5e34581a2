//! What Helm 4.3.1 made of the same inputs.

use super::*;

fn folder(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../testdata/yaml")
        .join(name)
}

/// The inputs are JSON, which is YAML too, and so read by what is being tested.
fn pairs(path: &str) -> Vec<(Value, Option<String>)> {
    let load = |suffix: &str| std::fs::read_to_string(folder(&format!("{path}.{suffix}.json"))).unwrap();
    let inputs = read(&load("in")).unwrap();
    let outputs: Vec<Option<String>> = serde_json::from_str(&load("out")).unwrap();
    assert_eq!(inputs.items().len(), outputs.len());
    inputs.items().iter().map(Node::to_value).zip(outputs).collect()
}

/// Texts that Helm reads otherwise, each for a reason.
const READ_DEPARTURES: [(&str, &str); 4] = [
    ("{\"a\":\"\\/\"}", "JSON's `\\/` is an escape"),
    ("\"\\ud83d\\ude00\"", "JSON's surrogate pairs are one character"),
    ("{}1e3<<: *aa:b`", "garbage after the document is an error"),
    (
        "[\t]true!? a::bword: val0777",
        "garbage after the document is an error",
    ),
];

fn agrees_with_helm(path: &str) {
    let mut wrong = Vec::new();
    for (input, expected) in pairs(path) {
        let text = input.as_str().unwrap();
        let got = read(text).map(|node| node.to_value().to_json());
        let same = match (&expected, &got) {
            // Go writes what is not UTF-8 as an escape.
            (Some(expected), Ok(got)) => expected.replace("\\ufffd", "\u{fffd}") == *got,
            (None, Err(_)) => true,
            _ => false,
        };
        if !same && !READ_DEPARTURES.iter().any(|(departure, _)| *departure == text) {
            wrong.push(format!("{text:?}: Helm {expected:?}, here {got:?}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn scalars_are_read_as_helm_reads_them() {
    agrees_with_helm("read/scalars");
}

#[test]
fn structures_are_read_as_helm_reads_them() {
    agrees_with_helm("read/structures");
}

#[test]
fn random_texts_are_read_as_helm_reads_them() {
    agrees_with_helm("read/random");
}

fn written_as_helm_writes(path: &str) {
    let mut wrong = Vec::new();
    for (value, expected) in pairs(path) {
        let text = yaml::write(&value);
        // What Helm can't write has tests of its own.
        if expected.is_some_and(|expected| expected != text) {
            wrong.push(format!("{} gives\n{text}", value.to_json()));
        }
        assert_eq!(canonical(data(&text)), canonical(value), "{text}");
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn texts_are_written_as_helm_writes_them() {
    written_as_helm_writes("write/texts");
}

#[test]
fn trees_are_written_as_helm_writes_them() {
    written_as_helm_writes("write/trees");
}

/// What `helm template` printed: values files, `toYaml` and `fromYaml` take the same path.
#[test]
fn the_path_through_helm_template_is_the_same() {
    let values = std::fs::read_to_string(folder("helm/values.yaml")).unwrap();
    let printed = std::fs::read_to_string(folder("helm/printed.yaml")).unwrap();
    assert_eq!(yaml::write(&data(&values)), printed);
}
