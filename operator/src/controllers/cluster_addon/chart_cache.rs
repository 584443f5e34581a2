//! Charts on disk, by repository and digest.
//!
//! A chart is downloaded by a thread of its own, so that nobody waits for it: meanwhile its state is
//! `Downloading`. A file gets its name when it is complete and verified, and its name has its own SHA-256. What is on its way is
//! only remembered here, so that neither a failure nor a restart leaves a lock behind.
//!
//! A chart of one namespace is never given to another one: who knows a digest needn't be allowed to read the chart.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime};
use std::{fs, io};

use serde_json::json;
use sha2::{Digest as _, Sha256};
use solar_render::diag::{Class, Diagnostics};
use solar_render::oci::{self, AmbientHost, ClientOptions, Credentials, PullOptions, Silent};
use solar_render::reference::{Digest, Locator};
use solar_render::signing_key::VerifyingKey;
use solar_render::world::{System, World};
use tokio::time::Instant;

use super::objects::hex;

/// How many charts are downloaded at a time.
const MAX_DOWNLOADS: usize = 16;
/// How many of one namespace, so that its slow registry doesn't keep others waiting.
const MAX_DOWNLOADS_OF_NAMESPACE: usize = 4;
/// How long one download may take, with its retries.
const DOWNLOAD_TIME: Duration = Duration::from_secs(120);
/// How long a registry may be silent.
const IDLE_TIMEOUT: Duration = Duration::from_secs(30);
/// The delay before a failed download is retried.
const RETRY_AFTER: Duration = Duration::from_secs(30);
/// How large the archives may be together, in bytes.
const MAX_BYTES: u64 = 1 << 30;
/// The beginning of the names of unfinished downloads.
const UNFINISHED: &str = "download-";
/// The variables that a client of a registry may see. Credentials are those of the stack, never the operator's.
const VARIABLES: [&str; 8] = [
    "SSL_CERT_FILE",
    "SSL_CERT_DIR",
    "HTTPS_PROXY",
    "https_proxy",
    "HTTP_PROXY",
    "http_proxy",
    "NO_PROXY",
    "no_proxy",
];

/// Which chart, and how it is fetched.
#[derive(Debug, Clone)]
pub(super) struct ChartRequest {
    pub(super) namespace: String,
    /// `host[:port]/path`
    pub(super) repository: String,
    /// The version to resolve, or the digest.
    pub(super) version: ChartVersionOrDigest,
    pub(super) insecure: bool,
    pub(super) credentials: Option<Credentials>,
    /// The key that must have signed it.
    pub(super) key: Option<VerifyingKey>,
}

/// What a chart is requested by.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum ChartVersionOrDigest {
    Version(String),
    Digest(String),
}

/// The state of a chart.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum ChartState {
    /// It is on disk.
    Ready { digest: String, archive: ChartArchive },
    /// It is on its way, or waits for others that are.
    Downloading,
    /// The last download has failed; another one follows.
    Failed(String),
}

/// An archive on disk.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ChartArchive {
    path: PathBuf,
}

/// Charts on disk; clones share them.
#[derive(Clone)]
pub(super) struct ChartCache {
    dir: PathBuf,
    state: Arc<Mutex<CacheState>>,
}

#[derive(Default)]
struct CacheState {
    /// Namespace and id of each download.
    running: BTreeSet<(String, String)>,
    failed: BTreeMap<String, (Instant, String)>,
    /// The digests that versions were resolved to, until they are asked for.
    resolved: BTreeMap<String, String>,
}

impl ChartCache {
    /// The cache in a folder. What a killed process has left unfinished is removed.
    pub(super) fn at(dir: &Path) -> Self {
        for entry in fs::read_dir(dir).into_iter().flatten().flatten() {
            if entry.file_name().to_string_lossy().starts_with(UNFINISHED) {
                let _ = fs::remove_dir_all(entry.path());
            }
        }
        Self {
            dir: dir.to_owned(),
            state: Arc::default(),
        }
    }

