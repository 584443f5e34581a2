//! A real registry, on a port that the system chooses.

use std::fmt::Write as _;
use std::fs;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc;
use std::time::Duration;

use tempfile::TempDir;

use crate::tool::isolate;
use crate::{Authority, Network, TokenServer, Tool, run};

/// How long a registry may take to listen.
const START_LIMIT: Duration = Duration::from_secs(60);

/// Its configuration's file.
const CONFIGURATION: &str = "config.yml";

/// Who may use it.
#[derive(Debug, Default)]
pub enum Auth<'a> {
    /// Anyone.
    #[default]
    Anonymous,
    /// One user with a password.
    Basic {
        /// The user name.
        username: &'a str,
        /// The password.
        password: &'a str,
    },
    /// Clients with a token from this server.
    Token(&'a TokenServer),
}

/// The options of a registry.
#[derive(Debug, Default)]
pub struct Setup<'a> {
    /// Who may use it.
    pub auth: Auth<'a>,
    /// TLS with this authority's server certificate.
    pub tls: Option<&'a Authority>,
    /// Clients must also have a certificate of the authority.
    pub client_certificates: bool,
    /// The external URL that it uses in Locations, as behind a misconfigured proxy.
    pub believes: Option<&'a str>,
    /// Debian's version 2.8 instead of 3.
    pub version_2: bool,
    /// Deletion is disabled.
    pub no_delete: bool,
    /// Keep everything in memory: many times faster.
    pub in_memory: bool,
    /// Listens at a node's address, for its pods.
    pub network: Option<Network>,
}

/// A running registry; killed when dropped.
#[derive(Debug)]
pub struct Registry {
    child: Child,
    host: String,
    tool: Tool,
    network: Option<Network>,
    folder: TempDir,
}

impl Registry {
    /// An anonymous one, version 3, plain HTTP.
    pub fn start() -> Self {
        Self::with(&Setup::default())
    }

    /// One with these options.
    pub fn with(setup: &Setup<'_>) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let tool = if setup.version_2 {
            Tool::DockerRegistry
        } else {
            Tool::Registry
        };
        let address = setup.network.map_or("127.0.0.1", |_| Network::NODE);
        let text = configuration(setup, folder.path(), &format!("{address}:0"));
        let (child, host) = serve(tool, setup.network, folder.path(), &text);
        Self {
            child,
            host,
            tool,
            network: setup.network,
            folder,
        }
    }

    /// Stops it; its data on disk is kept.
    pub fn stop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }

    /// Starts it again after [`Registry::stop`], on the same port.
    pub fn start_again(&mut self) {
        let text = fs::read_to_string(self.folder.path().join(CONFIGURATION)).unwrap();
        let address = self.host.rsplit_once(':').unwrap().0;
        let text = text.replace(&format!("{address}:0"), &self.host);
        (self.child, _) = serve(self.tool, self.network, self.folder.path(), &text);
    }

    /// `127.0.0.1:port`, or the node's address and the port.
    pub fn host(&self) -> &str {
        &self.host
    }

    /// Its processor time, without threads that have ended.
    pub fn processor_time(&self) -> Duration {
        let threads = fs::read_dir(format!("/proc/{}/task", self.child.id())).unwrap();
        let taken = |thread: std::io::Result<fs::DirEntry>| {
            // `<nanoseconds run> <nanoseconds waited> <times run>`
            let text = fs::read_to_string(thread.unwrap().path().join("schedstat")).unwrap_or_default();
            let run = text.split(' ').next().and_then(|word| word.parse().ok());
            Duration::from_nanos(run.unwrap_or(0))
        };
        threads.map(taken).sum()
    }

    /// A folder that lives as long as the registry, for a tool's HOME.
    pub fn home(&self) -> &Path {
        self.folder.path()
    }

    /// The digest that `crane` reads for a reference below this host; plain HTTP, anonymous.
    pub fn crane_digest(&self, path: &str) -> String {
        let reference = format!("{}/{path}", self.host);
        run(Tool::Crane
            .command(self.home())
            .args(["digest", "--insecure", &reference]))
        .trim()
        .to_owned()
    }
}

