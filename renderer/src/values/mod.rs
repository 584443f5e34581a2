//! Values: what a user gives, and what a chart makes of them.

mod coalesce;
mod conditions;
pub mod dependencies;
pub mod options;
mod places;
pub mod schema;
mod schema_bounds;
mod schema_cycles;
#[cfg(test)]
mod schema_tests;
mod schema_words;
pub mod set;
#[cfg(test)]
mod set_tests;
mod tree;

pub use dependencies::{Enabled, Prepared, prepare};
pub use places::{Defaults, Places};
