//! The command line as data: no I/O.

use std::path::PathBuf;

use clap::{ArgAction, Args, Parser, Subcommand, ValueEnum, ValueHint};
use clap_complete::Shell;

use solar_render::reference::Digest;

use crate::api::{IfExists, Scope};

const EXIT_CODES: &str = "\
Every flag can also be given by the environment, as SOLAR_OPERATOR_ and its name in capitals with `_` for `-`, \
or in a YAML file (--config), by its name. The command line wins over the environment, and that over the file.

Exit codes:
  0  done, or ended by SIGTERM or SIGINT
  1  the settings, the config or the cluster's connection are wrong; preflight: the cluster is not ready; export: it is
     not complete
  2  the command line is wrong";

/// Runs the renderer in Kubernetes Jobs for RenderTasks and ClusterRenderTasks.
#[derive(Parser, Debug)]
#[command(name = "solar-operator", version, after_help = EXIT_CODES, max_term_width = 110)]
#[command(
    disable_help_subcommand = true,
    args_conflicts_with_subcommands = true,
    args_override_self = true
)]
pub(super) struct Cli {
    #[command(subcommand)]
    pub(super) command: Option<Command>,
    #[command(flatten)]
    pub(super) run: Run,
}

/// The commands.
#[derive(Subcommand, Debug)]
pub(super) enum Command {
    /// Run the operator (the default)
    Run(Box<Run>),
    /// Print the CRDs
    Crds,
    /// Print the task for a config file
    Task(Box<TaskArgs>),
    /// Check that a cluster is ready: its version, who serves the API group, the CRDs
    Preflight(PreflightArgs),
    /// Print all objects of the API group, to be applied elsewhere: when moving from SolAr, or to another cluster
    Export(ExportArgs),
    /// Evaluate a template or a condition of a ClusterStack, for the operator itself
    #[command(hide = true)]
    Evaluate,
    /// Print a shell's completion script
    Completion {
        /// The shell
        shell: Shell,
    },
    /// Write the manual pages
    Man {
        /// The folder that gets them
        #[arg(value_name = "DIR", value_hint = ValueHint::DirPath)]
        dir: PathBuf,
    },
}

/// The settings of the operator. Names that are in SolAr's operator are used as they are there.
#[derive(Args, Debug, Clone)]
pub(super) struct Run {
    /// Read settings from this YAML file, by the flags' names
    #[arg(long, value_name = "FILE", env = "SOLAR_OPERATOR_CONFIG", value_hint = ValueHint::FilePath)]
    pub(super) config: Option<PathBuf>,

