//! The errors of a text: one variant for each mistake, with its message and its hint.
//!
//! Callers that need to distinguish errors use [`YamlError::kind`]; the messages are for users, and no code may depend
//! on them.

use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;

use solar_diagnostics::diag::{Class, Diagnostic, Diagnostics};
use solar_diagnostics::source::{Location, Source, Span};

/// The hint about `{{` in a text that is not a template.
pub(super) const TEMPLATE_HINT: &str =
    "`{{` belongs to a template: put the value in quotes if it is text, or render the template first";

/// The result of parsing.
pub type Result<T> = std::result::Result<T, YamlError>;

/// The position of a forbidden tab.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tab {
    /// Before a value or a key.
    BeforeToken,
    /// In a continuation line of a plain scalar.
    InPlain,
    /// Before a line of a block scalar.
    InBlock,
}

/// The kinds of names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Named {
    /// `&name`
    Anchor,
    /// `*name`
    Alias,
}

/// A collection in brackets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Flow {
    /// `[…]`
    Sequence,
    /// `{…}`
    Mapping,
}

impl Flow {
    /// The bracket that opens it.
    pub fn opening(self) -> char {
        match self {
            Self::Sequence => '[',
            Self::Mapping => '{',
        }
    }

    /// The bracket that closes it.
    pub fn closing(self) -> char {
        match self {
            Self::Sequence => ']',
            Self::Mapping => '}',
        }
    }
}

/// Invalid keys of a map.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum InvalidKey {
    /// `? [a]`
    Sequence,
    /// `{a: 1}: b`, or `{{ a }}`
    Mapping,
    /// `~: 1`
    Null,
    /// A number above int64.
    Uint,
}

impl InvalidKey {
    fn as_str(self) -> &'static str {
        match self {
            Self::Sequence => "a list",
            Self::Mapping => "a map",
            Self::Null => "null",
            Self::Uint => "an integer beyond int64",
        }
    }
}

