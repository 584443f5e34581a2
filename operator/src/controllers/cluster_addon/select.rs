//! Which stack a cluster belongs to, and what a stack does about its clusters next. Pure.

use std::collections::BTreeMap;

use jiff::Timestamp;
use serde::Deserialize;

use crate::api::cluster_addons::{ClusterAddonSpec, ClusterCounts, ClusterStackSpec, UpdatePolicy};
use crate::api::pipeline::LabelSelector;

/// What is kept of a stack's spec: what selects clusters.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct StackSpecView {
    /// The labels of the clusters.
    pub cluster_selector: Option<LabelSelector>,
    /// The ClusterClasses of the clusters.
    pub class_names: Vec<String>,
}

impl From<&ClusterStackSpec> for StackSpecView {
    fn from(spec: &ClusterStackSpec) -> Self {
        Self {
            cluster_selector: spec.cluster_selector.clone(),
            class_names: spec.class_names.clone(),
        }
    }
}

/// A stack of a cluster's namespace.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Candidate<'a> {
    pub(super) name: &'a str,
    pub(super) created: Option<Timestamp>,
    pub(super) spec: &'a StackSpecView,
}

/// Whether a stack selects a cluster with these labels and of this class. One without selector and classes selects none.
pub(super) fn selects(stack: &StackSpecView, labels: &BTreeMap<String, String>, class: Option<&str>) -> bool {
    let StackSpecView {
        cluster_selector,
        class_names,
    } = stack;
    if cluster_selector.is_none() && class_names.is_empty() {
        return false;
    }
    let by_label = cluster_selector
        .as_ref()
        .is_none_or(|selector| selector.matches(labels));
    let by_class =
        class_names.is_empty() || class.is_some_and(|class| class_names.iter().any(|one| one == class));
    by_label && by_class
}

/// The stack that a cluster belongs to: of those that select it the oldest one; of equally old ones the first by name.
pub(super) fn winner<'a>(
    stacks: impl IntoIterator<Item = Candidate<'a>>,
    labels: &BTreeMap<String, String>,
    class: Option<&str>,
) -> Option<&'a str> {
    let selecting = stacks
        .into_iter()
        .filter(|stack| selects(stack.spec, labels, class));
    let oldest = selecting.min_by_key(|stack| (stack.created, stack.name));
    oldest.map(|stack| stack.name)
}

/// A cluster that a stack selects.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct SelectedCluster<'a> {
    pub(super) name: &'a str,
    /// Which stack it belongs to.
    pub(super) winner: &'a str,
    /// Its addon, if it has one.
    pub(super) addon: Option<AddonState<'a>>,
}

/// An addon as the watch has delivered it.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct AddonState<'a> {
    /// Whether the cluster owns it; another object of that name is not touched.
    pub(super) is_owned: bool,
    pub(super) is_deleting: bool,
    pub(super) spec: &'a ClusterAddonSpec,
    /// Whether its spec is applied completely.
    pub(super) is_ready: bool,
    /// Whether its cluster can't be reached.
    pub(super) is_unreachable: bool,
}

/// What a stack does next.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Plan {
    /// The clusters that get an addon.
    pub(super) create: Vec<String>,
    /// The clusters whose addon gets another spec.
    pub(super) update: Vec<String>,
    /// The clusters whose addon would be updated, but for the update policy.
    pub(super) waiting: Vec<String>,
    /// The clusters that an older stack selects, too, and that stack.
    pub(super) conflicting: Vec<(String, String)>,
    /// The clusters with an object of their addon's name that isn't theirs.
    pub(super) taken: Vec<String>,
    pub(super) counts: ClusterCounts,
}

