//! `artifact`

use std::path::Path;

use super::args::artifact::{ArtifactArgs, SourceLocation};
use super::args::policy::IfExistsChoice;
use super::client::client_options;
use super::context::{CalledAs, CommandOutcome, Context};
use super::keys::signer;
use super::progress::TerminalProgress;
use super::push::{outcome, push_options};
use crate::diag::{Class, Diagnostic, Result};
use crate::fsio;
use crate::import::{self, Format, ImportRequest, Patterns, Source};
use crate::oci::{self, AmbientHost, ClientOptions, PushOptions, RequestHeaders, Secret};
use crate::pipeline::Observer;
use crate::reference::{ArtifactStore, Target};
use crate::report::Report;

/// The maximum number of headers for a web server.
const MAX_HEADERS: usize = 16;
/// The maximum length of a header's value, in bytes.
const MAX_HEADER: usize = 8 << 10;
/// Headers of the transfer itself, which a user can't set.
const RESERVED: [&str; 8] = [
    "accept",
    "connection",
    "content-length",
    "content-type",
    "host",
    "range",
    "te",
    "transfer-encoding",
];
/// The keys of Kubernetes' own types of Secrets that begin with no dot and have none in them: user, password, keys and
/// tokens. Whoever mounts such a Secret as headers would send them to any server.
const SECRET_KEYS: [&str; 6] = [
    "identity",
    "password",
    "ssh-privatekey",
    "token",
    "token-secret",
    "username",
];

/// `artifact`
pub(crate) fn artifact(args: &ArtifactArgs, context: &Context<'_>) -> CommandOutcome {
    let request = match request(args, context) {
        Ok(request) => request,
        Err(problem) => return CommandOutcome::failed(problem),
    };
    let observer = ImportObserver {
        progress: TerminalProgress::new(context.printer, "pushing"),
        context,
    };
    let delivered = import::run(&request, context.world, &observer);
    observer.progress.end();
    outcome(delivered, CalledAs::SolarRender)
}

struct ImportObserver<'a> {
    progress: TerminalProgress,
    context: &'a Context<'a>,
}

impl Observer for ImportObserver<'_> {
    fn sending(&self, report: &Report) {
        self.context.signals.goes_out(report);
    }

    fn progress(&self) -> &dyn oci::Progress {
        &self.progress
    }
}

fn request(args: &ArtifactArgs, context: &Context<'_>) -> Result<ImportRequest> {
    let source = source(args)?;
    let client = client_options(&args.registry)?;
    let signer = signer(&args.policy.signing, args.registry.password_stdin, context)?;
    let policy = &args.policy;
    let from = source_client(args, &source, &client);
    let mut request = ImportRequest::new(
        source,
        Format::from(args.format),
        args.to.clone(),
        args.workdir.clone(),
    );
    if let Some(bytes) = args.max_size {
        request.max_bytes = bytes;
    }
    if let Some(dir) = &args.from_headers {
        request.headers = headers(dir)?;
    }
    request.allow_mismatch = policy.allow_mismatch;
    request.push = PushOptions {
        signer,
        ..push_options(policy, IfExistsChoice::Fail)
    };
    request.from = from;
    request.to = ClientOptions {
        plain_http: client.plain_http || args.to_plain_http,
        ..client
    };
    Ok(request)
}

/// The source, and whether the flags are for it.
fn source(args: &ArtifactArgs) -> Result<Source> {
    let is = |found: bool, flag: &'static str, needs: &'static str| (found, flag, needs);
    let (web, hub, registry) = match &args.from {
        SourceLocation::Web(_) => (true, false, false),
        SourceLocation::Hub(_) => (false, true, false),
        SourceLocation::Registry(_) => (false, false, true),
    };
    let misplaced = [
        is(args.sha256.is_some() && !web, "--sha256", "https://"),
        is(args.from_headers.is_some() && !web, "--from-headers", "https://"),
        is(!args.include.is_empty() && !hub, "--include", "hf://"),
        is(!args.exclude.is_empty() && !hub, "--exclude", "hf://"),
        is(
            args.from_registry_config.is_some() && !registry,
            "--from-registry-config",
            "oci://",
        ),
        is(args.from_plain_http && !registry, "--from-plain-http", "oci://"),
    ];
    if let Some((_, flag, needs)) = misplaced.into_iter().find(|(found, ..)| *found) {
        let message = format!("{flag} requires a source that begins with {needs}");
        return Err(Diagnostic::error(Class::Usage, message).into());
    }
    Ok(match &args.from {
        SourceLocation::Web(url) => Source::Web {
            url: url.clone(),
            sha256: args.sha256.clone().ok_or_else(|| {
                Diagnostic::error(Class::Usage, "a file on a web server requires --sha256")
                    .note("without it, nobody could tell whether it is the right file")
            })?,
        },
        SourceLocation::Hub(repository) => Source::Hub {
            repository: repository.clone(),
            patterns: Patterns::new(&args.include, &args.exclude)?,
        },
        SourceLocation::Registry(locator) => Source::Registry(locator.clone()),
    })
}

