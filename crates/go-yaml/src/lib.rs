//! YAML 1.1 as Helm parses and writes it.
//!
//! In: a [`Source`](solar_diagnostics::source::Source). Out: a tree of [`Node`]s with their spans, or diagnostics. And
//! back: a [`Value`](solar_diagnostics::value::Value) to the text that Helm's `toYaml` prints. Both follow
//! `sigs.k8s.io/yaml` 1.6.0 over go-yaml v2.4, which is what Helm 4.3.1 uses for values files, Chart.yaml, `toYaml` and
//! `fromYaml`.
//!
//! This crate is independent of charts and configs, and reads no files.
//!
//! # Differences from Helm in parsing
//!
//! - JSON is read as JSON: `\/` and surrogate pairs such as `\ud83d\ude00` are escapes;
//!   go-yaml refuses both.
//! - Limits are [`Limits`]; go-yaml allows a depth of 10000 and a share of aliases.
//! - A value that a later duplicate replaces must still be valid.
//! - `{} x: y` at the root is an error; go-yaml parses the `{}` and ignores the rest.
//! - Of keys that become equal as strings (`1` and `"1"`) the last wins; in Go it is random.
//!
//! Differences in writing: see [`write()`].

mod base64;
mod build;
mod collections;
mod comments;
mod compose;
mod cursor;
mod dialect;
mod emit;
mod error;
mod expand;
mod float;
mod flow;
mod json;
mod node;
mod order;
mod outline;
mod raw;
mod resolve;
mod scan;
mod scan_scalar;
mod scan_tag;
mod style;
mod write;
mod written;

pub use compose::{Document, parse, parse_all, parse_all_documents, parse_document};
pub use dialect::{Dialect, Options};
pub use error::{DuplicateKey, Flow, InvalidKey, Named, Result, Tab, YamlError, YamlErrorKind};
pub use flow::write_flow;
pub use json::{parse_json, parse_json_document, parse_json_prefix};
pub use node::{Entry, Kind, Node};
pub use outline::{TopEntry, outline, pick};
pub use raw::Limits;
pub use write::{Tree, Writer, plain_float, write, write_tree, write_with};
pub use written::{ScalarType, WrittenDocument, WrittenKind, WrittenNode, parse_written, scalar_type};
