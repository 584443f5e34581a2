//! Decides which charts of a tree are enabled, with which names and values, as Helm 4.3.1 does between loading and
//! rendering a chart.
//!
//! In: a chart as it was loaded, and the user's values. Out: [`PreparedValues`]: the tree of enabled charts, and the
//! values of the whole tree, with those of a subchart under its name.
//!
//! Conditions and tags apply to the charts that Chart.yaml declares; undeclared charts in `charts/` are always enabled.
//! A chart without any declared dependency doesn't process its subcharts: Helm leaves them unchanged.
//!
//! # Differences from Helm
//!
//! - The order of undeclared subcharts is that of their names; in Helm it is random.
//! - A subchart that is used under several aliases, and has undeclared charts in it whose own
//!   dependencies are declared, processes those for each alias. In Helm the first use changes them for the next.

use std::sync::Arc;

pub use super::chart_node::MAX_INSTANCES;
use super::chart_node::{ChartNode, Declared};
use super::coalesce::{CoalesceError, Coalescer, Nulls};
use super::conditions::{by_condition, by_tags, is_compatible};
use super::schema::Locate;
use super::tree::{MAX_NESTING, Node, Table};
use crate::chart::body::Body;
use crate::chart::declaration::declaration;
use crate::chart::details::{DependencyDetails, Details, Import};
use crate::chart::load::Loaded;
use crate::diag::{self, Class, Diagnostic, Diagnostics};
use crate::source::{Location, Source};
use crate::value::{Map, Value};

/// A chart ready to be rendered.
#[derive(Debug, Clone)]
pub struct PreparedValues {
    /// The chart, with its enabled subcharts.
    pub root: Enabled,
    /// The root's `.Values`; those of a subchart are the map under its name.
    pub values: Map,
    /// Helm's warnings, each once.
    pub warnings: Vec<Diagnostic>,
}

/// An enabled chart.
#[derive(Debug, Clone)]
pub struct Enabled {
    /// The loaded chart. A chart that is used twice occurs twice.
    pub chart: Arc<Loaded>,
    /// The content of `.Chart`: the name is the alias, if there is one, also for the dependencies, of which disabled
    /// ones are removed.
    pub details: Arc<Details>,
    /// The path of its templates: `parent/charts/sub`, by names, not folders.
    pub path: String,
    /// The enabled subcharts: the undeclared ones first, then those of Chart.yaml in its order.
    pub children: Vec<Enabled>,
}

impl Enabled {
    /// Its name, or its alias if it has one.
    pub fn name(&self) -> &str {
        &self.details.name
    }

    /// Whether it is the root chart.
    pub fn is_root(&self) -> bool {
        self.path == self.details.name
    }

    /// The chart and all charts below it, parents first.
    pub fn all(&self) -> Vec<&Self> {
        let mut all = vec![self];
        let mut next = 0;
        while let Some(chart) = all.get(next) {
            let below: Vec<&Self> = chart.children.iter().collect();
            next += 1;
            all.splice(next..next, below);
        }
        all
    }

    /// The manifests in `crds/` of the whole tree, in Helm's order: the path including the chart's, and the content.
    pub fn crds(&self) -> Vec<(String, Body)> {
        let all = self.all();
        let crds = all.into_iter().flat_map(|one| {
            let named = |(name, body): (&str, &Body)| (format!("{}/{name}", one.path), body.clone());
            one.chart.crds().map(named).collect::<Vec<_>>()
        });
        crds.collect()
    }
}

/// Decides which subcharts are enabled, and merges the values.
///
/// # Errors
/// Class chart: a declared dependency is missing. Class values: the values can't be merged.
pub fn prepare(chart: &Arc<Loaded>, user: &Map) -> diag::Result<PreparedValues> {
    prepare_located(chart, user, &|_| None)
}

/// As [`prepare`]; errors have the location of the values, if `locate` knows it.
///
/// # Errors
/// As [`prepare`].
pub fn prepare_located(chart: &Arc<Loaded>, user: &Map, locate: &Locate<'_>) -> diag::Result<PreparedValues> {
    check(chart)?;
    let mut root = ChartNode::new(chart);
    let user = Node::Given(user);
    let mut coalescer = Coalescer::default();
    let mut run = || {
        let mut instances = root.instances();
        root.choose(&user, "", &mut coalescer, &mut instances)?;
        root.import(&mut coalescer)?;
        let values = coalescer.chart(&root, &user, Nulls::Delete)?;
        Ok(Node::Live(values).to_value()?)
    };
    let values = run().map_err(|fault: CoalesceError| Diagnostics::from(fault.into_diagnostic(locate)))?;
    let Value::Map(values) = values else {
        return Err(Diagnostic::error(Class::Internal, "the values are no map").into());
    };
    Ok(PreparedValues {
        root: root.enabled("", true),
        values,
        warnings: coalescer.into_warnings(),
    })
}

