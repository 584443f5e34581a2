//! Arguments to checked settings. Independent mistakes are reported together.

use std::collections::{BTreeMap, BTreeSet};
use std::net::{Ipv6Addr, SocketAddr};
use std::time::Duration;

use solar_render::diag::{Class, Diagnostic, Diagnostics};

use super::args::Run;
use super::quantity;
use crate::controllers::artifact::ArtifactSettings;
use crate::controllers::cluster_addon::{ClusterAddonSettings, ClusterApiVersion};
use crate::controllers::pipeline::grants::CrossNamespace;
use crate::controllers::pipeline::reconcilers::PipelineSettings;
use crate::controllers::rendertask::Settings;
use crate::jobs::JobSettings;
use crate::jobs::allowed_hosts::{AllowedHosts, OTHERS};
use crate::jobs::slots::JobLimits;
use crate::names::{is_name, is_namespace};
use crate::runtime::{Backoff, Identity, LeaderSettings, Policy, RunSettings, Selection};

/// The maximum of concurrent reconciles; each may hold a connection.
const MAX_CONCURRENCY: u32 = 256;
/// The maximum of concurrent Jobs: more than the largest clusters run.
const MAX_JOBS: u32 = 100_000;
/// The longest duration, in seconds: a day.
const MAX_SECONDS: u32 = 86_400;
/// How long the lease duration must be relative to the renew deadline, and that relative to the retry period, in
/// percent.
const LEASE_FACTOR: u32 = 120;

/// What the environment provides.
#[derive(Debug, Clone, Default)]
pub(super) struct Environment {
    /// The namespace of the pod, or of the kubeconfig.
    pub(super) namespace: String,
    /// The identity of this replica.
    pub(super) identity: String,
}

/// All settings.
#[derive(Debug, Clone)]
pub(super) struct OperatorSettings {
    /// The settings of the controllers of tasks.
    pub(super) tasks: Settings,
    /// The settings of the pipeline's controllers, if they run.
    pub(super) pipeline: Option<PipelineSettings>,
    /// The settings of the controller of Artifacts, if it runs.
    pub(super) artifacts: Option<ArtifactSettings>,
    /// The settings of the controllers of ClusterStacks and ClusterAddons, if they run.
    pub(super) cluster_addons: Option<ClusterAddonSettings>,
    /// The settings of the process.
    pub(super) run: RunSettings,
}

/// Collects errors.
#[derive(Default)]
struct Checker {
    problems: Vec<Diagnostic>,
}

/// Checks the arguments.
pub(super) fn settings(args: &Run, around: &Environment) -> Result<OperatorSettings, Diagnostics> {
    let mut checker = Checker::default();
    let job = job(args, around, &mut checker);
    let backoff = backoff(args, &mut checker);
    let leader = leader(args, around, &mut checker);
    let job_limits = job_limits(args, &mut checker);
    let run = RunSettings {
        selection: Selection {
            namespaces: once_each(words(&args.watch_namespaces)),
            labels: args.label_selector.clone().filter(|text| !text.is_empty()),
            fields: args.field_selector.clone().filter(|text| !text.is_empty()),
            dependent_namespaces: vec![job.job_namespace.clone()],
        },
        leader,
        policy: Policy {
            backoff,
            max_retries: checker.number("error-max-retries", &args.error_max_retries, 1, u32::MAX),
        },
        concurrency: checker.number("concurrency", &args.concurrency, 1, MAX_CONCURRENCY) as usize,
        metrics_address: checker.address("metrics-bind-address", &args.metrics_bind_address),
        metrics_cert_dir: args.metrics_cert_dir.clone(),
        metrics_authorization: args.metrics_authorization,
        health_address: checker.address("health-probe-bind-address", &args.health_probe_bind_address),
        identity: Identity {
            instance: around.identity.clone(),
            // Set once the connection is configured.
            server: String::new(),
        },
    };
    checker.protected_metrics(&run);
    let artifacts = artifacts(args, &mut checker);
    let cluster_addons = cluster_addons(args, &mut checker, job.allowed_hosts.clone());
    for namespace in &run.selection.namespaces {
        checker.namespace("watch-namespaces", namespace);
    }
    let tasks = Settings {
        job,
        require_registry_host: args.require_registry_host,
        job_limits,
    };
    Diagnostics::or(
        checker.problems,
        OperatorSettings {
            tasks,
            pipeline: args.pipeline.then_some(PipelineSettings {
                is_registry_binding_strict: args.registry_binding_strict,
                cross_namespace: if args.no_cross_namespace_refs {
                    CrossNamespace::Off
                } else {
                    CrossNamespace::Granted
                },
            }),
            artifacts: args.artifacts.then_some(artifacts),
            cluster_addons: args.cluster_addons.then_some(cluster_addons),
            run,
        },
    )
}

