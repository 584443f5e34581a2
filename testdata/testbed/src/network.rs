//! A network namespace: its own loopback, ports and addresses, invisible to the machine.

use std::fs;
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use crate::processes::Processes;
use crate::run;

/// How long creating one may take.
const LIMIT: Duration = Duration::from_secs(10);
/// The process that holds it open.
const HOLDER: &str = "network";
const BRIDGE: &str = "testbed0";

/// A network namespace with a bridge for pods. It is removed with its processes.
#[derive(Debug, Clone, Copy)]
pub struct Network {
    holder: u32,
    group: i32,
}

impl Network {
    /// The node's address for pods.
    pub const NODE: &str = "10.88.0.1";
    /// The Service `kubernetes`. It is an address of the bridge, so that pods reach the API server without kube-proxy.
    pub(crate) const SERVICE: &str = "10.96.0.1";
    /// The bridge's name.
    pub(crate) const BRIDGE: &str = BRIDGE;

    /// Creates one.
    pub(crate) fn new(processes: &Processes) -> Self {
        let own = fs::read_link("/proc/self/ns/net").unwrap();
        processes.start(
            HOLDER,
            Command::new("unshare").args(["--net", "sleep", "infinity"]),
        );
        let network = Self {
            holder: processes.id(HOLDER),
            group: processes.group(),
        };
        processes.wait_for(HOLDER, LIMIT, || {
            fs::read_link(format!("/proc/{}/ns/net", network.holder)).is_ok_and(|of| of != own)
        });
        let node = format!("{}/16", Self::NODE);
        let service = format!("{}/32", Self::SERVICE);
        for arguments in [
            vec!["link", "set", "lo", "up"],
            vec!["link", "add", BRIDGE, "type", "bridge"],
            vec!["addr", "add", &node, "dev", BRIDGE],
            vec!["addr", "add", &service, "dev", BRIDGE],
            vec!["link", "set", BRIDGE, "up"],
        ] {
            run(network.command(Path::new("ip")).args(arguments));
        }
        network
    }

    /// A command in the namespace, which is killed with the cluster at the latest.
    pub(crate) fn command(&self, program: &Path) -> Command {
        let mut command = Command::new("nsenter");
        command
            .args(["--net", "--target", &self.holder.to_string(), "--"])
            .arg(program)
            .process_group(self.group);
        command
    }
}
