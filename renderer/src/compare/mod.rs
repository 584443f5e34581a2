//! Compares what Helm prints of a chart with what we print, to the byte.
//!
//! In: the runs of both programs ([`RenderRun`]), of Helm at least two, one after the other ([`Judge`]). Out: a
//! [`Judgment`] with every [`Difference`]. What differs between Helm's own runs (generated keys and passwords, times, the order of `keys`) is
//! masked: there is nothing to compare it with. A mask covers whole words, so that two passwords that begin alike
//! leave nothing of themselves; a word of letters and digits that has the same length in all of Helm's runs must have it
//! in ours. All of it is pure; [`locate`] runs a chart's templates once more to say which line printed what differs.

mod comparison;
mod documents;
mod lines;
pub mod locate;
mod mask;
mod messages;
pub(crate) mod pairs;
mod secrets;
mod words;

use std::cell::OnceCell;

use comparison::Comparison;
use documents::documents;
pub use messages::hide_quoted;
pub use secrets::hide_secrets;
pub(crate) use secrets::names_secret;

/// What one run of a program gave.
#[derive(Debug, Clone, Default)]
pub struct RenderRun {
    /// The exit code; none when a signal ended it.
    pub code: Option<i32>,
    /// What was rendered.
    pub stdout: String,
    /// The messages.
    pub stderr: String,
}

impl RenderRun {
    fn rendered(&self) -> bool {
        self.code == Some(0)
    }

    fn refused(&self) -> bool {
        self.code.is_some_and(|code| code != 0)
    }

    /// A signal ended it, or a bug of ours.
    fn crashed(&self) -> bool {
        self.code
            .is_none_or(|code| code == i32::from(crate::diag::Class::Internal.exit_code()))
    }
}

/// How the runs of one chart with the same values compare.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Verdict {
    /// Both rendered the same.
    Same,
    /// Both rendered, not the same.
    Different,
    /// Both refused the chart or the values.
    BothRefuse,
    /// Helm refused, we rendered.
    OnlyHelmRefuses,
    /// Helm rendered, we refused.
    OnlyOursRefuses,
    /// A signal or a limit ended Helm, and none of its runs rendered.
    HelmDidNotEnd,
}

/// A verdict with its reasons.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Judgment {
    /// The verdict.
    pub verdict: Verdict,
    /// With [`Verdict::Different`]: all of it, in Helm's order.
    pub differences: Vec<Difference>,
    /// How many lines are not the same only where Helm's own runs differ.
    pub masked: usize,
}

/// Something that is not the same.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Difference {
    /// In what way.
    pub kind: DifferenceKind,
    /// The template, as in `# Source:`.
    pub source: String,
    /// The number of the document among those of its template in our output, from 0; in Helm's of one that only Helm
    /// prints.
    pub document: usize,
    /// Kind and name of the object, when it has them.
    pub object: String,
    /// Helm's lines.
    pub helm: Vec<String>,
    /// Our lines.
    pub ours: Vec<String>,
    /// Where our lines begin, or would.
    pub position: Position,
}

/// A position in a document, without its `# Source:` line. Both count from 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Position {
    /// The line.
    pub line: usize,
    /// The column of the first character that differs.
    pub column: usize,
}

/// In what way something differs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum DifferenceKind {
    /// Lines of a document.
    Lines,
    /// A document that only Helm prints.
    OnlyHelm,
    /// A document that only we print.
    OnlyOurs,
    /// The same documents in another order; this one is the first out of order.
    Order,
    /// Separators and blank characters between documents.
    Blanks,
}

impl DifferenceKind {
    /// As in JSON.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Lines => "lines",
            Self::OnlyHelm => "only-helm",
            Self::OnlyOurs => "only-ours",
            Self::Order => "order",
            Self::Blanks => "blanks",
        }
    }
}

/// Judges our run beside Helm's, which are added one by one. When some of Helm's runs refuse and others don't, either is
/// right.
///
/// Of Helm's outputs only the first is kept, in a cell of the caller's: ten runs of a large chart would take ten times
/// the memory.
pub struct Judge<'t> {
    helm: &'t OnceCell<String>,
    ours: &'t RenderRun,
    is_cancelled: &'t dyn Fn() -> bool,
    has_rendered: bool,
    has_refused: bool,
    has_not_ended: bool,
    /// One of Helm's runs is the same as ours.
    is_same: bool,
    comparison: Option<Comparison<'t>>,
}

impl<'t> Judge<'t> {
    /// With no run of Helm's yet. `helm` is an empty cell for the first of its outputs. When `is_cancelled`, what it
    /// judges is of no use.
    pub fn new(helm: &'t OnceCell<String>, ours: &'t RenderRun, is_cancelled: &'t dyn Fn() -> bool) -> Self {
        Self {
            helm,
            ours,
            is_cancelled,
            has_rendered: false,
            has_refused: false,
            has_not_ended: false,
            is_same: false,
            comparison: None,
        }
    }

    /// Adds a run of Helm's.
    pub fn add(&mut self, run: RenderRun) {
        self.has_refused |= run.refused();
        self.has_not_ended |= run.code.is_none();
        if !run.rendered() {
            return;
        }
        self.has_rendered = true;
        self.is_same |= run.stdout == self.ours.stdout;
        if self.is_same || !self.ours.rendered() {
            return;
        }
        match &mut self.comparison {
            Some(comparison) => comparison.add(&run.stdout, self.is_cancelled),
            None => {
                let base = self.helm.get_or_init(|| run.stdout);
                self.comparison = Some(Comparison::new(base, &self.ours.stdout));
            }
        }
    }

    /// The verdict on the runs so far.
    pub fn judgment(&self) -> Judgment {
        let verdict = match (self.ours.rendered(), self.has_rendered) {
            (true, true) => return self.of_outputs(),
            (_, false) if self.has_not_ended => Verdict::HelmDidNotEnd,
            (true, false) => Verdict::OnlyHelmRefuses,
            (false, _) if self.has_refused && !self.ours.crashed() => Verdict::BothRefuse,
            (false, _) => Verdict::OnlyOursRefuses,
        };
        Judgment {
            verdict,
            differences: Vec::new(),
            masked: 0,
        }
    }

    fn of_outputs(&self) -> Judgment {
        let (differences, masked) = match &self.comparison {
            Some(comparison) if !self.is_same => comparison.differences(self.is_cancelled),
            _ => (Vec::new(), 0),
        };
        Judgment {
            verdict: match differences.is_empty() {
                true => Verdict::Same,
                false => Verdict::Different,
            },
            differences,
            masked,
        }
    }
}

#[cfg(test)]
mod tests;
