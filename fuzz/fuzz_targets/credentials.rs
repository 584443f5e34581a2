//! Files with credentials, Docker's and Podman's: `cargo +nightly fuzz run credentials`.
#![no_main]

use std::fs;
use std::path::PathBuf;
use std::sync::LazyLock;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use libfuzzer_sys::fuzz_target;
use solar_render::oci::AmbientHost;
use solar_render::oci::credentials::{Sources, find};
use solar_render::world::World;
use tempfile::TempDir;

static FOLDER: LazyLock<Option<TempDir>> =
    LazyLock::new(|| TempDir::with_prefix_in("solar-fuzz-", "/dev/shm").ok());

/// Without an environment: no other file is found, and no helper either.
struct Empty;

impl World for Empty {
    fn env(&self, _: &str) -> Option<String> {
        None
    }

    fn now(&self) -> SystemTime {
        UNIX_EPOCH
    }

    fn uptime(&self) -> Duration {
        Duration::ZERO
    }

    fn entropy(&self) -> u64 {
        0
    }

    fn home(&self) -> Option<PathBuf> {
        None
    }
}

fuzz_target!(|bytes: &[u8]| {
    let Some(folder) = &*FOLDER else { return };
    let file = folder.path().join("config.json");
    // A helper would be a program of this machine.
    let helper = [b"credHelpers".as_slice(), b"credsStore", b"\\u"];
    if helper
        .iter()
        .any(|name| bytes.windows(name.len()).any(|part| part == *name))
    {
        return;
    }
    if fs::write(&file, bytes).is_ok() {
        let sources = Sources {
            explicit: None,
            ambient_host: &AmbientHost::default(),
            registry_config: Some(&file),
            limit: Duration::from_secs(1),
        };
        let _ = find("example.com:5000", "team/app", sources, &Empty);
    }
});
