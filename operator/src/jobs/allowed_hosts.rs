//! Which registry hosts Jobs may talk to, by the namespace they run in. The platform decides this, not who writes tasks.

use std::collections::{BTreeMap, BTreeSet};

/// Stands for all namespaces that are not named.
pub const OTHERS: &str = "*";

/// Hosts by namespace, in lower case. A namespace that is not named, when [`OTHERS`] isn't either, may use all.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct AllowedHosts(BTreeMap<String, BTreeSet<String>>);

impl AllowedHosts {
    /// Names a namespace and a host that it may use; an empty host allows no host.
    pub fn add(&mut self, namespace: &str, host: &str) {
        let hosts = self.0.entry(namespace.to_owned()).or_default();
        if !host.is_empty() {
            hosts.insert(host.to_ascii_lowercase());
        }
    }

    /// Why Jobs of a namespace may not use a host, with its port when it has one; `None`: they may.
    pub fn refusal(&self, namespace: &str, host: &str) -> Option<String> {
        let hosts = self.0.get(namespace).or_else(|| self.0.get(OTHERS))?;
        if hosts.contains(&host.to_ascii_lowercase()) {
            return None;
        }
        let hosts: Vec<&str> = hosts.iter().map(String::as_str).collect();
        let allowed = match hosts.as_slice() {
            [] => "none".to_owned(),
            hosts => hosts.join(", "),
        };
        Some(format!(
            "host {host} is not allowed in namespace {namespace}: of registry hosts, the platform allows {allowed}"
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_namespace_has_its_own_hosts_and_the_others_have_theirs() {
        let mut hosts = AllowedHosts::default();
        assert_eq!(hosts.refusal("a", "any.example"), None, "nothing is limited");
        hosts.add("a", "One.example");
        hosts.add("a", "two.example:5000");
        hosts.add("closed", "");
        assert_eq!(hosts.refusal("b", "any.example"), None, "others aren't");
        hosts.add(OTHERS, "shared.example");
        let table = [
            ("a", "one.EXAMPLE", true),
            ("a", "two.example:5000", true),
            ("a", "two.example", false),
            ("a", "shared.example", false),
            ("b", "shared.example", true),
            ("b", "one.example", false),
            ("closed", "shared.example", false),
        ];
        for (namespace, host, is_allowed) in table {
            let refusal = hosts.refusal(namespace, host);
            assert_eq!(refusal.is_none(), is_allowed, "{namespace} {host}: {refusal:?}");
        }
        let refusal = hosts.refusal("closed", "h.example").expect("a refusal");
        assert!(refusal.ends_with("the platform allows none"), "{refusal}");
    }
}
