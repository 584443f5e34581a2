//! Watches: one for each kind and namespace, which is restarted after every error.
//!
//! Only a view of every object is decoded ([`super::views`]): memory doesn't grow with tenants' specs, and no object
//! stops a watch.

use std::collections::BTreeSet;

use futures_util::StreamExt as _;
use kube::api::ListParams;
use kube::runtime::WatchStreamExt as _;
use kube::runtime::watcher::{self, Config, Event, watcher};
use tokio::sync::mpsc::UnboundedSender;
use tokio::time::Instant;

use super::cx::Cx;
use super::error::api_message;
use super::health::WatchId;
use super::key::KindId;
use super::views::{MetadataOnly, Object, View};

/// The field that cluster-scoped objects don't have.
const NAMESPACE_FIELD: &str = "metadata.namespace";
/// The page size of lists: the objects of a page are in memory together, as text, and each may have 1.5 MB.
const PAGE_SIZE: u32 = 10;

/// Which objects are reconciled, and in which namespaces.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Selection {
    /// Namespaces; empty for all.
    pub namespaces: Vec<String>,
    /// The label selector.
    pub labels: Option<String>,
    /// The field selector.
    pub fields: Option<String>,
    /// Additional namespaces that dependents are watched in, unless all are.
    pub dependent_namespaces: Vec<String>,
}

/// An event of a watch.
#[derive(Debug)]
pub enum ObjectEvent<'a, V> {
    /// An object was created or changed, or is part of a new list.
    Applied {
        /// The object.
        object: Object<V>,
        /// Whether it is part of a list that is not complete yet.
        listed: bool,
    },
    /// An object was deleted; this is its last state.
    Deleted(Object<V>),
    /// A new list is complete: no other objects exist than those with these UIDs.
    Listed {
        /// The UIDs of its objects.
        uids: &'a BTreeSet<String>,
        /// The namespace that was listed; `None`: all of them.
        namespace: Option<&'a str>,
    },
}

impl Selection {
    /// Whether all objects of the watched namespaces are selected.
    pub(super) fn is_all(&self) -> bool {
        self.labels.is_none() && self.fields.is_none()
    }

    /// The watch configuration of a primary kind; `None`: the selectors match none of its objects.
    pub(super) fn config(&self, kind: KindId) -> Option<Config> {
        let mut config = unselected();
        config.field_selector = self.fields_of(kind)?;
        config.label_selector.clone_from(&self.labels);
        Some(config)
    }

    /// The field selector for one kind; `None`: it matches none of its objects. API servers don't support
    /// `metadata.namespace` for cluster-scoped kinds and refuse the whole selector; their namespace is empty.
    fn fields_of(&self, kind: KindId) -> Option<Option<String>> {
        let Some(fields) = self.fields.as_ref().filter(|_| !kind.namespaced) else {
            return Some(self.fields.clone());
        };
        let mut kept = Vec::new();
        for part in fields.split(',') {
            let Some(wanted) = part.trim().strip_prefix(NAMESPACE_FIELD) else {
                kept.push(part);
                continue;
            };
            let (is, value) = match wanted.strip_prefix("!=") {
                Some(value) => (false, value),
                None => (true, wanted.trim_start_matches('=')),
            };
            if is != value.is_empty() {
                return None;
            }
        }
        Some(Some(kept.join(",")).filter(|fields| !fields.is_empty()))
    }

    /// Lists one object of a kind with the selectors that the watches will use.
    pub(super) async fn check(&self, cx: &Cx, kind: KindId) -> Result<(), kube::Error> {
        let Some(fields) = self.fields_of(kind) else {
            return Ok(());
        };
        let namespace = self.namespaces.first().map(String::as_str);
        let params = ListParams {
            label_selector: self.labels.clone(),
            field_selector: fields,
            limit: Some(1),
            ..ListParams::default()
        };
        let api = cx.api_in::<MetadataOnly>(kind, namespace);
        api.list(&params).await.map(|_| ())
    }

    /// The namespaces that primaries of a kind are watched in; `None` is all of them.
    pub(super) fn namespaces(&self, kind: KindId) -> Vec<Option<String>> {
        if self.namespaces.is_empty() || !kind.namespaced {
            return vec![None];
        }
        self.namespaces.iter().cloned().map(Some).collect()
    }

    /// The namespaces that dependents are watched in: those of primaries, and the additional ones.
    pub(super) fn namespaces_of_dependents(&self, kind: KindId) -> Vec<Option<String>> {
        let mut namespaces = self.namespaces(kind);
        if self.namespaces.is_empty() || !kind.namespaced {
            return namespaces;
        }
        for more in &self.dependent_namespaces {
            if !self.namespaces.contains(more) {
                namespaces.push(Some(more.clone()));
            }
        }
        namespaces
    }
}

/// The watch configuration that selects every object.
pub(super) fn unselected() -> Config {
    Config::default().page_size(PAGE_SIZE)
}

