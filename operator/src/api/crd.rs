//! Generates the CRDs from the Rust types.

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::{
    CustomResourceColumnDefinition, CustomResourceDefinition, CustomResourceDefinitionNames,
    CustomResourceDefinitionSpec, CustomResourceDefinitionVersion, CustomResourceSubresourceStatus,
    CustomResourceSubresources, CustomResourceValidation, JSONSchemaProps,
};
use kube::api::ObjectMeta;
use kube_core::schema::{OptionalEnum, StructuralSchemaRewriter};
use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use schemars::transform::AddNullable;
use serde_json::{Value, json};

use super::{GROUP, Scope, TaskSpec, TaskStatus, VERSION, artifact, cluster_addons, pipeline};
use crate::yaml;

const CATEGORY: &str = "solar";

/// Name, type, JSON path, priority (1: wide).
pub(super) type Column = (&'static str, &'static str, &'static str, i32);

const COLUMNS: [Column; 5] = [
    ("Owner Kind", "string", ".spec.ownerKind", 0),
    ("Owner Name", "string", ".spec.ownerName", 0),
    ("Status", "string", ".status.state", 0),
    ("Digest", "string", ".status.digest", 1),
    ("Age", "date", ".metadata.creationTimestamp", 0),
];

/// The whole object, for the schema.
#[derive(JsonSchema)]
#[allow(dead_code, reason = "only its schema is used")]
struct Object {
    /// What is rendered, and where the chart is pushed to. It can't be changed: another chart is another task.
    spec: TaskSpec,
    /// The observed state.
    #[serde(default)]
    #[schemars(with = "TaskStatus")]
    status: TaskStatus,
}

/// The names of a kind.
pub(super) struct Names {
    /// The kind.
    pub kind: &'static str,
    /// Its plural, in URLs.
    pub plural: &'static str,
    /// Its short name, for `kubectl`.
    pub short: &'static str,
    /// `Namespaced` or `Cluster`.
    pub scope: &'static str,
}

/// The CRD of one kind of task.
pub fn crd(scope: Scope) -> Result<CustomResourceDefinition, serde_json::Error> {
    let (short, crd_scope) = match scope {
        Scope::Namespaced => ("rt", "Namespaced"),
        Scope::Cluster => ("crt", "Cluster"),
    };
    let names = Names {
        kind: scope.kind(),
        plural: scope.plural(),
        short,
        scope: crd_scope,
    };
    Ok(definition(&names, COLUMNS.into_iter(), schema(scope)?))
}

/// The CRD of a kind, from its columns and its schema.
pub(super) fn definition(
    names: &Names,
    columns: impl Iterator<Item = Column>,
    schema: JSONSchemaProps,
) -> CustomResourceDefinition {
    let Names {
        kind,
        plural,
        short,
        scope,
    } = *names;
    let version = CustomResourceDefinitionVersion {
        name: VERSION.into(),
        served: true,
        storage: true,
        additional_printer_columns: Some(columns.map(column).collect()),
        schema: Some(CustomResourceValidation {
            open_api_v3_schema: Some(schema),
        }),
        subresources: Some(CustomResourceSubresources {
            status: Some(CustomResourceSubresourceStatus(json!({}))),
            ..Default::default()
        }),
        ..Default::default()
    };
    CustomResourceDefinition {
        metadata: ObjectMeta {
            name: Some(format!("{plural}.{GROUP}")),
            ..Default::default()
        },
        spec: CustomResourceDefinitionSpec {
            group: GROUP.into(),
            names: CustomResourceDefinitionNames {
                kind: kind.into(),
                list_kind: Some(format!("{kind}List")),
                plural: plural.into(),
                singular: Some(kind.to_lowercase()),
                short_names: Some(vec![short.into()]),
                categories: Some(vec![CATEGORY.into()]),
            },
            scope: scope.into(),
            versions: vec![version],
            ..Default::default()
        },
        status: None,
    }
}

/// The kinds whose CRDs are not always installed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct OptionalKinds {
    /// The kinds of the pipeline.
    pub pipeline: bool,
    /// Artifacts.
    pub artifacts: bool,
    /// ClusterStacks and ClusterAddons.
    pub cluster_addons: bool,
}

impl OptionalKinds {
    /// All of them.
    pub const ALL: Self = Self {
        pipeline: true,
        artifacts: true,
        cluster_addons: true,
    };
}

/// The CRDs of tasks, and those of optional kinds behind them.
pub fn crds(kinds: OptionalKinds) -> Result<Vec<CustomResourceDefinition>, serde_json::Error> {
    let mut crds: Vec<_> = Scope::ALL.into_iter().map(crd).collect::<Result<_, _>>()?;
    if kinds.pipeline {
        crds.extend(pipeline::crds()?);
    }
    if kinds.artifacts {
        crds.push(artifact::crd()?);
    }
    if kinds.cluster_addons {
        crds.extend(cluster_addons::crds()?);
    }
    Ok(crds)
}

/// All CRDs as a stream of YAML documents.
pub fn crds_yaml() -> Result<String, serde_json::Error> {
    let mut text = String::new();
    for crd in crds(OptionalKinds::ALL)? {
        text.push_str("---\n");
        yaml::write(&serde_json::to_value(crd)?, &mut text);
    }
    Ok(text)
}

fn column((name, type_, path, priority): Column) -> CustomResourceColumnDefinition {
    CustomResourceColumnDefinition {
        name: name.into(),
        type_: type_.into(),
        json_path: path.into(),
        priority: (priority > 0).then_some(priority),
        ..Default::default()
    }
}

