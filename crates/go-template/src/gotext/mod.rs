//! What Go's packages `unicode`, `strconv` and `utf8` know of texts, where Rust's standard
//! library knows it otherwise: classes and simple case mappings by Unicode 15.0, quoting,
//! numbers.

pub mod number;
pub mod quote;
pub mod runes;
mod tables;
