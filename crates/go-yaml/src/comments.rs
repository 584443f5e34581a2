//! Comments before keys and items, as go-yaml v3 attaches them: the head comments of its nodes.
//!
//! In: the gaps between two tokens in which there is a comment ([`Gap`]), recorded by the scanner. Out: the text of the
//! comment that belongs to the token after a gap. Comments behind a value, and those that belong to what is before them
//! (feet), are left out:
//!
//! - a comment on the line right below a value that is followed by an empty line is that value's foot;
//! - a comment that is further left than its block, and not aligned with what follows it, belongs to neither;
//! - so does one before a bracket that closes a flow collection;
//! - an empty line at the start of a document separates the document's comment from that of its first key.

use std::collections::BTreeMap;

const BREAKS: [char; 5] = ['\n', '\r', '\u{85}', '\u{2028}', '\u{2029}'];

/// What the token before a gap is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum After {
    /// None: the start of the text.
    Nothing,
    /// The `:` of a value.
    Value,
    /// The `-` of an item.
    Item,
    Other,
}

/// Where the scanner went from one token to the next, and found a comment.
#[derive(Debug, Clone, Copy)]
pub(super) struct Gap {
    pub(super) start: usize,
    /// The offset of the next token.
    pub(super) end: usize,
    /// The column of the block around it.
    pub(super) indent: usize,
    pub(super) after: After,
    /// Whether the next token closes a flow collection.
    pub(super) closes: bool,
    /// Whether the comment is that of what follows the next token, which is a `,` or `---`.
    pub(super) passes_on: bool,
    /// Whether a comment may belong to what is before it: on the first line go-yaml doesn't see that.
    pub(super) has_feet: bool,
}

/// The comments by the offset of the token that they belong to.
pub(super) fn heads(text: &str, gaps: &[Gap]) -> BTreeMap<usize, String> {
    let mut heads = BTreeMap::new();
    let mut pending = String::new();
    for gap in gaps {
        let mut head = Reader::new(text, gap).head().unwrap_or_default();
        if gap.after == After::Nothing && !gap.passes_on {
            head = last_paragraph(&head).to_owned();
        }
        if !pending.is_empty() {
            let before = std::mem::take(&mut pending);
            head = if head.is_empty() {
                before
            } else {
                format!("{before}\n{head}")
            };
        }
        if gap.closes {
            continue;
        }
        if gap.passes_on {
            pending = head;
        } else if !head.is_empty() {
            heads.insert(gap.end, head);
        }
    }
    heads
}

/// What follows the last empty line.
fn last_paragraph(head: &str) -> &str {
    match head.strip_suffix('\n') {
        Some(_) => "",
        None => head.rsplit("\n\n").next().unwrap_or(head),
    }
}

struct Reader<'a> {
    text: &'a str,
    gap: &'a Gap,
    head: String,
    /// Column and line, from that of the gap's start on, where the head begins.
    begins: (usize, usize),
    has_comment: bool,
    after_empty: bool,
    /// Whether there was no empty line so far.
    is_dense: bool,
}

impl<'a> Reader<'a> {
    fn new(text: &'a str, gap: &'a Gap) -> Self {
        Self {
            text,
            gap,
            head: String::new(),
            begins: (0, 0),
            has_comment: false,
            after_empty: false,
            is_dense: true,
        }
    }

    fn head(mut self) -> Option<String> {
        let gap = self.text.get(self.gap.start..self.gap.end)?;
        let mut lines = breaks(gap).into_iter().enumerate().peekable();
        while let Some((number, line)) = lines.next() {
            let blanks = line.len() - line.trim_start_matches([' ', '\t']).len();
            let column = blanks + if number == 0 { self.column() } else { 0 };
            let is_last = lines.peek().is_none();
            match line.get(blanks..) {
                Some(comment) if comment.starts_with('#') => {
                    let is_behind = number == 0 && !matches!(self.gap.after, After::Nothing | After::Item);
                    if !is_behind {
                        self.comment(column, number, comment);
                    }
                }
                _ if is_last => self.drop_dedented(column, self.gap.closes),
                _ if number > 0 || self.gap.after == After::Nothing => self.empty_line(),
                _ => {}
            }
        }
        (!self.head.is_empty()).then_some(self.head)
    }

    /// The column of the gap's start.
    fn column(&self) -> usize {
        let before = self.text.get(..self.gap.start).unwrap_or("");
        let line = before.rsplit(BREAKS).next().unwrap_or("");
        line.chars().count()
    }

    fn comment(&mut self, column: usize, line: usize, comment: &str) {
        self.drop_dedented(column, false);
        if self.head.is_empty() {
            self.begins = (column, line);
        } else {
            self.head.push('\n');
        }
        self.head.push_str(comment);
        self.has_comment = true;
        self.after_empty = false;
    }

    /// Leaves out what is further left than its block, when something begins in another column.
    fn drop_dedented(&mut self, column: usize, always: bool) {
        let is_dedented = column < self.gap.indent && column != self.begins.0;
        if !self.head.is_empty() && (always || is_dedented) {
            self.head.clear();
        }
    }

    fn empty_line(&mut self) {
        let (column, line) = self.begins;
        if self.has_comment && !self.after_empty {
            let is_foot = line == 1 && self.gap.has_feet && self.gap.after != After::Value;
            if self.is_dense && (is_foot || column < self.gap.indent) {
                self.head.clear();
            } else if !self.head.is_empty() {
                self.head.push('\n');
            }
        }
        self.is_dense = false;
        self.after_empty = true;
    }
}

/// The lines of a text, without their breaks.
fn breaks(text: &str) -> Vec<&str> {
    let mut lines = Vec::new();
    let mut rest = text;
    while let Some(at) = rest.find(BREAKS) {
        let (line, after) = rest.split_at(at);
        lines.push(line);
        let length = after.chars().next().map_or(0, char::len_utf8);
        let length = if after.starts_with("\r\n") { 2 } else { length };
        rest = after.get(length..).unwrap_or("");
    }
    lines.push(rest);
    lines
}
