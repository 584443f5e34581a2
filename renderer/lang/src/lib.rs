//! What charts are written in: YAML 1.1 as Helm reads and writes it, and Go's text/template.
//!
//! Nothing here knows charts, Helm or files. It is a crate of its own because this is where rendering a chart spends its
//! time: it is compiled for speed, what stands on it for size. Modules import downward only, in the order of
//! this list:
//!
//! - `template`: Go's text/template (feature `template`)
//! - `gotext`: Go's quoting, numbers and character classes (feature `template`)
//! - [`yaml`][]: YAML 1.1 as Helm's readers read it and its writers write it
//! - [`value`][]: data
//! - [`diag`][], [`source`][]: what users did wrong, and where

pub mod diag;
#[cfg(feature = "template")]
pub mod gotext;
pub mod source;
#[cfg(feature = "template")]
pub mod template;
pub mod value;
pub mod yaml;