    /// The state of a chart; a download is started unless it is on disk. `done` is called when that has ended.
    pub(super) fn get(&self, request: &ChartRequest, done: impl FnOnce() + Send + 'static) -> ChartState {
        let id = request.id();
        let digest = match &request.version {
            ChartVersionOrDigest::Digest(digest) => Some(digest.clone()),
            ChartVersionOrDigest::Version(_) => self.state().resolved.remove(&id),
        };
        if let Some(digest) = digest
            && let Some(archive) = self.find(&request.file_prefix(&digest))
        {
            return ChartState::Ready { digest, archive };
        }
        let mut state = self.state();
        let key = (request.namespace.clone(), id.clone());
        if state.running.contains(&key) {
            return ChartState::Downloading;
        }
        if let Some((at, message)) = state.failed.get(&id)
            && at.elapsed() < RETRY_AFTER
        {
            return ChartState::Failed(message.clone());
        }
        let of_namespace = state
            .running
            .iter()
            .filter(|(namespace, _)| *namespace == request.namespace);
        if state.running.len() >= MAX_DOWNLOADS || of_namespace.count() >= MAX_DOWNLOADS_OF_NAMESPACE {
            return ChartState::Downloading;
        }
        state.running.insert(key.clone());
        state.failed.retain(|_, (at, _)| at.elapsed() < RETRY_AFTER);
        drop(state);
        let running = Running {
            cache: self.clone(),
            key,
        };
        let (cache, request) = (self.clone(), request.clone());
        // Not a thread of the runtime: its end must not wait for a registry.
        let started = std::thread::Builder::new()
            .name("chart".to_owned())
            .spawn(move || {
                let result = cache.download(&request);
                running.end(result);
                done();
            });
        match started {
            Ok(_) => ChartState::Downloading,
            Err(error) => ChartState::Failed(format!("can't start a thread: {error}")),
        }
    }

    /// Downloads, and returns the chart's digest.
    fn download(&self, request: &ChartRequest) -> Result<String, String> {
        self.try_download(request).map_err(|problem| problem.to_string())
    }

    fn try_download(&self, request: &ChartRequest) -> Result<String, Diagnostics> {
        let disk = |error: io::Error| {
            let message = format!("the chart cache {}: {error}", self.dir.display());
            solar_render::diag::Diagnostic::error(Class::Io, message)
        };
        fs::create_dir_all(&self.dir).map_err(disk)?;
        let folder = tempfile::Builder::new().prefix(UNFINISHED).tempdir_in(&self.dir);
        let folder = folder.map_err(disk)?;
        let locator: Locator = request.locator().parse().map_err(|error| {
            let message = format!("{}: {error}", request.locator());
            solar_render::diag::Diagnostic::error(Class::Config, message)
        })?;
        let expected: Option<Digest> = match &request.version {
            ChartVersionOrDigest::Digest(digest) => digest.parse().ok(),
            ChartVersionOrDigest::Version(_) => None,
        };
        let mut options = PullOptions::default();
        options.destination = folder.path().to_owned();
        options.expect_digest = expected;
        options.verify_by = request.key.clone();
        let mut client = ClientOptions::default();
        client.plain_http = request.insecure;
        client.credentials = request.credentials.clone();
        client.ambient_host = AmbientHost::Nobody;
        client.timeout = IDLE_TIMEOUT;
        client.deadline = Some(DOWNLOAD_TIME);
        client.user_agent = concat!("solar-operator/", env!("CARGO_PKG_VERSION")).to_owned();
        let pulled = oci::pull(&locator, &options, &client, &ClientWorld, &Silent)?;
        let Some((digest, _)) = &pulled.manifest else {
            let message = format!("{} has no manifest", request.locator());
            return Err(solar_render::diag::Diagnostic::error(Class::Protocol, message).into());
        };
        let (layer, _) = &pulled.layer;
        let name = format!("{}{}.tgz", request.file_prefix(digest.as_str()), layer.hex());
        fs::rename(&pulled.path, self.dir.join(name)).map_err(disk)?;
        self.evict();
        Ok(digest.as_str().to_owned())
    }

