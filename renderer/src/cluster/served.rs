//! What a cluster serves, from its discovery documents. Pure.

use std::collections::{BTreeMap, BTreeSet};

use serde::Deserialize;

/// What the aggregated discovery of Kubernetes 1.26 and newer is asked for as; older servers answer in their own form.
pub(crate) const AGGREGATED: &str = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList,\
                                     application/json;g=apidiscovery.k8s.io;v=v2beta1;as=APIGroupDiscoveryList,\
                                     application/json";

/// A kind of objects, as it is asked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Resource {
    /// The name in paths: `deployments`.
    pub(crate) plural: String,
    pub(crate) is_namespaced: bool,
}

/// The kinds that a cluster serves.
#[derive(Debug, Default)]
pub(crate) struct Served {
    /// By API version and kind.
    kinds: BTreeMap<(String, String), Resource>,
    versions: BTreeSet<String>,
}

/// What a discovery document says.
pub(crate) enum Discovered {
    /// All kinds.
    Kinds,
    /// Only the API versions, whose kinds have to be asked for one by one.
    Versions(Vec<String>),
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Document {
    #[serde(default)]
    kind: String,
    /// Aggregated: the groups.
    #[serde(default)]
    items: Vec<Group>,
    /// Of `/api`.
    #[serde(default)]
    versions: Vec<String>,
    /// Of `/apis`.
    #[serde(default)]
    groups: Vec<LegacyGroup>,
    /// Of one version.
    #[serde(default)]
    resources: Vec<LegacyResource>,
}

#[derive(Deserialize)]
struct Group {
    #[serde(default)]
    metadata: Metadata,
    #[serde(default)]
    versions: Vec<Version>,
}

#[derive(Deserialize, Default)]
struct Metadata {
    #[serde(default)]
    name: String,
}

#[derive(Deserialize)]
struct Version {
    version: String,
    #[serde(default)]
    resources: Vec<VersionResource>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct VersionResource {
    resource: String,
    #[serde(default)]
    response_kind: Option<Kind>,
    #[serde(default)]
    scope: String,
}

#[derive(Deserialize)]
struct Kind {
    #[serde(default)]
    kind: String,
}

#[derive(Deserialize)]
struct LegacyGroup {
    #[serde(default)]
    versions: Vec<LegacyVersion>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct LegacyVersion {
    group_version: String,
}

#[derive(Deserialize)]
struct LegacyResource {
    name: String,
    kind: String,
    #[serde(default)]
    namespaced: bool,
}

impl Served {
    /// Adds what `/api` or `/apis` says.
    ///
    /// # Errors
    /// It is no discovery document.
    pub(crate) fn add(&mut self, document: &[u8]) -> Result<Discovered, serde_json::Error> {
        let document: Document = serde_json::from_slice(document)?;
        if document.kind != "APIGroupDiscoveryList" {
            let groups = document.groups.into_iter().flat_map(|group| group.versions);
            let versions = groups.map(|version| version.group_version);
            return Ok(Discovered::Versions(versions.chain(document.versions).collect()));
        }
        for group in document.items {
            for version in group.versions {
                let api_version = match group.metadata.name.as_str() {
                    "" => version.version,
                    name => format!("{name}/{}", version.version),
                };
                for one in version.resources {
                    let kind = one.response_kind.map(|kind| kind.kind).unwrap_or_default();
                    let is_namespaced = one.scope == "Namespaced";
                    self.insert(&api_version, kind, one.resource, is_namespaced);
                }
                self.versions.insert(api_version);
            }
        }
        Ok(Discovered::Kinds)
    }

    /// Adds what the document of one API version says.
    ///
    /// # Errors
    /// It is no discovery document.
    pub(crate) fn add_version(
        &mut self,
        api_version: &str,
        document: &[u8],
    ) -> Result<(), serde_json::Error> {
        let document: Document = serde_json::from_slice(document)?;
        for one in document.resources {
            self.insert(api_version, one.kind, one.name, one.namespaced);
        }
        self.versions.insert(api_version.to_owned());
        Ok(())
    }

    fn insert(&mut self, api_version: &str, kind: String, plural: String, is_namespaced: bool) {
        // Others are parts of objects.
        if !plural.contains('/') && !kind.is_empty() {
            let resource = Resource {
                plural,
                is_namespaced,
            };
            self.kinds.insert((api_version.to_owned(), kind), resource);
        }
    }

    /// The kind of this API version.
    pub(crate) fn resource(&self, api_version: &str, kind: &str) -> Option<&Resource> {
        self.kinds.get(&(api_version.to_owned(), kind.to_owned()))
    }

    /// `.Capabilities.APIVersions`: `apps/v1` and `apps/v1/Deployment`, sorted.
    pub(crate) fn api_versions(&self) -> Vec<String> {
        let kinds = self
            .kinds
            .keys()
            .map(|(version, kind)| format!("{version}/{kind}"));
        let all: BTreeSet<String> = kinds.chain(self.versions.iter().cloned()).collect();
        all.into_iter().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn served(document: &serde_json::Value) -> (Served, Discovered) {
        let mut served = Served::default();
        let found = served.add(document.to_string().as_bytes()).unwrap();
        (served, found)
    }

    #[test]
    fn aggregated_discovery_has_all_kinds() {
        let resource = |name: &str, kind: &str, scope: &str| json!({"resource": name, "responseKind": {"kind": kind}, "scope": scope, "subresources": [{"subresource": "status"}]});
        let (found, kinds) = served(&json!({"kind": "APIGroupDiscoveryList", "items": [
            {"metadata": {"name": "apps"}, "versions": [
                {"version": "v1", "resources": [resource("deployments", "Deployment", "Namespaced")]},
                {"version": "v1beta1", "freshness": "Stale"}]},
            {"metadata": {}, "versions": [{"version": "v1", "resources": [resource("nodes", "Node", "Cluster")]}]},
        ]}));
        assert!(matches!(kinds, Discovered::Kinds));
        let deployment = found.resource("apps/v1", "Deployment").unwrap();
        assert_eq!(
            (deployment.plural.as_str(), deployment.is_namespaced),
            ("deployments", true)
        );
        assert!(!found.resource("v1", "Node").unwrap().is_namespaced);
        assert_eq!(found.resource("apps/v1beta1", "Deployment"), None);
        let versions = ["apps/v1", "apps/v1/Deployment", "apps/v1beta1", "v1", "v1/Node"];
        assert_eq!(found.api_versions(), versions);
    }

    #[test]
    fn an_older_server_is_asked_version_by_version() {
        let (_, core) = served(&json!({"kind": "APIVersions", "versions": ["v1"]}));
        assert!(matches!(core, Discovered::Versions(list) if list == ["v1"]));
        let (mut found, groups) = served(&json!({"kind": "APIGroupList", "groups": [
            {"name": "apps", "versions": [{"groupVersion": "apps/v1", "version": "v1"}]}]}));
        assert!(matches!(groups, Discovered::Versions(list) if list == ["apps/v1"]));
        let list = json!({"kind": "APIResourceList", "resources": [
            {"name": "deployments", "kind": "Deployment", "namespaced": true},
            {"name": "deployments/scale", "kind": "Scale", "namespaced": true}]});
        found.add_version("apps/v1", list.to_string().as_bytes()).unwrap();
        assert!(found.resource("apps/v1", "Deployment").unwrap().is_namespaced);
        assert_eq!(found.api_versions(), ["apps/v1", "apps/v1/Deployment"]);
        assert!(found.add(b"<html>").is_err());
    }
}
