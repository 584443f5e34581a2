//! How a user says who it is: headers and a client certificate, also those that a program prints.
//!
//! The protocol of such programs is `client.authentication.k8s.io`. A program has the terminal for its messages and, if
//! it asks for it, for its questions; what it prints on standard output is never shown.

use std::io::{IsTerminal as _, Read as _};
use std::process::{Command, Stdio};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use http::header::AUTHORIZATION;
use http::{HeaderMap, HeaderName, HeaderValue};
use serde::Deserialize;
use serde_json::{Value, json};

use super::kubeconfig::{Connection, ExecPlugin, Impersonated, InteractiveMode, User};
use crate::diag::{Class, Diagnostic, Result};
use crate::fsio;
use crate::secret::Secret;

/// How much a program may print, in bytes.
const MAX_OUTPUT: u64 = 1 << 20;
/// The variable that tells a program what it is asked for.
const EXEC_INFO: &str = "KUBERNETES_EXEC_INFO";

/// What requests have to say who makes them.
#[derive(Default)]
pub(crate) struct Credentials {
    /// None of them is ever printed.
    pub(crate) headers: HeaderMap,
    /// The client certificate and its key, PEM.
    pub(crate) identity: Option<(String, Secret)>,
}

#[derive(Deserialize)]
struct ExecCredential {
    status: Option<ExecStatus>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct ExecStatus {
    #[serde(default)]
    token: Option<String>,
    #[serde(default)]
    client_certificate_data: Option<String>,
    #[serde(default)]
    client_key_data: Option<String>,
}

/// The credentials of a connection's user. Runs its program, if it has one.
///
/// # Errors
/// Class auth: the program fails, or prints no credentials. Class config: a text that fits no header.
pub(crate) fn credentials(connection: &Connection) -> Result<Credentials> {
    let User {
        token,
        identity,
        basic,
        exec,
        impersonated,
    } = &connection.user;
    let mut found = Credentials {
        identity: identity.clone(),
        ..Credentials::default()
    };
    let mut bearer = token.clone();
    if let (None, None, None, Some(plugin)) = (&bearer, identity, basic, exec) {
        let status = run(plugin, connection)?;
        bearer = status.token.filter(|token| !token.is_empty()).map(Secret::new);
        let key = status.client_key_data.map(Secret::new);
        found.identity = status.client_certificate_data.zip(key);
        if bearer.is_none() && found.identity.is_none() {
            return Err(failed(
                plugin,
                "has printed neither a token nor a client certificate with its key",
            ));
        }
    }
    let unfit = |what: &str| {
        let message = format!(
            "the {what} of the context {:?} fits no HTTP header",
            connection.context
        );
        crate::diag::Diagnostics::from(Diagnostic::error(Class::Config, message))
    };
    let authorization = match (&bearer, basic) {
        (Some(token), _) => Some(Secret::new(format!("Bearer {}", token.expose()))),
        (None, Some((name, password))) => {
            let both = Secret::new(format!("{name}:{}", password.expose()));
            Some(Secret::new(format!("Basic {}", STANDARD.encode(both.expose()))))
        }
        (None, None) => None,
    };
    if let Some(text) = authorization {
        let mut value = HeaderValue::try_from(text.expose()).map_err(|_| unfit("token or password"))?;
        value.set_sensitive(true);
        found.headers.insert(AUTHORIZATION, value);
    }
    if let Some(impersonated) = impersonated {
        impersonate(impersonated, &mut found.headers).ok_or_else(|| unfit("impersonated user"))?;
    }
    Ok(found)
}

fn impersonate(impersonated: &Impersonated, headers: &mut HeaderMap) -> Option<()> {
    let Impersonated {
        user,
        uid,
        groups,
        extra,
    } = impersonated;
    headers.insert("impersonate-user", HeaderValue::try_from(user).ok()?);
    if let Some(uid) = uid {
        headers.insert("impersonate-uid", HeaderValue::try_from(uid).ok()?);
    }
    for group in groups {
        headers.append("impersonate-group", HeaderValue::try_from(group).ok()?);
    }
    for (key, value) in extra {
        let key = percent_encoding::utf8_percent_encode(key, percent_encoding::NON_ALPHANUMERIC);
        let name = HeaderName::try_from(format!("impersonate-extra-{key}")).ok()?;
        headers.append(name, HeaderValue::try_from(value).ok()?);
    }
    Some(())
}

/// Runs a program, and reads what it prints.
fn run(plugin: &ExecPlugin, connection: &Connection) -> Result<ExecStatus> {
    let terminal = std::io::stdin().is_terminal();
    let gets_terminal = match plugin.interactive {
        InteractiveMode::Never => false,
        InteractiveMode::IfAvailable => terminal,
        InteractiveMode::Always if terminal => true,
        InteractiveMode::Always => {
            return Err(failed(
                plugin,
                "wants a terminal (interactiveMode: Always), and there is none",
            ));
        }
    };
    let mut command = Command::new(&plugin.command);
    command
        .args(&plugin.args)
        .envs(plugin.env.iter().map(|(name, value)| (name, value.expose())))
        .env(EXEC_INFO, question(plugin, connection, gets_terminal).to_string())
        .stdin(if gets_terminal {
            Stdio::inherit()
        } else {
            Stdio::null()
        })
        .stdout(Stdio::piped())
        .stderr(Stdio::inherit());
    let mut child = command.spawn().map_err(|error| {
        let hint = plugin.install_hint.trim();
        let problem = failed(plugin, &format!("can't be run: {}", fsio::reason(&error)));
        let list = problem.into_vec().into_iter();
        list.map(|one| if hint.is_empty() { one } else { one.hint(hint) })
            .collect::<crate::diag::Diagnostics>()
    })?;
    let mut output = Vec::new();
    let read = child
        .stdout
        .take()
        .map(|pipe| pipe.take(MAX_OUTPUT + 1).read_to_end(&mut output));
    if output.len() as u64 > MAX_OUTPUT {
        // It may still be writing.
        let _ = child.kill();
    }
    let status = child.wait();
    match (read, status) {
        (Some(Ok(_)), Ok(_)) if output.len() as u64 > MAX_OUTPUT => Err(failed(
            plugin,
            &format!("has printed more than {}", fsio::size(MAX_OUTPUT)),
        )),
        (Some(Ok(_)), Ok(status)) if status.success() => {
            let answer: Option<ExecCredential> = serde_json::from_slice(&output).ok();
            let status = answer.and_then(|answer| answer.status);
            status.ok_or_else(|| failed(plugin, "has not printed an ExecCredential with a status"))
        }
        (_, Ok(status)) => Err(failed(plugin, &format!("has failed ({status})"))),
        (_, Err(error)) => Err(failed(plugin, &fsio::reason(&error))),
    }
}

/// What the program is told.
fn question(plugin: &ExecPlugin, connection: &Connection, interactive: bool) -> Value {
    let mut spec = json!({"interactive": interactive});
    if plugin.provides_cluster {
        let mut cluster = json!({"server": connection.server.as_str()});
        if let Some(authority) = &connection.authority {
            cluster["certificate-authority-data"] = STANDARD.encode(authority).into();
        }
        if let Some(name) = &connection.server_name {
            cluster["tls-server-name"] = name.as_str().into();
        }
        if let Some(proxy) = &connection.proxy {
            cluster["proxy-url"] = proxy.expose().into();
        }
        if connection.insecure {
            cluster["insecure-skip-tls-verify"] = true.into();
        }
        spec["cluster"] = cluster;
    }
    json!({"apiVersion": plugin.api_version, "kind": "ExecCredential", "spec": spec})
}

fn failed(plugin: &ExecPlugin, why: &str) -> crate::diag::Diagnostics {
    let message = format!(
        "{}: the exec plugin {} {why}",
        plugin.at,
        plugin.command.display()
    );
    Diagnostic::error(Class::Auth, message).into()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cluster::kubeconfig::{KubeconfigChoice, connection};
    use crate::world::Fixed;

    fn found(user: &Value) -> Result<Credentials> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("config");
        let config = json!({"apiVersion": "v1", "kind": "Config", "current-context": "c",
            "contexts": [{"name": "c", "context": {"cluster": "k", "user": "u"}}],
            "clusters": [{"name": "k", "cluster": {"server": "https://10.0.0.1:6443"}}],
            "users": [{"name": "u", "user": user}]});
        std::fs::write(&path, config.to_string()).unwrap();
        let choice = KubeconfigChoice {
            file: Some(path),
            context: None,
        };
        credentials(&connection(&choice, &Fixed::default())?)
    }

