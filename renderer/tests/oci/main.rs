//! Pushes to real registries, to registries that violate the protocol, to layouts and folders. All on loopback, all in
//! temporary folders, none with a fixed port or a sleep.
#![allow(
    clippy::unwrap_used,
    reason = "clippy.toml allows it in tests, and does not see helpers of an integration test as such"
)]

mod auth;
mod concurrent_signing;
mod flaky_registry;
mod folder_target;
mod layout_target;
mod protocol_violations;
mod proxies;
mod redirects;
mod registry;
mod retries;
mod support;
mod tls;
mod uploads;
