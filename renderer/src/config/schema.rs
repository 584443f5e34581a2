//! The config as it is in a file or an API server, for embedding it in a schema.
//!
//! [`parse`](super::parse) validates configs and reports errors; these types only have the same fields, which a test
//! checks. `blueprint` is omitted: its templates are a folder, which no API server has.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Any map: what a chart gets as values.
pub type Data = serde_json::Map<String, serde_json::Value>;

/// The renderer's config: what chart is rendered, and from what.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ConfigDocument {
    /// Which kind of chart: the block of this name is rendered, the other may be present and is ignored.
    #[serde(rename = "type")]
    pub kind: ChartKind,
    /// A component as Flux objects.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub release: Option<ReleaseDocument>,
    /// Many releases as Flux objects.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bootstrap: Option<BootstrapDocument>,
}

/// Which kind of chart.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum ChartKind {
    /// A component as Flux objects.
    Release,
    /// Many releases as Flux objects.
    Bootstrap,
}

/// A component as Flux objects.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ReleaseDocument {
    /// What Chart.yaml says.
    pub chart: ChartDocument,
    /// What the chart is made of.
    pub input: ReleaseInput,
    /// The namespace the component goes to; empty: where the release is.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub target_namespace: String,
    /// The component's Helm values.
    #[serde(default, skip_serializing_if = "Data::is_empty")]
    #[schemars(schema_with = "any_map")]
    pub values: Data,
}

/// What a release chart is made of.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ReleaseInput {
    /// The component.
    pub component: Component,
    /// The component's resources, by name.
    pub resources: BTreeMap<String, ReleaseResource>,
    /// The resource that is installed.
    pub entrypoint: EntrypointDocument,
}

/// A component.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Component {
    /// Fits Kubernetes object names.
    pub name: String,
}

/// A chart in a registry.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ReleaseResource {
    /// `host/path`, with or without `oci://`.
    pub repository: String,
    /// Plain HTTP.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub insecure: bool,
    /// A tag, or `@sha256:…`.
    pub tag: String,
    /// How Helm installs it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub helm: Option<HelmOptions>,
    /// The Secret that Flux pulls with.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub pull_secret_name: String,
    /// Whose signature Flux requires of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub verify: Option<VerifyDocument>,
}

/// Whose signature Flux requires.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct VerifyDocument {
    /// How charts are signed.
    #[serde(default)]
    pub provider: VerifyProvider,
    /// The Secret with public keys, one of which must have signed the chart.
    pub secret_ref: SecretReference,
}

/// How charts are signed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum VerifyProvider {
    /// With a key pair, in cosign's format.
    #[default]
    Cosign,
}

/// A Secret where the Flux objects are.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SecretReference {
    /// Its name.
    pub name: String,
}

/// Public keys that a chart brings along as a Secret, for Flux to verify other charts with.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct VerificationKeysDocument {
    /// The Secret's name.
    pub secret_name: String,
    /// Public keys in PEM, by file name, which ends in `.pub`.
    pub keys: BTreeMap<String, String>,
}

/// How Helm installs a resource.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct HelmOptions {
    /// Helm values as text, for Flux to template.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub values_template: String,
}

/// The resource that is installed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct EntrypointDocument {
    /// A key of `resources`.
    pub resource_name: String,
    /// `helm`.
    #[serde(rename = "type")]
    pub kind: String,
}

/// Many releases as Flux objects.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct BootstrapDocument {
    /// What Chart.yaml says.
    pub chart: ChartDocument,
    /// What the chart is made of.
    pub input: BootstrapInput,
}

/// What a bootstrap chart is made of.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct BootstrapInput {
    /// The releases, by key; keys fit Kubernetes object names.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub releases: BTreeMap<String, BootstrapRelease>,
    /// What each release gets as `userdata`.
    #[serde(default, skip_serializing_if = "Data::is_empty")]
    #[schemars(schema_with = "any_map")]
    pub userdata: Data,
    /// Public keys that the chart brings along as a Secret.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub verification_keys: Option<VerificationKeysDocument>,
}

/// A release chart in a registry.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct BootstrapRelease {
    /// `host/path`, with or without `oci://`.
    pub repository: String,
    /// Plain HTTP.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub insecure: bool,
    /// A version, or a range of versions.
    pub tag: String,
    /// The Secret that Flux pulls with.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub pull_secret_name: String,
    /// Whose signature Flux requires of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub verify: Option<VerifyDocument>,
}

