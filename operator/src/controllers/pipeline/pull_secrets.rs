//! Which Secret on the target pulls a resource: from the Registries that are bound to the Target.

use crate::api::pipeline::{ObjectKey, RegistrySpec};

/// A Registry that is bound to the Target.
#[derive(Debug, Clone, Copy)]
pub struct BoundRegistry<'a> {
    /// The RegistryBinding.
    pub binding: &'a ObjectKey,
    /// The Registry's spec.
    pub registry: &'a RegistrySpec,
}

/// The pull Secrets of a Target, by repository prefix.
#[derive(Debug, Clone, Default)]
pub struct PullSecrets {
    /// Sorted by prefix, the longest first.
    entries: Vec<Entry>,
}

#[derive(Debug, Clone)]
struct Entry {
    /// `host[:port]`, optionally with a path.
    prefix: String,
    /// Empty for anonymous pulls.
    secret: String,
}

/// How a resource is pulled.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Pull<'a> {
    /// With this Secret.
    Secret(&'a str),
    /// A Registry is bound that names no Secret.
    Anonymous,
    /// No Registry of this host is bound.
    Unbound,
}

impl PullSecrets {
    /// The Secrets of these Registries. Of several with the same hostname, that of the smallest binding is used,
    /// whatever their order.
    pub fn new<'a>(bound: impl IntoIterator<Item = BoundRegistry<'a>>) -> Self {
        let mut bound: Vec<(String, BoundRegistry<'a>)> = bound
            .into_iter()
            .map(|one| (normal(&one.registry.hostname), one))
            .collect();
        bound.sort_by(|(prefix, one), (other_prefix, other)| {
            let longest = other_prefix.len().cmp(&prefix.len());
            longest
                .then_with(|| prefix.cmp(other_prefix))
                .then_with(|| one.binding.cmp(other.binding))
        });
        bound.dedup_by(|(later, _), (first, _)| later == first);
        let entries = bound.into_iter().map(|(prefix, one)| Entry {
            prefix,
            secret: one.registry.target_pull_secret_name.clone(),
        });
        Self {
            entries: entries.collect(),
        }
    }

    /// How a repository, `host[:port]/path`, is pulled: by the longest matching prefix. A port is part of the host:
    /// another port is another registry.
    pub fn of(&self, repository: &str) -> Pull<'_> {
        let repository = normal(repository);
        let entry = self.entries.iter().find(|entry| {
            repository
                .strip_prefix(entry.prefix.as_str())
                .is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
        });
        match entry {
            None => Pull::Unbound,
            Some(Entry { secret, .. }) if secret.is_empty() => Pull::Anonymous,
            Some(Entry { secret, .. }) => Pull::Secret(secret),
        }
    }
}

/// The host of a repository, with its port.
pub fn host(repository: &str) -> String {
    let text = normal(repository);
    let end = text.find('/').unwrap_or(text.len());
    text.get(..end).unwrap_or("").to_owned()
}

/// Normalised: without scheme and trailing slashes, the host in lower case; paths are case-sensitive.
pub(super) fn normal(text: &str) -> String {
    let text = text.strip_prefix("oci://").unwrap_or(text).trim_end_matches('/');
    match text.split_once('/') {
        Some((host, path)) => format!("{}/{path}", host.to_ascii_lowercase()),
        None => text.to_ascii_lowercase(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn registry(hostname: &str, secret: &str) -> RegistrySpec {
        RegistrySpec {
            hostname: hostname.into(),
            plain_http: false,
            solar_secret_ref: None,
            target_pull_secret_name: secret.into(),
            flavor: String::new(),
            webhook_path: String::new(),
            scan_interval: String::new(),
        }
    }

    fn secrets(bound: &[(&str, &str, &str)]) -> PullSecrets {
        let bound: Vec<(ObjectKey, RegistrySpec)> = bound
            .iter()
            .map(|(binding, hostname, secret)| (ObjectKey::new("ns", binding), registry(hostname, secret)))
            .collect();
        PullSecrets::new(
            bound
                .iter()
                .map(|(binding, registry)| BoundRegistry { binding, registry }),
        )
    }

    #[test]
    fn the_longest_hostname_counts_and_a_port_is_part_of_it() {
        let secrets = secrets(&[
            ("a", "h.example", "plain"),
            ("b", "h.example:5000", "port"),
            ("c", "h.example:5000/team", "team"),
            ("d", "public.example", ""),
            ("e", "oci://Upper.Example/", "upper"),
        ]);
        let table = [
            ("h.example/c/shop", Pull::Secret("plain")),
            ("oci://h.example/c/shop", Pull::Secret("plain")),
            ("h.example:5000/c/shop", Pull::Secret("port")),
            ("h.example:5000/team/shop", Pull::Secret("team")),
            ("h.example:5000/teammates/shop", Pull::Secret("port")),
            ("H.EXAMPLE:5000/team", Pull::Secret("team")),
            // Paths are case-sensitive.
            ("h.example:5000/Team/shop", Pull::Secret("port")),
            ("h.example:50001/c", Pull::Unbound),
            ("h.example.evil/c", Pull::Unbound),
            ("public.example/c", Pull::Anonymous),
            ("upper.example/c", Pull::Secret("upper")),
            ("other.example/c", Pull::Unbound),
            ("", Pull::Unbound),
        ];
        for (repository, expected) in table {
            assert_eq!(secrets.of(repository), expected, "{repository}");
        }
        assert_eq!(host("oci://H.example:5000/c/shop"), "h.example:5000");
        assert_eq!(host("h.example"), "h.example");
    }

    #[test]
    fn of_two_registries_with_one_hostname_the_smallest_binding_counts() {
        let bound = [("b", "h.example", "two"), ("a", "H.example", "one")];
        assert_eq!(secrets(&bound).of("h.example/c"), Pull::Secret("one"));
    }

    proptest! {
        #[test]
        fn the_order_of_bindings_does_not_matter(
            hosts in proptest::collection::vec(("[ab](:[12])?(/[ab])?", "[xyz]?"), 0..8),
            repository in "[ab](:[12])?(/[ab]){0,3}",
            seed in any::<u64>(),
        ) {
            let named: Vec<(String, String, String)> = hosts
                .into_iter()
                .enumerate()
                .map(|(index, (host, secret))| (format!("b{index}"), host, secret))
                .collect();
            let borrowed: Vec<(&str, &str, &str)> =
                named.iter().map(|(a, b, c)| (a.as_str(), b.as_str(), c.as_str())).collect();
            let mut shuffled = borrowed.clone();
            if !shuffled.is_empty() {
                let by = usize::try_from(seed % shuffled.len() as u64).unwrap_or(0);
                shuffled.rotate_left(by);
                shuffled.reverse();
            }
            let (one, other) = (secrets(&borrowed), secrets(&shuffled));
            prop_assert_eq!(one.of(&repository), other.of(&repository));
        }
    }
}