/// The declared dependencies that are missing in `charts/`.
pub fn missing_charts(chart: &Loaded) -> Vec<&str> {
    let declared = chart.details.dependencies().iter();
    declared
        .map(|wanted| wanted.name.as_str())
        .filter(|wanted| chart.dependencies.iter().all(|found| found.name() != *wanted))
        .collect()
}

/// Every declared dependency must be in `charts/`.
fn check(chart: &Loaded) -> diag::Result<()> {
    let missing = missing_charts(chart);
    if missing.is_empty() {
        return Ok(());
    }
    let message = format!(
        "an error occurred while checking for chart dependencies. You may need to run 'helm dependency build' to \
         fetch missing dependencies: found in Chart.yaml, but missing in charts/ directory: {}",
        missing.join(", ")
    );
    let one = Diagnostic::error(Class::Chart, message);
    let one = match missing.first().and_then(|name| declared(chart, name)) {
        Some(place) => one.at(place).label("not in charts/"),
        None => one,
    };
    Err(one.into())
}

fn declared(chart: &Loaded, name: &str) -> Option<Location> {
    let older = chart.files.iter().find(|(path, _)| path == "requirements.yaml");
    let older = older.map(|(path, body)| Source::new(path.as_str(), body.text()));
    declaration(older.iter().chain([&chart.chart_yaml]), name)
}

impl<'a> ChartNode<'a> {
    /// Applies aliases, and removes charts that conditions and tags disable. `values` are frozen; `path` is that of the
    /// chart's own values; `instances` counts the whole tree.
    fn choose(
        &mut self,
        values: &Node<'a>,
        path: &str,
        coalescer: &mut Coalescer,
        instances: &mut usize,
    ) -> Result<(), CoalesceError> {
        let Some(mut declared) = self.declared.take() else {
            return Ok(());
        };
        let named = self.named(&declared);
        let count = |children: &mut dyn Iterator<Item = &Self>| children.map(Self::instances).sum::<usize>();
        *instances -= count(&mut self.children.iter());
        *instances += count(&mut named.iter().map(|(_, child)| *child));
        if *instances > MAX_INSTANCES {
            return Err(CoalesceError::TooManyCharts);
        }
        let clones = named.into_iter().map(|(name, child)| Self {
            name,
            ..child.clone()
        });
        self.children = clones.collect();
        let values = Node::Live(coalescer.chart(self, values, Nulls::Delete)?).frozen()?;
        for one in &mut declared {
            one.name = one.dependency.key();
            one.enabled = by_tags(&one.dependency.tags, one.name, &values, coalescer);
            let condition = &one.dependency.condition;
            if let Some(enabled) = by_condition(condition, one.name, &values, path, coalescer) {
                one.enabled = enabled;
            }
        }
        let disabled: Vec<&str> = declared
            .iter()
            .filter(|one| !one.enabled)
            .map(|one| one.name)
            .collect();
        *instances -= count(&mut self.children.iter());
        self.children.retain(|child| !disabled.contains(&child.name));
        *instances += count(&mut self.children.iter());
        declared.retain(|one| !disabled.contains(&one.name));
        for child in &mut self.children {
            let below = format!("{path}{}.", child.name);
            child.choose(&values, &below, coalescer, instances)?;
        }
        self.declared = (!declared.is_empty()).then_some(declared);
        Ok(())
    }

    /// The number of charts in this tree.
    fn instances(&self) -> usize {
        1 + self.children.iter().map(Self::instances).sum::<usize>()
    }

