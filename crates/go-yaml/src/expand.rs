//! Expands the tree as written: the second half of parsing. Aliases are resolved, scalars get their types, keys become
//! strings, `<<` is merged.

use std::borrow::Cow;

use super::error::{DuplicateKey, InvalidKey, Result, TEMPLATE_HINT, YamlError, YamlErrorKind};
use super::node::{Entry, Kind, Node};
use super::raw::{Arena, RawKind, ReadContext};
use super::resolve::{self, Resolved};
use super::{base64, float};
use solar_diagnostics::diag::Class;
use solar_diagnostics::source::{Location, Span};
use solar_diagnostics::value::Number;

pub(super) struct Expander<'a> {
    context: ReadContext<'a>,
    arena: Arena<'a>,
    /// Anchored nodes that are being expanded through an alias.
    open: Vec<bool>,
    pub(super) made: usize,
    /// Of those the ones before this document, which counts as one itself.
    made_before: usize,
    /// Of those of this document the ones that an alias stands for.
    aliased: usize,
    /// How many aliases lead to what is being expanded.
    alias_depth: usize,
    /// The first of those.
    alias_span: Span,
    /// Bytes of text so far, each alias counted as what it stands for.
    text: usize,
    pub(super) duplicates: Vec<DuplicateKey>,
}

/// An entry and whether it comes from `<<`, where overriding is intended.
struct ExpandedEntry {
    entry: Entry,
    merged: bool,
}

/// Keys and values, by their indexes in the arena.
type Pairs = Vec<(usize, usize)>;

/// A node before its children are expanded.
enum Step {
    Whole(Kind),
    Seq(Vec<usize>),
    Map(Pairs),
    /// An alias, whose target is being expanded.
    Alias(usize),
}

/// Whether go-yaml would refuse a document of which so many values come from aliases: a few that stand for nearly all
/// are fine in a short document, and in a long one ever fewer.
#[allow(clippy::cast_precision_loss, reason = "far fewer than 2^52")]
fn is_excessive(aliased: usize, made: usize) -> bool {
    const FEW_ALIASED: usize = 100;
    const FEW: usize = 1_000;
    const SHORT: f64 = 400_000.0;
    const LONG: f64 = 4_000_000.0;
    const MOST_OF_SHORT: f64 = 0.99;
    const MOST_OF_LONG: f64 = 0.10;
    if aliased <= FEW_ALIASED || made <= FEW {
        return false;
    }
    let (aliased, made) = (aliased as f64, made as f64);
    let along = ((made - SHORT) / (LONG - SHORT)).clamp(0.0, 1.0);
    aliased / made > MOST_OF_SHORT - (MOST_OF_SHORT - MOST_OF_LONG) * along
}

impl<'a> Expander<'a> {
    pub(super) fn new(context: ReadContext<'a>, arena: Arena<'a>, made: usize) -> Self {
        let open = vec![false; if arena.aliased { arena.nodes.len() } else { 0 }];
        Self {
            context,
            arena,
            open,
            made,
            made_before: made,
            aliased: 0,
            alias_depth: 0,
            alias_span: Span::default(),
            text: 0,
            duplicates: Vec::new(),
        }
    }

    pub(super) fn document(&mut self, root: usize) -> Result<Node> {
        self.node(root, 0)
    }

    /// A node with its descendants. The recursion is through here, `sequence`, `mapping` and `gather`; code with large
    /// stack frames is in `step`.
    fn node(&mut self, id: usize, depth: usize) -> Result<Node> {
        let (span, step) = self.step(id, depth)?;
        match step {
            Step::Whole(kind) => Ok(Node { span, kind }),
            Step::Seq(items) => self.sequence(span, &items, depth + 1),
            Step::Map(entries) => self.mapping(span, &entries, depth + 1),
            Step::Alias(target) => {
                let node = self.node(target, depth);
                self.leave(target);
                node
            }
        }
    }

