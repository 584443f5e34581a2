//! A reconcile of one addon while it runs: the status as it is stored and as it is to be, and the events to publish.

use std::time::Duration;

use kube::api::ObjectMeta;

use super::Shared;
use super::addon::FullAddon;
use super::conditions::{Halt, findings, reasons};
use super::stack_status::without;
use super::stages::CHART;
use crate::api::REQUESTED_AT_ANNOTATION;
use crate::api::cluster_addons::{AddonStatus, ClusterAddonSpec, StagePhase};
use crate::runtime::conditions::{self, READY, find, update};
use crate::runtime::events::{self, Notice};
use crate::runtime::{Action, Cx, Error, Key, status};

/// How the steps end.
pub(super) enum End {
    /// The cluster has the chart.
    Ready(String, Duration),
    /// It goes no further now.
    Halted(Halt, Option<Duration>),
    /// Nothing is to be done.
    NotItsTurn,
}

/// A reconcile of one addon.
pub(super) struct Pass<'a> {
    pub(super) shared: &'a Shared,
    pub(super) cx: &'a Cx,
    pub(super) key: &'a Key,
    pub(super) metadata: ObjectMeta,
    pub(super) spec: ClusterAddonSpec,
    /// As it is stored.
    pub(super) known: AddonStatus,
    /// As it is to be.
    pub(super) next: AddonStatus,
    pub(super) notices: Vec<Notice>,
    /// Whether a requested reconcile has been handled once this pass ends: not while it is on its way.
    pub(super) handles_request: bool,
}

impl<'a> Pass<'a> {
    pub(super) fn new(
        shared: &'a Shared,
        cx: &'a Cx,
        key: &'a Key,
        metadata: ObjectMeta,
        addon: FullAddon,
    ) -> Self {
        let FullAddon { spec, status } = addon;
        let known = status.unwrap_or_default();
        Self {
            shared,
            cx,
            key,
            metadata,
            spec,
            next: known.clone(),
            known,
            notices: Vec::new(),
            handles_request: false,
        }
    }

    pub(super) fn uid(&self) -> &str {
        self.metadata.uid.as_deref().unwrap_or("")
    }

    /// The value of the annotation that requests a reconcile.
    pub(super) fn request(&self) -> Option<String> {
        let annotations = self.metadata.annotations.as_ref()?;
        annotations.get(REQUESTED_AT_ANNOTATION).cloned()
    }

    /// Writes the status as far as it is.
    pub(super) async fn write(&mut self) -> Result<(), Error> {
        let version = self.metadata.resource_version.as_deref();
        let written = status::patch(self.cx, self.key, version, &self.known, &self.next).await?;
        if let Some(metadata) = written {
            self.metadata.resource_version = metadata.resource_version;
            self.known = self.next.clone();
        }
        Ok(())
    }

    fn set(&mut self, halt: Option<&Halt>, message: &str) {
        let generation = self.metadata.generation;
        let before = find(&self.known.conditions, READY).map(|one| one.reason.clone());
        let is_applied = {
            let mut stages = self.next.stages.iter();
            let chart = stages.find(|stage| stage.name == CHART);
            chart.is_some_and(|stage| stage.phase == StagePhase::Completed)
        };
        let found = findings(halt, message, is_applied);
        self.next.conditions = update(
            &without(&self.known.conditions),
            &found,
            generation,
            self.cx.now(),
        );
        self.next.observed_generation = generation;
        if let Some(halt) = halt.filter(|halt| before.as_deref() != Some(halt.reason)) {
            self.notices.push(Notice {
                warning: halt.is_stalled || halt.reason == reasons::FAILED_TO_APPLY,
                reason: halt.reason,
                action: "Apply",
                note: halt.message.clone(),
            });
        }
    }

    pub(super) async fn halted(mut self, halt: &Halt, requeue: Option<Duration>) -> Result<Action, Error> {
        self.set(Some(halt), "");
        self.finish(requeue).await
    }

    pub(super) async fn ready(mut self, message: &str, requeue: Duration) -> Result<Action, Error> {
        self.set(None, message);
        self.finish(Some(requeue)).await
    }

    /// Leaves everything as it is.
    pub(super) async fn suspended(mut self) -> Result<Action, Error> {
        let known = &self.known.conditions;
        self.next.conditions = conditions::suspended(known, self.metadata.generation, self.cx.now());
        self.write().await?;
        Ok(Action::done())
    }

    async fn finish(mut self, requeue: Option<Duration>) -> Result<Action, Error> {
        if self.handles_request {
            self.next.last_handled_reconcile_at = self.request();
        }
        self.write().await?;
        let notices = std::mem::take(&mut self.notices);
        events::publish(self.cx, self.key, &self.metadata, notices).await;
        Ok(requeue.map_or_else(Action::done, Action::requeue))
    }

    pub(super) fn notice(&mut self, reason: &'static str, note: String) {
        self.notices.push(Notice {
            warning: false,
            reason,
            action: "Apply",
            note,
        });
    }
}
