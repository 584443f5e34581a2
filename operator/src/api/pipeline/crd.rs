//! The CRDs of the pipeline's kinds, from their types.

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::{
    CustomResourceDefinition, JSON, JSONSchemaProps,
};
use schemars::JsonSchema;
use serde_json::{Value, json};

use super::{
    Column, ComponentSpec, ComponentVersionSpec, ProfileSpec, ReferenceGrantSpec, RegistryBindingSpec,
    RegistrySpec, ReleaseBindingSpec, ReleaseSpec, RenderArtifactSpec, RenderBindingSpec, Spec, TargetSpec,
};
use crate::api::crd::{Names, definition, structural};

/// The columns that every kind has after its own.
const COMMON_COLUMNS: [Column; 3] = [
    (
        "Ready",
        "string",
        ".status.conditions[?(@.type==\"Ready\")].status",
    ),
    (
        "Reason",
        "string",
        ".status.conditions[?(@.type==\"Ready\")].reason",
    ),
    ("Age", "date", ".metadata.creationTimestamp"),
];

/// The whole object, for the schema.
#[derive(JsonSchema)]
#[schemars(bound = "S: Spec")]
#[allow(dead_code, reason = "only its schema is used")]
struct Root<S: Spec> {
    spec: S,
    #[serde(default)]
    #[schemars(with = "S::Status")]
    status: S::Status,
}

/// The CRDs, in the order in which they are documented.
pub fn crds() -> Result<Vec<CustomResourceDefinition>, serde_json::Error> {
    [
        crd::<ComponentSpec>,
        crd::<ComponentVersionSpec>,
        crd::<ReleaseSpec>,
        crd::<ReleaseBindingSpec>,
        crd::<ProfileSpec>,
        crd::<RegistrySpec>,
        crd::<RegistryBindingSpec>,
        crd::<TargetSpec>,
        crd::<RenderArtifactSpec>,
        crd::<RenderBindingSpec>,
        crd::<ReferenceGrantSpec>,
    ]
    .into_iter()
    .map(|crd| crd())
    .collect()
}

fn crd<S: Spec>() -> Result<CustomResourceDefinition, serde_json::Error> {
    let names = Names {
        kind: S::KIND,
        plural: S::PLURAL,
        short: S::SHORT,
        scope: "Namespaced",
    };
    let columns = S::COLUMNS.iter().chain(&COMMON_COLUMNS);
    let columns = columns.map(|(name, type_, path)| (*name, *type_, *path, 0));
    let mut schema = structural::<Root<S>>(S::ABOUT)?;
    if let (Some(message), Some(status)) = (S::READY_FROM_CREATION, status_of(&mut schema)) {
        status.default = Some(JSON(ready(message)));
    }
    Ok(definition(&names, columns, schema))
}

fn status_of(schema: &mut JSONSchemaProps) -> Option<&mut JSONSchemaProps> {
    schema.properties.as_mut()?.get_mut("status")
}

