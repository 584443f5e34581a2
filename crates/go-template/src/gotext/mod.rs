//! Go's packages `unicode`, `strconv` and `utf8`, where Rust's standard library differs: classes and simple case
//! mappings by Unicode 15.0, quoting, numbers.

pub mod number;
pub mod quote;
pub mod runes;
mod tables;
