//! How to write: [`Options`], and whose writer is followed: [`Dialect`].

/// How to write.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Options {
    /// Neither `{{` nor `}}` appears in the output, so that it can stand in a Go template
    /// as it is; and it does not end in a block text, whose last line breaks the template
    /// around it might trim.
    pub template_safe: bool,
    /// Blanks before each line that is not empty.
    pub indent: usize,
    /// Whose text.
    pub dialect: Dialect,
}

/// The writers there are. None of them escapes what is refused by readers only in some
/// dialects: a [`Tree`](super::Tree) that must fail there checks its texts itself.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Dialect {
    /// go-yaml v2's, but what is written can always be read again.
    #[default]
    Readable,
    /// go-yaml v2's to the letter: the key `<<` is plain.
    GoYaml2,
    /// go-yaml v3's with two blanks of indentation, as `toYamlPretty` has it: lists are
    /// indented inside maps, nothing is folded.
    GoYaml3,
}
