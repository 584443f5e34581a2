//! One template as a chart, rendered in memory.

use std::sync::Arc;

use solar_render::diag::Diagnostics;
use solar_render::engine::{Limits, Program, ProgramUnit, RenderInput};
use solar_render::funcs::ClusterObjects;
use solar_render::source::Source;
use solar_render::template::Val;
use solar_render::value::{Map, Value};
use solar_render::world::Fixed;

/// A chart `c` with one template `templates/t.yaml`.
fn unit(text: &str) -> ProgramUnit {
    ProgramUnit {
        name: "c".to_owned(),
        path: "c".to_owned(),
        metadata: Map::default(),
        library: false,
        templates: vec![(
            "templates/t.yaml".to_owned(),
            Source::new("templates/t.yaml", text),
        )],
        files: Vec::new(),
        children: Vec::new(),
    }
}

/// What the template prints, with at most so many steps.
pub(crate) fn render_within(text: &str, values: &Value, steps: u64) -> Result<String, Diagnostics> {
    let mut limits = Limits::default();
    limits.steps = steps;
    // Stands still: these tests are about steps.
    limits.clock = Arc::new(Fixed::default());
    render(text, values, limits)
}

/// What the template prints within limits.
pub(crate) fn render_limited(text: &str, limits: Limits) -> Result<String, Diagnostics> {
    render(text, &Value::empty_map(), limits)
}

fn render(text: &str, values: &Value, limits: Limits) -> Result<String, Diagnostics> {
    let empty = Map::default();
    let program = Program::new(unit(text))?;
    let output = program.render(&RenderInput {
        values: values.as_map().unwrap_or(&empty),
        release: &empty,
        capabilities: &|| Val::Nil,
        world: Arc::new(Fixed::default()),
        seed: Some(1),
        lint: false,
        limits,
        traced: std::collections::BTreeSet::new(),
        cluster: Arc::new(ClusterObjects::default()),
        seeded: Arc::default(),
    })?;
    Ok(output
        .texts
        .into_iter()
        .next()
        .map(|(_, text)| text)
        .unwrap_or_default())
}
