//! What the readers of YAML and of templates share: source texts with spans, diagnostics, and plain data.
//!
//! Nothing here knows charts, Helm, registries, files or terminals. Modules import downward only, in the order of
//! this list:
//!
//! - [`diag`][]: what a user did wrong, where, why, and what to do about it
//! - [`source`][]: named texts, and spans in them
//! - [`value`][]: data as YAML and JSON hold it, with Go's numbers

pub mod diag;
pub mod source;
pub mod value;
