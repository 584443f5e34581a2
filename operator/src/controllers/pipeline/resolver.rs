//! Which of the Releases that are bound to a Target it gets.
//!
//! Among Releases with the same unique name, the one with the highest priority, then with the smallest binding. Of
//! these, in the same order, each one that no accepted Release excludes and that excludes no accepted one. The result
//! depends on the set of bindings, not on their order.

use std::collections::BTreeMap;
use std::fmt;

use crate::api::pipeline::{ComponentVersionSpec, LabelSelector, ObjectKey, ReleaseSpec};

/// A Release that is bound to the Target.
#[derive(Debug, Clone, PartialEq)]
pub struct Candidate {
    /// The ReleaseBinding.
    pub binding: ObjectKey,
    /// The Release.
    pub release: ObjectKey,
    /// Its effective unique name.
    pub unique_name: String,
    /// Its priority.
    pub priority: i32,
    /// Its labels.
    pub labels: BTreeMap<String, String>,
    /// Which other Releases it excludes.
    pub anti_affinity: Option<LabelSelector>,
}

/// The Releases of a Target.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Resolution {
    /// The accepted Releases, by unique name.
    pub accepted: BTreeMap<String, Candidate>,
    /// The filtered ones, by binding.
    pub filtered: BTreeMap<ObjectKey, Filtered>,
}

/// A Release that is filtered.
#[derive(Debug, Clone, PartialEq)]
pub struct Filtered {
    /// The Release.
    pub candidate: Candidate,
    /// The cause.
    pub cause: Cause,
}

/// Why a Release is filtered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Cause {
    /// Another Release has the same unique name.
    UniqueName {
        /// That Release.
        by: ObjectKey,
        /// Its binding.
        binding: ObjectKey,
        /// Its priority.
        priority: i32,
    },
    /// An accepted Release and this one exclude each other.
    AntiAffinity {
        /// The accepted Release.
        with: ObjectKey,
        /// Whether the selector is that of the accepted Release.
        is_theirs: bool,
    },
}

/// `uniqueName`, or the Component's name by default.
pub fn effective_unique_name<'a>(release: &'a ReleaseSpec, version: &'a ComponentVersionSpec) -> &'a str {
    if release.unique_name.is_empty() {
        &version.component_ref.name
    } else {
        &release.unique_name
    }
}

/// Chooses the Releases of a Target from the candidates.
pub fn resolve(mut candidates: Vec<Candidate>) -> Resolution {
    candidates.sort_by(|one, other| {
        let by_priority = other.priority.cmp(&one.priority);
        by_priority.then_with(|| one.binding.cmp(&other.binding))
    });
    let mut filtered = BTreeMap::new();
    let mut winners: Vec<Candidate> = Vec::new();
    for candidate in candidates {
        let first = winners
            .iter()
            .find(|winner| winner.unique_name == candidate.unique_name);
        match first {
            None => winners.push(candidate),
            Some(winner) => {
                let cause = Cause::UniqueName {
                    by: winner.release.clone(),
                    binding: winner.binding.clone(),
                    priority: winner.priority,
                };
                filtered.insert(candidate.binding.clone(), Filtered { candidate, cause });
            }
        }
    }
    let mut accepted: Vec<Candidate> = Vec::new();
    for candidate in winners {
        match accepted.iter().find_map(|other| exclusion(other, &candidate)) {
            None => accepted.push(candidate),
            Some(cause) => {
                filtered.insert(candidate.binding.clone(), Filtered { candidate, cause });
            }
        }
    }
    let accepted = accepted.into_iter();
    Resolution {
        accepted: accepted
            .map(|candidate| (candidate.unique_name.clone(), candidate))
            .collect(),
        filtered,
    }
}

/// Whether an accepted Release and a candidate exclude each other, and why.
fn exclusion(accepted: &Candidate, candidate: &Candidate) -> Option<Cause> {
    let excludes = |one: &Candidate, other: &Candidate| {
        let selector = one.anti_affinity.as_ref();
        selector.is_some_and(|selector| selector.matches(&other.labels))
    };
    let is_theirs = excludes(accepted, candidate);
    (is_theirs || excludes(candidate, accepted)).then(|| Cause::AntiAffinity {
        with: accepted.release.clone(),
        is_theirs,
    })
}

