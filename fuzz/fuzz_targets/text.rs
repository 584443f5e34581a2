//! Everything that reads a text: `cargo +nightly fuzz run text`, in `fuzz/`.
//!
//! No text may panic, and what is read as YAML must be written and read back the same.
#![no_main]

use std::path::Path;

use libfuzzer_sys::fuzz_target;
use solar_render::chart::{ignore, metadata};
use solar_render::diag::Class;
use solar_render::reference::{Digest, Reference, Tag, Target};
use solar_render::source::Source;
use solar_render::value::{Map, Value};
use solar_render::values::set::{Meaning, PaddingBudget, set};
use solar_render::{blueprint, config, semver, yaml};

fuzz_target!(|text: &str| {
    let source = Source::new("fuzz", text);
    let _ = text.parse::<Target>();
    let _ = text.parse::<Reference>();
    let _ = text.parse::<Digest>();
    let _ = text.parse::<Tag>();
    let _ = ignore::Ignore::parse(&source);
    let _ = metadata::parse(&source);
    let _ = semver::Constraint::parse(text);
    for meaning in [Meaning::Typed, Meaning::Text, Meaning::Json, Meaning::Literal] {
        let _ = set(text, meaning, &mut Map::default(), &mut PaddingBudget::default());
    }
    if let Ok(config) = config::parse(&source) {
        let _ = blueprint::render(&config, Path::new("/nonexistent"));
    }
    let _ = blueprint::render_text(text, &Value::empty_map());
    if let Ok(node) = yaml::parse(&source, Class::Config, &yaml::Limits::default()) {
        let value = node.into_value();
        let written = yaml::write(&value);
        let back = yaml::parse(
            &Source::new("back", written.as_str()),
            Class::Config,
            &yaml::Limits::default(),
        );
        let back = back.map(|node| canonical(node.into_value())).ok();
        assert_eq!(back, Some(canonical(value)), "{written}");
    }
});

/// Numbers in their one form: a float without a fraction comes back as an integer.
fn canonical(value: Value) -> Value {
    match value {
        Value::Number(number) => Value::Number(number.canonical()),
        Value::List(items) => Value::List(items.into_iter().map(canonical).collect()),
        Value::Map(map) => {
            let items = map.into_iter().map(|(key, item)| (key, canonical(item)));
            Value::Map(items.collect())
        }
        other => other,
    }
}
