//! Merges values where dependencies may be missing.

use std::sync::Arc;

use crate::chart::load::Loaded;
use crate::diag::Result;
use crate::value::Map;
use crate::values::dependencies::{PreparedValues, prepare};

/// Prepares values as for rendering, but a missing declared dependency is not an error here: another check reports it.
pub(super) fn prepare_as_found(chart: &Arc<Loaded>, user: &Map) -> Result<PreparedValues> {
    let is_there = |name: &str| chart.dependencies.iter().any(|found| found.name() == name);
    if chart.details.dependencies().iter().all(|one| is_there(&one.name)) {
        return prepare(chart, user);
    }
    let mut details = (*chart.details).clone();
    if let Some(declared) = &mut details.dependencies {
        declared.retain(|one| is_there(&one.name));
    }
    let present = Loaded {
        details: Arc::new(details),
        ..(**chart).clone()
    };
    prepare(&Arc::new(present), user)
}