/// Decides what becomes of the clusters that a stack selects. `desired` is an addon's spec for a cluster's name.
///
/// A cluster that can't be reached doesn't count as unavailable: the rollout would wait for it for ever.
pub(super) fn plan(
    stack: &str,
    clusters: &[SelectedCluster<'_>],
    desired: impl Fn(&str) -> ClusterAddonSpec,
    policy: &UpdatePolicy,
) -> Plan {
    let mut plan = Plan::default();
    let mut outdated = Vec::new();
    let mut unavailable = 0usize;
    for cluster in clusters {
        let name = cluster.name.to_owned();
        if cluster.winner != stack {
            plan.conflicting.push((name, cluster.winner.to_owned()));
            plan.counts.conflicting += 1;
            continue;
        }
        plan.counts.selected += 1;
        let Some(addon) = &cluster.addon else {
            plan.create.push(name);
            continue;
        };
        if !addon.is_owned {
            plan.taken.push(name);
            continue;
        }
        // It comes again when it is gone.
        if addon.is_deleting {
            continue;
        }
        unavailable += usize::from(!addon.is_ready && !addon.is_unreachable);
        if *addon.spec == desired(cluster.name) {
            plan.counts.up_to_date += 1;
            plan.counts.ready += i32::from(addon.is_ready);
        } else {
            outdated.push((cluster, addon));
        }
    }
    let limit = policy
        .max_unavailable
        .and_then(|limit| usize::try_from(limit).ok());
    // One that isn't available already makes no more of them unavailable.
    outdated.sort_by_key(|(_, addon)| addon.is_ready);
    for (cluster, addon) in outdated {
        let is_taken_over = addon.spec.stack_ref.name != stack;
        let is_free = !addon.is_ready || limit.is_none_or(|limit| unavailable < limit);
        if (policy.paused && !is_taken_over) || !is_free {
            plan.waiting.push(cluster.name.to_owned());
            continue;
        }
        unavailable += usize::from(addon.is_ready);
        plan.update.push(cluster.name.to_owned());
    }
    plan
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::api::LocalReference;
    use crate::api::cluster_addons::PinnedChart;
    use serde_json::json;

    fn stack(spec: serde_json::Value) -> StackSpecView {
        serde_json::from_value(spec).expect("a spec")
    }

    fn labels(pairs: &[(&str, &str)]) -> BTreeMap<String, String> {
        let pairs = pairs.iter();
        pairs
            .map(|(key, value)| ((*key).to_owned(), (*value).to_owned()))
            .collect()
    }

    /// Other systems give every cluster what it hasn't asked for.
    #[test]
    fn a_cluster_is_selected_by_labels_and_class() {
        let table = [
            (json!({}), [false, false, false]),
            (json!({"classNames": []}), [false, false, false]),
            (json!({"clusterSelector": {}}), [true, true, true]),
            (
                json!({"clusterSelector": {"matchLabels": {"cni": "on"}}}),
                [false, true, true],
            ),
            (json!({"classNames": ["small"]}), [false, false, true]),
            (
                json!({"clusterSelector": {"matchLabels": {"cni": "on"}}, "classNames": ["large"]}),
                [false, false, false],
            ),
            (
                json!({"clusterSelector": {"matchLabels": {"cni": "on"}}, "classNames": ["large", "small"]}),
                [false, false, true],
            ),
        ];
        let clusters = [
            (labels(&[]), None),
            (labels(&[("cni", "on")]), None),
            (labels(&[("cni", "on")]), Some("small")),
        ];
        for (spec, expected) in table {
            let spec = stack(spec);
            let found: Vec<bool> = clusters
                .iter()
                .map(|(labels, class)| selects(&spec, labels, *class))
                .collect();
            assert_eq!(found, expected, "{spec:?}");
        }
    }

    #[test]
    fn of_two_stacks_the_older_one_wins() {
        let all = stack(json!({"clusterSelector": {}}));
        let none = stack(json!({"classNames": ["other"]}));
        let at = |second| Timestamp::from_second(second).ok();
        let one = |name, created, spec| Candidate { name, created, spec };
        let table = [
            (vec![], None),
            (vec![one("a", at(1), &none)], None),
            (vec![one("a", at(2), &all), one("b", at(1), &all)], Some("b")),
            (vec![one("b", at(1), &all), one("a", at(1), &all)], Some("a")),
            (vec![one("a", at(1), &none), one("b", at(2), &all)], Some("b")),
        ];
        for (stacks, expected) in table {
            assert_eq!(winner(stacks.clone(), &labels(&[]), None), expected, "{stacks:?}");
        }
    }

    fn spec(cluster: &str, stack: &str, digest: &str) -> ClusterAddonSpec {
        ClusterAddonSpec {
            cluster_ref: LocalReference {
                name: cluster.to_owned(),
            },
            stack_ref: LocalReference {
                name: stack.to_owned(),
            },
            chart: PinnedChart {
                digest: digest.to_owned(),
                ..PinnedChart::default()
            },
            values_hash: String::new(),
            stages: Vec::new(),
            prune: true,
        }
    }

    /// Name, digest of the addon (none without one), ready, unreachable.
    type Row = (&'static str, Option<&'static str>, bool, bool);

    fn planned(rows: &[Row], max: Option<i32>, paused: bool) -> Plan {
        let specs: Vec<_> = rows
            .iter()
            .map(|(name, digest, ..)| digest.map(|digest| spec(name, "mine", digest)))
            .collect();
        let clusters: Vec<_> = rows
            .iter()
            .zip(&specs)
            .map(|((name, _, is_ready, is_unreachable), spec)| SelectedCluster {
                name,
                winner: "mine",
                addon: spec.as_ref().map(|spec| AddonState {
                    is_owned: true,
                    is_deleting: false,
                    spec,
                    is_ready: *is_ready,
                    is_unreachable: *is_unreachable,
                }),
            })
            .collect();
        let policy = UpdatePolicy {
            max_unavailable: max,
            paused,
        };
        plan("mine", &clusters, |name| spec(name, "mine", "new"), &policy)
    }

    #[test]
    fn a_change_reaches_as_many_clusters_as_may_be_unavailable() {
        let rows: [Row; 5] = [
            ("a", Some("new"), true, false),
            ("b", Some("old"), true, false),
            ("c", Some("old"), true, false),
            ("d", Some("old"), false, true),
            ("e", None, false, false),
        ];
        let names = |plan: &Plan| (plan.create.join(""), plan.update.join(""), plan.waiting.join(""));
        let text = |one: &str, two: &str, three: &str| (one.to_owned(), two.to_owned(), three.to_owned());
        assert_eq!(names(&planned(&rows, None, false)), text("e", "dbc", ""));
        assert_eq!(names(&planned(&rows, Some(1), false)), text("e", "db", "c"));
        assert_eq!(names(&planned(&rows, None, true)), text("e", "", "dbc"));
        let mut busy = rows;
        busy[0].2 = false;
        assert_eq!(names(&planned(&busy, Some(1), false)), text("e", "d", "bc"));
        let counts = planned(&rows, None, false).counts;
        assert_eq!((counts.selected, counts.up_to_date, counts.ready), (5, 1, 1));
    }

    #[test]
    fn objects_of_others_are_not_touched_and_conflicts_are_named() {
        let foreign = spec("a", "mine", "old");
        let addon = |is_owned, is_deleting| AddonState {
            is_owned,
            is_deleting,
            spec: &foreign,
            is_ready: true,
            is_unreachable: false,
        };
        let cluster = |name, winner, addon| SelectedCluster { name, winner, addon };
        let clusters = [
            cluster("a", "mine", Some(addon(false, false))),
            cluster("b", "mine", Some(addon(true, true))),
            cluster("c", "older", None),
        ];
        let plan = plan(
            "mine",
            &clusters,
            |name| spec(name, "mine", "new"),
            &UpdatePolicy::default(),
        );
        assert_eq!(plan.taken, ["a"]);
        assert_eq!(plan.conflicting, [("c".to_owned(), "older".to_owned())]);
        assert!(plan.create.is_empty() && plan.update.is_empty() && plan.waiting.is_empty());
    }
}
