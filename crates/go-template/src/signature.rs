//! The types of parameters, and why a call fails: what functions and methods of values share.

/// The declared type of a parameter. Arguments are checked against it before the call, and
/// nil is given only where Go allows it.
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
    /// A type with a name of its own, by that name: only an object of it fits.
    Named(&'static str),
}

/// Why a function failed, in the words of Go's error.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FuncError {
    /// The words.
    pub message: String,
    /// Whether the template itself asked for this failure, and these are its own words.
    pub asked_for: bool,
}

impl FuncError {
    /// From the words of Go's error.
    pub fn new(message: impl Into<String>) -> Self {
        Self {
            message: message.into(),
            asked_for: false,
        }
    }

    /// A failure that the template asks for, in its own words: Helm's `fail` and `required`.
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