    /// Counts a node and resolves it as far as possible without its children.
    fn step(&mut self, id: usize, depth: usize) -> Result<(Span, Step)> {
        let aliased = self.arena.aliased;
        let span = self.span(id);
        self.count(span)?;
        let Some(raw) = self.arena.nodes.get_mut(id) else {
            return Err(Self::missing());
        };
        let step = match &mut raw.kind {
            RawKind::Scalar { tag, value, plain } => {
                let (plain, tag) = (*plain, tag.clone());
                self.text += value.len();
                if self.text > self.context.limits.bytes {
                    return Err(self.context.too_large(span));
                }
                let value = taken(value, aliased);
                let kind = self.scalar(span, tag.as_deref(), value, plain)?;
                return Ok((span, Step::Whole(self.finite(span, kind)?)));
            }
            RawKind::Seq(items) => Step::Seq(taken(items, aliased)),
            RawKind::Map(entries) => Step::Map(taken(entries, aliased)),
            RawKind::Alias { name, target } => {
                let (name, target) = (name.clone(), *target);
                self.enter(span, &name, target)?;
                return Ok((span, Step::Alias(target)));
            }
        };
        if depth >= self.context.limits.depth {
            return Err(self.context.too_deep(span));
        }
        Ok((span, step))
    }

    fn span(&self, id: usize) -> Span {
        self.arena.nodes.get(id).map_or(Span::default(), |raw| raw.span)
    }

    fn finite(&self, span: Span, kind: Kind) -> Result<Kind> {
        match kind {
            Kind::Number(Number::Float(value)) if !value.is_finite() => {
                Err(self.context.error(span, YamlErrorKind::NonFinite))
            }
            _ => Ok(kind),
        }
    }

    fn enter(&mut self, span: Span, name: &str, target: usize) -> Result<()> {
        match self.open.get_mut(target) {
            Some(open) if !*open => {
                *open = true;
                self.descend(span);
                Ok(())
            }
            _ => Err(self.recursive(span, name)),
        }
    }

    /// What follows is what an alias stands for.
    fn descend(&mut self, alias: Span) {
        if self.alias_depth == 0 {
            self.alias_span = alias;
        }
        self.alias_depth += 1;
    }

    fn recursive(&self, span: Span, name: &str) -> YamlError {
        let kind = YamlErrorKind::RecursiveAnchor(name.to_owned());
        self.context.error(span, kind)
    }

    fn missing() -> YamlError {
        YamlError::new(YamlErrorKind::MissingNode, Class::Internal, None)
    }

    /// Counts a node, or a merge, which costs the same.
    fn count(&mut self, span: Span) -> Result<()> {
        self.made += 1;
        if self.made > self.context.limits.nodes {
            return Err(self.context.too_many(span));
        }
        if self.alias_depth > 0 {
            self.aliased += 1;
            if is_excessive(self.aliased, self.made - self.made_before + 1) {
                return Err(self
                    .context
                    .error(self.alias_span, YamlErrorKind::ExcessiveAliasing));
            }
        }
        Ok(())
    }

    fn leave(&mut self, target: usize) {
        if let Some(open) = self.open.get_mut(target) {
            *open = false;
            self.alias_depth -= 1;
        }
    }

    fn sequence(&mut self, span: Span, items: &[usize], depth: usize) -> Result<Node> {
        let mut nodes = Vec::with_capacity(items.len());
        for &item in items {
            nodes.push(self.node(item, depth)?);
        }
        let kind = Kind::Seq(nodes);
        Ok(Node { span, kind })
    }

    fn mapping(&mut self, span: Span, entries: &[(usize, usize)], depth: usize) -> Result<Node> {
        let mut found = Vec::with_capacity(entries.len());
        self.gather(entries, depth, false, &mut found)?;
        let kind = Kind::Map(self.last_of_each(found));
        Ok(Node { span, kind })
    }

    /// Appends the entries of a map and of all maps it merges, in go-yaml's order: a `<<` overrides entries before it
    /// and is overridden by those after it.
    fn gather(
        &mut self,
        entries: &[(usize, usize)],
        depth: usize,
        merged: bool,
        found: &mut Vec<ExpandedEntry>,
    ) -> Result<()> {
        for &(key, value) in entries {
            if self.is_merge(key) {
                self.merge(value, depth + 1, found)?;
                continue;
            }
            let (key, key_span) = self.key(key)?;
            let value = self.node(value, depth)?;
            let entry = Entry { key, key_span, value };
            found.push(ExpandedEntry { entry, merged });
        }
        Ok(())
    }

