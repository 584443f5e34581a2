//! Renders charts in a web page: JSON in, JSON out.
//!
//! [`respond`] is a function of its argument alone: the page gives the time and random bytes. The module's exports
//! (`exports`) hand both texts over through its memory; `docs/playground/worker.js` is the other side. What takes too long is
//! ended from outside, by the page.

#[cfg(all(target_family = "wasm", target_os = "unknown"))]
mod exports;
mod page_world;
mod request;
mod response;

pub use request::{ChartFile, PackedChart, Rendering, Request};
pub use response::{Position, Response, ShownDiagnostic, Step};

/// What the request asks for, as a JSON document of [`Response`].
pub fn respond(request: &str) -> String {
    let response = match serde_json::from_str::<Request>(request) {
        Ok(request) => request.respond(),
        Err(error) => Response::refused(format!("the request is not as expected: {error}")),
    };
    response.to_json()
}
