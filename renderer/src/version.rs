//! Chart versions as Helm 4.3.1 accepts them.
//!
//! Helm reads versions with Masterminds/semver's lenient grammar: a leading `v`, missing
//! minor and patch and leading zeros are fine (`v0.0.1`, `1.2`, `01.2.3`); pre-release
//! and build follow SemVer 2.0. Verified with `helm package`.

use std::cmp::Ordering;

/// The maximum length of a version in Helm, in bytes.
pub const MAX_VERSION_LENGTH: usize = 256;

/// Whether `helm package` accepts the version.
pub fn is_valid(version: &str) -> bool {
    if version.len() > MAX_VERSION_LENGTH {
        return false;
    }
    let rest = version.strip_prefix('v').unwrap_or(version);
    let (rest, build) = split(rest, '+');
    let (core, pre) = split(rest, '-');
    let numbers: Vec<&str> = core.split('.').collect();
    let digits = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    numbers.len() <= 3
        && numbers
            .iter()
            .all(|number| digits(number) && number.parse::<u64>().is_ok())
        && build.is_none_or(|build| build.split('.').all(is_identifier))
        && pre.is_none_or(|pre| {
            pre.split('.')
                .all(|part| is_identifier(part) && !(digits(part) && part.len() > 1 && part.starts_with('0')))
        })
}

/// A version in SemVer's order; versions of equal precedence are ordered as text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ChartVersion<'a> {
    text: &'a str,
    numbers: [u64; 3],
    pre: Option<&'a str>,
}

impl<'a> ChartVersion<'a> {
    /// Parses a version; `None` if it is not valid by [`is_valid`].
    pub fn parse(text: &'a str) -> Option<Self> {
        if !is_valid(text) {
            return None;
        }
        let rest = text.strip_prefix('v').unwrap_or(text);
        let (rest, _build) = split(rest, '+');
        let (core, pre) = split(rest, '-');
        let mut numbers = [0; 3];
        for (number, digits) in numbers.iter_mut().zip(core.split('.')) {
            *number = digits.parse().ok()?;
        }
        Some(Self { text, numbers, pre })
    }

    /// The original text.
    pub fn as_str(&self) -> &'a str {
        self.text
    }

    /// Whether it is a pre-release, as `1.0.0-rc.1`.
    pub fn is_prerelease(&self) -> bool {
        self.pre.is_some()
    }
}

impl Ord for ChartVersion<'_> {
    fn cmp(&self, other: &Self) -> Ordering {
        let pre = match (self.pre, other.pre) {
            (None, None) => Ordering::Equal,
            (None, Some(_)) => Ordering::Greater,
            (Some(_), None) => Ordering::Less,
            (Some(a), Some(b)) => compare_pre(a, b),
        };
        self.numbers
            .cmp(&other.numbers)
            .then(pre)
            .then_with(|| self.text.cmp(other.text))
    }
}

impl PartialOrd for ChartVersion<'_> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

/// SemVer 2.0, section 11: numeric identifiers by value and before others, others in ASCII order, fewer identifiers
/// first.
fn compare_pre(a: &str, b: &str) -> Ordering {
    let is_number = |part: &str| part.bytes().all(|byte| byte.is_ascii_digit());
    for (a, b) in a.split('.').zip(b.split('.')) {
        let order = match (is_number(a), is_number(b)) {
            // Without leading zeros the longer one is larger.
            (true, true) => a.len().cmp(&b.len()).then(a.cmp(b)),
            (true, false) => Ordering::Less,
            (false, true) => Ordering::Greater,
            (false, false) => a.cmp(b),
        };
        if order.is_ne() {
            return order;
        }
    }
    a.split('.').count().cmp(&b.split('.').count())
}

fn split(text: &str, separator: char) -> (&str, Option<&str>) {
    text.split_once(separator)
        .map_or((text, None), |(before, after)| (before, Some(after)))
}

fn is_identifier(text: &str) -> bool {
    !text.is_empty()
        && text
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || byte == b'-')
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Recorded from `helm package` of Helm 4.3.1.
    #[test]
    fn versions_are_taken_and_refused_as_helm_does() {
        let taken = [
            "1",
            "1.2",
            "v0.0.1",
            "01.2.3",
            "1.02.3",
            "1.2.3-a.b",
            "1.2.3+b.1-x",
            "v1",
            "1.2-rc1",
            "1-rc",
            "18446744073709551615.0.0",
            "1.0.0+001",
            "v01.2",
            "1.2.3-0a",
        ];
        let refused = [
            "1.2.3.4",
            "1.2.3-",
            "1.2.3-01",
            "1.2.3-a..b",
            "1.2.3+",
            "1.2.3+b_1",
            " 1.2.3",
            "V1.2.3",
            "18446744073709551616.0.0",
            "1.2.3-rc_1",
            "",
            "1.x",
            "latest",
            "1.2.3-é",
            "1.0.0-00",
            "xxxxx",
            "v",
            "-1",
        ];
        for version in taken {
            assert!(is_valid(version), "{version}");
        }
        for version in refused {
            assert!(!is_valid(version), "{version}");
        }
        assert!(!is_valid(&format!("1.2.3-{}", "a".repeat(300))));
    }

    #[test]
    fn versions_have_semvers_order() {
        let ascending = [
            "0.1",
            "1.0.0-1",
            "1.0.0-2",
            "1.0.0-10",
            "1.0.0-alpha",
            "1.0.0-alpha.1",
            "1.0.0-alpha.beta",
            "1.0.0-beta",
            "1.0.0-rc.1",
            "1",
            "1.0.0+a",
            "1.0.0+b",
            "v1.0.1",
            "1.2",
            "1.10.0-rc.1",
            "1.10.0",
            "02.0",
        ];
        let versions: Vec<_> = ascending
            .iter()
            .map(|text| ChartVersion::parse(text).unwrap())
            .collect();
        assert!(versions.is_sorted());
        assert!(ChartVersion::parse("1-rc").unwrap().is_prerelease());
        assert!(!ChartVersion::parse("1+a-b").unwrap().is_prerelease());
        assert_eq!(ChartVersion::parse("latest"), None);
    }
}