/// The credentials of the command line and of REGISTRY_USERNAME are the target's: another host doesn't get them.
fn source_client(args: &ArtifactArgs, source: &Source, client: &ClientOptions) -> ClientOptions {
    let target = match &args.to {
        Target::Registry { base, .. } => base.split('/').next(),
        Target::Layout { .. } | Target::File { .. } => None,
    };
    let same = match source {
        Source::Registry(locator) => match &locator.place {
            ArtifactStore::Registry(repository) => Some(repository.host()) == target,
            ArtifactStore::Layout(_) => false,
        },
        Source::Web { .. } | Source::Hub { .. } => false,
    };
    let options = ClientOptions {
        plain_http: client.plain_http || args.from_plain_http,
        ..client.clone()
    };
    match &args.from_registry_config {
        None if same => options,
        config => ClientOptions {
            credentials: None,
            ambient_host: AmbientHost::Nobody,
            registry_config: config.clone().or(options.registry_config),
            ..options
        },
    }
}

/// Reads the headers from a folder, such as a mounted Secret: Kubernetes' own entries begin with two dots. The keys of
/// Secrets that hold no headers are refused: `.dockerconfigjson`, `password`, `tls.key`.
fn headers(dir: &Path) -> Result<RequestHeaders> {
    let failed = |error: &std::io::Error| fsio::cannot("read", dir, error, Class::Config);
    let mut names = Vec::new();
    for entry in std::fs::read_dir(dir).map_err(|error| failed(&error))? {
        let name = entry.map_err(|error| failed(&error))?.file_name();
        match name.into_string() {
            Ok(name) if name.starts_with("..") => {}
            Ok(name) if !name.starts_with('.') => names.push(name),
            Ok(name) => return Err(not_a_header(&dir.join(name)).into()),
            Err(name) => return Err(not_a_header(&dir.join(name)).into()),
        }
    }
    if names.len() > MAX_HEADERS {
        let message = format!("{} has more than {MAX_HEADERS} headers", dir.display());
        return Err(Diagnostic::error(Class::Config, message).into());
    }
    names.sort();
    let mut headers = RequestHeaders::default();
    for name in names {
        let wrong = |reason: &str| {
            let path = dir.join(&name);
            Diagnostic::error(Class::Config, format!("{}: {reason}", path.display()))
        };
        let lower = name.to_ascii_lowercase();
        if RESERVED.contains(&lower.as_str()) {
            return Err(wrong("this header is set by the transfer").into());
        }
        // `tls.key`, `ca.crt`, `config.json`: files, and no headers.
        if lower.contains('.') || SECRET_KEYS.contains(&lower.as_str()) {
            return Err(not_a_header(&dir.join(&name)).into());
        }
        let text = fsio::read_text(&dir.join(&name), MAX_HEADER, Class::Config)?;
        if !headers.insert(&name, &Secret::new(text.text().trim_end_matches(['\r', '\n']))) {
            return Err(wrong("the name or the content fits no header").into());
        }
    }
    Ok(headers)
}

fn not_a_header(path: &Path) -> Diagnostic {
    let message = format!("{} is not a header's name", path.display());
    Diagnostic::error(Class::Config, message)
        .note("nothing was sent")
        .hint("the folder of `--from-headers` has a file for each header, as `Authorization`: credentials of a registry, keys and tokens of a Secret are not headers")
}
