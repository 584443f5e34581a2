//! The command line as data: parsing, help, completions and man pages come from here.
//! Nothing here touches the world; that is `commands`' business.

use std::path::PathBuf;
use std::time::Duration;

use clap::{ArgAction, Args, Parser, Subcommand, ValueEnum, ValueHint};

pub(crate) use super::chart_args::Show;
pub(crate) use super::lint_args::{Images, Lint};
pub(crate) use super::registry_args::{Copy, Login, Logout, Publish, Pull, Tags};
pub(crate) use super::sign_args::{GenerateKeyPair, KeyOptions, Sign, SignatureForm, Signing, Verify};
pub(crate) use super::template_args::Template;
use crate::oci::IfExists;
use crate::reference::{Digest, Tag, Target};

/// Version and commit, for `--version`.
const VERSION: &str = concat!(env!("CARGO_PKG_VERSION"), " (commit ", env!("SOLAR_COMMIT"), ")");

const EXIT_CODES: &str = "\
Exit codes:
  0    done: created, unchanged, replaced, skipped or rendered
  1    the config, chart, template or values are wrong
  2    the command line is wrong
  3    another digest is at the tag, the digest is not the expected one, or no signature is good
  4    the registry refuses: credentials, another 4xx, or a contradictory answer
  5    the registry, the network or the disk failed, after retries
  70   a fault of this program
  130  interrupted; 143 terminated";

/// Config to OCI Helm chart: render, package, digest, push.
#[derive(Parser, Debug)]
#[command(name = "solar-render", version = VERSION, after_help = EXIT_CODES, subcommand_required = true)]
#[command(
    arg_required_else_help = true,
    args_override_self = true,
    disable_help_subcommand = true,
    max_term_width = 110
)]
pub(crate) struct Cli {
    #[command(flatten)]
    pub(crate) global: Global,
    #[command(subcommand)]
    pub(crate) command: Command,
}

/// What every command takes.
#[derive(Args, Debug, Clone)]
pub(crate) struct Global {
    /// How the result is printed on standard output
    #[arg(short, long, global = true, value_enum, default_value_t = Output::Text, value_name = "FORMAT")]
    pub(crate) output: Output,
    /// Also write the result as JSON to this file
    #[arg(long, global = true, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) result_file: Option<PathBuf>,
    /// Print errors only, no warnings and no progress
    #[arg(short, long, global = true, action = ArgAction::SetTrue)]
    pub(crate) quiet: bool,
    /// Say what is done: requests, and where credentials were looked for, never a secret
    #[arg(short, long, global = true, action = ArgAction::SetTrue, conflicts_with = "quiet")]
    pub(crate) verbose: bool,
    /// When to use colors
    #[arg(long, global = true, value_enum, default_value_t = Color::Auto, value_name = "WHEN")]
    pub(crate) color: Color,
}

impl Default for Global {
    fn default() -> Self {
        Self {
            output: Output::Text,
            result_file: None,
            quiet: false,
            verbose: false,
            color: Color::Auto,
        }
    }
}

