//! Looks up the credentials for a repository: flags, environment, the files of Docker, Helm and Podman, and the
//! credential helpers that those name.
//!
//! The longest matching `host/path` key of all files wins, and among equally long ones that of the first file; but a
//! file that the command line names takes precedence over all others. A missing file is not an error; a broken one is
//! an error that names it and never quotes it, unless an earlier one has an entry for the repository. Failures of
//! helpers are recorded in [`CredentialLookup::searched`], which a later 401 reports.

use std::collections::BTreeMap;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::time::Duration;

use base64::Engine as _;
use serde::Deserialize;

use crate::fsio;
use crate::oci::auth::helper;
pub use crate::secret::Secret;
use crate::world::World;

/// The maximum size of a credentials file, in bytes.
pub const MAX_FILE: u64 = 4 << 20;
/// The variable with the registry that REGISTRY_USERNAME and REGISTRY_PASSWORD are for.
pub const HOST_VARIABLE: &str = "REGISTRY_HOST";
/// U+FEFF in UTF-8.
pub(in crate::oci) const MARK: &[u8] = b"\xef\xbb\xbf";

/// The sources of credentials.
#[derive(Clone, Copy)]
pub struct Sources<'a> {
    /// Credentials from the command line.
    pub explicit: Option<&'a Credentials>,
    /// The registry that the environment's credentials are for.
    pub ambient_host: &'a AmbientHost,
    /// A file that takes precedence over all others.
    pub registry_config: Option<&'a Path>,
    /// How long a credential helper may take.
    pub limit: Duration,
}

/// Credentials for a registry, or for its token server.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Credentials {
    /// A user and a password.
    Basic {
        /// The user name.
        username: String,
        /// The password.
        password: Secret,
    },
    /// A refresh token, exchanged at the token server (Docker's `identitytoken`).
    IdentityToken(Secret),
    /// A bearer token that is sent unchanged (Docker's `registrytoken`).
    RegistryToken(Secret),
}

/// The registry that the environment's credentials (REGISTRY_USERNAME, REGISTRY_PASSWORD) are for. REGISTRY_HOST takes
/// precedence if it is set: then they are only for that one.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum AmbientHost {
    /// The registry of the client: for registries that the user names.
    #[default]
    Target,
    /// This `name[:port]`.
    Only(String),
    /// None: for registries that a chart names, as those of dependencies.
    Nobody,
}

impl AmbientHost {
    /// Whether the environment's credentials are for `host`; `Err` is the reason why not.
    fn allows(&self, host: &str, world: &dyn World) -> Result<(), String> {
        let bound = world.env(HOST_VARIABLE).filter(|text| !text.trim().is_empty());
        let only = match (&bound, self) {
            (Some(bound), _) => bound.trim(),
            (None, Self::Target) => return Ok(()),
            (None, Self::Only(only)) => only,
            (None, Self::Nobody) => {
                return Err(format!(
                    "REGISTRY_USERNAME and REGISTRY_PASSWORD: not sent to a registry that a chart names, unless {HOST_VARIABLE} is {host}"
                ));
            }
        };
        if normal(only) == normal(host) {
            Ok(())
        } else {
            Err(format!(
                "REGISTRY_USERNAME and REGISTRY_PASSWORD: for {only}, not for {host}"
            ))
        }
    }
}

/// The result of a search.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CredentialLookup {
    /// The credentials, if any were found.
    pub credentials: Option<Credentials>,
    /// Where they were found; if none were, every location that was searched, for messages.
    pub searched: Vec<String>,
}

