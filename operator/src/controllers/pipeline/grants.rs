//! ReferenceGrants: which references may cross namespaces.
//!
//! A grant is in the namespace of the referenced object, and names the kind and namespace of the referring one.
//! References inside a namespace need no grant.

use crate::api::GROUP;
use crate::api::pipeline::{
    ComponentVersionSpec, ProfileSpec, ReferenceGrant, RegistryBindingSpec, RegistrySpec, ReleaseBindingSpec,
    ReleaseSpec, RenderArtifactSpec, Spec, TargetSpec,
};

/// Whether objects may refer to those of other namespaces at all.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum CrossNamespace {
    /// Where a ReferenceGrant lets them.
    #[default]
    Granted,
    /// Never, whatever grants there are: whoever writes grants in a namespace doesn't decide this.
    Off,
}

impl CrossNamespace {
    /// Of the grants that there are, those that count.
    pub fn effective(self, grants: Vec<ReferenceGrant>) -> Vec<ReferenceGrant> {
        match self {
            Self::Granted => grants,
            Self::Off => Vec::new(),
        }
    }
}

/// The references that may cross namespaces.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CrossReference {
    /// A Target's render registry.
    TargetToRegistry,
    /// A Release's component version.
    ReleaseToComponentVersion,
    /// A ReleaseBinding of another namespace than its Target.
    ReleaseBindingToTarget,
    /// A RegistryBinding of another namespace than its Target.
    RegistryBindingToTarget,
    /// A Target that a Profile matches.
    ProfileToTarget,
    /// The Registry whose credentials delete a pushed chart.
    ArtifactToRegistry,
}

impl CrossReference {
    /// The kinds of the referring and of the referenced object.
    pub fn kinds(self) -> (&'static str, &'static str) {
        match self {
            Self::TargetToRegistry => (TargetSpec::KIND, RegistrySpec::KIND),
            Self::ReleaseToComponentVersion => (ReleaseSpec::KIND, ComponentVersionSpec::KIND),
            Self::ReleaseBindingToTarget => (ReleaseBindingSpec::KIND, TargetSpec::KIND),
            Self::RegistryBindingToTarget => (RegistryBindingSpec::KIND, TargetSpec::KIND),
            Self::ProfileToTarget => (ProfileSpec::KIND, TargetSpec::KIND),
            Self::ArtifactToRegistry => (RenderArtifactSpec::KIND, RegistrySpec::KIND),
        }
    }

