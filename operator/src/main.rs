//! The `solar-operator` command; all of it is in the library.

use std::process::ExitCode;

fn main() -> ExitCode {
    ExitCode::from(solar_operator::cli::run(std::env::args_os()))
}
