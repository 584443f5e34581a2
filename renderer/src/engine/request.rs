//! What a rendering is asked for, and what it gives.

use std::sync::Arc;

use super::capabilities::Capabilities;
use super::limits::Limits;
use super::manifest::Crd;
use super::release::Release;
use crate::diag::Diagnostic;
use crate::value::Map;
use crate::values::ValueOrigins;
use crate::values::schema_documents::{NoSchemas, SchemaStore};
use crate::world::{System, World};

/// What is to be rendered.
pub struct RenderRequest {
    /// What the user's flags say.
    pub values: Map,
    /// Where they stand, as far as that is known: for errors about them.
    pub places: ValueOrigins,
    /// `.Release`
    pub release: Release,
    /// `.Capabilities`
    pub capabilities: Capabilities,
    /// Whether schemas are left alone.
    pub skip_schema: bool,
    /// Where schemas are kept that others refer to by URL.
    pub schemas: Arc<dyn SchemaStore>,
    /// The clock and entropy.
    pub world: Arc<dyn World>,
    /// Where randomness grows from, when it must be the same in every run.
    pub seed: Option<u64>,
    /// Whether `fail` and `required` let the rendering go on, as in `helm lint`.
    pub lint: bool,
    /// How much the rendering may take.
    pub limits: Limits,
}

impl RenderRequest {
    /// Helm's defaults: namespace `default`, no values, an installation, this machine's clock.
    pub fn new(name: &str) -> Self {
        Self {
            values: Map::default(),
            places: ValueOrigins::default(),
            release: Release {
                name: name.to_owned(),
                namespace: "default".to_owned(),
                is_upgrade: false,
                revision: 1,
            },
            capabilities: Capabilities::default(),
            skip_schema: false,
            schemas: Arc::new(NoSchemas),
            world: Arc::new(System),
            seed: None,
            lint: false,
            limits: Limits::default(),
        }
    }
}

/// What came out.
pub struct RenderedChart {
    /// The root chart's name.
    pub chart: String,
    /// The text of each template by its full name.
    pub texts: Vec<(Arc<str>, String)>,
    /// The CRDs of the chart and those it uses, in Helm's order.
    pub crds: Vec<Crd>,
    /// The functions called whose result differs from run to run.
    pub impure: Vec<&'static str>,
    /// The functions called whose random results come from [`RenderRequest::seed`]: whoever knows the seed has the
    /// same keys and passwords.
    pub predictable: Vec<&'static str>,
    /// What the user should know of the chart.
    pub warnings: Vec<Diagnostic>,
}
