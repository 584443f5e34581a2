//! The steps to a cluster that has its chart: connected, chart on disk, values templated, rendered. Each of them may end
//! the reconcile; `rollout` and `drift` do the rest.

use std::collections::BTreeMap;
use std::time::{Duration, SystemTime};

use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};
use solar_render::engine::RenderRequest;
use solar_render::semver::{Constraint, Version};

use super::addon::{ClusterAddons, FAILED_WAIT, STALLED_WAIT, WAIT};
use super::chart_cache::{ChartArchive, ChartState, ChartVersionOrDigest};
use super::cluster::ClusterView;
use super::conditions::{
    CHART_APPLIED, CHART_DOWNLOADED, CLUSTER_READY, Halt, STAGES_COMPLETED, VALUES_TEMPLATED, reasons,
};
use super::evaluate::{Answer, Question};
use super::objects::{self, RenderedObjects, hex};
use super::pass::{End, Pass};
use super::stack_rollout::values_hash;
use super::{chart_request, drift, rollout, scope, secrets};
use crate::api::cluster_addons::{AppliedVersion, ClusterAddonSpec, ClusterStackSpec};
use crate::runtime::Error;
use crate::runtime::views::Object;

/// What prereleases of Kubernetes itself begin with; another suffix is a provider's (`-eks-`, `-gke.`).
const PRERELEASES: [&str; 3] = ["alpha", "beta", "rc"];

/// Whether the addon isn't written for the stack as it is now, or the cluster not initialized.
fn too_early(pass: &Pass<'_>, cluster: &Object<ClusterView>, stack: &ClusterStackSpec) -> Option<End> {
    if values_hash(stack) != pass.spec.values_hash || stack.stages != pass.spec.stages {
        return Some(End::NotItsTurn);
    }
    if cluster.view().is_some_and(ClusterView::is_initialized) {
        return None;
    }
    let message = "the control plane is not initialized";
    let halt = Halt::wait(CLUSTER_READY, reasons::CONTROL_PLANE_NOT_READY, message);
    Some(End::Halted(halt, Some(WAIT)))
}

impl ClusterAddons {
    pub(super) async fn steps(
        &self,
        pass: &mut Pass<'_>,
        cluster: &Object<ClusterView>,
        stack: &ClusterStackSpec,
    ) -> Result<End, Error> {
        let (cx, key) = (pass.cx, pass.key);
        if let Some(end) = too_early(pass, cluster, stack) {
            return Ok(end);
        }
        let mut workload = match secrets::connect(cx, &key.namespace, &cluster.name().name).await? {
            Ok(workload) => workload,
            Err(halt) => return Ok(End::Halted(halt, Some(WAIT))),
        };
        let archive = match self.archive(pass, stack).await? {
            Ok(archive) => archive,
            Err((halt, after)) => return Ok(End::Halted(halt, Some(after))),
        };
        let whole = scope::cluster(cx, self.0.settings.version, cluster).await?;
        let (request, applied, only_if) = match self
            .values(pass, cluster, stack, (&whole, &workload.version))
            .await?
        {
            Ok(values) => values,
            Err(halt) => return Ok(End::Halted(halt, Some(STALLED_WAIT))),
        };
        let last = pass.known.last_applied.as_ref();
        let is_applied = last.is_some_and(|last| last.input == applied.input);
        let is_requested = pass.request() != pass.known.last_handled_reconcile_at;
        pass.handles_request = true;
        if is_applied
            && !is_requested
            && let Some(wait) = drift::remaining(pass, stack)
        {
            return Ok(End::Ready(rollout::message(pass), wait));
        }
        if let Err(error) = workload.discover().await {
            let halt = Halt::wait(CLUSTER_READY, reasons::CLUSTER_UNREACHABLE, error.to_string());
            return Ok(End::Halted(halt, Some(WAIT)));
        }
        let clock = clock(pass, &applied.input);
        let rendered = match self
            .render(pass, archive, request, (workload.rendered_for(), clock))
            .await?
        {
            Ok(rendered) => rendered,
            Err((halt, after)) => return Ok(End::Halted(halt, Some(after))),
        };
        let owner = key.to_string();
        let work = rollout::Work {
            owner: &owner,
            rendered: &rendered,
            rendered_at: clock,
            release: &stack.release_name,
            namespace: &stack.namespace,
            cluster: &whole,
            only_if,
            applied,
        };
        if is_applied {
            drift::check(pass, &mut workload, &work).await
        } else {
            rollout::roll_out(pass, &mut workload, &work).await
        }
    }

