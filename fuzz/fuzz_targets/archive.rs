//! Untrusted archives: `cargo +nightly fuzz run archive`, in `fuzz/`.
#![no_main]

use libfuzzer_sys::fuzz_target;
use solar_render::chart::archive;

fuzz_target!(|bytes: &[u8]| {
    let _ = archive::inspect_reader(bytes, "fuzz");
});