/// Errors of a credentials file.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CredentialsError {
    /// It exists but can't be read.
    #[error("the credentials file {} can't be read: {}", .path.display(), fsio::reason(.source))]
    Read {
        /// The file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// It is not JSON of the expected form. The content is not shown: it contains passwords.
    #[error("the credentials file {} is not valid at line {line}, column {column}", .path.display())]
    Json {
        /// The file.
        path: PathBuf,
        /// From 1.
        line: usize,
        /// From 1.
        column: usize,
    },
    /// It begins with a byte order mark, as some editors on Windows write it. Helm refuses that too, and Docker's
    /// loader decodes the file in the same way.
    #[error("the credentials file {} begins with a byte order mark, which is not JSON: save it as UTF-8 without one", .0.display())]
    Mark(PathBuf),
    /// It is larger than [`MAX_FILE`].
    #[error("the credentials file {} is larger than {} bytes", .0.display(), MAX_FILE)]
    TooLarge(PathBuf),
    /// An `auth` that is no base64 of `user:password`.
    #[error("the credentials file {} has an entry for {key:?} whose `auth` is not base64 of `user:password`", .path.display())]
    Auth {
        /// The file.
        path: PathBuf,
        /// The entry.
        key: String,
    },
}

#[derive(Deserialize, Default)]
struct DockerConfigFile {
    #[serde(default)]
    auths: Option<BTreeMap<String, Option<DockerConfigEntry>>>,
    #[serde(default, rename = "credHelpers")]
    helpers: Option<BTreeMap<String, String>>,
    #[serde(default, rename = "credsStore")]
    store: Option<String>,
}

#[derive(Deserialize, Default)]
struct DockerConfigEntry {
    auth: Option<String>,
    username: Option<String>,
    password: Option<String>,
    identitytoken: Option<String>,
    registrytoken: Option<String>,
}

/// Errors of a Docker config that is not a file. They have nothing of its text, which has passwords.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum DockerConfigError {
    /// It is not JSON of the expected form.
    #[error("its Docker config is not of the expected form")]
    Form,
    /// The entry has neither a token nor a user and a password.
    #[error("the entry of its Docker config has no credentials")]
    Entry,
}

/// The credentials for a repository in a Docker config, as a Secret has it in `.dockerconfigjson`: those of the entry
/// that [`find`] would take. Credential helpers in it are not run.
///
/// # Errors
/// The text is no Docker config, or the entry has no credentials.
pub fn of_docker_config(
    text: &[u8],
    host: &str,
    path: &str,
) -> Result<Option<Credentials>, DockerConfigError> {
    let mut file: DockerConfigFile = serde_json::from_slice(text).map_err(|_| DockerConfigError::Form)?;
    match file.entry(host, path) {
        Some((_, _, entry)) => entry.credentials().map(Some).ok_or(DockerConfigError::Entry),
        None => Ok(None),
    }
}

fn from_environment(world: &dyn World) -> Option<Credentials> {
    Some(Credentials::Basic {
        username: world.env("REGISTRY_USERNAME")?,
        password: Secret::new(world.env("REGISTRY_PASSWORD")?),
    })
}

