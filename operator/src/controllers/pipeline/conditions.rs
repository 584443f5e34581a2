//! The conditions of the pipeline's kinds, derived from their states. Types and reasons are SolAr's; Ready and Stalled
//! are added for `kubectl wait` and kstatus.
//!
//! Ready is True when the spec is fulfilled, Unknown while progress continues by itself, and False when a user must
//! act. Stalled is set when something has failed that is not retried: nothing happens until a user acts.

use super::references::Holder;
use super::release_task::PlanError;
use super::signing::{SigningProblem, TargetSigning};
use super::target_status::{BoundRelease, Progress};
use super::task_state::TaskState;
use crate::api::pipeline::{KEEPS_TAG, ObjectKey, SigningKeys, USABLE};
use crate::jobs::conditions::kinds;
use crate::runtime::conditions::{ConditionReason, Finding};

/// The types of conditions other than Ready and Stalled.
pub mod types {
    /// Whether a Target's render registry can be used.
    pub const REGISTRY_RESOLVED: &str = "RegistryResolved";
    /// Whether the Releases for the Target could be chosen.
    pub const RELEASES_RESOLVED: &str = "ReleasesResolved";
    /// Whether there is a key pair to sign a Target's charts with, if they are signed.
    pub const SIGNING_KEY_READY: &str = "SigningKeyReady";
    /// Whether the charts of these are in the registry.
    pub const RELEASES_RENDERED: &str = "ReleasesRendered";
    /// Whether the bootstrap chart is in the registry.
    pub const BOOTSTRAP_READY: &str = "BootstrapReady";
    /// Whether a Release's component version can be used.
    pub const COMPONENT_VERSION_RESOLVED: &str = "ComponentVersionResolved";
    /// Whether the tag of a chart that is no longer needed could be deleted.
    pub const OCI_CLEANUP: &str = "OCICleanup";
}

/// The maximum length of a message, in bytes: API servers accept 32 KiB, and it names 200 Releases.
const MAX_MESSAGE: usize = 32_000;
/// How many referring objects a message names.
const MAX_HOLDERS: usize = 10;

/// The reason of a condition.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Reason {
    /// The referenced object exists and may be used; or some of the bound Releases were filtered.
    Resolved,
    /// The referenced object doesn't exist.
    NotFound,
    /// It is in another namespace, which does not grant the reference.
    NotGranted,
    /// The render registry has no push credentials.
    MissingSolarSecretRef,
    /// In strict mode, no RegistryBinding is for a host.
    MissingRegistryBinding,
    /// All bound Releases are accepted.
    NoConflicts,
    /// No Release is bound.
    NoReleaseBindings,
    /// All charts of accepted Releases are in the registry.
    AllRendered,
    /// Something is in progress.
    Pending,
    /// A Release, ComponentVersion or grant is missing.
    MissingDependencies,
    /// A Release's chart can't be rendered or pushed.
    ReleaseFailed,
    /// All bound Releases are filtered.
    AllReleaseBindingsFiltered,
    /// The spec is fulfilled.
    Ready,
    /// The bootstrap chart can't be rendered or pushed.
    Failed,
    /// The object is being deleted, but others refer to it.
    InUse,
    /// A ReleaseBinding of a Profile can't be created or can't be deleted.
    BindingStuck,
    /// There are no credentials for deleting a tag, or the registry refuses them.
    AuthFailed,
    /// The registry refuses to delete a tag.
    DeleteFailed,
    /// Two key pairs are in use, until the older one has handed over.
    Rotating,
    /// The Secret of a key pair has the name of one that is not ours, or another key.
    NameConflict,
    /// The Secret of a key pair was deleted.
    SignKeySecretNotFound,
    /// The API server refuses the Secret of a key pair.
    Rejected,
}

impl ConditionReason for Reason {
    const MAX_MESSAGE: usize = MAX_MESSAGE;

