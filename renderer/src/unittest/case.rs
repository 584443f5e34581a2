//! Runs one test: its request, the rendering, its assertions.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use super::check::Checking;
use super::decode::suite_values;
use super::documents::{RenderFailure, Rendered, documents};
use super::failed_template::is_expected;
use super::outcome::{Failure, TestOutcome, Verdict};
use super::snapshot::Snapshots;
use super::snapshot_check::SnapshotChecker;
use super::suite::{Settings, Suite, TestCase};
use super::templates::{Selected, full_name, is_partial};
use crate::diag::{Class, Diagnostic, Diagnostics, Result};
use crate::engine::capabilities::{Capabilities, KubeVersion};
use crate::engine::release::{Release, check_name};
use crate::engine::{ChartVersions, Limits, ParsedChart, RenderRequest};
use crate::fsio;
use crate::funcs::{ClusterObjects, SeededResults};
use crate::value::{Map, Value};
use crate::values::options::{MAX_FILE, merge};

/// The release's name, unless a suite sets it.
const RELEASE: &str = "RELEASE-NAME";
/// The release's namespace, unless a suite sets it.
const NAMESPACE: &str = "NAMESPACE";
/// Kubernetes' version, unless a suite sets it: that of helm-unittest, whatever Helm's own default is.
const KUBERNETES: (&str, &str) = ("1", "20");

/// The seed of keys and passwords. Each test gets the same ones: they are made once, and their snapshots can be compared.
const SEED: u64 = 0;

/// A chart whose tests are run: the top one, or a subchart of it.
#[derive(Debug)]
pub struct TestedChart {
    /// The top chart, which is what is rendered.
    pub(super) chart: Arc<ParsedChart>,
    /// The path of the chart that has the suites, by names: `shop/charts/db`.
    pub(super) path: String,
    /// The keys of that chart's values in the top chart's.
    pub(super) scope: Vec<String>,
    /// The values of the command line.
    pub(super) values: Arc<Map>,
}

/// The key of the values that all charts of a tree share.
const GLOBAL: &str = "global";

/// What all tests share.
#[derive(Clone, Default)]
#[non_exhaustive]
pub struct TestOptions {
    /// Whether snapshots that have changed are written anew.
    pub updates: bool,
    /// Whether no schema is checked.
    pub skip_schema: bool,
    /// The limits of each rendering.
    pub limits: Limits,
    /// The keys and password hashes of all tests.
    pub seeded: Arc<SeededResults>,
    /// What `lookup` finds besides the objects of suites and tests.
    pub cluster: Option<Arc<ClusterObjects>>,
}

/// Values files that have been read.
#[derive(Debug, Default)]
pub(super) struct ValuesFiles(Mutex<BTreeMap<PathBuf, Arc<Map>>>);

impl ValuesFiles {
    fn get(&self, path: &Path) -> Result<Arc<Map>> {
        let known = self
            .0
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .get(path)
            .cloned();
        if let Some(known) = known {
            return Ok(known);
        }
        let source = fsio::read_text(path, MAX_FILE, Class::Values)?;
        let map = Arc::new(suite_values(&source)?);
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        all.insert(path.to_owned(), Arc::clone(&map));
        Ok(map)
    }
}

/// One test with what it belongs to.
pub(super) struct Case<'c> {
    pub(super) chart: &'c TestedChart,
    pub(super) suite: &'c Suite,
    pub(super) test: &'c TestCase,
    pub(super) options: &'c TestOptions,
    pub(super) files: &'c ValuesFiles,
    pub(super) stored: &'c Snapshots,
    /// How many snapshots earlier tests with the same name have used.
    pub(super) used: usize,
}

