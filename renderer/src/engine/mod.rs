//! Helm's engine: a chart's templates with values, as `helm template` runs them.

mod blame;
pub mod capabilities;
mod chart;
mod files;
mod functions;
mod glob;
pub mod images;
mod limits;
pub mod manifest;
mod manifest_head;
#[cfg(test)]
mod manifest_tests;
mod metadata;
mod problem;
mod program;
pub mod release;
mod render;
mod request;
pub mod show;
mod stack;
mod values_methods;

pub(crate) use blame::RENDERED_LINES;
pub use blame::{Traced, blame};
pub(crate) use chart::defaults;
pub use chart::{Chart, unit};
pub use functions::{MAX_INCLUDES, families, functions};
pub use limits::{DEFAULT_MEMORY, DEFAULT_TIME, Limits};
pub use metadata::metadata;
pub use problem::Problem;
pub use program::{Program, Unit};
pub use render::{Input, Output};
pub use request::{Rendered, Request};
pub(crate) use stack::on_large_stack;