fn cluster_addons(args: &Run, checker: &mut Checker, allowed_hosts: AllowedHosts) -> ClusterAddonSettings {
    ClusterAddonSettings {
        // Set once the cluster was asked.
        version: ClusterApiVersion::V1Beta2,
        cache: args.chart_cache.clone(),
        deletion_timeout: checker.duration("addon-deletion-timeout", &args.addon_deletion_timeout),
        drift_interval: checker.duration("addon-drift-interval", &args.addon_drift_interval),
        allowed_hosts,
    }
}

fn artifacts(args: &Run, checker: &mut Checker) -> ArtifactSettings {
    let kit_image = args.kit_image.clone().filter(|image| !image.is_empty());
    if let Some(image) = kit_image
        .as_ref()
        .filter(|image| image.contains(char::is_whitespace))
    {
        checker.wrong(
            "kit-image",
            image,
            "an image",
            "name one, as in ghcr.io/kitops-ml/kitops:v1.0.0",
        );
    }
    let seconds = checker.duration("artifact-deadline", &args.artifact_deadline);
    ArtifactSettings {
        deadline_seconds: u32::try_from(seconds.as_secs()).unwrap_or(MAX_SECONDS),
        keep_workspace: args.keep_workspace,
        kit_image,
    }
}

fn job(args: &Run, around: &Environment, checker: &mut Checker) -> JobSettings {
    let job_namespace = args
        .job_namespace
        .clone()
        .unwrap_or_else(|| around.namespace.clone());
    checker.namespace("job-namespace", &job_namespace);
    if args.renderer_image.trim().is_empty() || args.renderer_image.contains(char::is_whitespace) {
        checker.wrong(
            "renderer-image",
            &args.renderer_image,
            "an image",
            "name one, as in ghcr.io/acme/solar-render:1.0.0",
        );
    }
    let given = |text: &Option<String>| text.clone().filter(|text| !text.is_empty());
    let ca_configmap = given(&args.renderer_ca_configmap);
    for name in ca_configmap.iter() {
        checker.name("renderer-ca-configmap", name);
    }
    let image_pull_secrets = words(&args.renderer_image_pull_secrets);
    for name in &image_pull_secrets {
        checker.name("renderer-image-pull-secrets", name);
    }
    let service_account = given(&args.renderer_service_account);
    for name in service_account.iter() {
        checker.name("renderer-service-account", name);
    }
    let requests = checker.quantities("renderer-requests", &args.renderer_requests);
    let limits = checker.quantities("renderer-limits", &args.renderer_limits);
    checker.fit(&requests, &limits);
    JobSettings {
        image: args.renderer_image.clone(),
        command: words(&args.renderer_command),
        args: words(&args.renderer_args),
        ca_configmap,
        image_pull_secrets,
        service_account,
        token_audience: given(&args.renderer_token_audience),
        deadline_seconds: deadline(args, checker),
        permanent_exit_codes: exit_codes(args, checker),
        requests,
        limits,
        job_namespace,
        allowed_hosts: allowed_hosts(args, checker),
    }
}

fn job_limits(args: &Run, checker: &mut Checker) -> JobLimits {
    let all = checker.number("max-concurrent-jobs", &args.max_concurrent_jobs, 1, MAX_JOBS);
    let group = &args.max_concurrent_jobs_per_namespace;
    let group = checker.number("max-concurrent-jobs-per-namespace", group, 0, MAX_JOBS);
    JobLimits {
        all: all as usize,
        group: (group > 0).then_some(group as usize),
    }
}

fn allowed_hosts(args: &Run, checker: &mut Checker) -> AllowedHosts {
    let mut allowed = AllowedHosts::default();
    let words = words(&args.allowed_hosts);
    if words.is_empty() && !args.allowed_hosts.is_empty() {
        // An empty variable must not allow all hosts.
        let hint = "leave it out to allow all hosts, or write *= to allow none";
        checker.wrong("allowed-hosts", "", "NAMESPACE=HOST", hint);
    }
    for text in words {
        let (namespace, host) = text.split_once('=').unwrap_or((text.as_str(), "/"));
        let is_named = namespace == OTHERS || is_namespace(namespace);
        if !is_named || host.contains(|one: char| one == '/' || one == '=' || one.is_whitespace()) {
            let hint = "write it as in team=registry.example.com:5000, or *=registry.example.com for all others; no host after the = for none";
            checker.wrong("allowed-hosts", &text, "NAMESPACE=HOST", hint);
        }
        allowed.add(namespace, host);
    }
    allowed
}