    /// The image of the Jobs' container
    #[arg(
        long,
        value_name = "IMAGE",
        env = "SOLAR_OPERATOR_RENDERER_IMAGE",
        default_value = "localhost/solar-render:latest",
        help_heading = "Jobs"
    )]
    pub(super) renderer_image: String,
    /// The command, when it isn't the image's own; words are separated by commas
    #[arg(
        long,
        value_name = "WORDS",
        env = "SOLAR_OPERATOR_RENDERER_COMMAND",
        value_delimiter = ',',
        allow_hyphen_values = true,
        help_heading = "Jobs"
    )]
    pub(super) renderer_command: Vec<String>,
    /// Arguments before those of the task, separated by commas
    #[arg(
        long,
        value_name = "WORDS",
        env = "SOLAR_OPERATOR_RENDERER_ARGS",
        value_delimiter = ',',
        allow_hyphen_values = true,
        help_heading = "Jobs"
    )]
    pub(super) renderer_args: Vec<String>,
    /// The ConfigMap with CA certificates (key trust-bundle.pem), in the Jobs' namespace
    #[arg(
        long,
        value_name = "NAME",
        env = "SOLAR_OPERATOR_RENDERER_CA_CONFIGMAP",
        help_heading = "Jobs"
    )]
    pub(super) renderer_ca_configmap: Option<String>,
    /// Secrets to pull the image with, in the Jobs' namespace
    #[arg(
        long,
        value_name = "NAMES",
        env = "SOLAR_OPERATOR_RENDERER_IMAGE_PULL_SECRETS",
        value_delimiter = ',',
        help_heading = "Jobs"
    )]
    pub(super) renderer_image_pull_secrets: Vec<String>,
    /// The ServiceAccount of the pods, in the Jobs' namespace, for a cloud's workload identity
    #[arg(
        long,
        value_name = "NAME",
        env = "SOLAR_OPERATOR_RENDERER_SERVICE_ACCOUNT",
        help_heading = "Jobs"
    )]
    pub(super) renderer_service_account: Option<String>,
    /// The audience of a token of that ServiceAccount, in the file that REGISTRY_TOKEN_FILE names in the container
    #[arg(
        long,
        value_name = "AUDIENCE",
        env = "SOLAR_OPERATOR_RENDERER_TOKEN_AUDIENCE",
        requires = "renderer_service_account",
        help_heading = "Jobs"
    )]
    pub(super) renderer_token_audience: Option<String>,
    /// The container's resource requests
    #[arg(
        long,
        value_name = "RESOURCE=AMOUNT,…",
        env = "SOLAR_OPERATOR_RENDERER_REQUESTS",
        value_delimiter = ',',
        default_value = "cpu=10m,memory=32Mi",
        help_heading = "Jobs"
    )]
    pub(super) renderer_requests: Vec<String>,
    /// The container's resource limits
    #[arg(
        long,
        value_name = "RESOURCE=AMOUNT,…",
        env = "SOLAR_OPERATOR_RENDERER_LIMITS",
        value_delimiter = ',',
        default_value = "memory=256Mi",
        help_heading = "Jobs"
    )]
    pub(super) renderer_limits: Vec<String>,
    /// How long a Job may be active, all its pods together
    #[arg(
        long,
        value_name = "DURATION",
        env = "SOLAR_OPERATOR_JOB_DEADLINE",
        default_value = "900s",
        help_heading = "Jobs"
    )]
    pub(super) job_deadline: String,
    /// The renderer's exit codes that are not retried; empty for other renderers
    #[arg(
        long,
        value_name = "CODES",
        env = "SOLAR_OPERATOR_PERMANENT_EXIT_CODES",
        value_delimiter = ',',
        default_value = "1,2,3,4",
        help_heading = "Jobs"
    )]
    pub(super) permanent_exit_codes: Vec<String>,
    /// Where ClusterRenderTasks' Jobs and Secrets are [default: where the operator runs]
    #[arg(
        long,
        value_name = "NAMESPACE",
        env = "SOLAR_OPERATOR_JOB_NAMESPACE",
        help_heading = "Jobs"
    )]
    pub(super) job_namespace: Option<String>,
    /// How many Jobs run at once
    #[arg(
        long,
        value_name = "N",
        env = "SOLAR_OPERATOR_MAX_CONCURRENT_JOBS",
        default_value = "20",
        help_heading = "Jobs"
    )]
    pub(super) max_concurrent_jobs: String,
    /// How many Jobs of a namespace run at once, of ClusterRenderTasks those of an owner's namespace; with 0 only the
    /// limit of all Jobs counts
    #[arg(
        long,
        value_name = "N",
        env = "SOLAR_OPERATOR_MAX_CONCURRENT_JOBS_PER_NAMESPACE",
        default_value = "0",
        help_heading = "Jobs"
    )]
    pub(super) max_concurrent_jobs_per_namespace: String,
    /// The registry hosts that Jobs may use, by the namespace they run in; `*` for those that aren't named [default: all]
    #[arg(
        long,
        value_name = "NAMESPACE=HOST,…",
        env = "SOLAR_OPERATOR_ALLOWED_HOSTS",
        value_delimiter = ',',
        help_heading = "Jobs"
    )]
    pub(super) allowed_hosts: Vec<String>,
    /// Push Secrets of ClusterRenderTasks must say what registry host they are for
    #[arg(long, env = "SOLAR_OPERATOR_REQUIRE_REGISTRY_HOST", num_args = 0..=1, require_equals = true, default_missing_value = "true", default_value = "false", action = ArgAction::Set, help_heading = "Jobs")]
    pub(super) require_registry_host: bool,

    /// Reconcile Targets, Releases, Profiles and the other kinds of the pipeline; their CRDs must be installed
    #[arg(long, env = "SOLAR_OPERATOR_PIPELINE", num_args = 0..=1, require_equals = true, default_missing_value = "true", default_value = "false", action = ArgAction::Set)]
    pub(super) pipeline: bool,
    /// Reconcile ClusterStacks and ClusterAddons; their CRDs and Cluster API's must be installed
    #[arg(long, env = "SOLAR_OPERATOR_CLUSTER_ADDONS", num_args = 0..=1, require_equals = true, default_missing_value = "true", default_value = "false", action = ArgAction::Set, help_heading = "Cluster addons")]
    pub(super) cluster_addons: bool,
    /// The folder of the charts that were downloaded
    #[arg(
        long,
        value_name = "DIR",
        env = "SOLAR_OPERATOR_CHART_CACHE",
        default_value = "/tmp/solar-operator-charts",
        value_hint = ValueHint::DirPath,
        help_heading = "Cluster addons"
    )]
    pub(super) chart_cache: PathBuf,
    /// How long the removal of a chart is retried when its cluster can't be reached or its objects don't go
    #[arg(
        long,
        value_name = "DURATION",
        env = "SOLAR_OPERATOR_ADDON_DELETION_TIMEOUT",
        default_value = "10m",
        help_heading = "Cluster addons"
    )]
    pub(super) addon_deletion_timeout: String,
    /// How often the objects in the clusters are compared with their chart's
    #[arg(
        long,
        value_name = "DURATION",
        env = "SOLAR_OPERATOR_ADDON_DRIFT_INTERVAL",
        default_value = "10m",
        help_heading = "Cluster addons"
    )]
    pub(super) addon_drift_interval: String,
    /// Reconcile Artifacts; their CRD must be installed
    #[arg(long, env = "SOLAR_OPERATOR_ARTIFACTS", num_args = 0..=1, require_equals = true, default_missing_value = "true", default_value = "false", action = ArgAction::Set, help_heading = "Artifacts")]
    pub(super) artifacts: bool,
    /// How long an Artifact's Job may be active
    #[arg(
        long,
        value_name = "DURATION",
        env = "SOLAR_OPERATOR_ARTIFACT_DEADLINE",
        default_value = "6h",
        help_heading = "Artifacts"
    )]
    pub(super) artifact_deadline: String,
    /// Keep the volume of an import that has ended
    #[arg(long, env = "SOLAR_OPERATOR_KEEP_WORKSPACE", num_args = 0..=1, require_equals = true, default_missing_value = "true", default_value = "false", action = ArgAction::Set, help_heading = "Artifacts")]
    pub(super) keep_workspace: bool,
    /// Import models from Hugging Face with KitOps' image instead of the renderer's
    #[arg(
        long,
        value_name = "IMAGE",
        env = "SOLAR_OPERATOR_KIT_IMAGE",
        help_heading = "Artifacts"
    )]
    pub(super) kit_image: Option<String>,
    /// Refuse a Release with a resource of a host that no RegistryBinding of its Target is for, instead of pulling it
    /// anonymously
    #[arg(long, env = "SOLAR_OPERATOR_REGISTRY_BINDING_STRICT", num_args = 0..=1, require_equals = true, default_missing_value = "true", default_value = "false", action = ArgAction::Set)]
    pub(super) registry_binding_strict: bool,
    /// Refuse references to objects of other namespaces, whatever ReferenceGrants there are
    #[arg(long, env = "SOLAR_OPERATOR_NO_CROSS_NAMESPACE_REFS", num_args = 0..=1, require_equals = true, default_missing_value = "true", default_value = "false", action = ArgAction::Set)]
    pub(super) no_cross_namespace_refs: bool,

    /// Only reconcile RenderTasks in these namespaces
    #[arg(
        long,
        value_name = "NAMES",
        env = "SOLAR_OPERATOR_WATCH_NAMESPACES",
        value_delimiter = ',',
        help_heading = "Which tasks"
    )]
    pub(super) watch_namespaces: Vec<String>,
    /// Only reconcile tasks with these labels
    #[arg(
        long,
        value_name = "SELECTOR",
        env = "SOLAR_OPERATOR_LABEL_SELECTOR",
        help_heading = "Which tasks"
    )]
    pub(super) label_selector: Option<String>,
    /// Only reconcile tasks with these fields (metadata.name, metadata.namespace)
    #[arg(
        long,
        value_name = "SELECTOR",
        env = "SOLAR_OPERATOR_FIELD_SELECTOR",
        help_heading = "Which tasks"
    )]
    pub(super) field_selector: Option<String>,

    /// Reconcile only as the leader, so that several replicas can run
    #[arg(long, env = "SOLAR_OPERATOR_LEADER_ELECT", num_args = 0..=1, require_equals = true, default_missing_value = "true", default_value = "false", action = ArgAction::Set, help_heading = "Leader election")]
    pub(super) leader_elect: bool,
    /// The Lease's name, in the operator's namespace
    #[arg(
        long,
        value_name = "NAME",
        env = "SOLAR_OPERATOR_LEASE_NAME",
        default_value = "solar-operator",
        help_heading = "Leader election"
    )]
    pub(super) lease_name: String,
    /// Lease duration: other replicas take over after this long without a renewal
    #[arg(
        long,
        value_name = "DURATION",
        env = "SOLAR_OPERATOR_LEASE_DURATION",
        default_value = "15s",
        help_heading = "Leader election"
    )]
    pub(super) lease_duration: String,
    /// Renew deadline: the leader steps down after this long without a renewal
    #[arg(
        long,
        value_name = "DURATION",
        env = "SOLAR_OPERATOR_RENEW_DEADLINE",
        default_value = "10s",
        help_heading = "Leader election"
    )]
    pub(super) renew_deadline: String,
    /// How often the lease is acquired or renewed
    #[arg(
        long,
        value_name = "DURATION",
        env = "SOLAR_OPERATOR_RETRY_PERIOD",
        default_value = "2s",
        help_heading = "Leader election"
    )]
    pub(super) retry_period: String,

    /// Maximum concurrent reconciles
    #[arg(
        long,
        value_name = "N",
        env = "SOLAR_OPERATOR_CONCURRENCY",
        default_value = "4",
        help_heading = "Work"
    )]
    pub(super) concurrency: String,
    /// Minimum backoff after an error
    #[arg(
        long,
        value_name = "DURATION",
        env = "SOLAR_OPERATOR_ERROR_MIN_REQUEUE",
        default_value = "1s",
        help_heading = "Work"
    )]
    pub(super) error_min_requeue: String,
    /// Maximum backoff; the time doubles with each consecutive error
    #[arg(
        long,
        value_name = "DURATION",
        env = "SOLAR_OPERATOR_ERROR_MAX_REQUEUE",
        default_value = "60s",
        help_heading = "Work"
    )]
    pub(super) error_max_requeue: String,
    /// After how many errors in a row a task is Stalled; it is requeued all the same
    #[arg(
        long,
        value_name = "N",
        env = "SOLAR_OPERATOR_ERROR_MAX_RETRIES",
        default_value = "10",
        help_heading = "Work"
    )]
    pub(super) error_max_retries: String,

    /// Where /metrics is served; 0 for nowhere
    #[arg(
        long,
        value_name = "ADDRESS",
        env = "SOLAR_OPERATOR_METRICS_BIND_ADDRESS",
        default_value = ":8080",
        help_heading = "Process"
    )]
    pub(super) metrics_bind_address: String,
    /// The folder with tls.crt and tls.key that /metrics is served with; they are read again when they change
    #[arg(
        long,
        value_name = "DIR",
        env = "SOLAR_OPERATOR_METRICS_CERT_DIR",
        value_hint = ValueHint::DirPath,
        help_heading = "Process"
    )]
    pub(super) metrics_cert_dir: Option<PathBuf>,
    /// Serve /metrics only to users whom the cluster allows to get it (TokenReview, SubjectAccessReview)
    #[arg(long, env = "SOLAR_OPERATOR_METRICS_AUTHORIZATION", num_args = 0..=1, require_equals = true, default_missing_value = "true", default_value = "false", action = ArgAction::Set, help_heading = "Process")]
    pub(super) metrics_authorization: bool,
    /// Where /healthz and /readyz are served; 0 for nowhere
    #[arg(
        long,
        value_name = "ADDRESS",
        env = "SOLAR_OPERATOR_HEALTH_PROBE_BIND_ADDRESS",
        default_value = ":8081",
        help_heading = "Process"
    )]
    pub(super) health_probe_bind_address: String,
    /// How logs are written
    #[arg(long, value_enum, env = "SOLAR_OPERATOR_LOG_FORMAT", default_value_t = LogFormat::Text, help_heading = "Process")]
    pub(super) log_format: LogFormat,
    /// How much is logged
    #[arg(long, value_enum, env = "SOLAR_OPERATOR_LOG_LEVEL", default_value_t = LogLevel::Info, help_heading = "Process")]
    pub(super) log_level: LogLevel,
}