    fn is_merge(&self, id: usize) -> bool {
        match self.arena.nodes.get(id).map(|raw| &raw.kind) {
            Some(RawKind::Scalar { tag, value, plain }) => {
                let tag = tag.as_deref().and_then(resolve::core_tag);
                value == "<<" && (*plain || tag == Some("merge"))
            }
            _ => false,
        }
    }

    fn merge(&mut self, id: usize, depth: usize, found: &mut Vec<ExpandedEntry>) -> Result<()> {
        let maps = match self.arena.nodes.get(id).map(|raw| &raw.kind) {
            // In reverse: of the maps in a list the earlier ones take precedence.
            Some(RawKind::Seq(items)) => items.iter().rev().copied().collect(),
            _ => vec![id],
        };
        for id in maps {
            let (target, entries) = self.merged(id, depth)?;
            let result = self.gather(&entries, depth, true, found);
            if let Some(target) = target {
                self.leave(target);
            }
            result?;
        }
        Ok(())
    }

    /// The entries of a merged map, and the node being expanded if it is an alias.
    fn merged(&mut self, id: usize, depth: usize) -> Result<(Option<usize>, Pairs)> {
        let span = self.span(id);
        self.count(span)?;
        if depth > self.context.limits.depth {
            return Err(self.context.too_deep(span));
        }
        let alias = match self.arena.nodes.get(id).map(|raw| &raw.kind) {
            Some(RawKind::Alias { name, target }) => Some((name.clone(), *target)),
            _ => None,
        };
        let map = alias.as_ref().map_or(id, |(_, target)| *target);
        let Some(RawKind::Map(entries)) = self.arena.nodes.get(map).map(|raw| &raw.kind) else {
            return Err(self.not_mergeable(span));
        };
        let entries = entries.clone();
        if let Some((name, target)) = &alias {
            self.enter(span, name, *target)?;
            self.count(span)?;
        }
        Ok((alias.map(|(_, target)| target), entries))
    }

    fn not_mergeable(&self, span: Span) -> YamlError {
        self.context.error(span, YamlErrorKind::InvalidMerge)
    }

    /// A key as a string, as in sigs.k8s.io/yaml.
    fn key(&mut self, id: usize) -> Result<(String, Span)> {
        let place = self.span(id);
        self.count(place)?;
        let target = match self.arena.nodes.get(id).map(|raw| &raw.kind) {
            Some(RawKind::Alias { target, .. }) => {
                let target = *target;
                self.descend(place);
                let counted = self.count(place);
                self.alias_depth -= 1;
                counted?;
                target
            }
            _ => id,
        };
        let aliased = self.arena.aliased;
        let kind = match self.arena.nodes.get_mut(target).map(|raw| &mut raw.kind) {
            Some(RawKind::Scalar { tag, value, plain }) => {
                let (plain, tag) = (*plain, tag.clone());
                self.text += value.len();
                if self.text > self.context.limits.bytes {
                    return Err(self.context.too_large(place));
                }
                let value = taken(value, aliased);
                self.scalar(place, tag.as_deref(), value, plain)?
            }
            Some(RawKind::Seq(_)) => return Err(self.bad_key(place, InvalidKey::Sequence)),
            _ => return Err(self.bad_key(place, InvalidKey::Mapping)),
        };
        let text = match kind {
            Kind::String(text) => text,
            Kind::Bool(true) => "true".to_owned(),
            Kind::Bool(false) => "false".to_owned(),
            Kind::Number(Number::Int(value)) => value.to_string(),
            Kind::Number(Number::Float(value)) => float::go_g32(value),
            Kind::Number(Number::Uint(_)) => return Err(self.bad_key(place, InvalidKey::Uint)),
            _ => return Err(self.bad_key(place, InvalidKey::Null)),
        };
        Ok((text, place))
    }

    fn bad_key(&self, span: Span, what: InvalidKey) -> YamlError {
        let error = self.context.error(span, YamlErrorKind::InvalidKey(what));
        let before = self.context.source.text().get(..span.start as usize);
        if what == InvalidKey::Mapping && before.is_some_and(|before| before.ends_with('{')) {
            return error.hint(TEMPLATE_HINT);
        }
        error
    }

