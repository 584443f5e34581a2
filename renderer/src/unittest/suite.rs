//! A suite of tests, decoded: [`Suite`].

use std::path::PathBuf;
use std::sync::Arc;

use super::assertion::Assertion;
use super::data::as_values;
use super::path::Path;
use super::set_path::SetPath;
use crate::source::{Location, Source, Span};
use crate::value::{Map, Value};

/// One document of a suite file.
#[derive(Debug)]
pub struct Suite {
    /// `suite`; empty if it has none.
    pub name: String,
    /// The text of its file.
    pub source: Arc<Source>,
    /// Its file's folder, which the paths of values files are relative to.
    pub(super) folder: PathBuf,
    /// The suffix of its snapshot file: `snapshotId`.
    pub(super) snapshot_id: String,
    /// `templates`: patterns.
    pub(super) templates: Vec<String>,
    /// `excludeTemplates`: patterns.
    pub(super) excluded: Vec<String>,
    /// `includeCrds`
    pub(super) include_crds: bool,
    /// What all of its tests share.
    pub(super) settings: Settings,
    /// Why it is skipped.
    pub(super) skip: Option<String>,
    /// Its tests.
    pub tests: Vec<TestCase>,
}

/// One test.
#[derive(Debug)]
pub struct TestCase {
    /// `it`; empty if it has none.
    pub name: String,
    /// `template` or `templates`.
    pub(super) templates: Vec<String>,
    /// `documentIndex`; -1 stands for all documents, whatever an assertion has.
    pub(super) index: Option<i64>,
    /// `documentSelector`
    pub(super) selector: Option<Selector>,
    /// What only this test has.
    pub(super) settings: Settings,
    /// Why it is skipped.
    pub(super) skip: Option<String>,
    /// Its assertions.
    pub(super) asserts: Vec<Assertion>,
}

/// How a chart is rendered. A suite has them, and each of its tests may add to them.
#[derive(Debug, Default)]
pub(super) struct Settings {
    /// `values`: files.
    pub(super) values: Vec<String>,
    /// `set`, in the order of the keys.
    pub(super) set: Vec<(SetPath, Value)>,
    /// `release.name`
    pub(super) release_name: Option<String>,
    /// Where that is.
    pub(super) release_name_at: Option<Span>,
    /// `release.namespace`
    pub(super) namespace: Option<String>,
    /// `release.revision`
    pub(super) revision: Option<i64>,
    /// `release.upgrade`
    pub(super) is_upgrade: Option<bool>,
    /// `capabilities.majorVersion`
    pub(super) major: Option<String>,
    /// `capabilities.minorVersion`
    pub(super) minor: Option<String>,
    /// `capabilities.apiVersions`
    pub(super) api_versions: Vec<String>,
    /// Whether `capabilities.apiVersions` is null: then those of the suite don't count.
    pub(super) without_api_versions: bool,
    /// `chart.version`
    pub(super) chart_version: Option<String>,
    /// `chart.appVersion`
    pub(super) app_version: Option<String>,
    /// `kubernetesProvider.objects`
    pub(super) objects: Vec<Map>,
    /// Where `postRenderer` is.
    pub(super) post_renderer: Option<Span>,
}

/// Which documents an assertion is about.
#[derive(Debug, Clone)]
pub(super) struct Selector {
    /// `path`, and why it can't be used.
    pub(super) path: Result<Path, String>,
    /// `value`
    pub(super) value: Option<Value>,
    /// `matchMany`
    pub(super) matches_many: bool,
    /// `skipEmptyTemplates`
    pub(super) skips_empty: bool,
}

impl Settings {
    /// The values of `set` as one map.
    pub(super) fn set_values(&self) -> Map {
        let mut all = Map::default();
        for (path, value) in &self.set {
            crate::values::options::merge(&mut all, path.to_map(as_values(value)));
        }
        all
    }
}

impl Suite {
    /// The values files that it and its tests name.
    pub fn values_files(&self) -> impl Iterator<Item = PathBuf> {
        let settings = std::iter::once(&self.settings).chain(self.tests.iter().map(|test| &test.settings));
        let files = settings.flat_map(|settings| &settings.values);
        files.map(|file| self.folder.join(file))
    }

    /// A location in its file.
    pub(super) fn at(&self, span: Span) -> Location {
        Location::new(&self.source, span)
    }
}
