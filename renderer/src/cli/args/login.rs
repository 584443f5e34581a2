//! `login` and `logout`

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueHint};

use super::registry::RegistryFlags;
use crate::reference::Host;

/// `registry`
#[derive(Subcommand, Debug)]
#[command(defer = true)]
pub(crate) enum RegistryCommand {
    /// Log in to a registry, as `login` does
    Login(LoginArgs),
    /// Remove the stored credentials of a registry, as `logout` does
    Logout(LogoutArgs),
}

/// `login`
#[derive(Args, Debug)]
#[command(after_help = "Example:\n  solar-render login ghcr.io -u me --password-stdin < token")]
pub(crate) struct LoginArgs {
    /// The registry: HOST or HOST:PORT
    #[arg(value_name = "HOST")]
    pub(crate) host: Host,
    #[command(flatten)]
    pub(crate) registry: RegistryFlags,
}

/// `logout`
#[derive(Args, Debug)]
#[command(after_help = "Example:\n  solar-render logout ghcr.io")]
pub(crate) struct LogoutArgs {
    /// The registry: HOST or HOST:PORT
    #[arg(value_name = "HOST")]
    pub(crate) host: Host,
    /// The credentials file, instead of Docker's
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) registry_config: Option<PathBuf>,
}