fn schema(scope: Scope) -> Result<JSONSchemaProps, serde_json::Error> {
    structural::<Object>(match scope {
        Scope::Namespaced => "A chart to be rendered and pushed by a Job in the task's namespace.",
        Scope::Cluster => {
            "A chart to be rendered and pushed by a Job in the operator's namespace, with credentials that no tenant can read."
        }
    })
}

/// The structural schema of a kind's objects, with a description.
pub(super) fn structural<T: JsonSchema>(about: &str) -> Result<JSONSchemaProps, serde_json::Error> {
    let settings = SchemaSettings::openapi3().with(|settings| {
        settings.inline_subschemas = true;
        settings.meta_schema = None;
    });
    let settings = settings
        .with_transform(AddNullable::default())
        .with_transform(StructuralSchemaRewriter)
        .with_transform(OptionalEnum);
    let mut schema = settings.into_generator().into_root_schema_for::<T>().to_value();
    tidy(&mut schema);
    // There is no status until the first reconcile.
    if let Some(status) = schema
        .pointer_mut("/properties/status")
        .and_then(Value::as_object_mut)
    {
        status.remove("default");
    }
    if let Some(top) = schema.as_object_mut() {
        top.insert("description".into(), about.into());
    }
    serde_json::from_value(schema)
}

/// Removes what API servers drop or warn about (titles, `format: uint32`), so that the installed CRD equals the printed
/// one; and `nullable`: API servers drop nulls of fields that aren't nullable, and in a nullable field the rule that
/// the spec is immutable would treat a null as equal to any previous value.
fn tidy(schema: &mut Value) {
    match schema {
        Value::Object(map) => {
            if map.get("type").is_some_and(Value::is_string) {
                map.remove("title");
                map.remove("nullable");
                if map
                    .get("format")
                    .and_then(Value::as_str)
                    .is_some_and(|format| format.starts_with("uint"))
                {
                    map.insert("format".into(), "int32".into());
                }
            }
            map.values_mut().for_each(tidy);
        }
        Value::Array(list) => list.iter_mut().for_each(tidy),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spec(path: &str) -> Value {
        let crd = serde_json::to_value(crd(Scope::Namespaced).expect("a CRD")).expect("JSON");
        crd.pointer(&format!(
            "/spec/versions/0/schema/openAPIV3Schema/properties/{path}"
        ))
        .cloned()
        .unwrap_or_else(|| panic!("{path} in {crd:#}"))
    }

    #[test]
    fn the_spec_is_immutable_has_defaults_and_bounds() {
        assert_eq!(spec("spec/x-kubernetes-validations/0/rule"), "self == oldSelf");
        assert_eq!(spec("spec/properties/failedJobTTL/default"), 3600);
        assert_eq!(spec("spec/properties/failedJobTTL/minimum"), 0.0);
        assert_eq!(spec("spec/properties/failedJobTTL/format"), "int32");
        assert_eq!(spec("spec/properties/plainHTTP/default"), false);
        assert_eq!(spec("spec/properties/ifExists/default"), "fail");
        assert_eq!(
            spec("spec/properties/ifExists/enum"),
            json!(["fail", "skip", "replace"])
        );
        assert_eq!(spec("spec/properties/type/enum"), json!(["release", "bootstrap"]));
        for name in [
            "repository",
            "tag",
            "baseURL",
            "ownerName",
            "ownerNamespace",
            "ownerKind",
        ] {
            assert_eq!(spec(&format!("spec/properties/{name}/minLength")), 1, "{name}");
        }
        let mut required = spec("spec/required");
        let required = required.as_array_mut().expect("a list");
        required.sort_by_key(ToString::to_string);
        assert_eq!(
            *required,
            [
                "baseURL",
                "ownerKind",
                "ownerName",
                "ownerNamespace",
                "repository",
                "tag",
                "type"
            ]
        );
    }

    #[test]
    fn a_new_task_has_no_status() {
        assert_eq!(spec("status").get("default"), None);
    }

    /// `self == oldSelf` doesn't detect a renamed key of a map that keeps unknown fields, nor a null.
    #[test]
    fn data_is_kept_as_it_is_and_nothing_else_may_be_null() {
        let anything = json!({"nullable": true, "x-kubernetes-preserve-unknown-fields": true});
        for path in [
            "spec/properties/release/properties/values",
            "spec/properties/bootstrap/properties/input/properties/userdata",
        ] {
            assert_eq!(spec(&format!("{path}/additionalProperties")), anything, "{path}");
            assert_eq!(
                spec(path).as_object().map(serde_json::Map::len),
                Some(3),
                "{path}"
            );
        }
        fn nullables(schema: &Value) -> usize {
            let below = match schema {
                Value::Object(map) => map.values().map(nullables).sum(),
                Value::Array(list) => list.iter().map(nullables).sum(),
                _ => 0,
            };
            below + usize::from(schema.get("nullable").is_some())
        }
        assert_eq!((nullables(&spec("spec")), nullables(&spec("status"))), (2, 0));
    }

    #[test]
    fn every_field_is_described() {
        fn check(schema: &Value, path: &str) {
            for (name, inner) in schema
                .get("properties")
                .and_then(Value::as_object)
                .into_iter()
                .flatten()
            {
                let path = format!("{path}.{name}");
                assert!(inner.get("description").is_some(), "{path} has no description");
                check(inner, &path);
                for below in [inner.get("items"), inner.get("additionalProperties")]
                    .into_iter()
                    .flatten()
                {
                    check(below, &path);
                }
            }
        }
        check(
            &json!({"properties": {"spec": spec("spec"), "status": spec("status")}}),
            "",
        );
    }
}
