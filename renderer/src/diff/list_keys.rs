//! What identifies the items of a list: Kubernetes' merge keys, and fields that do so by their name.

use std::collections::{BTreeMap, BTreeSet};

use crate::value::{Map, Value};

/// A field of the items, and its value where it is not set; absent if it has to be set.
type KeyField = (&'static str, Option<&'static str>);

const NAME: &[KeyField] = &[("name", None)];

/// The keys of Kubernetes' lists, by the field that holds the list: the first that all items have. Two items may have the
/// same key. `rules` and `groups` are also those of Prometheus.
const LISTS: &[(&str, &[&[KeyField]])] = &[
    ("conditions", &[&[("type", None)]]),
    ("containers", &[NAME]),
    ("endpoints", &[NAME, &[("port", None), ("path", Some(""))]]),
    ("env", &[NAME]),
    ("ephemeralContainers", &[NAME]),
    ("groups", &[NAME]),
    ("hostAliases", &[&[("ip", None)]]),
    ("imagePullSecrets", &[NAME]),
    ("initContainers", &[NAME]),
    ("ownerReferences", &[&[("uid", None)]]),
    ("paths", &[&[("path", None), ("pathType", Some(""))]]),
    (
        "ports",
        &[
            NAME,
            &[("containerPort", None), ("protocol", Some("TCP"))],
            &[("port", None), ("protocol", Some("TCP"))],
        ],
    ),
    (
        "rules",
        &[&[("alert", None)], &[("record", None)], &[("host", None)]],
    ),
    (
        "subjects",
        &[&[("kind", None), ("namespace", Some("")), ("name", None)]],
    ),
    ("taints", &[&[("key", None), ("effect", Some(""))]]),
    ("tls", &[&[("secretName", None)]]),
    (
        "topologySpreadConstraints",
        &[&[("topologyKey", None), ("whenUnsatisfiable", Some(""))]],
    ),
    ("versions", &[NAME]),
    ("volumeDevices", &[&[("devicePath", None)]]),
    ("volumeMounts", &[&[("mountPath", None)]]),
    ("volumes", &[NAME]),
    ("webhooks", &[NAME]),
];
/// The keys of any other list, if no two items have the same.
const ANY: &[&[KeyField]] = &[NAME, &[("key", None)], &[("id", None)]];

/// The items of two lists by what identifies them.
pub(super) struct KeyedItems {
    fields: &'static [KeyField],
    pub(super) from: Vec<String>,
    pub(super) to: Vec<String>,
}

impl KeyedItems {
    /// The items of two lists in a field of this name; none where only their positions identify them.
    pub(super) fn of(list: &str, from: &[Value], to: &[Value]) -> Option<Self> {
        let known = LISTS.iter().find(|(name, _)| *name == list);
        let (_, keys) = known.unwrap_or(&("", &[]));
        let of_list = keys.iter().find_map(|fields| Self::by(fields, from, to));
        of_list.map(Self::with_ordinals).or_else(|| {
            let mut any = ANY.iter().filter_map(|fields| Self::by(fields, from, to));
            any.find(Self::is_unique)
        })
    }

    fn by(fields: &'static [KeyField], from: &[Value], to: &[Value]) -> Option<Self> {
        let labels = |items: &[Value]| items.iter().map(|item| label(item, fields)).collect();
        let (from, to): (Option<Vec<String>>, Option<Vec<String>>) = (labels(from), labels(to));
        let (from, to) = (from?, to?);
        Some(Self { fields, from, to })
    }

    fn is_unique(&self) -> bool {
        [&self.from, &self.to]
            .iter()
            .all(|labels| labels.iter().collect::<BTreeSet<_>>().len() == labels.len())
    }

    /// Tells items with the same key apart: the second is `web (2)`.
    fn with_ordinals(mut self) -> Self {
        for labels in [&mut self.from, &mut self.to] {
            let mut counts: BTreeMap<String, usize> = BTreeMap::new();
            for label in labels.iter_mut() {
                let count = counts.entry(label.clone()).or_default();
                *count += 1;
                if *count > 1 {
                    *label = format!("{label} ({count})");
                }
            }
        }
        self
    }

    /// An item without what identifies it.
    pub(super) fn rest(&self, item: &Value) -> Value {
        let Value::Map(map) = item else {
            return item.clone();
        };
        let is_key = |key: &str| self.fields.iter().any(|(field, _)| *field == key);
        let rest = map.iter().filter(|(key, _)| !is_key(key));
        Value::Map(
            rest.map(|(key, value)| (key.clone(), value.clone()))
                .collect::<Map>(),
        )
    }
}

/// What identifies an item: `web`, `containerPort=80,protocol=TCP`. Values that are not set are left out.
fn label(item: &Value, fields: &[KeyField]) -> Option<String> {
    let Value::Map(map) = item else { return None };
    let mut parts = Vec::new();
    for (field, default) in fields {
        let text = match (map.get(field), default) {
            (Some(Value::String(text)), _) => text.clone(),
            (Some(Value::Number(number)), _) => number.to_string(),
            (Some(Value::Bool(value)), _) => value.to_string(),
            (None | Some(Value::Null), Some(default)) => (*default).to_owned(),
            _ => return None,
        };
        match *field {
            "name" if fields.len() == 1 => parts.push(text),
            _ if default.is_some_and(|default| default == text) => {}
            field => parts.push(format!("{field}={text}")),
        }
    }
    Some(parts.join(","))
}
