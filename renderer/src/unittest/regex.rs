//! Regular expressions of suites: Go's, as in templates.

use std::sync::Arc;

use crate::funcs::re2::{Expression, compile_within};

/// The maximum size of a compiled expression, in bytes.
pub const MAX_REGEX_BYTES: usize = 16 << 20;

/// A compiled expression.
#[derive(Debug, Clone)]
pub(super) struct GoRegex(Arc<Expression>);

impl GoRegex {
    /// Compiles an expression.
    ///
    /// # Errors
    /// Go's message.
    pub(super) fn new(text: &str) -> Result<Self, String> {
        compile_within(text, MAX_REGEX_BYTES).map(|one| Self(Arc::new(one)))
    }

    /// Whether it occurs in a text; an expression that is too large for texts beyond ASCII does not.
    pub(super) fn is_match(&self, text: &str) -> bool {
        self.0.search(text).is_ok_and(|search| search.is_match())
    }
}