    /// Keeps the last entry of each key; the others are recorded for a warning.
    fn last_of_each(&mut self, found: Vec<ExpandedEntry>) -> Vec<Entry> {
        if are_few_and_distinct(&found) {
            return found.into_iter().map(|one| one.entry).collect();
        }
        let mut order: Vec<usize> = (0..found.len()).collect();
        let key = |index: usize| found.get(index).map_or("", |one| one.entry.key.as_str());
        order.sort_by(|&a, &b| key(a).cmp(key(b)));
        let mut dropped = vec![false; found.len()];
        let mut any = false;
        for pair in order.windows(2) {
            let &[first, second] = pair else { continue };
            if key(first) == key(second) {
                any = true;
                if let Some(flag) = dropped.get_mut(first) {
                    *flag = true;
                }
                if let (Some(old), Some(new)) = (found.get(first), found.get(second))
                    && !old.merged
                    && !new.merged
                {
                    let duplicate = self.duplicate(old, new);
                    self.duplicates.push(duplicate);
                }
            }
        }
        let entries = found.into_iter().map(|one| one.entry);
        if !any {
            return entries.collect();
        }
        entries
            .zip(dropped)
            .filter(|(_, dropped)| !dropped)
            .map(|(entry, _)| entry)
            .collect()
    }

    fn duplicate(&self, old: &ExpandedEntry, new: &ExpandedEntry) -> DuplicateKey {
        DuplicateKey {
            key: new.entry.key.clone(),
            location: Location::new(self.context.source, new.entry.key_span),
            previous_line: self.context.source.position(old.entry.key_span.start).line,
        }
    }

    fn scalar(&self, span: Span, tag: Option<&str>, value: Cow<'a, str>, plain: bool) -> Result<Kind> {
        let resolved = match (tag, tag.and_then(resolve::core_tag)) {
            (None, _) if plain => resolve::plain(&value),
            (Some(_), Some("binary")) => return self.binary(span, &value),
            (Some(_), Some(core)) => resolve::tagged(core, &value).map_err(|_| {
                let kind = YamlErrorKind::TagMismatch {
                    value: value.to_string(),
                    tag: core.to_owned(),
                };
                self.context.error(span, kind)
            })?,
            _ => Resolved::Text,
        };
        match resolved {
            Resolved::Null => Ok(Kind::Null),
            Resolved::Bool(value) => Ok(Kind::Bool(value)),
            Resolved::Number(value) => Ok(Kind::Number(value)),
            Resolved::Text | Resolved::Timestamp => Ok(Kind::String(value.into_owned())),
        }
    }

    fn binary(&self, span: Span, value: &str) -> Result<Kind> {
        match base64::decode(value) {
            // JSON has no bytes: Go replaces invalid UTF-8.
            Some(bytes) => Ok(Kind::String(go_lossy(&bytes))),
            None => Err(self.context.error(span, YamlErrorKind::InvalidBinary)),
        }
    }
}

/// Most maps are small; they are searched without sorting.
fn are_few_and_distinct(found: &[ExpandedEntry]) -> bool {
    const FEW: usize = 12;
    let repeats = |(index, one): (usize, &ExpandedEntry)| {
        let before = found.get(..index).unwrap_or(&[]);
        before.iter().any(|earlier| earlier.entry.key == one.entry.key)
    };
    found.len() <= FEW && !found.iter().enumerate().any(repeats)
}

/// Nodes of a document without aliases are visited once, so their content can be moved.
fn taken<T: Clone + Default>(part: &mut T, aliased: bool) -> T {
    if aliased {
        part.clone()
    } else {
        std::mem::take(part)
    }
}

/// Bytes as a string; each invalid byte becomes one U+FFFD, as in Go's `encoding/json`.
fn go_lossy(bytes: &[u8]) -> String {
    let mut text = String::new();
    for chunk in bytes.utf8_chunks() {
        text.push_str(chunk.valid());
        text.extend(chunk.invalid().iter().map(|_| char::REPLACEMENT_CHARACTER));
    }
    text
}