/// Watches a kind in a namespace, or in all. Never ends.
pub(super) async fn watch<V: View>(
    cx: Cx,
    id: WatchId,
    config: Config,
    synced: UnboundedSender<()>,
    mut handle: impl FnMut(ObjectEvent<'_, V>) + Send,
) {
    let (kind, namespace) = (id.0, id.1.as_deref());
    let api = cx.api_in::<V>(kind, namespace);
    let mut stream = std::pin::pin!(watcher(api, config).default_backoff());
    let mut uids = BTreeSet::new();
    while let Some(event) = stream.next().await {
        if event.is_ok() {
            cx.health().watch_works(&id);
            cx.metrics().watch_synced(kind, cx.now());
        }
        match event {
            Ok(Event::Init) => uids.clear(),
            Ok(Event::InitApply(object)) => {
                uids.insert(object.uid().to_owned());
                report_unreadable(kind, &object);
                handle(ObjectEvent::Applied { object, listed: true });
            }
            Ok(Event::InitDone) => {
                handle(ObjectEvent::Listed {
                    uids: &uids,
                    namespace,
                });
                uids.clear();
                // The receiver is closed after the first message.
                let _ = synced.send(());
            }
            Ok(Event::Apply(object)) => {
                report_unreadable(kind, &object);
                handle(ObjectEvent::Applied {
                    object,
                    listed: false,
                });
            }
            Ok(Event::Delete(object)) => handle(ObjectEvent::Deleted(object)),
            Err(error) => failed(&cx, &id, &error),
        }
    }
}

fn report_unreadable<V: View>(kind: KindId, object: &Object<V>) {
    if let Err(error) = &object.view {
        let name = object.name();
        tracing::debug!(kind = kind.kind, %name, error, "the object does not match its CRD");
    }
}

/// The rate limit is shared by all watches: when the API server is unreachable, all of them fail.
fn failed(cx: &Cx, id: &WatchId, error: &watcher::Error) {
    let (kind, now) = (id.0, Instant::now());
    let error = watch_error(error);
    cx.metrics().watch_failed(kind);
    cx.health().watch_failed(id, now);
    let suppressed = cx.watch_log().admit(now);
    match suppressed {
        Some(suppressed) => {
            let (kind, server) = (kind.kind, cx.identity().server.as_str());
            tracing::warn!(kind, server, error, suppressed, "watch failed");
        }
        None => tracing::trace!(kind = kind.kind, error, "watch failed"),
    }
}

/// The message of a watch's error, without the rest of the API server's response.
fn watch_error(error: &watcher::Error) -> String {
    match error {
        watcher::Error::InitialListFailed(error)
        | watcher::Error::WatchStartFailed(error)
        | watcher::Error::WatchFailed(error) => api_message(error),
        watcher::Error::WatchError(status) => format!("{} ({})", status.message, status.code),
        watcher::Error::NoResourceVersion => error.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::api::Scope;

    /// The field selector `metadata.namespace` once kept the operator from starting, because it watches the
    /// cluster-scoped kind too.
    #[test]
    fn a_cluster_task_has_an_empty_namespace_for_field_selectors() {
        // Selector, the field selector of cluster tasks.
        let table = [
            ("metadata.name=a", Some(Some("metadata.name=a"))),
            ("metadata.namespace=a", None),
            ("metadata.namespace==a", None),
            ("metadata.namespace!=a", Some(None)),
            ("metadata.namespace=", Some(None)),
            ("metadata.namespace!=", None),
            (
                "metadata.name!=b, metadata.namespace!=a",
                Some(Some("metadata.name!=b")),
            ),
            ("metadata.name!=b,metadata.namespace=a", None),
        ];
        for (fields, expected) in table {
            let selection = Selection {
                fields: Some(fields.into()),
                ..Selection::default()
            };
            let found = selection.fields_of(Scope::Cluster.id());
            assert_eq!(found.as_ref().map(Option::as_deref), expected, "{fields}");
            let namespaced = selection.fields_of(Scope::Namespaced.id());
            assert_eq!(namespaced, Some(Some(fields.into())));
        }
        assert_eq!(Selection::default().fields_of(Scope::Cluster.id()), Some(None));
    }

    #[test]
    fn dependents_are_watched_where_primaries_are_and_in_some_more_namespaces() {
        let mut selection = Selection {
            dependent_namespaces: vec!["a".into(), "jobs".into()],
            ..Selection::default()
        };
        let kind = Scope::Namespaced.id();
        assert_eq!(selection.namespaces_of_dependents(kind), [None]);
        selection.namespaces = vec!["a".into(), "b".into()];
        let some = |names: &[&str]| {
            names
                .iter()
                .map(|name| Some((*name).to_owned()))
                .collect::<Vec<_>>()
        };
        assert_eq!(selection.namespaces(kind), some(&["a", "b"]));
        assert_eq!(
            selection.namespaces_of_dependents(kind),
            some(&["a", "b", "jobs"])
        );
        assert_eq!(selection.namespaces(Scope::Cluster.id()), [None]);
    }
}
