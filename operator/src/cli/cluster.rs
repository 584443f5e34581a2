//! Commands that ask a cluster something and end: the connection, and a runtime for it.

use std::time::Duration;

use hyper::header::{HeaderValue, USER_AGENT};
use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::{Client, Config};
use solar_render::diag::{Class, Diagnostic, Diagnostics};

use super::AGENT;
use super::args::ClusterArgs;
use crate::controllers::cluster_addon::{CLUSTER_GROUP, ClusterApiVersion};
use crate::runtime::api_message;

/// How long one answer may take.
const READ_TIMEOUT: Duration = Duration::from_secs(60);

/// Runs a command's future; it gets a client of the cluster that the arguments name.
pub(super) fn with_client<T>(
    args: &ClusterArgs,
    command: impl AsyncFnOnce(Client) -> Result<T, Diagnostics>,
) -> Result<T, Diagnostics> {
    super::install_tls();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.map_err(|error| Diagnostic::error(Class::Io, format!("can't start: {error}")))?;
    runtime.block_on(async {
        let mut config = config(args).await?;
        config.read_timeout = Some(READ_TIMEOUT);
        config.headers.push((USER_AGENT, HeaderValue::from_static(AGENT)));
        let client = Client::try_from(config).map_err(|error| {
            Diagnostic::error(Class::Config, format!("the cluster's connection: {error}"))
        })?;
        command(client).await
    })
}

/// The version of Cluster API's Clusters that a cluster serves, the newest one that this program knows.
pub(super) async fn cluster_api_version(client: &Client) -> Result<ClusterApiVersion, Diagnostics> {
    let missing = |error: String| {
        Diagnostic::error(
            Class::Config,
            format!("--cluster-addons: the cluster serves no Clusters of {CLUSTER_GROUP}: {error}"),
        )
        .note("v1beta1 and v1beta2 are known")
        .hint("install Cluster API first")
    };
    let mut last = String::new();
    for version in [ClusterApiVersion::V1Beta2, ClusterApiVersion::V1Beta1] {
        let kind = version.kind();
        match client.list_api_group_resources(&kind.api_version()).await {
            Ok(list) if list.resources.iter().any(|one| one.name == kind.plural) => return Ok(version),
            Ok(_) => {}
            Err(error) => last = api_message(&error),
        }
    }
    Err(missing(last).into())
}

async fn config(args: &ClusterArgs) -> Result<Config, Diagnostic> {
    let options = KubeConfigOptions {
        context: args.context.clone(),
        ..KubeConfigOptions::default()
    };
    let wrong = |error: String| {
        Diagnostic::error(Class::Config, error)
            .hint("--kubeconfig names a kubeconfig, --context one of its contexts")
    };
    let Some(path) = &args.kubeconfig else {
        if args.context.is_some() {
            let config = Config::from_kubeconfig(&options).await;
            return config.map_err(|error| wrong(format!("no cluster to ask: {error}")));
        }
        return Config::infer().await.map_err(|error| {
            Diagnostic::error(Class::Config, format!("no cluster to ask: {error}"))
                .note("the kubeconfig is looked up in KUBECONFIG and ~/.kube/config; in a pod, the service account is used")
                .hint("set --kubeconfig or KUBECONFIG")
        });
    };
    let name = path.display();
    let kubeconfig =
        Kubeconfig::read_from(path).map_err(|error| wrong(format!("can't read {name}: {error}")))?;
    let config = Config::from_custom_kubeconfig(kubeconfig, &options).await;
    config.map_err(|error| wrong(format!("{name}: {error}")))
}
