//! Untrusted templates, parsed and rendered: `cargo +nightly fuzz run template`, in `fuzz/`.
//!
//! The text is a chart's template, and its values too when it is YAML.
#![no_main]

use std::collections::BTreeSet;
use std::sync::Arc;

use libfuzzer_sys::fuzz_target;
use solar_render::diag::Class;
use solar_render::engine::{Limits, Program, ProgramUnit, RenderInput};
use solar_render::funcs::ClusterObjects;
use solar_render::source::Source;
use solar_render::template::Val;
use solar_render::value::{Map, Value};
use solar_render::world::Fixed;
use solar_render::yaml;

/// Enough for a loop in a loop.
const STEPS: u64 = 20_000;

fuzz_target!(|text: &str| {
    let source = Source::new("fuzz", text);
    let values =
        match yaml::parse(&source, Class::Values, &yaml::Limits::default()).map(yaml::Node::into_value) {
            Ok(Value::Map(map)) => map,
            _ => Map::default(),
        };
    let unit = ProgramUnit {
        name: "app".to_owned(),
        path: "app".to_owned(),
        metadata: Map::default(),
        library: false,
        templates: vec![("templates/x.yaml".to_owned(), source)],
        files: Vec::new(),
        children: Vec::new(),
    };
    let Ok(program) = Program::new(unit) else { return };
    let input = RenderInput {
        values: &values,
        release: &Map::default(),
        capabilities: &|| Val::Nil,
        world: Arc::new(Fixed::default()),
        seed: Some(1),
        lint: false,
        limits: {
            let mut limits = Limits::default();
            limits.steps = STEPS;
            limits
        },
        traced: BTreeSet::new(),
        cluster: Arc::new(ClusterObjects::default()),
        seeded: Arc::default(),
    };
    if let Err(problem) = program.render(&input) {
        let _ = problem.to_string();
    }
});