    /// The undeclared charts, then a chart for each declared dependency that has one, with their names.
    fn named(&self, declared: &[Declared<'a>]) -> Vec<(&'a str, &Self)> {
        let fits = |child: &Self, wanted: &DependencyDetails| {
            child.name == wanted.name && is_compatible(&wanted.version, &child.chart.details.version)
        };
        let undeclared = self
            .children
            .iter()
            .filter(|child| !declared.iter().any(|one| fits(child, one.dependency)));
        let named = declared.iter().filter_map(|one| {
            let child = self.children.iter().find(|child| fits(child, one.dependency))?;
            Some((one.dependency.key(), child))
        });
        undeclared.map(|child| (child.name, child)).chain(named).collect()
    }

    /// Imports values from subcharts, the innermost first; the chart's values then include its tree's.
    fn import(&mut self, coalescer: &mut Coalescer) -> Result<(), CoalesceError> {
        for child in &mut self.children {
            child.import(coalescer)?;
        }
        let Some(mut declared) = self.declared.take() else {
            return Ok(());
        };
        let values = coalescer.chart(self, &Node::Frozen(std::rc::Rc::default()), Nulls::Keep)?;
        let imported = Table::default();
        for one in &mut declared {
            for import in &one.dependency.imports {
                apply(import, one.name, &values, &imported, coalescer)?;
            }
            one.imported = true;
        }
        // A deep copy first: tables of `values` may be shared with `imported`, and must not change now.
        let values = Table::of(&Node::Live(values).frozen()?);
        coalescer.merge(&values, &Node::Live(imported))?;
        self.values = Node::Live(values).frozen()?;
        self.declared = Some(declared);
        Ok(())
    }

    fn enabled(&self, above: &str, is_root: bool) -> Enabled {
        let path = if is_root {
            self.name.to_owned()
        } else {
            format!("{above}/charts/{}", self.name)
        };
        Enabled {
            chart: Arc::clone(self.chart),
            details: self.details(),
            children: self
                .children
                .iter()
                .map(|child| child.enabled(&path, false))
                .collect(),
            path,
        }
    }

    fn details(&self) -> Arc<Details> {
        if self.name == self.chart.name() && self.chart.details.dependencies.is_none() {
            return Arc::clone(&self.chart.details);
        }
        let dependencies = self
            .declared
            .as_ref()
            .map(|list| list.iter().map(Declared::processed).collect());
        Arc::new(Details {
            name: self.name.to_owned(),
            dependencies,
            ..(*self.chart.details).clone()
        })
    }
}

impl Declared<'_> {
    fn processed(&self) -> DependencyDetails {
        let texts = |import: &Import| {
            let pairs = [("child", &import.child), ("parent", &import.parent)];
            Value::Map(
                pairs
                    .map(|(key, text)| (key, Value::from(text.as_str())))
                    .into_iter()
                    .collect(),
            )
        };
        let import_values = if self.imported {
            self.dependency.imports.iter().map(texts).collect()
        } else {
            self.dependency.import_values.clone()
        };
        DependencyDetails {
            name: self.name.to_owned(),
            enabled: self.enabled,
            import_values,
            ..self.dependency.clone()
        }
    }
}

/// Merges the table that a subchart's import names under those imported so far.
fn apply<'a>(
    import: &'a Import,
    chart: &str,
    values: &Table<'a>,
    imported: &Table<'a>,
    coalescer: &mut Coalescer,
) -> Result<(), CoalesceError> {
    let path = format!("{chart}.{}", import.child);
    let table = match values.table_at(path.split('.')) {
        // Helm replaces an empty one by a new one.
        Some(table) if table.is_empty() => Table::default(),
        Some(table) => table,
        None => {
            let key = missing(values, &path);
            coalescer.warn(if import.is_export {
                format!("ImportValues missing table: {key:?} is not a table")
            } else {
                format!("ImportValues missing table from chart {chart}: {key:?} is not a table")
            });
            return Ok(());
        }
    };
    let mut node = Node::Live(table);
    if import.parent != "." {
        if import.parent.split('.').count() > MAX_NESTING {
            return Err(CoalesceError::TooDeep);
        }
        for key in import.parent.split('.').rev() {
            let table = Table::default();
            table.set(key, node);
            node = Node::Live(table);
        }
    }
    coalescer.merge(imported, &node)
}

/// The first key of a path that is not a table.
fn missing<'p>(values: &Table<'_>, path: &'p str) -> &'p str {
    let mut node = Node::Live(values.clone());
    for key in path.split('.') {
        match node.get(key) {
            Some(below) if below.is_table() => node = below,
            _ => return key,
        }
    }
    path
}