/// The status of an object that is ready from its creation on. A default can't know when that was.
fn ready(message: &str) -> Value {
    json!({"conditions": [{
        "type": "Ready", "status": "True", "reason": "Ready", "message": message,
        "lastTransitionTime": "1970-01-01T00:00:00Z",
    }]})
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all() -> Vec<Value> {
        let crds = crds().expect("CRDs");
        crds.iter()
            .map(|crd| serde_json::to_value(crd).expect("JSON"))
            .collect()
    }

    fn schema<'a>(crds: &'a [Value], kind: &str, path: &str) -> &'a Value {
        let crd = crds.iter().find(|crd| crd["spec"]["names"]["kind"] == kind);
        let path = format!("/spec/versions/0/schema/openAPIV3Schema/properties/{path}");
        crd.and_then(|crd| crd.pointer(&path))
            .unwrap_or_else(|| panic!("{kind}: {path}"))
    }

    /// SolAr's names, which its clients and manifests use.
    #[test]
    fn kinds_and_short_names_are_solars() {
        let names: Vec<(String, String, String)> = all()
            .iter()
            .map(|crd| {
                let names = &crd["spec"]["names"];
                let text = |value: &Value| value.as_str().unwrap_or("").to_owned();
                (
                    text(&names["kind"]),
                    text(&names["plural"]),
                    text(&names["shortNames"][0]),
                )
            })
            .collect();
        let expected = [
            ("Component", "components", "comp"),
            ("ComponentVersion", "componentversions", "cv"),
            ("Release", "releases", "rel"),
            ("ReleaseBinding", "releasebindings", "rlb"),
            ("Profile", "profiles", "prf"),
            ("Registry", "registries", "reg"),
            ("RegistryBinding", "registrybindings", "rb"),
            ("Target", "targets", "tgt"),
            ("RenderArtifact", "renderartifacts", "ra"),
            ("RenderBinding", "renderbindings", "rbin"),
            ("ReferenceGrant", "referencegrants", "rg"),
        ];
        let expected: Vec<_> = expected
            .iter()
            .map(|(kind, plural, short)| ((*kind).into(), (*plural).into(), (*short).into()))
            .collect();
        assert_eq!(names, expected);
    }

    #[test]
    fn every_kind_is_namespaced_and_prints_ready_reason_and_age() {
        for crd in all() {
            assert_eq!(crd["spec"]["scope"], "Namespaced");
            let version = &crd["spec"]["versions"][0];
            assert!(version["subresources"]["status"].is_object(), "{crd:#}");
            let columns = version["additionalPrinterColumns"].as_array().expect("columns");
            let names: Vec<_> = columns
                .iter()
                .filter_map(|column| column["name"].as_str())
                .collect();
            assert_eq!(names[names.len() - 3..], ["Ready", "Reason", "Age"]);
        }
    }

    #[test]
    fn the_fields_are_solars() {
        let crds = all();
        let fields = |kind: &str, path: &str| -> Vec<String> {
            let properties = schema(&crds, kind, &format!("{path}/properties"));
            properties.as_object().expect("fields").keys().cloned().collect()
        };
        let table = [
            ("Component", "registry repository scheme"),
            ("ComponentVersion", "componentRef entrypoint resources tag"),
            (
                "Release",
                "antiAffinity componentVersionRef failedJobTTL priority targetNamespace uniqueName values",
            ),
            ("ReleaseBinding", "releaseRef targetRef"),
            // `suspend` is ours, here and below, as is `signing`.
            ("Profile", "releaseRef suspend targetSelector userdata"),
            (
                "Registry",
                "flavor hostname plainHTTP scanInterval solarSecretRef targetPullSecretName webhookPath",
            ),
            ("RegistryBinding", "registryRef targetRef"),
            ("Target", "renderRegistryRef signing suspend userdata"),
            (
                "RenderArtifact",
                "baseURL registryRef renderTaskRef repository tag",
            ),
            (
                "RenderBinding",
                "ownerKind ownerName ownerNamespace registryRef renderArtifactRef",
            ),
            ("ReferenceGrant", "from to"),
        ];
        for (kind, expected) in table {
            assert_eq!(fields(kind, "spec").join(" "), expected, "{kind}");
        }
        assert_eq!(
            fields(
                "ComponentVersion",
                "spec/properties/resources/additionalProperties/properties/helm"
            ),
            ["appVersion", "description", "name", "valuesTemplate", "version"]
        );
        assert_eq!(
            fields("Target", "status"),
            [
                "bootstrapChartURL",
                "bootstrapDigest",
                "bootstrapInput",
                "bootstrapVersion",
                "conditions",
                "observedGeneration",
                "releases",
                "signing"
            ]
        );
    }

    #[test]
    fn every_field_is_described_and_every_text_of_a_spec_has_a_limit() {
        fn check(schema: &Value, path: &str, is_limited: bool) {
            for (name, inner) in schema["properties"].as_object().into_iter().flatten() {
                let path = format!("{path}.{name}");
                assert!(inner["description"].is_string(), "{path} has no description");
                limited(inner, &path, is_limited);
            }
        }
        fn limited(inner: &Value, path: &str, is_limited: bool) {
            if is_limited && inner["type"] == "string" {
                assert!(
                    inner["maxLength"].is_number() || inner["enum"].is_array(),
                    "{path} has no limit: {inner}"
                );
            }
            if is_limited && inner["type"] == "array" {
                assert!(inner["maxItems"].is_number(), "{path} has no limit: {inner}");
            }
            check(inner, path, is_limited);
            for below in [&inner["items"], &inner["additionalProperties"]] {
                if below.is_object() {
                    limited(below, path, is_limited);
                }
            }
        }
        for crd in all() {
            let properties = &crd["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"];
            check(&json!({"properties": {"spec": properties["spec"]}}), "", true);
            check(
                &json!({"properties": {"status": properties["status"]}}),
                "",
                false,
            );
            let conditions = &properties["status"]["default"]["conditions"];
            let is_data = [
                "Component",
                "ComponentVersion",
                "Registry",
                "RenderBinding",
                "ReferenceGrant",
            ]
            .map(Value::from)
            .contains(&crd["spec"]["names"]["kind"]);
            assert_eq!(conditions[0]["status"] == "True", is_data, "{crd:#}");
            assert_eq!(
                conditions.is_array(),
                is_data,
                "only these need nothing found out"
            );
        }
    }

    /// As upstream's API server returns it: with every field that its Go types don't omit when empty.
    #[test]
    fn what_upstreams_api_server_returns_is_read() {
        let release = json!({
            "apiVersion": "solar.opendefense.cloud/v1alpha1", "kind": "Release",
            "metadata": {"name": "shop", "namespace": "a", "creationTimestamp": "2026-01-01T00:00:00Z", "generation": 1},
            "spec": {"componentVersionRef": {"name": "shop-v1"}, "values": {"a": 1}, "targetNamespace": "shop"},
            "status": {"conditions": [], "renderTaskRef": {"name": "x", "resourceVersion": "3"}},
        });
        let release: super::super::Release = serde_json::from_value(release).expect("a release");
        assert_eq!(
            (release.spec.priority, release.spec.unique_name.as_str()),
            (0, "")
        );
        let profile = json!({
            "metadata": {"name": "all", "namespace": "a"},
            "spec": {"releaseRef": {"name": "shop"}, "targetSelector": {}},
            "status": {"matchedTargets": 2},
        });
        let profile: super::super::Profile = serde_json::from_value(profile).expect("a profile");
        assert!(profile.spec.target_selector.matches(&Default::default()));
        let version = json!({
            "metadata": {"name": "shop-v1", "namespace": "a"},
            "spec": {"componentRef": {"name": "shop"}, "tag": "1.0.0", "entrypoint": {"resourceName": "", "type": ""},
                "resources": {"chart": {"repository": "h/c", "insecure": false, "tag": "1"}}},
            "status": {},
        });
        let version: super::super::ComponentVersion = serde_json::from_value(version).expect("a version");
        assert_eq!(version.spec.entrypoint.kind.as_str(), "");
    }
}
