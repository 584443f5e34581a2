//! A chart of the tree while values are merged and dependencies processed: [`ChartNode`].

use std::sync::Arc;

use super::tree::Node;
use crate::chart::details::DependencyDetails;
use crate::chart::load::Loaded;

/// The maximum number of charts in a tree, each counted as often as it is used: n charts that each use the next one
/// under four aliases are 4ⁿ.
pub const MAX_INSTANCES: usize = 10_000;

/// A chart of the tree during processing.
#[derive(Clone)]
pub(super) struct ChartNode<'a> {
    pub(super) chart: &'a Arc<Loaded>,
    pub(super) name: &'a str,
    /// `None` differs from an empty list: see [`Details::dependencies`].
    pub(super) declared: Option<Vec<Declared<'a>>>,
    pub(super) children: Vec<ChartNode<'a>>,
    /// The frozen values.
    pub(super) values: Node<'a>,
}

#[derive(Clone)]
pub(super) struct Declared<'a> {
    pub(super) dependency: &'a DependencyDetails,
    /// The name, or the alias once it was applied.
    pub(super) name: &'a str,
    pub(super) enabled: bool,
    /// Whether `import-values` was processed: templates then see its normal form.
    pub(super) imported: bool,
}

impl<'a> ChartNode<'a> {
    pub(super) fn new(chart: &'a Arc<Loaded>) -> Self {
        let declared = chart.details.dependencies.as_ref().map(|list| {
            list.iter()
                .map(|dependency| Declared {
                    dependency,
                    name: &dependency.name,
                    enabled: dependency.enabled,
                    imported: false,
                })
                .collect()
        });
        Self {
            chart,
            name: chart.name(),
            declared,
            children: chart.dependencies.iter().map(Self::new).collect(),
            values: Node::Given(&chart.values),
        }
    }
}
