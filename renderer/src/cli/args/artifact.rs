//! `artifact`

use std::path::PathBuf;
use std::str::FromStr;

use clap::{Args, ValueEnum, ValueHint};
use url::Url;

use super::cache::bytes;
use super::policy::PolicyFlags;
use super::registry::RegistryFlags;
use crate::import::{self, Format, HubRepository};
use crate::reference::{Digest, Locator, ReferenceError, Target};

const ARTIFACT_HELP: &str = "\
Files are verified, and never held in memory. What is in --workdir already is not fetched again, and a file that is
there in part is continued. The digest is a function of the files.

An artifact of a registry is copied byte for byte; --format only says what it must be.

HF_ENDPOINT names another server than huggingface.co; HF_TOKEN is sent to that server alone. --username,
REGISTRY_USERNAME and the like are for the target's registry.

Examples:
  solar-render artifact --from hf://openai/whisper-tiny --format model-pack --to oci://ghcr.io/acme/whisper:tiny --workdir import
  solar-render artifact --from https://charts.example.com/shop-1.0.0.tgz --sha256 e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855 --format chart --to oci://ghcr.io/acme/charts --workdir import";

/// `artifact`
#[derive(Args, Debug)]
#[command(after_help = ARTIFACT_HELP)]
pub(crate) struct ArtifactArgs {
    /// The source: https://HOST/FILE with --sha256, hf://OWNER/NAME[@REVISION], or oci://HOST/PATH or oci-layout:DIR
    /// with :TAG or @DIGEST
    #[arg(long, value_name = "SOURCE")]
    pub(crate) from: SourceLocation,
    /// The target: oci://HOST/PATH[:TAG] or oci-layout:DIR[:TAG]. Without a tag, a chart's name and version are
    /// appended, others get `latest`
    #[arg(long, value_name = "TARGET")]
    pub(crate) to: Target,
    /// The form of the artifact
    #[arg(long, value_enum, value_name = "FORMAT")]
    pub(crate) format: FormatChoice,
    /// The folder for the files, which needs room for all of them
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub(crate) workdir: PathBuf,
    /// The SHA-256 of the file, in hex
    #[arg(long, value_name = "HEX", value_parser = sha256)]
    pub(crate) sha256: Option<Digest>,
    /// Import only the files of a repository that match this pattern, in which `*` also matches `/`; may be repeated
    #[arg(long, value_name = "PATTERN")]
    pub(crate) include: Vec<String>,
    /// Leave out the files that match this pattern; may be repeated
    #[arg(long, value_name = "PATTERN")]
    pub(crate) exclude: Vec<String>,
    /// Send headers to the web server: the files in this folder are their names, their content the values
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub(crate) from_headers: Option<PathBuf>,
    /// A credentials file for the source's registry
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) from_registry_config: Option<PathBuf>,
    /// Use HTTP for the source's registry alone
    #[arg(long, value_name = "BOOL", num_args = 0..=1, require_equals = true, default_value_t = false, default_missing_value = "true")]
    pub(crate) from_plain_http: bool,
    /// Use HTTP for the target alone
    #[arg(long, value_name = "BOOL", num_args = 0..=1, require_equals = true, default_value_t = false, default_missing_value = "true")]
    pub(crate) to_plain_http: bool,
    /// The maximum size of all files together: 500MiB, 20GiB [default: 1TiB]
    #[arg(long, value_name = "SIZE", value_parser = bytes)]
    pub(crate) max_size: Option<u64>,
    #[command(flatten)]
    pub(crate) policy: PolicyFlags,
    #[command(flatten)]
    pub(crate) registry: RegistryFlags,
}

/// Where the files are.
#[derive(Debug, Clone)]
pub(crate) enum SourceLocation {
    Web(Url),
    Hub(HubRepository),
    Registry(Locator),
}

/// The form of the artifact.
#[derive(ValueEnum, Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum FormatChoice {
    /// A model, as CNCF's ModelPack specifies it
    ModelPack,
    /// A Helm chart
    Chart,
    /// Any files, as ORAS pushes them
    Raw,
}

impl From<FormatChoice> for Format {
    fn from(choice: FormatChoice) -> Self {
        match choice {
            FormatChoice::ModelPack => Self::ModelPack,
            FormatChoice::Chart => Self::Chart,
            FormatChoice::Raw => Self::Raw,
        }
    }
}

impl FromStr for SourceLocation {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        if text.starts_with("hf://") {
            let repository = text.parse();
            return repository
                .map(Self::Hub)
                .map_err(|error: import::SourceError| error.to_string());
        }
        if text.starts_with("oci://") || text.starts_with("oci-layout:") {
            let locator: Result<Locator, ReferenceError> = text.parse();
            let locator = locator.map_err(|error| error.to_string())?;
            // The highest version, which is taken of charts, says nothing of an artifact.
            return match locator.at() {
                Some(_) => Ok(Self::Registry(locator)),
                None => Err("it has neither tag nor digest: add :TAG or @DIGEST".to_owned()),
            };
        }
        let url = Url::parse(text).ok();
        match url.filter(|url| matches!(url.scheme(), "http" | "https") && url.host().is_some()) {
            Some(url) if !url.username().is_empty() || url.password().is_some() => {
                Err("a URL can't hold credentials here: use `--from-headers`".to_owned())
            }
            Some(url) => Ok(Self::Web(url)),
            None => Err(
                "expected https://HOST/FILE, hf://OWNER/NAME, oci://HOST/PATH:TAG or oci-layout:DIR:TAG"
                    .to_owned(),
            ),
        }
    }
}

/// With or without `sha256:`.
fn sha256(text: &str) -> Result<Digest, String> {
    let hex = text.strip_prefix("sha256:").unwrap_or(text).to_ascii_lowercase();
    let digest = format!("sha256:{hex}").parse();
    digest.map_err(|_| "expected 64 hexadecimal digits".to_owned())
}
