//! What functions do with the values they get: pass them on, ask for a key, or anything else.

use std::collections::BTreeSet;

use super::heap::{Atom, Holder, Site, Value, only};
use super::walk::Walker;

/// The functions that take a value of any type.
pub(super) const UNTYPED: [&str; 14] = [
    "fromYaml",
    "kindIs",
    "kindOf",
    "mustToJson",
    "mustToYaml",
    "toJson",
    "toPrettyJson",
    "toRawJson",
    "toToml",
    "toYaml",
    "toYamlPretty",
    "tpl",
    "typeIs",
    "typeOf",
];

/// What separates the keys of a path.
pub(super) const SEPARATOR: &str = ".";

impl<'w> Walker<'w> {
    /// Calls a function; a value that is piped into it is the last argument.
    pub(super) fn function(&mut self, name: &str, mut args: Vec<Value<'w>>, site: Site) -> Value<'w> {
        match name {
            "include" => self.include(&args),
            "tpl" => self.tpl(&args),
            "dict" => self.dict(&args, site),
            "list" | "tuple" => self.list(&args, site),
            "get" | "index" | "hasKey" => self.member(name, &args),
            "dig" => self.dig(&args),
            "pluck" => self.pluck(&args, site),
            "pick" => self.pick(&args, site),
            "set" => self.set(&args),
            "merge" | "mergeOverwrite" | "mustMerge" | "mustMergeOverwrite" => self.merge(&args),
            "keys" | "values" | "concat" | "chunk" | "rest" | "mustRest" | "initial" | "mustInitial"
            | "slice" | "mustSlice" | "append" | "mustAppend" | "prepend" | "mustPrepend" | "push"
            | "mustPush" | "first" | "mustFirst" | "last" | "mustLast" => self.of_lists(name, args, site),
            // The other arguments are not what is passed on.
            "without" | "mustWithout" | "omit" | "unset" => {
                let others = args.split_off(1.min(args.len()));
                others.iter().for_each(|one| self.consume(one));
                args.into_iter().flatten().collect()
            }
            "ternary" => {
                let condition = args.pop();
                condition.iter().for_each(|one| self.consume(one));
                args.into_iter().flatten().collect()
            }
            "required" => args.pop().unwrap_or_default(),
            "default" | "coalesce" | "and" | "or" | "deepCopy" | "mustDeepCopy" | "uniq" | "mustUniq"
            | "compact" | "mustCompact" | "reverse" | "mustReverse" => args.into_iter().flatten().collect(),
            // They are only tested: their keys don't matter.
            "not" | "empty" | "len" | "kindOf" | "kindIs" | "typeOf" | "typeIs" | "typeIsLike" => {
                only(Atom::Other)
            }
            "splitList" | "split" => self.segments(&args),
            "print" | "printf" => {
                // Nobody prints the dot of a file; `printf "%s" include "name" .` lacks parentheses.
                let mut done = BTreeSet::new();
                args.iter().for_each(|one| self.consume_but_roots(one, &mut done));
                only(ending(name, &args).map_or(Atom::Other, Atom::Ending))
            }
            _ => {
                args.iter().for_each(|one| self.consume(one));
                only(Atom::Other)
            }
        }
    }

    /// The functions that make lists, or take an item of one.
    fn of_lists(&mut self, name: &str, mut args: Vec<Value<'w>>, site: Site) -> Value<'w> {
        let items = match name {
            "keys" => {
                args.iter().for_each(|map| drop(self.items(map)));
                args.iter().flat_map(|map| self.keys_of(map)).collect()
            }
            "append" | "mustAppend" | "prepend" | "mustPrepend" | "push" | "mustPush" => {
                let added = args.split_off(1.min(args.len())).into_iter().flatten();
                let added: Value<'w> = added.collect();
                let mut items = self.items_of(&args);
                items.extend(added);
                items
            }
            "first" | "mustFirst" | "last" | "mustLast" => return self.items_of(&args),
            _ => self.items_of(&args),
        };
        self.made(site, &items)
    }

    fn items_of(&mut self, lists: &[Value<'w>]) -> Value<'w> {
        lists.iter().flat_map(|list| self.items(list)).collect()
    }

    /// A list, or a map of any keys, that is made there.
    fn made(&mut self, site: Site, items: &Value<'w>) -> Value<'w> {
        self.heap.write(Holder::Made(site), None, items);
        only(Atom::Made(site))
    }

    fn include(&mut self, args: &[Value<'w>]) -> Value<'w> {
        let (Some(names), Some(dot)) = (args.first(), args.get(1)) else {
            return only(Atom::Other);
        };
        self.consume(names);
        let mut is_computed = false;
        for name in names {
            match name {
                Atom::Text(name) => self.call(name, dot),
                Atom::Ending(ending) => self.call_ending(ending, dot),
                _ => is_computed = true,
            }
        }
        if is_computed {
            self.call_any(dot);
        }
        only(Atom::Other)
    }

    fn tpl(&mut self, args: &[Value<'w>]) -> Value<'w> {
        let (Some(text), Some(dot)) = (args.first(), args.get(1)) else {
            return only(Atom::Other);
        };
        self.consume(text);
        let is_of_values = |atom: &Atom<'w>| matches!(atom, Atom::Values(_) | Atom::Text(_));
        self.texts(!text.iter().all(is_of_values), dot);
        only(Atom::Other)
    }

    /// A separator and a text.
    fn segments(&mut self, args: &[Value<'w>]) -> Value<'w> {
        let [separator, text] = args else {
            return only(Atom::Other);
        };
        self.consume(text);
        if *separator != only(Atom::Text(SEPARATOR)) {
            return only(Atom::Other);
        }
        let segments = text.iter().map(|atom| match atom {
            Atom::Text(text) => Atom::Segments(text),
            _ => Atom::UnknownSegments,
        });
        segments.collect()
    }

    fn dict(&mut self, args: &[Value<'w>], site: Site) -> Value<'w> {
        self.heap.write(Holder::Made(site), None, &Value::new());
        for pair in args.chunks(2) {
            let (Some(keys), Some(value)) = (pair.first(), pair.get(1)) else {
                continue;
            };
            self.write_at(&Holder::Made(site), keys, value);
        }
        only(Atom::Made(site))
    }

    fn list(&mut self, args: &[Value<'w>], site: Site) -> Value<'w> {
        /// Lists are short where templates ask for an item by its number.
        const NUMBERS: [&str; 10] = ["0", "1", "2", "3", "4", "5", "6", "7", "8", "9"];
        self.heap.write(Holder::Made(site), None, &Value::new());
        for (index, value) in args.iter().enumerate() {
            self.heap
                .write(Holder::Made(site), NUMBERS.get(index).copied(), value);
        }
        only(Atom::Made(site))
    }

    fn write_at(&mut self, holder: &Holder<'w>, keys: &Value<'w>, value: &Value<'w>) {
        self.consume(keys);
        for key in keys {
            let key = match key {
                Atom::Text(key) => Some(*key),
                _ => None,
            };
            self.heap.write(holder.clone(), key, value);
        }
    }

    /// `get`, `index` and `hasKey`: a map, and keys.
    fn member(&mut self, name: &str, args: &[Value<'w>]) -> Value<'w> {
        let Some((map, keys)) = args.split_first() else {
            return only(Atom::Other);
        };
        let found = keys
            .iter()
            .fold(map.clone(), |value, keys| self.entry_at(&value, keys));
        match name {
            "hasKey" => only(Atom::Other),
            _ => found,
        }
    }

    /// The entries of a map with keys that may be computed.
    fn entry_at(&mut self, map: &Value<'w>, keys: &Value<'w>) -> Value<'w> {
        self.consume(keys);
        let mut out = Value::new();
        for key in keys {
            match key {
                // The items of a chart's lists are alike.
                Atom::Text(key) if !key.is_empty() && key.bytes().all(|byte| byte.is_ascii_digit()) => {
                    let is_made = |atom: &&Atom<'w>| matches!(atom, Atom::Made(_));
                    let (made, others): (Vec<_>, Vec<_>) = map.iter().partition(is_made);
                    let (made, others) = (
                        made.into_iter().cloned().collect(),
                        others.into_iter().cloned().collect(),
                    );
                    out.extend(self.entry(&made, Some(key)));
                    out.extend(self.items(&others));
                }
                Atom::Text(key) => out.extend(self.entry(map, Some(key))),
                _ => out.extend(self.items(map)),
            }
        }
        out
    }

    /// Keys, a default, and the map.
    fn dig(&mut self, args: &[Value<'w>]) -> Value<'w> {
        let [keys @ .., default, map] = args else {
            return only(Atom::Other);
        };
        let mut found = keys
            .iter()
            .fold(map.clone(), |value, keys| self.entry_at(&value, keys));
        found.extend(default.iter().cloned());
        found
    }

    /// A key, and maps: the list of their entries.
    fn pluck(&mut self, args: &[Value<'w>], site: Site) -> Value<'w> {
        let Some((keys, maps)) = args.split_first() else {
            return only(Atom::Other);
        };
        let items = maps.iter().flat_map(|map| self.entry_at(map, keys)).collect();
        self.made(site, &items)
    }

    /// A map, and the keys of it that are kept.
    fn pick(&mut self, args: &[Value<'w>], site: Site) -> Value<'w> {
        let Some((map, keys)) = args.split_first() else {
            return only(Atom::Other);
        };
        self.heap.write(Holder::Made(site), None, &Value::new());
        for key in keys {
            let value = self.entry_at(map, key);
            self.write_at(&Holder::Made(site), key, &value);
        }
        only(Atom::Made(site))
    }

    /// A map, a key, and its value.
    fn set(&mut self, args: &[Value<'w>]) -> Value<'w> {
        let [map, keys, value] = args else {
            return only(Atom::Other);
        };
        for holder in map.iter().filter_map(holder) {
            self.write_at(&holder, keys, value);
        }
        map.clone()
    }

    /// Maps: the others are merged into the first.
    fn merge(&mut self, args: &[Value<'w>]) -> Value<'w> {
        let Some((into, others)) = args.split_first() else {
            return only(Atom::Other);
        };
        let others: Value<'w> = others.iter().flatten().cloned().collect();
        for holder in into.iter().filter_map(holder) {
            self.heap.merge(holder, &others);
        }
        into.iter().cloned().chain(others).collect()
    }
}

/// What entries can be written to.
fn holder<'w>(atom: &Atom<'w>) -> Option<Holder<'w>> {
    match atom {
        Atom::Root(index) => Some(Holder::Root(*index)),
        Atom::Values(path) => Some(Holder::Values(path.clone())),
        Atom::Made(site) => Some(Holder::Made(*site)),
        _ => None,
    }
}

/// How the text that `print` or `printf` makes ends, if that is a constant.
fn ending<'w>(function: &str, args: &[Value<'w>]) -> Option<&'w str> {
    let constant = |value: &Value<'w>| match value.first() {
        Some(Atom::Text(text)) if value.len() == 1 => Some(*text),
        _ => None,
    };
    let end = match function {
        "print" => constant(args.last()?)?,
        // What follows the last verb.
        _ => match constant(args.first()?)?.rsplit_once('%') {
            Some((_, after)) => after.get(1..)?,
            None => return None,
        },
    };
    (!end.is_empty()).then_some(end)
}
