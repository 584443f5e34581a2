//! API versions that Kubernetes has deprecated, from k8s.io/client-go 0.37.1.

use std::collections::BTreeMap;
use std::sync::OnceLock;

/// One per line, separated by tabs: API version, kind, introduced, deprecated, removed, and the API version and kind
/// that replace it; `-` for none. Lines with `#` are comments.
const TABLE: &str = include_str!("deprecations.tsv");

/// A deprecated API version of a kind.
pub(crate) struct Deprecated {
    /// The version of Kubernetes since which it is.
    pub(crate) since: (u64, u64),
    /// The version that no longer serves it, if that is known.
    #[cfg(feature = "cli")]
    pub(crate) removed: Option<(u64, u64)>,
    /// The API version and kind that replace it.
    #[cfg(feature = "cli")]
    pub(crate) replacement: Option<String>,
    /// Kubernetes' message.
    pub(crate) message: String,
}

/// The message about an object's API version for a Kubernetes version, if it is deprecated.
pub(super) fn message(api_version: &str, kind: &str, kubernetes: (u64, u64)) -> Option<&'static str> {
    let one = find(api_version, kind)?;
    (one.since <= kubernetes).then_some(one.message.as_str())
}

/// What is known of an object's API version.
pub(crate) fn find(api_version: &str, kind: &str) -> Option<&'static Deprecated> {
    table().get(api_version)?.get(kind)
}

/// By API version and kind.
type Table = BTreeMap<&'static str, BTreeMap<&'static str, Deprecated>>;

fn table() -> &'static Table {
    static TABLE_OF: OnceLock<Table> = OnceLock::new();
    TABLE_OF.get_or_init(|| {
        let mut table = Table::new();
        for ((api_version, kind), one) in TABLE.lines().filter_map(entry) {
            table.entry(api_version).or_default().insert(kind, one);
        }
        table
    })
}

fn entry(line: &'static str) -> Option<((&'static str, &'static str), Deprecated)> {
    if line.starts_with('#') {
        return None;
    }
    let words: Vec<&str> = line.split('\t').collect();
    let [
        api_version,
        kind,
        _introduced,
        since,
        removed,
        new_version,
        new_kind,
    ] = words.as_slice()
    else {
        return None;
    };
    let mut message = format!("{api_version} {kind} is deprecated in v{since}+");
    if *removed != "-" {
        message.push_str(&format!(", unavailable in v{removed}+"));
    }
    if *new_version != "-" {
        message.push_str(&format!("; use {new_version} {new_kind}"));
    }
    let one = Deprecated {
        since: numbers(since)?,
        #[cfg(feature = "cli")]
        removed: numbers(removed),
        #[cfg(feature = "cli")]
        replacement: (*new_version != "-").then(|| format!("{new_version} {new_kind}")),
        message,
    };
    Some(((api_version, kind), one))
}

/// `1.22`
fn numbers(version: &str) -> Option<(u64, u64)> {
    let (major, minor) = version.split_once('.')?;
    Some((major.parse().ok()?, minor.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn deprecations_are_reported_from_their_version_on() {
        let cases = [
            (
                "extensions/v1beta1",
                "Ingress",
                (1, 37),
                Some(
                    "extensions/v1beta1 Ingress is deprecated in v1.14+, unavailable in v1.22+; use networking.k8s.io/v1 Ingress",
                ),
            ),
            (
                "extensions/v1beta1",
                "Ingress",
                (1, 14),
                Some(
                    "extensions/v1beta1 Ingress is deprecated in v1.14+, unavailable in v1.22+; use networking.k8s.io/v1 Ingress",
                ),
            ),
            ("extensions/v1beta1", "Ingress", (1, 13), None),
            (
                "v1",
                "Endpoints",
                (1, 37),
                Some("v1 Endpoints is deprecated in v1.33+; use discovery.k8s.io/v1 EndpointSlice"),
            ),
            (
                "v1",
                "ComponentStatus",
                (2, 0),
                Some("v1 ComponentStatus is deprecated in v1.19+"),
            ),
            (
                "policy/v1beta1",
                "Eviction",
                (1, 37),
                Some("policy/v1beta1 Eviction is deprecated in v1.22+, unavailable in v1.25+"),
            ),
            ("apps/v1", "Deployment", (1, 37), None),
        ];
        for (api_version, kind, kubernetes, expected) in cases {
            assert_eq!(
                message(api_version, kind, kubernetes),
                expected,
                "{api_version} {kind}"
            );
        }
    }

    #[test]
    fn every_line_of_the_table_is_valid() {
        let lines = TABLE.lines().filter(|line| !line.starts_with('#')).count();
        let known: usize = table().values().map(BTreeMap::len).sum();
        assert!(lines > 150 && known == lines);
    }
}