    fn name(self) -> &'static str {
        match self {
            Self::Resolved => "Resolved",
            Self::NotFound => "NotFound",
            Self::NotGranted => "NotGranted",
            Self::MissingSolarSecretRef => "MissingSolarSecretRef",
            Self::MissingRegistryBinding => "MissingRegistryBinding",
            Self::NoConflicts => "NoConflicts",
            Self::NoReleaseBindings => "NoReleaseBindings",
            Self::AllRendered => "AllRendered",
            Self::Pending => "Pending",
            Self::MissingDependencies => "MissingDependencies",
            Self::ReleaseFailed => "ReleaseFailed",
            Self::AllReleaseBindingsFiltered => "AllReleaseBindingsFiltered",
            Self::Ready => "Ready",
            Self::Failed => "Failed",
            Self::InUse => "InUse",
            Self::BindingStuck => "BindingStuck",
            Self::AuthFailed => "AuthFailed",
            Self::DeleteFailed => "DeleteFailed",
            Self::Rotating => "Rotating",
            Self::NameConflict => "NameConflict",
            Self::SignKeySecretNotFound => "SignKeySecretNotFound",
            Self::Rejected => "Rejected",
        }
    }
}

/// The result of resolving a reference.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Reference {
    /// The referenced object exists and may be used.
    Resolved(ObjectKey),
    /// It doesn't exist.
    NotFound {
        /// Its kind.
        kind: &'static str,
        /// Its namespace and name.
        key: ObjectKey,
    },
    /// The reference is not granted.
    NotGranted {
        /// The grant that is missing.
        missing: String,
    },
    /// A render registry without push credentials.
    MissingSolarSecretRef(ObjectKey),
}

/// The state of a Target's bootstrap chart.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Bootstrap {
    /// Its RenderTask.
    pub task: ObjectKey,
    /// The state of the RenderTask.
    pub state: TaskState,
}

/// The state of a Target.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TargetState<'a> {
    /// Its render registry.
    pub registry: Reference,
    /// The Releases that are bound to it.
    pub releases: &'a [BoundRelease],
    /// Where it stands with signing, if its charts are signed.
    pub signing: Option<&'a TargetSigning>,
    /// Its bootstrap chart for the present input, once all charts of Releases are there.
    pub bootstrap: Option<Result<Bootstrap, PlanError>>,
}

type Findings = Vec<Finding<Reason>>;

impl Reference {
    fn finding(&self, kind: &'static str) -> Finding<Reason> {
        match self {
            Self::Resolved(key) => finding(kind, "True", Reason::Resolved, key.to_string()),
            Self::NotFound { kind: of, key } => {
                let message = format!("{of} {key} doesn't exist");
                finding(kind, "False", Reason::NotFound, message)
            }
            Self::NotGranted { missing } => finding(kind, "False", Reason::NotGranted, missing.clone()),
            Self::MissingSolarSecretRef(key) => {
                let message = format!("Registry {key} has no solarSecretRef, which is required for pushing");
                finding(kind, "False", Reason::MissingSolarSecretRef, message)
            }
        }
    }
}

/// The conditions of a Target.
pub fn target(state: &TargetState<'_>) -> Findings {
    let TargetState {
        registry,
        releases,
        signing,
        bootstrap,
    } = state;
    let mut findings = vec![
        registry.finding(types::REGISTRY_RESOLVED),
        releases_resolved(releases),
    ];
    if matches!(registry, Reference::Resolved(_)) {
        findings.extend(signing.map(signing_key_ready));
        findings.push(releases_rendered(releases));
        findings.extend(bootstrap_ready(bootstrap.as_ref()));
    }
    let ready = target_ready(&findings);
    let stalled = is_stalled(state, ready.reason)
        .then(|| finding(kinds::STALLED, "True", ready.reason, ready.message.clone()));
    findings.push(ready);
    findings.extend(stalled);
    findings
}

/// Whether something has failed that is not retried; `reason` is that of Ready. What a watch delivers, such as a missing
/// Registry, is waited for.
fn is_stalled(state: &TargetState<'_>, reason: Reason) -> bool {
    match reason {
        Reason::ReleaseFailed => state.releases.iter().any(|release| match &release.progress {
            Progress::Refused(PlanError::MissingRegistryBinding { .. }) => false,
            Progress::Refused(error) => !error.is_retried(),
            Progress::Task { state, .. } => state.has_failed_for_good(),
            Progress::Filtered { .. } | Progress::Missing { .. } => false,
        }),
        Reason::Failed => match &state.bootstrap {
            Some(Ok(bootstrap)) => bootstrap.state.has_failed_for_good(),
            Some(Err(error)) => !error.is_retried(),
            None => false,
        },
        Reason::NameConflict | Reason::SignKeySecretNotFound => true,
        _ => false,
    }
}

