//! From a config to a registry or an image layout:
//! `cargo run --example push_config -- release.yaml oci-layout:./charts`

use std::path::Path;
use std::process::ExitCode;

use solar_render::diag::{Class, Diagnostic, Result};
use solar_render::draw::Style;
use solar_render::package::Packer;
use solar_render::pipeline::{self, Input, Request, run};
use solar_render::report::Report;
use solar_render::{oci, world};

pub(crate) fn push(config: &str, target: &str) -> Result<Report> {
    let target = target.parse().map_err(|error| {
        let message = format!("{target} is no target: {error}");
        Diagnostic::error(Class::Usage, message)
    })?;
    let config = pipeline::read_config(Path::new(config), std::io::stdin())?;
    let input = Input::Config {
        config: &config,
        base: Path::new("."),
    };
    let request = Request::new(input).to(target);
    run(&request, &mut Packer::new(2), &world::System, &oci::Silent).into_result()
}

#[allow(clippy::print_stdout, clippy::print_stderr, reason = "it is a program")]
fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let [config, target] = args.as_slice() else {
        eprintln!("usage: push_config CONFIG TARGET");
        return ExitCode::from(2);
    };
    match push(config, target) {
        Ok(report) => {
            println!("{}", report.to_json());
            ExitCode::SUCCESS
        }
        Err(problem) => {
            eprint!("{}", problem.draw(Style::Plain));
            ExitCode::from(problem.class().exit_code())
        }
    }
}
