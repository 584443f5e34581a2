//! Values: the user's flags and files, merging with charts' values, and schemas.

mod chart_node;
mod coalesce;
mod conditions;
pub mod dependencies;
pub mod options;
pub mod schema;
mod schema_bounds;
mod schema_cycles;
pub mod schema_documents;
mod schema_messages;
mod schema_mistakes;
mod schema_patterns;
#[cfg(test)]
mod schema_tests;
pub mod set;
#[cfg(test)]
mod set_tests;
mod tree;
mod value_origins;

pub use dependencies::{Enabled, PreparedValues, prepare};
#[cfg(feature = "pipeline")]
pub(crate) use schema_mistakes::part_mistake;
pub use value_origins::{Defaults, KeyOrigin, KeyOrigins, ValueOrigins};
