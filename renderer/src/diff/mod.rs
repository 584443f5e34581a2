//! What differs between two renderings of charts, object by object.
//!
//! In: the documents of both ([`Rendering`]). Out: a [`ChartDiff`]: which objects were added, removed, changed or have
//! another name, each with its [`Change`]s, and which images are others. Objects are the same by group, kind, namespace
//! and name; items of lists by Kubernetes' merge keys; texts of several lines are compared by line. Values of Secrets
//! are replaced by hashes before anything is compared. All of it is pure; [`locate`] runs a chart's templates once more
//! to say which line printed a change.

mod common;
mod content;
mod hidden;
mod image_changes;
mod list_keys;
pub mod locate;
mod object;
mod pairing;
mod path;
mod rendering;
mod sequence;
mod text;
mod values;

use std::sync::Arc;

pub use common::{CommonChange, CommonChanges};
pub use image_changes::ImageChange;
pub use object::ObjectId;
pub(crate) use object::items as items_of_list;
pub use path::{FieldPath, Side, Step};
pub use rendering::{RenderedDocument, Rendering, Role, split_crds};
pub use text::{Hunk, Mark, TextDiff, TextLine};
pub use values::{Change, ChangeKind};

use crate::compare::pairs::Pairs;
use crate::parallel::both;
use crate::value::Value;
use object::{Object, objects};

/// How renderings are compared.
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub struct DiffOptions<'o> {
    /// The release's namespace: that of objects that name none.
    pub namespace: &'o str,
    /// Whether the values of Secrets are compared as they are.
    pub shows_secrets: bool,
}

impl<'o> DiffOptions<'o> {
    /// With hashes of what Secrets hold.
    pub fn new(namespace: &'o str) -> Self {
        Self {
            namespace,
            shows_secrets: false,
        }
    }
}

/// What differs between two renderings.
#[derive(Debug, Clone, PartialEq, Default)]
#[non_exhaustive]
pub struct ChartDiff {
    /// The objects that are not the same: those of the newer rendering in its order, then those that are gone.
    pub objects: Vec<ObjectDiff>,
    /// How many objects are the same.
    pub unchanged: usize,
    /// The images that are others.
    pub images: Vec<ImageChange>,
}

/// An object that is not the same in both renderings.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct ObjectDiff {
    /// The older, unless it was added.
    pub from: Option<ObjectSide>,
    /// The newer, unless it was removed.
    pub to: Option<ObjectSide>,
    /// What differs between the two; empty for one that was added or removed.
    pub changes: Vec<Change>,
}

/// An object in one of two renderings.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct ObjectSide {
    /// What identifies it.
    pub id: ObjectId,
    /// What it is for Helm.
    pub role: Role,
    /// The namespace that it is installed in: also that of the release.
    pub installed_in: String,
    /// The template that printed it.
    pub source: Arc<str>,
    /// The number of its document in the rendering.
    pub document: usize,
    /// Its position in a `List`.
    pub item: Option<usize>,
    /// The object, without what is not shown.
    pub value: Value,
}

/// What has become of an object.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum ObjectChange {
    /// It is new.
    Added,
    /// It has another content.
    Changed,
    /// It has another name or namespace, and perhaps another content.
    Renamed,
    /// It is gone.
    Removed,
}

impl ObjectChange {
    /// As in JSON.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Added => "added",
            Self::Changed => "changed",
            Self::Renamed => "renamed",
            Self::Removed => "removed",
        }
    }
}

impl ObjectDiff {
    /// What has become of it.
    pub fn change(&self) -> ObjectChange {
        match (&self.from, &self.to) {
            (None, _) => ObjectChange::Added,
            (_, None) => ObjectChange::Removed,
            (Some(from), Some(to)) if from.full_name() != to.full_name() => ObjectChange::Renamed,
            _ => ObjectChange::Changed,
        }
    }

    /// The newer, or that which was removed.
    pub fn side(&self) -> Option<&ObjectSide> {
        self.to.as_ref().or(self.from.as_ref())
    }
}

impl ObjectSide {
    fn full_name(&self) -> (&str, &str) {
        (&self.installed_in, &self.id.name)
    }
}

impl ChartDiff {
    /// Whether everything is the same.
    pub fn is_empty(&self) -> bool {
        self.objects.is_empty()
    }

    /// How many objects have become this.
    pub fn count(&self, change: ObjectChange) -> usize {
        self.objects.iter().filter(|one| one.change() == change).count()
    }
}

/// Compares two renderings.
pub fn diff(from: &[RenderedDocument], to: &[RenderedDocument], options: &DiffOptions<'_>) -> ChartDiff {
    // Most documents are the same to the byte: they are not even parsed.
    let mut same = Pairs::default();
    same.add(from, to, |one| Some((one.role, one.manifest.text())));
    let kept: Vec<&RenderedDocument> = same.iter().filter_map(|(number, _)| from.get(number)).collect();
    let rest_from = || (0..from.len()).filter(|number| same.partner(*number).is_none());
    let rest_to = (0..to.len()).filter(|number| !same.has_partner(*number));
    let (older, newer) = both(
        || objects(from, rest_from(), options),
        || objects(to, rest_to, options),
    );
    let pairs = pairing::pair(&older, &newer);
    let mut partners: Vec<Option<usize>> = vec![None; newer.len()];
    for (one, other) in pairs.iter() {
        if let Some(partner) = partners.get_mut(other) {
            *partner = Some(one);
        }
    }
    let mut all = ChartDiff {
        objects: Vec::new(),
        unchanged: kept.iter().map(|one| count(one)).sum(),
        images: image_changes::image_changes(&older, &newer, &kept),
    };
    let mut older: Vec<Option<Object>> = older.into_iter().map(Some).collect();
    for (object, partner) in newer.into_iter().zip(partners) {
        let partner = partner.and_then(|partner| older.get_mut(partner)?.take());
        if partner
            .as_ref()
            .is_some_and(|partner| pairing::is_unchanged(partner, &object))
        {
            all.unchanged += 1;
            continue;
        }
        let changes = partner
            .as_ref()
            .map(|partner| values::changes(&partner.value, &object.value));
        all.objects.push(ObjectDiff {
            from: partner.map(side),
            to: Some(side(object)),
            changes: changes.unwrap_or_default(),
        });
    }
    let removed = older.into_iter().flatten();
    all.objects.extend(removed.map(|object| ObjectDiff {
        from: Some(side(object)),
        to: None,
        changes: Vec::new(),
    }));
    all
}

/// How many objects a document is: a file of `crds/` may be several.
fn count(document: &RenderedDocument) -> usize {
    match document.role {
        Role::Crd => {
            let lines = document.manifest.text().lines();
            lines.filter(|line| line.starts_with("kind:")).count().max(1)
        }
        Role::Manifest | Role::Hook => usize::from(!document.manifest.kind.is_empty()),
    }
}

fn side(object: Object) -> ObjectSide {
    ObjectSide {
        id: object.id,
        role: object.role,
        installed_in: object.namespace,
        source: object.source,
        document: object.document,
        item: object.item,
        value: object.value,
    }
}