/// How logs are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum LogFormat {
    /// For people
    Text,
    /// One document a line
    Json,
}

/// How much is logged.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum LogLevel {
    /// Errors
    Error,
    /// Warnings too
    Warn,
    /// Changes of state too
    Info,
    /// Decisions too
    Debug,
    /// Everything
    Trace,
}

/// Which cluster a command asks.
#[derive(Args, Debug, Clone)]
pub(super) struct ClusterArgs {
    /// The kubeconfig [default: KUBECONFIG, ~/.kube/config, or the pod's service account]
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(super) kubeconfig: Option<PathBuf>,
    /// The kubeconfig's context [default: its current one]
    #[arg(long, value_name = "NAME")]
    pub(super) context: Option<String>,
}

/// How a command prints its result.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum Format {
    /// For people
    Text,
    /// One JSON document, also on failure
    Json,
}

/// What is checked before an installation.
#[derive(Args, Debug, Clone)]
pub(super) struct PreflightArgs {
    #[command(flatten)]
    pub(super) cluster: ClusterArgs,
    /// Check the CRDs of the pipeline's kinds, too
    #[arg(long, num_args = 0..=1, require_equals = true, default_missing_value = "true", default_value = "false", action = ArgAction::Set)]
    pub(super) pipeline: bool,
    /// Check the CRD of Artifacts, too
    #[arg(long, num_args = 0..=1, require_equals = true, default_missing_value = "true", default_value = "false", action = ArgAction::Set)]
    pub(super) artifacts: bool,
    /// Check the CRDs of ClusterStacks and ClusterAddons, too
    #[arg(long, num_args = 0..=1, require_equals = true, default_missing_value = "true", default_value = "false", action = ArgAction::Set)]
    pub(super) cluster_addons: bool,
    /// CRDs may be missing or of another version: they are about to be installed
    #[arg(long, num_args = 0..=1, require_equals = true, default_missing_value = "true", default_value = "false", action = ArgAction::Set)]
    pub(super) before_install: bool,
    /// How the result is printed
    #[arg(short, long, value_enum, value_name = "FORMAT", default_value_t = Format::Text)]
    pub(super) output: Format,
}

