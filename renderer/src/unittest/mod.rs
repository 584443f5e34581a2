//! Tests of charts, in helm-unittest's format.
//!
//! In: chart folders with suites. Out: the verdict of each test ([`RunOutcome`]), and snapshot files. A chart is parsed
//! once and rendered for each test, with the test's own values; tests run in parallel. Nothing here prints or knows the
//! command line.
//!
//! What suites mean is what helm-unittest 1.1.2 makes of them; it was asked, case by case. `docs/testing-charts.md` has
//! the differences.

mod assertion;
mod case;
mod check;
mod compare_values;
mod data;
mod decode;
mod discover;
mod document_check;
mod documents;
mod failed_template;
mod fields;
#[cfg(test)]
mod limits_tests;
mod outcome;
mod path;
mod regex;
mod rendered_position;
mod rendering_snapshot;
mod runner;
mod select;
mod set_path;
mod snapshot;
mod snapshot_check;
mod suite;
mod templates;

pub use assertion::{AssertionKind, KINDS};
pub use case::{TestOptions, TestedChart};
pub use decode::HELM_UNITTEST;
pub use discover::{DiscoverOptions, Discovered, MAX_SUITE_FILES, SUITE_FILES};
pub use outcome::{Failure, TestOutcome, Verdict};
pub use path::{MAX_FILTER_DEPTH, MAX_FOUND, Path, PathError};
pub use regex::MAX_REGEX_BYTES;
pub use rendering_snapshot::{RenderingCase, run_renderings};
pub use runner::{RunOptions, RunOutcome, SnapshotTotal, SuiteRun, run};
pub use set_path::{MAX_SET_INDEX, MAX_SET_STEPS};
pub use snapshot::{MAX_SNAPSHOT_BYTES, SNAPSHOT_FOLDER};
pub use suite::{Suite, TestCase};
