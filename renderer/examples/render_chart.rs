//! Renders a chart as `helm template` does: `cargo run --example render_chart -- ./chart values.yaml`

use std::process::ExitCode;

use solar_render::diag::Result;
use solar_render::draw::Style;
use solar_render::engine::{ParsedChart, RenderRequest};

pub(crate) fn render(chart: &str, values: &str) -> Result<String> {
    let chart = ParsedChart::load(chart)?;
    let request = RenderRequest::new("shop")
        .namespace("prod")
        .kube_version("1.31")?
        .values_yaml("values.yaml", values)?
        .set("image.tag=1.2.3")?;
    chart.template(&request)
}

#[allow(clippy::print_stdout, clippy::print_stderr, reason = "it is a program")]
fn main() -> ExitCode {
    let mut args = std::env::args().skip(1);
    let (Some(chart), Some(values)) = (args.next(), args.next()) else {
        eprintln!("usage: render_chart CHART VALUES");
        return ExitCode::from(2);
    };
    let Ok(values) = std::fs::read_to_string(&values) else {
        eprintln!("can't read {values}");
        return ExitCode::from(2);
    };
    match render(&chart, &values) {
        Ok(text) => {
            print!("{text}");
            ExitCode::SUCCESS
        }
        Err(problem) => {
            eprint!("{}", problem.draw(Style::Plain));
            ExitCode::from(problem.class().exit_code())
        }
    }
}
