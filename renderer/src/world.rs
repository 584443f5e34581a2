//! The only access to everything that is not a function of the input: the environment, the clock, entropy.
//!
//! Code that needs one of them takes a `&dyn World`. A lint (`clippy.toml`) forbids the
//! direct calls elsewhere, so what a result depends on can be seen from signatures.

use std::collections::BTreeMap;
use std::hash::{BuildHasher, Hasher};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

/// The environment, the clock and entropy.
pub trait World: Send + Sync {
    /// An environment variable; `None` when it is not set, empty, or not UTF-8.
    fn env(&self, name: &str) -> Option<String>;
    /// The wall clock.
    fn now(&self) -> SystemTime;
    /// The time since a fixed moment in the past, monotonic: for deadlines.
    fn uptime(&self) -> Duration;
    /// Random bits, good enough for jitter; not for keys.
    fn entropy(&self) -> u64;
    /// Fills a buffer with random bytes, good enough for keys and passwords. A world that doesn't say where they come
    /// from has none: fixed bytes would be secrets that everyone knows.
    ///
    /// # Errors
    /// The reason why there are none.
    fn random(&self, _out: &mut [u8]) -> Result<(), String> {
        Err("there is no source of random bytes here; set a seed".to_owned())
    }

    /// The user's home folder, if there is one: a Job has none.
    fn home(&self) -> Option<PathBuf> {
        self.env("HOME").map(PathBuf::from)
    }
}

/// The machine this runs on.
///
/// `wasm32-unknown-unknown` has neither a clock nor a source of randomness: there it is always 1970, and random bytes
/// are an error. Pages pass a [`World`] of their own.
#[derive(Debug, Default, Clone, Copy)]
pub struct System;

/// A world with fixed values, for tests and for reproducible runs.
#[derive(Debug, Clone)]
pub struct Fixed {
    /// The whole environment.
    pub env: BTreeMap<String, String>,
    /// The fixed time.
    pub now: SystemTime,
    /// The fixed random bits.
    pub entropy: u64,
}

impl Fixed {
    /// One with this environment.
    pub fn with_env(env: &[(&str, &str)]) -> Self {
        let env = env
            .iter()
            .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
        Self {
            env: env.collect(),
            ..Self::default()
        }
    }
}

impl World for System {
    #[allow(clippy::disallowed_methods, reason = "this is the door")]
    fn env(&self, name: &str) -> Option<String> {
        std::env::var(name).ok().filter(|value| !value.is_empty())
    }

    #[cfg(not(all(target_family = "wasm", target_os = "unknown")))]
    #[allow(clippy::disallowed_methods, reason = "this is the door")]
    fn now(&self) -> SystemTime {
        SystemTime::now()
    }

    #[cfg(not(all(target_family = "wasm", target_os = "unknown")))]
    fn uptime(&self) -> Duration {
        static FIRST: std::sync::LazyLock<std::time::Instant> =
            std::sync::LazyLock::new(std::time::Instant::now);
        FIRST.elapsed()
    }

    #[cfg(not(all(target_family = "wasm", target_os = "unknown")))]
    fn random(&self, out: &mut [u8]) -> Result<(), String> {
        getrandom::fill(out).map_err(|error| error.to_string())
    }

    #[cfg(all(target_family = "wasm", target_os = "unknown"))]
    fn now(&self) -> SystemTime {
        SystemTime::UNIX_EPOCH
    }

    #[cfg(all(target_family = "wasm", target_os = "unknown"))]
    fn uptime(&self) -> Duration {
        Duration::ZERO
    }

    fn entropy(&self) -> u64 {
        // Each RandomState is seeded by the system.
        std::hash::RandomState::new().build_hasher().finish()
    }
}

impl Default for Fixed {
    fn default() -> Self {
        Self {
            env: BTreeMap::new(),
            now: SystemTime::UNIX_EPOCH,
            entropy: 0,
        }
    }
}

impl World for Fixed {
    fn env(&self, name: &str) -> Option<String> {
        self.env.get(name).filter(|value| !value.is_empty()).cloned()
    }

    fn now(&self) -> SystemTime {
        self.now
    }

    /// Always zero.
    fn uptime(&self) -> Duration {
        Duration::ZERO
    }

    fn entropy(&self) -> u64 {
        self.entropy
    }
}

/// A time limit for work.
#[derive(Clone)]
pub struct Deadline {
    world: Arc<dyn World>,
    end: Duration,
    /// How long it may take.
    pub time: Duration,
}

impl Deadline {
    /// A deadline after this time from now.
    pub fn after(time: Duration, world: &Arc<dyn World>) -> Self {
        Self {
            end: world.uptime().saturating_add(time),
            world: Arc::clone(world),
            time,
        }
    }

    /// Whether the deadline has passed. It reads the clock: not for inner loops.
    pub fn is_over(&self) -> bool {
        self.world.uptime() > self.end
    }
}
