//! Compares what Helm prints of a chart with what we print, to the byte.
//!
//! In: the runs of both programs ([`RenderRun`]); Helm ran at least twice. Out: a [`Judgment`] with every
//! [`Difference`]. What differs between Helm's own runs (generated keys and passwords, times, the order of `keys`) is
//! masked: there is nothing to compare it with. A mask covers whole words, so that two passwords that begin alike
//! leave nothing of themselves; a word of letters and digits that has the same length in all of Helm's runs must have it
//! in ours. All of it is pure; [`locate`] runs a chart's templates once more to say which line printed what differs.

mod documents;
mod lines;
pub mod locate;
mod mask;
mod messages;
mod secrets;
mod words;

use documents::{Document, Pairs, documents, pairs, tail};
use lines::differing_lines;
use mask::MaskedText;
pub use messages::hide_quoted;
pub use secrets::hide_secrets;

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

    /// A signal ended it, or a bug of ours.
    fn crashed(&self) -> bool {
        self.code
            .is_none_or(|code| code == i32::from(crate::diag::Class::Internal.exit_code()))
    }
}

/// How the runs of one chart with the same values compare.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
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
}

/// A verdict with its reasons.
#[derive(Debug, Clone, PartialEq, Eq)]
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

/// Judges Helm's runs and ours. When some of Helm's runs refuse and others don't, either is right.
pub fn judge(helm: &[RenderRun], ours: &RenderRun) -> Judgment {
    let outputs: Vec<&str> = helm
        .iter()
        .filter(|run| run.rendered())
        .map(|run| run.stdout.as_str())
        .collect();
    let has_refused = outputs.len() < helm.len();
    let verdict = match (ours.rendered(), outputs.is_empty()) {
        (true, false) => return judge_outputs(&outputs, &ours.stdout),
        (true, true) => Verdict::OnlyHelmRefuses,
        (false, _) if has_refused && !ours.crashed() => Verdict::BothRefuse,
        (false, _) => Verdict::OnlyOursRefuses,
    };
    Judgment {
        verdict,
        differences: Vec::new(),
        masked: 0,
    }
}

fn judge_outputs(helm: &[&str], ours: &str) -> Judgment {
    let (differences, masked) = match helm.split_first() {
        Some((base, others)) if !helm.contains(&ours) => compare(base, others, ours),
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

/// A run of Helm's, its other runs, and ours.
fn compare(base: &str, others: &[&str], ours: &str) -> (Vec<Difference>, usize) {
    let helm = documents(base);
    let again: Vec<Vec<Document<'_>>> = others.iter().map(|text| documents(text)).collect();
    let again: Vec<(&Vec<Document<'_>>, Pairs)> =
        again.iter().map(|list| (list, pairs(&helm, list))).collect();
    let own = documents(ours);
    let paired = pairs(&helm, &own);
    let mut differences = Vec::new();
    let mut masked = 0;
    for (number, document) in helm.iter().enumerate() {
        let runs: Option<Vec<&str>> = again
            .iter()
            .map(|(list, pairs)| Some(list.get(pairs.partner(number)?)?.text))
            .collect();
        // A document that not every run of Helm's has.
        let Some(runs) = runs else { continue };
        match paired.partner(number).and_then(|partner| own.get(partner)) {
            None => differences.push(alone(document, DifferenceKind::OnlyHelm)),
            Some(partner) if partner.text == document.text || runs.contains(&partner.text) => {}
            Some(partner) => {
                let base = MaskedText::new(document.text, &runs);
                let (found, hidden) = differing_lines(&base, partner);
                differences.extend(found);
                masked += hidden;
            }
        }
    }
    let is_optional = |document: &Document<'_>| {
        again
            .iter()
            .any(|(list, pairs)| pairs.has_single(&helm, list, document.source))
    };
    let extra = own
        .iter()
        .enumerate()
        .filter(|(number, _)| !paired.has_partner(*number));
    let extra = extra.filter(|(_, document)| !is_optional(document));
    differences.extend(extra.map(|(_, document)| alone(document, DifferenceKind::OnlyOurs)));
    if differences.is_empty() && again.iter().all(|(_, pairs)| pairs.out_of_order().is_none()) {
        let moved = paired.out_of_order().and_then(|number| own.get(number));
        differences.extend(moved.map(|document| Difference {
            kind: DifferenceKind::Order,
            ours: Vec::new(),
            ..alone(document, DifferenceKind::OnlyOurs)
        }));
    }
    if differences.is_empty() {
        differences.extend(blanks(&helm, &again, &own, &paired));
        let tails = [tail(base, &helm), tail(ours, &own)];
        let is_known = others
            .iter()
            .zip(&again)
            .any(|(text, (list, _))| tail(text, list) == tails[1]);
        if tails[0] != tails[1] && !is_known {
            differences.push(between(own.last(), tails[0], tails[1]));
        }
    }
    (differences, masked)
}

/// A document that only one has.
fn alone(document: &Document<'_>, kind: DifferenceKind) -> Difference {
    let lines: Vec<String> = document.text.lines().map(str::to_owned).collect();
    let (helm, ours) = match kind {
        DifferenceKind::OnlyHelm => (lines, Vec::new()),
        _ => (Vec::new(), lines),
    };
    Difference {
        kind,
        source: document.source.to_owned(),
        document: document.ordinal,
        object: document.object(),
        helm,
        ours,
        position: Position::default(),
    }
}

/// The first document ahead of which there is something that no run of Helm's has.
fn blanks(
    helm: &[Document<'_>],
    again: &[(&Vec<Document<'_>>, Pairs)],
    own: &[Document<'_>],
    paired: &Pairs,
) -> Option<Difference> {
    helm.iter().enumerate().find_map(|(number, document)| {
        let partner = paired.partner(number)?;
        let one = own.get(partner)?;
        let mut others = again
            .iter()
            .filter_map(|(list, pairs)| list.get(pairs.partner(number)?));
        if one.lead == document.lead || others.any(|other| other.lead == one.lead) {
            return None;
        }
        let before = partner.checked_sub(1).and_then(|before| own.get(before));
        Some(between(before, document.lead, one.lead))
    })
}

/// What is not the same between documents, after one of ours.
fn between(before: Option<&Document<'_>>, helm: &str, ours: &str) -> Difference {
    let lines = |text: &str| text.lines().map(str::to_owned).collect();
    Difference {
        kind: DifferenceKind::Blanks,
        source: before.map(|before| before.source.to_owned()).unwrap_or_default(),
        document: before.map_or(0, |before| before.ordinal),
        object: String::new(),
        helm: lines(helm),
        ours: lines(ours),
        position: Position::default(),
    }
}

#[cfg(test)]
mod tests;
