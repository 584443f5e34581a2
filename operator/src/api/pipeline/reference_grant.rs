//! `ReferenceGrant`.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::schemas::NAMESPACE;
use super::{Column, ConditionsStatus, Spec};

/// Which objects of other namespaces may refer to which objects of this one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ReferenceGrantSpec {
    /// The objects that may refer to those of `to`.
    #[schemars(length(min = 1, max = 256), extend("x-kubernetes-list-type" = "atomic"))]
    pub from: Vec<GrantFrom>,
    /// The objects of this namespace that may be referred to.
    #[schemars(length(min = 1, max = 256), extend("x-kubernetes-list-type" = "atomic"))]
    pub to: Vec<GrantTo>,
}

/// Objects that may refer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct GrantFrom {
    /// Their API group; `""` is the core group.
    #[schemars(length(max = 253))]
    pub group: String,
    /// Their kind.
    #[schemars(length(min = 1, max = 63))]
    pub kind: String,
    /// Their namespace.
    #[schemars(length(min = 1, max = 63), regex(pattern = NAMESPACE))]
    pub namespace: String,
}

/// Objects of this namespace that may be referred to.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct GrantTo {
    /// Their API group; `""` is the core group.
    #[schemars(length(max = 253))]
    pub group: String,
    /// Their kind.
    #[schemars(length(min = 1, max = 63))]
    pub kind: String,
}

impl Spec for ReferenceGrantSpec {
    type Status = ConditionsStatus;
    const KIND: &'static str = "ReferenceGrant";
    const PLURAL: &'static str = "referencegrants";
    const SHORT: &'static str = "rg";
    const ABOUT: &'static str =
        "The permission for objects of other namespaces to refer to objects of this one.";
    const COLUMNS: &'static [Column] = &[
        ("From", "string", ".spec.from[*].namespace"),
        ("To", "string", ".spec.to[*].kind"),
    ];
    const READY_FROM_CREATION: Option<&'static str> = Some("accepted");
}
