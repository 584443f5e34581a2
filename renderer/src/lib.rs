//! Config to OCI Helm chart: render, package, digest, push.
//!
//! The library behind the `solar-render` command. [`engine::ParsedChart`] renders charts as Helm does,
//! [`pipeline::run`] goes from a config to a registry, [`diag::Diagnostics`] is every error of users' input. The
//! programs in `examples/` use them.
//!
//! # Stability
//!
//! From version 1.0 on, semantic versioning covers the public items of this crate except those hidden from this
//! documentation (`cli`, `oci::fuzzing`), the names and meaning of the features, and the digests: a release that changes the digest of a
//! chart's package is a major one. It does not cover the texts of messages, notes and hints, what `Debug` prints, nor
//! that templates are rendered as Helm 4.3.1 renders them where a later version of Helm mends a mistake. Enums and structs that will grow are
//! `#[non_exhaustive]`. Before 1.0 a minor version may change anything; the changelog names it.
//!
//! The minimum Rust version is `rust-version` in Cargo.toml. Raising it is a minor change.
//!
//! # Modules
//!
//! Modules import downward only, in the order of this list (a test holds it); `template`, `gotext`, `yaml`, `value`,
//! `draw`, `diag` and `source` are crates below `crates/`:
//!
//! - `cli`: the command line
//! - [`dependencies`][]: the charts in a chart's `charts/`, and its lock
//! - `repositories`: charts on web servers
//! - [`import`][]: files from elsewhere, packed as OCI artifacts
//! - `cluster`: a cluster's API server: what it serves, what it has, server-side apply
//! - [`pipeline`][]: render, package, digest and push as one call
//! - [`oci`][]: registries, layouts and folders, and the push policy
//! - `diff`: what differs between two renderings, object by object
//! - `compare`: what Helm prints of a chart beside what we print
//! - `unittest`: tests of charts in helm-unittest's format
//! - `validate`: rendered objects against the schemas of Kubernetes and of CRDs
//! - [`lint`][]: the messages of `helm lint`, and more
//! - [`value_docs`][]: README.md from values.yaml, its comments and Chart.yaml
//! - [`value_schema`][]: values.schema.json from values.yaml
//! - [`value_reads`][]: which values charts' templates read
//! - [`engine`][]: charts' templates with values
//! - [`blueprint`][]: config to chart
//! - [`package`][]: chart files to a deterministic archive
//! - [`provenance`][]: Helm's signed provenance files
//! - [`values`][]: the values users give, merging, schemas
//! - [`chart`][]: a chart's metadata and files
//! - [`funcs`][]: the functions Helm's templates call
//! - `go_yaml_errors`: go-yaml's messages for texts that are not YAML
//! - [`config`][]: the input
//! - [`decode`][]: YAML nodes to typed fields
//! - [`signing_key`][], [`secret`][]: keys in cosign's format; text that is never printed
//! - [`report`][]: the result of a run, its exit code
//! - [`fsio`][]: files
//! - [`mod@reference`]: digests, tags, repositories, targets
//! - [`mod@semver`], [`version`]: versions and constraints as Helm compares them; chart versions
//! - `metadata_text`: metadata as Helm keeps it
//! - `parallel`: work on a second processor
//! - [`world`][]: environment, clock and entropy
//! - [`template`][], [`gotext`][]: Go's text/template; its quoting, numbers and character classes
//! - [`yaml`][], [`value`][]: YAML 1.1 as Helm's readers read it and its writers write it; data
//! - `draw`: diagnostics as text with an excerpt
//! - [`diag`][], [`source`][]: diagnostics with locations

#[cfg(feature = "pipeline")]
pub mod blueprint;
#[cfg(feature = "render")]
pub mod chart;
#[cfg(feature = "cli")]
#[doc(hidden)]
pub mod cli;
#[cfg(feature = "cli")]
pub(crate) mod cluster;
#[cfg(feature = "cli")]
pub mod compare;
pub mod config;
pub mod decode;
#[cfg(feature = "oci")]
pub mod dependencies;
#[cfg(feature = "cli")]
pub mod diff;
#[cfg(feature = "render")]
pub mod engine;
#[cfg(feature = "render")]
pub mod fsio;
#[cfg(feature = "render")]
pub mod funcs;
#[cfg(feature = "render")]
mod go_yaml_errors;
#[cfg(feature = "oci")]
pub mod import;
#[cfg(feature = "pipeline")]
pub mod lint;
#[cfg(feature = "render")]
mod metadata_text;
#[cfg(feature = "oci")]
pub mod oci;
#[cfg(feature = "pipeline")]
pub mod package;
#[cfg(feature = "render")]
mod parallel;
#[cfg(feature = "pipeline")]
pub mod pipeline;
#[cfg(feature = "oci")]
pub mod provenance;
pub mod reference;
pub mod report;
#[cfg(feature = "oci")]
pub(crate) mod repositories;
#[cfg(feature = "signing-keys")]
pub mod secret;
#[cfg(feature = "render")]
pub mod semver;
#[cfg(feature = "signing-keys")]
pub mod signing_key;
#[cfg(feature = "cli")]
pub mod unittest;
#[cfg(feature = "cli")]
pub mod validate;
#[cfg(feature = "pipeline")]
pub mod value_docs;
#[cfg(feature = "pipeline")]
pub mod value_reads;
#[cfg(feature = "pipeline")]
pub mod value_schema;
#[cfg(feature = "render")]
pub mod values;
pub mod version;
pub mod world;

#[cfg(feature = "render")]
pub use solar_diagnostics::draw;
pub use solar_diagnostics::{credentials, diag, source, value};
#[cfg(feature = "render")]
pub use solar_go_template as template;
#[cfg(feature = "render")]
pub use solar_go_template::gotext;
pub use solar_go_yaml as yaml;
