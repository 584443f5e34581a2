//! What a value holds, and what of it is marked as read.

use std::collections::BTreeSet;
use std::rc::Rc;

use super::super::GLOBAL;
use super::super::heap::{Atom, Entries, Holder, Path, Value};
use super::super::read_tree::{ANY, ReadTree};
use super::{MAX_KEYS, METHODS, Walker, keys};
use crate::template::inspect::Fields;

impl<'w> Walker<'w> {
    pub(super) fn fields(&mut self, value: Value<'w>, fields: Fields<'w>) -> Value<'w> {
        fields
            .names()
            .fold(value, |value, name| self.entry(&value, Some(name)))
    }

    /// The entry of a map with a key, or with any.
    pub(in crate::value_reads) fn entry(&mut self, value: &Value<'w>, key: Option<&'w str>) -> Value<'w> {
        let (mut out, mut done) = (Value::new(), BTreeSet::new());
        for atom in value {
            self.entry_of(atom, key, &mut out, &mut done);
        }
        out
    }

    pub(super) fn entry_of(
        &mut self,
        atom: &Atom<'w>,
        key: Option<&'w str>,
        out: &mut Value<'w>,
        done: &mut BTreeSet<Atom<'w>>,
    ) {
        if !done.insert(atom.clone()) {
            return;
        }
        let charts = self.charts;
        let holder = match atom {
            Atom::Root(index) => {
                let prefix = charts.units.get(*index).map(|unit| keys(&unit.prefix));
                match key {
                    Some("Values") => out.extend(prefix.map(Atom::Values)),
                    Some("Subcharts") => {
                        out.insert(Atom::Subcharts(*index));
                    }
                    Some(_) => {
                        out.insert(Atom::Other);
                    }
                    None => out.extend(prefix.map(Atom::Values).into_iter().chain([Atom::Other])),
                }
                Holder::Root(*index)
            }
            Atom::Subcharts(index) => {
                let children = charts.units.get(*index).map_or(&[][..], |unit| &unit.children);
                let named = children
                    .iter()
                    .filter(|(name, _)| key.is_none_or(|key| key == name));
                out.extend(named.map(|(_, child)| Atom::Root(*child)));
                return;
            }
            Atom::Values(path) => {
                self.value_entry(path, key, out);
                Holder::Values(Rc::clone(path))
            }
            Atom::Made(site) => Holder::Made(*site),
            Atom::Text(_) | Atom::Ending(_) | Atom::Segments(_) | Atom::UnknownSegments | Atom::Other => {
                out.insert(Atom::Other);
                return;
            }
        };
        let mut merged = Value::new();
        for Entries {
            named,
            unnamed,
            merged: maps,
        } in self.heap.entries_of(&holder)
        {
            let found = named
                .iter()
                .filter(|(name, _)| key.is_none_or(|key| key == **name));
            out.extend(found.flat_map(|(_, value)| value.iter().cloned()));
            out.extend(unnamed.iter().cloned());
            merged.extend(maps.iter().cloned());
        }
        for map in &merged {
            self.entry_of(map, key, out, done);
        }
    }

    pub(super) fn value_entry(&mut self, path: &Path<'w>, key: Option<&'w str>, out: &mut Value<'w>) {
        let is_of_chart = |key| METHODS.contains(&key) && self.is_chart(path);
        if key.is_some_and(is_of_chart) || path.len() >= MAX_KEYS {
            self.read_whole(path);
            out.insert(Atom::Other);
            return;
        }
        let below: Path<'w> = path.iter().copied().chain([key.unwrap_or(ANY)]).collect();
        self.touch(&below);
        out.insert(Atom::Values(below));
    }

    pub(super) fn is_chart(&self, path: &Path<'w>) -> bool {
        let mut units = self.charts.units.iter();
        units.any(|unit| unit.prefix.iter().map(String::as_str).eq(path.iter().copied()))
    }

    /// The items of a list, or the entries of a map.
    pub(in crate::value_reads) fn items(&mut self, value: &Value<'w>) -> Value<'w> {
        self.entry(value, None)
    }

    /// The keys of a map, as far as templates name them.
    pub(in crate::value_reads) fn keys_of(&self, value: &Value<'w>) -> Value<'w> {
        let mut out = Value::new();
        for atom in value {
            match atom {
                Atom::Made(site) => {
                    for entries in self.heap.entries_of(&Holder::Made(*site)) {
                        out.extend(entries.named.keys().copied().map(Atom::Text));
                        if !entries.unnamed.is_empty() || !entries.merged.is_empty() {
                            out.insert(Atom::Other);
                        }
                    }
                }
                _ => {
                    out.insert(Atom::Other);
                }
            }
        }
        out
    }

    /// Marks a value as read with all that is in it.
    pub(in crate::value_reads) fn consume(&mut self, value: &Value<'w>) {
        let mut done = BTreeSet::new();
        self.consume_all(value, false, &mut done);
    }

    /// As [`Walker::consume`], but not the dots of charts.
    pub(in crate::value_reads) fn consume_but_roots(
        &mut self,
        value: &Value<'w>,
        done: &mut BTreeSet<Atom<'w>>,
    ) {
        self.consume_all(value, true, done);
    }

    pub(super) fn consume_all(&mut self, value: &Value<'w>, but_roots: bool, done: &mut BTreeSet<Atom<'w>>) {
        for atom in value {
            if !done.insert(atom.clone()) {
                continue;
            }
            let charts = self.charts;
            let inner: Vec<Entries<'w>> = match atom {
                Atom::Root(_) | Atom::Subcharts(_) if but_roots => continue,
                Atom::Root(index) | Atom::Subcharts(index) => {
                    if let Some(unit) = charts.units.get(*index) {
                        self.read_whole(&keys(&unit.prefix));
                    }
                    let written = self.heap.entries_of(&Holder::Root(*index));
                    written.into_iter().cloned().collect()
                }
                Atom::Values(path) => {
                    self.read_whole(path);
                    self.heap.entries_below(path).into_iter().cloned().collect()
                }
                Atom::Made(site) => self
                    .heap
                    .entries_of(&Holder::Made(*site))
                    .into_iter()
                    .cloned()
                    .collect(),
                _ => continue,
            };
            for Entries {
                named,
                unnamed,
                merged,
            } in inner
            {
                for value in named.values().chain([&unnamed, &merged]) {
                    self.consume_all(value, but_roots, done);
                }
            }
        }
    }

    /// Marks values as formatted as YAML or JSON, or asked for their type.
    pub(in crate::value_reads) fn is_untyped(&mut self, value: &Value<'w>) {
        for atom in value {
            if let Atom::Values(path) = atom {
                self.untyped.mark(path);
            }
        }
    }

    pub(super) fn marked(&mut self) -> &mut ReadTree {
        match self.guesses {
            0 => &mut self.tree,
            _ => &mut self.guessed,
        }
    }

    pub(super) fn touch(&mut self, path: &Path<'w>) {
        for path in self.charts.global_aliases(path) {
            self.marked().touch(&path);
        }
    }

    pub(super) fn read_whole(&mut self, path: &Path<'w>) {
        for path in self.charts.global_aliases(path) {
            self.marked().read_whole(&path);
        }
        // A chart's values include the globals of those above.
        let charts = self.charts;
        for unit in &charts.units {
            let is_below = unit.prefix.len() >= path.len()
                && unit
                    .prefix
                    .iter()
                    .map(String::as_str)
                    .zip(path.iter().copied())
                    .all(|(one, other)| one == other || other == ANY);
            if is_below && !unit.prefix.is_empty() {
                let globals: Vec<&str> = unit.prefix.iter().map(String::as_str).chain([GLOBAL]).collect();
                for path in charts.global_aliases(&globals) {
                    self.marked().read_whole(&path);
                }
            }
        }
    }
}
