//! The `solar-render` command; all of it is in the library's `cli` module.

use std::process::ExitCode;

fn main() -> ExitCode {
    ExitCode::from(solar_render::cli::run(std::env::args_os()))
}
