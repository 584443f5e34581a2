//! `cache`, and the flags of commands that use the cache

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, Subcommand, ValueHint};

/// `cache`
#[derive(Subcommand, Debug)]
pub(crate) enum CacheCommand {
    /// Show the cache's location and size
    #[command(after_help = "Example:\n  solar-render cache info")]
    Info(CacheFolderFlag),
    /// Remove entries that were not used for a while
    Prune(PruneArgs),
}

/// `cache prune`
#[derive(Args, Debug)]
#[command(after_help = "Example:\n  solar-render cache prune --max-age 7d")]
pub(crate) struct PruneArgs {
    /// Keep entries used within this time: 12h, 30d [default: 30d, unless --max-size or --all is given]
    #[arg(long, value_name = "TIME", value_parser = age)]
    pub(crate) max_age: Option<Duration>,
    /// Keep at most this much, evicting the least recently used first: 500MiB, 2GiB
    #[arg(long, value_name = "SIZE", value_parser = bytes)]
    pub(crate) max_size: Option<u64>,
    /// Remove everything
    #[arg(long, conflicts_with_all = ["max_age", "max_size"])]
    pub(crate) all: bool,
    #[command(flatten)]
    pub(crate) place: CacheFolderFlag,
}

/// Which cache.
#[derive(Args, Debug, Clone, Default)]
pub(crate) struct CacheFolderFlag {
    /// The cache's folder; else SOLAR_RENDER_CACHE, else solar-render in XDG_CACHE_HOME or ~/.cache
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub(crate) cache_dir: Option<PathBuf>,
}

/// Which cache, if any.
#[derive(Args, Debug, Clone, Default)]
#[command(next_help_heading = "Cache")]
pub(crate) struct CacheFlags {
    #[command(flatten)]
    pub(crate) place: CacheFolderFlag,
    /// Neither read nor write the cache
    #[arg(long, conflicts_with = "cache_dir")]
    pub(crate) no_cache: bool,
}

/// `90m`, `12h`, `30d`
fn age(text: &str) -> Result<Duration, String> {
    number(
        text,
        &[("s", 1), ("m", 60), ("h", 3600), ("d", 86_400), ("w", 7 * 86_400)],
    )
    .map(Duration::from_secs)
    .ok_or_else(|| "expected a duration such as 90m, 12h or 30d".to_owned())
}

/// `1000`, `64KiB`, `500MiB`, `2GiB`
pub(super) fn bytes(text: &str) -> Result<u64, String> {
    number(
        text,
        &[
            ("", 1),
            ("B", 1),
            ("KiB", 1 << 10),
            ("MiB", 1 << 20),
            ("GiB", 1 << 30),
            ("TiB", 1 << 40),
        ],
    )
    .ok_or_else(|| "expected a size such as 500MiB or 2GiB".to_owned())
}

fn number(text: &str, units: &[(&str, u64)]) -> Option<u64> {
    let digits = text.trim_end_matches(|character: char| character.is_ascii_alphabetic());
    let unit = text.get(digits.len()..)?;
    let (_, factor) = units.iter().find(|(name, _)| *name == unit)?;
    digits.parse::<u64>().ok()?.checked_mul(*factor)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ages_and_sizes_are_read_with_their_units() {
        assert_eq!(age("30d"), Ok(Duration::from_secs(2_592_000)));
        assert_eq!(age("0s"), Ok(Duration::ZERO));
        assert_eq!(bytes("2GiB"), Ok(2 << 30));
        assert_eq!(bytes("17"), Ok(17));
        for bad in [
            "",
            "d",
            "1y",
            "-1d",
            "99999999999999999999d",
            "18446744073709551615w",
        ] {
            assert!(age(bad).is_err(), "{bad}");
        }
        for bad in ["", "1GB", "GiB", "1.5GiB", "18446744073709551615KiB"] {
            assert!(bytes(bad).is_err(), "{bad}");
        }
    }
}
