//! Rendered objects, checked against the schemas of Kubernetes and of CRDs: what an API server would refuse.
//!
//! In: a parsed chart and a request. Out: [`ChartFinding`]s, each at the template's line that printed what is wrong. The
//! schemas of Kubernetes' own kinds are embedded, in several versions ([`kubernetes_versions`]); those of other kinds
//! come from CRDs ([`CrdSchemas`]).
//!
//! Strict: unknown and duplicate fields, types, required fields, enums, formats. What API servers check beyond their
//! schemas (rules in Go, CEL, webhooks) is not run. Nothing here prints, or reads the command line.

mod chart;
mod check;
mod crds;
mod finding;
mod formats;
mod kubernetes;
mod object;
mod path;
mod removed;
mod structural;
mod structural_check;
mod structural_values;
mod types;

pub use chart::{MAX_FINDINGS, ValidateOptions, Validated, validate};
pub use crds::{CrdSchemas, MAX_CRD_FILES};
pub use finding::{ChartFinding, Rule};
pub use kubernetes::{VersionChoice, kubernetes_versions};