/// Ready follows from the first condition that isn't True, in the order of the pipeline.
fn target_ready(findings: &[Finding<Reason>]) -> Finding<Reason> {
    let last = findings.last().filter(|last| last.kind == types::BOOTSTRAP_READY);
    let open = findings.iter().find(|one| one.status != "True").or(last);
    let Some(Finding {
        status,
        reason,
        message,
        ..
    }) = open
    else {
        return finding(
            kinds::READY,
            "Unknown",
            Reason::Pending,
            "the bootstrap chart has not been started",
        );
    };
    let status = if *reason == Reason::Pending {
        "Unknown"
    } else {
        status
    };
    finding(kinds::READY, status, *reason, message.clone())
}

fn releases_resolved(releases: &[BoundRelease]) -> Finding<Reason> {
    let kind = types::RELEASES_RESOLVED;
    if releases.is_empty() {
        return no_bindings(kind);
    }
    let filtered: Vec<&str> = releases
        .iter()
        .filter_map(|one| match &one.progress {
            Progress::Filtered { message } => Some(message.as_str()),
            _ => None,
        })
        .collect();
    if filtered.is_empty() {
        let message = format!("all {} bound Releases are accepted", releases.len());
        return finding(kind, "True", Reason::NoConflicts, message);
    }
    let message = format!("filtered: {}", filtered.join("; "));
    finding(kind, "True", Reason::Resolved, message)
}

fn releases_rendered(releases: &[BoundRelease]) -> Finding<Reason> {
    let kind = types::RELEASES_RENDERED;
    if releases.is_empty() {
        return no_bindings(kind);
    }
    let accepted: Vec<&BoundRelease> = releases
        .iter()
        .filter(|one| !matches!(one.progress, Progress::Filtered { .. }))
        .collect();
    if accepted.is_empty() {
        let message = "all bound Releases are filtered";
        return finding(kind, "False", Reason::AllReleaseBindingsFiltered, message);
    }
    let open: Vec<(Reason, &BoundRelease)> = accepted
        .iter()
        .filter_map(|one| Some((open_reason(&one.progress)?, *one)))
        .collect();
    // Failures take precedence over what is still in progress.
    let Some(reason) = open
        .iter()
        .map(|(reason, _)| *reason)
        .min_by_key(|reason| rank(*reason))
    else {
        let message = format!(
            "the charts of all {} Releases are in the registry",
            accepted.len()
        );
        return finding(kind, "True", Reason::AllRendered, message);
    };
    let mut messages: Vec<(u8, String)> = open
        .iter()
        .map(|(reason, one)| (rank(*reason), one.message()))
        .collect();
    messages.sort();
    let messages: Vec<String> = messages.into_iter().map(|(_, message)| message).collect();
    let done = accepted.len() - open.len();
    let message = format!("{done} of {} rendered; {}", accepted.len(), messages.join("; "));
    finding(kind, "False", reason, message)
}

/// Why a Release is not rendered; `None` if it is, or is filtered.
fn open_reason(progress: &Progress) -> Option<Reason> {
    match progress {
        Progress::Filtered { .. } => None,
        Progress::Missing { .. } => Some(Reason::MissingDependencies),
        Progress::Refused(PlanError::MissingRegistryBinding { .. }) => Some(Reason::MissingRegistryBinding),
        Progress::Refused(_) => Some(Reason::ReleaseFailed),
        Progress::Task { state, .. } => match state {
            TaskState::Rendered { .. } => None,
            TaskState::Failed { .. } => Some(Reason::ReleaseFailed),
            TaskState::Pending { .. } => Some(Reason::Pending),
        },
    }
}

fn rank(reason: Reason) -> u8 {
    match reason {
        Reason::ReleaseFailed => 0,
        Reason::MissingRegistryBinding => 1,
        Reason::MissingDependencies => 2,
        _ => 3,
    }
}