/// What is wrong.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum YamlErrorKind {
    /// The text is larger than [`crate::Limits::bytes`].
    #[error("the text has {length} bytes, and the limit is {limit}")]
    TooLong {
        /// Its bytes.
        length: usize,
        /// The bytes it may have.
        limit: usize,
    },
    /// Maps and lists nest deeper than [`crate::Limits::depth`].
    #[error("maps and lists nest more than {limit} deep")]
    TooDeep {
        /// How deep they may nest.
        limit: usize,
    },
    /// There are more nodes than [`crate::Limits::nodes`].
    #[error("the text holds more than {limit} values")]
    TooManyNodes {
        /// How many there may be.
        limit: usize,
    },
    /// Nearly all values come from aliases: go-yaml refuses that.
    #[error("nearly all values come from aliases, and Helm refuses that")]
    ExcessiveAliasing,
    /// With aliases replaced by what they stand for, the text exceeds [`crate::Limits::bytes`].
    #[error("aliases expand the text beyond {limit} bytes")]
    AliasesTooLarge {
        /// The bytes it may have.
        limit: usize,
    },
    /// A character that YAML does not allow anywhere.
    #[error("the character U+{:04X} is not allowed in YAML", u32::from(*.0))]
    ForbiddenCharacter(char),
    /// The text ends within a token.
    #[error("unexpected end of the text")]
    UnexpectedEnd,
    /// `a: - b`
    #[error("unexpected `-`: a list cannot start on this line")]
    UnexpectedSequence,
    /// `a: ? b`
    #[error("unexpected `?`: a key cannot start here")]
    UnexpectedKey,
    /// `a: b: c`
    #[error("unexpected `:`")]
    UnexpectedColon,
    /// A line between keys without `:`.
    #[error("expected `:` after this key")]
    MissingColon {
        /// The line, from 1, where the `:` is known to be missing: that of the next token.
        noticed: usize,
    },
    /// `&` or `*` without a name, or with invalid characters in it.
    #[error("invalid name of an {}", match .0 { Named::Anchor => "anchor", Named::Alias => "alias" })]
    InvalidName(Named),
    /// A tab that could be indentation.
    #[error("tabs are not allowed as indentation")]
    TabIndentation(Tab),
    /// No value starts with this character.
    #[error("unexpected `{0}`: no value starts with it")]
    InvalidStart(char),
    /// A quoted scalar reaches the end of the document.
    #[error("unclosed quote")]
    UnclosedQuote {
        /// The offset where the text ends.
        end: u32,
    },
    /// `---` or `...` at the start of a line of a quoted scalar.
    #[error("unclosed quote at the end of the document")]
    DocumentInQuotes {
        /// The offset where the document ends.
        end: u32,
    },
    /// `"\q"`
    #[error("unknown escape `{0}`")]
    UnknownEscape(String),
    /// `"\ud800"`
    #[error("`{0}` is not a valid character code")]
    InvalidCharacterCode(String),
    /// `"\xg0"`
    #[error("expected {digits} hexadecimal digits")]
    InvalidHexadecimal {
        /// The number of digits of the escape.
        digits: usize,
    },
    /// `|0`
    #[error("invalid indentation indicator 0")]
    ZeroIndentation,
    /// `| text`
    #[error("unexpected text after the header of a block scalar")]
    TextInBlockHeader,
    /// `!<tag`
    #[error("expected `>` at the end of the tag")]
    UnclosedTag,
    /// `!tag"text"`
    #[error("expected a space or a line break after the tag")]
    MissingBlankAfterTag,
    /// `!!` alone.
    #[error("expected a tag name")]
    MissingTagName,
    /// `!%ff`
    #[error("the tag's `%` escapes are not UTF-8")]
    TagNotUtf8,
    /// `!%zz`
    #[error("expected two hexadecimal digits after `%` in a tag")]
    InvalidTagEscape,
    /// `!e!tag` without `%TAG !e! …`
    #[error("the tag handle `{0}` is not defined")]
    UndefinedTagHandle(String),
    /// A line that starts with `%`, without a name.
    #[error("expected a directive name")]
    MissingDirectiveName,
    /// A line that starts with `%`.
    #[error("unknown directive")]
    UnknownDirective,
    /// `%YAML 1.1 more`
    #[error("unexpected text after the directive")]
    TextAfterDirective,
    /// `%TAG e`
    #[error("expected a tag handle such as `!e!`")]
    InvalidTagHandle,
    /// `%TAG !e!`
    #[error("expected a tag handle such as `!e!` and a prefix")]
    MissingTagPrefix,
    /// `%TAG !e! "x"`
    #[error("invalid tag prefix")]
    InvalidTagPrefix,
    /// `%YAML` twice.
    #[error("duplicate `%YAML` directive")]
    DuplicateVersion,
    /// `%YAML 1.2`
    #[error("YAML version `{0}` is not supported")]
    UnsupportedVersion(String),
    /// `%TAG` twice for a handle.
    #[error("duplicate `%TAG` directive for this handle")]
    DuplicateTagHandle,
    /// Directives without a document.
    #[error("expected `---` after the directives")]
    MissingDocumentStart,
    /// Text after the root of a document.
    #[error("unexpected text after the end of the document")]
    TextAfterDocument,
    /// A missing value: `[,]`.
    #[error("expected a value")]
    MissingValue,
    /// Unexpected text between the items of a list.
    #[error("expected an item of the enclosing list")]
    ExpectedItem,
    /// Unexpected text between the keys of a map.
    #[error("expected a key of the enclosing map")]
    ExpectedKey,
    /// A bracket that is open at the end of the document.
    #[error("unclosed `{}`", flow.opening())]
    Unclosed {
        /// Which bracket.
        flow: Flow,
        /// Whether nothing follows it.
        empty: bool,
    },
    /// Unexpected text between entries in brackets.
    #[error("expected `,` or `{}`", .0.closing())]
    ExpectedComma(Flow),
    /// An alias of an unknown anchor.
    #[error("unknown anchor `{0}`")]
    UnknownAnchor(String),
    /// An anchor whose value contains an alias of it.
    #[error("the value of anchor `{0}` contains itself")]
    RecursiveAnchor(String),
    /// `<<: 1`
    #[error("`<<` requires a map or a list of maps")]
    InvalidMerge,
    /// A key that is invalid in JSON.
    #[error("{} cannot be a key of a map", .0.as_str())]
    InvalidKey(InvalidKey),
    /// `.inf` and `.nan`
    #[error("infinity and NaN are not supported")]
    NonFinite,
    /// `!!int x`
    #[error("`{value}` is not a valid `!!{tag}`")]
    TagMismatch {
        /// The text.
        value: String,
        /// The tag without its prefix.
        tag: String,
    },
    /// `!!binary` before a text that is not base64.
    #[error("the value of `!!binary` is not valid base64")]
    InvalidBinary,
    /// An internal error: the tree refers to a node that it does not have.
    #[error("a node is missing")]
    MissingNode,
}

impl YamlErrorKind {
    /// The hint, if it does not depend on the surrounding text.
    fn hint(&self) -> Option<Cow<'static, str>> {
        let hint = match self {
            Self::ForbiddenCharacter(character) => {
                let code = u32::from(*character);
                return Some(format!("in double quotes it can be written as `\\u{code:04x}`").into());
            }
            Self::UnexpectedSequence => {
                "put each `- ` on a line of its own, below the key, or the text in quotes"
            }
            Self::UnexpectedKey | Self::InvalidStart(_) => "put the text in quotes",
            Self::UnexpectedColon => {
                "put the text in quotes if the `:` belongs to it, or the key on a line of its own"
            }
            Self::MissingColon { .. } => {
                "write `key: value`, or indent the line if it continues the text before it"
            }
            Self::InvalidName(_) => {
                "names are letters, digits, `-` and `_`; put the text in quotes if it is one"
            }
            Self::TabIndentation(_) => "use spaces instead",
            Self::UnclosedQuote { .. } | Self::DocumentInQuotes { .. } => {
                "inside single quotes write `''` for a quote, inside double quotes `\\\"`"
            }
            Self::UnknownEscape(_) => "write `\\\\` for a backslash, or use single quotes",
            Self::TextInBlockHeader => "put the text in quotes if its `|` or `>` belongs to it",
            Self::MissingBlankAfterTag => "put the text in quotes if the `!` belongs to it",
            Self::MissingDirectiveName | Self::UnknownDirective => {
                "a line that starts with `%` is a directive: put the text in quotes"
            }
            Self::UnsupportedVersion(_) => "leave out the line",
            Self::TextAfterDocument => "a further document starts with `---`; check the indentation",
            Self::ExpectedItem => "each item starts with `- ` in the same column: check the indentation",
            Self::ExpectedKey => "check the indentation, and put texts with special characters in quotes",
            Self::InvalidMerge => "put the key in quotes if `<<` itself is meant",
            Self::InvalidKey(_) => "put the key in quotes",
            Self::NonFinite => {
                "YAML is read as JSON here, which has no such numbers: put it in quotes to keep it as text"
            }
            _ => return None,
        };
        Some(hint.into())
    }
}

