//! Traces output to the templates that printed it: [`Origins`].
//!
//! Only recorded on request ([`Run::execute_traced`](super::Run::execute_traced)): if the output is invalid YAML, the
//! template is run again to locate the error.

use std::ops::Range;
use std::sync::{Arc, OnceLock};

use solar_diagnostics::source::{Location, Span};

/// The maximum size of recorded included texts, in bytes. Later output is only traced to the action that printed it.
const KEPT_BYTES: usize = 64 << 20;

/// The output of one run of a template, and the nodes that printed it, in order.
#[derive(Debug, Default)]
pub struct Origins {
    /// The output.
    text: Vec<u8>,
    marks: Vec<Mark>,
    /// The output of templates that functions ran (`include`, `tpl`).
    inner: Vec<Inner>,
    kept_bytes: usize,
    /// Where the lines of the output start; made when one is searched.
    lines: OnceLock<Vec<usize>>,
}

#[derive(Debug)]
struct Mark {
    /// The start of its text.
    start: usize,
    location: Location,
    /// Whether it is the template's own text.
    verbatim: bool,
    /// The number of inner texts at that point.
    inner: usize,
}

#[derive(Debug)]
struct Inner {
    name: Arc<str>,
    origins: Origins,
}

/// The origin of a printed line.
#[derive(Debug, Clone)]
pub struct Origin {
    /// The location in a template.
    pub location: Location,
    /// The calling templates, innermost first, with the locations of the calls.
    pub trace: Vec<(Arc<str>, Location)>,
}

impl Origins {
    pub(super) fn mark(&mut self, start: usize, location: Location, verbatim: bool) {
        self.marks.push(Mark {
            start,
            location,
            verbatim,
            inner: self.inner.len(),
        });
    }

    pub(super) fn set_text(&mut self, text: &[u8]) {
        self.text = text.to_vec();
    }

    pub(super) fn add_inner(&mut self, name: &Arc<str>, origins: Self) {
        let bytes = origins.text.len() + origins.kept_bytes;
        if self.kept_bytes + bytes <= KEPT_BYTES {
            self.kept_bytes += bytes;
            let name = Arc::clone(name);
            self.inner.push(Inner { name, origins });
        }
    }

    /// The origin of the text at a line and a column; both from 1, columns in characters.
    pub fn find(&self, line: usize, column: usize) -> Option<Origin> {
        let starts = self.lines.get_or_init(|| line_starts(&self.text));
        let start = *starts.get(line.checked_sub(1)?)?;
        let rest = self.text.get(start..)?;
        let rest = rest.split(|byte| *byte == b'\n').next().unwrap_or_default();
        let text = String::from_utf8_lossy(rest);
        let before = text.chars().take(column.saturating_sub(1));
        self.at(start + before.map(char::len_utf8).sum::<usize>())
    }

    /// The line of an included text that the action of a mark printed: of one that it included itself, or, of a whole
    /// line, of any before (it may be a variable's).
    fn inner_line(&self, number: usize, mark: &Mark, offset: usize) -> Option<(Arc<str>, Origin)> {
        let range = line_at(&self.text, offset);
        let end = self
            .marks
            .get(number + 1)
            .map_or(self.text.len(), |next| next.start);
        let of = |range: Range<usize>| self.text.get(range).unwrap_or_default().trim_ascii();
        let line = of(range.clone());
        let printed = of(range.start.max(mark.start)..range.end.min(end));
        let before = number.checked_sub(1).and_then(|before| self.marks.get(before));
        let before = before.map_or(0, |before| before.inner);
        let own = self.inner.get(before..mark.inner).unwrap_or_default();
        let earlier = self.inner.get(..before).unwrap_or_default();
        let (above, below) = neighbours(&self.text, &range);
        let find = |inner: &[Inner], wanted: &[u8]| match wanted.is_empty() {
            true => None,
            false => inner
                .iter()
                .rev()
                .filter_map(|inner| inner.with_line(wanted, &above, &below))
                .reduce(|best, one| if one.0 > best.0 { one } else { best })
                .map(|(_, name, origin)| (name, origin)),
        };
        let earlier = || find(earlier, line).filter(|_| printed == line);
        find(own, printed).or_else(|| find(own, line)).or_else(earlier)
    }

