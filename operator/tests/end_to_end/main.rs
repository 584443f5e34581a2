//! From `kubectl apply` to a chart in a registry, on a node whose pods really run: the images, the
//! chart and the binaries as they are shipped.
//!
//! The images' files are those that `renderer/build-static` and `operator/build-static` laid out,
//! where SOLAR_RENDER_IMAGE and SOLAR_OPERATOR_IMAGE name the folders; else the binaries that the
//! tests were built with, and the libraries they load.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::disallowed_methods,
    reason = "tests stop at once when something isn't as it should be, and ask which images to take"
)]

mod bed;
mod flux;
mod pipeline;
mod signatures;
mod signed_targets;
mod tasks;
