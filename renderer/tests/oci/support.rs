//! Charts by hand, and short ways to push them.

use std::collections::BTreeMap;
use std::io::Write;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use sha2::Digest as _;
use solar_render::diag::Diagnostic;
use solar_render::oci::{
    ClientOptions, Credentials, Failure, IfExists, Progress, PushOptions, Pushed, RetryPolicy, Secret, push,
    resolve,
};
use solar_render::package::artifact::{Artifact, ArtifactBlob, BlobContent};
use solar_render::reference::Digest;
use solar_render::world::Fixed;
use testbed::{Answer, Registry, Request, Response, Server, forward};

/// A valid chart; `salt` makes others of the same name and version.
pub(crate) fn chart(name: &str, version: &str, salt: &str) -> Artifact {
    with_layer(name, version, salt, b"", None)
}

/// With a file of these bytes in it, and a provenance file.
pub(crate) fn with_layer(
    name: &str,
    version: &str,
    salt: &str,
    data: &[u8],
    provenance: Option<&str>,
) -> Artifact {
    let metadata = format!("apiVersion: v2\nname: {name}\nversion: {version}\ndescription: {salt}\n");
    let mut archive = tar::Builder::new(flate2::write::GzEncoder::new(
        Vec::new(),
        flate2::Compression::fast(),
    ));
    for (path, bytes) in [
        ("Chart.yaml", metadata.as_bytes()),
        ("templates/x.yaml", b"a: 1\n"),
        ("data", data),
    ] {
        let mut header = tar::Header::new_ustar();
        header.set_size(bytes.len() as u64);
        header.set_mode(0o644);
        archive
            .append_data(&mut header, format!("{name}/{path}"), bytes)
            .unwrap();
    }
    let layer = archive.into_inner().unwrap().finish().unwrap();
    let config = format!(
        r#"{{"apiVersion":"v2","name":"{name}","version":"{version}","description":"{salt}","type":"application"}}"#
    );
    let mut blobs = vec![
        blob(Artifact::CONFIG_TYPE, config.as_bytes()),
        blob(Artifact::LAYER_TYPE, &layer),
    ];
    blobs.extend(provenance.map(|text| blob(Artifact::PROVENANCE_TYPE, text.as_bytes())));
    artifact(name, version, blobs)
}

/// The manifest for these blobs: config first.
pub(crate) fn artifact(name: &str, version: &str, blobs: Vec<ArtifactBlob>) -> Artifact {
    let descriptor = |blob: &ArtifactBlob| {
        serde_json::json!({
            "mediaType": blob.media_type, "digest": blob.digest.as_str(), "size": blob.size,
        })
    };
    let manifest = serde_json::json!({
        "schemaVersion": 2,
        "mediaType": Artifact::MANIFEST_TYPE,
        "config": descriptor(&blobs[0]),
        "layers": blobs[1..].iter().map(descriptor).collect::<Vec<_>>(),
    })
    .to_string()
    .into_bytes();
    Artifact {
        name: name.to_owned(),
        version: version.to_owned(),
        digest: sha256(&manifest),
        manifest,
        blobs,
    }
}

pub(crate) fn blob(media_type: &'static str, bytes: &[u8]) -> ArtifactBlob {
    ArtifactBlob {
        media_type,
        digest: sha256(bytes),
        size: bytes.len() as u64,
        content: BlobContent::Memory(Arc::from(bytes)),
    }
}

pub(crate) fn sha256(bytes: &[u8]) -> Digest {
    Digest::from_sha256(&sha2::Sha256::digest(bytes).into())
}

/// Plain HTTP, and waits so short that no test is slow.
pub(crate) fn plain() -> ClientOptions {
    let mut client = secure();
    client.plain_http = true;
    client
}

/// TLS, with the same short waits.
pub(crate) fn secure() -> ClientOptions {
    let mut client = ClientOptions::default();
    client.timeout = Duration::from_secs(20);
    client.retry = {
        let mut retry = RetryPolicy::default();
        retry.base = Duration::from_millis(1);
        retry.cap = Duration::from_millis(4);
        retry.retry_after_cap = Duration::from_millis(5);
        retry
    };
    client
}