    fn find(&self, prefix: &str) -> Option<ChartArchive> {
        let entries = fs::read_dir(&self.dir).ok()?.flatten();
        let found = entries.map(|entry| entry.path()).find(|path| {
            let name = path.file_name().and_then(|name| name.to_str());
            name.is_some_and(|name| name.starts_with(prefix))
        })?;
        // The time of the last use.
        if let Ok(file) = fs::File::options().write(true).open(&found) {
            let _ = file.set_modified(System.now());
        }
        Some(ChartArchive { path: found })
    }

    /// Removes the archives that were not used for the longest time, until the others fit.
    fn evict(&self) {
        let entries = fs::read_dir(&self.dir).into_iter().flatten().flatten();
        let mut archives: Vec<(SystemTime, u64, PathBuf)> = entries
            .filter_map(|entry| {
                let metadata = entry.metadata().ok().filter(fs::Metadata::is_file)?;
                Some((metadata.modified().ok()?, metadata.len(), entry.path()))
            })
            .collect();
        archives.sort();
        let mut bytes: u64 = archives.iter().map(|(_, size, _)| size).sum();
        // The newest one stays, whatever its size.
        archives.pop();
        for (_, size, path) in archives {
            if bytes <= MAX_BYTES {
                return;
            }
            let _ = fs::remove_file(path);
            bytes = bytes.saturating_sub(size);
        }
    }

    fn state(&self) -> MutexGuard<'_, CacheState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A download; it is no longer running when this is dropped, whatever has happened.
struct Running {
    cache: ChartCache,
    key: (String, String),
}

impl Running {
    fn end(self, result: Result<String, String>) {
        let id = self.key.1.clone();
        let mut state = self.cache.state();
        match result {
            Ok(digest) => {
                state.failed.remove(&id);
                state.resolved.insert(id, digest);
            }
            Err(message) => {
                state.failed.insert(id, (Instant::now(), message));
            }
        }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.cache.state().running.remove(&self.key);
    }
}

impl ChartArchive {
    /// Its bytes, if they still are what was downloaded; a damaged file is removed, to be downloaded again.
    ///
    /// # Errors
    /// It was removed meanwhile, or is damaged.
    pub(super) fn read(&self) -> Result<Vec<u8>, String> {
        let bytes = fs::read(&self.path).map_err(|error| format!("the chart's file: {error}"))?;
        let name = self.path.file_stem().and_then(|name| name.to_str()).unwrap_or("");
        if name.ends_with(&hex(&Sha256::digest(&bytes))) {
            return Ok(bytes);
        }
        let _ = fs::remove_file(&self.path);
        Err("the chart's file was damaged, and is downloaded again".to_owned())
    }
}

impl ChartRequest {
    fn locator(&self) -> String {
        let location = self.repository.trim_start_matches("oci://");
        match &self.version {
            ChartVersionOrDigest::Version(version) => {
                format!("oci://{location}:{}", version.replace('+', "_"))
            }
            ChartVersionOrDigest::Digest(digest) => format!("oci://{location}@{digest}"),
        }
    }

    /// What a download is of. Another key or other credentials make another one.
    fn id(&self) -> String {
        let credentials = match &self.credentials {
            None => json!(null),
            Some(Credentials::Basic { username, password }) => json!([username, password.expose()]),
            Some(Credentials::IdentityToken(token) | Credentials::RegistryToken(token)) => {
                json!([token.expose()])
            }
            // Of a kind that is made nowhere here.
            Some(_) => json!(true),
        };
        let key = self.key.as_ref().map(VerifyingKey::hint);
        let text = json!([self.namespace, self.locator(), self.insecure, credentials, key]);
        hex(&Sha256::digest(text.to_string().as_bytes()))
    }

