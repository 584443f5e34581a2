//! The index of a chart repository: `cargo +nightly fuzz run index`.
#![no_main]

use libfuzzer_sys::fuzz_target;
use solar_render::oci::fuzzing;

fuzz_target!(|bytes: &[u8]| fuzzing::index(bytes));