pub(crate) fn user(username: &str, password: &str) -> Option<Credentials> {
    Some(Credentials::Basic {
        username: username.to_owned(),
        password: Secret::new(password),
    })
}

/// The user that the tests' registries know.
pub(crate) fn with_user(password: &str) -> ClientOptions {
    let mut client = plain();
    client.credentials = user("robot", password);
    client
}

/// The challenge for an unauthenticated request; `None` for an authenticated one.
pub(crate) fn who_are_you(request: &Request) -> Option<Response> {
    let stranger = request.header("authorization").is_none();
    stranger.then(|| Response::status(401).header("WWW-Authenticate", "Basic realm=x"))
}

/// A world with this environment and no other.
pub(crate) fn world(env: &[(&str, &str)]) -> Fixed {
    Fixed {
        env: env
            .iter()
            .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
            .collect::<BTreeMap<_, _>>(),
        ..Fixed::default()
    }
}

/// Keeps the trace, and what is said of waiting.
#[derive(Default)]
pub(crate) struct Trace(Mutex<Vec<String>>, Mutex<Vec<String>>);

impl Trace {
    pub(crate) fn lines(&self) -> Vec<String> {
        self.0.lock().unwrap().clone()
    }

    pub(crate) fn notices(&self) -> Vec<String> {
        self.1.lock().unwrap().clone()
    }
}

impl Progress for Trace {
    fn waiting(&self, line: &str) {
        self.1.lock().unwrap().push(line.to_owned());
    }

    fn trace(&self, line: &str) {
        self.0.lock().unwrap().push(line.to_owned());
    }
}

/// Pushes to a target with these options.
pub(crate) fn send(
    artifact: &Artifact,
    target: &str,
    if_exists: IfExists,
    client: &ClientOptions,
) -> Result<Pushed, Failure> {
    send_in(
        artifact,
        target,
        if_exists,
        client,
        &world(&[]),
        &Trace::default(),
    )
}

/// The same in a given world.
pub(crate) fn send_in(
    artifact: &Artifact,
    target: &str,
    if_exists: IfExists,
    client: &ClientOptions,
    world: &Fixed,
    trace: &Trace,
) -> Result<Pushed, Failure> {
    let destination = resolve(&target.parse().unwrap(), artifact, false).unwrap();
    let mut options = PushOptions::default();
    options.if_exists = if_exists;
    push(artifact, &destination, &options, client, world, trace)
}

/// Pushes a chart that is refused; the failure, and all that a person reads with `-v`.
pub(crate) fn refused_to(target: &str, client: &ClientOptions) -> (Failure, String) {
    let trace = Trace::default();
    let artifact = chart("app", "1.0.0", "x");
    let pushed = send_in(&artifact, target, IfExists::Fail, client, &world(&[]), &trace);
    let failure = pushed.unwrap_err();
    let shown = format!("{}\n{}", trace.lines().join("\n"), words(&failure));
    (failure, shown)
}

/// All that a person reads about a failure.
pub(crate) fn words(failure: &Failure) -> String {
    let Diagnostic {
        message,
        notes,
        hints,
        ..
    } = failure.diagnostic();
    format!("{message}\n{}\n{}", notes.join("\n"), hints.join("\n"))
}

/// Writes a folder's file, making the way there.
pub(crate) fn write(path: &std::path::Path, text: &str) {
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::File::create(path)
        .unwrap()
        .write_all(text.as_bytes())
        .unwrap();
}

/// A real registry behind a server that answers some requests itself.
pub(crate) fn in_front(
    registry: &Registry,
    fault: impl Fn(&Request, usize) -> Option<Answer> + Send + Sync + 'static,
) -> Server {
    let upstream = registry.host().to_owned();
    let number = AtomicUsize::new(0);
    Server::start(move |request| {
        let number = number.fetch_add(1, Ordering::SeqCst);
        fault(request, number).unwrap_or_else(|| forward(request, &upstream).into())
    })
}

pub(crate) fn target(server: &Server) -> String {
    target_at(&server.host())
}

pub(crate) fn target_at(host: &str) -> String {
    format!("oci://{host}/charts")
}

pub(crate) fn refused(server: &Server) -> Failure {
    refused_to(&target(server), &plain()).0
}
