//! The lint gate of `publish`: a chart folder that fails `lint` is not pushed.
//!
//! As `lint` without flags: the chart's own values, and only errors of Helm fail a chart.

use std::path::Path;
use std::sync::Arc;

use super::real_paths::with_real_path;
use crate::diag::{Class, Diagnostic, Diagnostics, Result, Severity as Grave};
use crate::engine::Limits;
use crate::engine::capabilities::Capabilities;
use crate::lint::{self, LintOptions};
use crate::value::Map;
use crate::values::ValueOrigins;
use crate::values::schema_documents::SchemaStore;

/// The namespace for rendering.
const NAMESPACE: &str = "default";

/// The options for linting.
pub(crate) struct LintGate(LintOptions);

impl LintGate {
    /// With where schemas are read that charts refer to.
    pub(crate) fn new(schemas: Arc<dyn SchemaStore>) -> Result<Self> {
        Ok(Self(LintOptions {
            values: Map::default(),
            places: ValueOrigins::default(),
            namespace: NAMESPACE.to_owned(),
            capabilities: Capabilities::with(None, &[])?,
            skip_schema: false,
            schemas,
            limits: Limits::default(),
        }))
    }

    /// Refuses a chart folder that fails `lint`.
    pub(crate) fn check(&self, folder: &Path) -> Result<()> {
        let report = lint::lint(folder, &folder.display().to_string(), &self.0);
        if !report.fails(false) {
            return Ok(());
        }
        let mut problems: Vec<Diagnostic> = Vec::new();
        if let Some(refused) = &report.refused {
            problems.push(Diagnostic::error(Class::Chart, refused.clone()));
        }
        for one in report
            .findings
            .iter()
            .filter(|one| one.severity == lint::Severity::Error)
        {
            let drawn = with_real_path(one.to_diagnostic(), folder);
            // Helm reports the error of one file for several files.
            let is_known = |other: &Diagnostic| {
                let same_location = match (&other.location, &drawn.location) {
                    (Some(other), Some(one)) => other.to_string() == one.to_string(),
                    (None, None) => true,
                    _ => false,
                };
                same_location && other.message == drawn.message
            };
            if drawn.severity == Grave::Error && !problems.iter().any(is_known) {
                problems.push(drawn);
            }
        }
        if let Some(last) = problems.pop() {
            problems.push(last.hint("--no-lint publishes the chart anyway"));
        }
        Diagnostics::or(problems, ())
    }
}