impl Case<'_> {
    /// Runs it. `numbers` are the positions of the suite and the test.
    pub(super) fn run(&self, (suite, test): (usize, usize)) -> TestOutcome {
        let mut outcome = TestOutcome {
            suite,
            test,
            verdict: Verdict::Passed,
            failures: Vec::new(),
            error: None,
            skipped: self.suite.skip.clone().or_else(|| self.test.skip.clone()),
            snapshots: Vec::new(),
        };
        if outcome.skipped.is_some() {
            outcome.verdict = Verdict::Skipped;
            return outcome;
        }
        let ran = self.request().and_then(|request| {
            let (rendered, names) = self.render(&request)?;
            Ok((request, rendered, names))
        });
        let (request, rendered, names) = match ran {
            Ok(ran) => ran,
            Err(problem) => {
                outcome.verdict = Verdict::Errored;
                outcome.error = Some(problem);
                return outcome;
            }
        };
        if let Rendered::Failed(failure) = &rendered
            && !is_expected(&self.test.asserts, failure)
        {
            outcome.verdict = Verdict::Errored;
            outcome.error = Some(failure.problem.clone());
            return outcome;
        }
        let stored = self.stored;
        let mut checking = Checking {
            test: self.test,
            names: self.names(names),
            chart: &self.chart.path,
            rendered: &rendered,
            snapshots: SnapshotChecker::new(stored, &self.test.name, self.used, self.options.updates),
        };
        for (number, assertion) in self.test.asserts.iter().enumerate() {
            let mut failures = checking.check(number, assertion);
            for failure in &mut failures {
                failure.asserted_at = Some(self.suite.at(assertion.span));
            }
            outcome.failures.append(&mut failures);
        }
        outcome.snapshots = checking.into_snapshots();
        if !outcome.failures.is_empty() {
            outcome.verdict = Verdict::Failed;
            self.locate(&request, &mut outcome.failures);
        }
        outcome
    }

    /// The templates that assertions are about: the test's own, or those of the suite.
    fn names(&self, of_suite: BTreeSet<String>) -> BTreeSet<String> {
        match self.test.templates.is_empty() {
            true => of_suite,
            false => {
                let own = self.test.templates.iter();
                own.map(|name| full_name(&self.chart.path, name)).collect()
            }
        }
    }

    fn selected(&self) -> Selected {
        Selected::new(&self.chart.path, &self.suite.templates, &self.suite.excluded)
    }

    /// What the chart renders to, and the templates that the suite selects.
    fn render(&self, request: &RenderRequest) -> Result<(Rendered, BTreeSet<String>)> {
        let selected = self.selected();
        if let Err(problem) = self.check_release_name() {
            return Ok(failed(RenderFailure::of_name(problem), &selected));
        }
        let (rendered, problems) = match self.chart.chart.run(request, true) {
            Ok(ran) => ran,
            Err(problem) => return Ok(failed(RenderFailure::of_chart(problem), &selected)),
        };
        if let Some(problem) = problems.first() {
            return Ok(failed(RenderFailure::of_template(problem), &selected));
        }
        let crds = rendered.crds.into_iter().filter(|_| self.suite.include_crds);
        let crds = crds.map(|crd| (Arc::from(crd.name.as_str()), crd.body.text().to_string()));
        let texts = rendered.texts.into_iter().filter(|(name, _)| !is_partial(name));
        let all: Vec<(Arc<str>, String)> = texts.chain(crds).collect();
        let names = selected.among(
            all.iter()
                .map(|(name, _)| &**name)
                .filter(|name| !name.contains("/crds/")),
        );
        let mut out = BTreeMap::new();
        for (name, text) in all {
            let documents =
                documents(&name, text).map_err(|problem| self.chart.chart.blame(request, problem))?;
            if let Some(documents) = documents {
                out.insert(name, documents);
            }
        }
        Ok((Rendered::Documents(out), names))
    }

    /// The release's name, if suite or test set it.
    fn release_name(&self) -> Option<&str> {
        let (suite, test) = (&self.suite.settings, &self.test.settings);
        test.release_name.as_deref().or(suite.release_name.as_deref())
    }

    /// A name that is set must be one of a release; the one that is used otherwise is none.
    fn check_release_name(&self) -> Result<()> {
        let Some(name) = self.release_name() else {
            return Ok(());
        };
        check_name(name).map_err(|problem| {
            let at = self
                .test
                .settings
                .release_name_at
                .or(self.suite.settings.release_name_at);
            let of_suite = |one: Diagnostic| Diagnostic::error(Class::Chart, one.message);
            let located = |one: Diagnostic| match at {
                Some(span) => of_suite(one).at(self.suite.at(span)),
                None => of_suite(one),
            };
            problem.into_vec().into_iter().map(located).collect()
        })
    }

    /// The request of the rendering, from what suite and test set.
    fn request(&self) -> Result<RenderRequest> {
        let (suite, test) = (&self.suite.settings, &self.test.settings);
        if let Some(span) = suite.post_renderer.or(test.post_renderer) {
            return Err(Diagnostic::error(Class::Chart, "postRenderer is not supported")
                .at(self.suite.at(span))
                .note("tests run no other programs, so that they give the same result everywhere")
                .hint("assert what the templates print, and test the post-renderer by itself")
                .into());
        }
        let either = |of: fn(&Settings) -> &Option<String>| of(test).as_ref().or(of(suite).as_ref()).cloned();
        let selected = self.selected();
        let mut request = RenderRequest::new(self.release_name().unwrap_or(RELEASE));
        request.release = Release {
            namespace: either(|one| &one.namespace).unwrap_or(NAMESPACE.to_owned()),
            is_upgrade: test.is_upgrade.or(suite.is_upgrade).unwrap_or(false),
            revision: test.revision.or(suite.revision).unwrap_or(0),
            ..request.release
        };
        request.values = self.values()?;
        request.capabilities = capabilities(suite, test);
        request.skip_schema = self.options.skip_schema;
        request.limits = self.options.limits.clone();
        request.chart_versions = ChartVersions {
            version: either(|one| &one.chart_version),
            app_version: either(|one| &one.app_version),
        };
        request.seed = Some(SEED);
        request.seeded = Arc::clone(&self.options.seeded);
        let own = ClusterObjects::new(suite.objects.iter().chain(&test.objects));
        request.cluster = Arc::new(match &self.options.cluster {
            Some(base) => own.over(base),
            None => own,
        });
        request.only = Some(Arc::new(move |name: &str| selected.has(name)));
        Ok(request)
    }

    /// The values: those of files, then those that are set; of the suite before those of the test.
    fn values(&self) -> Result<Map> {
        let (suite, test) = (&self.suite.settings, &self.test.settings);
        let mut own = Map::default();
        for file in suite.values.iter().chain(&test.values) {
            merge(
                &mut own,
                (*self.files.get(&self.suite.folder.join(file))?).clone(),
            );
        }
        merge(&mut own, suite.set_values());
        merge(&mut own, test.set_values());
        // A subchart's globals are those of the top chart.
        let global = own.get(GLOBAL).filter(|_| !self.chart.scope.is_empty());
        let global = global
            .map(|value| (GLOBAL.to_owned(), value.clone()))
            .into_iter()
            .collect();
        let scope = self.chart.scope.iter().rev();
        let scoped = scope.fold(own, |inner, key| {
            [(key.clone(), Value::Map(inner))].into_iter().collect()
        });
        let mut all = (*self.chart.values).clone();
        merge(&mut all, global);
        merge(&mut all, scoped);
        Ok(all)
    }

    /// Finds the templates' lines that printed what the failures are about: the templates are run once more for that.
    fn locate(&self, request: &RenderRequest, failures: &mut [Failure]) {
        let names = failures
            .iter()
            .filter_map(|failure| failure.rendered_at.and(failure.template.as_deref()));
        let names: BTreeSet<Arc<str>> = names.map(Arc::from).collect();
        if names.is_empty() {
            return;
        }
        let Ok((_, _, origins)) = self.chart.chart.run_traced(request, true, names) else {
            return;
        };
        for failure in failures {
            let (Some((line, column)), Some(name)) = (failure.rendered_at, failure.template.as_deref())
            else {
                continue;
            };
            if let Some(origin) = origins.get(name).and_then(|origins| origins.find(line, column)) {
                failure.printed_at = Some(origin.location);
                let trace = origin.trace.into_iter();
                failure.trace = trace.map(|(name, place)| (name.to_string(), place)).collect();
            }
        }
    }
}

