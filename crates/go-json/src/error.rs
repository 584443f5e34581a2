//! What is wrong with a text that is no JSON, as Go's scanner sees it: [`Error`].

use std::fmt;

/// Why reading ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Error {
    /// A byte that can't be here. Go shows it as the character of that code, quoted.
    UnexpectedByte {
        /// The byte; a blank where the text ends within a word or a number.
        byte: u8,
        /// What was being read.
        context: Context,
    },
    /// The text ends within a value.
    UnexpectedEnd,
    /// More values in each other than the limit.
    TooDeep,
    /// More values than the limit.
    TooManyValues,
}

/// What was being read when an unexpected byte came. Printed as in Go's messages.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Context {
    /// Before a value.
    Value,
    /// Before an object's name.
    Key,
    /// Behind an object's name.
    AfterKey,
    /// Behind a member.
    AfterMember,
    /// Behind an array's item.
    AfterItem,
    /// Behind the whole document.
    AfterDocument,
    /// In `true`, `false` or `null`.
    Literal {
        /// The word.
        word: &'static str,
        /// Its character that was due.
        expected: char,
    },
    /// At a number's first digit.
    Number,
    /// Behind the point.
    Fraction,
    /// Behind the `e`.
    Exponent,
    /// A control character in a text.
    String,
    /// Behind a backslash.
    Escape,
    /// Behind `\u`.
    UnicodeEscape,
}

impl fmt::Display for Context {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Value => "looking for beginning of value",
            Self::Key => "looking for beginning of object key string",
            Self::AfterKey => "after object key",
            Self::AfterMember => "after object key:value pair",
            Self::AfterItem => "after array element",
            Self::AfterDocument => "after top-level value",
            Self::Literal { word, expected } => {
                return write!(f, "in literal {word} (expecting '{expected}')");
            }
            Self::Number => "in numeric literal",
            Self::Fraction => "after decimal point in numeric literal",
            Self::Exponent => "in exponent of numeric literal",
            Self::String => "in string literal",
            Self::Escape => "in string escape code",
            Self::UnicodeEscape => "in \\u hexadecimal character escape",
        })
    }
}
