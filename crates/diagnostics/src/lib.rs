//! Shared by the parsers of YAML and of templates: source texts with spans, diagnostics, and plain data.
//!
//! Nothing here knows charts, Helm, registries, files or terminals. Modules import downward only, in the order of
//! this list:
//!
//! - `draw` (feature `draw`): diagnostics as text, with an excerpt
//! - [`diag`][]: errors and warnings with location, reason and hint
//! - [`credentials`][]: masks passwords and tokens in URLs
//! - [`source`][]: named texts, and spans in them
//! - [`value`][]: data of YAML and JSON, with Go's numbers

pub mod credentials;
pub mod diag;
#[cfg(feature = "draw")]
pub mod draw;
pub mod source;
pub mod value;