/// A syntax error with its location.
///
/// One pointer wide: it passes through every level of the recursion.
#[derive(Debug, Clone)]
pub struct YamlError(Box<Inner>);

#[derive(Debug, Clone)]
struct Inner {
    kind: YamlErrorKind,
    class: Class,
    location: Option<Location>,
    /// Replaces the kind's own hint.
    hint: Option<String>,
    /// The open bracket, if it is relevant.
    opened: Option<(Flow, Location)>,
}

impl YamlError {
    pub(super) fn new(kind: YamlErrorKind, class: Class, location: Option<Location>) -> Self {
        Self(Box::new(Inner {
            kind,
            class,
            location,
            hint: None,
            opened: None,
        }))
    }

    #[must_use]
    pub(super) fn hint(mut self, hint: impl Into<String>) -> Self {
        self.0.hint = Some(hint.into());
        self
    }

    #[must_use]
    pub(super) fn opened(mut self, flow: Flow, at: Option<Location>) -> Self {
        self.0.opened = at.map(|at| (flow, at));
        self
    }

    /// What is wrong.
    pub fn kind(&self) -> &YamlErrorKind {
        &self.0.kind
    }

    /// Moves the error into the whole text, in which the parsed part starts at `offset`.
    #[must_use]
    pub fn within(mut self, whole: &Arc<Source>, offset: usize) -> Self {
        let opened = self.0.opened.as_mut().map(|(_, location)| location);
        for location in self.0.location.iter_mut().chain(opened) {
            let Span { start, end } = location.span;
            *location = Location::new(whole, Span::new(start as usize + offset, end as usize + offset));
        }
        self
    }

    /// The location, except for internal errors.
    pub fn location(&self) -> Option<&Location> {
        self.0.location.as_ref()
    }
}

impl From<YamlError> for Diagnostic {
    fn from(error: YamlError) -> Self {
        let Inner {
            kind,
            class,
            location,
            hint,
            opened,
        } = *error.0;
        let hint = hint.map(Cow::from).or_else(|| kind.hint());
        let opened = opened.map(|(flow, at)| (format!("the `{}` was opened", flow.opening()), Some(at)));
        Self {
            location,
            trace: opened.into_iter().collect(),
            hints: hint.into_iter().map(Cow::into_owned).collect(),
            ..Self::error(class, kind.to_string())
        }
    }
}

impl From<YamlError> for Diagnostics {
    fn from(error: YamlError) -> Self {
        Diagnostic::from(error).into()
    }
}

impl fmt::Display for YamlError {
    /// `file:line:column: message`
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.location() {
            Some(location) => write!(f, "{location}: {}", self.0.kind),
            None => write!(f, "{}", self.0.kind),
        }
    }
}

impl std::error::Error for YamlError {}

/// A duplicate key in a map, of which the last one wins, as in Helm.
#[derive(Debug, Clone)]
pub struct DuplicateKey {
    /// The key.
    pub key: String,
    /// The location of the duplicate.
    pub location: Location,
    /// The line of the previous one, from 1.
    pub previous_line: usize,
}

impl DuplicateKey {
    /// Moves the error into the whole text, in which the parsed part starts at `offset`.
    #[must_use]
    pub fn within(self, whole: &Arc<Source>, offset: usize) -> Self {
        let Span { start, end } = self.location.span;
        let start_line = whole.position(u32::try_from(offset).unwrap_or(u32::MAX)).line;
        Self {
            location: Location::new(whole, Span::new(start as usize + offset, end as usize + offset)),
            previous_line: self.previous_line + start_line - 1,
            ..self
        }
    }

    /// The warning.
    pub fn to_diagnostic(&self, class: Class) -> Diagnostic {
        let Self {
            key,
            location,
            previous_line,
        } = self;
        Diagnostic::warning(class, format!("duplicate key `{key}`"))
            .at(location.clone())
            .note(format!(
                "the value on line {previous_line} is ignored: the last one counts"
            ))
    }
}
