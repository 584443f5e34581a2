//! Label selectors, as Kubernetes has them.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Which labels an object must have: all that is said must hold, so an empty selector matches every object.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct LabelSelector {
    /// Labels with exactly these values.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    #[schemars(extend("maxProperties" = 64, "additionalProperties" = {"type": "string", "maxLength": 63}))]
    pub match_labels: BTreeMap<String, String>,
    /// Conditions on labels.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 64), extend("x-kubernetes-list-type" = "atomic"))]
    pub match_expressions: Vec<Requirement>,
}

/// A condition on one label.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(extend("x-kubernetes-validations" = [{
    "rule": "self.operator in ['In', 'NotIn'] ? has(self.values) && size(self.values) > 0 : !has(self.values) || size(self.values) == 0",
    "message": "In and NotIn require values, Exists and DoesNotExist take none",
}]))]
pub struct Requirement {
    /// The label's key.
    #[schemars(length(min = 1, max = 317))]
    pub key: String,
    /// How the label's value relates to `values`.
    pub operator: Operator,
    /// The values of In and NotIn.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(
        length(max = 64),
        inner(length(max = 63)),
        extend("x-kubernetes-list-type" = "atomic")
    )]
    pub values: Vec<String>,
}

/// How a label's value relates to the values of a condition.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum Operator {
    /// The label is there, with one of the values.
    In,
    /// The label is absent, or has none of the values.
    NotIn,
    /// The label is there.
    Exists,
    /// The label is absent.
    DoesNotExist,
}

impl LabelSelector {
    /// Whether the selector matches these labels.
    pub fn matches(&self, labels: &BTreeMap<String, String>) -> bool {
        let Self {
            match_labels,
            match_expressions,
        } = self;
        match_labels
            .iter()
            .all(|(key, value)| labels.get(key) == Some(value))
            && match_expressions
                .iter()
                .all(|requirement| requirement.matches(labels))
    }

    /// The labels that a selected object must have, by which an index finds it: of each group, which is never empty,
    /// one key with its value. Other conditions, such as `NotIn`, are in none of them.
    pub fn required(&self) -> Vec<Vec<(&str, &str)>> {
        let exact = self.match_labels.iter();
        let exact = exact.map(|(key, value)| vec![(key.as_str(), value.as_str())]);
        let listed = self.match_expressions.iter();
        let listed = listed.filter(|one| one.operator == Operator::In && !one.values.is_empty());
        let listed = listed.map(|one| {
            let values = one.values.iter();
            values.map(|value| (one.key.as_str(), value.as_str())).collect()
        });
        exact.chain(listed).collect()
    }
}

impl Requirement {
    fn matches(&self, labels: &BTreeMap<String, String>) -> bool {
        let Self {
            key,
            operator,
            values,
        } = self;
        let value = labels.get(key);
        let is_listed = value.is_some_and(|value| values.contains(value));
        match operator {
            Operator::In => is_listed,
            Operator::NotIn => !is_listed,
            Operator::Exists => value.is_some(),
            Operator::DoesNotExist => value.is_none(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn labels(pairs: &[(&str, &str)]) -> BTreeMap<String, String> {
        let pairs = pairs.iter().copied();
        pairs
            .map(|(key, value)| (key.to_owned(), value.to_owned()))
            .collect()
    }

    #[test]
    fn a_selector_matches_as_kubernetes_has_it() {
        let one = |key: &str, operator: &str, values: &[&str]| json!({"matchExpressions": [{"key": key, "operator": operator, "values": values}]});
        // Selector, and whether it matches {}, {env: prod}, {env: test, region: eu}.
        let table = [
            (json!({}), [true, true, true]),
            (json!({"matchLabels": {"env": "prod"}}), [false, true, false]),
            (
                json!({"matchLabels": {"env": "test", "region": "eu"}}),
                [false, false, true],
            ),
            (one("env", "In", &["prod", "test"]), [false, true, true]),
            (one("env", "In", &["prod"]), [false, true, false]),
            // As in Kubernetes, an absent label is not in any set.
            (one("env", "NotIn", &["prod"]), [true, false, true]),
            (one("env", "Exists", &[]), [false, true, true]),
            (one("region", "DoesNotExist", &[]), [true, true, false]),
            (
                json!({"matchLabels": {"env": "test"},
                    "matchExpressions": [{"key": "region", "operator": "NotIn", "values": ["eu"]}]}),
                [false, false, false],
            ),
        ];
        let objects = [
            labels(&[]),
            labels(&[("env", "prod")]),
            labels(&[("env", "test"), ("region", "eu")]),
        ];
        for (selector, expected) in table {
            let parsed: LabelSelector = serde_json::from_value(selector.clone()).expect("a selector");
            let found: Vec<bool> = objects.iter().map(|labels| parsed.matches(labels)).collect();
            assert_eq!(found, expected, "{selector}");
            // What an index of labels leaves out is never selected.
            for (labels, matches) in objects.iter().zip(found) {
                let has = |(key, value): &(&str, &str)| labels.get(*key).is_some_and(|has| has == value);
                let required = parsed.required();
                assert!(
                    !matches || required.iter().all(|group| group.iter().any(has)),
                    "{selector}"
                );
            }
        }
        let both = json!({"matchLabels": {"a": "1"},
            "matchExpressions": [{"key": "b", "operator": "In", "values": ["2", "3"]}]});
        let both: LabelSelector = serde_json::from_value(both).expect("a selector");
        assert_eq!(both.required(), [vec![("a", "1")], vec![("b", "2"), ("b", "3")]]);
    }
}
