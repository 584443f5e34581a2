//! Schemas, and values held against them: `cargo +nightly fuzz run schema`.
//!
//! The text is the schema; what stands behind a line `---` are the values.
#![no_main]

use libfuzzer_sys::fuzz_target;
use solar_render::chart::values_file;
use solar_render::source::Source;
use solar_render::values::schema::{Level, validate};

fuzz_target!(|text: &str| {
    let (schema, values) = text
        .split_once("\n---\n")
        .unwrap_or((text, "a: 1\nb: [x, {c: y}]\n"));
    let Ok(values) = values_file::load(&Source::new("fuzz", values)) else {
        return;
    };
    let schema = Source::new("values.schema.json", schema);
    let level = Level {
        chart: "fuzz",
        schema: Some(&schema),
        children: Vec::new(),
    };
    let _ = validate(&level, &values, &|_| None);
});
