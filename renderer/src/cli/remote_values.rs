//! Values from URLs: `-f https://HOST/values.yaml`, with the same rules as other downloads.

use std::sync::Arc;

use url::Url;

use super::args::registry::RegistryFlags;
use super::client::retry_options;
use super::context::Context;
use super::progress::TerminalProgress;
use crate::diag::{Class, Diagnostic, Result};
use crate::fsio;
use crate::oci::fetch::{Fetcher, WebUser};
use crate::oci::{ClientOptions, Secret, TlsOptions};
use crate::source::Source;
use crate::values::options::MAX_FILE;

/// The client options for servers other than the command's registry: with its TLS flags, without its credentials.
pub(crate) fn web_options(registry: &RegistryFlags) -> ClientOptions {
    ClientOptions {
        tls: TlsOptions {
            ca_file: registry.ca_file.clone(),
            insecure_skip_verify: registry.insecure_skip_tls_verify,
            cert_file: registry.cert_file.clone(),
            key_file: registry.key_file.clone(),
        },
        ..retry_options(&registry.retry)
    }
}

/// Fetches the values at a URL; a user and password in it are sent to the server, and never shown.
///
/// # Errors
/// An invalid URL, a server that is unreachable or refuses the request, a text that is larger than a values file may
/// be.
pub(crate) fn remote_values(url: &str, client: &ClientOptions, context: &Context<'_>) -> Result<Arc<Source>> {
    let mut url = Url::parse(url).map_err(|error| {
        Diagnostic::error(Class::Values, format!("the URL of values can't be read: {error}"))
    })?;
    let user = (!url.username().is_empty()).then(|| WebUser {
        username: url.username().to_owned(),
        password: Secret::new(url.password().unwrap_or_default()),
    });
    // URLs of http and https support both.
    let _ = (url.set_username(""), url.set_password(None));
    let progress = TerminalProgress::new(context.printer, "reading");
    let text = Fetcher::new(client, context.world, &progress)?.text(&url, user.as_ref(), MAX_FILE);
    progress.end();
    let shown = format!("{}{}", url.origin().ascii_serialization(), url.path());
    fsio::text_of(&shown, text?, Class::Values)
}
