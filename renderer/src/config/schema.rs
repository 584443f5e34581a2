//! The config as it is in a file or an API server, for embedding it in a schema.
//!
//! [`parse`](super::parse) validates configs and reports errors; these types only have the same fields, which a test
//! checks. `blueprint` is omitted: its templates are a folder, which no API server has.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Helm values: any map.
pub type Data = serde_json::Map<String, serde_json::Value>;

/// The config that a chart is rendered from.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ConfigDocument {
    /// The chart's type. The block of this name is rendered; the other one may be present and is ignored.
    #[serde(rename = "type")]
    pub kind: ChartKind,
    /// A release chart: a component as a Flux OCIRepository and HelmRelease.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub release: Option<ReleaseDocument>,
    /// A bootstrap chart: a Flux OCIRepository and HelmRelease for each release.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bootstrap: Option<BootstrapDocument>,
}

/// The type of a chart.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum ChartKind {
    /// A release chart: a component as a Flux OCIRepository and HelmRelease.
    Release,
    /// A bootstrap chart: a Flux OCIRepository and HelmRelease for each release.
    Bootstrap,
}

/// A release chart: a component as a Flux OCIRepository and HelmRelease.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ReleaseDocument {
    /// The chart's metadata, as in Chart.yaml.
    pub chart: ChartDocument,
    /// The input of the chart's templates.
    pub input: ReleaseInput,
    /// The namespace that the component is installed in. Default: the namespace of the Helm release.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub target_namespace: String,
    /// The component's Helm values.
    #[serde(default, skip_serializing_if = "Data::is_empty")]
    #[schemars(schema_with = "any_map")]
    pub values: Data,
}

/// The input of a release chart.
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
    /// The component's name: lower-case letters, digits, `-` and `.`, as in names of Kubernetes objects.
    pub name: String,
}

/// A resource of a component: a chart in an OCI registry.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ReleaseResource {
    /// `host/path`, with or without `oci://`.
    pub repository: String,
    /// Whether the registry is reached over plain HTTP. Default: false.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub insecure: bool,
    /// A tag, or `@sha256:…`.
    pub tag: String,
    /// The Helm settings of the resource.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub helm: Option<HelmOptions>,
    /// The name of the Secret that Flux pulls the chart with.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub pull_secret_name: String,
    /// The signature that Flux requires of the chart: `spec.verify` of its OCIRepository.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub verify: Option<VerifyDocument>,
}

/// The signature that Flux requires of a chart.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct VerifyDocument {
    /// The format of the signature.
    #[serde(default)]
    pub provider: VerifyProvider,
    /// The Secret with public keys. The chart must be signed with one of them.
    pub secret_ref: SecretReference,
}

/// The format of the signature.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum VerifyProvider {
    /// A signature with a key pair, in cosign's format.
    #[default]
    Cosign,
}

/// A Secret in the namespace of the Flux objects.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SecretReference {
    /// The Secret's name.
    pub name: String,
}

/// A Secret with public keys that is part of the chart: Flux verifies other charts with it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct VerificationKeysDocument {
    /// The Secret's name.
    pub secret_name: String,
    /// Public keys in PEM, by file name, which ends in `.pub`.
    pub keys: BTreeMap<String, String>,
}

/// The Helm settings of a resource.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct HelmOptions {
    /// Helm values as YAML text. They are stored in a ConfigMap that the HelmRelease refers to.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub values_template: String,
}

/// The resource that is installed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct EntrypointDocument {
    /// The resource's key in `resources`.
    pub resource_name: String,
    /// The resource's type: `helm`.
    #[serde(rename = "type")]
    pub kind: String,
}

/// A bootstrap chart: a Flux OCIRepository and HelmRelease for each release.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct BootstrapDocument {
    /// The chart's metadata, as in Chart.yaml.
    pub chart: ChartDocument,
    /// The input of the chart's templates.
    pub input: BootstrapInput,
}

/// The input of a bootstrap chart.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct BootstrapInput {
    /// The releases, by key: lower-case letters, digits, `-` and `.`, as in names of Kubernetes objects.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub releases: BTreeMap<String, BootstrapRelease>,
    /// Values that each release gets under the key `userdata`.
    #[serde(default, skip_serializing_if = "Data::is_empty")]
    #[schemars(schema_with = "any_map")]
    pub userdata: Data,
    /// A Secret with public keys that is part of the chart.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub verification_keys: Option<VerificationKeysDocument>,
}

/// A release chart in a registry.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct BootstrapRelease {
    /// `host/path`, with or without `oci://`.
    pub repository: String,
    /// Whether the registry is reached over plain HTTP. Default: false.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub insecure: bool,
    /// The chart's version, or a range of versions.
    pub tag: String,
    /// The name of the Secret that Flux pulls the chart with.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub pull_secret_name: String,
    /// The signature that Flux requires of the chart: `spec.verify` of its OCIRepository.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub verify: Option<VerifyDocument>,
}

/// The chart's metadata, as in Chart.yaml.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ChartDocument {
    /// The chart's name.
    pub name: String,
    /// A description in one sentence.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub description: String,
    /// The chart's version.
    pub version: String,
    /// The version of the application that the chart installs.
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
