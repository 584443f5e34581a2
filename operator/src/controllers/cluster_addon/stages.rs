//! The stages of a rendered chart: which objects come when. Pure.
//!
//! The CRDs of the chart's `crds` folders, which Helm installs before any hook; the hooks that are due before the chart; the
//! chart without what stages have; the stack's stages in their order; the hooks that are due after it.

use solar_server_side_apply::install_phase;

use super::objects::ChartObject;
use crate::api::cluster_addons::{StackStage, StageAction, StagePhase};

/// The stage with what no other stage has.
pub(super) const CHART: &str = "chart";

/// The stage with the files of `crds` folders.
const CRDS: &str = "crds";

/// What a stage's objects are.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum StageKind {
    /// They are applied and kept.
    Objects,
    /// Helm's hooks: each is created anew and has to end before the next one.
    Hooks,
}

/// A stage and its objects.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct PlannedStage<'a> {
    pub(super) name: String,
    pub(super) action: StageAction,
    pub(super) kind: StageKind,
    pub(super) objects: Vec<&'a ChartObject>,
    /// The stack's stage, if it is one of these.
    pub(super) of_stack: Option<&'a StackStage>,
    /// Whether its hook is due.
    pub(super) is_due: bool,
}

/// The stages. `is_first`: nothing was applied before.
pub(super) fn plan<'a>(
    objects: &'a [ChartObject],
    stages: &'a [StackStage],
    is_first: bool,
) -> Vec<PlannedStage<'a>> {
    let (before, after) = if is_first {
        ("pre-install", "post-install")
    } else {
        ("pre-upgrade", "post-upgrade")
    };
    let hooks = |event: &str| {
        let mine = objects.iter().filter(|one| {
            has_event(one, event)
                && !stages
                    .iter()
                    .any(|stage| stage.hook.is_some() && is_of(one, stage))
        });
        let objects: Vec<_> = mine.collect();
        (!objects.is_empty()).then(|| PlannedStage {
            name: event.to_owned(),
            action: StageAction::Apply,
            kind: StageKind::Hooks,
            objects,
            of_stack: None,
            is_due: true,
        })
    };
    let rest = objects.iter().filter(|one| {
        one.hook.is_none()
            && !stages
                .iter()
                .any(|stage| stage.hook.is_none() && is_of(one, stage))
    });
    let (crds, rest): (Vec<_>, Vec<_>) = rest.partition(|one| one.is_crd_file);
    let own_stage = |name: &str, objects| PlannedStage {
        name: name.to_owned(),
        action: StageAction::Apply,
        kind: StageKind::Objects,
        objects,
        of_stack: None,
        is_due: true,
    };
    let crds = (!crds.is_empty()).then(|| own_stage(CRDS, crds));
    let chart = own_stage(CHART, sorted(rest.into_iter()));
    let own = stages
        .iter()
        .map(|stage| of_stack(stage, objects, [before, after]));
    let mut all: Vec<_> = crds.into_iter().chain(hooks(before)).chain([chart]).collect();
    all.extend(own);
    all.extend(hooks(after));
    all
}

/// A stage of the stack; `due` are the events of Helm's hooks that are due.
fn of_stack<'a>(stage: &'a StackStage, objects: &'a [ChartObject], due: [&str; 2]) -> PlannedStage<'a> {
    let mine = objects.iter().filter(|one| is_of(one, stage));
    let (kind, objects, is_due) = match &stage.hook {
        Some(event) => (
            StageKind::Hooks,
            mine.filter(|one| has_event(one, event)).collect(),
            due.contains(&event.as_str()),
        ),
        None => (
            StageKind::Objects,
            sorted(mine.filter(|one| one.hook.is_none())),
            true,
        ),
    };
    PlannedStage {
        name: stage.name.clone(),
        action: stage.action,
        kind,
        objects,
        of_stack: Some(stage),
        is_due,
    }
}

/// Whether objects of a stage with this phase are in the cluster, or are to be.
pub(super) fn is_kept(stage: &PlannedStage<'_>, phase: StagePhase) -> bool {
    stage.action == StageAction::Apply && phase != StagePhase::Skipped
}

fn has_event(object: &ChartObject, event: &str) -> bool {
    object
        .hook
        .as_ref()
        .is_some_and(|hook| hook.events.contains(&event))
}