fn signing_key_ready(signing: &TargetSigning) -> Finding<Reason> {
    let kind = types::SIGNING_KEY_READY;
    if let Some(problem) = &signing.problem {
        let reason = match problem {
            SigningProblem::NameConflict { .. } => Reason::NameConflict,
            SigningProblem::NotFound { .. } => Reason::SignKeySecretNotFound,
            SigningProblem::Rejected { .. } => Reason::Rejected,
        };
        return finding(kind, "False", reason, problem.to_string());
    }
    let SigningKeys {
        current, previous, ..
    } = &signing.keys;
    match (current, previous) {
        (None, _) => finding(kind, "Unknown", Reason::Pending, "the key pair is not made yet"),
        (Some(current), None) => {
            let message = format!("key pair {} signs, Secret {}", current.number, current.secret());
            finding(kind, "True", Reason::Ready, message)
        }
        (Some(current), Some(previous)) => {
            let message = format!(
                "key pair {} signs the charts of Releases, Secret {}; the bootstrap chart that brings both public keys is \
                 signed by {}, Secret {}, until there is other content",
                current.number,
                current.secret(),
                previous.number,
                previous.secret()
            );
            finding(kind, "True", Reason::Rotating, message)
        }
    }
}

fn bootstrap_ready(bootstrap: Option<&Result<Bootstrap, PlanError>>) -> Option<Finding<Reason>> {
    let kind = types::BOOTSTRAP_READY;
    let bootstrap = match bootstrap? {
        Ok(bootstrap) => bootstrap,
        Err(error) => return Some(finding(kind, "False", Reason::Failed, error.to_string())),
    };
    let Bootstrap { task, state } = bootstrap;
    Some(match state {
        TaskState::Rendered { chart_url, digest } => {
            let digest = digest
                .as_ref()
                .map_or(String::new(), |digest| format!("@{digest}"));
            finding(kind, "True", Reason::Ready, format!("{chart_url}{digest}"))
        }
        // The number is raised, and another task replaces it.
        state if state.is_conflict() => {
            let message = format!("RenderTask {task}: its tag has another chart; trying the next number");
            finding(kind, "Unknown", Reason::Pending, message)
        }
        TaskState::Failed { reason, message } => {
            let message = format!("RenderTask {task}: {reason}: {message}");
            finding(kind, "False", Reason::Failed, message)
        }
        TaskState::Pending { message } => {
            let message = format!("RenderTask {task}: {message}");
            finding(kind, "Unknown", Reason::Pending, message)
        }
    })
}

/// The conditions of a Release.
pub fn release(version: &Reference, held_by: &[Holder]) -> Findings {
    let resolved = version.finding(types::COMPONENT_VERSION_RESOLVED);
    let ready = ready_of(&resolved, held_by);
    vec![resolved, ready]
}

/// The conditions of a ReleaseBinding or a RegistryBinding: both ends must exist, and the Target's namespace must grant
/// the reference.
pub fn binding(ends: &[Reference]) -> Findings {
    let findings = ends.iter().map(|end| end.finding(kinds::READY));
    let worst = findings.min_by_key(|finding| finding.status == "True");
    let ready = worst.filter(|finding| finding.status != "True");
    vec![ready.unwrap_or_else(|| finding(kinds::READY, "True", Reason::Ready, "both ends exist"))]
}

/// The conditions of a RenderBinding: only its RenderArtifact may be missing.
pub fn render_binding(artifact: &Reference) -> Findings {
    let ready = artifact.finding(kinds::READY);
    vec![match ready.status {
        "True" => finding(kinds::READY, "True", Reason::Ready, KEEPS_TAG),
        _ => ready,
    }]
}

/// The conditions of a Registry or a ComponentVersion: `held_by` is empty unless it is being deleted.
pub fn referenced(held_by: &[Holder]) -> Findings {
    vec![in_use(held_by).unwrap_or_else(|| finding(kinds::READY, "True", Reason::Ready, USABLE))]
}

