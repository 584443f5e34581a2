//! The request and the result of a rendering.

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

/// The inputs and options of a rendering.
pub struct RenderRequest {
    /// The values of the user's flags.
    pub values: Map,
    /// The locations of the values, as far as they are known: for errors about them.
    pub places: ValueOrigins,
    /// `.Release`
    pub release: Release,
    /// `.Capabilities`
    pub capabilities: Capabilities,
    /// Whether schemas are not checked.
    pub skip_schema: bool,
    /// The store of schemas that others refer to by URL.
    pub schemas: Arc<dyn SchemaStore>,
    /// The clock and entropy.
    pub world: Arc<dyn World>,
    /// The seed, if random results must be the same in every run.
    pub seed: Option<u64>,
    /// Whether rendering continues after `fail` and `required`, as in `helm lint`.
    pub lint: bool,
    /// The resource limits.
    pub limits: Limits,
}

impl RenderRequest {
    /// A request with Helm's defaults: namespace `default`, no values, an installation, this machine's clock.
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

/// A rendered chart.
pub struct RenderedChart {
    /// The root chart's name.
    pub chart: String,
    /// The text of each template by its full name.
    pub texts: Vec<(Arc<str>, String)>,
    /// The CRDs of the chart and those it uses, in Helm's order.
    pub crds: Vec<Crd>,
    /// The functions called whose result differs from run to run.
    pub impure: Vec<&'static str>,
    /// The functions called whose random results come from [`RenderRequest::seed`]: anyone who knows the seed can
    /// reproduce the keys and passwords.
    pub predictable: Vec<&'static str>,
    /// The warnings about the chart.
    pub warnings: Vec<Diagnostic>,
}