/// Looks up the credentials for `host` (`name[:port]`) and `path` (of a repository). A helper is stopped after the
/// limit, or after a minute if that is shorter.
///
/// # Errors
/// A broken file, or one that was named explicitly and can't be read.
pub fn find(
    host: &str,
    path: &str,
    sources: Sources<'_>,
    world: &dyn World,
) -> Result<CredentialLookup, CredentialsError> {
    if let Some(given) = sources.explicit {
        return Ok(CredentialLookup::at(given.clone(), "the command line"));
    }
    let ambient = match from_environment(world) {
        Some(given) => sources.ambient_host.allows(host, world).map(|()| given),
        None => Err("REGISTRY_USERNAME and REGISTRY_PASSWORD: not both set".to_owned()),
    };
    let mut searched = match ambient {
        Ok(given) => return Ok(CredentialLookup::at(given, "REGISTRY_USERNAME")),
        Err(why) => vec![why],
    };
    let mut candidates = Vec::new();
    for location in locations(sources.registry_config, world) {
        let shown = location.path.display();
        let before = candidates.len();
        match read(&location) {
            Ok(Ok(file)) => file.candidates(&location, (host, path), &mut candidates),
            Ok(Err(why)) => {
                searched.push(format!("{shown}: {why}"));
                continue;
            }
            Err(error) if candidates.is_empty() => return Err(error),
            Err(error) => {
                searched.push(error.to_string());
                continue;
            }
        }
        if candidates.len() == before {
            searched.push(format!("{shown}: no entry for {host}"));
        }
    }
    // A stable sort: ties keep the order of the files.
    candidates.sort_by_key(|one| (!one.first, std::cmp::Reverse(one.length)));
    for candidate in candidates {
        let shown = candidate.file.display().to_string();
        match candidate.source {
            Keeper::Entry(key, entry) => {
                let wrong = |key| CredentialsError::Auth {
                    path: candidate.file,
                    key,
                };
                let found = entry.credentials().ok_or_else(|| wrong(key))?;
                return Ok(CredentialLookup::at(found, &shown));
            }
            Keeper::Helper(name) => match helper::get(&name, &helper_key(host), world, sources.limit) {
                Ok(Some(found)) => return Ok(CredentialLookup::at(found, &shown)),
                Ok(None) => searched.push(format!("docker-credential-{name}: nothing for {host}")),
                Err(why) => searched.push(format!("docker-credential-{name}: {why}")),
            },
        }
    }
    Ok(CredentialLookup {
        credentials: None,
        searched,
    })
}

/// A possible source of the credentials.
struct Candidate {
    /// Whether the file takes precedence over all others.
    first: bool,
    /// The length of the part of `host/path` that its key matches.
    length: usize,
    file: PathBuf,
    source: Keeper,
}

enum Keeper {
    Helper(String),
    /// The entry with this key.
    Entry(String, DockerConfigEntry),
}

impl CredentialLookup {
    fn at(credentials: Credentials, location: &str) -> Self {
        Self {
            credentials: Some(credentials),
            searched: vec![location.to_owned()],
        }
    }
}

/// The file that DOCKER_CONFIG names: Docker expects the folder, SolAr passes the file itself.
fn docker_config(world: &dyn World) -> Option<PathBuf> {
    let path = PathBuf::from(world.env("DOCKER_CONFIG")?);
    Some(if path.is_file() {
        path
    } else {
        path.join("config.json")
    })
}

/// The file that `docker login` writes.
pub(in crate::oci) fn docker_file(world: &dyn World) -> Option<PathBuf> {
    docker_config(world).or_else(|| Some(world.home()?.join(".docker/config.json")))
}

struct CredentialFile {
    path: PathBuf,
    /// Whether the user named it: then it must be readable if it exists.
    named: bool,
    /// Whether it was named on the command line.
    first: bool,
}

fn locations(registry_config: Option<&Path>, world: &dyn World) -> Vec<CredentialFile> {
    let env = |name: &str| world.env(name).map(PathBuf::from);
    let home = world.home();
    let config = env("XDG_CONFIG_HOME").or_else(|| home.as_ref().map(|home| home.join(".config")));
    let docker = docker_config(world);
    let helm = env("HELM_REGISTRY_CONFIG");
    let podman = env("REGISTRY_AUTH_FILE");
    let default_helm = config.as_ref().map(|dir| dir.join("helm/registry/config.json"));
    let list = [
        (registry_config.map(Path::to_owned), true),
        (docker, true),
        (home.as_ref().map(|home| home.join(".docker/config.json")), false),
        (helm.clone(), true),
        (default_helm.filter(|_| helm.is_none()), false),
        (podman, true),
        (Some(runtime_file(world)), false),
        (config.as_ref().map(|dir| dir.join("containers/auth.json")), false),
    ];
    let places = list.into_iter().enumerate();
    places
        .filter_map(|(number, (path, named))| {
            Some(CredentialFile {
                path: path?,
                named,
                first: number == 0,
            })
        })
        .collect()
}

