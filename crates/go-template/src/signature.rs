//! The types of parameters and the errors of calls, shared by functions and methods.

/// The declared type of a parameter. Arguments are checked against it before the call, and nil is only passed where Go
/// allows it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Type {
    /// `reflect.Value`: any value, with no value too (Go's own functions).
    Value,
    /// interface{}; nil is [`Val::Nil`](crate::Val::Nil).
    Any,
    /// string
    String,
    /// bool
    Bool,
    /// int
    Int,
    /// int64
    Int64,
    /// uint32
    Uint32,
    /// float64
    Float64,
    /// []interface{}; nil is [`Val::Nil`](crate::Val::Nil).
    Anys,
    /// []string; nil is [`Val::Nil`](crate::Val::Nil).
    Strings,
    /// `map[string]interface{}`; nil is [`Val::Nil`](crate::Val::Nil).
    Dict,
    /// []uint8; nil is [`Val::Nil`](crate::Val::Nil).
    Bytes,
    /// time.Time
    Time,
    /// time.Duration
    Duration,
    /// A named type: only an object of it is accepted.
    Named(&'static str),
}

/// Why a function failed, with Go's message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FuncError {
    /// The message.
    pub message: String,
    /// Whether the template itself raised this failure with its own message.
    pub asked_for: bool,
}

impl FuncError {
    /// An error with Go's message.
    pub fn new(message: impl Into<String>) -> Self {
        Self {
            message: message.into(),
            asked_for: false,
        }
    }

    /// A failure that the template raises with its own message: Helm's `fail` and `required`.
    pub fn asked_for(words: impl Into<String>) -> Self {
        Self {
            message: words.into(),
            asked_for: true,
        }
    }
}

impl From<String> for FuncError {
    fn from(message: String) -> Self {
        Self::new(message)
    }
}

impl From<&str> for FuncError {
    fn from(message: &str) -> Self {
        Self::new(message)
    }
}
