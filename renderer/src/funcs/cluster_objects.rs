//! What `lookup` finds when a test provides objects: [`ClusterObjects`].

use std::collections::BTreeMap;

use crate::value::{Map, Value};

/// The objects of a cluster that exists in a test only.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ClusterObjects {
    /// By apiVersion and kind, then by namespace and name.
    kinds: BTreeMap<(String, String), BTreeMap<(String, String), Map>>,
}

impl ClusterObjects {
    /// The objects of a list. Of several with the same kind, namespace and name the last one counts.
    pub fn new<'o>(objects: impl IntoIterator<Item = &'o Map>) -> Self {
        let mut kinds: BTreeMap<_, BTreeMap<_, _>> = BTreeMap::new();
        for object in objects {
            let metadata = object.get("metadata").and_then(Value::as_map);
            let of_metadata = |key: &str| text(metadata.and_then(|metadata| metadata.get(key)));
            kinds
                .entry((text(object.get("apiVersion")), text(object.get("kind"))))
                .or_default()
                .insert((of_metadata("namespace"), of_metadata("name")), object.clone());
        }
        Self { kinds }
    }

    /// The object with a name; the list of all if the name is empty, of all namespaces if the namespace is empty, too.
    /// An empty map if there is none. Objects without a namespace are found in each.
    pub(crate) fn find(&self, api_version: &str, kind: &str, namespace: &str, name: &str) -> Map {
        let key = (api_version.to_owned(), kind.to_owned());
        let Some(objects) = self.kinds.get(&key) else {
            return Map::default();
        };
        if !name.is_empty() {
            let places = [namespace, ""].map(|namespace| (namespace.to_owned(), name.to_owned()));
            let found = places.iter().find_map(|place| objects.get(place));
            return found.cloned().unwrap_or_default();
        }
        let is_in = |place: &str| namespace.is_empty() || place.is_empty() || place == namespace;
        let items = objects.iter().filter(|((place, _), _)| is_in(place));
        let metadata = [
            ("continue", Value::from("")),
            ("resourceVersion", Value::from((objects.len() + 1).to_string())),
        ];
        let list = [
            ("apiVersion", Value::from(api_version)),
            ("kind", Value::from(format!("{kind}List"))),
            ("metadata", Value::Map(metadata.into_iter().collect())),
            (
                "items",
                Value::List(items.map(|(_, object)| Value::Map(object.clone())).collect()),
            ),
        ];
        list.into_iter().collect()
    }
}

fn text(value: Option<&Value>) -> String {
    value.and_then(Value::as_str).unwrap_or_default().to_owned()
}