impl Drop for Registry {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Starts one, and returns its address.
fn serve(tool: Tool, network: Option<Network>, folder: &Path, text: &str) -> (Child, String) {
    let config = folder.join(CONFIGURATION);
    fs::write(&config, text).unwrap();
    let mut command = network.map_or_else(
        || Command::new(tool.path()),
        |network| network.command(&tool.path()),
    );
    isolate(&mut command, folder);
    let mut child = command
        .arg("serve")
        .arg(&config)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let log = BufReader::new(child.stderr.take().unwrap());
    let (sender, receiver) = mpsc::channel();
    std::thread::spawn(move || {
        let mut sender = Some(sender);
        let mut all = String::new();
        // Read to the end, so that the registry never blocks on its log.
        for line in log.lines().map_while(Result::ok) {
            if sender.is_none() {
                continue;
            }
            let _ = writeln!(all, "{line}");
            if let Some(host) = host_in(&line) {
                let _ = sender.take().map(|sender| sender.send(Ok(host)));
            }
        }
        let _ = sender.map(|sender| sender.send(Err(all)));
    });
    match receiver.recv_timeout(START_LIMIT) {
        Ok(Ok(host)) => (child, host),
        Ok(Err(log)) => panic!("the registry did not start:\n{log}"),
        Err(_) => {
            let _ = child.kill();
            panic!("the registry did not listen within {START_LIMIT:?}");
        }
    }
}

/// `… msg="listening on 127.0.0.1:41234, tls" …`
fn host_in(line: &str) -> Option<String> {
    let (_, rest) = line.split_once("listening on ")?;
    let ends = |letter: char| !letter.is_ascii_digit() && letter != '.' && letter != ':';
    rest.split(ends).next().map(str::to_owned)
}

fn configuration(setup: &Setup<'_>, folder: &Path, address: &str) -> String {
    let storage = if setup.in_memory {
        "inmemory: {}".to_owned()
    } else {
        format!("filesystem: {{rootdirectory: {:?}}}", folder.join("data"))
    };
    let mut text = format!(
        "version: 0.1\nlog: {{level: info, accesslog: {{disabled: true}}}}\n\
         storage:\n  {storage}\n  delete: {{enabled: {}}}\n\
         http:\n  addr: {address}\n  secret: testbed\n",
        !setup.no_delete,
    );
    if let Some(url) = setup.believes {
        let _ = writeln!(text, "  host: {url:?}");
    }
    if let Some(authority) = setup.tls {
        let (cert, key) = (&authority.server.cert, &authority.server.key);
        let _ = writeln!(text, "  tls:\n    certificate: {cert:?}\n    key: {key:?}");
        if setup.client_certificates {
            let _ = writeln!(text, "    clientcas: [{:?}]", authority.ca);
        }
    }
    match &setup.auth {
        Auth::Anonymous => {}
        Auth::Basic { username, password } => {
            // The minimum cost: bcrypt is not under test.
            let hash = bcrypt::hash_with_result(password, 4)
                .unwrap()
                .format_for_version(bcrypt::Version::TwoY);
            let path = folder.join("htpasswd");
            fs::write(&path, format!("{username}:{hash}\n")).unwrap();
            let _ = writeln!(text, "auth:\n  htpasswd: {{realm: testbed, path: {path:?}}}");
        }
        Auth::Token(server) => {
            let _ = writeln!(
                text,
                "auth:\n  token: {{realm: {:?}, service: {:?}, issuer: {:?}, rootcertbundle: {:?}}}",
                server.realm(),
                TokenServer::SERVICE,
                TokenServer::ISSUER,
                server.certificate()
            );
        }
    }
    text
}
