//! `login` and `logout`: credentials are checked with the registry, then stored in the file that Docker and Helm read,
//! or by the helper that this file names.
//!
//! The file is replaced atomically (mode 0600), under a lock on its folder; all entries of other hosts are kept byte
//! for byte. Nothing is written before the registry has accepted the credentials.

use std::fs;
use std::io::{self, Read as _, Write as _};
use std::path::{Path, PathBuf};

use base64::Engine as _;

use crate::diag::{Class, Diagnostic};
use crate::fsio::{self, AtomicFile, reason};
use crate::oci::auth::credentials::{self, Credentials, MAX_FILE};
use crate::oci::auth::helper;
use crate::oci::auth::json_file::Entries;
use crate::oci::client::{AccessScope, Client};
use crate::oci::error::ClientError;
use crate::oci::{ClientOptions, Progress};
use crate::reference::Host;
use crate::world::World;

/// Errors of `login` and `logout`.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LoginError {
    /// The registry.
    #[error(transparent)]
    Client(#[from] ClientError),
    /// No file is configured, and there is no home folder.
    #[error("there is no file to keep credentials in: neither DOCKER_CONFIG nor HOME is set")]
    NoFile,
    /// An I/O error.
    #[error("the credentials file {} can't be {action}: {}", .path.display(), reason(.source))]
    Io {
        /// The file or its folder.
        path: PathBuf,
        /// `read`, `written`, `locked` or `made`.
        action: &'static str,
        /// Why.
        source: io::Error,
    },
    /// It is not of the expected form, and was not changed. The content is not shown.
    #[error("the credentials file {} is not valid: {what}", .path.display())]
    Form {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        what: String,
    },
    /// An error of the helper that the file names.
    #[error("docker-credential-{name}, which {} names for {host}: {reason}", .path.display())]
    Helper {
        /// The file.
        path: PathBuf,
        /// The registry.
        host: String,
        /// The helper.
        name: String,
        /// Why it failed.
        reason: String,
    },
}

/// Where credentials are stored, or were.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Kept {
    /// The file.
    pub file: PathBuf,
    /// The helper that stores them instead.
    pub helper: Option<String>,
    /// Login: whether the registry requested them. Logout: whether there were any.
    pub known: bool,
}

impl LoginError {
    /// What kind of failure it is.
    pub fn class(&self) -> Class {
        match self {
            Self::Client(error) => error.class(),
            Self::NoFile => Class::Usage,
            Self::Io { source, .. } if fsio::never_passes(source) => Class::Config,
            Self::Io { .. } => Class::Io,
            Self::Form { .. } | Self::Helper { .. } => Class::Config,
        }
    }

    /// The diagnostic, with reasons and hints.
    pub fn diagnostic(&self) -> Diagnostic {
        match self {
            Self::Client(error) => error.diagnostic().note("nothing was written"),
            Self::NoFile => {
                Diagnostic::error(self.class(), self.to_string()).hint("name one with `--registry-config`")
            }
            Self::Io { .. } | Self::Form { .. } | Self::Helper { .. } => {
                Diagnostic::error(self.class(), self.to_string())
            }
        }
    }

    fn io(path: &Path, action: &'static str) -> impl FnOnce(io::Error) -> Self {
        let path = path.to_owned();
        move |source| Self::Io { path, action, source }
    }
}

/// Checks the credentials in `options` with `host`, and stores them.
///
/// # Errors
/// Refused credentials are not stored. An existing file that is not of the expected form is not changed.
pub fn login(
    host: &Host,
    given: &Credentials,
    options: &ClientOptions,
    world: &dyn World,
    progress: &dyn Progress,
) -> Result<Kept, LoginError> {
    let path = file(options, world)?;
    // A file that can't be read is reported before any request.
    Store::read(&path)?;
    let runtime = crate::oci::runtime()?;
    let options = ClientOptions {
        credentials: Some(given.clone()),
        ..options.clone()
    };
    let known = runtime.block_on(async {
        let client = Client::new(AccessScope::Host(host), &options, world, progress)?;
        client.ping().await
    });
    runtime.shutdown_background();
    let known = known?;
    let _lock = lock(&path)?;
    let mut store = Store::read(&path)?;
    let key = credentials::helper_key(host.as_str());
    let helper = store.helper(host)?;
    if let Some(name) = &helper {
        let (username, secret) = match given {
            Credentials::Basic { username, password } => (username.as_str(), password),
            Credentials::IdentityToken(token) | Credentials::RegistryToken(token) => {
                (helper::TOKEN_USER, token)
            }
        };
        helper::store(name, &key, username, secret, world, options.timeout)
            .map_err(|reason| store.helper_failed(host, name, reason))?;
    } else {
        store.put(&key, &entry(given))?;
        store.write()?;
    }
    Ok(Kept {
        file: path,
        helper,
        known,
    })
}

/// Removes the stored credentials of `host`.
///
/// # Errors
/// As [`login`]; missing credentials are not an error.
pub fn logout(host: &Host, options: &ClientOptions, world: &dyn World) -> Result<Kept, LoginError> {
    let path = file(options, world)?;
    if !path.exists() {
        return Ok(Kept {
            file: path,
            helper: None,
            known: false,
        });
    }
    let _lock = lock(&path)?;
    let mut store = Store::read(&path)?;
    let helper = store.helper(host)?;
    let mut known = store.remove(host)?;
    if known {
        store.write()?;
    }
    if let Some(name) = &helper {
        known |= helper::erase(
            name,
            &credentials::helper_key(host.as_str()),
            world,
            options.timeout,
        )
        .map_err(|reason| store.helper_failed(host, name, reason))?;
    }
    Ok(Kept {
        file: path,
        helper,
        known,
    })
}

