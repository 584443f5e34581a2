//! helm-unittest's own test charts, from its Go module.

use std::path::{Path, PathBuf};

use crate::build::{self, HELM_UNITTEST};

/// The folder of the charts with which helm-unittest tests itself; `folder` is any to run Go in.
///
/// # Panics
/// When Go can't download the module.
pub fn helm_unittest_charts(folder: &Path) -> PathBuf {
    build::module_folder(&HELM_UNITTEST.name(), folder).join("test/data/v3")
}
