//! The flags of commands that use a registry.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, ValueHint};

/// How to talk to a registry.
#[derive(Args, Debug, Clone)]
#[command(next_help_heading = "Registry")]
pub(crate) struct RegistryFlags {
    /// Use HTTP instead of HTTPS
    #[arg(long, value_name = "BOOL", num_args = 0..=1, require_equals = true, default_value = "false", default_missing_value = "true")]
    pub(crate) plain_http: bool,
    /// The user; else REGISTRY_USERNAME, else the credential files
    #[arg(long, value_name = "NAME")]
    pub(crate) username: Option<String>,
    /// The password, which other users of the machine can see here: prefer --password-stdin or
    /// REGISTRY_PASSWORD
    #[arg(long, value_name = "PASSWORD", hide_possible_values = true)]
    pub(crate) password: Option<HiddenSecret>,
    /// Read the password from standard input
    #[arg(long, conflicts_with = "password", requires = "username")]
    pub(crate) password_stdin: bool,
    /// A credentials file to read before Docker's, Helm's and Podman's
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) registry_config: Option<PathBuf>,
    /// Trust the certificates in this file too
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) ca_file: Option<PathBuf>,
    /// The client's certificate
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, requires = "key_file")]
    pub(crate) cert_file: Option<PathBuf>,
    /// The client's key
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, requires = "cert_file")]
    pub(crate) key_file: Option<PathBuf>,
    /// Do not verify the registry's certificate
    #[arg(long, value_name = "BOOL", num_args = 0..=1, require_equals = true, default_value = "false", default_missing_value = "true")]
    pub(crate) insecure_skip_tls_verify: bool,
    #[command(flatten)]
    pub(crate) retry: RetryFlags,
}

/// Timeouts and retries.
#[derive(Args, Debug, Clone, Copy)]
#[command(next_help_heading = "Registry")]
pub(crate) struct RetryFlags {
    /// Time out a request that makes no progress for this long: 500ms, 30s, 5m0s
    #[arg(long, value_name = "TIME", default_value = "60s", value_parser = duration)]
    pub(crate) timeout: Duration,
    /// Give up after this long altogether, retries included: 90s, 5m
    #[arg(long, value_name = "TIME", value_parser = duration)]
    pub(crate) deadline: Option<Duration>,
    /// How often a failed request is retried, with backoff
    #[arg(long, value_name = "COUNT", default_value_t = 7, value_parser = clap::value_parser!(u32).range(0..=100))]
    pub(crate) retries: u32,
}

/// A secret argument: it can't be printed.
#[derive(Clone)]
pub(crate) struct HiddenSecret(pub(crate) crate::oci::Secret);

impl std::str::FromStr for HiddenSecret {
    type Err = std::convert::Infallible;
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Ok(Self(crate::oci::Secret::new(text)))
    }
}

impl std::fmt::Debug for HiddenSecret {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("***")
    }
}

/// `500ms`, `30s`, `5m0s`, `1.5h` as in Go; a bare number is seconds.
pub(super) fn duration(text: &str) -> Result<Duration, String> {
    let expected = || "expected a duration such as 500ms, 30s, 2m or 5m0s".to_owned();
    let sum = match text.parse::<u64>() {
        Ok(seconds) => Some(Duration::from_secs(seconds)),
        Err(_) => go_duration(text),
    };
    let sum = sum.ok_or_else(expected)?;
    if sum < Duration::from_millis(1) {
        return Err("the duration must be at least 1ms".to_owned());
    }
    Ok(sum)
}

/// A sum of decimal numbers with units.
fn go_duration(text: &str) -> Option<Duration> {
    let mut rest = text;
    let mut sum = Duration::ZERO;
    while !rest.is_empty() {
        let number_end = rest.find(|character: char| !character.is_ascii_digit() && character != '.')?;
        let (number, behind) = rest.split_at(number_end);
        let unit_end = behind
            .find(|character: char| character.is_ascii_digit() || character == '.')
            .unwrap_or(behind.len());
        let (unit, behind) = behind.split_at(unit_end);
        let seconds = match unit {
            "ns" => 1e-9,
            "us" | "µs" | "μs" => 1e-6,
            "ms" => 1e-3,
            "s" => 1.0,
            "m" => 60.0,
            "h" => 3600.0,
            _ => return None,
        };
        let part = number.parse::<f64>().ok()? * seconds;
        sum = sum.checked_add(Duration::try_from_secs_f64(part).ok()?)?;
        rest = behind;
    }
    (!text.is_empty()).then_some(sum)
}

#[cfg(test)]
mod tests {
    use clap::Parser as _;

    use super::*;
    use crate::cli::args::cli::Cli;

    #[test]
    fn times_are_read_with_their_units() {
        assert_eq!(duration("500ms"), Ok(Duration::from_millis(500)));
        assert_eq!(duration("30"), Ok(Duration::from_secs(30)));
        assert_eq!(duration("2m"), Ok(Duration::from_secs(120)));
        assert_eq!(duration("5m0s"), Ok(Duration::from_secs(300)));
        assert_eq!(duration("1h2m3s4ms"), Ok(Duration::from_millis(3_723_004)));
        assert_eq!(duration("1.5s"), Ok(Duration::from_millis(1500)));
        for bad in [
            "",
            "0",
            "s",
            "1d",
            "-1s",
            "5m0",
            "1.2.3s",
            "0s",
            "1ns",
            "99999999999999999999s",
            "18446744073709551615h",
        ] {
            assert!(duration(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn a_password_is_not_printed() {
        let cli = Cli::parse_from(["x", "render", "c", "--username", "u", "--password", "hunter2"]);
        assert!(!format!("{cli:?}").contains("hunter2"));
    }
}