fn entry(given: &Credentials) -> String {
    let object = match given {
        Credentials::Basic { username, password } => {
            let pair = format!("{username}:{}", password.expose());
            serde_json::json!({"auth": base64::engine::general_purpose::STANDARD.encode(pair)})
        }
        Credentials::IdentityToken(token) => serde_json::json!({"identitytoken": token.expose()}),
        Credentials::RegistryToken(token) => serde_json::json!({"registrytoken": token.expose()}),
    };
    object.to_string()
}

/// The file to change; for a symlink its target, whether or not that exists.
fn file(options: &ClientOptions, world: &dyn World) -> Result<PathBuf, LoginError> {
    let named = options.registry_config.clone();
    let path = named
        .or_else(|| credentials::docker_file(world))
        .ok_or(LoginError::NoFile)?;
    fsio::followed(&path).map_err(LoginError::io(&path, "read"))
}

/// Held until it is dropped, so that concurrent logins don't lose entries.
fn lock(path: &Path) -> Result<fs::File, LoginError> {
    use std::os::unix::fs::DirBuilderExt as _;
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
    let folder = folder.unwrap_or(Path::new("."));
    fs::DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(folder)
        .map_err(LoginError::io(folder, "made"))?;
    let held = fs::File::open(folder).map_err(LoginError::io(folder, "locked"))?;
    held.lock().map_err(LoginError::io(folder, "locked"))?;
    Ok(held)
}

/// The file's content.
struct Store<'p> {
    path: &'p Path,
    entries: Entries,
}

impl<'p> Store<'p> {
    fn read(path: &'p Path) -> Result<Self, LoginError> {
        let mut text = Vec::new();
        match fsio::open(path) {
            Ok(file) => {
                file.take(MAX_FILE + 1)
                    .read_to_end(&mut text)
                    .map_err(LoginError::io(path, "read"))?;
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(LoginError::io(path, "read")(error)),
        }
        let form = |what: String| LoginError::Form {
            path: path.to_owned(),
            what,
        };
        if text.len() as u64 > MAX_FILE {
            return Err(form(format!("it is larger than {MAX_FILE} bytes")));
        }
        if text.starts_with(credentials::MARK) {
            return Err(form(
                "it begins with a byte order mark: save it as UTF-8 without one".to_owned(),
            ));
        }
        let entries = if text.trim_ascii().is_empty() {
            Entries::default()
        } else {
            Entries::parse(&text).map_err(form)?
        };
        let store = Self { path, entries };
        // Both are only read when they are needed, and should not fail then.
        store.auths()?;
        Ok(store)
    }

    fn part(&self, name: &str) -> Result<Entries, LoginError> {
        let Some(text) = self.entries.get(name).filter(|text| *text != "null") else {
            return Ok(Entries::default());
        };
        Entries::parse(text.as_bytes()).map_err(|_| LoginError::Form {
            path: self.path.to_owned(),
            what: format!("its {name} is not an object"),
        })
    }

    fn auths(&self) -> Result<Entries, LoginError> {
        self.part("auths")
    }

    /// The helper that stores this host's credentials.
    fn helper(&self, host: &Host) -> Result<Option<String>, LoginError> {
        let text = |json: &str| serde_json::from_str::<String>(json).ok();
        let wanted = credentials::normal(host.as_str());
        let helpers = self.part("credHelpers")?;
        let own = helpers
            .iter()
            .find(|(key, _)| credentials::normal(key) == wanted)
            .and_then(|(_, name)| text(name));
        let common = || self.entries.get("credsStore").and_then(text);
        Ok(own.or_else(common).filter(|name| !name.is_empty()))
    }

    fn helper_failed(&self, host: &Host, name: &str, reason: String) -> LoginError {
        LoginError::Helper {
            path: self.path.to_owned(),
            host: host.to_string(),
            name: name.to_owned(),
            reason,
        }
    }

    fn put(&mut self, key: &str, entry: &str) -> Result<(), LoginError> {
        let mut auths = self.auths()?;
        auths.put(key, entry);
        self.entries.put("auths", &auths.to_text(1));
        Ok(())
    }

    /// Removes the host's entries, also under other spellings; returns whether there were any.
    fn remove(&mut self, host: &Host) -> Result<bool, LoginError> {
        let wanted = credentials::normal(host.as_str());
        let mut auths = self.auths()?;
        let found = auths.remove(|key| credentials::normal(key) == wanted);
        if found {
            self.entries.put("auths", &auths.to_text(1));
        }
        Ok(found)
    }

    fn write(&self) -> Result<(), LoginError> {
        let mut text = self.entries.to_text(0);
        text.push('\n');
        AtomicFile::create_private(self.path)
            .and_then(|mut file| {
                file.write_all(text.as_bytes())?;
                file.sync()?;
                file.commit()
            })
            .map_err(LoginError::io(self.path, "written"))
    }
}