    /// The request of the rendering with all values, what is recorded of it, and which stages with an `onlyIf` are due.
    async fn values(
        &self,
        pass: &Pass<'_>,
        cluster: &Object<ClusterView>,
        stack: &ClusterStackSpec,
        (whole, version): (&Value, &str),
    ) -> Result<Result<(RenderRequest, AppliedVersion, BTreeMap<String, bool>), Halt>, Error> {
        let templated = match self.template(pass, cluster, stack, (whole, version)).await? {
            Ok(text) => text,
            Err(halt) => return Ok(Err(halt)),
        };
        let release = (stack.release_name.as_str(), stack.namespace.as_str());
        let (request, values) = match objects::merge_values(release, &stack.values, &templated) {
            Ok(merged) => merged,
            Err(problem) => {
                let message = problem.to_string();
                return Ok(Err(Halt::stall(
                    VALUES_TEMPLATED,
                    reasons::TEMPLATE_FAILED,
                    message,
                )));
            }
        };
        if let Some(message) = unsupported(&stack.kubernetes_versions, version) {
            return Ok(Err(Halt::stall(
                CHART_APPLIED,
                reasons::VERSION_NOT_SUPPORTED,
                message,
            )));
        }
        let mut applied = AppliedVersion {
            digest: pass.spec.chart.digest.clone(),
            values,
            kubernetes_version: version.to_owned(),
            input: String::new(),
            at: None,
        };
        let only_if = match self.only_if(pass, whole, version).await {
            Ok(only_if) => only_if,
            Err(halt) => return Ok(Err(halt)),
        };
        applied.input = input(&pass.spec, &applied, release, &only_if);
        Ok(Ok((request, applied, only_if)))
    }

    /// Which of the stages that have a condition are due, by name.
    async fn only_if(
        &self,
        pass: &Pass<'_>,
        whole: &Value,
        version: &str,
    ) -> Result<BTreeMap<String, bool>, Halt> {
        let mut due = BTreeMap::new();
        for stage in &pass.spec.stages {
            let Some(condition) = &stage.only_if else {
                continue;
            };
            let scope = json!({"cluster": whole, "kubernetesVersion": version});
            let question = Question::Conditions {
                expressions: vec![condition.cel.clone()],
                scopes: scope.as_object().cloned().into_iter().collect(),
            };
            let is_due = match self.0.evaluator.ask(&question).await {
                Answer::True => true,
                Answer::False { .. } => false,
                other => {
                    let message = format!("stage {}: onlyIf: {}", stage.name, other.refusal());
                    return Err(Halt::stall(STAGES_COMPLETED, reasons::STAGE_FAILED, message));
                }
            };
            due.insert(stage.name.clone(), is_due);
        }
        Ok(due)
    }

    /// The chart's archive.
    async fn archive(
        &self,
        pass: &Pass<'_>,
        stack: &ClusterStackSpec,
    ) -> Result<Result<ChartArchive, (Halt, Duration)>, Error> {
        let chart = &pass.spec.chart;
        let digest = ChartVersionOrDigest::Digest(chart.digest.clone());
        let namespace = &pass.key.namespace;
        let request =
            chart_request::of_stack(&self.0, pass.cx, namespace, stack, &chart.repository, digest).await?;
        let request = match request {
            Ok(request) => request,
            Err(message) => {
                let halt = Halt::stall(CHART_DOWNLOADED, reasons::DOWNLOAD_FAILED, message);
                return Ok(Err((halt, FAILED_WAIT)));
            }
        };
        let (wake, own) = (pass.cx.clone(), pass.key.clone());
        Ok(match self.0.charts.get(&request, move || wake.wake(own)) {
            ChartState::Ready { archive, .. } => Ok(archive),
            ChartState::Downloading => {
                let message = "the chart is being downloaded";
                Err((
                    Halt::wait(CHART_DOWNLOADED, reasons::NOT_DOWNLOADED_YET, message),
                    WAIT,
                ))
            }
            ChartState::Failed(message) => Err((
                Halt::wait(CHART_DOWNLOADED, reasons::DOWNLOAD_FAILED, message),
                FAILED_WAIT,
            )),
        })
    }

    /// What the template of values prints.
    async fn template(
        &self,
        pass: &Pass<'_>,
        cluster: &Object<ClusterView>,
        stack: &ClusterStackSpec,
        (whole, version): (&Value, &str),
    ) -> Result<Result<String, Halt>, Error> {
        if stack.values_template.is_empty() {
            return Ok(Ok(String::new()));
        }
        let scope = scope::of_template(pass.cx, cluster, whole.clone(), version).await?;
        let question = Question::Template {
            stack: pass.spec.stack_ref.name.clone(),
            text: stack.values_template.clone(),
            scope,
        };
        let message = match self.0.evaluator.ask(&question).await {
            Answer::Text(text) => return Ok(Ok(text)),
            Answer::Refused(message) => message,
            Answer::True | Answer::False { .. } => "internal error: the template has no text".to_owned(),
        };
        Ok(Err(Halt::stall(
            VALUES_TEMPLATED,
            reasons::TEMPLATE_FAILED,
            message,
        )))
    }

