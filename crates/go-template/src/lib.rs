//! Go's `text/template` language, as of Go 1.26.
//!
//! A text is parsed ([`Functions::parse`]) into trees that can be shared between threads,
//! collected in a [`Set`], and run with data ([`Run`]). Values are [`Val`]: Go's dynamic values that templates can
//! create. Functions come from [`Func`] tables, generic over their context `C`; this crate is independent of Helm,
//! charts and YAML.
//!
//! Errors have Go's message, the location in the text, and the trace ([`Error`]).
//!
//! # Differences from Go
//!
//! - Limits: [`MAX_PARSE_DEPTH`], [`MAX_CALL_DEPTH`], [`MAX_STEPS`], [`MAX_TEXT_BYTES`],
//!   [`MAX_LIST_ITEMS`], [`MAX_NESTING`], [`MAX_PARTS`], and [`memory::limit`]. Go fills the memory or the stack.
//! - Names may have any letter or number of Unicode, as Rust classifies them.
//! - `%p` prints a fixed address.
//! - The missing key of a map is the zero value of its type (`missingkey=zero`), as in Helm.

mod ast;
mod builtins;
mod call;
mod data;
mod error;
mod eval;
mod exec;
mod execute;
mod func;
mod functions;
pub mod gotext;
pub mod inspect;
mod lex;
mod limits;
mod literal;
pub mod memory;
mod origins;
mod parse;
pub mod print;
mod quoted;
mod run;
mod set;
mod signature;
mod stack_guard;
mod text;
mod value;

pub use ast::Tree;
pub use data::{TooDeep, Walk};
pub use error::{Detail, Error, Failure};
pub use func::{Call, Func, MapMethod};
pub use functions::{EngineFunc, Functions, Signature};
pub use limits::{
    MAX_CALL_DEPTH, MAX_LIST_ITEMS, MAX_NESTING, MAX_PARSE_DEPTH, MAX_PARTS, MAX_STEPS, MAX_TEXT_BYTES,
    STACK_BYTES,
};
pub use origins::{Origin, Origins};
pub use parse::{ParseBuffers, ParseError, Related, Unknown};
pub use run::{Run, Watch};
pub use set::Set;
pub use signature::{FuncError, Type};
pub use stack_guard::StackGuard;
pub use text::Str;
pub use value::{Bytes, IntType, Kind, List, ListType, Map, MapType, Method, Object, UintType, Val};
