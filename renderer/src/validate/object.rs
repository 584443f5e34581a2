//! One object: which schema it has, and what is wrong with it.

use super::check::{Checker, missing_field};
use super::crds::{CrdSchemas, KnownCustom};
use super::finding::{Rule, Violation};
use super::kubernetes::{KnownKind, VersionChoice, kubernetes};
use super::path::FieldPath;
use super::removed;
use super::structural_check::StructuralChecker;
use super::types::FieldType;
use crate::diag::did_you_mean;
use crate::lint::{deprecation, object_name_problem};
use crate::source::Span;
use crate::yaml::{Kind, Node};

/// An object of a document: usually the whole of it, else an item of a list.
#[derive(Debug, Clone, Copy)]
pub(super) struct ObjectNode<'n> {
    pub(super) node: &'n Node,
    /// Its position in a `List`.
    item: Option<usize>,
}

/// What identifies an object.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct ObjectId {
    pub(super) api_version: String,
    pub(super) kind: String,
    pub(super) name: String,
}

/// The objects of a document: the items of a `List`, else the document; none of comments alone.
pub(super) fn objects(root: &Node) -> Vec<ObjectNode<'_>> {
    let kind = root.get("kind").and_then(Node::as_str).unwrap_or_default();
    match root.get("items") {
        Some(items) if kind.ends_with("List") && matches!(items.kind, Kind::Seq(_)) => items
            .items()
            .iter()
            .enumerate()
            .map(|(index, node)| ObjectNode {
                node,
                item: Some(index),
            })
            .collect(),
        _ if root.is_null() => Vec::new(),
        _ => vec![ObjectNode {
            node: root,
            item: None,
        }],
    }
}

