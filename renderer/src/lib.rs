//! Config to OCI Helm chart: render, package, digest, push.
//!
//! The library behind the `solar-render` command. Modules import downward only, in
//! the order of this list; `template`, `gotext`, `yaml`, `value`, `diag` and `source` are the crates below `crates/`:
//!
//! - [`cli`][]: the command line
//! - [`pipeline`][]: input to artifact
//! - [`dependencies`][]: what goes into a chart's `charts/`, and its lock
//! - `repositories`: charts on web servers
//! - [`oci`][]: registries, layouts and folders, and the push policy
//! - [`blueprint`][]: config to chart
//! - [`values`][]: the values users give, merging, schemas
//! - [`package`][]: chart files to a deterministic archive
//! - [`chart`][]: a chart's metadata and files
//! - [`config`][]: the input
//! - [`provenance`][]: Helm's signed provenance files
//! - [`report`][]: the result of a run, its exit code
//! - [`mod@reference`], [`version`][]: digests, tags, repositories, targets; chart versions
//! - [`lint`][]: what is wrong with a chart, as `helm lint` says it, and more
//! - [`engine`][]: charts' templates with values
//! - [`funcs`][]: the functions Helm's templates call
//! - [`mod@semver`][]: versions and constraints as Helm compares them
//! - [`template`][]: Go's text/template
//! - [`gotext`][]: Go's quoting, numbers and character classes
//! - `go_yaml_errors`: what go-yaml says of texts that are no YAML
//! - [`decode`][]: YAML nodes to typed fields
//! - [`yaml`][]: YAML 1.1 as Helm's readers read it and its writers write it
//! - [`value`][]: data
//! - [`fsio`][], [`world`][], `parallel`: files; environment, clock, entropy; a second
//!   processor
//! - [`diag`][], [`source`][]: what users did wrong, and where

#[cfg(feature = "render")]
pub mod blueprint;
#[cfg(feature = "render")]
pub mod chart;
#[cfg(feature = "cli")]
pub mod cli;
pub mod config;
pub mod decode;
#[cfg(feature = "oci")]
pub mod dependencies;
#[cfg(feature = "render")]
pub mod engine;
#[cfg(feature = "render")]
pub mod fsio;
#[cfg(feature = "render")]
pub mod funcs;
#[cfg(feature = "render")]
mod go_yaml_errors;
#[cfg(feature = "render")]
pub mod lint;
#[cfg(feature = "oci")]
pub mod oci;
#[cfg(feature = "render")]
pub mod package;
#[cfg(feature = "render")]
mod parallel;
#[cfg(feature = "render")]
pub mod pipeline;
mod printable;
#[cfg(feature = "render")]
pub mod provenance;
pub mod reference;
pub mod report;
#[cfg(feature = "oci")]
pub(crate) mod repositories;
#[cfg(feature = "render")]
pub mod semver;
#[cfg(feature = "render")]
pub mod values;
pub mod version;
pub mod world;

pub use solar_diagnostics::{diag, source, value};
#[cfg(feature = "render")]
pub use solar_go_template as template;
#[cfg(feature = "render")]
pub use solar_go_template::gotext;
pub use solar_go_yaml as yaml;

/// The programs of the page about the library are compiled as tests.
#[cfg(all(doctest, feature = "oci"))]
#[doc = include_str!("../../docs/library.md")]
mod library_page {}
