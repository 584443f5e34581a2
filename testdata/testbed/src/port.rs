//! Free ports for servers that can't report a port that the system chose.

use std::fs::{self, File};
use std::net::TcpListener;

/// Below the ephemeral ports (from 32,768 by default), so that no other process takes a port between our check and the
/// server's start.
const PORTS: std::ops::Range<u16> = 12_000..32_000;

/// A loopback port that no other test bed uses.
///
/// Reserved by a file lock, not by a socket, which the server needs.
#[derive(Debug)]
pub struct Port {
    number: u16,
    _lock: File,
}

impl Port {
    /// Finds a free one.
    pub fn free() -> Self {
        let folder = std::env::temp_dir().join("solar-testbed-ports");
        fs::create_dir_all(&folder).unwrap();
        let count = PORTS.end - PORTS.start;
        // Parallel test programs start at different ports.
        let first = u16::try_from(std::process::id() * 97 % u32::from(count)).unwrap();
        (0..count)
            .map(|step| PORTS.start + (first + step) % count)
            .find_map(|number| {
                let lock = File::create(folder.join(number.to_string())).ok()?;
                lock.try_lock().ok()?;
                TcpListener::bind(("127.0.0.1", number)).ok()?;
                Some(Self { number, _lock: lock })
            })
            .expect("no free port")
    }

    /// Its number.
    pub fn number(&self) -> u16 {
        self.number
    }
}