    fn plugin(script: &str) -> Value {
        json!({"exec": {"apiVersion": "client.authentication.k8s.io/v1", "command": "sh", "args": ["-c", script],
            "interactiveMode": "Never", "provideClusterInfo": true, "env": [{"name": "MINE", "value": "t0p"}]}})
    }

    fn header(user: &Value, name: &str) -> String {
        let credentials = found(user).unwrap();
        let value = credentials.headers.get(name).unwrap();
        value.to_str().unwrap().to_owned()
    }

    #[test]
    fn tokens_passwords_and_other_users_are_headers() {
        assert_eq!(header(&json!({"token": "abc"}), "authorization"), "Bearer abc");
        let basic = json!({"username": "u", "password": "p"});
        assert_eq!(header(&basic, "authorization"), "Basic dTpw");
        let other = json!({"token": "abc", "as": "jane", "as-groups": ["a", "b"], "as-uid": "7",
            "as-user-extra": {"Scopes/x": ["view"]}});
        assert_eq!(header(&other, "impersonate-user"), "jane");
        assert_eq!(header(&other, "impersonate-uid"), "7");
        assert_eq!(header(&other, "impersonate-extra-scopes%2fx"), "view");
        let headers = found(&other).unwrap().headers;
        assert_eq!(headers.get_all("impersonate-group").iter().count(), 2);
        assert!(found(&json!({})).unwrap().headers.is_empty());
    }