    /// Renders on a thread of its own. A chart that makes keys or passwords gets a seed that nobody else knows.
    async fn render(
        &self,
        pass: &Pass<'_>,
        archive: ChartArchive,
        request: RenderRequest,
        (cluster, clock): (objects::RenderedFor, Timestamp),
    ) -> Result<Result<RenderedObjects, (Halt, Duration)>, Error> {
        let refused = |message: &str| {
            let halt = Halt::stall(CHART_APPLIED, reasons::RENDER_FAILED, message);
            (halt, STALLED_WAIT)
        };
        let mut seed = 0;
        loop {
            let Ok(_slot) = self.0.renderers.acquire().await else {
                return Ok(Err(refused("the operator is shutting down")));
            };
            let bytes = match archive.read() {
                Ok(bytes) => bytes,
                // It is downloaded again.
                Err(message) => {
                    let halt = Halt::wait(CHART_DOWNLOADED, reasons::NOT_DOWNLOADED_YET, message);
                    return Ok(Err((halt, WAIT)));
                }
            };
            let (request, cluster) = (request.clone(), cluster.clone());
            let clock = SystemTime::from(clock);
            let rendering = tokio::task::spawn_blocking(move || {
                objects::render(&bytes, &request, &cluster, (seed, clock))
            });
            match rendering.await {
                Ok(Ok(rendered)) if !rendered.predictable.is_empty() && seed == 0 => {
                    seed = secrets::seed(pass.cx, pass.key, pass.uid()).await?.max(1);
                }
                Ok(Ok(rendered)) => return Ok(Ok(rendered)),
                Ok(Err(problem)) => return Ok(Err(refused(&problem.to_string()))),
                Err(_) => return Ok(Err(refused("internal error: the rendering failed"))),
            }
        }
    }
}

/// The time that templates see: when the present input was first rolled out. A clock that stands still makes the same
/// objects every time, and certificates are valid from then on.
fn clock(pass: &Pass<'_>, input: &str) -> Timestamp {
    let is_known = pass.known.input.as_deref() == Some(input);
    match &pass.known.rendered_at {
        Some(Time(at)) if is_known => *at,
        // A status has seconds.
        _ => Timestamp::from_second(pass.cx.now().as_second()).unwrap_or_default(),
    }
}

/// Everything that the objects in a cluster depend on.
fn input(
    spec: &ClusterAddonSpec,
    applied: &AppliedVersion,
    release: (&str, &str),
    only_if: &BTreeMap<String, bool>,
) -> String {
    let text = json!([
        spec.chart.digest,
        applied.values,
        spec.stages,
        applied.kubernetes_version,
        release.0,
        release.1,
        only_if
    ]);
    hex(&Sha256::digest(text.to_string().as_bytes()))
}

/// Why a stack isn't for a cluster of this version.
fn unsupported(ranges: &[String], version: &str) -> Option<String> {
    if ranges.is_empty() {
        return None;
    }
    let text = version.trim_start_matches('v');
    let Ok(exact) = Version::parse(text) else {
        return Some(format!("the cluster's version {version} can't be read"));
    };
    // v1.33.2-eks-a1b2c3 is a release, although semantic versioning calls it a prerelease.
    let release = text
        .split_once('-')
        .filter(|(_, suffix)| !PRERELEASES.iter().any(|name| suffix.starts_with(name)));
    let release = release.and_then(|(number, _)| Version::parse(number).ok());
    let candidates: Vec<&Version> = [Some(&exact), release.as_ref()].into_iter().flatten().collect();
    for range in ranges {
        match Constraint::parse(range) {
            Ok(constraint) if candidates.iter().any(|one| constraint.check(one)) => return None,
            Ok(_) => {}
            Err(_) => {
                return Some(format!(
                    "spec.kubernetesVersions: {range:?} is no range of versions"
                ));
            }
        }
    }
    Some(format!(
        "the cluster's version {text} is in none of the ranges {}",
        ranges.join(", ")
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_clusters_version_is_in_one_of_the_ranges() {
        let ranges = |list: &[&str]| list.iter().map(|one| (*one).to_owned()).collect::<Vec<_>>();
        let table = [
            (ranges(&[]), None),
            (ranges(&["1.32.x", "1.33.x"]), None),
            (ranges(&[">=1.31.0-0 <1.34.0-0"]), None),
            (ranges(&["1.32.x"]), Some("none of the ranges")),
            (ranges(&["new"]), Some("no range")),
        ];
        for (ranges, expected) in table {
            let found = unsupported(&ranges, "v1.33.2");
            match expected {
                None => assert_eq!(found, None, "{ranges:?}"),
                Some(part) => assert!(
                    found.as_deref().is_some_and(|text| text.contains(part)),
                    "{found:?}"
                ),
            }
        }
        assert!(unsupported(&ranges(&["1.x"]), "unknown").is_some());
    }

    /// Clusters of EKS and GKE were once in no range without a prerelease.
    #[test]
    fn a_providers_suffix_makes_no_prerelease_of_a_version() {
        let range = ["1.33.x".to_owned()];
        for (version, is_supported) in [
            ("v1.33.2-eks-931bdca", true),
            ("v1.33.2-gke.1200", true),
            ("v1.33.2+k3s1", true),
            ("v1.33.0-rc.1", false),
            ("v1.33.0-alpha.0.12+abc", false),
            ("v1.32.9-eks-1", false),
        ] {
            assert_eq!(unsupported(&range, version).is_none(), is_supported, "{version}");
        }
    }
}
