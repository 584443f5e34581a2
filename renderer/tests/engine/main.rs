//! The engine as a library: hostile, large and random templates.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test that can't go on should stop"
)]

mod goldens;
mod hostile;
mod parallel_parsing;
mod random;
mod support;
mod unclosed_blocks;