/// A failure with the templates that assertions are about: those that the suite names. If it names none, or has a pattern,
/// they are the failed template alone: nothing else has an output.
fn failed(mut failure: RenderFailure, selected: &Selected) -> (Rendered, BTreeSet<String>) {
    let names = match selected.has_patterns() {
        true => failure.templates.clone(),
        false => {
            let named = selected.among(std::iter::empty());
            // An error in a partial is one of each template that the suite names.
            if failure.templates.iter().any(|name| is_partial(name)) {
                failure.templates.clone_from(&named);
            }
            named
        }
    };
    (Rendered::Failed(failure), names)
}

fn capabilities(suite: &Settings, test: &Settings) -> Capabilities {
    let (major, minor) = KUBERNETES;
    let major = test.major.as_deref().or(suite.major.as_deref()).unwrap_or(major);
    let minor = test.minor.as_deref().or(suite.minor.as_deref()).unwrap_or(minor);
    let inherited = suite.api_versions.iter().filter(|_| !test.without_api_versions);
    let version = format!("v{major}.{minor}.0");
    Capabilities {
        kube_version: KubeVersion {
            normalized: version.clone(),
            version,
            major: major.to_owned(),
            minor: minor.to_owned(),
        },
        api_versions: test.api_versions.iter().chain(inherited).cloned().collect(),
    }
}

/// What prevents a chart's tests from being run.
pub(super) fn chart_problem(problem: Diagnostics, path: &Path) -> Diagnostics {
    let list = problem.into_vec().into_iter();
    list.map(|one| one.note(format!("of the chart {}", path.display())))
        .collect()
}
