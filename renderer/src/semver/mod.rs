//! Versions and constraints as Helm 4.3.1 compares them: Masterminds/semver 3.5.
//!
//! Versions are read leniently (`v1`, `1.2`, `01.2.3`); constraints are alternatives
//! (`||`) of ranges that must all hold (spaces or commas between).

mod constraint;

use std::cmp::Ordering;
use std::fmt;

pub use self::constraint::Constraint;
use crate::gotext::quote::quote;

/// The maximum length of a version, in bytes.
pub const MAX_VERSION: usize = 256;
/// The maximum length of a constraint, in bytes.
pub const MAX_CONSTRAINT: usize = 512;
/// The maximum number of alternatives of a constraint.
pub const MAX_GROUPS: usize = 32;

/// Errors of versions and constraints, with Masterminds' messages.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SemverError {
    /// Not a version.
    #[error("invalid semantic version")]
    Invalid,
    /// Longer than [`MAX_VERSION`].
    #[error("version string is too long (max {MAX_VERSION} bytes)")]
    VersionTooLong,
    /// A number that does not fit 64 bits.
    #[error("error parsing version segment: strconv.ParseUint: parsing \"{0}\": value out of range")]
    Segment(String),
    /// A numeric identifier with a leading zero in a pre-release.
    #[error("version segment starts with 0")]
    LeadingZero,
    /// An invalid pre-release.
    #[error("invalid prerelease string")]
    Prerelease,
    /// Invalid metadata.
    #[error("invalid metadata string")]
    Metadata,
    /// Longer than [`MAX_CONSTRAINT`].
    #[error("constraint string is too long (max {MAX_CONSTRAINT} bytes)")]
    ConstraintTooLong,
    /// More than [`MAX_GROUPS`].
    #[error("too many constraint groups (max {MAX_GROUPS})")]
    TooManyGroups,
    /// Not a constraint; the invalid alternative.
    #[error("improper constraint: {}", quote(.0.as_bytes()))]
    Improper(String),
    /// A constraint with an invalid version.
    #[error("constraint parser error")]
    Constraint,
}

/// A version.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Version {
    /// The first number.
    pub major: u64,
    /// The second number.
    pub minor: u64,
    /// The third number.
    pub patch: u64,
    /// The part after `-`; may be empty.
    pub prerelease: String,
    /// The part after `+`; may be empty.
    pub metadata: String,
    /// The original text.
    pub original: String,
}

impl Version {
    /// Parses a version as leniently as Masterminds does.
    pub fn parse(text: &str) -> Result<Self, SemverError> {
        if text.len() > MAX_VERSION {
            return Err(SemverError::VersionTooLong);
        }
        let mut scan = Scan::new(text);
        let shape = scan.version(|byte| byte.is_ascii_digit());
        let Some(shape) = shape.filter(|_| scan.at_end()) else {
            return Err(SemverError::Invalid);
        };
        let number = |digits: &str| {
            if digits.is_empty() {
                return Ok(0);
            }
            digits
                .parse()
                .map_err(|_| SemverError::Segment(digits.to_owned()))
        };
        let version = Self {
            major: number(shape.numbers[0])?,
            minor: number(shape.numbers[1])?,
            patch: number(shape.numbers[2])?,
            prerelease: shape.prerelease.to_owned(),
            metadata: shape.metadata.to_owned(),
            original: text.to_owned(),
        };
        check_prerelease(&version.prerelease)?;
        Ok(version)
    }

    /// The next patch release; of a pre-release, that release itself.
    #[must_use]
    pub fn next_patch(&self) -> Option<Self> {
        let patch = if self.prerelease.is_empty() {
            self.patch.checked_add(1)?
        } else {
            self.patch
        };
        Some(self.changed(self.major, self.minor, patch, "", ""))
    }

    /// The next minor release.
    #[must_use]
    pub fn next_minor(&self) -> Option<Self> {
        Some(self.changed(self.major, self.minor.checked_add(1)?, 0, "", ""))
    }

    /// The next major release.
    #[must_use]
    pub fn next_major(&self) -> Option<Self> {
        Some(self.changed(self.major.checked_add(1)?, 0, 0, "", ""))
    }

