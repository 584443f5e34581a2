//! NO_PROXY as Go's programs read it (Helm, crane, Docker): names including their subdomains, `*.` and `.` before a
//! name for its subdomains alone, addresses, networks, each but the last with an optional port, and `*`. Servers on
//! this machine are never accessed through a proxy.

use std::net::{IpAddr, Ipv6Addr};

use ipnet::IpNet;
use url::{Host, Url};

/// The servers that are accessed directly.
#[derive(Debug, Default, PartialEq, Eq)]
pub(in crate::oci) struct NoProxy(Vec<NoProxyRule>);

#[derive(Debug, PartialEq, Eq)]
enum NoProxyRule {
    All,
    Network(IpNet),
    Address(IpAddr, Option<String>),
    Domain {
        /// The name with a dot before it.
        below: String,
        /// Whether the name itself matches too.
        itself: bool,
        port: Option<String>,
    },
}

impl NoProxy {
    pub(in crate::oci) fn parse(text: &str) -> Self {
        Self(text.split(',').filter_map(NoProxyRule::parse).collect())
    }

    /// Whether this server is accessed directly.
    pub(in crate::oci) fn covers(&self, url: &Url) -> bool {
        let Some(host) = url.host() else { return false };
        let port = url.port_or_known_default().map(|port| port.to_string());
        let port = port.as_deref().unwrap_or_default();
        let (name, address) = match host {
            Host::Domain(name) => (name.trim_end_matches('.').to_ascii_lowercase(), None),
            Host::Ipv4(address) => (String::new(), Some(IpAddr::from(address))),
            Host::Ipv6(address) => (String::new(), Some(canonical(address))),
        };
        if name == "localhost" || address.is_some_and(|address| address.is_loopback()) {
            return true;
        }
        self.0.iter().any(|rule| rule.covers(&name, address, port))
    }
}

impl NoProxyRule {
    fn parse(text: &str) -> Option<Self> {
        let text = text.trim().to_ascii_lowercase();
        if text == "*" {
            return Some(Self::All);
        }
        if let Ok(network) = text.parse() {
            return Some(Self::Network(network));
        }
        let (host, port) = split_port(&text);
        let port = port.filter(|port| !port.is_empty()).map(str::to_owned);
        if host.is_empty() {
            return None;
        }
        if let Ok(address) = host.parse() {
            return Some(Self::Address(normal(address), port));
        }
        let below = if host.starts_with("*.") {
            host.get(1..)?
        } else {
            host
        };
        let itself = !below.starts_with('.');
        let below = if itself {
            format!(".{below}")
        } else {
            below.to_owned()
        };
        Some(Self::Domain { below, itself, port })
    }

    fn covers(&self, name: &str, address: Option<IpAddr>, port: &str) -> bool {
        let is_port = |wanted: &Option<String>| wanted.as_ref().is_none_or(|wanted| wanted == port);
        match self {
            Self::All => true,
            Self::Network(network) => address.is_some_and(|address| network.contains(&address)),
            Self::Address(wanted, only) => address == Some(*wanted) && is_port(only),
            Self::Domain {
                below,
                itself,
                port: only,
            } => {
                let is_name =
                    name.ends_with(below.as_str()) || (*itself && below.strip_prefix('.') == Some(name));
                address.is_none() && is_name && is_port(only)
            }
        }
    }
}

/// Splits `host:port` and `[v6]:port`; a bare IPv6 address has no port.
fn split_port(text: &str) -> (&str, Option<&str>) {
    match text.rsplit_once(':') {
        Some((host, port)) => match host.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')) {
            Some(inside) => (inside, Some(port)),
            None if host.contains(':') => (text, None),
            None => (host, Some(port)),
        },
        None => (text, None),
    }
}

fn normal(address: IpAddr) -> IpAddr {
    address.to_canonical()
}

fn canonical(address: Ipv6Addr) -> IpAddr {
    IpAddr::from(address).to_canonical()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `testdata/proxy/no_proxy.golden.json` is Go's behaviour, recorded by `record.go` in the same folder.
    #[test]
    fn no_proxy_is_read_as_go_reads_it() {
        let path = concat!(
            env!("CARGO_MANIFEST_DIR"),
            "/../testdata/proxy/no_proxy.golden.json"
        );
        let golden: serde_json::Value =
            serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap();
        let cases = golden["cases"].as_array().unwrap();
        assert!(cases.len() > 30);
        for case in cases {
            let rules = NoProxy::parse(case["no_proxy"].as_str().unwrap());
            for url in golden["urls"].as_array().unwrap() {
                let direct = case["direct"].as_array().unwrap().contains(url);
                let found = rules.covers(&Url::parse(url.as_str().unwrap()).unwrap());
                assert_eq!(found, direct, "{} {url}", case["no_proxy"]);
            }
        }
    }
}
