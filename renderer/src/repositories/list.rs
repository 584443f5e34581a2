//! Helm's list of repositories, `repositories.yaml`: read, changed under Helm's own lock, and written as Helm writes it.
//!
//! It holds passwords: it is readable by its owner alone, its types can't be printed, and no message quotes it.

use std::fs::{self, File};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::{Deserialize, Deserializer};

use crate::diag::{Class, Diagnostic, Result};
use crate::fsio::{self, AtomicFile};
use crate::oci::Secret;
use crate::oci::fetch::WebUser;
use crate::value::{Map, Value};
use crate::world::World;
use crate::yaml;

/// The maximum size of repositories.yaml, in bytes.
pub(crate) const MAX_FILE: usize = 4 << 20;
/// How long to wait for the lock, as in Helm.
const LOCK_TIME: Duration = Duration::from_secs(30);
/// The delay between two attempts to get the lock.
const LOCK_PAUSE: Duration = Duration::from_millis(20);
/// The time that Helm writes for a list without one.
const NO_TIME: &str = "0001-01-01T00:00:00Z";

/// An entry that `repo add` stores.
#[derive(Clone, Deserialize, Default, PartialEq, Eq)]
#[serde(rename_all = "camelCase")]
pub(crate) struct RepositoryEntry {
    pub(crate) name: String,
    pub(crate) url: String,
    #[serde(default)]
    pub(crate) username: String,
    #[serde(default, deserialize_with = "secret")]
    pub(crate) password: Secret,
    #[serde(default)]
    pub(crate) ca_file: PathBuf,
    #[serde(default)]
    pub(crate) cert_file: PathBuf,
    #[serde(default)]
    pub(crate) key_file: PathBuf,
    #[serde(default, rename = "insecure_skip_tls_verify")]
    pub(crate) insecure_skip_tls_verify: bool,
    /// Kept for Helm: credentials are never sent to another host here.
    #[serde(default, rename = "pass_credentials_all")]
    pub(crate) pass_credentials_all: bool,
}

/// The whole list.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct RepositoryList {
    #[serde(default)]
    api_version: String,
    #[serde(default = "no_time")]
    generated: String,
    #[serde(default, deserialize_with = "or_empty")]
    pub(crate) repositories: Vec<RepositoryEntry>,
}

/// The lock for changing the list, held until it is dropped.
pub(crate) struct ListLock {
    _file: File,
}

fn secret<'de, D: Deserializer<'de>>(deserializer: D) -> std::result::Result<Secret, D::Error> {
    String::deserialize(deserializer).map(Secret::new)
}

fn or_empty<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> std::result::Result<Vec<RepositoryEntry>, D::Error> {
    Option::deserialize(deserializer).map(Option::unwrap_or_default)
}

fn no_time() -> String {
    NO_TIME.to_owned()
}

impl RepositoryEntry {
    pub(crate) fn user(&self) -> Option<WebUser> {
        (!self.username.is_empty()).then(|| WebUser {
            username: self.username.clone(),
            password: self.password.clone(),
        })
    }

    /// Whether it has its own TLS options.
    pub(crate) fn has_tls(&self) -> bool {
        let set = |path: &Path| !path.as_os_str().is_empty();
        set(&self.ca_file) || set(&self.cert_file) || self.insecure_skip_tls_verify
    }

    fn to_value(&self) -> Value {
        let Self {
            name,
            url,
            username,
            password,
            ca_file,
            cert_file,
            key_file,
            insecure_skip_tls_verify,
            pass_credentials_all,
        } = self;
        let text = |text: &str| Value::from(text);
        let path = |path: &Path| Value::from(path.display().to_string());
        let fields = [
            ("name", text(name)),
            ("url", text(url)),
            ("username", text(username)),
            ("password", text(password.expose())),
            ("caFile", path(ca_file)),
            ("certFile", path(cert_file)),
            ("keyFile", path(key_file)),
            ("insecure_skip_tls_verify", Value::Bool(*insecure_skip_tls_verify)),
            ("pass_credentials_all", Value::Bool(*pass_credentials_all)),
        ];
        Value::Map(fields.into_iter().collect())
    }
}

impl Default for RepositoryList {
    fn default() -> Self {
        Self {
            api_version: String::new(),
            generated: no_time(),
            repositories: Vec::new(),
        }
    }
}

impl RepositoryList {
    /// Reads the list; `None` if there is no such file.
    pub(crate) fn read(path: &Path) -> Result<Option<Self>> {
        if !path.exists() {
            return Ok(None);
        }
        let source = fsio::read_text(path, MAX_FILE, Class::Config)?;
        let limits = yaml::Limits {
            bytes: MAX_FILE,
            ..yaml::Limits::default()
        };
        let value = yaml::parse(&source, Class::Config, &limits)?.to_value();
        if value == Value::Null {
            return Ok(Some(Self::default()));
        }
        // The reason could quote a password: it is not shown.
        let list = serde_json::from_str(&value.to_json()).map_err(|_| {
            let message = format!("{} is not Helm's list of repositories", path.display());
            Diagnostic::error(Class::Config, message)
        })?;
        Ok(Some(list))
    }

