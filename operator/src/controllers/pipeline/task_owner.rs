//! Names and labels of the objects that are created for a Target. Owners are named by labels and fields, not by owner
//! references: those don't cross namespaces.

use std::collections::BTreeMap;

use crate::api::GROUP;
use crate::api::pipeline::{ObjectKey, Spec as _, TargetSpec};
use crate::controllers::rendertask::TaskView;
use crate::names::{MANAGER, fitted};

/// The maximum length of an object's name, in bytes.
const MAX_NAME: usize = 253;

/// The label with the kind of an object's owner.
pub const OWNER_KIND_LABEL: &str = "solar.opendefense.cloud/owner-kind";
/// The label with the owner's namespace.
pub const OWNER_NAMESPACE_LABEL: &str = "solar.opendefense.cloud/owner-namespace";
/// The label with the owner's name, or with its prefix and a hash if it is too long for a label.
pub const OWNER_NAME_LABEL: &str = "solar.opendefense.cloud/owner-name";
/// The label with the owner's UID: a Target that was created again under its name adopts nothing.
pub const OWNER_UID_LABEL: &str = "solar.opendefense.cloud/owner-uid";

/// The labels of the objects that are created for a Target.
pub fn labels(target: &ObjectKey, uid: &str) -> BTreeMap<String, String> {
    let pairs = [
        ("app.kubernetes.io/managed-by", MANAGER.to_owned()),
        ("app.kubernetes.io/part-of", "solar".to_owned()),
        (OWNER_KIND_LABEL, TargetSpec::KIND.to_owned()),
        (OWNER_NAMESPACE_LABEL, target.namespace.clone()),
        (OWNER_NAME_LABEL, fitted(&target.name)),
        (OWNER_UID_LABEL, uid.to_owned()),
    ];
    pairs
        .into_iter()
        .map(|(key, value)| (key.to_owned(), value))
        .collect()
}

/// Selects all objects that were created for Targets of this name, whatever their UID.
pub fn selector(target: &ObjectKey) -> String {
    format!(
        "{OWNER_KIND_LABEL}={},{OWNER_NAMESPACE_LABEL}={},{OWNER_NAME_LABEL}={}",
        TargetSpec::KIND,
        target.namespace,
        fitted(&target.name)
    )
}

/// Whether this operator created a task for a Target of this name, whatever its UID.
pub fn is_owned(task: &TaskView, target: &ObjectKey) -> bool {
    task.was_made_for(TargetSpec::KIND, &target.namespace, &target.name)
}

/// `<prefix><name><suffix>`, with the name truncated so that the whole is a valid object name.
pub fn bounded(prefix: &str, name: &str, suffix: &str) -> String {
    let room = MAX_NAME.saturating_sub(prefix.len() + suffix.len());
    let kept = name.get(..name.floor_char_boundary(room)).unwrap_or("");
    let kept = if kept.len() < name.len() {
        kept.trim_end_matches(['-', '.'])
    } else {
        kept
    };
    format!("{prefix}{kept}{suffix}")
}

/// A finalizer of this group.
pub fn finalizer(name: &str) -> String {
    format!("{GROUP}/{name}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::names::is_name;

    #[test]
    fn labels_select_what_they_mark_and_fit() {
        let target = ObjectKey::new("tenant", &"t".repeat(100));
        let labels = labels(&target, "uid-1");
        assert!(labels.values().all(|value| value.len() <= 63), "{labels:?}");
        for pair in selector(&target).split(',') {
            let (key, value) = pair.split_once('=').expect("a pair");
            assert_eq!(labels.get(key).map(String::as_str), Some(value));
        }
        assert!(!selector(&target).contains(OWNER_UID_LABEL));
    }

    #[test]
    fn a_long_name_is_cut_before_the_suffix() {
        assert_eq!(
            bounded("render-rel-", "shop", "-0a1b2c3d"),
            "render-rel-shop-0a1b2c3d"
        );
        let long = format!("{}.{}", "a".repeat(231), "b".repeat(21));
        let name = bounded("render-rel-", &long, "-0a1b2c3d");
        assert!(is_name(&name) && name.len() <= MAX_NAME, "{name}");
        // The cut is after the dot.
        let cut = format!("{}.{}", "a".repeat(232), "b".repeat(20));
        let name = bounded("render-rel-", &cut, "-0a1b2c3d");
        assert!(is_name(&name), "{name}");
    }
}
