//! `login` and `logout`

use std::path::PathBuf;

use clap::{Args, ValueHint};

use super::registry::RegistryFlags;
use crate::reference::Host;

/// `login`
#[derive(Args, Debug)]
pub(crate) struct LoginArgs {
    /// The registry: HOST or HOST:PORT
    #[arg(value_name = "HOST")]
    pub(crate) host: Host,
    #[command(flatten)]
    pub(crate) registry: RegistryFlags,
}

/// `logout`
#[derive(Args, Debug)]
pub(crate) struct LogoutArgs {
    /// The registry: HOST or HOST:PORT
    #[arg(value_name = "HOST")]
    pub(crate) host: Host,
    /// The credentials file, instead of Docker's
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) registry_config: Option<PathBuf>,
}