impl fmt::Display for Filtered {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { candidate, cause } = self;
        let Candidate {
            binding,
            release,
            unique_name,
            ..
        } = candidate;
        write!(f, "Release {release} (binding {binding}): ")?;
        match cause {
            Cause::UniqueName {
                by,
                binding,
                priority: _,
            } if by == release => {
                write!(f, "already bound by {binding}")
            }
            Cause::UniqueName { by, priority, .. } => {
                write!(
                    f,
                    "unique name {unique_name} is taken by Release {by} with priority {priority}"
                )
            }
            Cause::AntiAffinity {
                with,
                is_theirs: true,
            } => write!(f, "excluded by the antiAffinity of Release {with}"),
            Cause::AntiAffinity {
                with,
                is_theirs: false,
            } => {
                write!(f, "its antiAffinity excludes Release {with}")
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Binding, release, unique name, priority, labels, antiAffinity's matchLabels.
    type Row<'a> = (&'a str, &'a str, &'a str, i32, &'a str, Option<&'a str>);

    fn labels(text: &str) -> BTreeMap<String, String> {
        text.split(',')
            .filter_map(|pair| pair.split_once('='))
            .map(|(key, value)| (key.into(), value.into()))
            .collect()
    }

    fn candidate((binding, release, unique_name, priority, own, excludes): Row<'_>) -> Candidate {
        Candidate {
            binding: ObjectKey::new("ns", binding),
            release: ObjectKey::new("ns", release),
            unique_name: unique_name.into(),
            priority,
            labels: labels(own),
            anti_affinity: excludes.map(|text| LabelSelector {
                match_labels: labels(text),
                match_expressions: Vec::new(),
            }),
        }
    }

    fn outcome(rows: &[Row<'_>]) -> (Vec<String>, Vec<String>) {
        let resolution = resolve(rows.iter().copied().map(candidate).collect());
        let accepted = resolution
            .accepted
            .values()
            .map(|one| one.release.name.clone())
            .collect();
        let filtered = resolution.filtered.values().map(ToString::to_string).collect();
        (accepted, filtered)
    }

    #[test]
    fn one_release_for_each_unique_name_by_priority_then_binding() {
        let table: [(&[Row<'_>], &[&str], &[&str]); 4] = [
            (
                &[("b1", "r1", "x", 0, "", None), ("b2", "r2", "y", 0, "", None)],
                &["r1", "r2"],
                &[],
            ),
            (
                &[("b1", "r1", "x", 0, "", None), ("b2", "r2", "x", 5, "", None)],
                &["r2"],
                &["Release ns/r1 (binding ns/b1): unique name x is taken by Release ns/r2 with priority 5"],
            ),
            (
                &[("b2", "r2", "x", 3, "", None), ("b1", "r1", "x", 3, "", None)],
                &["r1"],
                &["Release ns/r2 (binding ns/b2): unique name x is taken by Release ns/r1 with priority 3"],
            ),
            (
                &[("b2", "r", "x", -1, "", None), ("b1", "r", "x", -1, "", None)],
                &["r"],
                &["Release ns/r (binding ns/b2): already bound by ns/b1"],
            ),
        ];
        for (rows, accepted, filtered) in table {
            let found = outcome(rows);
            assert_eq!(found.0, accepted, "{rows:?}");
            assert_eq!(found.1, filtered, "{rows:?}");
        }
    }

    #[test]
    fn anti_affinity_counts_in_both_directions_in_the_order_of_priority() {
        let table: [(&[Row<'_>], &[&str], &[&str]); 4] = [
            // The accepted Release excludes the candidate.
            (
                &[
                    ("b1", "r1", "x", 5, "", Some("t=db")),
                    ("b2", "r2", "y", 0, "t=db", None),
                ],
                &["r1"],
                &["Release ns/r2 (binding ns/b2): excluded by the antiAffinity of Release ns/r1"],
            ),
            // The candidate excludes an accepted one: the higher priority is kept.
            (
                &[
                    ("b1", "r1", "x", 0, "", Some("t=db")),
                    ("b2", "r2", "y", 5, "t=db", None),
                ],
                &["r2"],
                &["Release ns/r1 (binding ns/b1): its antiAffinity excludes Release ns/r2"],
            ),
            // A filtered Release excludes nothing.
            (
                &[
                    ("b1", "r1", "x", 9, "t=a", None),
                    ("b2", "r2", "y", 5, "t=b", Some("t=a")),
                    ("b3", "r3", "z", 1, "", Some("t=b")),
                ],
                &["r1", "r3"],
                &["Release ns/r2 (binding ns/b2): its antiAffinity excludes Release ns/r1"],
            ),
            // It does not exclude itself, and a loser by name excludes nothing.
            (
                &[
                    ("b1", "r1", "x", 9, "t=a", Some("t=a")),
                    ("b2", "r2", "x", 1, "", Some("t=c")),
                    ("b3", "r3", "z", 0, "t=c", None),
                ],
                &["r1", "r3"],
                &["Release ns/r2 (binding ns/b2): unique name x is taken by Release ns/r1 with priority 9"],
            ),
        ];
        for (rows, accepted, filtered) in table {
            let found = outcome(rows);
            assert_eq!(found.0, accepted, "{rows:?}");
            assert_eq!(found.1, filtered, "{rows:?}");
        }
    }

    /// Two namespaces once could not both have a Release `shop`: the key was only the Release's name.
    #[test]
    fn releases_of_the_same_name_in_two_namespaces_are_distinct() {
        let one = |namespace: &str| Candidate {
            binding: ObjectKey::new(namespace, "b"),
            release: ObjectKey::new(namespace, "shop"),
            unique_name: format!("shop-{namespace}"),
            ..candidate(("b", "shop", "", 0, "", None))
        };
        let resolution = resolve(vec![one("a"), one("b")]);
        assert_eq!(resolution.accepted.len(), 2);
        assert!(resolution.filtered.is_empty());
    }

    fn arbitrary() -> impl Strategy<Value = Vec<Candidate>> {
        let one = ("[xyz]", -1..2_i32, "(t=[ab])?", proptest::option::of("(t=[ab])?"));
        proptest::collection::vec(one, 0..10).prop_map(|rows| {
            let rows = rows.into_iter().enumerate();
            rows.map(|(index, (unique, priority, own, excludes))| {
                let name = format!("b{index}");
                candidate((&name, &name, &unique, priority, &own, excludes.as_deref()))
            })
            .collect()
        })
    }

    proptest! {
        #[test]
        fn the_order_of_the_input_does_not_matter(
            (candidates, shuffled) in arbitrary().prop_flat_map(|all| (Just(all.clone()), Just(all).prop_shuffle())),
        ) {
            prop_assert_eq!(resolve(candidates), resolve(shuffled));
        }

        #[test]
        fn nothing_is_lost_and_no_two_accepted_exclude_each_other(candidates in arbitrary()) {
            let count = candidates.len();
            let resolution = resolve(candidates);
            prop_assert_eq!(resolution.accepted.len() + resolution.filtered.len(), count);
            for one in resolution.accepted.values() {
                for other in resolution.accepted.values() {
                    prop_assert!(one.release == other.release || exclusion(one, other).is_none());
                }
            }
        }
    }
}
