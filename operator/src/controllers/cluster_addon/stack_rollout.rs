//! The addons of a stack: which cluster gets one or a new spec now, and what it says.

use std::collections::BTreeMap;

use jiff::Timestamp;
use kube::Api;
use kube::api::{Patch, PatchParams};
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

use super::cluster::ClusterView;
use super::objects::hex;
use super::select::{AddonState, Candidate, Plan, SelectedCluster, StackSpecView, plan, selects, winner};
use super::stack::ClusterStacks;
use super::{ClusterAddons, addon_name};
use crate::api::LocalReference;
use crate::api::cluster_addons::{
    CLUSTER_ADDONS, ClusterAddonSpec, ClusterStackSpec, PinnedChart, ResolvedChart,
};
use crate::names::MANAGER;
use crate::runtime::owned;
use crate::runtime::views::{MetadataOnly, Object};
use crate::runtime::{Cx, Error, Key};

impl ClusterStacks {
    /// Creates and updates the addons of the clusters whose turn it is.
    pub(super) async fn roll_out(
        &self,
        cx: &Cx,
        key: &Key,
        labels: &BTreeMap<String, String>,
        spec: &ClusterStackSpec,
        chart: &ResolvedChart,
    ) -> Result<Plan, Error> {
        let desired = |cluster: &str| desired(&key.name, cluster, spec, chart);
        let clusters = self.0.settings.version.in_namespace(cx, &key.namespace);
        let clusters: Vec<_> = clusters
            .iter()
            .filter(|cluster| cluster.metadata.deletion_timestamp.is_none())
            .collect();
        let stacks = stacks(cx, &key.namespace);
        let own = StackSpecView::from(spec);
        let selected = clusters.iter().filter_map(|cluster| {
            let (labels, class) = labels_and_class(cluster);
            selects(&own, &labels, class).then(|| {
                let winner = winner(stacks.iter().map(StackSummary::candidate), &labels, class);
                // The store may not have this stack's last change.
                (*cluster, winner.unwrap_or(&key.name).to_owned())
            })
        });
        let selected: Vec<_> = selected.collect();
        let addons = cx.store::<ClusterAddons>();
        let addons: Vec<_> = selected
            .iter()
            .map(|(cluster, _)| {
                let name = addon_name(&cluster.name().name);
                addons.get(&crate::key::ObjectName::new(&key.namespace, &name))
            })
            .collect();
        let names: Vec<String> = selected.iter().map(|(cluster, _)| cluster.name().name).collect();
        let states: Vec<_> = selected
            .iter()
            .zip(&addons)
            .zip(&names)
            .map(|(((cluster, winner), addon), name)| SelectedCluster {
                name,
                winner,
                addon: addon.as_ref().map(|addon| AddonState {
                    is_owned: owned::is_controlled_by(&addon.metadata, cluster.uid()),
                    is_deleting: addon.metadata.deletion_timestamp.is_some(),
                    spec: addon.view().map_or(&super::addon::NO_SPEC, |view| &view.spec),
                    is_ready: super::addon::is_ready(addon),
                    is_unreachable: super::addon::is_unreachable(addon),
                }),
            })
            .collect();
        let plan = plan(&key.name, &states, desired, &spec.update_policy);
        for name in &plan.create {
            let cluster = selected.iter().find(|(cluster, _)| cluster.name().name == *name);
            if let Some((cluster, _)) = cluster {
                self.create(cx, key, labels, cluster, &desired(name)).await?;
            }
        }
        for name in &plan.update {
            set_spec(cx, key, name, &desired(name)).await?;
        }
        Ok(plan)
    }

