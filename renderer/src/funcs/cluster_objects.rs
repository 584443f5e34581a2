//! What `lookup` finds where objects are given, by files or by a test: [`ClusterObjects`].

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::sync::Arc;

use crate::value::{Map, Value};

/// The objects of a cluster that exists in files or in a test only.
#[derive(Clone, Default)]
pub struct ClusterObjects {
    /// By API version, then by kind.
    kinds: BTreeMap<String, BTreeMap<String, ObjectsOfKind>>,
    /// The objects that are found where these have none of that namespace and name.
    base: Option<Arc<ClusterObjects>>,
    /// The API versions that the cluster serves, if lists are to be those of an API server.
    served: Option<BTreeSet<String>>,
}

/// In the order in which an API server lists them.
type ObjectsOfKind = BTreeMap<ObjectKey, Map>;

/// Namespace and name of an object.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct ObjectKey {
    /// `namespace/name`, or the name: the end of its key in etcd, whose order lists have. So `a-b/x` is before `a/x`.
    path: String,
    /// Its length; 0 if there is none.
    namespace: usize,
}

impl ObjectKey {
    fn new(namespace: &str, name: &str) -> Self {
        Self {
            path: match namespace.is_empty() {
                true => name.to_owned(),
                false => format!("{namespace}/{name}"),
            },
            namespace: namespace.len(),
        }
    }

    fn of(object: &Map) -> Self {
        let metadata = object.get("metadata").and_then(Value::as_map);
        let of_metadata = |key: &str| text(metadata.and_then(|metadata| metadata.get(key)));
        Self::new(of_metadata("namespace"), of_metadata("name"))
    }

    fn namespace(&self) -> &str {
        self.path.get(..self.namespace).unwrap_or_default()
    }
}

impl ClusterObjects {
    /// The objects of a test. Of several with the same kind, namespace and name the last one counts. Lists are those of
    /// helm-unittest: an empty map for kinds without an object.
    pub fn new<'o>(objects: impl IntoIterator<Item = &'o Map>) -> Self {
        let mut all = Self::default();
        for object in objects {
            all.insert(object.clone());
        }
        all
    }

    /// The objects of a cluster that serves these API versions. Lists are those of an API server: they exist without an
    /// object, too, if the kind's API version is served or has objects.
    pub fn of_cluster(
        objects: impl IntoIterator<Item = Map>,
        served: impl IntoIterator<Item = String>,
    ) -> Self {
        let mut all = Self {
            served: Some(served.into_iter().collect()),
            ..Self::default()
        };
        for object in objects {
            all.insert(object);
        }
        all
    }

    /// These objects and those of `base` with other names. Lists are those of `base`.
    #[must_use]
    pub fn over(mut self, base: &Arc<Self>) -> Self {
        self.served.clone_from(&base.served);
        self.base = Some(Arc::clone(base));
        self
    }

    fn insert(&mut self, object: Map) {
        let of_kind = self
            .kinds
            .entry(text(object.get("apiVersion")).to_owned())
            .or_default()
            .entry(text(object.get("kind")).to_owned())
            .or_default();
        of_kind.insert(ObjectKey::of(&object), object);
    }

    fn of_kind(&self, api_version: &str, kind: &str) -> Option<&ObjectsOfKind> {
        self.kinds.get(api_version)?.get(kind)
    }

    /// The objects, then those of the base, and so on.
    fn layers(&self) -> impl Iterator<Item = &Self> {
        std::iter::successors(Some(self), |one| one.base.as_deref())
    }

    /// The object with a name; the list of all if the name is empty, of all namespaces if the namespace is empty, too.
    /// An empty map if there is none. Objects without a namespace are found in each.
    pub(crate) fn find(&self, api_version: &str, kind: &str, namespace: &str, name: &str) -> Map {
        if name.is_empty() {
            return self.list(api_version, kind, namespace);
        }
        let keys = [namespace, ""].map(|namespace| ObjectKey::new(namespace, name));
        let mut layers = self.layers().filter_map(|one| one.of_kind(api_version, kind));
        let found = layers.find_map(|objects| keys.iter().find_map(|key| objects.get(key)));
        found.cloned().unwrap_or_default()
    }

    fn list(&self, api_version: &str, kind: &str, namespace: &str) -> Map {
        let mut all: BTreeMap<&ObjectKey, &Map> = BTreeMap::new();
        for objects in self.layers().filter_map(|one| one.of_kind(api_version, kind)) {
            for (key, object) in objects {
                all.entry(key).or_insert(object);
            }
        }
        let serves = |served: &BTreeSet<String>| {
            served.contains(api_version) || self.layers().any(|one| one.kinds.contains_key(api_version))
        };
        if all.is_empty() && !self.served.as_ref().is_some_and(serves) {
            return Map::default();
        }
        let metadata: Map = match self.served {
            // As kubectl prints lists: those of an API server have its number of the moment.
            Some(_) => [("resourceVersion", Value::from(""))].into_iter().collect(),
            None => {
                let version = (all.len() + 1).to_string();
                let both = [
                    ("continue", Value::from("")),
                    ("resourceVersion", Value::from(version)),
                ];
                both.into_iter().collect()
            }
        };
        let is_in = |place: &str| namespace.is_empty() || place.is_empty() || place == namespace;
        let items = all.into_iter().filter(|(key, _)| is_in(key.namespace()));
        let list = [
            ("apiVersion", Value::from(api_version)),
            ("kind", Value::from(format!("{kind}List"))),
            ("metadata", Value::Map(metadata)),
            (
                "items",
                Value::List(items.map(|(_, object)| Value::Map(object.clone())).collect()),
            ),
        ];
        list.into_iter().collect()
    }
}