/// The commands. `definition` says when they get their options.
#[derive(Subcommand, Debug)]
#[command(defer = true)]
pub(crate) enum Command {
    /// Render a config to a chart, and push it
    Render(Render),
    /// Package chart folders
    Package(Package),
    /// Print the digest that a push would have, without a network
    Digest(DigestArgs),
    /// Push a chart folder or an archive
    Push(Push),
    /// Push many charts, those that changed: a folder of charts, or configs
    Publish(Publish),
    /// Fetch a chart from a registry or a layout
    Pull(Pull),
    /// Copy a chart between registries and layouts, byte for byte
    Copy(Copy),
    /// List a chart's versions and other tags, newest first
    Tags(Tags),
    /// Sign a chart in a registry, in cosign's format
    Sign(Sign),
    /// Verify that a chart is signed: in a registry by cosign, or an archive by its provenance file
    Verify(Verify),
    /// Make a key pair in cosign's format
    GenerateKeyPair(GenerateKeyPair),
    /// Put into charts/ what a chart depends on
    #[command(subcommand, alias = "dep", alias = "dependencies")]
    Dependency(super::dependency::DependencyCommand),
    /// Look after what is kept of earlier downloads
    #[command(subcommand)]
    Cache(super::cache::CacheCommand),
    /// Log in to a registry: try the credentials, and keep them where Docker and Helm look
    Login(Login),
    /// Forget the credentials kept for a registry
    Logout(Logout),
    /// List the functions that templates can call
    Functions,
    /// Print what a chart renders to, as `helm template` does
    Template(Box<Template>),
    /// Show what is in a chart, as `helm show` does
    #[command(alias = "inspect")]
    Show(Show),
    /// Look for what is wrong with charts, as `helm lint` does and beyond
    Lint(Box<Lint>),
    /// List the container images that a chart uses
    Images(Box<Images>),
    /// Print a completion script for a shell
    Completion {
        /// The shell
        shell: clap_complete::Shell,
    },
    /// Write the manual pages
    Man {
        /// The folder that gets them
        #[arg(value_name = "DIR", value_hint = ValueHint::DirPath)]
        dir: PathBuf,
    },
}

/// `render`
#[derive(Args, Debug)]
pub(crate) struct Render {
    /// The config: YAML or JSON, `-` for standard input
    #[arg(value_name = "CONFIG", value_hint = ValueHint::FilePath)]
    pub(crate) config: PathBuf,
    /// Where the chart goes: oci://HOST/PATH[:TAG], oci-layout:DIR[:TAG] or file:DIR; without a tag, the
    /// chart's name and version are appended
    #[arg(long, value_name = "TARGET")]
    pub(crate) url: Option<Target>,
    /// Render, package and compute the digest only
    #[arg(long, value_name = "BOOL", num_args = 0..=1, require_equals = true, default_value_t = false, default_missing_value = "true")]
    pub(crate) skip_push: bool,
    /// The opposite of --skip-push, as older versions of solar-renderer have it
    #[arg(long, value_name = "BOOL", num_args = 0..=1, require_equals = true, default_value_t = true, default_missing_value = "true", hide = true)]
    pub(crate) push: bool,
    /// Keep the chart's files in this folder
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub(crate) output_dir: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) policy: Policy,
    #[command(flatten)]
    pub(crate) registry: Registry,
}

/// `package`
#[derive(Args, Debug)]
pub(crate) struct Package {
    /// The chart folders
    #[arg(value_name = "DIR", required = true, value_hint = ValueHint::DirPath)]
    pub(crate) charts: Vec<PathBuf>,
    /// The folder that gets the archives
    #[arg(short, long, value_name = "DIR", default_value = ".", value_hint = ValueHint::DirPath)]
    pub(crate) destination: PathBuf,
    #[command(flatten)]
    pub(crate) versions: Versions,
    /// Fail unless the digest is this one
    #[arg(long, value_name = "DIGEST")]
    pub(crate) expect_digest: Option<Digest>,
    /// Choose the newest dependencies that fit before, as `dependency update` does; the flags below are for
    /// that
    #[arg(short = 'u', long, value_name = "BOOL", num_args = 0..=1, require_equals = true, default_value_t = false, default_missing_value = "true")]
    pub(crate) dependency_update: bool,
    #[command(flatten)]
    pub(crate) known: super::source_args::KnownRepositories,
    #[command(flatten)]
    pub(crate) cache: super::cache::CacheOptions,
    #[command(flatten)]
    pub(crate) registry: Registry,
}

/// In place of what Chart.yaml says.
#[derive(Args, Debug, Clone, Default)]
pub(crate) struct Versions {
    /// Give the chart this version
    #[arg(long, value_name = "VERSION")]
    pub(crate) version: Option<String>,
    /// Give the chart this appVersion
    #[arg(long, value_name = "VERSION")]
    pub(crate) app_version: Option<String>,
}

