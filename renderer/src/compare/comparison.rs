//! A run of Helm's that rendered, beside ours: [`Comparison`]. Its other runs are added one by one, and nothing of their
//! texts is kept.

use std::collections::BTreeSet;

use super::documents::{Document, documents, pairs, singles, tail};
use super::lines::DifferingText;
use super::pairs::Pairs;
use super::{Difference, DifferenceKind, Position};

/// Helm's first run that rendered, what its other runs have in common with it, and ours.
pub(super) struct Comparison<'t> {
    base: &'t str,
    ours: &'t str,
    helm: Vec<Document<'t>>,
    own: Vec<Document<'t>>,
    /// Helm's documents with ours.
    paired: Pairs,
    /// By the number of Helm's document.
    states: Vec<DocumentState<'t>>,
    /// The templates of which two runs of Helm's print different documents.
    optional: BTreeSet<String>,
    /// Whether Helm's runs differ in the order of documents.
    has_orders: bool,
    /// Whether a run of Helm's ends as ours.
    has_same_tail: bool,
}

/// What is known of a document of Helm's first run.
#[derive(Default)]
struct DocumentState<'t> {
    /// A run of Helm's doesn't have it.
    is_optional: bool,
    /// A run of Helm's has the blanks ahead of it that ours has.
    has_same_lead: bool,
    /// Absent once a run of Helm's has the same as ours.
    differing: Option<DifferingText<'t>>,
}

impl<'t> Comparison<'t> {
    pub(super) fn new(base: &'t str, ours: &'t str) -> Self {
        let (helm, own) = (documents(base), documents(ours));
        let paired = pairs(&helm, &own);
        let state = |(number, document): (usize, &Document<'t>)| {
            let Some(partner) = paired.partner(number).and_then(|partner| own.get(partner)) else {
                return DocumentState::default();
            };
            DocumentState {
                is_optional: false,
                has_same_lead: document.lead == partner.lead,
                differing: (document.text != partner.text)
                    .then(|| DifferingText::new(document.text, partner.text)),
            }
        };
        Self {
            states: helm.iter().enumerate().map(state).collect(),
            has_same_tail: tail(base, &helm) == tail(ours, &own),
            base,
            ours,
            helm,
            own,
            paired,
            optional: BTreeSet::new(),
            has_orders: false,
        }
    }

    /// Adds another run of Helm's that rendered. When cancelled it is added in part.
    pub(super) fn add(&mut self, text: &str, is_cancelled: &dyn Fn() -> bool) {
        let list = documents(text);
        let pairs = pairs(&self.helm, &list);
        let singles = singles(&pairs, &self.helm, &list).into_iter();
        self.optional.extend(singles.map(str::to_owned));
        self.has_orders |= pairs.out_of_order().is_some();
        self.has_same_tail |= tail(text, &list) == tail(self.ours, &self.own);
        for (number, state) in self.states.iter_mut().enumerate() {
            if is_cancelled() {
                return;
            }
            let Some(other) = pairs.partner(number).and_then(|other| list.get(other)) else {
                state.is_optional = true;
                continue;
            };
            let own = self.paired.partner(number);
            let Some(own) = own.and_then(|own| self.own.get(own)) else {
                continue;
            };
            state.has_same_lead |= other.lead == own.lead;
            if other.text == own.text {
                state.differing = None;
            }
            if let Some(differing) = &mut state.differing {
                differing.add(other.text);
            }
        }
    }

    /// What is not the same, in Helm's order, and how many lines are masked. When cancelled not all of it.
    pub(super) fn differences(&self, is_cancelled: &dyn Fn() -> bool) -> (Vec<Difference>, usize) {
        let mut found = Vec::new();
        let mut masked = 0;
        for ((number, document), state) in self.helm.iter().enumerate().zip(&self.states) {
            if state.is_optional || is_cancelled() {
                continue;
            }
            match (self.partner(number), &state.differing) {
                (None, _) => found.push(alone(document, DifferenceKind::OnlyHelm)),
                (Some(_), None) => {}
                (Some(partner), Some(differing)) => {
                    let (list, hidden) = differing.differences(partner);
                    found.extend(list);
                    masked += hidden;
                }
            }
        }
        let extra = self.own.iter().enumerate();
        let extra = extra
            .filter(|(number, one)| !self.paired.has_partner(*number) && !self.optional.contains(one.source));
        found.extend(extra.map(|(_, document)| alone(document, DifferenceKind::OnlyOurs)));
        if found.is_empty() && !self.has_orders {
            found.extend(self.moved());
        }
        if found.is_empty() {
            found.extend(self.blanks());
            if !self.has_same_tail {
                let [helm, ours] = [tail(self.base, &self.helm), tail(self.ours, &self.own)];
                found.push(between(self.own.last(), helm, ours));
            }
        }
        (found, masked)
    }

    fn partner(&self, number: usize) -> Option<&Document<'t>> {
        self.own.get(self.paired.partner(number)?)
    }

    /// The first of our documents that is out of order.
    fn moved(&self) -> Option<Difference> {
        let document = self.own.get(self.paired.out_of_order()?)?;
        Some(Difference {
            kind: DifferenceKind::Order,
            ours: Vec::new(),
            ..alone(document, DifferenceKind::OnlyOurs)
        })
    }

    /// The first document ahead of which there is something that no run of Helm's has.
    fn blanks(&self) -> Option<Difference> {
        let mut all = self.helm.iter().enumerate().zip(&self.states);
        all.find_map(|((number, document), state)| {
            let partner = self.paired.partner(number)?;
            let one = self.own.get(partner)?;
            if state.has_same_lead {
                return None;
            }
            let before = partner.checked_sub(1).and_then(|before| self.own.get(before));
            Some(between(before, document.lead, one.lead))
        })
    }
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
