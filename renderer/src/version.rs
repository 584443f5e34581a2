//! Chart versions as Helm 4.3.1 takes them.
//!
//! Helm reads versions with Masterminds/semver's lenient grammar: a leading `v`, missing
//! minor and patch and leading zeros are fine (`v0.0.1`, `1.2`, `01.2.3`); pre-release
//! and build follow SemVer 2.0. Seen by asking `helm package`.

/// The longest version Helm takes, in bytes.
pub const MAX_VERSION_LENGTH: usize = 256;

/// Whether `helm package` takes the version.
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

    /// What `helm package` of Helm 4.3.1 did with each.
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
}
