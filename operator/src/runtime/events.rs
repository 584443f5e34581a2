//! Events (events.k8s.io) about objects of any kind.
//!
//! They follow from a change of the status, so that a reconcile that changes nothing publishes none. A failure to write
//! one is only logged.

use jiff::Timestamp;
use k8s_openapi::api::core::v1::ObjectReference;
use k8s_openapi::api::events::v1::Event;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::MicroTime;
use kube::Api;
use kube::api::{ObjectMeta, PostParams};

use super::conditions::cut;
use super::cx::Cx;
use super::error::api_message;
use super::key::Key;
use crate::names::{MANAGER, fitted};

/// The maximum length of a note, in bytes.
const MAX_NOTE: usize = 1024;
/// The namespace of events about cluster-scoped objects.
const CLUSTER_EVENTS: &str = "default";

/// One event.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Notice {
    /// Type Warning; otherwise Normal.
    pub warning: bool,
    /// The reason, in CamelCase.
    pub reason: &'static str,
    /// The action, in CamelCase.
    pub action: &'static str,
    /// The human-readable note.
    pub note: String,
}

/// Writes events about an object.
pub async fn publish(cx: &Cx, key: &Key, metadata: &ObjectMeta, notices: Vec<Notice>) {
    let now = cx.now();
    let namespace = if key.kind.namespaced {
        key.namespace.as_str()
    } else {
        CLUSTER_EVENTS
    };
    let events: Api<Event> = Api::namespaced(cx.client().clone(), namespace);
    for (number, notice) in notices.into_iter().enumerate() {
        let event = Event {
            reporting_instance: Some(cx.identity().instance.clone()),
            ..event(key, metadata, namespace, &notice, (now, number))
        };
        if let Err(error) = events.create(&PostParams::default(), &event).await {
            let error = api_message(&error);
            tracing::warn!(reason = notice.reason, error, "failed to write an event");
        }
    }
}

fn event(
    key: &Key,
    metadata: &ObjectMeta,
    namespace: &str,
    notice: &Notice,
    (now, number): (Timestamp, usize),
) -> Event {
    let unique = format!("{:x}{number:x}", now.as_nanosecond());
    Event {
        metadata: ObjectMeta {
            name: Some(format!("{}.{unique}", fitted(&key.name))),
            namespace: Some(namespace.to_owned()),
            ..Default::default()
        },
        type_: Some(if notice.warning { "Warning" } else { "Normal" }.to_owned()),
        reason: Some(notice.reason.to_owned()),
        action: Some(notice.action.to_owned()),
        note: Some(cut(&notice.note, MAX_NOTE)),
        event_time: Some(MicroTime(now)),
        reporting_controller: Some(MANAGER.to_owned()),
        regarding: Some(ObjectReference {
            api_version: Some(key.kind.api_version()),
            kind: Some(key.kind.kind.to_owned()),
            name: metadata.name.clone(),
            namespace: metadata.namespace.clone(),
            uid: metadata.uid.clone(),
            resource_version: metadata.resource_version.clone(),
            ..Default::default()
        }),
        ..Default::default()
    }
}