/// What Chart.yaml says.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ChartDocument {
    /// The name.
    pub name: String,
    /// One line for people.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub description: String,
    /// The version.
    pub version: String,
    /// The version of what the chart installs.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub app_version: String,
}

/// Kubernetes' structural schemas don't support `true`, so unknown fields of a map's values are preserved. Preserving
/// unknown fields of the map itself would accept the same objects, but then rules treat maps with different keys as
/// equal.
fn any_map(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
    schemars::json_schema!({
        "type": "object",
        "additionalProperties": {"nullable": true, "x-kubernetes-preserve-unknown-fields": true},
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::source::Source;
    use serde_json::json;

    /// A document with every field set; a new field makes this fail to compile or the schema differ.
    fn full() -> serde_json::Value {
        let chart = json!({"name": "shop", "description": "d", "version": "1.0.0", "appVersion": "2"});
        json!({
            "type": "release",
            "release": {
                "chart": chart,
                "input": {
                    "component": {"name": "shop"},
                    "resources": {"chart": {
                        "repository": "h.example/c/shop", "insecure": true, "tag": "1.0.0",
                        "helm": {"valuesTemplate": "a: 1"}, "pullSecretName": "pull",
                        "verify": {"provider": "cosign", "secretRef": {"name": "keys"}},
                    }},
                    "entrypoint": {"resourceName": "chart", "type": "helm"},
                },
                "targetNamespace": "shop",
                "values": {"replicas": 2, "ratio": 0.5, "nothing": null, "list": [1, "a"]},
            },
            "bootstrap": {
                "chart": chart,
                "input": {
                    "releases": {"shop": {
                        "repository": "h.example/c/shop", "insecure": true, "tag": "1.0.0", "pullSecretName": "pull",
                        "verify": {"provider": "cosign", "secretRef": {"name": "keys"}},
                    }},
                    "userdata": {"region": "eu"},
                    "verificationKeys": {"secretName": "keys", "keys": {
                        "cosign.pub": include_str!("../../../testdata/signing/cosign.pub"),
                    }},
                },
            },
        })
    }

    /// The names of all fields, `resources.*` for those of a map's values.
    fn fields(schema: &serde_json::Value, path: &str, found: &mut Vec<String>) {
        let named = schema.get("properties").and_then(|names| names.as_object());
        for (name, inner) in named.into_iter().flatten() {
            found.push(format!("{path}{name}"));
            fields(inner, &format!("{path}{name}."), found);
        }
        if let Some(inner) = schema.get("additionalProperties") {
            fields(inner, &format!("{path}*."), found);
        }
        for inner in schema
            .get("anyOf")
            .and_then(|list| list.as_array())
            .into_iter()
            .flatten()
        {
            fields(inner, path, found);
        }
    }

    /// The fields of a document, down to arbitrary data.
    fn used(document: &serde_json::Value, path: &str, found: &mut Vec<String>) {
        for (name, inner) in document.as_object().into_iter().flatten() {
            let in_map = path.ends_with("resources.") || path.ends_with("releases.");
            let next = if in_map {
                format!("{path}*")
            } else {
                format!("{path}{name}")
            };
            if !in_map {
                found.push(next.clone());
            }
            if !["values", "userdata", "keys"].contains(&name.as_str()) {
                used(inner, &format!("{next}."), found);
            }
        }
    }

    #[test]
    fn the_schema_type_is_what_the_parser_reads() {
        let document: ConfigDocument = serde_json::from_value(full()).expect("the form");
        assert_eq!(
            serde_json::to_value(&document).expect("JSON"),
            full(),
            "nothing is lost on the way"
        );
        for kind in [ChartKind::Release, ChartKind::Bootstrap] {
            let document = ConfigDocument {
                kind,
                ..document.clone()
            };
            let text = serde_json::to_string(&document).expect("JSON");
            let parsed = super::super::parse(&Source::new("config.json", text));
            assert!(parsed.is_ok(), "{parsed:?}");
        }
    }

    #[test]
    fn the_schema_names_the_same_fields() {
        let settings =
            schemars::generate::SchemaSettings::openapi3().with(|settings| settings.inline_subschemas = true);
        let schema = settings.into_generator().into_root_schema_for::<ConfigDocument>();
        let (mut in_schema, mut in_document) = (Vec::new(), Vec::new());
        fields(schema.as_value(), "", &mut in_schema);
        used(&full(), "", &mut in_document);
        in_schema.sort();
        in_document.sort();
        assert_eq!(in_schema, in_document);
    }
}