fn deadline(args: &Run, checker: &mut Checker) -> u32 {
    let whole = checker
        .duration("job-deadline", &args.job_deadline)
        .as_secs()
        .max(1);
    u32::try_from(whole).unwrap_or(MAX_SECONDS)
}

fn exit_codes(args: &Run, checker: &mut Checker) -> BTreeSet<i32> {
    let codes = words(&args.permanent_exit_codes);
    let number = |text: &String| checker.number("permanent-exit-codes", text, 1, 255);
    codes
        .iter()
        .map(number)
        .filter_map(|code| i32::try_from(code).ok())
        .collect()
}

fn backoff(args: &Run, checker: &mut Checker) -> Backoff {
    let min = checker.duration("error-min-requeue", &args.error_min_requeue);
    let max = checker.duration("error-max-requeue", &args.error_max_requeue);
    if min > max {
        checker.problems.push(
            Diagnostic::error(
                Class::Usage,
                format!("--error-min-requeue {min:?} is more than --error-max-requeue {max:?}"),
            )
            .note("the time between two tries begins with the one and doubles up to the other"),
        );
    }
    Backoff { min, max }
}

fn leader(args: &Run, around: &Environment, checker: &mut Checker) -> Option<LeaderSettings> {
    let lease_duration = checker.duration("lease-duration", &args.lease_duration);
    let renew_deadline = checker.duration("renew-deadline", &args.renew_deadline);
    let retry_period = checker.duration("retry-period", &args.retry_period);
    checker.name("lease-name", &args.lease_name);
    let whole_second = lease_duration >= Duration::from_secs(1) && lease_duration.subsec_nanos() == 0;
    if !whole_second {
        checker.wrong(
            "lease-duration",
            &args.lease_duration,
            "whole seconds",
            "a Lease holds nothing finer",
        );
    }
    for (longer, name, shorter, other) in [
        (lease_duration, "lease-duration", renew_deadline, "renew-deadline"),
        (renew_deadline, "renew-deadline", retry_period, "retry-period"),
    ] {
        if longer < shorter.saturating_mul(LEASE_FACTOR) / 100 {
            checker.problems.push(
                Diagnostic::error(
                    Class::Usage,
                    format!("--{name} {longer:?} is too short for --{other} {shorter:?}"),
                )
                .note("a leader must give up before others take over, and have time to try again before")
                .hint(format!("make it at least {LEASE_FACTOR} % of --{other}")),
            );
        }
    }
    args.leader_elect.then(|| LeaderSettings {
        namespace: around.namespace.clone(),
        name: args.lease_name.clone(),
        identity: around.identity.clone(),
        lease_duration,
        renew_deadline,
        retry_period,
    })
}

impl Checker {
    fn wrong(&mut self, flag: &str, given: &str, wanted: &str, hint: &str) {
        let message = format!("--{flag}: {given:?} is not {wanted}");
        self.problems
            .push(Diagnostic::error(Class::Usage, message).hint(hint));
    }

    fn number(&mut self, flag: &str, text: &str, min: u32, max: u32) -> u32 {
        match text.trim().parse::<u32>() {
            Ok(number) if (min..=max).contains(&number) => number,
            _ => {
                self.wrong(
                    flag,
                    text,
                    "a number that fits",
                    &format!("give one from {min} to {max}"),
                );
                min
            }
        }
    }

    /// Durations in Go's form, as in SolAr's flags: `90s`, `1m30s`, `500ms`; bare numbers are seconds.
    fn duration(&mut self, flag: &str, text: &str) -> Duration {
        let most = Duration::from_secs(MAX_SECONDS.into());
        match parse_duration(text.trim()) {
            Some(duration) if duration > Duration::ZERO && duration <= most => duration,
            _ => {
                self.wrong(
                    flag,
                    text,
                    "a duration of at most a day",
                    "write it as in 500ms, 15s or 1m30s",
                );
                Duration::from_secs(1)
            }
        }
    }

    fn name(&mut self, flag: &str, name: &str) {
        if !is_name(name) {
            self.wrong(
                flag,
                name,
                "a Kubernetes name",
                "lower-case letters, digits, `-` and `.`",
            );
        }
    }