/// The path that Podman and skopeo use: without XDG_RUNTIME_DIR, as for root, in a folder named by the user's UID.
fn runtime_file(world: &dyn World) -> PathBuf {
    match world.env("XDG_RUNTIME_DIR") {
        Some(dir) => Path::new(&dir).join("containers/auth.json"),
        None => format!("/run/containers/{}/auth.json", rustix::process::getuid().as_raw()).into(),
    }
}

/// The file, or a short reason why it is skipped.
fn read(location: &CredentialFile) -> Result<Result<DockerConfigFile, String>, CredentialsError> {
    let path = &location.path;
    let text = fsio::open(path).and_then(|file| {
        let mut text = Vec::new();
        file.take(MAX_FILE + 1).read_to_end(&mut text)?;
        Ok(text)
    });
    let text = match text {
        Ok(text) => text,
        Err(error)
            if matches!(
                error.kind(),
                io::ErrorKind::NotFound | io::ErrorKind::NotADirectory
            ) =>
        {
            return Ok(Err("does not exist".to_owned()));
        }
        Err(error) if !location.named => return Ok(Err(format!("not readable ({})", error.kind()))),
        Err(source) => {
            return Err(CredentialsError::Read {
                path: path.clone(),
                source,
            });
        }
    };
    if text.len() as u64 > MAX_FILE {
        return Err(CredentialsError::TooLarge(path.clone()));
    }
    if text.trim_ascii().is_empty() {
        return Ok(Err("empty".to_owned()));
    }
    if text.starts_with(MARK) {
        return Err(CredentialsError::Mark(path.clone()));
    }
    // serde's own message would quote the content.
    serde_json::from_slice(&text)
        .map(Ok)
        .map_err(|error| CredentialsError::Json {
            path: path.clone(),
            line: error.line(),
            column: error.column(),
        })
}

impl DockerConfigFile {
    /// The best candidate of each kind; among those of equal length a helper comes first, as in Docker.
    fn candidates(mut self, location: &CredentialFile, (host, path): (&str, &str), all: &mut Vec<Candidate>) {
        let entry = self.entry(host, path);
        let Self {
            auths: _,
            helpers,
            store,
        } = self;
        let mut add = |length, source| {
            all.push(Candidate {
                first: location.first,
                length,
                file: location.path.clone(),
                source,
            });
        };
        let named = helpers.into_iter().flatten().filter(|(_, name)| !name.is_empty());
        if let Some((length, _, name)) = best(named, host, path) {
            add(length, Keeper::Helper(name));
        }
        // It is only queried for the host.
        if let Some(name) = store.filter(|name| !name.is_empty()) {
            add(normal(host).len(), Keeper::Helper(name));
        }
        if let Some((length, key, entry)) = entry {
            add(length, Keeper::Entry(key, entry));
        }
    }

    /// The entry whose key matches most of `host/path`, and how much.
    fn entry(&mut self, host: &str, path: &str) -> Option<(usize, String, DockerConfigEntry)> {
        let entries = self.auths.take().into_iter().flatten();
        let usable = entries.filter_map(|(key, entry)| Some((key, entry.filter(|entry| !entry.is_empty())?)));
        best(usable, host, path)
    }
}

impl DockerConfigEntry {
    fn is_empty(&self) -> bool {
        let Self {
            auth,
            username,
            password,
            identitytoken,
            registrytoken,
        } = self;
        [auth, username, password, identitytoken, registrytoken]
            .into_iter()
            .all(|field| field.as_ref().is_none_or(String::is_empty))
    }

    fn credentials(&self) -> Option<Credentials> {
        let given = |field: &Option<String>| field.clone().filter(|text| !text.is_empty());
        if let Some(token) = given(&self.registrytoken) {
            return Some(Credentials::RegistryToken(Secret::new(token)));
        }
        if let Some(token) = given(&self.identitytoken) {
            return Some(Credentials::IdentityToken(Secret::new(token)));
        }
        if let Some(auth) = given(&self.auth) {
            let engine = base64::engine::GeneralPurpose::new(
                &base64::alphabet::STANDARD,
                base64::engine::GeneralPurposeConfig::new()
                    .with_decode_padding_mode(base64::engine::DecodePaddingMode::Indifferent),
            );
            let text = String::from_utf8(engine.decode(auth.trim()).ok()?).ok()?;
            let (username, password) = text.split_once(':')?;
            return Some(Credentials::Basic {
                username: username.to_owned(),
                // Docker pads short passwords with NULs.
                password: Secret::new(password.trim_end_matches('\0')),
            });
        }
        Some(Credentials::Basic {
            username: given(&self.username)?,
            password: Secret::new(self.password.clone().unwrap_or_default()),
        })
    }
}

