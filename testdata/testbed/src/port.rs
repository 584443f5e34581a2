//! Free ports for servers that can't be asked which one the system chose for them.

use std::fs::{self, File};
use std::net::TcpListener;

/// Below what the system gives to connections and to whoever binds port 0 (32,768 by default), so
/// that nobody takes a port between our look and the server's start.
const PORTS: std::ops::Range<u16> = 12_000..32_000;

/// A port on the loopback that no other test bed has.
///
/// Held by a lock on a file, not by a socket: the server needs that.
#[derive(Debug)]
pub struct Port {
    number: u16,
    _lock: File,
}

impl Port {
    /// Finds one.
    pub fn free() -> Self {
        let folder = std::env::temp_dir().join("solar-testbed-ports");
        fs::create_dir_all(&folder).unwrap();
        let count = PORTS.end - PORTS.start;
        // Parallel test programs begin at different places.
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