impl ObjectNode<'_> {
    fn text(&self, field: &str) -> &str {
        self.node.get(field).and_then(Node::as_str).unwrap_or_default()
    }

    pub(super) fn id(&self) -> ObjectId {
        let metadata = self.node.get("metadata");
        let name = metadata.and_then(|metadata| metadata.get("name").or(metadata.get("generateName")));
        ObjectId {
            api_version: self.text("apiVersion").to_owned(),
            kind: self.text("kind").to_owned(),
            name: name.and_then(Node::as_str).unwrap_or_default().to_owned(),
        }
    }

    /// The value of a field, else the object's beginning.
    fn span(&self, field: &str) -> Span {
        let field = self.node.get(field).map(|node| node.span);
        field.unwrap_or_else(|| self.begin())
    }

    fn begin(&self) -> Span {
        let first = self.node.entries().first();
        first.map_or(self.node.span, |entry| entry.key_span)
    }

    /// What is wrong with it, in a version of Kubernetes; CRDs are searched in order.
    pub(super) fn check(&self, crds: &[&CrdSchemas], version: VersionChoice) -> Vec<Violation> {
        let mut checker = Checker::new(version);
        if self.is_identified(&mut checker.found) {
            self.check_name(&mut checker.found);
            self.check_kind(crds, &mut checker);
        }
        let mut found = checker.found;
        if let Some(index) = self.item {
            for one in &mut found {
                let below = FieldPath::Root;
                let items = below.key("items");
                let item = items.item(index).to_string();
                one.path = match one.path.is_empty() {
                    true => item,
                    false => format!("{item}.{}", one.path),
                };
            }
        }
        found
    }

    fn is_identified(&self, found: &mut Vec<Violation>) -> bool {
        let at = self.begin();
        if !matches!(self.node.kind, Kind::Map(_)) {
            let message = format!("the document is {}, not an object", self.node.kind_name());
            found.push(Violation::error(Rule::NoObject, "", at, message));
            return false;
        }
        let before = found.len();
        for field in ["apiVersion", "kind"] {
            if self.text(field).is_empty() {
                let message = format!("the document has no {field}");
                found.push(Violation::error(Rule::NoObject, field, at, message));
            }
        }
        found.len() == before
    }

    fn check_name(&self, found: &mut Vec<Violation>) {
        let root = FieldPath::Root;
        let path = root.key("metadata");
        let name = self
            .node
            .get("metadata")
            .and_then(|metadata| metadata.get("name").or(metadata.get("generateName")));
        match name {
            Some(name) if name.as_str().is_some_and(|name| !name.is_empty()) => {
                let text = name.as_str().unwrap_or_default();
                let is_generated = self
                    .node
                    .get("metadata")
                    .is_some_and(|all| all.get("name").is_none());
                if let Some(problem) = object_name_problem(self.text("kind"), text).filter(|_| !is_generated)
                {
                    let message = format!("{text:?} can't be a name");
                    let one = Violation::error(Rule::InvalidValue, path.key("name"), name.span, message);
                    found.push(one.note(problem));
                }
            }
            // A value of another type is reported with its type.
            Some(name) if !name.is_null() && name.as_str().is_none() => {}
            _ => {
                let metadata = self.node.entries().iter().find(|entry| entry.key == "metadata");
                let at = metadata.map_or(self.begin(), |entry| entry.key_span);
                found.push(missing_field("name", &path, at));
            }
        }
    }

    fn check_kind(&self, crds: &[&CrdSchemas], checker: &mut Checker) {
        let (api_version, kind) = (self.text("apiVersion"), self.text("kind"));
        let version = checker.version;
        match kubernetes().kind(api_version, kind, version) {
            KnownKind::Served(number) => {
                checker.definition(self.node, number, &FieldPath::Root, self.begin());
                checker.found.extend(self.deprecated(version));
            }
            KnownKind::In(versions) => checker.found.push(self.not_served(&versions, version)),
            KnownKind::NotInApi(kinds) => {
                let removed = self.removed(version);
                let unknown = || {
                    let message = format!("{api_version} has no kind {kind}");
                    let near = did_you_mean(kind, kinds.iter().copied());
                    self.unknown(message, near, version)
                };
                checker.found.push(removed.unwrap_or_else(unknown));
            }
            KnownKind::Unknown => match self.removed(version) {
                Some(removed) => checker.found.push(removed),
                None => self.custom(crds, checker),
            },
        }
    }

    /// An object of a CRD.
    fn custom(&self, crds: &[&CrdSchemas], checker: &mut Checker) {
        let (api_version, kind) = (self.text("apiVersion"), self.text("kind"));
        for schemas in crds {
            match schemas.find(api_version, kind) {
                KnownCustom::Served(schema) => {
                    let metadata = metadata_definition(checker.version);
                    let mut walk = StructuralChecker {
                        checker,
                        metadata,
                        depth: 0,
                    };
                    walk.object(self.node, schema, &FieldPath::Root, self.begin());
                    return;
                }
                KnownCustom::In(versions) => {
                    let message = format!("the CRD of {kind} does not serve {api_version}");
                    let one =
                        Violation::error(Rule::RemovedApi, "apiVersion", self.span("apiVersion"), message);
                    let note = format!("it serves {}", versions.join(", "));
                    checker.found.push(one.note(note));
                    return;
                }
                KnownCustom::Invalid(source, reason) => {
                    let message = format!("the CRD of {kind} can't be used: {reason}");
                    let one = Violation::error(Rule::InvalidCrd, "", self.span("kind"), message);
                    checker
                        .found
                        .push(one.note(format!("it is in {}", source.name())));
                    return;
                }
                KnownCustom::Unknown => {}
            }
        }
        if kubernetes().has_group(api_version) {
            let message = format!("Kubernetes has no API version {api_version}");
            checker.found.push(self.unknown(message, None, checker.version));
            return;
        }
        let message = format!("there is no schema of {api_version} {kind}");
        let one = Violation::warning(Rule::NoSchema, "apiVersion", self.span("apiVersion"), message);
        let hint = "--crds names the CRDs, or the chart that has them";
        checker.found.push(one.hint(Some(hint.to_owned())));
    }

    fn unknown(&self, message: String, near: Option<&str>, version: VersionChoice) -> Violation {
        let kind = self.text("kind");
        let others = kubernetes().apis_of(kind, version);
        let hint = match (near, others.as_slice()) {
            (_, [_, ..]) => Some(format!("{kind} is in {}", others.join(", "))),
            (Some(near), _) => Some(format!("did you mean `{near}`?")),
            _ => None,
        };
        Violation::error(Rule::UnknownKind, "kind", self.span("kind"), message).hint(hint)
    }

    /// The error about a kind that only other versions serve.
    fn not_served(&self, versions: &[&str], version: VersionChoice) -> Violation {
        if let Some(removed) = self.removed(version) {
            return removed;
        }
        let (api_version, kind) = (self.text("apiVersion"), self.text("kind"));
        let served = versions.join(", ");
        let message = format!(
            "Kubernetes {} does not serve {api_version} {kind}",
            version.number()
        );
        let one = Violation::error(Rule::RemovedApi, "apiVersion", self.span("apiVersion"), message);
        let others = kubernetes().apis_of(kind, version);
        let hint = (!others.is_empty()).then(|| format!("use {}", others.join(" or ")));
        one.note(format!("of the versions with schemas, these do: {served}"))
            .hint(hint)
    }

    /// The error about an API version that was removed, from Kubernetes' own table.
    fn removed(&self, version: VersionChoice) -> Option<Violation> {
        let (api_version, kind) = (self.text("apiVersion"), self.text("kind"));
        let of_table = || {
            let known = deprecation(api_version, kind)?;
            Some((known.removed?, known.replacement.as_deref()))
        };
        let gone = || removed::find(api_version, kind).map(|(version, other)| (version, Some(other)));
        let (removed, replacement) = of_table().or_else(gone)?;
        if removed > version.numbers() {
            return None;
        }
        let message = format!(
            "{api_version} {kind} was removed in Kubernetes {}.{}",
            removed.0, removed.1
        );
        let one = Violation::error(Rule::RemovedApi, "apiVersion", self.span("apiVersion"), message);
        let hint = replacement.map(|other| format!("use {other}"));
        Some(one.hint(hint))
    }

    fn deprecated(&self, version: VersionChoice) -> Option<Violation> {
        let known = deprecation(self.text("apiVersion"), self.text("kind"))?;
        if known.since > version.numbers() {
            return None;
        }
        let message = known.message.clone();
        let span = self.span("apiVersion");
        Some(Violation::warning(
            Rule::DeprecatedApi,
            "apiVersion",
            span,
            message,
        ))
    }
}

/// The definition of `metadata`, which all kinds share.
fn metadata_definition(version: VersionChoice) -> Option<usize> {
    let KnownKind::Served(number) = kubernetes().kind("v1", "ConfigMap", version) else {
        return None;
    };
    match kubernetes().definition(number, version)?.field("metadata")?.kind {
        FieldType::Definition(number) => Some(number),
        _ => None,
    }
}
