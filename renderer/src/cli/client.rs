//! Registry client options from the command line.

use std::io::Read as _;

use super::args::registry::{RegistryFlags, RetryFlags};
use crate::diag::{Class, Diagnostic, Result};
use crate::oci::{ClientOptions, Credentials, RetryPolicy, Secret, TlsOptions};

/// The maximum length of a password from standard input, in bytes.
const MAX_PASSWORD: u64 = 64 * 1024;

/// The client options from the registry flags. Reads the password if it is on standard input.
pub(crate) fn client_options(registry: &RegistryFlags) -> Result<ClientOptions> {
    let RegistryFlags {
        plain_http,
        username,
        password,
        password_stdin,
        registry_config,
        ca_file,
        cert_file,
        key_file,
        insecure_skip_tls_verify,
        retry,
    } = registry.clone();
    let password = if password_stdin {
        Some(read_password()?)
    } else {
        password.map(|hidden| hidden.0)
    };
    let credentials = match (username, password) {
        (Some(username), Some(password)) => Some(Credentials::Basic { username, password }),
        (None, None) => None,
        (username, _) => {
            let (given, missing) = if username.is_some() {
                ("--username", "--password-stdin")
            } else {
                ("--password", "--username")
            };
            return Err(Diagnostic::error(Class::Usage, format!("{given} requires {missing}")).into());
        }
    };
    Ok(ClientOptions {
        plain_http,
        tls: TlsOptions {
            ca_file,
            insecure_skip_verify: insecure_skip_tls_verify,
            cert_file,
            key_file,
        },
        credentials,
        registry_config,
        ..retry_options(&retry)
    })
}

/// The client options from the flags for timeouts and retries alone.
pub(crate) fn retry_options(retry: &RetryFlags) -> ClientOptions {
    let RetryFlags {
        timeout,
        deadline,
        retries,
    } = *retry;
    ClientOptions {
        timeout,
        deadline,
        retry: RetryPolicy {
            attempts: retries + 1,
            ..RetryPolicy::default()
        },
        ..ClientOptions::default()
    }
}

fn read_password() -> Result<Secret> {
    let mut text = String::new();
    let read = std::io::stdin().take(MAX_PASSWORD).read_to_string(&mut text);
    let text = text.trim_end_matches(['\r', '\n']);
    match read {
        Ok(_) if !text.is_empty() => Ok(Secret::new(text)),
        Ok(_) => Err(Diagnostic::error(Class::Usage, "--password-stdin: standard input is empty").into()),
        Err(error) => Err(Diagnostic::error(
            Class::Usage,
            format!("--password-stdin: {}", crate::fsio::reason(&error)),
        )
        .into()),
    }
}
