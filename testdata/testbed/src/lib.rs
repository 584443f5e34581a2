//! Real servers and tools for the tests. Never shipped.
//!
//! - [`Tool`]: `helm`, `crane`, `registry` …, found or built once
//! - [`Registry`]: a real registry on a free loopback port, with or without auth and TLS
//! - [`Server`]: a hand-written HTTP server that answers by a closure, and records requests
//! - [`forward`]: forwards a request to a real registry, for such closures
//! - [`TokenServer`]: issues the tokens that a registry with token auth requires
//! - [`Authority`]: a certificate authority with a server and a client certificate
//! - [`Cluster`]: Kubernetes' control plane, for tests that need its API and its controllers
//! - [`SourceController`]: Flux's controller that fetches charts, beside a control plane
//! - [`flux_crds`]: Flux's kinds that our charts have objects of
//! - [`cluster_api_crds`]: Cluster API's kinds that addons are for
//! - [`zsh_completes`]: what a real zsh makes of a completion script
//! - [`Port`]: a free port for a program that has to be told one
//! - [`Node`]: a control plane with a kubelet and containerd, whose pods really run
//!
//! A missing program fails the test that needs it, with a message on what to install: a test that skips itself proves
//! nothing. Ports are chosen by the system, folders are temporary, and everything is cleaned up when the value is
//! dropped.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::print_stderr,
    clippy::disallowed_methods,
    reason = "a broken test bed should stop the test at once, and it is about real machines"
)]

mod authority;
mod build;
mod cluster;
mod cluster_api;
mod flux;
mod image;
mod network;
mod node;
mod port;
mod processes;
mod registry;
mod server;
mod shell;
mod token;
mod tool;
mod unittest;

pub use authority::{Authority, Identity};
pub use cluster::{Cluster, ClusterSetup};
pub use cluster_api::cluster_api_crds;
pub use flux::{SourceController, flux_crds};
pub use image::{Image, libraries};
pub use network::Network;
pub use node::Node;
pub use port::Port;
pub use processes::eventually;
pub use registry::{Auth, Registry, Setup};
pub use server::{Answer, Request, Response, Server, forward};
pub use shell::zsh_completes;
pub use token::TokenServer;
pub use tool::{Tool, run, workspace_program};
pub use unittest::helm_unittest_charts;
