//! What a template's expression may be: [`Value`], and what templates wrote into maps: [`Heap`].

use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

use super::read_tree::ANY;

/// The keys from the root chart's values; cheap to clone.
pub(super) type Path<'w> = Rc<[&'w str]>;

/// One of the values that an expression may have.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Atom<'w> {
    /// The dot of a chart's template files, by the chart's index.
    Root(usize),
    /// `.Subcharts` of a chart.
    Subcharts(usize),
    /// A value of the chart's values.
    Values(Path<'w>),
    /// A map or list that a template makes there.
    Made(Site),
    /// A constant.
    Text(&'w str),
    /// A text that is computed and ends like this.
    Ending(&'w str),
    /// The list of a constant's segments, as `splitList "."` makes it.
    Segments(&'w str),
    /// Such a list of a text that is computed.
    UnknownSegments,
    /// Anything that holds no values: metadata, texts that were computed.
    Other,
}

/// All values that an expression may have. Without any it is nil, a boolean, or never there.
pub(super) type Value<'w> = BTreeSet<Atom<'w>>;

/// Where in which text a map or list is made.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Site {
    /// The address of the text.
    pub(super) source: usize,
    /// The offset there.
    pub(super) offset: u32,
}

/// What holds entries that templates wrote.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Holder<'w> {
    Made(Site),
    Values(Path<'w>),
    Root(usize),
}

/// The entries of a holder.
#[derive(Debug, Clone, Default)]
pub(super) struct Entries<'w> {
    pub(super) named: BTreeMap<&'w str, Value<'w>>,
    /// Entries whose keys are unknown, and the items of lists.
    pub(super) unnamed: Value<'w>,
    /// Maps that were merged into it.
    pub(super) merged: Value<'w>,
}

/// The entries of all holders; they only grow.
#[derive(Debug, Default)]
pub(super) struct Heap<'w> {
    made: BTreeMap<Site, Entries<'w>>,
    values: BTreeMap<Path<'w>, Entries<'w>>,
    roots: BTreeMap<usize, Entries<'w>>,
    /// Whether something was added since it was reset.
    pub(super) has_grown: bool,
}

/// A value that is one thing alone.
pub(super) fn only(atom: Atom<'_>) -> Value<'_> {
    BTreeSet::from([atom])
}

impl<'w> Heap<'w> {
    /// Writes an entry; `None` for an unknown key.
    pub(super) fn write(&mut self, holder: Holder<'w>, key: Option<&'w str>, value: &Value<'w>) {
        let entries = self.entry(holder);
        let (is_new, known) = match key {
            Some(key) => (
                !entries.named.contains_key(key),
                entries.named.entry(key).or_default(),
            ),
            None => (false, &mut entries.unnamed),
        };
        let has_grown = grow(known, value) || is_new;
        self.has_grown |= has_grown;
    }

    /// Merges maps into a holder.
    pub(super) fn merge(&mut self, holder: Holder<'w>, maps: &Value<'w>) {
        let has_grown = grow(&mut self.entry(holder).merged, maps);
        self.has_grown |= has_grown;
    }

    fn entry(&mut self, holder: Holder<'w>) -> &mut Entries<'w> {
        match holder {
            Holder::Made(site) => self.made.entry(site).or_default(),
            Holder::Values(path) => self.values.entry(path).or_default(),
            Holder::Root(index) => self.roots.entry(index).or_default(),
        }
    }

    /// The entries of a holder: for a value those of every path that may be the same.
    pub(super) fn entries_of(&self, holder: &Holder<'w>) -> Vec<&Entries<'w>> {
        match holder {
            Holder::Made(site) => self.made.get(site).into_iter().collect(),
            Holder::Root(index) => self.roots.get(index).into_iter().collect(),
            Holder::Values(path) => {
                let same = self.values.iter().filter(|(known, _)| may_be_same(known, path));
                same.map(|(_, entries)| entries).collect()
            }
        }
    }

    /// The entries of every value below a path, and of its own.
    pub(super) fn entries_below(&self, path: &Path<'w>) -> Vec<&Entries<'w>> {
        let is_below = |known: &Path<'w>| {
            known.len() >= path.len()
                && known
                    .iter()
                    .zip(path.iter())
                    .all(|(one, other)| is_same_key(one, other))
        };
        let below = self.values.iter().filter(|(known, _)| is_below(known));
        below.map(|(_, entries)| entries).collect()
    }
}

fn may_be_same(one: &Path<'_>, other: &Path<'_>) -> bool {
    one.len() == other.len()
        && one
            .iter()
            .zip(other.iter())
            .all(|(one, other)| is_same_key(one, other))
}

fn is_same_key(one: &str, other: &str) -> bool {
    one == other || one == ANY || other == ANY
}

fn grow<'w>(known: &mut Value<'w>, more: &Value<'w>) -> bool {
    let before = known.len();
    known.extend(more.iter().cloned());
    known.len() > before
}
