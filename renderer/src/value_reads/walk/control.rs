//! `if`, `with` and `range`: both branches are walked, since values decide.

use super::super::calls::SEPARATOR;
use super::super::heap::{Atom, Value, only};
use super::{Frame, MAX_TURNS, Walker, assign, declare};
use crate::template::inspect::{ControlKeyword, ControlStep};

impl<'w> Walker<'w> {
    pub(super) fn branch(&mut self, branch: &ControlStep<'w>, frame: &mut Frame<'w>) {
        let variables = frame.variables.len();
        let value = self.pipeline(branch.condition, frame);
        frame.uncertain += 1;
        match branch.keyword {
            ControlKeyword::If => {
                declare(branch.condition, &value, frame);
                self.all(branch.body.clone(), frame);
            }
            ControlKeyword::With => {
                declare(branch.condition, &value, frame);
                let outer = std::mem::replace(&mut frame.dot, value);
                self.all(branch.body.clone(), frame);
                frame.dot = outer;
            }
            ControlKeyword::Range => self.range(branch, &value, frame),
        }
        self.all(branch.otherwise.clone(), frame);
        frame.uncertain -= 1;
        frame.variables.truncate(variables);
    }

    pub(super) fn range(&mut self, branch: &ControlStep<'w>, value: &Value<'w>, frame: &mut Frame<'w>) {
        let is_split = |atom: &&Atom<'w>| matches!(atom, Atom::Segments(_) | Atom::UnknownSegments);
        let (split, others): (Vec<_>, Vec<_>) = value.iter().partition(is_split);
        if !split.is_empty() {
            self.segments_of(branch, &split, frame);
        }
        if !others.is_empty() || split.is_empty() {
            let others = others.into_iter().cloned().collect();
            let (keys, item) = (self.keys_of(&others), self.items(&others));
            self.turns(branch, &keys, &item, frame);
        }
    }

    /// Walks a body for any number of items.
    pub(super) fn turns(
        &mut self,
        branch: &ControlStep<'w>,
        keys: &Value<'w>,
        item: &Value<'w>,
        frame: &mut Frame<'w>,
    ) {
        for _ in 0..MAX_TURNS {
            let before = frame.variables.clone();
            self.turn(branch, keys, item, frame);
            if frame.variables == before {
                return;
            }
        }
        // What still changes may be anything below.
        let before = frame.variables.clone();
        self.turn(branch, keys, item, frame);
        let after = frame.variables.clone();
        for (now, known) in after.iter().zip(&before) {
            let added: Value<'w> = now.value.difference(&known.value).cloned().collect();
            self.consume(&added);
        }
    }

    pub(super) fn turn(
        &mut self,
        branch: &ControlStep<'w>,
        keys: &Value<'w>,
        item: &Value<'w>,
        frame: &mut Frame<'w>,
    ) {
        let variables = frame.variables.len();
        let declared: Vec<&'w str> = branch.condition.variables().iter().map(|name| &**name).collect();
        let of_turn = match declared.as_slice() {
            [] => Vec::new(),
            [one] => vec![(*one, item.clone())],
            [key, one, ..] => vec![(*key, keys.clone()), (*one, item.clone())],
        };
        if branch.condition.assigns() {
            of_turn
                .iter()
                .for_each(|(name, value)| assign(name, value, frame));
        } else {
            of_turn
                .into_iter()
                .for_each(|(name, value)| frame.add(name, value));
        }
        let outer = std::mem::replace(&mut frame.dot, item.clone());
        self.all(branch.body.clone(), frame);
        frame.dot = outer;
        frame.variables.truncate(variables);
    }

    /// Walks a body for the segments of texts, in their order: so charts follow a path that is a text.
    pub(super) fn segments_of(
        &mut self,
        branch: &ControlStep<'w>,
        split: &[&Atom<'w>],
        frame: &mut Frame<'w>,
    ) {
        let charts = self.charts;
        let before = frame.variables.clone();
        let mut after = before.clone();
        for atom in split {
            let is_guess = matches!(atom, Atom::UnknownSegments);
            let texts: Vec<&'w str> = match atom {
                Atom::Segments(text) => vec![text],
                _ => charts.key_paths.iter().map(String::as_str).collect(),
            };
            self.guesses += usize::from(is_guess);
            // The body is walked as often as it is run.
            frame.uncertain -= 1;
            for text in texts {
                frame.variables.clone_from(&before);
                for segment in text.split(SEPARATOR) {
                    let item = only(Atom::Text(segment));
                    self.turn(branch, &only(Atom::Other), &item, frame);
                }
                // What a guess led to is marked by itself, and not carried further.
                if is_guess {
                    let changed = frame
                        .variables
                        .iter()
                        .zip(&before)
                        .filter(|(after, before)| after != before);
                    changed.for_each(|(after, _)| self.consume_values(&after.value));
                    continue;
                }
                for (known, now) in after.iter_mut().zip(&frame.variables) {
                    known.value.extend(now.value.iter().cloned());
                }
            }
            frame.uncertain += 1;
            self.guesses -= usize::from(is_guess);
        }
        frame.variables = after;
    }

    /// Marks values as read, and nothing else that they may be.
    pub(super) fn consume_values(&mut self, value: &Value<'w>) {
        for atom in value {
            if let Atom::Values(path) = atom
                && !path.is_empty()
                && !self.is_chart(path)
            {
                self.read_whole(path);
            }
        }
    }
}
