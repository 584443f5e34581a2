//! The options for writing: [`Options`] and [`Dialect`].

/// The options for writing.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Options {
    /// Neither `{{` nor `}}` appears in the output, so that it can be embedded in a Go template; and it does not end
    /// with a block scalar, whose last line breaks the surrounding template might trim.
    pub template_safe: bool,
    /// The number of spaces before each line that is not empty.
    pub indent: usize,
    /// The dialect.
    pub dialect: Dialect,
}

/// The supported writers. None of them escapes characters that readers refuse only in some dialects: a
/// [`Tree`](super::Tree) that must fail for those checks its texts itself.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Dialect {
    /// go-yaml v2's, but the output can always be parsed again.
    #[default]
    Readable,
    /// Exactly go-yaml v2's: the key `<<` is plain.
    GoYaml2,
    /// go-yaml v3's with two spaces of indentation, as in `toYamlPretty`: lists are indented inside maps, nothing is
    /// folded.
    GoYaml3,
}
