//! Kubeconfigs of workload clusters: tokens and client certificates that are in them, and nothing else.
//!
//! Whoever writes the Secret of a cluster must not make the operator run a program, read a file of its own, or talk to a
//! proxy. No type here can be printed, and no error has anything of the text.

use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject as _;
use serde::Deserialize;
use serde_json::Value;
use solar_render::diag::Class;
use solar_render::source::Source;
use solar_render::yaml;

/// How large a kubeconfig may be, in bytes.
pub(super) const MAX_KUBECONFIG: usize = 256 << 10;
/// How long a connection may take.
pub(super) const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);
/// How long a cluster may be silent.
const IDLE_TIMEOUT: Duration = Duration::from_secs(15);

/// Why a kubeconfig is not used.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum KubeconfigError {
    #[error("the kubeconfig is larger than {MAX_KUBECONFIG} bytes")]
    TooLarge,
    #[error("the kubeconfig is not YAML")]
    NotYaml,
    #[error("the kubeconfig is not of the expected form")]
    Form,
    #[error("the kubeconfig has no {0}")]
    Missing(&'static str),
    #[error("the kubeconfig has {0}, which is refused: it must contain its token or client certificate")]
    Refused(&'static str),
    #[error("the server of the kubeconfig is no https:// URL")]
    Server,
    #[error("the kubeconfig's {0} can't be decoded")]
    Data(&'static str),
}

#[derive(Deserialize)]
#[serde(rename_all = "kebab-case")]
struct Kubeconfig {
    #[serde(default)]
    current_context: String,
    #[serde(default)]
    contexts: Vec<NamedContext>,
    #[serde(default)]
    clusters: Vec<NamedCluster>,
    #[serde(default)]
    users: Vec<NamedUser>,
}

#[derive(Deserialize)]
struct NamedContext {
    name: String,
    context: Context,
}

#[derive(Deserialize)]
struct Context {
    cluster: String,
    user: String,
}

#[derive(Deserialize)]
struct NamedCluster {
    name: String,
    cluster: serde_json::Map<String, Value>,
}

#[derive(Deserialize)]
struct NamedUser {
    name: String,
    user: serde_json::Map<String, Value>,
}

/// The connection to a workload cluster.
///
/// # Errors
/// What is missing or refused, without any of the text.
pub(super) fn connection(text: &[u8]) -> Result<kube::Config, KubeconfigError> {
    if text.len() > MAX_KUBECONFIG {
        return Err(KubeconfigError::TooLarge);
    }
    let text = std::str::from_utf8(text).map_err(|_| KubeconfigError::NotYaml)?;
    let source = Source::new("kubeconfig", text);
    let node = yaml::parse(&source, Class::Config, &yaml::Limits::default())
        .map_err(|_| KubeconfigError::NotYaml)?;
    let json = node.into_value().to_json();
    let file: Kubeconfig = serde_json::from_str(&json).map_err(|_| KubeconfigError::Form)?;
    let context = file.contexts.iter().find(|one| one.name == file.current_context);
    let Context { cluster, user } = &context
        .ok_or(KubeconfigError::Missing("current context"))?
        .context;
    let cluster = file.clusters.iter().find(|one| one.name == *cluster);
    let cluster = &cluster
        .ok_or(KubeconfigError::Missing("cluster of its context"))?
        .cluster;
    let user = file.users.iter().find(|one| one.name == *user);
    let user = &user.ok_or(KubeconfigError::Missing("user of its context"))?.user;
    refuse(
        cluster,
        &[
            ("certificate-authority", "a certificate-authority file"),
            ("proxy-url", "a proxy"),
        ],
    )?;
    if cluster.get("insecure-skip-tls-verify").and_then(Value::as_bool) == Some(true) {
        return Err(KubeconfigError::Refused("insecure-skip-tls-verify"));
    }
    refuse(
        user,
        &[
            ("exec", "an exec plugin"),
            ("auth-provider", "an auth provider"),
            ("tokenFile", "a token file"),
            ("client-certificate", "a client-certificate file"),
            ("client-key", "a client-key file"),
            ("username", "a user name"),
            ("password", "a password"),
            ("as", "an impersonation"),
            ("as-uid", "an impersonation"),
            ("as-groups", "an impersonation"),
            ("as-user-extra", "an impersonation"),
        ],
    )?;
    build(cluster, user)
}

/// What has another value than null or an empty one is refused.
fn refuse(
    map: &serde_json::Map<String, Value>,
    fields: &[(&str, &'static str)],
) -> Result<(), KubeconfigError> {
    let is_given = |name: &str| {
        map.get(name)
            .is_some_and(|value| !value.is_null() && *value != "")
    };
    match fields.iter().find(|(name, _)| is_given(name)) {
        Some((_, what)) => Err(KubeconfigError::Refused(what)),
        None => Ok(()),
    }
}

fn build(
    cluster: &serde_json::Map<String, Value>,
    user: &serde_json::Map<String, Value>,
) -> Result<kube::Config, KubeconfigError> {
    let text = |map: &serde_json::Map<String, Value>, name: &str| {
        let value = map
            .get(name)
            .and_then(Value::as_str)
            .filter(|text| !text.is_empty());
        value.map(str::to_owned)
    };
    let server = text(cluster, "server").ok_or(KubeconfigError::Missing("server"))?;
    let server: hyper::Uri = server.parse().map_err(|_| KubeconfigError::Server)?;
    if server.scheme_str() != Some("https") || server.host().is_none() {
        return Err(KubeconfigError::Server);
    }
    let mut config = kube::Config::new(server);
    config.connect_timeout = Some(CONNECT_TIMEOUT);
    config.read_timeout = Some(IDLE_TIMEOUT);
    config.write_timeout = Some(IDLE_TIMEOUT);
    config.proxy_url = None;
    config.tls_server_name = text(cluster, "tls-server-name");
    if let Some(authority) = text(cluster, "certificate-authority-data") {
        let wrong = KubeconfigError::Data("certificate-authority-data");
        let Ok(pem) = STANDARD.decode(authority.trim()) else {
            return Err(wrong);
        };
        let certificates = CertificateDer::pem_slice_iter(&pem);
        let certificates: Result<Vec<_>, _> = certificates.map(|one| one.map(|der| der.to_vec())).collect();
        match certificates {
            Ok(list) if !list.is_empty() => config.root_cert = Some(list),
            _ => return Err(wrong),
        }
    }
    let token = text(user, "token");
    let certificate = text(user, "client-certificate-data");
    let key = text(user, "client-key-data");
    if token.is_none() && (certificate.is_none() || key.is_none()) {
        return Err(KubeconfigError::Missing("token or client certificate"));
    }
    config.auth_info.token = token.map(Into::into);
    config.auth_info.client_certificate_data = certificate;
    config.auth_info.client_key_data = key.map(Into::into);
    Ok(config)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn file(cluster: Value, user: Value) -> Vec<u8> {
        let mut whole = json!({"server": "https://10.0.0.1:6443"});
        for (name, value) in cluster.as_object().expect("a map") {
            whole[name] = value.clone();
        }
        json!({
            "apiVersion": "v1", "kind": "Config", "current-context": "c",
            "contexts": [{"name": "c", "context": {"cluster": "k", "user": "u"}}],
            "clusters": [{"name": "k", "cluster": whole}], "users": [{"name": "u", "user": user}],
        })
        .to_string()
        .into_bytes()
    }

    fn problem(text: &[u8]) -> KubeconfigError {
        connection(text).map(|_| ()).expect_err("refused")
    }

    #[test]
    fn tokens_and_client_certificates_are_taken() {
        let token = connection(&file(json!({}), json!({"token": "t0p"}))).expect("a connection");
        assert_eq!(token.cluster_url.host(), Some("10.0.0.1"));
        assert!(token.auth_info.token.is_some() && token.connect_timeout.is_some());
        let pair = json!({"client-certificate-data": "YQ==", "client-key-data": "YQ==", "exec": null});
        assert!(connection(&file(json!({}), pair)).is_ok());
    }

    /// Whoever may write the Secret must not run programs as the operator, nor read its files.
    #[test]
    fn what_reaches_out_of_the_file_is_refused() {
        let token = || json!({"token": "t0p-secret"});
        let with = |field: &str, value: Value| json!({"token": "t0p-secret", field: value});
        let table = [
            (json!({}), with("exec", json!({"command": "sh"})), "exec"),
            (
                json!({}),
                with("tokenFile", json!("/var/run/secrets/token")),
                "token file",
            ),
            (
                json!({}),
                with("auth-provider", json!({"name": "gcp"})),
                "auth provider",
            ),
            (
                json!({}),
                with("client-certificate", json!("/c")),
                "client-certificate",
            ),
            (json!({}), with("client-key", json!("/k")), "client-key"),
            (json!({}), with("username", json!("u")), "user name"),
            (json!({}), with("as", json!("system:admin")), "impersonation"),
            (
                json!({"certificate-authority": "/etc/passwd"}),
                token(),
                "certificate-authority",
            ),
            (json!({"proxy-url": "http://p"}), token(), "proxy"),
            (
                json!({"insecure-skip-tls-verify": true}),
                token(),
                "insecure-skip-tls-verify",
            ),
            (json!({"server": "http://10.0.0.1"}), token(), "https"),
            (json!({"server": "file:///x"}), token(), "https"),
            (
                json!({"certificate-authority-data": "%"}),
                token(),
                "can't be decoded",
            ),
            (json!({}), json!({}), "no token"),
            (json!({}), json!({"client-certificate-data": "YQ=="}), "no token"),
        ];
        for (cluster, user, expected) in table {
            let message = problem(&file(cluster, user)).to_string();
            assert!(message.contains(expected), "{message}: {expected}");
            assert!(!message.contains("t0p"), "{message}");
        }
    }

    #[test]
    fn text_of_another_form_is_refused_without_being_quoted() {
        let bomb = format!("a: &a [x]\n{}", "b: [*a, *a]\n".repeat(20_000));
        let huge = "x".repeat(MAX_KUBECONFIG + 1);
        let deep = "[".repeat(20_000);
        let table: [(&str, KubeconfigError); 6] = [
            ("", KubeconfigError::Form),
            ("t0p: {", KubeconfigError::NotYaml),
            ("clusters: t0p", KubeconfigError::Form),
            (
                "current-context: t0p",
                KubeconfigError::Missing("current context"),
            ),
            (&huge, KubeconfigError::TooLarge),
            (&deep, KubeconfigError::NotYaml),
        ];
        for (text, expected) in table {
            let found = problem(text.as_bytes());
            assert_eq!(found, expected);
            assert!(!found.to_string().contains("t0p"));
        }
        assert!(connection(bomb.as_bytes()).is_err());
        assert_eq!(problem(&[0xff, 0xfe]), KubeconfigError::NotYaml);
    }
}
