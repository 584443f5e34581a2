//! Syntax errors of JSON, as Go's scanner reports them: [`Error`].

use std::fmt;

/// Why parsing failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Error {
    /// An unexpected byte. Go shows it as the quoted character with that code.
    UnexpectedByte {
        /// The byte; a space if the text ends within a literal or a number.
        byte: u8,
        /// What was being parsed.
        context: Context,
    },
    /// The text ends within a value.
    UnexpectedEnd,
    /// Values nest deeper than the limit.
    TooDeep,
    /// More values than the limit.
    TooManyValues,
}

/// What was being parsed at an unexpected byte. Printed as in Go's messages.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Context {
    /// Before a value.
    Value,
    /// Before an object's name.
    Key,
    /// After an object's name.
    AfterKey,
    /// After a member.
    AfterMember,
    /// After an array's item.
    AfterItem,
    /// After the whole document.
    AfterDocument,
    /// In `true`, `false` or `null`.
    Literal {
        /// The word.
        word: &'static str,
        /// The expected character.
        expected: char,
    },
    /// At a number's first digit.
    Number,
    /// After the decimal point.
    Fraction,
    /// After the `e`.
    Exponent,
    /// A control character in a string.
    String,
    /// After a backslash.
    Escape,
    /// After `\u`.
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