    /// The version with another pre-release.
    pub fn with_prerelease(&self, prerelease: &str) -> Result<Self, SemverError> {
        check_prerelease(prerelease)?;
        Ok(self.changed(self.major, self.minor, self.patch, prerelease, &self.metadata))
    }

    /// The version with other metadata.
    pub fn with_metadata(&self, metadata: &str) -> Result<Self, SemverError> {
        if !metadata.is_empty() && !metadata.split('.').all(is_identifier) {
            return Err(SemverError::Metadata);
        }
        Ok(self.changed(self.major, self.minor, self.patch, &self.prerelease, metadata))
    }

    fn changed(&self, major: u64, minor: u64, patch: u64, prerelease: &str, metadata: &str) -> Self {
        let mut version = Self {
            major,
            minor,
            patch,
            prerelease: prerelease.to_owned(),
            metadata: metadata.to_owned(),
            original: String::new(),
        };
        let prefix = if self.original.starts_with('v') { "v" } else { "" };
        version.original = format!("{prefix}{version}");
        version
    }

    /// SemVer's precedence; metadata is ignored.
    pub fn precedence(&self, other: &Self) -> Ordering {
        let numbers = |version: &Self| (version.major, version.minor, version.patch);
        let pre = || match (self.prerelease.is_empty(), other.prerelease.is_empty()) {
            (true, true) => Ordering::Equal,
            (true, false) => Ordering::Greater,
            (false, true) => Ordering::Less,
            (false, false) => compare_prereleases(&self.prerelease, &other.prerelease),
        };
        numbers(self).cmp(&numbers(other)).then_with(pre)
    }
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}.{}", self.major, self.minor, self.patch)?;
        if !self.prerelease.is_empty() {
            write!(f, "-{}", self.prerelease)?;
        }
        if !self.metadata.is_empty() {
            write!(f, "+{}", self.metadata)?;
        }
        Ok(())
    }
}

fn is_identifier(part: &str) -> bool {
    !part.is_empty()
        && part
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || byte == b'-')
}

fn check_prerelease(text: &str) -> Result<(), SemverError> {
    if text.is_empty() {
        return Ok(());
    }
    for part in text.split('.') {
        if !is_identifier(part) {
            return Err(SemverError::Prerelease);
        }
        if part.len() > 1 && part.starts_with('0') && part.bytes().all(|byte| byte.is_ascii_digit()) {
            return Err(SemverError::LeadingZero);
        }
    }
    Ok(())
}

/// Compares identifier by identifier; a missing one is the lowest, numeric ones are lower than others. A number beyond
/// 64 bits counts as non-numeric.
fn compare_prereleases(a: &str, b: &str) -> Ordering {
    let (mut a, mut b) = (a.split('.'), b.split('.'));
    loop {
        let order = match (a.next(), b.next()) {
            (None, None) => return Ordering::Equal,
            (None, Some(_)) => Ordering::Less,
            (Some(_), None) => Ordering::Greater,
            (Some(a), Some(b)) => match (a.parse::<u64>(), b.parse::<u64>()) {
                (Ok(a), Ok(b)) => a.cmp(&b),
                (Ok(_), Err(_)) => Ordering::Less,
                (Err(_), Ok(_)) => Ordering::Greater,
                (Err(_), Err(_)) => a.cmp(b),
            },
        };
        if order.is_ne() {
            return order;
        }
    }
}

/// A version's parts as written in a text.
struct VersionParts<'a> {
    whole: &'a str,
    numbers: [&'a str; 3],
    prerelease: &'a str,
    metadata: &'a str,
}

/// Scans a text from left to right. It only stops at ASCII, so positions are character boundaries.
struct Scan<'a> {
    text: &'a str,
    place: usize,
}

impl<'a> Scan<'a> {
    fn new(text: &'a str) -> Self {
        Self { text, place: 0 }
    }