/// The state of a Profile.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProfileState<'a> {
    /// Its Release.
    pub release: Reference,
    /// How many Targets match.
    pub matched: usize,
    /// Its bindings that are being deleted, with the finalizers that keep them.
    pub stuck: &'a std::collections::BTreeMap<String, Vec<String>>,
    /// Names of its bindings that other objects have.
    pub taken: &'a [String],
}

/// The conditions of a Profile.
pub fn profile(state: &ProfileState<'_>) -> Findings {
    let ProfileState {
        release,
        matched,
        stuck,
        taken,
    } = state;
    let release = release.finding(kinds::READY);
    if release.status != "True" {
        return vec![release];
    }
    let mut problems: Vec<String> = stuck
        .iter()
        .map(|(name, finalizers)| format!("ReleaseBinding {name} is kept by {}", finalizers.join(", ")))
        .collect();
    problems.extend(
        taken
            .iter()
            .map(|name| format!("ReleaseBinding {name} is not this Profile's")),
    );
    if !problems.is_empty() {
        let message = problems.join("; ");
        return vec![finding(kinds::READY, "False", Reason::BindingStuck, message)];
    }
    let message = format!("{matched} Targets match");
    vec![finding(kinds::READY, "True", Reason::Ready, message)]
}

/// The state of a RenderArtifact.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ArtifactState {
    /// It is in use.
    Used,
    /// It is being deleted, but is in use.
    Held {
        /// The RenderBindings that use it.
        by: Vec<String>,
    },
    /// Its tag is being deleted.
    Cleaning,
    /// Its tag can't be deleted yet; the deletion is requeued.
    CleanupFailed {
        /// AuthFailed or DeleteFailed.
        reason: Reason,
        /// The human-readable message.
        message: String,
    },
}

/// The conditions of a RenderArtifact.
pub fn artifact(state: &ArtifactState) -> Findings {
    match state {
        ArtifactState::Used => vec![finding(
            kinds::READY,
            "True",
            Reason::Ready,
            "the chart is in the registry",
        )],
        ArtifactState::Held { by } => {
            let message = format!("it can't be deleted: RenderBindings {} are left", by.join(", "));
            vec![finding(kinds::READY, "False", Reason::InUse, message)]
        }
        ArtifactState::Cleaning => vec![finding(
            kinds::READY,
            "Unknown",
            Reason::Pending,
            "the tag is being deleted",
        )],
        ArtifactState::CleanupFailed { reason, message } => vec![
            finding(types::OCI_CLEANUP, "False", *reason, message.clone()),
            finding(kinds::READY, "False", *reason, message.clone()),
        ],
    }
}

fn ready_of(finding_of: &Finding<Reason>, held_by: &[Holder]) -> Finding<Reason> {
    if let Some(in_use) = in_use(held_by) {
        return in_use;
    }
    let Finding {
        status,
        reason,
        message,
        ..
    } = finding_of;
    if *status == "True" {
        finding(kinds::READY, "True", Reason::Ready, message.clone())
    } else {
        finding(kinds::READY, status, *reason, message.clone())
    }
}

/// The condition of an object that is being deleted while others refer to it.
fn in_use(held_by: &[Holder]) -> Option<Finding<Reason>> {
    if held_by.is_empty() {
        return None;
    }
    let names: Vec<String> = held_by
        .iter()
        .take(MAX_HOLDERS)
        .map(|Holder { kind, key }| format!("{kind} {key}"))
        .collect();
    let more = match held_by.len().saturating_sub(MAX_HOLDERS) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    let verb = if held_by.len() == 1 { "refers" } else { "refer" };
    let message = format!("it can't be deleted: {}{more} {verb} to it", names.join(", "));
    Some(finding(kinds::READY, "False", Reason::InUse, message))
}

fn no_bindings(kind: &'static str) -> Finding<Reason> {
    finding(
        kind,
        "False",
        Reason::NoReleaseBindings,
        "no ReleaseBinding names this Target",
    )
}

fn finding(
    kind: &'static str,
    status: &'static str,
    reason: Reason,
    message: impl Into<String>,
) -> Finding<Reason> {
    Finding {
        kind,
        status,
        reason,
        message: message.into(),
    }
}

#[cfg(test)]
mod tests;
