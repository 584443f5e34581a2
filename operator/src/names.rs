//! Names and labels of the objects that a task owns.
//!
//! Names are deterministic, so that two operators can't create two Jobs for one task: the second creation is refused.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use sha2::{Digest as _, Sha256};
use solar_render::config::names as rules;

use crate::api::Scope;

/// The longest name of a Job, and the longest label value, in bytes: a pod has its Job's name as a label.
pub const MAX_LABEL: usize = 63;
/// How many bytes of a longer name are kept before the hash.
const KEPT: usize = 54;
/// How many hex digits of the SHA-256 follow it.
const HASH_DIGITS: usize = 8;

/// The label `managed-by` and the field manager of created objects.
pub const MANAGER: &str = "solar-operator";
/// The label `part-of`.
const PART_OF: &str = "solar";

/// The component of Jobs that delete the tags of RenderArtifacts.
pub const ARTIFACT_COMPONENT: &str = "renderartifact";
/// The component of Jobs and volumes of Artifacts.
pub const IMPORT_COMPONENT: &str = "artifact";

const NAME: &str = "app.kubernetes.io/name";
const COMPONENT: &str = "app.kubernetes.io/component";
const PART_OF_LABEL: &str = "app.kubernetes.io/part-of";
const MANAGED_BY: &str = "app.kubernetes.io/managed-by";
const VERSION: &str = "app.kubernetes.io/version";

/// The name of a task's Job and of its config Secret.
pub fn job_name(scope: Scope, task: &str) -> String {
    match scope {
        Scope::Namespaced => fitted(&format!("render-{task}")),
        Scope::Cluster => fitted(&format!("crender-{task}")),
    }
}

/// The name itself, or its prefix and a hash if it is longer than [`MAX_LABEL`].
pub fn fitted(name: &str) -> String {
    if name.len() <= MAX_LABEL {
        return name.to_owned();
    }
    let kept = name.get(..name.floor_char_boundary(KEPT)).unwrap_or("");
    let mut short = kept.trim_end_matches(['-', '.']).to_owned();
    short.push('-');
    for byte in Sha256::digest(name.as_bytes()).iter().take(HASH_DIGITS / 2) {
        // Writing to a String can't fail.
        let _ = write!(short, "{byte:02x}");
    }
    short
}

/// Whether this is a valid object name; an invalid one must not get into a URL either.
pub fn is_name(name: &str) -> bool {
    rules::object_name(name).is_ok()
}

/// Whether this is a valid namespace name.
pub fn is_namespace(name: &str) -> bool {
    rules::namespace(name).is_ok()
}

/// The labels of a task's Job, pods and Secret.
pub fn labels(scope: Scope, task: &str) -> BTreeMap<String, String> {
    component_labels(component(scope), task)
}

/// The labels of objects that are created for an object of a component.
pub fn component_labels(component: &str, name: &str) -> BTreeMap<String, String> {
    let pairs = [
        (NAME, fitted(name)),
        (COMPONENT, component.to_owned()),
        (PART_OF_LABEL, PART_OF.to_owned()),
        (MANAGED_BY, MANAGER.to_owned()),
        (VERSION, env!("CARGO_PKG_VERSION").to_owned()),
    ];
    pairs
        .into_iter()
        .map(|(key, value)| (key.to_owned(), value))
        .collect()
}

/// Selects the objects that this operator created, in any version: an upgrade still finds running Jobs.
pub fn selector() -> String {
    let components = [
        Scope::ALL.map(component).as_slice(),
        &[ARTIFACT_COMPONENT, IMPORT_COMPONENT],
    ]
    .concat();
    let components = components.join(",");
    format!("{MANAGED_BY}={MANAGER},{PART_OF_LABEL}={PART_OF},{COMPONENT} in ({components})")
}

fn component(scope: Scope) -> &'static str {
    match scope {
        Scope::Namespaced => "rendertask",
        Scope::Cluster => "clusterrendertask",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_the_two_kinds_never_collide() {
        assert_eq!(job_name(Scope::Namespaced, "shop"), "render-shop");
        assert_eq!(job_name(Scope::Cluster, "shop"), "crender-shop");
    }

    #[test]
    fn a_name_is_cut_only_beyond_63_characters() {
        let fits = "a".repeat(63 - "render-".len());
        assert_eq!(job_name(Scope::Namespaced, &fits), format!("render-{fits}"));
        let long = format!("{fits}a");
        let name = job_name(Scope::Namespaced, &long);
        assert_eq!(name.len(), 63);
        // printf 'render-%s' "$(printf 'a%.0s' {1..57})" | sha256sum
        assert_eq!(name, format!("render-{}-{}", "a".repeat(47), "ba530dc0"));
    }

    #[test]
    fn names_with_a_common_prefix_stay_distinct() {
        let beginning = "x".repeat(100);
        let one = job_name(Scope::Namespaced, &format!("{beginning}1"));
        let two = job_name(Scope::Namespaced, &format!("{beginning}2"));
        assert_ne!(one, two);
        assert!(one.len() <= 63 && two.len() <= 63);
    }

    #[test]
    fn no_dash_or_dot_is_left_before_the_hash() {
        // The cut is after the dots: `render-` and 47 more.
        let name = job_name(
            Scope::Namespaced,
            &format!("{}.-.{}", "a".repeat(44), "b".repeat(30)),
        );
        let (kept, hash) = name.rsplit_once('-').expect("a hash");
        assert_eq!(kept, format!("render-{}", "a".repeat(44)));
        assert_eq!(hash.len(), 8);
    }

    #[test]
    fn invalid_names_are_detected() {
        for name in ["a", "a-b.c0", &"a".repeat(253)] {
            assert!(is_name(name), "{name}");
        }
        for name in [
            "",
            "..",
            "a/b",
            "a?b",
            "a#b",
            "A",
            "-a",
            "a.",
            "a..b",
            "a.-b",
            "a b",
            "é",
            &"a".repeat(254),
        ] {
            assert!(!is_name(name), "{name}");
        }
        assert!(is_namespace(&"a".repeat(63)));
        for name in ["a.b", "A", "", &"a".repeat(64)] {
            assert!(!is_namespace(name), "{name}");
        }
    }

    #[test]
    fn labels_fit_and_the_selector_leaves_out_the_version() {
        let labels = labels(Scope::Cluster, &"t".repeat(200));
        assert!(labels.values().all(|value| value.len() <= 63));
        assert!(!selector().contains(VERSION));
        for part in [MANAGED_BY, PART_OF_LABEL, COMPONENT] {
            assert!(selector().contains(part), "{part}");
        }
    }
}
