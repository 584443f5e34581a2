//! `Component`.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Column, ConditionsStatus, Spec, USABLE};

/// Where the component is stored.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ComponentSpec {
    /// How the component is reached, as `https` or `http`.
    #[schemars(length(max = 63))]
    pub scheme: String,
    /// The registry that holds the component: a host, maybe with a port.
    #[schemars(length(max = 512))]
    pub registry: String,
    /// The path of the component in the registry.
    #[schemars(length(max = 512))]
    pub repository: String,
}

impl Spec for ComponentSpec {
    type Status = ConditionsStatus;
    const KIND: &'static str = "Component";
    const PLURAL: &'static str = "components";
    const SHORT: &'static str = "comp";
    const ABOUT: &'static str = "A component of the catalog, which has ComponentVersions.";
    const COLUMNS: &'static [Column] = &[
        ("Registry", "string", ".spec.registry"),
        ("Repository", "string", ".spec.repository"),
    ];
    const READY_FROM_CREATION: Option<&'static str> = Some(USABLE);
}