fn is_of(object: &ChartObject, stage: &StackStage) -> bool {
    let rest = object.chart_path.strip_prefix(stage.chart_path.as_str());
    rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

/// Namespaces and CRDs first; the others are in install order already.
fn sorted<'a>(objects: impl Iterator<Item = &'a ChartObject>) -> Vec<&'a ChartObject> {
    let mut all: Vec<_> = objects.collect();
    all.sort_by_key(|one| install_phase(kind(one)));
    all
}

/// An object's kind.
pub(super) fn kind(object: &ChartObject) -> &str {
    object
        .object
        .get("kind")
        .and_then(serde_json::Value::as_str)
        .unwrap_or("")
}

#[cfg(test)]
mod tests {
    use super::super::objects::ChartHook;
    use super::*;
    use serde_json::json;

    fn object(kind: &str, name: &str, path: &str, events: &[&'static str]) -> ChartObject {
        ChartObject {
            object: json!({"apiVersion": "v1", "kind": kind, "metadata": {"name": name}}),
            chart_path: path.to_owned(),
            is_crd_file: false,
            hook: (!events.is_empty()).then(|| ChartHook {
                events: events.to_vec(),
                weight: 0,
                delete_policies: Vec::new(),
            }),
        }
    }

    fn stage(name: &str, path: &str, action: StageAction, hook: Option<&str>) -> StackStage {
        StackStage {
            name: name.to_owned(),
            chart_path: path.to_owned(),
            action,
            hook: hook.map(str::to_owned),
            wait_for: None,
            only_if: None,
        }
    }

    fn text(stages: &[PlannedStage<'_>]) -> Vec<String> {
        let names = |stage: &PlannedStage<'_>| {
            let names = stage
                .objects
                .iter()
                .map(|one| one.object["metadata"]["name"].as_str());
            names.flatten().collect::<Vec<_>>().join(" ")
        };
        let due = |stage: &PlannedStage<'_>| if stage.is_due { "" } else { " (not due)" };
        let lines = stages.iter();
        lines
            .map(|stage| format!("{}{}: {}", stage.name, due(stage), names(stage)))
            .collect()
    }

    fn objects() -> Vec<ChartObject> {
        vec![
            object("ConfigMap", "config", "", &[]),
            object("CustomResourceDefinition", "crd", "", &[]),
            object("Namespace", "ns", "", &[]),
            object("Deployment", "db", "db", &[]),
            object("Deployment", "inner", "db/inner", &[]),
            object("Deployment", "dbx", "dbx", &[]),
            object("Job", "first", "", &["pre-install"]),
            object("Job", "always", "", &["post-install", "post-upgrade"]),
            object("Job", "migrate", "db", &["pre-upgrade"]),
            object("Job", "never", "", &["pre-delete"]),
            ChartObject {
                is_crd_file: true,
                ..object("CustomResourceDefinition", "file", "", &[])
            },
            ChartObject {
                is_crd_file: true,
                ..object("CustomResourceDefinition", "dbfile", "db", &[])
            },
        ]
    }

    #[test]
    fn hooks_and_stages_come_in_their_order() {
        let objects = objects();
        let none = plan(&objects, &[], true);
        assert_eq!(
            text(&none),
            [
                // As in Helm, before hooks, which may need them.
                "crds: file dbfile",
                "pre-install: first",
                "chart: ns crd config db inner dbx",
                "post-install: always"
            ]
        );
        let stages = [
            stage("old", "dbx", StageAction::Delete, None),
            stage("db", "db", StageAction::Apply, None),
            stage("migrate", "db", StageAction::Apply, Some("pre-upgrade")),
        ];
        assert_eq!(
            text(&plan(&objects, &stages, true)),
            [
                "crds: file",
                "pre-install: first",
                "chart: ns crd config",
                "old: dbx",
                "db: dbfile db inner",
                "migrate (not due): migrate",
                "post-install: always"
            ]
        );
        let later = plan(&objects, &stages, false);
        assert_eq!(
            text(&later),
            [
                "crds: file",
                "chart: ns crd config",
                "old: dbx",
                "db: dbfile db inner",
                "migrate: migrate",
                "post-upgrade: always"
            ]
        );
        let kept: Vec<bool> = later
            .iter()
            .map(|stage| is_kept(stage, StagePhase::Completed))
            .collect();
        assert_eq!(kept, [true, true, false, true, true, true]);
        assert!(!is_kept(&later[0], StagePhase::Skipped));
    }
}
