//! The cost of one small chart, step by step, on one core: `cargo bench --bench chart`.
//!
//! The relevant column is items per second: the target for `pipeline`, from the config's text to the digest, is 5,000
//! charts per second.
#![allow(clippy::unwrap_used, reason = "a benchmark that can't go on should stop")]

use std::path::Path;
use std::sync::Arc;

use divan::Bencher;
use divan::counter::{BytesCount, ItemsCount};
use solar_render::package::gzip::GzipWriter;
use solar_render::package::{Packer, Stamp};
use solar_render::source::Source;
use solar_render::{blueprint, config, pipeline, yaml};

const RELEASE: &str = include_str!("../testdata/release.yaml");
const BOOTSTRAP: &str = include_str!("../testdata/bootstrap.yaml");

fn main() {
    divan::main();
}

fn text(name: &str) -> &'static str {
    if name == "release" { RELEASE } else { BOOTSTRAP }
}

#[divan::bench(args = ["release", "bootstrap"])]
fn decode(bencher: Bencher<'_, '_>, name: &str) {
    bencher
        .counter(ItemsCount::new(1_usize))
        .bench(|| config::parse(&Source::new("c", text(name))).unwrap());
}

#[divan::bench(args = ["release", "bootstrap"])]
fn render(bencher: Bencher<'_, '_>, name: &str) {
    let config = config::parse(&Source::new("c", text(name))).unwrap();
    bencher
        .counter(ItemsCount::new(1_usize))
        .bench(|| blueprint::render(&config, Path::new("")).unwrap());
}

#[divan::bench]
fn package_and_digest(bencher: Bencher<'_, '_>) {
    let config = config::parse(&Source::new("c", RELEASE)).unwrap();
    let chart = Arc::new(blueprint::render(&config, Path::new("")).unwrap());
    let mut packer = Packer::new(1);
    bencher
        .counter(ItemsCount::new(1_usize))
        .bench_local(|| packer.pack(Arc::clone(&chart), Stamp::default()).unwrap().digest);
}

#[divan::bench(args = ["release", "bootstrap"], name = "pipeline")]
fn whole(bencher: Bencher<'_, '_>, name: &str) {
    let mut packer = Packer::new(1);
    bencher.counter(ItemsCount::new(1_usize)).bench_local(|| {
        pipeline::from_text(&Source::new("c", text(name)), Path::new(""), &mut packer)
            .unwrap()
            .artifact
            .digest
    });
}

/// Typical text of charts.
fn manifest(bytes: usize) -> String {
    let mut text = String::with_capacity(bytes + 200);
    let mut count = 0_u32;
    while text.len() < bytes {
        count = count.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        let id = count >> 8;
        text.push_str(&format!(
            "- record: rule:{id}\n  expr: sum(rate(http_{}_total[5m])) by (pod)\n",
            id % 517
        ));
    }
    text
}

#[divan::bench(args = [1, 2])]
fn gzip_8_mib(bencher: Bencher<'_, '_>, threads: usize) {
    let text = manifest(8 << 20);
    bencher.counter(BytesCount::new(text.len())).bench_local(|| {
        let mut writer = GzipWriter::new(Vec::new(), threads, Box::default()).unwrap();
        std::io::Write::write_all(&mut writer, text.as_bytes()).unwrap();
        writer.finish().unwrap().0.len()
    });
}

#[divan::bench]
fn yaml_read_1_mib(bencher: Bencher<'_, '_>) {
    let source = Source::new("t", manifest(1 << 20));
    let class = solar_render::diag::Class::Values;
    bencher
        .counter(BytesCount::new(source.text().len()))
        .bench(|| yaml::parse(&source, class, &yaml::Limits::default()).unwrap());
}

#[divan::bench]
fn yaml_write_1_mib(bencher: Bencher<'_, '_>) {
    let source = Source::new("t", manifest(1 << 20));
    let class = solar_render::diag::Class::Values;
    let value = yaml::parse(&source, class, &yaml::Limits::default())
        .unwrap()
        .into_value();
    bencher
        .counter(BytesCount::new(source.text().len()))
        .bench(|| yaml::write(&value));
}
