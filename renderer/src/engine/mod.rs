//! Helm's engine: a chart's templates with values, as `helm template` runs them.

pub mod capabilities;
mod files;
mod functions;
mod glob;
pub mod images;
mod limits;
mod locate_error;
pub mod manifest;
mod manifest_head;
#[cfg(test)]
mod manifest_tests;
mod metadata;
mod parsed_chart;
mod program;
pub mod release;
mod render;
mod request;
pub mod show;
mod stack;
#[cfg(feature = "pipeline")]
mod standalone;
mod template_error;
mod values_methods;

pub use functions::{MAX_INCLUDES, families, functions};
pub use limits::{DEFAULT_MEMORY, DEFAULT_TIME, Limits};
#[cfg(feature = "pipeline")]
pub(crate) use locate_error::RENDERED_LINES;
#[cfg(feature = "cli")]
pub(crate) use locate_error::word_at;
pub use locate_error::{Traced, blame};
pub use metadata::metadata;
#[cfg(feature = "pipeline")]
pub(crate) use parsed_chart::defaults;
pub use parsed_chart::{ParsedChart, unit};
pub use program::{Program, ProgramUnit};
pub use render::{RenderInput, RenderOutput};
pub use request::{ChartVersions, RenderRequest, RenderedChart, TemplateFilter};
#[cfg(feature = "pipeline")]
pub(crate) use stack::on_large_stack;
#[cfg(feature = "cli")]
pub(crate) use stack::workers;
#[cfg(feature = "pipeline")]
pub(crate) use standalone::{TextTemplates, run_texts};
pub use template_error::TemplateError;