    /// Whether an object of the namespace `from` may refer to one of the namespace `to`. A grant that is being
    /// deleted grants nothing any more.
    pub fn is_granted<'a>(
        self,
        from: &str,
        to: &str,
        grants: impl IntoIterator<Item = &'a ReferenceGrant>,
    ) -> bool {
        if from == to {
            return true;
        }
        let (referrer, referred) = self.kinds();
        grants.into_iter().any(|grant| {
            let spec = &grant.spec;
            grant.namespace() == to
                && !grant.is_deleted()
                && spec
                    .from
                    .iter()
                    .any(|one| one.group == GROUP && one.kind == referrer && one.namespace == from)
                && spec
                    .to
                    .iter()
                    .any(|one| one.group == GROUP && one.kind == referred)
        })
    }

    /// What is missing, for people: the grant that would have to be made, where that helps.
    pub fn missing(self, from: &str, to: &str, cross: CrossNamespace) -> String {
        let (referrer, referred) = self.kinds();
        match cross {
            CrossNamespace::Granted => format!(
                "no ReferenceGrant in namespace {to} lets kind {referrer} of namespace {from} refer to kind {referred}"
            ),
            CrossNamespace::Off => format!(
                "kind {referrer} of namespace {from} can't refer to kind {referred} of namespace {to}: the operator runs with --no-cross-namespace-refs"
            ),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    fn grant(namespace: &str, from: Value, to: &Value) -> ReferenceGrant {
        serde_json::from_value(json!({
            "metadata": {"name": "g", "namespace": namespace},
            "spec": {"from": [from], "to": [to]},
        }))
        .expect("a grant")
    }

    /// Every grant is ignored, and no message asks for one.
    #[test]
    fn without_references_across_namespaces_no_grant_counts() {
        let from = json!({"group": GROUP, "kind": "Target", "namespace": "a"});
        let grants = || {
            vec![grant(
                "b",
                from.clone(),
                &json!({"group": GROUP, "kind": "Registry"}),
            )]
        };
        let reference = CrossReference::TargetToRegistry;
        for (cross, is_granted) in [(CrossNamespace::Granted, true), (CrossNamespace::Off, false)] {
            let grants = cross.effective(grants());
            assert_eq!(reference.is_granted("a", "b", &grants), is_granted, "{cross:?}");
            assert!(reference.is_granted("a", "a", &grants), "{cross:?}");
        }
        let message = reference.missing("a", "b", CrossNamespace::Off);
        assert!(
            message.contains("--no-cross-namespace-refs") && !message.contains("ReferenceGrant"),
            "{message}"
        );
    }

    #[test]
    fn a_grant_names_group_kind_and_namespace_of_both_ends() {
        let from =
            |kind: &str, namespace: &str| json!({"group": GROUP, "kind": kind, "namespace": namespace});
        let to = |kind: &str| json!({"group": GROUP, "kind": kind});
        let registry = to("Registry");
        // The grant, and whether a Target of namespace a may refer to a Registry of namespace b.
        let table = [
            (grant("b", from("Target", "a"), &registry), true),
            // A grant in the namespace of the referring object has no effect.
            (grant("a", from("Target", "a"), &registry), false),
            (grant("b", from("Target", "c"), &registry), false),
            (grant("b", from("Release", "a"), &registry), false),
            (grant("b", from("RenderArtifact", "a"), &registry), false),
            (grant("b", from("Target", "a"), &to("ComponentVersion")), false),
            (
                grant(
                    "b",
                    json!({"group": "", "kind": "Target", "namespace": "a"}),
                    &registry,
                ),
                false,
            ),
            (
                grant(
                    "b",
                    from("Target", "a"),
                    &json!({"group": "x", "kind": "Registry"}),
                ),
                false,
            ),
        ];
        for (grant, expected) in table {
            let reference = CrossReference::TargetToRegistry;
            assert_eq!(
                reference.is_granted("a", "b", [&grant]),
                expected,
                "{:?}",
                grant.spec
            );
            assert!(reference.is_granted("a", "a", [&grant]), "one namespace");
        }
    }

    /// A grant for Targets is not one for artifacts: anyone who can write those could use the Target's credentials.
    #[test]
    fn each_reference_takes_a_grant_of_its_own_kinds() {
        let all = [
            CrossReference::TargetToRegistry,
            CrossReference::ReleaseToComponentVersion,
            CrossReference::ReleaseBindingToTarget,
            CrossReference::RegistryBindingToTarget,
            CrossReference::ProfileToTarget,
            CrossReference::ArtifactToRegistry,
        ];
        for granted in all {
            let (from, to) = granted.kinds();
            let grant = grant(
                "b",
                json!({"group": GROUP, "kind": from, "namespace": "a"}),
                &json!({"group": GROUP, "kind": to}),
            );
            for asked in all {
                assert_eq!(
                    asked.is_granted("a", "b", [&grant]),
                    asked == granted,
                    "{asked:?} by {granted:?}"
                );
            }
        }
    }

    #[test]
    fn several_entries_and_grants_add_up_and_a_deleted_one_grants_nothing() {
        let other = grant(
            "b",
            json!({"group": GROUP, "kind": "Target", "namespace": "x"}),
            &json!({"group": GROUP, "kind": "Registry"}),
        );
        let mut wide: ReferenceGrant = serde_json::from_value(json!({
            "metadata": {"name": "g", "namespace": "b"},
            "spec": {
                "from": [{"group": GROUP, "kind": "Release", "namespace": "a"},
                    {"group": GROUP, "kind": "Target", "namespace": "a"}],
                "to": [{"group": GROUP, "kind": "ComponentVersion"}, {"group": GROUP, "kind": "Registry"}],
            },
        }))
        .expect("a grant");
        let reference = CrossReference::TargetToRegistry;
        assert!(!reference.is_granted("a", "b", [&other]));
        assert!(reference.is_granted("a", "b", [&other, &wide]));
        wide.metadata.deletion_timestamp =
            Some(serde_json::from_value(json!("2026-01-01T00:00:00Z")).expect("a time"));
        assert!(!reference.is_granted("a", "b", [&other, &wide]));
        let missing = reference.missing("a", "b", CrossNamespace::Granted);
        assert!(missing.contains("in namespace b"));
    }
}
