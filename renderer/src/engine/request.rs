//! The request and the result of a rendering.

use std::fmt;
use std::sync::Arc;

use super::capabilities::Capabilities;
use super::limits::Limits;
use super::manifest::Crd;
use super::release::Release;
use crate::diag::{Class, Diagnostic, Result};
use crate::funcs::{ClusterObjects, ObjectLookup, SeededResults};
use crate::source::Source;
use crate::value::Map;
use crate::values::ValueOrigins;
use crate::values::options::{merge_file, merge_flag};
use crate::values::schema_documents::{NoSchemas, SchemaStore};
use crate::values::set::{Meaning, PaddingBudget};
use crate::world::{System, World};

/// The inputs and options of a rendering.
///
/// The methods have the names of Helm's flags. Values are merged in the order of the calls, each over what was there
/// before:
///
/// ```
/// use solar_render::engine::RenderRequest;
///
/// # fn main() -> solar_render::diag::Result<()> {
/// let request = RenderRequest::new("shop")
///     .namespace("prod")
///     .kube_version("1.31")?
///     .values_yaml("prod.yaml", "replicas: 3")?
///     .set("image.tag=1.2.3")?;
/// # assert_eq!(request.values.len(), 2);
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
#[non_exhaustive]
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
    /// What slow functions returned for the seed: requests that share it make each key once.
    pub seeded: Arc<SeededResults>,
    /// Whether rendering continues after `fail` and `required`, as in `helm lint`.
    pub lint: bool,
    /// The resource limits.
    pub limits: Limits,
    /// What `lookup` finds.
    pub cluster: Arc<dyn ObjectLookup>,
    /// Which templates are rendered, by full name; all if it is `None`. Partials always are part of the program.
    pub only: Option<TemplateFilter>,
    /// What replaces the versions of the chart and its subcharts in `.Chart`.
    pub chart_versions: ChartVersions,
}

/// Whether a template is rendered, by its full name.
pub type TemplateFilter = Arc<dyn Fn(&str) -> bool + Send + Sync>;

/// Versions that replace those of Chart.yaml.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ChartVersions {
    /// `.Chart.Version`
    pub version: Option<String>,
    /// `.Chart.AppVersion`
    pub app_version: Option<String>,
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
            seeded: Arc::default(),
            lint: false,
            limits: Limits::default(),
            cluster: Arc::new(ClusterObjects::default()),
            only: None,
            chart_versions: ChartVersions::default(),
        }
    }

    /// `--namespace`
    #[must_use]
    pub fn namespace(mut self, namespace: impl Into<String>) -> Self {
        self.release.namespace = namespace.into();
        self
    }

    /// `--is-upgrade`
    #[must_use]
    pub fn is_upgrade(mut self, is_upgrade: bool) -> Self {
        self.release.is_upgrade = is_upgrade;
        self
    }

    /// `--kube-version`: `1.31` or `v1.31.2`.
    ///
    /// # Errors
    /// Class usage: it is no version.
    pub fn kube_version(mut self, version: &str) -> Result<Self> {
        self.capabilities.kube_version = Capabilities::with(Some(version), &[])?.kube_version;
        Ok(self)
    }

    /// `--api-versions`: adds group versions that the cluster serves, as `monitoring.coreos.com/v1`.
    #[must_use]
    pub fn api_versions<T: Into<String>>(mut self, versions: impl IntoIterator<Item = T>) -> Self {
        let versions = versions.into_iter().map(Into::into);
        self.capabilities.api_versions.extend(versions);
        self
    }

    /// `--values`: merges the text of a values file; `name` is for messages.
    ///
    /// # Errors
    /// Class values: it is not YAML, or no map.
    pub fn values_yaml(mut self, name: &str, text: &str) -> Result<Self> {
        merge_file(&Source::new(name, text), &mut self.values, &mut self.places)?;
        Ok(self)
    }

    /// Merges values that serde can serialize to a JSON object; `name` is for messages.
    ///
    /// # Errors
    /// Class values: they can't be serialized, or are no object.
    pub fn values(self, name: &str, values: &impl serde::Serialize) -> Result<Self> {
        match serde_json::to_string(values) {
            Ok(text) => self.values_yaml(name, &text),
            Err(error) => {
                let message = format!("{name} can't be serialized as JSON: {error}");
                Err(Diagnostic::error(Class::Values, message).into())
            }
        }
    }

    /// `--set`: `a.b=1,c[0]=x`.
    ///
    /// # Errors
    /// Class values: it can't be parsed.
    pub fn set(self, text: &str) -> Result<Self> {
        self.flag(text, Meaning::Typed)
    }

    /// `--set-string`: as [`set`](Self::set), all values are texts.
    ///
    /// # Errors
    /// As [`set`](Self::set).
    pub fn set_string(self, text: &str) -> Result<Self> {
        self.flag(text, Meaning::Text)
    }

    fn flag(mut self, text: &str, meaning: Meaning<'_>) -> Result<Self> {
        let budget = &mut PaddingBudget::default();
        merge_flag(text, meaning, &mut self.values, &mut self.places, budget)?;
        Ok(self)
    }

    /// `--skip-schema-validation`
    #[must_use]
    pub fn skip_schema_validation(mut self) -> Self {
        self.skip_schema = true;
        self
    }

    /// Where schemas are found that others refer to by URL. Nothing is fetched without it.
    #[must_use]
    pub fn schemas(mut self, schemas: Arc<dyn SchemaStore>) -> Self {
        self.schemas = schemas;
        self
    }

    /// The clock and the source of randomness; the limits have a clock of their own.
    #[must_use]
    pub fn world(mut self, world: Arc<dyn World>) -> Self {
        self.world = world;
        self
    }

    /// Makes random results the same in every run. Keys and passwords made with a seed are no secrets.
    #[must_use]
    pub fn seed(mut self, seed: u64) -> Self {
        self.seed = Some(seed);
        self
    }

    /// The limits of time, memory and steps.
    #[must_use]
    pub fn limits(mut self, limits: Limits) -> Self {
        self.limits = limits;
        self
    }
}

impl fmt::Debug for RenderRequest {
    /// Without the values, which may be secret.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            values: _,
            places,
            release,
            capabilities,
            skip_schema,
            schemas: _,
            world: _,
            seed,
            seeded: _,
            lint,
            limits,
            cluster: _,
            only: _,
            chart_versions,
        } = self;
        f.debug_struct("RenderRequest")
            .field("places", places)
            .field("release", release)
            .field("kube_version", &capabilities.kube_version.version)
            .field("skip_schema", skip_schema)
            .field("seed", seed)
            .field("lint", lint)
            .field("limits", limits)
            .field("chart_versions", chart_versions)
            .finish_non_exhaustive()
    }
}

/// A rendered chart.
#[derive(Debug, Clone)]
#[non_exhaustive]
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
    /// Whether a template read `.Capabilities.KubeVersion`: for another version it may render differently.
    pub reads_kube_version: bool,
    /// The warnings about the chart.
    pub warnings: Vec<Diagnostic>,
}
