//! The status of a Target: its Releases one by one, and the last bootstrap chart that was pushed.

use std::collections::BTreeMap;

use super::bootstrap::RenderedRelease;
use super::release_task::PlanError;
use super::resolver::Filtered;
use super::task_state::TaskState;
use crate::api::pipeline::{ObjectKey, ReleaseState, TargetRelease};

/// A Release that is bound to a Target, and its progress.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BoundRelease {
    /// Its effective unique name, if it is known.
    pub unique_name: Option<String>,
    /// The ReleaseBinding.
    pub binding: ObjectKey,
    /// The Release.
    pub release: ObjectKey,
    /// Its progress.
    pub progress: Progress,
}

/// The progress of a bound Release.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Progress {
    /// It is filtered.
    Filtered {
        /// Why.
        message: String,
    },
    /// The Release, its ComponentVersion or a grant is missing.
    Missing {
        /// What is missing.
        message: String,
    },
    /// No RenderTask can be created.
    Refused(PlanError),
    /// Its RenderTask exists.
    Task {
        /// The RenderTask.
        task: ObjectKey,
        /// The path and tag of its chart.
        chart: RenderedRelease,
        /// The task's state.
        state: TaskState,
    },
}

impl BoundRelease {
    /// A Release that the resolver has filtered.
    pub fn filtered(filtered: &Filtered) -> Self {
        Self {
            unique_name: Some(filtered.candidate.unique_name.clone()),
            binding: filtered.candidate.binding.clone(),
            release: filtered.candidate.release.clone(),
            progress: Progress::Filtered {
                message: filtered.to_string(),
            },
        }
    }

    /// Its entry in the Target's status.
    pub fn reported(&self) -> TargetRelease {
        let Self {
            unique_name,
            binding,
            release,
            progress,
        } = self;
        let mut reported = TargetRelease {
            unique_name: unique_name.clone(),
            binding: binding.to_string(),
            release: release.to_string(),
            ..TargetRelease::default()
        };
        reported.state = match progress {
            Progress::Filtered { .. } => ReleaseState::Filtered,
            Progress::Missing { .. } => ReleaseState::Missing,
            Progress::Refused(_) => ReleaseState::Failed,
            Progress::Task { task, state, .. } => {
                reported.render_task = Some(task.to_string());
                match state {
                    TaskState::Pending { .. } => ReleaseState::Pending,
                    TaskState::Failed { .. } => ReleaseState::Failed,
                    TaskState::Rendered { chart_url, digest } => {
                        reported.chart_url = Some(chart_url.clone());
                        reported.digest.clone_from(digest);
                        ReleaseState::Rendered
                    }
                }
            }
        };
        reported
    }

    /// Its message in the condition ReleasesRendered.
    pub fn message(&self) -> String {
        let name = &self.release;
        match &self.progress {
            Progress::Filtered { message } => message.clone(),
            Progress::Missing { message } => format!("Release {name}: {message}"),
            Progress::Refused(error) => format!("Release {name}: {error}"),
            Progress::Task { state, .. } => match state {
                TaskState::Pending { message } => format!("Release {name}: {message}"),
                TaskState::Rendered { .. } => format!("Release {name}: rendered"),
                TaskState::Failed { reason, message } => format!("Release {name}: {reason}: {message}"),
            },
        }
    }
}

/// The Releases in a Target's status, by unique name, then by binding.
pub fn reported(releases: &[BoundRelease]) -> Vec<TargetRelease> {
    let mut sorted: Vec<&BoundRelease> = releases.iter().collect();
    sorted.sort_by_key(|one| (&one.unique_name, &one.binding));
    sorted.into_iter().map(BoundRelease::reported).collect()
}

/// The inputs of the bootstrap chart, once the charts of all accepted Releases are in the registry.
pub fn rendered(releases: &[BoundRelease]) -> Option<BTreeMap<String, RenderedRelease>> {
    let accepted = releases
        .iter()
        .filter(|one| !matches!(one.progress, Progress::Filtered { .. }));
    let rendered: BTreeMap<String, RenderedRelease> = accepted
        .map(|one| match &one.progress {
            Progress::Task {
                chart,
                state: TaskState::Rendered { .. },
                ..
            } => Some((one.unique_name.clone()?, chart.clone())),
            _ => None,
        })
        .collect::<Option<_>>()?;
    (!rendered.is_empty()).then_some(rendered)
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use serde_json::json;

    pub(crate) fn bound(name: &str, progress: Progress) -> BoundRelease {
        BoundRelease {
            unique_name: Some(name.to_owned()),
            binding: ObjectKey::new("a", &format!("b-{name}")),
            release: ObjectKey::new("a", name),
            progress,
        }
    }

    pub(crate) fn task(name: &str, state: TaskState) -> Progress {
        Progress::Task {
            task: ObjectKey::new("system", &format!("render-rel-{name}")),
            chart: RenderedRelease {
                name: name.to_owned(),
                repository: format!("t/a/release-{name}"),
                tag: "v0.0.1-0".into(),
            },
            state,
        }
    }

    pub(crate) fn pushed() -> TaskState {
        TaskState::Rendered {
            chart_url: "oci://h/x:1".into(),
            digest: Some("sha256:1".into()),
        }
    }

    fn failed() -> TaskState {
        TaskState::Failed {
            reason: "AuthFailed".into(),
            message: "401".into(),
        }
    }

    /// One failed release once hid the state of all others.
    #[test]
    fn every_release_is_reported_with_its_own_state() {
        let pending = TaskState::Pending {
            message: "JobScheduled: 1 active".into(),
        };
        let releases = [
            bound("e", Progress::Missing { message: "m".into() }),
            bound("d", task("d", failed())),
            bound("c", task("c", pending)),
            bound("b", task("b", pushed())),
            bound("a", Progress::Filtered { message: "f".into() }),
        ];
        let states: Vec<_> = reported(&releases).iter().map(|one| one.state).collect();
        assert_eq!(
            states,
            [
                ReleaseState::Filtered,
                ReleaseState::Rendered,
                ReleaseState::Pending,
                ReleaseState::Failed,
                ReleaseState::Missing
            ]
        );
        let one = serde_json::to_value(&reported(&releases)[1]).expect("JSON");
        assert_eq!(
            one,
            json!({
                "uniqueName": "b", "binding": "a/b-b", "release": "a/b", "renderTask": "system/render-rel-b",
                "chartURL": "oci://h/x:1", "digest": "sha256:1", "state": "Rendered",
            })
        );
        assert_eq!(releases[1].message(), "Release a/d: AuthFailed: 401");
    }

    #[test]
    fn the_bootstrap_waits_for_all_accepted_releases() {
        let filtered = || bound("f", Progress::Filtered { message: "f".into() });
        let one = || bound("a", task("a", pushed()));
        assert_eq!(rendered(&[]), None);
        assert_eq!(rendered(&[filtered()]), None);
        let all = rendered(&[one(), filtered()]).expect("all are there");
        assert_eq!(all.keys().collect::<Vec<_>>(), ["a"]);
        assert_eq!(all["a"].repository, "t/a/release-a");
        for other in [
            task("b", failed()),
            task(
                "b",
                TaskState::Pending {
                    message: String::new(),
                },
            ),
            Progress::Missing {
                message: String::new(),
            },
            Progress::Refused(PlanError::PathTooLong {
                repository: String::new(),
            }),
        ] {
            assert_eq!(rendered(&[one(), bound("b", other)]), None);
        }
    }
}
