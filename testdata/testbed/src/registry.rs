//! A real registry, on a port that the system chooses.

use std::fmt::Write as _;
use std::fs;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Stdio};
use std::sync::mpsc;
use std::time::Duration;

use tempfile::TempDir;

use crate::{Authority, TokenServer, Tool, run};

/// How long a registry may take to listen.
const START_LIMIT: Duration = Duration::from_secs(60);

/// Who may use it.
#[derive(Debug, Default)]
pub enum Auth<'a> {
    /// Anyone.
    #[default]
    Anonymous,
    /// One user with a password.
    Basic {
        /// Who.
        username: &'a str,
        /// The password.
        password: &'a str,
    },
    /// Bearers of a token from this server.
    Token(&'a TokenServer),
}

/// What kind of registry to start.
#[derive(Debug, Default)]
pub struct Setup<'a> {
    /// Who may use it.
    pub auth: Auth<'a>,
    /// With TLS by this authority's server certificate.
    pub tls: Option<&'a Authority>,
    /// Clients must show a certificate of the authority's, too.
    pub client_certificates: bool,
    /// The URL it believes to be reached by, as behind a careless proxy: its Locations begin so.
    pub believes: Option<&'a str>,
    /// Debian's version 2.8 instead of 3.
    pub version_2: bool,
    /// Keep everything in memory: many times faster.
    pub in_memory: bool,
}

/// A running registry; killed when dropped.
#[derive(Debug)]
pub struct Registry {
    child: Child,
    host: String,
    folder: TempDir,
}

impl Registry {
    /// An anonymous one, version 3, plain HTTP.
    pub fn start() -> Self {
        Self::with(&Setup::default())
    }

    /// One to order.
    pub fn with(setup: &Setup<'_>) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let config = folder.path().join("config.yml");
        fs::write(&config, configuration(setup, folder.path())).unwrap();
        let tool = if setup.version_2 {
            Tool::DockerRegistry
        } else {
            Tool::Registry
        };
        let mut child = tool
            .command(folder.path())
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
                if let Some(port) = port_in(&line) {
                    let _ = sender.take().map(|sender| sender.send(Ok(port)));
                }
            }
            let _ = sender.map(|sender| sender.send(Err(all)));
        });
        match receiver.recv_timeout(START_LIMIT) {
            Ok(Ok(port)) => Self {
                child,
                host: format!("127.0.0.1:{port}"),
                folder,
            },
            Ok(Err(log)) => panic!("the registry did not start:\n{log}"),
            Err(_) => {
                let _ = child.kill();
                panic!("the registry did not listen within {START_LIMIT:?}");
            }
        }
    }

    /// `127.0.0.1:port`
    pub fn host(&self) -> &str {
        &self.host
    }

    /// A folder that lives as long as the registry, for a tool's HOME.
    pub fn home(&self) -> &Path {
        self.folder.path()
    }

    /// The digest that `crane` sees at a reference below this host; plain HTTP, anonymous.
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

/// `… msg="listening on 127.0.0.1:41234, tls" …`
fn port_in(line: &str) -> Option<u16> {
    let (_, rest) = line.split_once("listening on 127.0.0.1:")?;
    let digits: String = rest.chars().take_while(char::is_ascii_digit).collect();
    digits.parse().ok()
}

fn configuration(setup: &Setup<'_>, folder: &Path) -> String {
    let storage = if setup.in_memory {
        "inmemory: {}".to_owned()
    } else {
        format!("filesystem: {{rootdirectory: {:?}}}", folder.join("data"))
    };
    let mut text = format!(
        "version: 0.1\nlog: {{level: info, accesslog: {{disabled: true}}}}\n\
         storage:\n  {storage}\n  delete: {{enabled: true}}\n\
         http:\n  addr: 127.0.0.1:0\n  secret: testbed\n",
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
            // The cheapest cost there is: this is not about bcrypt.
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