impl fmt::Debug for ClusterObjects {
    /// Without the objects, which may be Secrets.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { kinds, base, served } = self;
        let objects: usize = kinds.values().flat_map(BTreeMap::values).map(BTreeMap::len).sum();
        f.debug_struct("ClusterObjects")
            .field("objects", &objects)
            .field("base", base)
            .field("served", served)
            .finish()
    }
}

fn text(value: Option<&Value>) -> &str {
    value.and_then(Value::as_str).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn object(kind: &str, namespace: &str, name: &str) -> Map {
        let metadata = [("namespace", namespace), ("name", name)].into_iter();
        let metadata = metadata.filter(|(_, text)| !text.is_empty());
        let metadata: Map = metadata.map(|(key, text)| (key, Value::from(text))).collect();
        [
            ("apiVersion", Value::from("v1")),
            ("kind", Value::from(kind)),
            ("metadata", Value::Map(metadata)),
        ]
        .into_iter()
        .collect()
    }

    /// The names of a list, or `none` if there is no list.
    fn names(all: &ClusterObjects, (api_version, kind, namespace): (&str, &str, &str)) -> Vec<String> {
        let list = all.find(api_version, kind, namespace, "");
        let Some(Value::List(items)) = list.get("items") else {
            return vec!["none".to_owned()];
        };
        let names = items
            .iter()
            .map(|item| ObjectKey::of(item.as_map().unwrap()).path);
        names.collect()
    }

    #[test]
    fn lists_have_the_order_of_an_api_server() {
        let objects = [("a", "x"), ("a-b", "x"), ("a", "b"), ("", "z"), ("", "a")];
        let objects = objects.map(|(namespace, name)| object("Secret", namespace, name));
        let all = ClusterObjects::of_cluster(objects, ["v1".to_owned()]);
        let expected: [(&str, &[&str]); 3] = [
            ("", &["a", "a-b/x", "a/b", "a/x", "z"]),
            ("a", &["a", "a/b", "a/x", "z"]),
            ("b", &["a", "z"]),
        ];
        for (namespace, expected) in expected {
            assert_eq!(names(&all, ("v1", "Secret", namespace)), expected, "{namespace}");
        }
        assert!(all.find("v1", "Secret", "b", "x").is_empty());
        assert!(!all.find("v1", "Secret", "b", "z").is_empty());
        assert!(all.find("v1", "Secret", "", "x").is_empty());
    }

    #[test]
    fn an_empty_list_exists_if_the_cluster_serves_the_api_version() {
        let served = ClusterObjects::of_cluster([], ["v1".to_owned()]);
        let (none, no_list): ([String; 0], _) = ([], ["none"]);
        assert_eq!(names(&served, ("v1", "Secret", "")), none);
        assert_eq!(names(&served, ("v2", "Secret", "")), no_list);
        let of_test = ClusterObjects::new(&[object("Secret", "a", "x")]);
        assert_eq!(names(&of_test, ("v1", "Secret", "b")), none);
        assert_eq!(names(&of_test, ("v1", "ConfigMap", "")), no_list);
        // Objects of the API version say that it is served.
        let custom = ClusterObjects::of_cluster([object("Secret", "a", "x")], []);
        assert_eq!(names(&custom, ("v1", "ConfigMap", "")), none);
    }

    #[test]
    fn objects_of_a_test_are_found_before_those_of_its_base() {
        let mut changed = object("Secret", "a", "x");
        changed.insert("data".to_owned(), Value::from("of the test"));
        let base = [object("Secret", "a", "x"), object("Secret", "a", "y")];
        let base = Arc::new(ClusterObjects::of_cluster(base, []));
        let all = ClusterObjects::new(&[changed.clone()]).over(&base);
        assert_eq!(all.find("v1", "Secret", "a", "x"), changed);
        assert!(!all.find("v1", "Secret", "a", "y").is_empty());
        assert_eq!(names(&all, ("v1", "Secret", "")), ["a/x", "a/y"]);
        let list = all.find("v1", "Secret", "", "");
        assert_eq!(
            list.get("metadata").unwrap().to_json(),
            r#"{"resourceVersion":""}"#
        );
    }

    #[test]
    fn what_objects_hold_is_not_shown() {
        let mut secret = object("Secret", "a", "x");
        secret.insert("data".to_owned(), Value::from("hunter2"));
        let shown = format!("{:?}", ClusterObjects::new(&[secret]));
        assert!(
            !shown.contains("hunter2") && shown.contains("objects: 1"),
            "{shown}"
        );
    }
}