/// What is exported.
#[derive(Args, Debug, Clone)]
pub(super) struct ExportArgs {
    #[command(flatten)]
    pub(super) cluster: ClusterArgs,
    /// Only these namespaces, separated by commas [default: all, and cluster-scoped objects]
    #[arg(short, long, value_name = "NAMES", value_delimiter = ',')]
    pub(super) namespace: Vec<String>,
}

/// What a task needs beside the config.
#[derive(Args, Debug, Clone)]
pub(super) struct TaskArgs {
    /// The renderer's config, YAML or JSON
    #[arg(value_name = "CONFIG", value_hint = ValueHint::FilePath)]
    pub(super) config: PathBuf,
    /// The registry, and maybe a path in it
    #[arg(long, value_name = "URL")]
    pub(super) base_url: String,
    /// The path below it; its last element is the chart's name
    #[arg(long, value_name = "PATH")]
    pub(super) repository: String,
    /// The tag
    #[arg(long, value_name = "TAG")]
    pub(super) tag: String,
    /// The task's name [default: made of the chart's name and the tag]
    #[arg(long, value_name = "NAME")]
    pub(super) name: Option<String>,
    /// The task's namespace, of a RenderTask
    #[arg(short, long, value_name = "NAMESPACE")]
    pub(super) namespace: Option<String>,
    /// Print a ClusterRenderTask
    #[arg(long, action = ArgAction::SetTrue, conflicts_with = "namespace")]
    pub(super) cluster: bool,
    /// The Secret to push with
    #[arg(long, value_name = "NAME")]
    pub(super) push_secret: Option<String>,
    /// The Secret with the key that the chart is signed with: cosign.key and cosign.password
    #[arg(long, value_name = "NAME")]
    pub(super) sign_key_secret: Option<String>,
    /// The digest that the chart must have
    #[arg(long, value_name = "DIGEST")]
    pub(super) expected_digest: Option<Digest>,
    /// Push over plain HTTP
    #[arg(long, action = ArgAction::SetTrue)]
    pub(super) plain_http: bool,
    /// What happens when another chart is at the tag
    #[arg(long, value_enum, value_name = "WHAT")]
    pub(super) if_exists: Option<Policy>,
    /// How long a failed task's Job and Secret are kept, in seconds
    #[arg(long, value_name = "SECONDS", value_parser = clap::value_parser!(i32).range(0..))]
    pub(super) failed_job_ttl: Option<i32>,
    /// The name of what the task is made for [default: the chart's name]
    #[arg(long, value_name = "NAME")]
    pub(super) owner_name: Option<String>,
    /// The namespace of what the task is made for [default: the task's, or `default`]
    #[arg(long, value_name = "NAMESPACE")]
    pub(super) owner_namespace: Option<String>,
    /// The kind of what the task is made for
    #[arg(long, value_name = "KIND", default_value = "Config")]
    pub(super) owner_kind: String,
}

/// What happens when another chart is at the tag.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum Policy {
    /// The task fails
    Fail,
    /// The other chart stays
    Skip,
    /// The existing chart is replaced
    Replace,
}

impl From<Policy> for IfExists {
    fn from(policy: Policy) -> Self {
        match policy {
            Policy::Fail => Self::Fail,
            Policy::Skip => Self::Skip,
            Policy::Replace => Self::Replace,
        }
    }
}

impl TaskArgs {
    /// Which kind is asked for.
    pub(super) fn scope(&self) -> Scope {
        if self.cluster {
            Scope::Cluster
        } else {
            Scope::Namespaced
        }
    }
}
