//! What one text and one rendering may cost, each limit by name.

/// How deep actions and parentheses may nest. Go allows 10,000 parentheses.
pub const MAX_PARSE_DEPTH: usize = 1_000;
/// How deep values may nest where they are walked by recursion: printed, written, compared
/// or copied. A map can hold itself, and Go would fill its stack.
pub const MAX_NESTING: usize = 1_000;
/// How many parts one walk over a value may meet. Maps that stand in a map twice count twice: a few dozen that hold
/// each other so have more parts than can be walked over.
pub const MAX_PARTS: usize = 2_000_000;
/// How deep templates may call each other, by any means. Go: 100,000 for `template`, and
/// in Helm 1,000 for each name that is included.
pub const MAX_CALL_DEPTH: usize = 4_000;
/// The stack that takes [`MAX_CALL_DEPTH`] calls, in bytes.
pub const STACK_BYTES: usize = 1 << 30;
/// How many nodes and calls one rendering may evaluate.
pub const MAX_STEPS: u64 = 500_000_000;
/// After so many steps a run asks whether it may go on: some ten milliseconds.
pub(super) const WATCH_STEPS: u64 = 100_000;
/// How many bytes of a function's arguments and result count as one step.
pub(super) const BYTES_OF_A_STEP: usize = 64;
/// The most bytes of one text: an output, or what a function gives.
pub const MAX_TEXT_BYTES: usize = 256 << 20;
/// How many items of a list that a function makes count as one step.
pub(super) const ITEMS_OF_A_STEP: usize = 2;
/// The most items of one list.
pub const MAX_LIST_ITEMS: usize = 10_000_000;
/// The most bytes of texts that `tpl` has parsed and are kept.
pub(super) const KEPT_BYTES: usize = 32 << 20;
