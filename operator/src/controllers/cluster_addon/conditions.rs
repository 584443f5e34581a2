//! The conditions of an addon. Pure.

use crate::runtime::conditions::{Finding, READY, STALLED};

/// The types, in the order in which they become true.
pub(super) const CLUSTER_READY: &str = "ClusterReady";
pub(super) const CHART_DOWNLOADED: &str = "ChartDownloaded";
pub(super) const VALUES_TEMPLATED: &str = "ValuesTemplated";
pub(super) const CHART_APPLIED: &str = "ChartApplied";
pub(super) const STAGES_COMPLETED: &str = "StagesCompleted";

const STEPS: [&str; 5] = [
    CLUSTER_READY,
    CHART_DOWNLOADED,
    VALUES_TEMPLATED,
    CHART_APPLIED,
    STAGES_COMPLETED,
];

/// The reasons.
pub(super) mod reasons {
    /// A step is done, or all are.
    pub(crate) const SUCCEEDED: &str = "Succeeded";
    pub(crate) const CONTROL_PLANE_NOT_READY: &str = "ControlPlaneNotReady";
    pub(crate) const KUBECONFIG_MISSING: &str = "KubeconfigMissing";
    pub(crate) const KUBECONFIG_REFUSED: &str = "KubeconfigRefused";
    pub(crate) const CLUSTER_UNREACHABLE: &str = "ClusterUnreachable";
    pub(crate) const VERSION_NOT_SUPPORTED: &str = "KubernetesVersionNotSupported";
    pub(crate) const NOT_DOWNLOADED_YET: &str = "ReleaseAssetsNotDownloadedYet";
    pub(crate) const DOWNLOAD_FAILED: &str = "DownloadFailed";
    pub(crate) const TEMPLATE_FAILED: &str = "TemplateFailed";
    pub(crate) const RENDER_FAILED: &str = "RenderFailed";
    pub(crate) const FAILED_TO_APPLY: &str = "FailedToApplyObjects";
    pub(crate) const FAILED_TO_DELETE: &str = "FailedToDeleteObjects";
    pub(crate) const STAGE_RUNNING: &str = "StageRunning";
    pub(crate) const STAGE_FAILED: &str = "StageFailed";
    pub(crate) const WAITING_FOR_TURN: &str = "WaitingForTurn";
    pub(crate) const DELETING: &str = "Deleting";
}

/// Why a reconcile goes no further.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Halt {
    /// The condition that is not true.
    pub(super) step: &'static str,
    pub(super) reason: &'static str,
    pub(super) message: String,
    /// Whether somebody has to change something first.
    pub(super) is_stalled: bool,
}

impl Halt {
    /// It gets further by itself.
    pub(super) fn wait(step: &'static str, reason: &'static str, message: impl Into<String>) -> Self {
        Self {
            step,
            reason,
            message: message.into(),
            is_stalled: false,
        }
    }

    /// Somebody has to change something first.
    pub(super) fn stall(step: &'static str, reason: &'static str, message: impl Into<String>) -> Self {
        Self {
            is_stalled: true,
            ..Self::wait(step, reason, message)
        }
    }
}

/// What was found: the steps before the one that halted are true, those after it are kept as they were. While a stage
/// that precedes the chart runs, the chart is not applied (`is_applied`).
pub(super) fn findings(halt: Option<&Halt>, message: &str, is_applied: bool) -> Vec<Finding<&'static str>> {
    let finding = |kind, status, reason, message: &str| Finding {
        kind,
        status,
        reason,
        message: message.to_owned(),
    };
    let Some(halt) = halt else {
        let done = STEPS.map(|step| finding(step, "True", reasons::SUCCEEDED, ""));
        let ready = finding(READY, "True", reasons::SUCCEEDED, message);
        return done.into_iter().chain([ready]).collect();
    };
    let mut all = Vec::new();
    for step in STEPS {
        if step == halt.step || (step == CHART_APPLIED && !is_applied) {
            all.push(finding(step, "False", halt.reason, &halt.message));
            if step == halt.step {
                break;
            }
            continue;
        }
        all.push(finding(step, "True", reasons::SUCCEEDED, ""));
    }
    all.push(finding(READY, "False", halt.reason, &halt.message));
    if halt.is_stalled {
        all.push(finding(STALLED, "True", halt.reason, &halt.message));
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(all: &[Finding<&'static str>]) -> String {
        let parts = all
            .iter()
            .map(|one| format!("{}={}/{}", one.kind, one.status, one.reason));
        parts.collect::<Vec<_>>().join(" ")
    }

    /// A failed template once ended ready.
    #[test]
    fn the_step_that_halts_is_false_and_ready_says_why() {
        let failed = Halt::stall(VALUES_TEMPLATED, reasons::TEMPLATE_FAILED, "line 2");
        assert_eq!(
            text(&findings(Some(&failed), "", false)),
            "ClusterReady=True/Succeeded ChartDownloaded=True/Succeeded ValuesTemplated=False/TemplateFailed \
             Ready=False/TemplateFailed Stalled=True/TemplateFailed"
        );
        let wait = Halt::wait(CLUSTER_READY, reasons::CLUSTER_UNREACHABLE, "no answer");
        assert_eq!(
            text(&findings(Some(&wait), "", true)),
            "ClusterReady=False/ClusterUnreachable Ready=False/ClusterUnreachable"
        );
        assert_eq!(
            text(&findings(None, "applied", true)),
            "ClusterReady=True/Succeeded ChartDownloaded=True/Succeeded ValuesTemplated=True/Succeeded \
             ChartApplied=True/Succeeded StagesCompleted=True/Succeeded Ready=True/Succeeded"
        );
    }
    /// ChartApplied was once true while a hook before the chart was still running.
    #[test]
    fn the_chart_is_not_applied_while_a_stage_before_it_runs() {
        let running = Halt::wait(STAGES_COMPLETED, reasons::STAGE_RUNNING, "stage pre-install");
        let of = |is_applied| {
            let found = findings(Some(&running), "", is_applied);
            found.get(3..).map(text).unwrap_or_default()
        };
        assert_eq!(
            of(false),
            "ChartApplied=False/StageRunning StagesCompleted=False/StageRunning Ready=False/StageRunning"
        );
        assert_eq!(
            of(true),
            "ChartApplied=True/Succeeded StagesCompleted=False/StageRunning Ready=False/StageRunning"
        );
    }
}
