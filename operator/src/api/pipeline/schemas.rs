//! Patterns and schemas that several kinds share.

use schemars::{Schema, SchemaGenerator, json_schema};

/// A Kubernetes object's name.
pub(super) const OBJECT_NAME: &str = r"^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$";
/// An object's name, or nothing.
pub(super) const OPTIONAL_NAME: &str =
    r"^([a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*)?$";
/// A namespace, or nothing.
pub(super) const NAMESPACE: &str = r"^([a-z0-9]([-a-z0-9]*[a-z0-9])?)?$";

/// Any map. Kubernetes' structural schemas don't support `true`, so unknown fields of its values are preserved. SolAr's
/// API server returns null for one that wasn't given; an API server replaces null by the default.
pub(super) fn any_map(_: &mut SchemaGenerator) -> Schema {
    json_schema!({
        "type": "object",
        "default": {},
        "additionalProperties": {"nullable": true, "x-kubernetes-preserve-unknown-fields": true},
    })
}