/// The entry whose key is the longest prefix of `host/path` in whole path elements, and that key's length.
fn best<T>(entries: impl Iterator<Item = (String, T)>, host: &str, path: &str) -> Option<(usize, String, T)> {
    let wanted = normal(&format!("{host}/{path}"));
    let (wanted_host, wanted_path) = wanted.split_once('/').unwrap_or((&wanted, ""));
    entries
        .filter_map(|(key, entry)| {
            let normal_key = normal(&key);
            let (key_host, key_path) = normal_key.split_once('/').unwrap_or((&normal_key, ""));
            let rest = wanted_path.strip_prefix(key_path)?;
            let whole = key_path.is_empty() || rest.is_empty() || rest.starts_with('/');
            let fits = whole && !key_host.is_empty() && is_host(key_host, wanted_host);
            fits.then_some((normal_key.len(), key, entry))
        })
        // A literal host takes precedence over one with a glob.
        .max_by_key(|(length, key, _)| (*length, !key.contains('*')))
}

/// Whether a host matches a key, in which `*` matches within one label of the host name, as in the kubelet.
fn is_host(pattern: &str, host: &str) -> bool {
    if !pattern.contains('*') {
        return pattern == host;
    }
    let mut parts = pattern.split('.').zip(host.split('.'));
    pattern.split('.').count() == host.split('.').count()
        && parts.all(|(pattern, part)| is_part(pattern, part))
}

/// Matches `*`, `a*`, `*a*b`; a port must be equal.
fn is_part(pattern: &str, part: &str) -> bool {
    let with_port = |text: &str| text.split_once(':').map(|(_, port)| port.to_owned());
    if with_port(pattern) != with_port(part) {
        return false;
    }
    let mut pieces = pattern.split('*');
    let Some(mut rest) = pieces.next().and_then(|first| part.strip_prefix(first)) else {
        return false;
    };
    let mut pieces = pieces.peekable();
    while let Some(piece) = pieces.next() {
        if pieces.peek().is_none() {
            return rest.ends_with(piece);
        }
        match rest.find(piece) {
            Some(at) => rest = rest.get(at + piece.len()..).unwrap_or_default(),
            None => return false,
        }
    }
    rest.is_empty()
}

/// Normalises a key: `https://Host/v1/` → `host`; Docker Hub's several names → `docker.io`.
pub(in crate::oci) fn normal(key: &str) -> String {
    let key = key
        .strip_prefix("https://")
        .or_else(|| key.strip_prefix("http://"))
        .unwrap_or(key)
        .trim_end_matches('/');
    let (host, path) = key.split_once('/').unwrap_or((key, ""));
    let host = host.to_ascii_lowercase();
    let host = if is_docker_hub(&host) { "docker.io" } else { &host };
    match path {
        "" | "v1" | "v2" => host.to_owned(),
        path => format!("{host}/{path}"),
    }
}

/// Whether it is one of Docker Hub's names.
pub(in crate::oci) fn is_docker_hub(host: &str) -> bool {
    matches!(host, "docker.io" | "index.docker.io" | "registry-1.docker.io")
}

/// The name under which helpers store a host.
pub(in crate::oci) fn helper_key(host: &str) -> String {
    if is_docker_hub(host) {
        "https://index.docker.io/v1/".to_owned()
    } else {
        host.to_owned()
    }
}

#[cfg(test)]
#[path = "credentials_tests.rs"]
mod tests;