    fn namespace(&mut self, flag: &str, name: &str) {
        if !is_namespace(name) {
            self.wrong(
                flag,
                name,
                "a namespace's name",
                "at most 63 lower-case letters, digits and `-`",
            );
        }
    }

    /// `:8080`, `host:port` or `0`, as in controller-runtime.
    fn address(&mut self, flag: &str, text: &str) -> Option<SocketAddr> {
        let text = text.trim();
        if text == "0" || text.is_empty() {
            return None;
        }
        if let Some(port) = text.strip_prefix(':').and_then(|port| port.parse().ok()) {
            return Some(SocketAddr::from((Ipv6Addr::UNSPECIFIED, port)));
        }
        let address = text.replace("localhost:", "127.0.0.1:").parse();
        if address.is_err() {
            self.wrong(
                flag,
                text,
                "an address",
                "write it as in :8080 or 127.0.0.1:8080, or 0 for none",
            );
        }
        address.ok()
    }

    /// Tokens must not go over the network in the clear, and kubelet's probes are plain HTTP without one.
    fn protected_metrics(&mut self, run: &RunSettings) {
        let mut wrong = |message: &str, hint: &str| {
            let one = Diagnostic::error(Class::Usage, message.to_owned());
            self.problems.push(one.hint(hint));
        };
        if run.metrics_authorization && run.metrics_cert_dir.is_none() {
            wrong(
                "--metrics-authorization needs --metrics-cert-dir: tokens would be sent without TLS",
                "mount a Secret of type kubernetes.io/tls, and give its folder",
            );
        }
        let is_same = run.metrics_address.is_some_and(|address| address.port() != 0)
            && run.metrics_address == run.health_address;
        if is_same && run.metrics_cert_dir.is_some() {
            wrong(
                "--metrics-cert-dir: /healthz and /readyz have the address of /metrics, and probes ask without TLS",
                "give --health-probe-bind-address another port",
            );
        }
    }

    fn quantities(&mut self, flag: &str, given: &[String]) -> BTreeMap<String, String> {
        let mut found = BTreeMap::new();
        for text in words(given) {
            match text.split_once('=') {
                Some((name, amount)) if !name.trim().is_empty() && quantity::amount(amount).is_some() => {
                    found.insert(name.trim().to_owned(), amount.to_owned());
                }
                _ => self.wrong(
                    flag,
                    &text,
                    "RESOURCE=AMOUNT",
                    "write it as in cpu=100m,memory=128Mi",
                ),
            }
        }
        found
    }

    /// API servers reject pods whose requests exceed their limits: no task would ever get a pod.
    fn fit(&mut self, requests: &BTreeMap<String, String>, limits: &BTreeMap<String, String>) {
        for (name, request) in requests {
            let Some(limit) = limits.get(name) else {
                continue;
            };
            if quantity::amount(request) > quantity::amount(limit) {
                self.problems.push(
                    Diagnostic::error(
                        Class::Usage,
                        format!("--renderer-requests {name}={request} is more than --renderer-limits {name}={limit}"),
                    )
                    .hint("set both: each has a default of its own"),
                );
            }
        }
    }
}

fn parse_duration(text: &str) -> Option<Duration> {
    if let Ok(seconds) = text.parse::<u32>() {
        return Some(Duration::from_secs(seconds.into()));
    }
    let mut rest = text;
    let mut total = Duration::ZERO;
    while !rest.is_empty() {
        let digits = rest
            .bytes()
            .take_while(|byte| byte.is_ascii_digit() || *byte == b'.')
            .count();
        let (number, after) = rest.split_at_checked(digits)?;
        let number: f64 = number.parse().ok()?;
        let units = after.bytes().take_while(u8::is_ascii_alphabetic).count();
        let (unit, after) = after.split_at_checked(units)?;
        let seconds = match unit {
            "ms" => 0.001,
            "s" => 1.0,
            "m" => 60.0,
            "h" => 3600.0,
            _ => return None,
        };
        total = total.checked_add(Duration::try_from_secs_f64(number * seconds).ok()?)?;
        rest = after;
    }
    (!text.is_empty()).then_some(total)
}

/// Two watches of one namespace would deliver each event twice.
fn once_each(words: Vec<String>) -> Vec<String> {
    let mut seen = BTreeSet::new();
    words
        .into_iter()
        .filter(|word| seen.insert(word.clone()))
        .collect()
}

fn words(given: &[String]) -> Vec<String> {
    given
        .iter()
        .map(|word| word.trim().to_owned())
        .filter(|word| !word.is_empty())
        .collect()
}

#[cfg(test)]
mod tests;
