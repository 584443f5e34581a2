//! The flags of commands that use a registry.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, ValueHint};

/// How to talk to a registry.
#[derive(Args, Debug, Clone)]
#[command(next_help_heading = "Registry")]
pub(crate) struct Registry {
    /// Use HTTP instead of HTTPS
    #[arg(long, value_name = "BOOL", num_args = 0..=1, require_equals = true, default_value_t = false, default_missing_value = "true")]
    pub(crate) plain_http: bool,
    /// The user; else REGISTRY_USERNAME, else the credential files
    #[arg(long, value_name = "NAME")]
    pub(crate) username: Option<String>,
    /// The password, which other users of the machine can see here: rather --password-stdin or
    /// REGISTRY_PASSWORD
    #[arg(long, value_name = "PASSWORD", hide_possible_values = true)]
    pub(crate) password: Option<Hidden>,
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
    #[arg(long, value_name = "BOOL", num_args = 0..=1, require_equals = true, default_value_t = false, default_missing_value = "true")]
    pub(crate) insecure_skip_tls_verify: bool,
    /// Time out a request that makes no progress for this long: 500ms, 30s, 2m
    #[arg(long, value_name = "TIME", default_value = "60s", value_parser = duration)]
    pub(crate) timeout: Duration,
    /// Give up after this long altogether, retries included: 90s, 5m
    #[arg(long, value_name = "TIME", value_parser = duration)]
    pub(crate) deadline: Option<Duration>,
    /// How often a failed request is tried again
    #[arg(long, value_name = "COUNT", default_value_t = 7, value_parser = clap::value_parser!(u32).range(0..=100))]
    pub(crate) retries: u32,
}

/// A secret argument: it can't be printed.
#[derive(Clone)]
pub(crate) struct Hidden(pub(crate) crate::oci::Secret);

impl std::str::FromStr for Hidden {
    type Err = std::convert::Infallible;
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Ok(Self(crate::oci::Secret::new(text)))
    }
}

impl std::fmt::Debug for Hidden {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("***")
    }
}

/// `500ms`, `30s`, `2m`, `1h`; a bare number is seconds.
pub(super) fn duration(text: &str) -> Result<Duration, String> {
    let digits = text.trim_end_matches(|character: char| character.is_ascii_alphabetic());
    let wanted = || "a time is wanted, as in 500ms, 30s, 2m or 1h".to_owned();
    let count: u64 = digits.parse().map_err(|_| wanted())?;
    let millis = match text.get(digits.len()..).unwrap_or("") {
        "ms" => 1,
        "" | "s" => 1_000,
        "m" => 60_000,
        "h" => 3_600_000,
        _ => return Err(wanted()),
    };
    match count.checked_mul(millis) {
        Some(millis) if millis > 0 => Ok(Duration::from_millis(millis)),
        _ => Err("the time must be more than zero".to_owned()),
    }
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
        for bad in [
            "",
            "0",
            "s",
            "1d",
            "-1s",
            "1.5s",
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
