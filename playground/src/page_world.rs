//! The page's clock and random bytes.

use std::sync::Mutex;
use std::sync::PoisonError;
use std::time::{Duration, SystemTime};

use sha2::{Digest as _, Sha256};
use solar_render::world::World;

/// The time of the request, and bytes made of its random ones: SHA-256 over them and a counter.
#[derive(Debug)]
pub(crate) struct PageWorld {
    now: SystemTime,
    key: Vec<u8>,
    blocks: Mutex<u64>,
}

/// Fewer random bytes can be guessed.
const KEY_BYTES: usize = 32;

impl PageWorld {
    pub(crate) fn new(now: u64, key: Vec<u8>) -> Self {
        Self {
            now: SystemTime::UNIX_EPOCH + Duration::from_millis(now),
            key,
            blocks: Mutex::new(0),
        }
    }
}

impl World for PageWorld {
    fn env(&self, _: &str) -> Option<String> {
        None
    }

    fn now(&self) -> SystemTime {
        self.now
    }

    /// The page ends what takes too long.
    fn uptime(&self) -> Duration {
        Duration::ZERO
    }

    fn entropy(&self) -> u64 {
        let mut bytes = [0; 8];
        // Without random bytes all jitter is the same, which harms nobody here.
        let _ = self.random(&mut bytes);
        u64::from_le_bytes(bytes)
    }

    fn random(&self, out: &mut [u8]) -> Result<(), String> {
        if self.key.len() < KEY_BYTES {
            return Err(format!("the page gave fewer than {KEY_BYTES} random bytes"));
        }
        let mut blocks = self.blocks.lock().unwrap_or_else(PoisonError::into_inner);
        for chunk in out.chunks_mut(KEY_BYTES) {
            let mut hash = Sha256::new();
            hash.update(&self.key);
            hash.update(blocks.to_le_bytes());
            *blocks += 1;
            for (to, from) in chunk.iter_mut().zip(hash.finalize()) {
                *to = from;
            }
        }
        Ok(())
    }
}