    pub(crate) fn get(&self, name: &str) -> Option<&RepositoryEntry> {
        self.repositories.iter().find(|one| one.name == name)
    }

    /// Adds an entry, or replaces the one with the same name.
    pub(crate) fn put(&mut self, entry: RepositoryEntry) {
        match self.repositories.iter_mut().find(|one| one.name == entry.name) {
            Some(old) => *old = entry,
            None => self.repositories.push(entry),
        }
    }

    /// Removes an entry; returns whether it existed.
    pub(crate) fn remove(&mut self, name: &str) -> bool {
        let before = self.repositories.len();
        self.repositories.retain(|one| one.name != name);
        self.repositories.len() < before
    }

    /// Writes the list atomically, readable by its owner alone.
    pub(crate) fn write(&self, path: &Path) -> Result<()> {
        let mut top = Map::default();
        top.insert("apiVersion", Value::from(self.api_version.as_str()));
        top.insert("generated", Value::from(self.generated.as_str()));
        let entries = self.repositories.iter().map(RepositoryEntry::to_value);
        top.insert("repositories", Value::List(entries.collect()));
        let text = yaml::write(&Value::Map(top));
        let cannot = |error: io::Error| fsio::cannot("write", path, &error, Class::Io);
        let target = fsio::followed(path).map_err(cannot)?;
        let written = AtomicFile::create_private(&target).and_then(|mut file| {
            file.write_all(text.as_bytes())?;
            file.sync()?;
            file.commit()
        });
        written.map_err(cannot)
    }
}

/// Takes Helm's lock of a list: the file next to it with the suffix `.lock`. A missing folder is created.
pub(crate) fn lock(list: &Path, world: &dyn World) -> Result<ListLock> {
    use std::os::unix::fs::OpenOptionsExt as _;
    let path = list.with_extension("lock");
    let cannot = |error: io::Error| fsio::cannot("lock", &path, &error, Class::Io);
    if let Some(folder) = path.parent().filter(|folder| !folder.as_os_str().is_empty()) {
        fs::create_dir_all(folder).map_err(|error| fsio::cannot("make", folder, &error, Class::Io))?;
    }
    let file = fs::OpenOptions::new()
        .create(true)
        .append(true)
        .mode(0o600)
        .open(&path)
        .map_err(cannot)?;
    let end = world.uptime().saturating_add(LOCK_TIME);
    loop {
        match file.try_lock() {
            Ok(()) => return Ok(ListLock { _file: file }),
            Err(fs::TryLockError::WouldBlock) if world.uptime() < end => std::thread::sleep(LOCK_PAUSE),
            Err(fs::TryLockError::WouldBlock) => {
                let message = format!(
                    "another process has held {} for {} seconds",
                    path.display(),
                    LOCK_TIME.as_secs()
                );
                return Err(Diagnostic::error(Class::Io, message).into());
            }
            Err(fs::TryLockError::Error(error)) => return Err(cannot(error)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::world::System;

    #[test]
    fn a_list_is_written_for_its_owner_alone_and_read_again() {
        use std::os::unix::fs::PermissionsExt as _;
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("deep/repositories.yaml");
        assert!(RepositoryList::read(&path).unwrap().is_none());
        let _held = lock(&path, &System).unwrap();
        let mut list = RepositoryList::default();
        let entry = |name: &str, url: &str| RepositoryEntry {
            name: name.to_owned(),
            url: url.to_owned(),
            password: Secret::new("hunter2"),
            ..RepositoryEntry::default()
        };
        list.put(entry("a", "https://h/a"));
        list.put(entry("b", "https://h/b"));
        list.put(entry("a", "https://h/c"));
        list.write(&path).unwrap();
        let mode = fs::metadata(&path).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
        let mut read = RepositoryList::read(&path).unwrap().unwrap();
        assert!(read.repositories == list.repositories);
        assert_eq!(read.get("a").map(|one| one.url.as_str()), Some("https://h/c"));
        assert!(read.remove("a") && !read.remove("a"));
    }

    #[test]
    fn an_invalid_list_is_refused_without_quoting_its_secrets() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("repositories.yaml");
        fs::write(&path, "repositories: [{name: [hunter2], password: hunter2}]\n").unwrap();
        let problem = RepositoryList::read(&path).err().unwrap();
        assert!(!problem.to_string().contains("hunter2"), "{problem}");
        for empty in ["", "# nothing\n", "apiVersion: v1\n", "repositories:\n"] {
            fs::write(&path, empty).unwrap();
            let list = RepositoryList::read(&path).unwrap().unwrap();
            assert!(list.repositories.is_empty(), "{empty:?}");
        }
    }

    /// A second process waits until the first has done.
    #[test]
    fn a_lock_that_is_held_is_not_taken() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("repositories.yaml");
        let held = lock(&path, &System).unwrap();
        let other = File::open(folder.path().join("repositories.lock")).unwrap();
        assert!(matches!(other.try_lock(), Err(fs::TryLockError::WouldBlock)));
        drop(held);
        other.try_lock().unwrap();
    }
}
