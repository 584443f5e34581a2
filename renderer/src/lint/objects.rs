//! The checks of a rendered object, in Helm's order.

use super::decode::{FieldType, StructType, decode, text_of};
use super::{Linter, deprecations, documents, names, rules};
use crate::template::print::quote;
use crate::value::{Map, Value};
use crate::yaml::{Kind, Node};

static METADATA: StructType = StructType {
    name: "k8sYamlMetadata",
    full_name: "rules.k8sYamlMetadata",
    fields: &[("Namespace", FieldType::Text), ("Name", FieldType::Text)],
};

static OBJECT: StructType = StructType {
    name: "k8sYamlStruct",
    full_name: "rules.k8sYamlStruct",
    fields: &[
        ("apiVersion", FieldType::Text),
        ("Kind", FieldType::Text),
        ("Metadata", FieldType::Struct(&METADATA)),
    ],
};

/// The fields of an object that the checks use.
pub(super) struct ObjectHeader {
    pub(super) api_version: String,
    pub(super) kind: String,
    pub(super) name: String,
}

/// A document as an object; `None` if it is empty. The error is Go's message.
pub(super) fn object(node: &Node) -> Result<Option<ObjectHeader>, String> {
    if node.is_null() {
        return Ok(None);
    }
    let decoded = decode(node, &OBJECT);
    if let Some(words) = decoded.problem {
        return Err(format!("error unmarshaling JSON: while decoding JSON: {words}"));
    }
    let metadata = match decoded.fields.get("Metadata") {
        Some(Value::Map(map)) => map.clone(),
        _ => Map::default(),
    };
    Ok(Some(ObjectHeader {
        api_version: text_of(&decoded.fields, "apiVersion").to_owned(),
        kind: text_of(&decoded.fields, "Kind").to_owned(),
        name: text_of(&metadata, "Name").to_owned(),
    }))
}

pub(super) fn is_yaml(path: &str) -> bool {
    let lower = path.to_lowercase();
    lower.ends_with(".yaml") || lower.ends_with(".yml")
}

/// Records that a file is not YAML if Helm doesn't get to it.
pub(super) fn unreadable(linter: &mut Linter, path: &str, name: &str, text: &str) {
    if !is_yaml(path) || text.trim().is_empty() {
        return;
    }
    if let Some(Err(broken)) = documents::read(name, text, &OBJECT).pop()
        && let Some(one) = broken.diagnostic
    {
        linter.own(path, &rules::YAML_SYNTAX, *one);
    }
}

/// Parses the documents of a file; returns whether all of them are valid. `name` is the file's name in diagnostics.
pub(super) fn each(
    linter: &mut Linter,
    path: &str,
    name: &str,
    text: &str,
    visit: &mut dyn FnMut(&mut Linter, &ObjectHeader),
) -> bool {
    for document in documents::read(name, text, &OBJECT) {
        let read = document.map_err(|broken| (broken.words, broken.diagnostic));
        let object = read.and_then(|node| object(&node).map_err(|words| (words, None)));
        match object {
            Ok(Some(object)) => visit(linter, &object),
            Ok(None) => {}
            Err((words, diagnostic)) => {
                let words = format!("unable to parse YAML: {words}");
                linter.report(path, &rules::YAML_SYNTAX, Some(words));
                if let Some(one) = diagnostic {
                    linter.explain(*one);
                }
                return false;
            }
        }
    }
    true
}

/// The checks of one object of a rendered file.
pub(super) fn check(
    linter: &mut Linter,
    path: &str,
    object: &ObjectHeader,
    text: &str,
    kubernetes: (u64, u64),
) {
    linter.report(
        path,
        &rules::OBJECT_NAME,
        names::check(&object.kind, &object.name),
    );
    let deprecated = deprecations::message(&object.api_version, &object.kind, kubernetes);
    linter.report(path, &rules::DEPRECATED_API, deprecated.map(str::to_owned));
    linter.report(path, &rules::MATCH_SELECTOR, selector(object, text));
    linter.report(path, &rules::LIST_ANNOTATIONS, annotations(object, path, text));
}

fn selector(object: &ObjectHeader, text: &str) -> Option<String> {
    let kind = object.kind.as_str();
    let selects = matches!(kind, "Deployment" | "ReplicaSet" | "DaemonSet" | "StatefulSet");
    let missing = selects && !text.contains("matchLabels") && !text.contains("matchExpressions");
    let name = || quote(&object.name);
    missing.then(|| {
        format!(
            "a {kind} must contain matchLabels or matchExpressions, and {} does not",
            name()
        )
    })
}

/// Helm checks the first document of the file, whichever one has the list.
fn annotations(object: &ObjectHeader, path: &str, text: &str) -> Option<String> {
    if object.kind != "List" {
        return None;
    }
    let node = match documents::first(path, text) {
        Ok(node) => node,
        Err(broken) => return Some(format!("unable to parse YAML: {}", broken.words)),
    };
    let field = |node: &Node, name: &str| {
        let entries = node.entries();
        let found = entries
            .iter()
            .find(|entry| entry.key.eq_ignore_ascii_case(name))?;
        Some(found.value.clone())
    };
    let items = field(&node, "items")?;
    let Kind::Seq(items) = &items.kind else {
        return None;
    };
    let kept = items.iter().any(|item| {
        let annotations = field(item, "metadata").and_then(|metadata| field(&metadata, "annotations"));
        annotations.is_some_and(|annotations| annotations.get("helm.sh/resource-policy").is_some())
    });
    kept.then(|| "annotation 'helm.sh/resource-policy' within List objects are ignored".to_owned())
}