    async fn create(
        &self,
        cx: &Cx,
        key: &Key,
        labels: &BTreeMap<String, String>,
        cluster: &Object<ClusterView>,
        spec: &ClusterAddonSpec,
    ) -> Result<(), Error> {
        let kind = self.0.settings.version.kind();
        // The stack's own, so that --label-selector chooses both or neither.
        let mut labels = labels.clone();
        labels.insert("app.kubernetes.io/managed-by".to_owned(), MANAGER.to_owned());
        labels.insert("app.kubernetes.io/part-of".to_owned(), "solar".to_owned());
        let object = json!({
            "apiVersion": CLUSTER_ADDONS.api_version(), "kind": CLUSTER_ADDONS.kind,
            "metadata": {
                "name": addon_name(&cluster.name().name), "namespace": key.namespace,
                "labels": labels,
                // Before anything is applied.
                "finalizers": [super::finalizer()],
                "ownerReferences": [{
                    "apiVersion": kind.api_version(), "kind": kind.kind, "name": cluster.name().name,
                    "uid": cluster.uid(), "controller": true,
                }],
            },
            "spec": spec,
        });
        match owned::create_object(cx, CLUSTER_ADDONS, &key.namespace, &object).await {
            Ok(_) => Ok(()),
            // The store will show it.
            Err(kube::Error::Api(status)) if status.code == 409 => Ok(()),
            Err(error) => Err(Error::api("creating a ClusterAddon")(error)),
        }
    }
}

/// Replaces an addon's spec.
async fn set_spec(cx: &Cx, key: &Key, cluster: &str, spec: &ClusterAddonSpec) -> Result<(), Error> {
    let api: Api<Object<MetadataOnly>> = cx.api_in(CLUSTER_ADDONS, Some(&key.namespace));
    let mut body = serde_json::to_value(spec)?;
    // A merge patch keeps what it doesn't name.
    for (map, field) in [("", "stages"), ("/chart", "version")] {
        if let Some(map) = body.pointer_mut(map).and_then(Value::as_object_mut) {
            map.entry(field).or_insert(Value::Null);
        }
    }
    let params = PatchParams {
        field_manager: Some(MANAGER.to_owned()),
        ..PatchParams::default()
    };
    let patched = api
        .patch(
            &addon_name(cluster),
            &params,
            &Patch::Merge(json!({"spec": body})),
        )
        .await;
    match patched {
        Ok(_) => Ok(()),
        Err(kube::Error::Api(status)) if matches!(status.code, 404 | 409) => Ok(()),
        Err(error) => Err(Error::api("updating a ClusterAddon")(error)),
    }
}

/// A stack of a namespace, as far as it selects clusters.
pub(super) struct StackSummary {
    name: String,
    created: Option<Timestamp>,
    spec: StackSpecView,
}

impl StackSummary {
    pub(super) fn candidate(&self) -> Candidate<'_> {
        Candidate {
            name: &self.name,
            created: self.created,
            spec: &self.spec,
        }
    }
}

/// The stacks of a namespace that aren't being deleted.
pub(super) fn stacks(cx: &Cx, namespace: &str) -> Vec<StackSummary> {
    let stacks = cx.store::<ClusterStacks>().in_namespace(namespace);
    let alive = stacks
        .iter()
        .filter(|stack| stack.metadata.deletion_timestamp.is_none());
    let summaries = alive.filter_map(|stack| {
        Some(StackSummary {
            name: stack.name().name,
            created: stack.metadata.creation_timestamp.as_ref().map(|time| time.0),
            spec: stack.view()?.spec.clone(),
        })
    });
    summaries.collect()
}

/// What selectors see of a cluster.
pub(super) fn labels_and_class(cluster: &Object<ClusterView>) -> (BTreeMap<String, String>, Option<&str>) {
    let labels = cluster.metadata.labels.clone().unwrap_or_default();
    (labels, cluster.view().and_then(ClusterView::class))
}

/// The hash of what of a stack an addon depends on beside its chart and its stages.
pub(super) fn values_hash(spec: &ClusterStackSpec) -> String {
    let ClusterStackSpec {
        release_name,
        namespace,
        values,
        values_template,
        kubernetes_versions,
        ..
    } = spec;
    let text = json!([
        release_name,
        namespace,
        values,
        values_template,
        kubernetes_versions
    ]);
    hex(&Sha256::digest(text.to_string().as_bytes()))
}

fn desired(stack: &str, cluster: &str, spec: &ClusterStackSpec, chart: &ResolvedChart) -> ClusterAddonSpec {
    let ResolvedChart {
        repository,
        version,
        digest,
    } = chart.clone();
    ClusterAddonSpec {
        cluster_ref: LocalReference {
            name: cluster.to_owned(),
        },
        stack_ref: LocalReference {
            name: stack.to_owned(),
        },
        chart: PinnedChart {
            repository,
            version,
            digest,
        },
        values_hash: values_hash(spec),
        stages: spec.stages.clone(),
        prune: spec.prune,
    }
}