    /// The beginning of the file's name. Which key has verified it is a part of it.
    fn file_prefix(&self, digest: &str) -> String {
        let key = self.key.as_ref().map(VerifyingKey::hint);
        let location = self.repository.trim_start_matches("oci://");
        let text = json!([self.namespace, location, digest, key]);
        format!("{}-", hex(&Sha256::digest(text.to_string().as_bytes())))
    }
}

/// The machine, without the environment's credentials.
struct ClientWorld;

impl World for ClientWorld {
    fn env(&self, name: &str) -> Option<String> {
        VARIABLES.contains(&name).then(|| System.env(name)).flatten()
    }

    fn now(&self) -> SystemTime {
        System.now()
    }

    fn uptime(&self) -> Duration {
        System.uptime()
    }

    fn entropy(&self) -> u64 {
        System.entropy()
    }

    fn random(&self, out: &mut [u8]) -> Result<(), String> {
        System.random(out)
    }

    fn home(&self) -> Option<PathBuf> {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::mpsc;

    fn request(repository: &str, digest: &str) -> ChartRequest {
        ChartRequest {
            namespace: "tenant".to_owned(),
            repository: repository.to_owned(),
            version: ChartVersionOrDigest::Digest(digest.to_owned()),
            insecure: true,
            credentials: None,
            key: None,
        }
    }

    fn digest() -> String {
        format!("sha256:{}", "a".repeat(64))
    }

    fn put(cache: &ChartCache, request: &ChartRequest, bytes: &[u8]) -> PathBuf {
        let name = format!(
            "{}{}.tgz",
            request.file_prefix(&digest()),
            hex(&Sha256::digest(bytes))
        );
        let path = cache.dir.join(name);
        fs::write(&path, bytes).expect("a file");
        path
    }

    #[test]
    fn a_chart_on_disk_is_for_its_namespace_and_is_verified_when_it_is_read() {
        let folder = tempfile::tempdir().expect("a folder");
        let cache = ChartCache::at(folder.path());
        let own = request("h.example/shop", &digest());
        let path = put(&cache, &own, b"archive");
        let ChartState::Ready { archive, .. } = cache.get(&own, || ()) else {
            panic!("it is there");
        };
        assert_eq!(archive.read().expect("its bytes"), b"archive");
        // Whoever only knows the digest has to fetch it with credentials of their own.
        let other = ChartRequest {
            namespace: "other".to_owned(),
            repository: "127.0.0.1:1/shop".to_owned(),
            ..own.clone()
        };
        assert_eq!(cache.get(&other, || ()), ChartState::Downloading);
        fs::write(&path, b"bites").expect("a file");
        assert!(archive.read().is_err() && !path.exists());
    }

    /// A lock once stayed after a failure, and the chart was never fetched again.
    #[test]
    fn a_failed_download_leaves_nothing_behind_and_is_repeated() {
        let folder = tempfile::tempdir().expect("a folder");
        fs::create_dir(folder.path().join("download-left")).expect("a folder");
        let cache = ChartCache::at(folder.path());
        let own = request("127.0.0.1:1/shop", &digest());
        let (send, receive) = mpsc::channel();
        assert_eq!(
            cache.get(&own, move || send.send(()).expect("a receiver")),
            ChartState::Downloading
        );
        receive.recv().expect("its end");
        let ChartState::Failed(message) = cache.get(&own, || ()) else {
            panic!("it has failed");
        };
        assert!(message.contains("127.0.0.1:1"), "{message}");
        assert!(cache.state().running.is_empty());
        assert_eq!(fs::read_dir(folder.path()).expect("the folder").count(), 0);
        cache.state().failed.clear();
        assert_eq!(cache.get(&own, || ()), ChartState::Downloading);
    }

    #[test]
    fn another_key_or_other_credentials_are_another_download() {
        let plain = request("h.example/shop", &digest());
        let with = ChartRequest {
            credentials: Some(Credentials::RegistryToken(oci::Secret::new("t"))),
            ..plain.clone()
        };
        assert_ne!(plain.id(), with.id());
        assert_eq!(plain.file_prefix(&digest()), with.file_prefix(&digest()));
        assert_eq!(plain.locator(), format!("oci://h.example/shop@{}", digest()));
    }
}