    fn rest(&self) -> &'a str {
        self.text.get(self.place..).unwrap_or_default()
    }

    fn at_end(&self) -> bool {
        self.rest().is_empty()
    }

    fn take(&mut self, belongs: impl Fn(u8) -> bool) -> &'a str {
        let rest = self.rest();
        let length = rest.bytes().take_while(|byte| belongs(*byte)).count();
        self.place += length;
        rest.get(..length).unwrap_or_default()
    }

    fn skip(&mut self, text: &str) -> bool {
        let found = self.rest().starts_with(text);
        if found {
            self.place += text.len();
        }
        found
    }

    fn spaces(&mut self) -> usize {
        self.take(|byte| matches!(byte, b' ' | b'\t' | b'\n' | b'\r' | b'\x0c'))
            .len()
    }

    /// Numbers of the given bytes, then a pre-release and metadata; as much as matches.
    fn version(&mut self, digit: fn(u8) -> bool) -> Option<VersionParts<'a>> {
        let start = self.place;
        self.skip("v");
        let mut numbers = [self.take(digit), "", ""];
        if numbers[0].is_empty() {
            self.place = start;
            return None;
        }
        for number in numbers.iter_mut().skip(1) {
            let before = self.place;
            if self.skip(".") {
                *number = self.take(digit);
            }
            if number.is_empty() {
                self.place = before;
                break;
            }
        }
        let prerelease = self.identifiers("-");
        let metadata = self.identifiers("+");
        let whole = self.text.get(start..self.place).unwrap_or_default();
        Some(VersionParts {
            whole,
            numbers,
            prerelease,
            metadata,
        })
    }

    /// Dot-separated identifiers after a mark.
    fn identifiers(&mut self, mark: &str) -> &'a str {
        let before = self.place;
        if !self.skip(mark) {
            return "";
        }
        let start = self.place;
        let mut end = before;
        loop {
            if self
                .take(|byte| byte.is_ascii_alphanumeric() || byte == b'-')
                .is_empty()
            {
                break;
            }
            end = self.place;
            if !self.skip(".") {
                break;
            }
        }
        self.place = end;
        self.text.get(start..end).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn constraints_hold_as_masterminds_holds_them() {
        let cases = [
            ("^1.2", "1.9.0", true),
            ("^0.2.3", "0.3.0", false),
            ("~1.2", "1.2.9", true),
            ("~1", "1.9.0", true),
            (">11", "11.1.0", false),
            (">1.2", "1.3.0", true),
            ("<=1.2", "1.2.9", true),
            ("!=1.x", "1.5.0", false),
            ("1.2 - 2.0", "1.9.9", true),
            (">=1.19", "1.28.0-gke.100", false),
            (">=1.19-0", "1.28.0-gke.100", true),
            (">= 1.2, < 3 || 4.x", "4.7.1", true),
            ("^*", "1.2.3", false),
            ("*", "1.2.3", true),
        ];
        for (constraint, version, expected) in cases {
            let parsed = Constraint::parse(constraint).expect(constraint);
            let version = Version::parse(version).expect(version);
            assert_eq!(parsed.check(&version), expected, "{constraint} {version}");
        }
    }

    #[test]
    fn errors_are_masterminds() {
        let cases = [
            (">=1.2<2", "improper constraint: \">=1.2<2\""),
            ("", "improper constraint: \"\""),
            ("1|2", "constraint parser error"),
        ];
        for (constraint, expected) in cases {
            let error = Constraint::parse(constraint).map_err(|error| error.to_string());
            assert_eq!(error.err().as_deref(), Some(expected), "{constraint}");
        }
        assert_eq!(Version::parse("1.2.3-01"), Err(SemverError::LeadingZero));
        assert_eq!(Version::parse("1.2.3.4"), Err(SemverError::Invalid));
        let max = Version::parse("18446744073709551615").expect("a version");
        assert_eq!(max.next_major(), None);
    }

    #[test]
    fn prereleases_are_ordered_by_their_parts() {
        let ordered = [
            "1.0.0-alpha",
            "1.0.0-alpha.1",
            "1.0.0-alpha.beta",
            "1.0.0-beta.2",
            "1.0.0-beta.11",
            "1.0.0",
        ];
        for pair in ordered.windows(2) {
            let versions: Vec<_> = pair
                .iter()
                .map(|text| Version::parse(text).expect(text))
                .collect();
            assert!(versions[0].precedence(&versions[1]).is_lt(), "{pair:?}");
        }
    }
}