/// `digest`
#[derive(Args, Debug)]
pub(crate) struct DigestArgs {
    /// A config, a chart folder or an archive; `-` for a config on standard input
    #[arg(value_name = "CONFIG|DIR|TGZ", value_hint = ValueHint::AnyPath)]
    pub(crate) input: PathBuf,
    #[command(flatten)]
    pub(crate) versions: Versions,
    /// Fail unless the digest is this one
    #[arg(long, value_name = "DIGEST")]
    pub(crate) expect_digest: Option<Digest>,
}

/// `push`
#[derive(Args, Debug)]
pub(crate) struct Push {
    /// A chart folder or an archive
    #[arg(value_name = "DIR|TGZ", value_hint = ValueHint::AnyPath)]
    pub(crate) chart: PathBuf,
    /// Where it goes: oci://HOST/PATH[:TAG], oci-layout:DIR[:TAG] or file:DIR
    #[arg(value_name = "TARGET")]
    pub(crate) target: Target,
    #[command(flatten)]
    pub(crate) versions: PushVersions,
    #[command(flatten)]
    pub(crate) policy: Policy,
    #[command(flatten)]
    pub(crate) registry: Registry,
}

/// As [`Versions`]; an archive has its versions in it already.
#[derive(Args, Debug, Clone, Default)]
pub(crate) struct PushVersions {
    /// Give a chart folder this version
    #[arg(long, value_name = "VERSION")]
    pub(crate) version: Option<String>,
    /// Give a chart folder this appVersion
    #[arg(long, value_name = "VERSION")]
    pub(crate) app_version: Option<String>,
}

/// What may happen at the target.
#[derive(Args, Debug, Clone)]
#[command(next_help_heading = "Policy")]
pub(crate) struct Policy {
    /// What to do when another digest is at the tag [default: fail]
    #[arg(long, value_enum, value_name = "WHAT")]
    pub(crate) if_exists: Option<Exists>,
    /// Fail, before anything is sent, unless the digest is this one
    #[arg(long, value_name = "DIGEST")]
    pub(crate) expect_digest: Option<Digest>,
    /// Also give the chart this tag, by the same policy; may be repeated
    #[arg(long, value_name = "TAG")]
    pub(crate) tag: Vec<Tag>,
    /// Take a tag or a repository that does not name this chart
    #[arg(long, value_name = "BOOL", num_args = 0..=1, require_equals = true, default_value_t = false, default_missing_value = "true")]
    pub(crate) allow_mismatch: bool,
    #[command(flatten)]
    pub(crate) signing: Signing,
}

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
    /// How long a request may stand still: 500ms, 30s, 2m
    #[arg(long, value_name = "TIME", default_value = "60s", value_parser = duration)]
    pub(crate) timeout: Duration,
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

/// The form of the result.
#[derive(ValueEnum, Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Output {
    /// For people
    Text,
    /// One JSON document, also on failure
    Json,
}

/// When to use colors.
#[derive(ValueEnum, Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Color {
    /// On a terminal, unless NO_COLOR is set
    Auto,
    /// Always
    Always,
    /// Never
    Never,
}

/// What to do when another digest is at the tag.
#[derive(ValueEnum, Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Exists {
    /// Refuse, and move nothing
    Fail,
    /// Leave it, and succeed
    Skip,
    /// Move the tag
    Replace,
}

impl From<Exists> for IfExists {
    fn from(exists: Exists) -> Self {
        match exists {
            Exists::Fail => Self::Fail,
            Exists::Skip => Self::Skip,
            Exists::Replace => Self::Replace,
        }
    }
}

/// `500ms`, `30s`, `2m`, `1h`; a bare number is seconds.
fn duration(text: &str) -> Result<Duration, String> {
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
    use super::*;

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
