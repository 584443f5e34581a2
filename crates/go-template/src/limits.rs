//! The limits of a text and of a rendering.

/// The maximum nesting of actions and parentheses. Go allows 10,000 parentheses.
pub const MAX_PARSE_DEPTH: usize = 1_000;
/// The maximum nesting of values where they are walked recursively: printed, written, compared or copied. A map can
/// contain itself, and Go would overflow its stack.
pub const MAX_NESTING: usize = 1_000;
/// The maximum number of parts of a walk over a value. A map that occurs twice counts twice: a few dozen maps that
/// contain each other twice have exponentially many parts.
pub const MAX_PARTS: usize = 2_000_000;
/// The maximum nesting of template calls of any kind. Go: 100,000 for `template`, and in Helm 1,000 for each included
/// name.
pub const MAX_CALL_DEPTH: usize = 4_000;
/// The stack size for [`MAX_CALL_DEPTH`] calls, in bytes.
pub const STACK_BYTES: usize = 1 << 30;
/// The maximum number of nodes and calls that a rendering may evaluate.
pub const MAX_STEPS: u64 = 500_000_000;
/// After how many steps a run checks the watch: some ten milliseconds.
pub(super) const WATCH_STEPS: u64 = 100_000;
/// The number of bytes of a function's arguments and result that count as one step.
pub(super) const BYTES_OF_A_STEP: usize = 64;
/// The maximum size of one text, in bytes: an output, or a function's result.
pub const MAX_TEXT_BYTES: usize = 256 << 20;
/// The number of items of a function's list that count as one step.
pub(super) const ITEMS_OF_A_STEP: usize = 2;
/// The maximum number of items of a list.
pub const MAX_LIST_ITEMS: usize = 10_000_000;
/// The maximum size of cached texts that `tpl` has parsed, in bytes.
pub(super) const KEPT_BYTES: usize = 32 << 20;
