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
use solar_render::value::Map;
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
    let _ = blueprint::render_text(text, &solar_render::value::Value::empty_map());
    if let Ok(node) = yaml::parse(&source, Class::Config, &yaml::Limits::default()) {
        let value = node.into_value();
        let written = yaml::write(&value);
        let back = yaml::parse(
            &Source::new("back", written.as_str()),
            Class::Config,
            &yaml::Limits::default(),
        );
        assert_eq!(back.map(yaml::Node::into_value).ok(), Some(value), "{written}");
    }
});