    #[test]
    fn a_program_is_told_the_cluster_and_prints_a_token() {
        let script = r#"case "$KUBERNETES_EXEC_INFO" in *10.0.0.1*) ;; *) exit 9;; esac
            printf '{"status": {"token": "of-%s"}}' "$MINE""#;
        assert_eq!(header(&plugin(script), "authorization"), "Bearer of-t0p");
        let pair = r#"printf '{"status": {"clientCertificateData": "c", "clientKeyData": "k"}}'"#;
        let (certificate, key) = found(&plugin(pair)).unwrap().identity.unwrap();
        assert_eq!((certificate.as_str(), key.expose()), ("c", "k"));
    }

    #[test]
    fn a_program_that_fails_is_named_and_its_output_is_not_shown() {
        let table = [
            ("printf t0p; exit 3", "has failed (exit status: 3)"),
            ("printf t0p", "not printed an ExecCredential"),
            ("printf '{\"status\": {}}'", "neither a token"),
            ("head -c 2000000 /dev/zero", "more than 1"),
        ];
        for (script, expected) in table {
            let problem = found(&plugin(script)).map(|_| ()).unwrap_err();
            let text = problem.to_string();
            assert!(text.contains(expected) && text.contains("config:1: "), "{text}");
            assert!(!text.contains("t0p"), "{text}");
            assert_eq!(problem.class(), Class::Auth);
        }
        let mut missing = plugin("");
        missing["exec"]["command"] = "./no-such-plugin".into();
        missing["exec"]["installHint"] = "install it".into();
        let problem = found(&missing).map(|_| ()).unwrap_err();
        assert_eq!(problem.iter().next().unwrap().hints, ["install it"]);
        let mut terminal = plugin("");
        terminal["exec"]["interactiveMode"] = "Always".into();
        if !std::io::stdin().is_terminal() {
            let problem = found(&terminal).map(|_| ()).unwrap_err();
            assert!(problem.to_string().contains("terminal"), "{problem}");
        }
    }
}
