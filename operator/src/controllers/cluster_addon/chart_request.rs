//! What a stack says about its chart, as a request to the cache: with the credentials and the key that its Secrets have.

use super::chart_cache::{ChartRequest, ChartVersionOrDigest};
use super::{Shared, secrets};
use crate::api::cluster_addons::ClusterStackSpec;
use crate::runtime::{Cx, Error};

/// The request of a chart, with the credentials and the key of its stack; or the reason why it can't be made.
pub(super) async fn of_stack(
    shared: &Shared,
    cx: &Cx,
    namespace: &str,
    spec: &ClusterStackSpec,
    repository: &str,
    version: ChartVersionOrDigest,
) -> Result<Result<ChartRequest, String>, Error> {
    let location = repository.trim_start_matches("oci://");
    let host = location.split('/').next().unwrap_or_default();
    if let Some(refusal) = shared.settings.allowed_hosts.refusal(namespace, host) {
        return Ok(Err(refusal));
    }
    let credentials = match &spec.chart.pull_secret_ref {
        None => None,
        Some(secret) => match secrets::pull_credentials(cx, namespace, &secret.name, location).await? {
            Ok(credentials) => credentials,
            Err(message) => return Ok(Err(message)),
        },
    };
    let key = match &spec.chart.verify {
        None => None,
        Some(verify) => match secrets::verifying_key(cx, namespace, &verify.key_secret_ref.name).await? {
            Ok(key) => Some(key),
            Err(message) => return Ok(Err(message)),
        },
    };
    Ok(Ok(ChartRequest {
        namespace: namespace.to_owned(),
        repository: location.to_owned(),
        version,
        insecure: spec.chart.insecure,
        credentials,
        key,
    }))
}