    fn at(&self, offset: usize) -> Option<Origin> {
        let index = self.marks.partition_point(|mark| mark.start <= offset);
        let mark = self.marks.get(index.checked_sub(1)?)?;
        if mark.verbatim {
            let Span { start, end } = mark.location.span;
            let at = (start as usize + offset - mark.start).min(end as usize);
            return Some(Origin {
                location: Location::new(&mark.location.source, Span::new(at, at)),
                trace: Vec::new(),
            });
        }
        let found = self.inner_line(index - 1, mark, offset);
        Some(match found {
            Some((name, mut origin)) => {
                origin.trace.push((name, mark.location.clone()));
                origin
            }
            None => Origin {
                location: mark.location.clone(),
                trace: Vec::new(),
            },
        })
    }
}

impl Inner {
    /// The origin of a line of an included text, whatever its indentation. The same line may stand there several times:
    /// the one counts whose neighbours are those of the printed line, `before` (nearest first) and `after`.
    fn with_line(
        &self,
        wanted: &[u8],
        before: &[&[u8]],
        after: &[&[u8]],
    ) -> Option<(usize, Arc<str>, Origin)> {
        let lines: Vec<&[u8]> = self.origins.text.split(|byte| *byte == b'\n').collect();
        let trimmed: Vec<&[u8]> = lines.iter().map(|line| line.trim_ascii()).collect();
        let same = |neighbours: &[&[u8]], found: &mut dyn Iterator<Item = &&[u8]>| {
            neighbours.iter().zip(found).take_while(|(a, b)| a == b).count()
        };
        let candidates = trimmed.iter().enumerate().filter(|(_, line)| **line == wanted);
        let scored = candidates.map(|(index, _)| {
            let (earlier, later) = trimmed.split_at(index);
            let score = same(before, &mut earlier.iter().rev()) + same(after, &mut later.iter().skip(1));
            (score, index)
        });
        // Of equal ones the first.
        let (score, index) = scored.max_by_key(|(score, index)| (*score, std::cmp::Reverse(*index)))?;
        let start: usize = lines.iter().take(index).map(|line| line.len() + 1).sum();
        let line = lines.get(index)?;
        let blanks = line.len() - line.trim_ascii_start().len();
        let origin = self.origins.at(start + blanks)?;
        Some((score, Arc::clone(&self.name), origin))
    }
}

/// The offsets of the starts of all lines.
fn line_starts(text: &[u8]) -> Vec<usize> {
    let breaks = text.iter().enumerate().filter(|(_, byte)| **byte == b'\n');
    std::iter::once(0)
        .chain(breaks.map(|(index, _)| index + 1))
        .collect()
}

/// How many lines on each side of a line are compared to tell equal lines apart.
const NEIGHBOURS: usize = 64;

/// The lines before one, nearest first, and those after it, without their indentation.
fn neighbours<'t>(text: &'t [u8], line: &Range<usize>) -> (Vec<&'t [u8]>, Vec<&'t [u8]>) {
    let before = text.get(..line.start.saturating_sub(1)).unwrap_or_default();
    let after = text.get(line.end + 1..).unwrap_or_default();
    let some = |lines: &mut dyn Iterator<Item = &'t [u8]>| {
        let lines = lines.take(NEIGHBOURS).map(<[u8]>::trim_ascii);
        lines.collect()
    };
    let is_break = |byte: &u8| *byte == b'\n';
    (
        some(&mut before.rsplit(is_break)),
        some(&mut after.split(is_break)),
    )
}

/// The line around an offset.
fn line_at(text: &[u8], offset: usize) -> Range<usize> {
    let (before, after) = text.split_at(offset.min(text.len()));
    let start = before
        .iter()
        .rposition(|byte| *byte == b'\n')
        .map_or(0, |at| at + 1);
    let end = after
        .iter()
        .position(|byte| *byte == b'\n')
        .unwrap_or(after.len());
    start..before.len() + end
}
